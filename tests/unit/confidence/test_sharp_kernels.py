"""Intervals: the most optimistic row of one against fractions and a linear program, from any start; and how wide they
are, against formulas in NumPy that look at the samples."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize_scalar
from scipy.special import erf

from goalbound.confidence import scaled, sharp
from goalbound.confidence.sharp import (
    CURVATURE,
    EXPONENT_BOUND,
    LOG_DET_ROUNDING,
    TRUNCATION_LOG,
    VARIANCE_RIDGE,
    bernstein_radius,
    variance_log_det_bound,
)
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.models import SSP, Step, Support
from goalbound.planning import solve
from goalbound.planning.extended_value_iteration import value_bounds
from goalbound.planning.kernels import value_iteration as kernels
from goalbound.planning.kernels.elimination import new_evaluation_workspace
from goalbound.planning.kernels.value_iteration import INTERVAL_SET, UncertaintySet
from tests.reference.intervals import PIECES, NaiveIntervals
from tests.support.strategies import contexts, examples, ssps
from tests.support.taught import Seen, data, supports, teach
from tests.support.uncertainty_sets import iteration_from

Floats = NDArray[np.float64]
Drawn = tuple[Floats, Floats, Floats]

STARTS = (0.0, 1e-300, 1e-9, 0.5, 2.0, 1e6)
CHOICES: dict[str, set[str]] = {
    "all": set(PIECES),
    **{f"without {piece}": set(PIECES) - {piece} for piece in PIECES},
    **{f"only {piece}": {piece} for piece in PIECES},
    "none": set(),
}


def widths_of(pieces: set[str]) -> Any:
    return sharp(**{piece: piece in pieces for piece in PIECES})


def row_intervals(low: Floats, high: Floats) -> UncertaintySet:
    """One pair of one state whose next states are 0, 1, ..."""
    count = len(low)
    return UncertaintySet(
        INTERVAL_SET, np.inf,
        np.array([0, 1]), np.array([0, count]), np.array([count]), np.arange(count, dtype=np.int32),
        np.zeros(count), np.zeros(1), np.zeros(1), np.array([0.1]), low, high, np.zeros(1, dtype=np.int64),
    )  # fmt: skip


def least(row: UncertaintySet, values: Floats, start: float, enough: float = np.inf) -> tuple[float, float]:
    worth, level = kernels.inner_minimum.python(row, 0, values, start, enough)
    return float(worth), float(level)


def least_by_filling(low: Floats, high: Floats, values: Floats) -> float:
    """All get the least they may, then the cheapest get more first; in fractions. The box has a row of sum 1, up to
    rounding: what no one may take is left out."""
    left = 1 - sum(map(Fraction, low))
    worth = sum(Fraction(a) * Fraction(v) for a, v in zip(low, values, strict=True))
    for value, room in sorted(zip(map(Fraction, values), map(Fraction, high - low), strict=True)):
        more = min(max(left, Fraction(0)), room)
        left -= more
        worth += more * value
    return float(worth)


def least_by_linear_program(low: Floats, high: Floats, values: Floats) -> float:
    answer = linprog(
        values, A_eq=np.ones((1, len(low))), b_eq=[1.0], bounds=list(zip(low.tolist(), high.tolist(), strict=True))
    )
    assert answer.status == 0
    return float(answer.fun)


@st.composite
def box_values(draw: st.DrawFn, size: int) -> Floats:
    """Equal ones and zeros are frequent."""
    value = st.one_of(
        st.sampled_from([0.0, 1.0, 1.0, 2.0]),
        st.builds(lambda x, e: x * 10.0**e, st.floats(1.0, 9.0), st.integers(-6, 3)),
    )
    return np.array(draw(st.lists(value, min_size=size, max_size=size)))


@st.composite
def boxed_rows(draw: st.DrawFn) -> Drawn:
    """(low, high, values) around a row of sum 1 in 64ths, which are exact; sides of no length are frequent."""
    size = draw(st.integers(1, 7))
    cuts = sorted(draw(st.lists(st.integers(0, 64), min_size=size - 1, max_size=size - 1)))
    inside = np.diff([0, *cuts, 64]) / 64.0
    reach = st.one_of(st.sampled_from([0.0, 0.0, 0.125, 1.0]), st.floats(0.0, 0.5))
    below, above = (np.array(draw(st.lists(reach, min_size=size, max_size=size))) for _ in range(2))
    return np.maximum(inside - below, 0.0), np.minimum(inside + above, 1.0), draw(box_values(size))


def room_of(values: Floats, start: float = 0.0) -> float:
    """Rounding is relative to the largest value; of a row that is known to the bit, to the level it starts from."""
    return 1e-14 * max(float(values.max()), start)


@examples(100)
@given(boxed_rows())
def test_from_any_start_the_minimum_is_that_of_filling_the_cheapest_first(drawn: Drawn) -> None:
    low, high, values = drawn
    exact = least_by_filling(low, high, values)
    row = row_intervals(low, high)
    for start in (*STARTS, *values.tolist(), float(values.mean()), float(np.nextafter(values[0], 9e99))):
        assert least(row, values, start)[0] == pytest.approx(exact, rel=1e-12, abs=room_of(values, start))


@examples(40)
@given(boxed_rows())
def test_the_minimum_is_that_of_the_linear_program(drawn: Drawn) -> None:
    low, high, values = drawn
    found, _ = least(row_intervals(low, high), values, 0.5)
    assert found == pytest.approx(least_by_linear_program(low, high, values), rel=1e-7, abs=1e-6)


@examples(70)
@given(boxed_rows(), st.floats(0.0, 1.2))
def test_where_it_stops_early_it_returns_a_lower_bound_that_is_enough(drawn: Drawn, share: float) -> None:
    low, high, values = drawn
    exact = least_by_filling(low, high, values)
    row = row_intervals(low, high)
    for enough in (share * exact, share * float(values.max()), exact, -1.0):
        for start in (*STARTS, *values.tolist()):
            found, _ = least(row, values, start, enough)
            room = 1e-12 * exact + room_of(values, start)
            assert 0.0 <= found <= exact + room
            if found < exact - room:  # it stopped early, so it must have been allowed to
                assert found >= enough


@examples(70)
@given(boxed_rows(), st.sampled_from(STARTS))
def test_the_most_optimistic_row_is_in_the_intervals_and_worth_the_minimum(drawn: Drawn, start: float) -> None:
    low, high, values = drawn
    exact = least_by_filling(low, high, values)
    row = np.full(len(low) + 1, np.nan)
    worth = kernels.optimistic_row.python(row_intervals(low, high), 0, values, start, row)
    assert worth == pytest.approx(exact, rel=1e-12, abs=room_of(values, start))
    assert float(row[:-1] @ values) == pytest.approx(exact, rel=1e-12, abs=room_of(values))
    assert row[:-1].sum() == pytest.approx(1.0, abs=1e-14)
    assert (row[:-1] >= low).all()
    assert (row[:-1] <= high + 1e-16).all()
    assert np.isnan(row[-1])  # room that is not the pair's


def test_filling_by_hand() -> None:
    # Least masses 0.2 + 0.1 + 0.1; 0.6 is left: 0.3 to value 1, which is then full, 0.3 to value 3, none to value 4.
    # 0.5 * 1 + 0.1 * 4 + 0.4 * 3 = 2.1. Level: 3.
    low, high, values = np.array([0.2, 0.1, 0.1]), np.array([0.5, 0.9, 0.8]), np.array([1.0, 4.0, 3.0])
    for start in STARTS:
        assert least(row_intervals(low, high), values, start) == pytest.approx((2.1, 3.0), rel=1e-9)
    found = np.empty(3)
    assert kernels.optimistic_row.python(row_intervals(low, high), 0, values, 0.0, found) == pytest.approx(
        2.1, rel=1e-15
    )
    assert found.tolist() == pytest.approx([0.5, 0.1, 0.4], rel=1e-14)


def test_equal_values_are_one_level() -> None:
    low, high, values = np.array([0.0, 0.25, 0.0]), np.array([0.25, 0.5, 1.0]), np.array([2.0, 2.0, 2.0])
    for start in (0.0, 2.0, 7.0):
        assert least(row_intervals(low, high), values, start)[0] == 2.0
    found = np.empty(3)
    kernels.optimistic_row.python(row_intervals(low, high), 0, values, 2.0, found)
    assert found.sum() == 1.0


@examples(40)
@given(boxed_rows(), st.floats(0.01, 0.99))
def test_a_box_without_a_row_counts_what_is_missing_at_the_largest_value(drawn: Drawn, share: float) -> None:
    # The dual t + sum of high (v - t) for all v <= t grows for ever; at the largest value it is
    # sum of high v + (1 - sum of high) max v. With too much mass the least value is counted once too often.
    low, high, values = drawn
    top, bottom = float(values.max()), float(values.min())
    short = high * share / high.sum()
    much = low + (1.0 + share - low.sum()) / len(low)
    for start in (bottom, float(np.median(values)), top):
        found, _ = least(row_intervals(np.minimum(low, short), short), values, start)
        assert found == pytest.approx(float(short @ values) + (1.0 - share) * top, rel=1e-9, abs=1e-9)
        found, _ = least(row_intervals(much, np.maximum(high, much)), values, start)
        assert found == pytest.approx(float(much @ values) - (much.sum() - 1.0) * bottom, rel=1e-9, abs=1e-9)


@examples(25)
@given(boxed_rows(), st.sampled_from(STARTS))
def test_python_and_compiled_agree_to_the_bit(drawn: Drawn, start: float) -> None:
    low, high, values = drawn
    one, other = np.full(len(low), np.nan), np.full(len(low), np.nan)
    row = row_intervals(low, high)
    worth = kernels.optimistic_row.python(row, 0, values, start, one)
    assert kernels.optimistic_row.compiled(row, 0, values, start, other) == worth
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("by_policies", [True, False])
@examples(20)
@given(ssp=ssps(proper=True, most_states=5), start=st.sampled_from([0.1, 1.0, 50.0]))
def test_intervals_of_no_length_are_planned_in_as_the_exact_planner_does(
    by_policies: bool, ssp: SSP, start: float
) -> None:
    support = ssp.support
    ssp = SSP(support, np.maximum(ssp.losses, 0.1), ssp.probabilities)
    sets = UncertaintySet(
        INTERVAL_SET, np.inf, np.array(support.pair_start), np.array(support.next_start), np.diff(support.next_start),
        np.array(support.next_state), np.zeros(support.triples), np.zeros(support.pairs), np.zeros(support.pairs),
        np.array(ssp.losses), np.array(ssp.probabilities), np.array(ssp.probabilities),
        np.zeros(support.pairs, dtype=np.int64),
    )  # fmt: skip
    iteration = iteration_from(sets, np.array([*np.full(support.states, start), 0.0]))
    if by_policies:
        kernels.policy_iteration.python(sets, iteration, 1e-9, 100_000, new_evaluation_workspace(support.states))
    else:
        kernels.value_iteration.python(sets, iteration, 1e-9, 100_000)
    lower, upper = value_bounds(iteration.values, float(iteration.progress["residual"]), float(ssp.losses.min()))
    exact = solve(ssp).values
    assert (lower <= exact + 1e-9).all()
    assert (exact <= upper + 1e-9).all()
    np.testing.assert_allclose(iteration.values, exact, rtol=1e-6)


def taught(
    support: Support, size: int, seen: list[Seen], pieces: set[str], *, regularization: float, scale: float
) -> tuple[LRCSSP, NaiveIntervals]:
    """A learner and its witness, after the same steps."""
    learner = LRCSSP(
        support, size, loss_floor=0.1, loss_bound=5.0, options=LearnerOptions(regularization=regularization),
        widths=scaled(widths_of(pieces), by=scale),
    )  # fmt: skip
    witness = NaiveIntervals(support, size, pieces=pieces, regularization=regularization, scale=scale)
    for context, step in seen:
        teach(learner, [Seen(context, step)])
        witness.record(context, step)
    return learner, witness


def assert_same_intervals(learner: LRCSSP, witness: NaiveIntervals, context: Floats) -> None:
    found, support = learner.confidence_set(context), learner.support
    for pair in range(support.pairs):
        low, high = witness.loss(pair, context)
        assert found.loss_low[pair] == pytest.approx(max(low, 0.1), abs=1e-10)
        assert found.loss_high[pair] == pytest.approx(max(high, 0.1), abs=1e-10)
        row = np.array(witness.shown(pair, context))
        np.testing.assert_allclose(found.low[support.row(pair)], row[:, 0], atol=1e-10)
        np.testing.assert_allclose(found.high[support.row(pair)], row[:, 1], atol=1e-10)


@pytest.mark.parametrize("choice", CHOICES)
@examples(8)
@given(drawn=st.data())
def test_the_intervals_are_those_of_the_formulas(choice: str, drawn: st.DataObject) -> None:
    size = drawn.draw(st.integers(1, 4))
    support = drawn.draw(st.one_of(supports, st.just(Support.full(2, 2))))
    learner, witness = taught(
        support, size, drawn.draw(data(support, size)), CHOICES[choice],
        regularization=drawn.draw(st.sampled_from([1.0, 0.05, 7.0])), scale=drawn.draw(st.sampled_from([1.0, 0.1])),
    )  # fmt: skip
    assert_same_intervals(learner, witness, drawn.draw(contexts(size)))


@pytest.mark.parametrize("choice", ["all", "only variance", "without entrywise"])
def test_the_intervals_are_those_of_the_formulas_after_many_steps_of_one_pair(choice: str) -> None:
    # 400 steps: the inverse was computed anew six times, the log-determinant is a sum of 400 logarithms, intervals are
    # inside [0, 1], and bounds by the variance are the smaller ones.
    rng = np.random.default_rng(5)
    support = Support.full(1, 1)
    chance = np.array([0.02, 0.05, 0.01])
    learner = LRCSSP(support, 3, loss_floor=0.1, loss_bound=5.0, widths=widths_of(CHOICES[choice]))
    witness = NaiveIntervals(support, 3, pieces=CHOICES[choice])
    for _ in range(400):
        context = rng.dirichlet(np.ones(3))
        seen = Seen(context, Step(0, 0, float(rng.random() < 0.4), int(rng.random() >= chance @ context)))
        teach(learner, [seen])
        witness.record(*seen)
    inside = 0
    for context in (np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.3, 0.5])):
        assert_same_intervals(learner, witness, context)
        found = learner.confidence_set(context)
        inside += int(((found.low > 0.0) | (found.high < 1.0)).sum())
    assert inside >= 2


@pytest.mark.parametrize("choice", CHOICES)
def test_of_a_pair_that_was_never_played_nothing_is_excluded_unless_it_has_one_next_state(choice: str) -> None:
    support = Support.from_pairs([{0: [0, 1, 2], 1: [1]}, {0: [2]}])
    learner, _ = taught(support, 2, [], CHOICES[choice], regularization=1.0, scale=1e-9)
    found = learner.confidence_set([0.3, 0.7])
    assert found.low.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert found.high.tolist() == [1.0] * 5
    assert found.loss_low.tolist() == [0.1] * 3  # the loss floor
    assert found.loss_high.tolist() == [1.0] * 3


def test_the_constants_of_the_bound_by_the_variance() -> None:
    # kappa = (e^b - 1 - b) / b^2 is the least with exp(x) <= 1 + x + kappa x^2 for all x <= b: equality at b.
    b, kappa, cut = EXPONENT_BOUND, CURVATURE, TRUNCATION_LOG
    assert kappa == pytest.approx((math.exp(b) - 1.0 - b) / b**2, rel=1e-15)
    x = np.linspace(-40.0, b, 100_001)
    assert (np.exp(x) <= (1.0 + x + kappa * x * x) * (1.0 + 1e-14)).all()
    assert math.exp(b + 1e-6) > 1.0 + (b + 1e-6) + kappa * (b + 1e-6) ** 2
    # A centred Gaussian of precision 2 kappa rho lies within +- b / 2 with probability erf(b sqrt(kappa rho) / 2).
    grid = np.linspace(-0.5 * b, 0.5 * b, 200_001)
    precision = 2.0 * kappa * VARIANCE_RIDGE
    density = np.exp(-0.5 * precision * grid**2) * math.sqrt(precision / (2.0 * math.pi))
    inside = float(np.trapezoid(density, grid))
    assert cut == pytest.approx(-math.log(inside), rel=1e-9)
    assert cut == pytest.approx(-math.log(erf(0.5 * b * math.sqrt(kappa * VARIANCE_RIDGE))), rel=1e-15)


def variance_bound(sums: Floats, level: float, x: Floats, scale: float = 1.0) -> float:
    constants = SimpleNamespace(scale=scale)
    lower = sums[np.tril_indices(len(x))]  # row by row, as learners keep it
    return float(bernstein_radius.python(constants, lower, level, x, 0.0))


@st.composite
def variance_cases(draw: st.DrawFn, size: int) -> tuple[Floats, float, Floats]:
    """(sums of variances, level, direction), from no data to very much."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    steps = draw(st.sampled_from([0, 1, 5, 100, 10_000]))
    seen = rng.dirichlet(np.ones(size), 5) * math.sqrt(0.25 * steps / 5)
    x = rng.standard_normal(size) * 10.0 ** draw(st.integers(-5, 1))
    return seen.T @ seen, draw(st.floats(1.0, 40.0)), x


