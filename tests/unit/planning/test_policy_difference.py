"""Differences of policies: no plausible model exceeds them, in exact fractions; and they are sharper than distances."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import ArgumentError
from goalbound.models import SSP, IntervalSet, Support
from goalbound.planning import evaluate, policy_bounds
from goalbound.planning.policy_difference import policy_difference
from tests.reference.pessimism import arriving_losses, corners
from tests.reference.rows import Row
from tests.support.strategies import examples


@st.composite
def sets_of_two_actions(draw: st.DrawFn) -> IntervalSet:
    """Two states, two actions each; intervals in sixteenths, and at least an eighth leads to the goal."""
    support = Support.full(2, 2)
    low, high = [], []
    for _ in range(support.pairs):
        goal = draw(st.integers(2, 14))
        first = draw(st.integers(0, 16 - goal))
        row, wide = np.array([first, 16 - goal - first, goal]), draw(st.sampled_from([0, 1, 1, 2]))
        low.append(np.maximum(row - wide, [0, 0, 1]) / 16.0)
        high.append(np.minimum(row + wide, 16) / 16.0)
    losses = np.array(draw(st.lists(st.integers(1, 7), min_size=4, max_size=4))) / 8.0
    more = draw(st.sampled_from([0.0, 0.125]))
    return IntervalSet(support, losses, losses + more, np.concatenate(low), np.concatenate(high))


def chain_rows(sets: IntervalSet, pair: int) -> list[Row]:
    """The rows of a pair that are corners, with its least and its largest loss."""
    row = sets.support.row(pair)
    low, high = ([Fraction(float(x)) for x in ends[row]] for ends in (sets.low, sets.high))
    following = sets.support.next_state[row].tolist()
    return [
        Row(0, Fraction(float(loss)), {t: q for t, q in zip(following, corner, strict=True) if q > 0})
        for corner in corners(low, high)
        for loss in {float(sets.loss_low[pair]), float(sets.loss_high[pair])}
    ]


POLICIES = list(itertools.permutations(itertools.product(range(2), repeat=2), 2))


@examples(12)
@given(sets_of_two_actions(), st.sampled_from(POLICIES))
def test_no_model_of_corners_exceeds_the_difference(
    sets: IntervalSet, policies: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Both policies in the same model, by exact fractions: a pair that both play has one row."""
    one, other = (policy_bounds(sets, list(actions)) for actions in policies)
    found = policy_difference(sets, one, other)
    pairs = [[sets.support.pair(s, a) for s, a in enumerate(actions)] for actions in policies]
    played = sorted({*pairs[0], *pairs[1]})
    for rows in itertools.product(*(chain_rows(sets, pair)[:6] for pair in played)):
        model = dict(zip(played, rows, strict=True))
        ours, theirs = (arriving_losses([model[pair] for pair in policy]) for policy in pairs)
        for state in range(2):
            assert ours[state] - theirs[state] <= Fraction(float(found[state]))


@examples(40)
@given(sets_of_two_actions(), st.sampled_from(POLICIES), st.integers(0, 2**32 - 1))
def test_no_model_inside_the_set_exceeds_the_difference(
    sets: IntervalSet, policies: tuple[tuple[int, ...], tuple[int, ...]], seed: int
) -> None:
    one, other = (policy_bounds(sets, list(actions)) for actions in policies)
    found = policy_difference(sets, one, other)
    assert (found <= one.upper[:-1] - other.lower[:-1] + 1e-12).all()
    rng = np.random.default_rng(seed)
    for _ in range(10):
        losses = rng.uniform(sets.loss_low, sets.loss_high)
        rows = np.concatenate([inside(sets, pair, rng) for pair in range(sets.support.pairs)])
        model = SSP(sets.support, losses, rows)
        ours, theirs = (evaluate(model, list(actions)).values for actions in policies)
        assert ((ours - theirs)[:-1] <= found + 1e-9).all()


def inside(sets: IntervalSet, pair: int, rng: np.random.Generator) -> np.ndarray:
    """A mixture of the corners of a pair."""
    row = sets.support.row(pair)
    ends = [[Fraction(float(x)) for x in numbers[row]] for numbers in (sets.low, sets.high)]
    points = np.array(corners(*ends), dtype=float)
    return rng.dirichlet(np.full(len(points), 0.3)) @ points


def line(width: float) -> IntervalSet:
    """Two ways into one uncertain state: what is uncertain there does not matter for which way is better."""
    support = Support.from_pairs([{0: [1], 1: [1]}, {0: [1, 2]}])
    half = [0.5 - width, 0.5 - width], [0.5 + width, 0.5 + width]
    return IntervalSet(support, [0.1, 0.3, 0.2], [0.1, 0.3, 0.2], [1.0, 1.0, *half[0]], [1.0, 1.0, *half[1]])


@pytest.mark.parametrize("width", [0.0, 0.2, 0.4])
def test_what_is_uncertain_after_both_policies_meet_cancels(width: float) -> None:
    sets = line(width)
    one, other = (policy_bounds(sets, actions) for actions in ([0, 0], [1, 0]))
    assert policy_difference(sets, one, other) == pytest.approx([0.1 - 0.3, 0.0], abs=1e-9)
    if width:
        assert one.upper[0] - other.lower[0] > 0.0  # the distance of the bounds decides nothing


def test_in_a_single_model_it_is_the_difference_of_the_values() -> None:
    model = SSP.dense(
        [[0.5, 0.2], [0.3, 0.4]], [[[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]], [[0.5, 0.1, 0.4], [0.1, 0.1, 0.8]]]
    )
    sets = IntervalSet(model.support, model.losses, model.losses, model.probabilities, model.probabilities)
    one, other = (policy_bounds(sets, actions) for actions in ([1, 1], [0, 0]))
    exact = evaluate(model, [1, 1]).values - evaluate(model, [0, 0]).values
    assert policy_difference(sets, one, other) == pytest.approx(exact[:-1], abs=1e-9)


def test_wrong_arguments_are_one_clear_error() -> None:
    sets = line(0.1)
    bounds = policy_bounds(sets, [0, 0])
    with pytest.raises(ArgumentError, match="baseline is of the type list; give what policy_bounds"):
        policy_difference(sets, bounds, [0, 0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="sets is of the type"):
        policy_difference(None, bounds, bounds)  # type: ignore[arg-type]
    full = IntervalSet(Support.full(1, 1), [0.2], [0.4], [0.4, 0.3], [0.7, 0.6])
    with pytest.raises(ArgumentError, match="policy has other states or actions than sets"):
        policy_difference(full, bounds, bounds)
