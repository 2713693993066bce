"""Bounds of policies: by hand, against exact fractions on small sets, and around every model that is plausible."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.errors import InputError
from goalbound.jit import compile as compilation
from goalbound.models import SSP, BallSet, IntervalSet, LossScale, Support
from goalbound.planning import Status, evaluate, policy_bounds, robust_values
from tests.reference.optimism import inner_minimum, stochastic_minimum
from tests.reference.pessimism import interval_maximum_by_program, policy_extremes
from tests.support.kernel_forms import COMPILED, PYTHON
from tests.support.strategies import examples, ssps

Floats = NDArray[np.float64]


def first_actions(support: Support) -> NDArray[np.int32]:
    return support.pair_action[support.pair_start[:-1]]


@st.composite
def small_interval_sets(draw: st.DrawFn, most_states: int = 3) -> IntervalSet:
    """Intervals in eighths around rows in eighths; losses in eighths, often 0."""
    states = draw(st.integers(1, most_states))
    pairs = [
        {0: draw(st.lists(st.integers(0, states), min_size=1, max_size=3, unique=True))} for _ in range(states)
    ]  # fmt: skip
    support = Support.from_pairs(pairs)
    low, high = [], []
    for pair in range(support.pairs):
        count = len(support.next_state[support.row(pair)])
        cuts = sorted(draw(st.lists(st.integers(0, 8), min_size=count - 1, max_size=count - 1)))
        row = np.diff([0, *cuts, 8])
        wide = draw(st.sampled_from([0, 0, 1, 3, 8]))
        low.append(np.maximum(row - wide, 0) / 8.0)
        high.append(np.minimum(row + wide, 8) / 8.0)
    losses = np.array(draw(st.lists(st.integers(0, 6), min_size=states, max_size=states))) / 8.0
    return IntervalSet(support, losses, losses + 0.125 * (losses > 0.25), np.concatenate(low), np.concatenate(high))


@examples(150)
@given(small_interval_sets())
def test_bounds_of_small_interval_sets_are_those_of_exact_fractions(sets: IntervalSet) -> None:
    found = policy_bounds(sets, np.zeros(sets.support.states, dtype=int))
    best, worst = policy_extremes(sets, range(sets.support.states))
    assert [math.isinf(value) for value in worst] == np.isinf(found.upper).tolist()
    assert [math.isinf(value) for value in best] == np.isinf(found.lower).tolist()
    assert found.may_never_arrive.tolist() == [s for s, value in enumerate(worst) if math.isinf(value)]
    assert found.status is Status.CONVERGED
    for state, (least, largest) in enumerate(zip(best, worst, strict=True)):
        if not math.isinf(least):
            assert Fraction(float(found.lower[state])) <= least
            assert found.lower[state] == pytest.approx(float(least), rel=1e-6, abs=1e-9)
        if not math.isinf(largest):
            assert Fraction(float(found.upper[state])) >= largest
            assert found.upper[state] == pytest.approx(float(largest), rel=1e-6, abs=1e-9)


def random_sets(rng: np.random.Generator, *, balls: bool = False) -> BallSet | IntervalSet:
    """One pair in each of at most three states, rows in eighths; losses of 0 and over hundreds of magnitudes."""
    states = int(rng.integers(1, 4))
    most = min(3, states + 1)
    support = Support.from_pairs([
        {0: sorted(rng.choice(states + 1, size=int(rng.integers(1, most + 1)), replace=False).tolist())}
        for _ in range(states)
    ])  # fmt: skip
    rows, wide = [], []
    for pair in range(states):
        count = len(support.next_state[support.row(pair)])
        rows.append(np.diff([0, *np.sort(rng.integers(0, 9, count - 1)), 8]))
        wide.append(np.full(count, rng.choice([0, 0, 1, 3, 8])))
    row, width = np.concatenate(rows), np.concatenate(wide)
    spread = rng.choice([2.0, 8.0, 20.0, 330.0])
    losses = np.where(rng.random(states) < 0.2, 0.0, 10.0 ** -rng.uniform(0.0, spread, states))
    high = losses * rng.choice([1.0, 2.0])
    if balls:
        return BallSet(support, losses, high, row / 8.0, width[support.next_start[:-1]] / 8.0)
    return IntervalSet(support, losses, high, np.maximum(row - width, 0) / 8.0, np.minimum(row + width, 8) / 8.0)


@pytest.mark.filterwarnings("error")
def test_bounds_over_many_magnitudes_are_valid_and_converged_only_within_the_tolerance() -> None:
    converged = 0
    for seed in range(800):
        sets = random_sets(np.random.default_rng(seed))
        assert isinstance(sets, IntervalSet)
        found = policy_bounds(sets, first_actions(sets.support))
        best, worst = policy_extremes(sets, range(sets.support.states))
        converged += found.status is Status.CONVERGED
        for exact, bounds, sign in ((best, found.lower, 1), (worst, found.upper, -1)):
            assert [math.isinf(value) for value in exact] == np.isinf(bounds).tolist()
            finite = [(Fraction(value), Fraction(float(bound)))
                      for value, bound in zip(exact, bounds, strict=True) if not math.isinf(value)]  # fmt: skip
            largest = max(value for value, _ in finite)
            for value, bound in finite:
                gap = sign * (value - bound)
                assert gap >= 0
                wide = gap > Fraction(1e-6) * max(value, bound, largest / 1000) + Fraction(1e-299)
                assert not wide or found.status is not Status.CONVERGED
    assert converged > 0.99 * 800


@pytest.mark.filterwarnings("error")
def test_bounds_of_balls_over_many_magnitudes_are_those_of_iteration_from_a_model() -> None:
    """What a model loses falls, backup by backup, to the least values of all that arrive."""
    compared = 0
    for seed in range(200):
        sets = random_sets(np.random.default_rng(seed), balls=True)
        assert isinstance(sets, BallSet)
        support = sets.support
        found = policy_bounds(sets, first_actions(support))
        model = evaluate(SSP(support, sets.loss_low, sets.rows), first_actions(support))
        if not np.isfinite([model.hitting_times, model.values]).all():
            continue
        values, before = model.values * (1.0 + 1e-12), np.full(support.states + 1, np.inf)
        while (values < before).any():
            before = values
            values = np.append([_backup(sets, pair, before) for pair in range(support.pairs)], 0.0)
            values = np.where(values < before * (1.0 - 1e-9), values, before)
        assert (found.lower <= values).all()
        compared += 1
        if found.status is Status.CONVERGED:
            np.testing.assert_allclose(found.lower, values, rtol=3e-6, atol=1e-8 * values.max() + 1e-299)
    assert compared > 50


def _backup(sets: BallSet, pair: int, values: Floats) -> float:
    row = sets.support.row(pair)
    inside = sets.support.next_state[row] < sets.support.states
    minimum = inner_minimum if sets.support.leads_to_goal[pair] else stochastic_minimum
    following = values[sets.support.next_state[row]][inside]
    unit = float(following.max(initial=0.0)) or 1.0
    least, _ = minimum(sets.rows[row][inside], float(sets.radii[pair]), following / unit, number=float)
    return float(sets.loss_low[pair]) + unit * least


@pytest.mark.parametrize("loss", [1e-3, 1e-9, 1e-30, 5e-324, 0.0])
@pytest.mark.parametrize("balls", [False, True])
@pytest.mark.filterwarnings("error")
def test_a_state_that_may_stay_for_ever_at_nearly_no_loss_does_not_hide_what_follows(loss: float, balls: bool) -> None:
    support = Support.from_pairs([{0: [1]}, {0: [1, 2]}, {0: [3]}])
    losses = [1.0, loss, 1.0]
    sets = (
        BallSet(support, losses, losses, [1.0, 0.5, 0.5, 1.0], [0.0, 1.0, 0.0]) if balls
        else IntervalSet(support, losses, losses, [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    )  # fmt: skip
    found = policy_bounds(sets, [0, 0, 0])
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.lower, [2.0 + loss, 1.0 + loss, 1.0, 0.0], rtol=1e-6)
    assert found.may_never_arrive.tolist() == [0, 1]


@pytest.mark.filterwarnings("error")
def test_a_known_row_that_sums_to_a_little_more_than_one_has_bounds_without_a_warning() -> None:
    row = np.array([1, 9, 18]) / 28
    assert np.add.reduceat(row, [0])[0] > 1.0
    support = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1, 2]}])
    low, high = [*row, 0.0, 0.9, 0.0], [*row, 0.1, 1.0, 0.1]
    found = policy_bounds(IntervalSet(support, [1.0, 1.0], [1.0, 1.0], low, high), [0, 0])
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("loss", [1e-130, 1e-150, 1e-170, 1e-300])
@pytest.mark.filterwarnings("error")
def test_a_loss_whose_square_is_no_float_has_a_bound_in_balls(loss: float) -> None:
    support = Support.from_pairs([{0: [0, 2]}, {0: [2]}])
    found = policy_bounds(BallSet(support, [loss, 1.0], [loss, 1.0], [0.5, 0.5, 1.0], [0.1, 0.0]), [0, 0])
    assert found.status is Status.CONVERGED
    assert loss / 0.5 <= found.upper[0] <= 1e-12


@st.composite
def interval_sets_with_ties(draw: st.DrawFn) -> IntervalSet:
    """State 0 leads to three states, two of which are worth the same but for rounding: state 2 leads on to state 3 at
    no loss, or leaves as state 3 does, in other steps of the same size. Ends are in hundredths."""
    on = draw(st.booleans())
    support = Support.from_pairs([{0: [1, 2, 3]}, {0: [4]}, {0: [2, 3] if on else [2, 4]}, {0: [3, 4]}])
    weights = draw(st.lists(st.integers(1, 9), min_size=3, max_size=3))
    cuts = [round(100 * sum(weights[:k]) / sum(weights)) for k in range(4)]
    down, up = (np.array(draw(st.lists(st.integers(0, 60), min_size=3, max_size=3))) for _ in range(2))
    leaves = np.array(draw(st.lists(st.integers(5, 95), min_size=2, max_size=2)))
    worth = draw(st.sampled_from([0.05, 0.43, 0.9]))
    losses = [0.1, 0.4, 0.0 if on else worth * leaves[0] / 100.0, worth * leaves[1] / 100.0]
    certain = np.array([100, 100 - leaves[0], leaves[0], 100 - leaves[1], leaves[1]])
    low = np.append(np.maximum(np.diff(cuts) - down, 0), certain) / 100.0
    high = np.append(np.minimum(np.diff(cuts) + up, 100), certain) / 100.0
    return IntervalSet(support, losses, losses, low, high)


@examples(150)
@given(interval_sets_with_ties())
def test_bounds_where_values_tie_up_to_rounding_are_those_of_a_linear_program(sets: IntervalSet) -> None:
    found = policy_bounds(sets, [0, 0, 0, 0])
    third = sets.loss_low[3] / sets.low[7]
    second = third if sets.support.next_state[5] == 3 else sets.loss_low[2] / sets.low[5]
    values = np.array([0.4, second, third])
    most = 0.1 + interval_maximum_by_program(sets.low[:3], sets.high[:3], values)
    least = 0.1 - interval_maximum_by_program(sets.low[:3], sets.high[:3], -values)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.upper, [most, *values, 0.0], rtol=2e-6)
    np.testing.assert_allclose(found.lower, [least, *values, 0.0], rtol=2e-6)


TIED = Support.from_pairs([{0: [1, 2, 3]}, {0: [4]}, {0: [2, 3]}, {0: [3, 4]}])
TIED_LOSSES = [0.1, 0.1, 0.0, 0.43]
TIED_SETS = IntervalSet(
    TIED, TIED_LOSSES, TIED_LOSSES,
    [0.6, 0.0, 0.0, 1.0, 0.0, 0.67, 0.46, 0.12], [1.0, 0.21, 0.24, 1.0, 0.27, 0.92, 0.86, 0.28],
)  # fmt: skip
"""State 2 is worth as much as state 3, to which it leads at no loss."""


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_bounds_from_a_model_that_is_not_plausible_are_not_said_to_have_converged(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = robust_values._chain_values
    monkeypatch.setattr(
        robust_values,
        "_chain_values",
        lambda *arguments: None if (found := plain(*arguments)) is None else factor * found,
    )
    losses = np.maximum(TIED_SETS.loss_low, 0.1)
    for sets in (TIED_SETS, replace(TIED_SETS, loss_low=losses, loss_high=np.maximum(losses, TIED_SETS.loss_high))):
        assert policy_bounds(sets, [0, 0, 0, 0]).status is Status.ROUNDING


def moved(truth: SSP, share: Floats, seed: int) -> Floats:
    """[M] rows that are mixtures of the true ones and of random ones."""
    support = truth.support
    lengths = np.diff(support.next_start)
    noise = np.random.default_rng(seed).random(support.triples)
    others = noise / np.repeat(np.add.reduceat(noise, support.next_start[:-1]), lengths)
    by = np.repeat(share, lengths)
    return (1.0 - by) * truth.probabilities + by * others


@st.composite
def sets_and_models(draw: st.DrawFn) -> tuple[BallSet | IntervalSet, list[SSP]]:
    """A set around the rows of a problem, and models that lie in it."""
    centre: SSP = draw(ssps(proper=draw(st.booleans()), most_states=4, most_actions=2))
    support = centre.support
    shares = [
        np.array(draw(st.lists(st.integers(0, 4), min_size=support.pairs, max_size=support.pairs))) / 8.0
        for _ in range(3)
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    models = [SSP(support, centre.losses, moved(centre, share, seed + n)) for n, share in enumerate(shares)]
    rows = np.array([model.probabilities for model in models])
    low, high = centre.losses * 0.9, np.minimum(centre.losses + 0.1, 1.0)
    if draw(st.booleans()):
        return IntervalSet(support, low, high, rows.min(axis=0), rows.max(axis=0)), models
    apart = np.where(support.next_state < support.states, rows - centre.probabilities, 0.0)
    radii = np.sqrt(np.add.reduceat(apart * apart, support.next_start[:-1], axis=1)).max(axis=0)
    return BallSet(support, low, high, centre.probabilities, radii * (1.0 + 1e-12)), models


@examples(150)
@given(sets_and_models())
def test_every_plausible_model_lies_between_the_bounds(case: tuple[BallSet | IntervalSet, list[SSP]]) -> None:
    sets, models = case
    policy = first_actions(sets.support)
    found = policy_bounds(sets, policy)
    for model in models:
        worth = evaluate(model, policy)
        values = np.where(np.isinf(worth.hitting_times), np.inf, worth.values)
        assert (found.lower <= values * (1.0 + 1e-9) + 1e-300).all()
        assert (found.upper >= values * (1.0 - 1e-9)).all()


@examples(60)
@given(sets_and_models())
def test_python_and_compiled_kernels_give_the_same_bits(case: tuple[BallSet | IntervalSet, list[SSP]]) -> None:
    answers = []
    for way in (PYTHON, COMPILED):
        with mock.patch.multiple(compilation, **way):
            found = policy_bounds(case[0], first_actions(case[0].support))
        answers.append((found.lower.tobytes(), found.upper.tobytes(), found.status))
    assert answers[0] == answers[1]


NAMED = Support.from_pairs(
    [{0: [0, 1, 2], 1: [2]}, {0: [0, 1]}], state_names=["sick", "worse"], action_names=["a", "b"]
)
SETS = BallSet(NAMED, [0.1, 0.5, 0.1], [0.2, 0.5, 0.2], [0.3, 0.2, 0.5, 1.0, 0.5, 0.5], [0.1, 0.0, 0.2])


def test_a_policy_is_given_by_numbers_names_or_a_mapping() -> None:
    wanted = policy_bounds(SETS, [1, 0])
    for policy in (["b", "a"], {"sick": "b", "worse": "a"}, {0: 1, "worse": 0}, np.array([1, 0])):
        found = policy_bounds(SETS, policy)
        assert found.policy.tolist() == [1, 0]
        np.testing.assert_array_equal(found.upper, wanted.upper)


def test_where_the_worst_model_never_arrives_the_states_are_named() -> None:
    sets = BallSet(NAMED, SETS.loss_low, SETS.loss_high, SETS.rows, [0.1, 0.0, 1.0])
    found = policy_bounds(sets, {"sick": "a", "worse": "a"})
    assert found.may_never_arrive.tolist() == [0, 1]
    assert np.isinf(found.upper[:2]).all()
    assert np.isfinite(found.lower).all()
    assert "may never arrive from sick, worse" in str(found)
    alone = policy_bounds(sets, {"sick": "b", "worse": "a"})
    assert alone.may_never_arrive.tolist() == [1]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ([0], "one action number for each of the 2 states"),
        ([1, 1], r"has no action 1 \(\"b\"\)"),
        ([0, -1], "no action for state 1"),
        ({"sick": "a"}, r'no action for state 1 \("worse"\)'),
        ({"sick": "c", "worse": "a"}, 'no action is called "c"'),
        ({"sick": "a", "well": "a"}, 'no state is called "well"'),
        (["a"], "1 actions; it needs one for each of 2 states"),
        (None, "policy"),
    ],
)
def test_a_wrong_policy_is_an_error_that_says_what_is_missing(policy: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        policy_bounds(SETS, policy)  # type: ignore[arg-type]


def test_wrong_sets_are_errors() -> None:
    with pytest.raises(InputError, match="of the type SSP"):
        policy_bounds(SSP.dense([[0.5]], [[[0.5, 0.5]]]), [0])  # type: ignore[arg-type]
    endless = BallSet(NAMED, [0.1] * 3, [0.2, np.inf, 0.2], SETS.rows, SETS.radii)
    with pytest.raises(InputError, match="finite"):
        policy_bounds(endless, [0, 0])
    nothing = IntervalSet(Support.full(1, 1), [0.1], [0.2], [0.1, 0.1], [0.2, 0.2])
    with pytest.raises(InputError, match="no distribution fits"):
        policy_bounds(nothing, [0])


def test_an_estimate_outside_its_bounds_is_said_with_its_states() -> None:
    support = Support.from_pairs([{0: [2]}, {0: [2]}], state_names=["new", "waiting"], action_names=["ask"])
    sets = IntervalSet(support, [0.6, 0.1], [0.9, 0.3], [1.0, 1.0], [1.0, 1.0])
    bounds = policy_bounds(sets, [0, 0])
    assert len(bounds.estimate_outside) == 0
    for estimate, outside in (
        ([0.7, 0.2, 0.0], []), ([0.35, 0.2, 0.0], [0]), ([0.95, 0.05, 0.0], [0, 1]), ([0.6, np.inf, 0.0], [1]),
        ([0.6 * (1 - 1e-12), 0.3 * (1 + 1e-12), 0.0], []),
    ):  # fmt: skip
        found = replace(bounds, estimate=np.array(estimate))
        assert found.estimate_outside.tolist() == outside
        names = ", ".join(["new", "waiting"][state] for state in outside)
        assert (f"The estimate lies outside the bounds in {names}: " in str(found)) == bool(outside)
        assert ("outside the bounds in" in str(found)) == bool(outside)
        scale = LossScale("EUR", cap=50)
        assert found.in_unit(scale).estimate_outside.tolist() == outside


def test_reasons_are_in_the_sentence_about_the_guarantee() -> None:
    bounds = replace(policy_bounds(BallSet(Support.full(1, 1), [0.2], [0.4], [0.5, 0.5], [0.1]), [0]), proven=False)
    assert bounds.guarantee.startswith("Not proven: the widths of these sets are not, so ")
    said = replace(bounds, caveats=("rows were\nskipped", "the floor is wrong")).guarantee
    assert said.startswith("Not proven: ")
    assert "skipped; the floor is wrong, so the true value may lie outside" in said
    assert "\n" not in said
