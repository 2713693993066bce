"""What the planner says to the wrong kind of thing, and how an answer reads."""

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from goalbound import SSP, context_bounds, evaluate, solve
from goalbound.errors import InputError
from goalbound.planning import blocking_states, is_proper
from tests.support.small_problems import drugs

PLANNERS: list[Callable[[object], object]] = [
    solve, blocking_states, lambda problem: evaluate(problem, [0]), lambda problem: is_proper(problem, [0]),
]  # fmt: skip


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_contextual_problem_is_planned_for_one_context(planner: Callable[[object], object]) -> None:
    with pytest.raises(InputError, match=r"has a context .*; plan for one: problem.at\(\[...\]\) with 2 weights"):
        planner(drugs())
    with pytest.raises(InputError, match=r"a SimpleNamespace is not a problem itself; pass its .problem"):
        planner(SimpleNamespace(problem=drugs()))
    with pytest.raises(InputError, match="a str is not a problem; pass an SSP"):
        planner("demo")


def test_bounds_over_contexts_need_contexts() -> None:
    with pytest.raises(InputError, match=r"this problem has no context; .*LinearCSSP.mix\(\[problem\]\)"):
        context_bounds(drugs().at("young"))
    with pytest.raises(InputError, match="a list is not a problem; pass a LinearCSSP"):
        context_bounds([])  # type: ignore[arg-type]


def test_components_go_by_name_too() -> None:
    problem = drugs()
    assert problem.at("old") == problem.component("old") == problem.component(1) == problem.at([0.0, 1.0])
    with pytest.raises(InputError, match='no component is called "oldest"; there are "young", "old"'):
        problem.at("oldest")


def test_losses_above_one_get_a_remedy() -> None:
    with pytest.raises(
        InputError, match=r"loss 3.0 is not in \[0, 1\]; divide all losses by the largest, .*loss_scale"
    ):
        SSP.dense([[3.0]], [[[0.0, 1.0]]])
    assert SSP.dense([[0.3]], [[[0.0, 1.0]]], loss_scale=10.0).loss_scale == 10.0


def test_a_few_hundred_states_do_not_wait_for_the_compiler() -> None:
    code = """
import sys
import numpy as np
from goalbound import SSP, solve
rng = np.random.default_rng(0)
solve(SSP.dense(rng.random((150, 4)), rng.dirichlet(np.ones(151), (150, 4))))
print("numba" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