@examples(60)
@given(st.integers(1, 4).flatmap(variance_cases))
def test_the_bound_by_the_variance_is_the_best_multiple_of_the_direction(case: tuple[Floats, float, Floats]) -> None:
    sums, level, x = case
    square = float(x @ (sums + VARIANCE_RIDGE * np.eye(len(x))) @ x)
    longest = 0.5 * EXPONENT_BOUND / float(np.abs(x).max())
    best = minimize_scalar(
        lambda share: CURVATURE * share * longest * square + level / (share * longest), bounds=(1e-9, 1.0),
        method="bounded", options={"xatol": 1e-12},
    )  # fmt: skip
    assert variance_bound(sums, level, x) == pytest.approx(best.fun, rel=1e-6)
    assert variance_bound(sums, level, x, scale=0.25) == pytest.approx(0.25 * variance_bound(sums, level, x))


@examples(20)
@given(variance_cases(2))
def test_no_noise_that_the_mixture_allows_is_above_the_bound_by_the_variance(
    case: tuple[Floats, float, Floats],
) -> None:
    # The largest x S over all S with z S <= kappa |z|_H^2 + L for z on a grid of [-b/2, b/2]^2: a linear program.
    # It has some of the constraints only, yet x itself among them, so it is close to the bound, not above.
    sums, level, x = case
    longest = 0.5 * EXPONENT_BOUND / float(np.abs(x).max())
    line = np.linspace(-0.5, 0.5, 21) * EXPONENT_BOUND
    grid = np.array([[a, b] for a in line for b in line if a or b])
    along = np.geomspace(1e-4, 1.0, 2000)[:, None] * longest * x
    every = np.vstack((grid, along))
    most = CURVATURE * np.einsum("ij,jk,ik->i", every, sums + VARIANCE_RIDGE * np.eye(2), every) + level
    answer = linprog(-x / np.abs(x).max(), A_ub=every, b_ub=most, bounds=[(None, None)] * 2)
    assert answer.status == 0
    assert -answer.fun * np.abs(x).max() <= variance_bound(sums, level, x) * (1.0 + 1e-4)


@examples(40)
@given(st.integers(1, 4).flatmap(variance_cases))
def test_the_trace_bounds_the_determinant(case: tuple[Floats, float, Floats]) -> None:
    sums, level, x = case
    size = len(x)
    found = variance_log_det_bound.python(float(np.trace(sums)), size, level)
    exact = (
        0.5 * np.linalg.slogdet(sums / VARIANCE_RIDGE + np.eye(size))[1]
        + TRUNCATION_LOG * size
        + level
        + LOG_DET_ROUNDING
    )
    assert found >= exact - 1e-12 * exact
    if size == 1:
        assert found == pytest.approx(exact, rel=1e-12)
