"""A kernel compiled and a kernel as Python give the same bits, so what is shown of one is shown of the other.

Whole answers are compared on toy problems. Those are solved by elimination, so sweeps, clusters, coarse factors, the
Krylov method and Dijkstra are compared one by one, on a problem large enough to use them. Kernels of learners are
compared in their own tests. No kernel counts from the end of an array: compiled ones would read elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from goalbound import LRCSSP
from goalbound.baselines.factories import bernstein_ssp, eb_ssp, psrl_ssp, uc_ssp, ulcvi
from goalbound.confidence import likelihood, paper, sharp
from goalbound.jit.compile import Kernel
from goalbound.jit.struct import Struct
from goalbound.models import SSP, Step
from goalbound.planning import Solution, blocking_states, evaluate, is_proper, solve
from goalbound.planning.kernels import bellman, chain, graph
from goalbound.planning.kernels.chain import CoarseFactor
from goalbound.planning.reduction import rows_of
from goalbound.problems import dense_random, random_cssp
from goalbound.simulation import OneHot, play
from tests.support import drawn
from tests.support.checked_indices import CHECKED
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.large_problems import grid, uniform
from tests.support.strategies import ssps


def solved(ssp: SSP, way: dict[str, object]) -> Solution:
    with kernels(way):
        return solve(ssp, unreachable="exclude")


@given(ssps(proper=False, most_states=8))
def test_solutions_are_the_same_to_the_bit(ssp: SSP) -> None:
    one, other = solved(ssp, PYTHON), solved(ssp, COMPILED)
    assert (one.status, one.iterations) == (other.status, other.iterations)
    for name in ("values", "policy", "lower", "upper"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@given(ssps(proper=True, tiny=True, most_states=5))
def test_tiny_exits_are_the_same_to_the_bit(ssp: SSP) -> None:
    one, other = solved(ssp, PYTHON), solved(ssp, COMPILED)
    for name in ("values", "policy", "lower", "upper"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@given(ssps(proper=False, most_states=6))
def test_evaluations_and_properness_are_the_same(ssp: SSP) -> None:
    policy = ssp.support.pair_action[ssp.support.pair_start[:-1]]
    answers = []
    for way in (PYTHON, COMPILED):
        with kernels(way):
            worth = evaluate(ssp, policy)
            answers.append((worth.values, worth.hitting_times, blocking_states(ssp), is_proper(ssp, policy)))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


SIDE = 12


class Case:
    """A windy grid of 143 states, a policy of shortest ways, its chain, and vectors to work on."""

    def __init__(self) -> None:
        ssp: SSP = grid(SIDE, 0.4, uniform)
        rng = np.random.default_rng(3)
        self.rows = rows_of(ssp)
        self.states = ssp.support.states
        self.usable = drawn.moving(self.rows)
        self.reverse = drawn.reverse_of(self.rows, self.usable)
        self.pair_state = ssp.support.pair_state
        self.policy = np.empty(self.states, dtype=np.int64)
        self.values = np.empty(self.states + 1)
        graph.dijkstra_policy.python(
            self.rows, self.reverse, self.pair_state, self.usable, 1e-3, self.policy, self.values
        )
        self.order = np.argsort(self.values[:-1], kind="stable").astype(np.int32)
        self.rank = np.argsort(self.order).astype(np.int32)
        self.chain = chain.new_chain(self.rows, self.order)
        self.chain.column[:], self.chain.weight[:] = 0, 0.0
        self.known = np.full(self.states, -1, dtype=np.int64)
        bellman.update_chain.python(self.rows, self.policy, self.known, self.order, self.rank, self.chain)
        cluster = (np.arange(self.states) // 9).astype(np.int32)
        self.coarse: CoarseFactor = drawn.room_for(self.chain, cluster)
        chain.factor_coarse.python(self.chain, self.coarse)
        self.rhs, self.unit = rng.uniform(0.1, 1.0, self.states), rng.uniform(0.5, 1.0, self.states)
        self.low = self.values * rng.uniform(-(2.0**-54), 2.0**-54, self.states + 1)
        self.zeros = np.zeros(self.states)
        self.state = chain.Evaluated(
            self.rows, self.chain, self.known, self.order, self.rank, self.values, self.low,
            *rng.uniform(0.5, 1.0, (6, self.states)),
        )  # fmt: skip

    def arguments(self, kernel: Kernel) -> tuple[Any, ...]:
        """What the planner would give to this kernel, outputs last."""
        whole = np.empty(self.states, dtype=np.int64)
        none, margin = np.empty(0), np.full(self.states, 1e-6)
        room = np.zeros((chain.KRYLOV_VECTORS, self.states))
        named: dict[str, tuple[Any, ...]] = {
            "components": (self.rows, self.usable, whole),
            "grow_clusters": (self.rows, self.order, 16, np.empty(self.states, dtype=np.int32)),
            "dijkstra_policy": (
                self.rows, self.reverse, self.pair_state, self.usable, 1e-3, whole, np.empty(self.states + 1)
            ),
            "improve": (
                self.rows, self.usable, self.values, self.low, margin, 0.0, self.zeros, self.policy
            ),
            "certify": (
                self.rows, self.usable, self.policy, self.values, none, self.values, 0.0
            ),
            "refactor_coarse": (self.chain, drawn.room_for(self.chain, self.coarse.cluster), 30.0, 1e4),
            "improve_policy": (self.state, self.usable, 1e-6, 0.0, self.zeros, self.policy, 1e-3, False),
            "evaluate_step": (
                self.state, self.coarse, False, False, self.policy, 1e-3, 1e-9, False, 16, 30.0, 1e4
            ),
            "bicgstab": (self.chain, self.coarse, self.rhs, self.unit, 1e-12, 60, room, self.zeros),
        }  # fmt: skip
        return named[kernel.__name__]


def copied(arguments: Any) -> Any:
    """Arrays that may be written are copied; those that may not stay so."""
    if isinstance(arguments, np.ndarray):
        return arguments.copy() if arguments.flags.writeable else arguments
    if isinstance(arguments, Struct):
        return arguments._make(copied(one) for one in arguments)
    if isinstance(arguments, tuple):
        return tuple(copied(one) for one in arguments)
    return arguments


def bits(arguments: Any) -> list[bytes]:
    if arguments is None:
        return []
    if isinstance(arguments, np.ndarray):
        return [arguments.tobytes()]
    if isinstance(arguments, Struct | tuple):
        return [part for one in arguments for part in bits(one)]
    return [np.float64(arguments).tobytes()]


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


KERNELS = [
    graph.components, graph.dijkstra_policy, bellman.improve, bellman.certify, chain.grow_clusters,
    chain.refactor_coarse, chain.bicgstab, chain.improve_policy, chain.evaluate_step,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_both_forms_write_and_return_the_same_bits(kernel: Kernel, case: Case) -> None:
    given = case.arguments(kernel)
    one, other = copied(given), copied(given)
    returned = kernel.python(*one), kernel.compiled(*other)
    assert bits(returned[0]) == bits(returned[1])
    assert bits(one) == bits(other)
    assert bits(one) != bits(given) or returned[0]  # it has done something


@given(ssps(proper=False, most_states=6))
def test_no_kernel_of_the_planner_counts_from_the_end_of_an_array(ssp: SSP) -> None:
    one, other = solved(ssp, CHECKED), solved(ssp, PYTHON)
    assert one.values.tobytes() == other.values.tobytes()
    with kernels(CHECKED):
        evaluate(ssp, ssp.support.pair_action[ssp.support.pair_start[:-1]])
        blocking_states(ssp)


def test_no_kernel_counts_from_the_end_where_chains_are_solved_by_sweeps_and_the_krylov_method() -> None:
    ssp = grid(19, 0.4, uniform)
    assert solved(ssp, CHECKED).values.tobytes() == solved(ssp, PYTHON).values.tobytes()


@pytest.mark.parametrize("make", [uc_ssp, bernstein_ssp, eb_ssp, psrl_ssp, ulcvi], ids=lambda make: make.__name__)
def test_no_kernel_of_a_learner_without_contexts_counts_from_the_end_of_an_array(make: Any) -> None:
    problem = random_cssp(3, actions=2, context_size=1)
    runs = []
    for way in (CHECKED, PYTHON):
        settings: dict[str, Any] = {"rng": np.random.default_rng(0)} if make is psrl_ssp else {}
        if make is ulcvi:
            settings = {"loss_bound": 2.0, "time_bound": 3.0, "episodes": 4}
        with kernels(way):
            learner = make(problem.support, loss_floor=0.1, **settings)
            runs.append(play(problem, learner, OneHot(1), episodes=4, step_limit=30))
    assert runs[0].loss.tobytes() == runs[1].loss.tobytes()


def test_no_kernel_counts_from_the_end_where_a_log_is_learned_from() -> None:
    problem = dense_random(3, actions=2, context_size=2)
    for rule in (paper(), sharp(), likelihood()):
        learner = LRCSSP(problem.support, 2, loss_floor=0.1, widths=rule)
        with kernels(CHECKED):
            for state in (0, 1, 2, 0):
                learner.learn([0.3, 0.7], Step(state, 1, 0.5, 3 - state))
        assert learner.statistics.visits.sum() == 4


def test_the_krylov_method_of_this_case_takes_some_steps_and_ends(case: Case) -> None:
    x, room = np.zeros(case.states), np.empty((chain.KRYLOV_VECTORS, case.states))
    reached, steps = chain.bicgstab.python(case.chain, case.coarse, case.rhs, case.unit, 1e-12, 60, room, x)
    assert reached <= 1e-12
    assert 1 < steps < 60
