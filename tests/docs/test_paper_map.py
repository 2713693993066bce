"""Every row of the paper map names a function and a test that exist, and the learner runs the kernels that it names."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    SSP,
    LinearCSSP,
    Step,
    confidence,
    confidence_set,
    extended_value_iteration,
    learners,
    models,
    planning,
    project,
    ridge_estimate,
    widths,
)
from goalbound.jit import compile as compilation
from goalbound.jit.compile import Kernel, Slot
from tests.support.documents import named_function

ROOT = Path(__file__).parents[2]
ROWS = [
    tuple(cell.strip() for cell in line.strip("|\n").split("|"))
    for line in (ROOT / "docs" / "theory" / "paper_map.md").read_text().splitlines()
    if line.startswith("| ") and "`" in line
]
PROBLEM = LinearCSSP.mix(
    [
        SSP.dense([[0.3, 0.2], [0.4, 0.6]], [[[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]], [[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]]),
        SSP.dense([[0.6, 0.3], [0.2, 0.5]], [[[0.2, 0.2, 0.6], [0.4, 0.3, 0.3]], [[0.6, 0.2, 0.2], [0.3, 0.1, 0.6]]]),
    ]
)  # fmt: skip
CONTEXT = [0.3, 0.7]


def test_the_map_has_rows_of_three_cells() -> None:
    assert len(ROWS) >= 40
    assert {len(row) for row in ROWS} == {3}


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_the_function_and_the_test_of_a_row_exist(row: tuple[str, str, str]) -> None:
    holder, name = named_function(row[1].strip("`"))
    found = getattr(holder, name)
    assert callable(found) or isinstance(found, Kernel)
    assert not isinstance(found, Slot), "a slot computes nothing; name the kernel that fills it"
    assert not isinstance(found, Kernel) or found.__module__ == holder.__name__, f"{name} is in {found.__module__}"
    path, _, test = row[2].strip("`").partition("::")
    text = (ROOT / path).read_text()
    assert re.search(rf"^def {test}\(" if test else r"^def test_", text, re.MULTILINE), f"{path} has no {test}"


class Replaced(Exception):
    """What a function that was replaced raises."""


PACKAGES = (confidence, learners, models, planning)


def kernels() -> dict[str, Kernel]:
    """All kernels by their dotted names."""
    found = {}
    places = [place for package in PACKAGES for place in walk_packages(package.__path__, f"{package.__name__}.")]
    for module in places:
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, Kernel) and value.__module__ == module.name:
                found[f"{module.name}.{name}"] = value
    return found


KERNELS = kernels()
MAPPED = sorted({row[1].strip("`") for row in ROWS} & set(KERNELS))
ELSEWHERE = {
    "goalbound.learners.audit.truth_distances": "an audit, which knows the truth",
    "goalbound.learners.audit.audit_step": "an audit, which knows the truth",
    "goalbound.learners.episode_loop.play": "whole episodes in a simulated environment",
    "goalbound.planning.kernels.stochastic_rows.min_over_simplex_ball": "pairs that cannot lead to the goal",
}
"""Kernels of the map that the learner of this problem does not run."""


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Kernels run as Python, and one of them may be replaced by a function that raises, in all programs."""
    monkeypatch.setattr(compilation, "TOY_WORK", 10**18)  # however much this process has planned before
    monkeypatch.setattr(Kernel, "is_compiled", False)
    replaced: dict[FunctionType, Callable[..., Any]] = {}
    forms: dict[Kernel, Callable[..., Any]] = {}

    def python(kernel: Kernel) -> Callable[..., Any]:
        if kernel not in forms:
            callees = {name: callee.python for name, callee in kernel._callees().items()}
            function = compilation._with_globals(kernel.function, callees)
            forms[kernel] = replaced.get(kernel.function, function)
        return forms[kernel]

    monkeypatch.setattr(Kernel, "python", property(python))

    def replace(name: str) -> None:
        def raises(*arguments: Any) -> Any:
            raise Replaced(name)

        replaced[KERNELS[name].function] = raises
        forms.clear()

    return replace


def learner_steps() -> LRCSSP:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.paper())
    episode = learner.begin(CONTEXT)
    for following in (1, 0, 2):
        state = episode.state or 0
        episode.observe(Step(state, episode.act(state), 0.4, following))
    return learner


def test_the_learner_learns_where_nothing_is_replaced(as_python: Callable[[str], None]) -> None:
    assert learner_steps().statistics.visits.sum() == 3


def test_most_rows_of_algorithm_1_and_of_the_sets_are_kernels() -> None:
    assert len(set(MAPPED) - set(ELSEWHERE)) >= 12


@pytest.mark.parametrize("name", [name for name in MAPPED if name not in ELSEWHERE])
def test_the_learner_fails_where_a_kernel_of_the_map_is_replaced(name: str, as_python: Callable[[str], None]) -> None:
    as_python(name)
    with pytest.raises(Replaced, match=name):
        learner_steps()


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("goalbound.confidence.regression.ridge", lambda learner: ridge_estimate(learner.statistics)),
        ("goalbound.confidence.projection.project", lambda learner: project(ridge_estimate(learner.statistics))),
        ("goalbound.confidence.balls.ball_radii", lambda learner: confidence_set(learner.statistics, CONTEXT)),
        ("goalbound.confidence.balls.ridge_radius", lambda learner: confidence_set(learner.statistics, CONTEXT)),
        (
            "goalbound.planning.kernels.value_iteration.value_iteration",
            lambda learner: extended_value_iteration(confidence_set(learner.statistics, CONTEXT, loss_floor=0.1)),
        ),
    ],
)  # fmt: skip
def test_the_functions_for_people_run_the_same_kernels(
    name: str, run: Callable[[LRCSSP], object], as_python: Callable[[str], None]
) -> None:
    learner = learner_steps()
    run(learner)
    as_python(name)
    with pytest.raises(Replaced, match=name):
        run(learner)
    assert np.isfinite(learner.statistics.gram).all()
