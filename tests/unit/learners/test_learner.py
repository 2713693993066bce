"""What a pair cannot lead to has no mass: in estimates, in plans, in the intervals shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import confidence_set, paper, printed, project, ridge_estimate, scaled, sharp
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.models import Step, Support
from goalbound.planning.extended_value_iteration import extended_value_iteration
from tests.reference.projection import kkt_violation
from tests.support.driving import written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.strategies import contexts, examples
from tests.support.taught import Seen, data, teach

Floats = NDArray[np.float64]

SUPPORT = Support.from_pairs([{0: [0, 1, 2], 1: [1]}, {0: [0, 2], 1: [2, 3]}, {0: [0, 1, 2, 3], 1: [3]}])
"""Three states. The pairs 0, 1 and 2 cannot lead to the goal; pair 1 leads to one state, pair 5 only to the goal."""

WITHOUT_GOAL = [0, 1, 2]

KINDS: dict[str, Callable[..., RidgeLearner]] = {
    "paper": partial(LRCSSP, widths=paper()),
    "printed": partial(LRCSSP, widths=printed()),
    "narrow": partial(LRCSSP, widths=scaled(paper(), by=0.05)),
    "sharp": partial(LRCSSP, widths=sharp()),
    "greedy": GreedyRidge,
    "sampled": PosteriorSampling,
    "rmax that knows all": partial(KwikRmax, threshold=10.0),
}


def learner_of(kind: str, size: int = 2) -> RidgeLearner:
    stream = {"rng": np.random.default_rng(0)} if kind == "sampled" else {}
    return KINDS[kind](SUPPORT, size, loss_floor=0.1, **stream)


def sums_of(rows: Floats) -> Floats:
    """What the rows of the pairs that cannot lead to the goal sum to."""
    return np.add.reduceat(rows, SUPPORT.next_start[:-1], axis=0)[WITHOUT_GOAL]


@pytest.mark.parametrize("kind", KINDS)
@examples(10)
@given(seen=data(SUPPORT, 2), context=contexts(2))
def test_an_estimate_is_a_problem_on_the_declared_support(kind: str, seen: list[Seen], context: Floats) -> None:
    estimate = teach(learner_of(kind), seen).estimate
    model = estimate.model()
    assert model.support == SUPPORT
    np.testing.assert_allclose(sums_of(estimate.rows), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.probabilities[SUPPORT.row(1)], 1.0)  # one next state: certain, not estimated
    assert model.probabilities.min() >= 0.0


@pytest.mark.parametrize("kind", KINDS)
@examples(10)
@given(seen=data(SUPPORT, 2), context=contexts(2))
def test_no_plan_goes_where_a_pair_cannot_lead(kind: str, seen: list[Seen], context: Floats) -> None:
    learner = teach(learner_of(kind), seen)
    for plan in (learner.plan(context), _plan_in_use(learner, context)):
        np.testing.assert_allclose(sums_of(plan.rows), 1.0, atol=1e-12)
        assert plan.rows.min() >= 0.0
        assert plan.rows[SUPPORT.row(1)] == pytest.approx(1.0, abs=1e-15)
        assert plan.model().support == SUPPORT


def _plan_in_use(learner: RidgeLearner, context: Floats) -> Any:
    episode = learner.begin(context)
    episode.act(0)
    return episode.plan


def test_rmax_still_sends_what_it_does_not_know_straight_to_the_goal() -> None:
    learner = KwikRmax(SUPPORT, 2, loss_floor=0.1, threshold=0.0)
    plan = learner.plan([0.5, 0.5])
    np.testing.assert_allclose(plan.values[:-1], 0.1)
    assert (plan.model().probabilities[plan.model().support.next_state == 3] == 1.0).all()


def test_before_the_first_step_a_pair_without_the_goal_is_uniform() -> None:
    # The projection of 0 in the norm of lambda I: all next states alike.
    rows = learner_of("paper").estimate.rows
    np.testing.assert_allclose(rows[SUPPORT.row(0)], 1.0 / 3.0)
    np.testing.assert_allclose(rows[SUPPORT.row(2)], 0.5)
    np.testing.assert_array_equal(rows[SUPPORT.row(1)], 1.0)
    np.testing.assert_array_equal(rows[SUPPORT.row(3)], [[0.0, 0.0], [1.0, 1.0]])  # with the goal, as ever


def test_one_step_by_hand() -> None:
    # One component, lambda = 1: the step says 1/2 for state 1 and 0 for the others. What is missing, 1/2, is shared by
    # three: 1/6, 4/6, 1/6.
    learner = teach(learner_of("paper", 1), [Seen(np.ones(1), Step(0, 0, 1.0, 1))])
    np.testing.assert_allclose(learner.estimate.rows[SUPPORT.row(0), 0], [1 / 6, 4 / 6, 1 / 6], atol=1e-15)
    # Values 0.1 at state 1 and 2, who may go straight to the goal; state 0 must pass there.
    plan = learner.plan([1.0])
    np.testing.assert_allclose(plan.values, [0.2, 0.1, 0.1, 0.0], rtol=2e-3)


@pytest.mark.parametrize("kind", ["paper", "printed", "narrow", "greedy"])
@examples(10)
@given(seen=data(SUPPORT, 2), context=contexts(2))
def test_learner_and_functions_agree(kind: str, seen: list[Seen], context: Floats) -> None:
    learner = teach(learner_of(kind), seen)
    ridge = ridge_estimate(learner.statistics)
    estimate = project(ridge)
    np.testing.assert_allclose(learner.estimate.rows, estimate.rows, rtol=0.0, atol=1e-10)
    for pair in WITHOUT_GOAL:
        row = SUPPORT.row(pair)
        assert kkt_violation(np.array(ridge.rows[row]), ridge.gram[pair], estimate.rows[row], stochastic=True) <= 1e-12
    if kind != "greedy":
        plausible = confidence_set(
            learner.statistics, context, widths=learner.settings.widths, loss_floor=0.1, estimate=learner.estimate
        )
        found, plan = extended_value_iteration(plausible, tolerance=1e-9), learner.plan(context)
        # Both are certified: what one says is not above what the other allows.
        assert (found.values <= plan.upper * (1.0 + 1e-9)).all()
        assert (plan.values <= found.upper * (1.0 + 1e-9)).all()
        np.testing.assert_allclose(sums_of(found.rows), 1.0, atol=1e-12)
        assert found.model().support == SUPPORT


@examples(20)
@given(seen=data(SUPPORT, 2), context=contexts(2))
def test_intervals_of_a_certain_row_are_one_and_the_others_leave_room_for_a_row(
    seen: list[Seen], context: Floats
) -> None:
    found = teach(learner_of("sharp"), seen).confidence_set(context)
    for pair in (1, 5):
        np.testing.assert_array_equal([found.low[SUPPORT.row(pair)], found.high[SUPPORT.row(pair)]], 1.0)
    for pair in range(SUPPORT.pairs):
        low, high = found.low[SUPPORT.row(pair)], found.high[SUPPORT.row(pair)]
        for k in range(len(low)):  # either end of an interval is the entry of a row that sums to 1
            others = np.arange(len(low)) != k
            assert low[k] + high[others].sum() >= 1.0 - 1e-12
            assert high[k] + low[others].sum() <= 1.0 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@examples(5)
@given(seen=data(SUPPORT, 2), draw=st.data())
def test_python_and_compiled_learn_the_same_bits(kind: str, seen: list[Seen], draw: st.DataObject) -> None:
    files = []
    for way in (PYTHON, COMPILED):
        with kernels(way):
            files.append(written(teach(learner_of(kind), seen)))
    assert files[0] == files[1]
