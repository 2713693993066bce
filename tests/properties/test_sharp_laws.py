"""What must hold for sharp widths whatever was seen: optimism, pieces that only narrow, data that only narrows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import paper, scaled, sharp
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import IntervalSet, LinearCSSP, Step, Support
from goalbound.planning import solve
from tests.reference.intervals import PIECES
from tests.support.driving import draw_step, small_problem
from tests.support.ridge import lr_cssp
from tests.support.strategies import contexts, examples
from tests.support.taught import Seen, data, supports, teach

Floats = NDArray[np.float64]
GIVEN: dict[str, Any] = {"loss_floor": 0.1, "loss_bound": 50.0}


def learner_of(support: Support, size: int, *, pieces: set[str] | None = None, scale: float = 1.0) -> LRCSSP:
    chosen = set(PIECES) if pieces is None else pieces
    widths = scaled(sharp(**{piece: piece in chosen for piece in PIECES}), by=scale)
    return lr_cssp(support, size, widths=widths, **GIVEN)


def inside(inner: IntervalSet, outer: IntervalSet, room: float = 1e-9) -> bool:
    return bool(
        (inner.low >= outer.low - room).all() and (inner.high <= outer.high + room).all()
        and (inner.loss_low >= outer.loss_low - room).all() and (inner.loss_high <= outer.loss_high + room).all()
    )  # fmt: skip


def walked(problem: LinearCSSP, draws: st.DataObject, most: int = 60) -> list[Seen]:
    """Steps of the problem itself, from any pair under any context."""
    rng = np.random.default_rng(draws.draw(st.integers(0, 10**6)))
    support, seen = problem.support, []
    for _ in range(draws.draw(st.integers(0, most))):
        context = rng.dirichlet(np.ones(problem.context_size))
        pair = int(rng.integers(support.pairs))
        step = draw_step(problem, context, int(support.pair_state[pair]), int(support.pair_action[pair]), rng.random())
        seen.append(Seen(context, step))
    return seen


@pytest.mark.parametrize("scale", [1.0, 0.1])
@examples(15)
@given(draws=st.data())
def test_while_the_truth_is_in_the_intervals_plans_promise_no_more_than_is_true(
    scale: float, draws: st.DataObject
) -> None:
    # At a tenth of the widths the truth is outside now and then, and nothing is promised; of the proven ones it is
    # checked that they hold here.
    size = draws.draw(st.integers(1, 3))
    problem = small_problem(draws.draw(st.integers(0, 50)), context_size=size)
    learner = teach(learner_of(problem.support, size, scale=scale), walked(problem, draws))
    context = draws.draw(contexts(size))
    found, truth = learner.confidence_set(context), problem.at(context)
    if scale == 1.0:
        assert found.contains(truth)
    if found.contains(truth, tolerance=0.0):
        assert (learner.plan(context).values <= solve(truth).values * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("piece", ["goal", "half", "determinant", "entrywise"])
@examples(12)
@given(draws=st.data())
def test_without_a_piece_no_interval_is_shorter(piece: str, draws: st.DataObject) -> None:
    # Without the goal fewer numbers share the failure probability, so the other next states may gain: only the goal is
    # compared. Bounds by the variance are not used here, as their sums depend on the intervals themselves.
    size = draws.draw(st.integers(1, 3))
    support = draws.draw(supports)
    seen = draws.draw(data(support, size))
    rest = set(PIECES) - {"variance"}
    scale = draws.draw(st.sampled_from([1.0, 0.1]))
    full, less = (teach(learner_of(support, size, pieces=some, scale=scale), seen) for some in (rest, rest - {piece}))
    context = draws.draw(contexts(size))
    one, other = full.confidence_set(context), less.confidence_set(context)
    if piece == "goal":
        for place in np.flatnonzero(support.next_state == support.states).tolist():
            # Nothing is said of the goal itself: it has what the others leave, all of it if there are none.
            pair = int(np.searchsorted(support.next_start, place, side="right")) - 1
            others = slice(support.row(pair).start, place)
            assert other.low[place] == pytest.approx(max(0.0, 1.0 - other.high[others].sum()), abs=1e-12)
            assert other.high[place] == pytest.approx(1.0 - other.low[others].sum(), abs=1e-12)
    else:
        assert inside(one, other)


@examples(12)
@given(draws=st.data())
def test_bounds_by_the_variance_widen_by_their_share_of_failure_at_most(draws: st.DataObject) -> None:
    # With them the other bound of noise fails with delta / 16 instead of delta / 8: its factor is
    # sqrt(v + 2 log(16 M / delta)) instead of sqrt(v + 2 log(8 M / delta)), v >= 0, a ratio of at most r below.
    size = draws.draw(st.integers(1, 3))
    support = draws.draw(supports)
    seen = draws.draw(data(support, size))
    ratio = float(np.sqrt(np.log(16 * support.triples / 0.1) / np.log(8 * support.triples / 0.1)))
    without = teach(learner_of(support, size, pieces=set(PIECES) - {"variance"}, scale=ratio), seen)
    both = teach(learner_of(support, size), seen)
    context = draws.draw(contexts(size))
    one, other = both.confidence_set(context), without.confidence_set(context)
    assert (one.low >= other.low - 1e-9).all()
    assert (one.high <= other.high + 1e-9).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_more_data_at_the_same_context_narrows(size: int) -> None:
    # The same steps again and again: the estimate moves less and less, the noise shrinks like sqrt(log n / n).
    rng = np.random.default_rng(size)
    context = rng.dirichlet(np.ones(size))
    learner = learner_of(Support.full(1, 1), size)
    lengths = []
    for _ in range(7):
        for k in range(2 * (1 if not lengths else int(learner.statistics.visits[0]) // 2)):
            teach(learner, [Seen(context, Step(0, 0, float(k % 2), k % 2))])
        found = learner.confidence_set(context)
        lengths.append([*(found.high - found.low), *(found.loss_high - found.loss_low)])
    assert learner.statistics.visits[0] == 128
    for before, after in pairwise(lengths):
        assert (np.array(after) <= np.array(before) + 1e-12).all()
    assert max(lengths[-1]) < 0.75 * min(lengths[0])


@examples(15)
@given(draws=st.data())
def test_one_hot_contexts_are_learned_apart(draws: st.DataObject) -> None:
    # V is diagonal, so x = e_j / V_jj: estimate and bias under e_j are those of the steps under e_j alone. (Noise is
    # not: its determinant is that of all steps. Here there is next to none.)
    size, which = 3, draws.draw(st.integers(0, 2))
    support = draws.draw(supports)
    seen = [
        Seen(np.eye(size)[draws.draw(st.integers(0, size - 1))], step) for _, step in draws.draw(data(support, size))
    ]
    mine = [Seen(np.array([1.0]), step) for context, step in seen if context[which] == 1.0]
    played = {(step.state, step.action) for _, step in mine}
    tiny = 1e-12
    whole = teach(learner_of(support, size, scale=tiny), seen).confidence_set(np.eye(size)[which])
    alone = teach(learner_of(support, 1, scale=tiny), mine).confidence_set([1.0])
    for pair in range(support.pairs):
        if (int(support.pair_state[pair]), int(support.pair_action[pair])) in played:
            row = support.row(pair)
            np.testing.assert_allclose(whole.low[row], alone.low[row], atol=1e-9)
            np.testing.assert_allclose(whole.high[row], alone.high[row], atol=1e-9)
            assert whole.loss_low[pair] == pytest.approx(alone.loss_low[pair], abs=1e-9)


@examples(10)
@given(draws=st.data())
def test_with_one_component_intervals_are_counts(draws: st.DataObject) -> None:
    # n steps, k of them to a next state: between k / (n + 1) and (k + 1) / (n + 1), where there is no noise. Of several
    # next states none is cut by the others: 1 - (n - k) / (n + 1) = (k + 1) / (n + 1). A single one is certain.
    support = draws.draw(supports)
    seen = draws.draw(data(support, 1))
    found = teach(learner_of(support, 1, scale=1e-12), seen).confidence_set([1.0])
    for pair in range(support.pairs):
        steps = [step for _, step in seen if support.pair(step.state, step.action) == pair]
        if support.row(pair).stop - support.row(pair).start == 1:
            assert found.low[support.row(pair)] == found.high[support.row(pair)] == 1.0
        elif steps:
            for place in range(support.row(pair).start, support.row(pair).stop):
                count = sum(step.next_state == support.next_state[place] for step in steps)
                assert found.low[place] == pytest.approx(count / (len(steps) + 1), abs=1e-9)
                assert found.high[place] == pytest.approx((count + 1) / (len(steps) + 1), abs=1e-9)


def test_from_the_same_data_values_lie_between_those_of_the_papers_sets_and_the_true_ones() -> None:
    problem = small_problem(7)
    learners = [
        LRCSSP(problem.support, 2, widths=widths, loss_floor=0.1, loss_bound=5.0) for widths in (sharp(), paper())
    ]
    rng = np.random.default_rng(0)
    for _ in range(600):
        context, pair = rng.dirichlet(np.ones(2)), int(rng.integers(problem.support.pairs))
        state, action = int(problem.support.pair_state[pair]), int(problem.support.pair_action[pair])
        step = draw_step(problem, context, state, action, rng.random())
        for learner in learners:
            teach(learner, [Seen(context, step)])
    for weight in (0.0, 0.5, 1.0):
        tight, wide = (learner.plan([weight, 1.0 - weight]).values for learner in learners)
        assert (tight[:-1] > wide[:-1]).all()
        assert (tight <= solve(problem.at([weight, 1.0 - weight])).values + 1e-9).all()
