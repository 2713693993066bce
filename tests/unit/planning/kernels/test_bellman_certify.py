"""The certificate in exact arithmetic: what it says holds for fractions, whatever values and shape it is given."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goalbound.planning.kernels import bellman
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples

NOTHING = np.empty(0)


class Report(NamedTuple):
    least_x: float
    greatest_x: float
    least_y: float
    greatest_y: float
    infeasible: int


class Case(NamedTuple):
    """What the kernel is given."""

    rows: drawn.Rows
    usable: np.ndarray
    policy: np.ndarray
    values: np.ndarray
    low: np.ndarray
    shape: np.ndarray

    def certify(self, cut: float = 0.0) -> Report:
        with np.errstate(all="ignore"):  # as the planner does; what comes of it must hold all the same
            return Report(*bellman.certify.python(*self, cut))


def between(least: float, greatest: float) -> Iterable[Fraction]:
    """Both ends, where they are numbers, and one between."""
    if least <= greatest and np.isfinite(least):
        ends = [
            Fraction(float(least)),
            Fraction(float(greatest)) if np.isfinite(greatest) else Fraction(float(least)) * 2,
        ]
        yield from (*ends, sum(ends) / 2)


def assert_below(case: Case, w: twin.Exact, where: Iterable[int]) -> None:
    """No usable pair has an advantage over w below zero."""
    for pair in twin.pairs_of(case.rows, case.usable):
        assert pair.state not in where or twin.gain(pair, w) >= 0


def assert_above(case: Case, u: twin.Exact) -> None:
    """The policy's pairs have no advantage over u above zero."""
    for pair in twin.pairs_of(case.rows):
        assert case.policy[pair.state] != pair.number or twin.gain(pair, u) <= 0


def assert_report_holds(case: Case, report: Report, cut: float = 0.0) -> None:
    """For all x and y that the report allows."""
    v, h = twin.exactly(case.values, case.low), twin.exactly(case.shape)
    solved = np.flatnonzero(case.policy >= 0)
    if not report.infeasible:
        for x in between(report.least_x, report.greatest_x):
            w = {s: v[s] - x * h[s] for s in v}
            assert_below(case, w, [s for s in solved if v[s] > cut])
            assert_below(case, {s: max(w[s] - Fraction(cut), Fraction(0)) for s in v}, solved)
    for y in between(report.least_y, report.greatest_y):
        assert_above(case, {s: v[s] + y * h[s] for s in v})


@st.composite
def wild(draw: st.DrawFn) -> Case:
    """Any values, any shape: values of neighbours may be equal, far apart, or almost equal."""
    rows = draw(drawn.problems(proper=True))
    usable = drawn.moving(rows)
    policy = draw(drawn.policies(rows, usable))
    policy[~draw(drawn.masks(len(policy)))] = -1
    values = draw(drawn.values(len(policy)))
    if draw(st.booleans()):
        values[:-1] = values[0] * (1.0 + 2.0**-50 * np.arange(len(policy)))
    low = values * draw(st.sampled_from([2.0**-54, -(2.0**-55), 0.0])) if draw(st.booleans()) else NOTHING
    shape = draw(st.sampled_from([values, values * (2.0 + np.arange(len(values))[::-1])]))
    if draw(st.booleans()):
        shape = draw(drawn.values(len(policy)))
    return Case(rows, usable, policy, values, low, shape)


@st.composite
def settled(draw: st.DrawFn, *, loss: st.SearchStrategy[float]) -> Case:
    """Values of a proper policy after some policy iteration, to within rounding; the shape is values and moves."""
    rows = draw(drawn.problems(proper=True, loss=loss))
    usable, policy = drawn.moving(rows), drawn.first_pairs(rows)
    for _ in range(draw(st.integers(0, 4))):
        values, _ = worth(rows, policy)
        bellman.improve.python(rows, usable, values, NOTHING, 1e-9 * values[:-1], 0.0, np.zeros(len(policy)), policy)
        assume(np.linalg.matrix_rank(np.eye(len(policy)) - twin.moves_of(rows, policy)[0]) == len(policy))
    values, moves = worth(rows, policy)
    values += values * 2.0**-53 * draw(st.integers(-2, 2))
    low = np.zeros(len(values)) if draw(st.booleans()) else NOTHING
    return Case(rows, usable, policy, values, low, values + draw(st.sampled_from([0.0, 1.0])) * moves)


def worth(rows: drawn.Rows, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[S + 1] values, and moves to the goal, by a dense solve."""
    weight, _ = twin.moves_of(rows, policy)
    pairs = twin.pairs_of(rows)
    loss = [float(pairs[i].total * pairs[i].loss / pairs[i].moving) for i in policy]
    both = np.linalg.solve(np.eye(len(policy)) - weight, np.stack((loss, np.ones(len(policy))), axis=1))
    return np.append(both[:, 0], 0.0), np.append(both[:, 1], 0.0)


@given(wild())
@examples(60)
def test_what_is_said_of_any_values_holds_exactly(case: Case) -> None:
    assert_report_holds(case, case.certify())


@given(wild(), st.sampled_from([1e-320, 1e-302, 1e-290, 1e-160, 1e290, 1e302]), st.booleans())
@examples(60)
def test_what_is_said_holds_exactly_at_both_ends_of_the_floats(case: Case, scale: float, shapes_too: bool) -> None:
    values = case.values * scale
    for pair in twin.pairs_of(case.rows):  # as good as they promise, but for rounding: that is where it is close
        if case.policy[pair.state] == pair.number and pair.loss == 0:
            values[pair.state] = float(twin.next_value(pair, twin.exactly(values))[0])
    low = values * 2.0**-54 if len(case.low) else NOTHING
    case = case._replace(values=values, low=low, shape=case.shape * scale if shapes_too else case.shape)
    assume((case.shape[:-1] > 0.0).all() and np.isfinite(case.shape).all())
    assert_report_holds(case, case.certify())


@given(settled(loss=st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0])))
@examples(50)
def test_what_is_said_of_good_values_holds_exactly(case: Case) -> None:
    assert_report_holds(case, case.certify())


@given(st.one_of(wild(), settled(loss=st.sampled_from([0.0, 0.01, 1.0]))), st.sampled_from([1e-6, 0.01, 0.3, 0.9]))
@examples(60)
def test_a_lower_bound_with_a_cut_is_below_its_backups_everywhere(case: Case, share: float) -> None:
    cut = share * float(case.values.max())
    assert_report_holds(case, case.certify(cut), cut)


@pytest.mark.parametrize("low", [NOTHING, np.zeros(2)], ids=["one part", "two parts"])
def test_one_state_by_hand(low: np.ndarray) -> None:
    # One pair, loss 0.5, to the goal: v* = 0.5. Values 0.75 are too large by 0.25: a third of the shape 0.75.
    rows = drawn.rows_from([[(0.5, [(1, 1.0)])]])
    policy, usable = np.array([0]), np.array([True])
    high, deep = np.array([0.75, 0.0]), np.array([0.25, 0.0])
    report = Case(rows, usable, policy, high, low, high).certify()
    assert report.least_x == pytest.approx(1 / 3, rel=1e-14)
    assert report.least_x > 1 / 3  # against us
    assert (report.least_y, report.greatest_y, report.infeasible) == (0.0, np.inf, 0)
    # Values 0.25 are too small by 0.25: all of the shape 0.25.
    report = Case(rows, usable, policy, deep, low, deep).certify()
    assert report.least_y == pytest.approx(1.0, rel=1e-14)
    assert report.least_y > 1.0
    assert (report.least_x, report.greatest_x, report.infeasible) == (0.0, np.inf, 0)


@pytest.mark.parametrize("low", [NOTHING, np.zeros(2)], ids=["one part", "two parts"])
def test_a_gain_that_underflows_is_counted_against_us(low: np.ndarray) -> None:
    # Free, one in four ends: v* = 0, and a value of 2^-1074 promises too much by 2^-1076, which is no float.
    rows = drawn.rows_from([[(0.0, [(0, 3.0), (1, 1.0)])]])
    case = Case(rows, np.array([True]), np.array([0]), np.array([2.0**-1074, 0.0]), low, np.array([1.0, 0.0]))
    report = case.certify()
    assert report.least_x > 0.0
    assert_report_holds(case, report)
