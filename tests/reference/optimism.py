"""Optimism twice: the best row of a ball by a cone program and by bisection, and the best values by value iteration.

The set of a pair under a context is the Euclidean ball around the estimated row (over the next states other than the
goal), cut with the rows that are >= 0 and sum to at most 1; the missing mass goes to the goal, whose value is 0. Where
the goal cannot follow (``stochastic``) rows sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from goalbound.models import Support
from tests.reference.projection import clarabel_answer, on_the_simplex

Floats = NDArray[np.float64] | Sequence[float]
Number = type[Decimal] | type[float]

DIGITS = Context(prec=40, Emin=-99999, Emax=99999)
"""The arithmetic of the bisection: more than twice the digits of a float."""


def inner_minimum(
    centre: Floats, radius: float, values: Floats, *, number: Number = Decimal
) -> tuple[float, NDArray[np.float64]]:
    """(min of q.values over q >= 0 with |q - centre| <= radius, that q), [m] each, by bisection.

    The best q is max(0, centre - t values): each next state loses mass in the proportion of its value until it has
    none. The distance to the centre grows with t, so t is where it meets the radius. Halving goes on until no number
    of the arithmetic lies between the ends: 40 digits, or those of a float with ``number=float``. Where values are
    >= 0 no mass is added, so q sums to at most 1 if the centre does. Rows of value 0 keep their mass.
    """
    with localcontext(DIGITS):
        masses, worths = ([number(float(x)) for x in numbers] for numbers in (centre, values))
        assert all(worth >= 0 for worth in worths), "values are not negative"
        q = _lightest(masses, worths, number(float(radius)))
        value = sum(mass * worth for mass, worth in zip(q, worths, strict=True))
        return float(value), np.array([float(mass) for mass in q])


def _lightest(centre: list[Any], values: list[Any], radius: Any) -> list[Any]:
    """The best q, in whatever arithmetic the numbers bring along."""
    if radius == 0:
        return centre
    row, square = list(zip(centre, values, strict=True)), radius * radius
    if sum(mass * mass for mass, value in row if value > 0) <= square:
        return [mass if value == 0 else mass * 0 for mass, value in row]

    def within(t: Any) -> bool:
        moved = 0
        for mass, value in row:
            step = t * value
            moved += step * step if step < mass else mass * mass
        return bool(moved <= square)

    low, high = radius * 0, max(mass / value for mass, value in row if value > 0)
    t = high / 2
    while low < t < high:
        low, high = (t, high) if within(t) else (low, t)
        t = (low + high) / 2
    return [max(mass - low * value, mass * 0) for mass, value in row]


def stochastic_minimum(
    centre: Floats, radius: float, values: Floats, *, number: Number = Decimal
) -> tuple[float, NDArray[np.float64]]:
    """(min of q.values over q >= 0 with sum 1 and |q - centre| <= radius, that q), [m] each, by bisection.

    The best q is the point of the simplex that is nearest to centre - t values, for the t where its distance to the
    centre, which grows with t, meets the radius. Values are counted from the least one: that moves all entries alike,
    and the nearest point of the simplex does not see it. The centre is divided by its sum first.
    """
    with localcontext(DIGITS):
        masses, worths = ([number(float(x)) for x in numbers] for numbers in (centre, values))
        total, least = sum(masses), min(worths)
        masses, over = [mass / total for mass in masses], [worth - least for worth in worths]
        q = _lightest_of_simplex(masses, over, number(float(radius)))
        value = least + sum(mass * worth for mass, worth in zip(q, over, strict=True))
        return float(value), np.array([float(mass) for mass in q])


def _lightest_of_simplex(centre: list[Any], over: list[Any], radius: Any) -> list[Any]:
    def at(t: Any) -> list[Any]:
        return on_the_simplex([mass - t * value for mass, value in zip(centre, over, strict=True)])

    def within(q: list[Any]) -> bool:
        return bool(sum((a - b) ** 2 for a, b in zip(q, centre, strict=True)) <= radius * radius)

    if radius == 0 or max(over) == 0:
        return centre
    # From t = 2 / (the least value above 0) on, all mass is at the values 0: none of theirs is above 1.
    low, high = radius * 0, 2 / min(value for value in over if value > 0)
    if within(at(high)):
        return at(high)
    t, largest = high / 2, max(over)
    # A t that moves nothing by 1e-60 is none to 40 digits: they have no number for so small a distance, and halving
    # would go on to the least number that there is.
    while low < t < high and t * largest > 1e-60:
        low, high = (t, high) if within(at(t)) else (low, t)
        t = (low + high) / 2
    return at(low)


def inner_minimum_by_cone(
    centre: Floats, radius: float, values: Floats, *, stochastic: bool = False
) -> tuple[float, NDArray[np.float64]]:
    """The same as a second-order cone program, with "q sums to at most 1" asked for; the value to 1e-9 or so.

    The unknown is u = (q - centre) / radius, |u| <= 1, so that small balls are as easy as large ones; bounds on u that
    |u| <= 1 implies are brought down to 2 or so, and a radius above 2 is no other than 2. Where the minimum is 0 many
    q attain it, and this one need not be that of the bisection.
    """
    middle, worth = np.asarray(centre, dtype=np.float64), np.asarray(values, dtype=np.float64)
    m, unit = len(middle), float(np.max(worth, initial=0.0))
    if radius == 0.0 or unit == 0.0:  # one point, or nothing to choose
        return float(middle @ worth), middle.copy()
    radius = min(radius, 2.0)
    sums = clarabel.ZeroConeT(1) if stochastic else clarabel.NonnegativeConeT(1)
    answer = clarabel_answer(
        csc_array((m, m)), worth / unit,
        csc_array(np.vstack((-np.eye(m), np.ones((1, m)), np.zeros((1, m)), -np.eye(m)))),
        np.concatenate((
            np.minimum(middle / radius, 2.0), [min((1.0 - middle.sum()) / radius, m + 1.0)], [1.0], np.zeros(m),
        )),
        [clarabel.NonnegativeConeT(m), sums, clarabel.SecondOrderConeT(m + 1)],
    )  # fmt: skip
    q = middle + radius * np.array(answer.x)
    return float(q @ worth), q


def l1_minimum_by_sorting(centre: NDArray[np.float64], take: float, values: NDArray[np.float64]) -> float:
    """The least worth of a row from which a mass ``take`` may be taken: from the largest values first, in fractions."""
    left, worth = Fraction(take), Fraction(0)
    for value, mass in sorted(zip(map(Fraction, values), map(Fraction, centre), strict=True), reverse=True):
        taken = min(left, mass)
        left -= taken
        worth += (mass - taken) * value
    return float(worth)


def optimistic_values(
    support: Support,
    losses: Floats,
    centres: Sequence[Floats],
    radii: Floats,
    *,
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-10,
) -> NDArray[np.float64]:
    """[S + 1] the values v(s) = min over the pairs of s of loss + min_q q.v, by value iteration; 0 at the goal.

    ``losses`` [N] are above 0; ``centres`` has a row per pair, over its next states other than the goal; ``radii`` [N].
    From zero the values come from below and stay there: they are at most the fixed point v*, and at least
    v* / (1 + 2 tolerance). From another ``start`` they are within 3 tolerance of it on either side (relative).

    Why: a sweep stops the iteration when it changes no value by more than r = tolerance * l, l the least loss. Each
    backup pays at least l, so a sweep applied to (1 + y) v gives at most v + r + y (v + r - l), which is at most
    (1 + y) v when y (l - r) >= r; then v* <= (1 + y) v with y = r / (l - r). From the other side in the same way.
    """
    values = np.zeros(support.states + 1) if start is None else np.array(start, dtype=np.float64)
    floor = float(min(losses))
    assert floor > 0.0, "value iteration needs losses above zero"
    for _ in range(100_000):
        before = values.copy()
        for state in range(support.states):
            values[state] = min(pair_values(support, losses, centres, radii, values=values, state=state))
        if np.abs(values - before).max() <= tolerance * floor:
            return values
    raise AssertionError(f"value iteration did not settle; the largest value is {values.max()}")


def pair_values(
    support: Support,
    losses: Floats,
    centres: Sequence[Floats],
    radii: Floats,
    *,
    values: NDArray[np.float64],
    state: int,
) -> list[float]:
    """loss + min_q q.values of each pair of a state, in the order of the pairs."""
    return [
        losses[pair]
        + (stochastic_minimum if is_stochastic(support, pair) else inner_minimum)(
            centres[pair], radii[pair], values[next_states(support, pair)], number=float
        )[0]
        for pair in range(int(support.pair_start[state]), int(support.pair_start[state + 1]))
    ]


def is_stochastic(support: Support, pair: int) -> bool:
    """Whether the goal is not among the next states of a pair, so that their chances sum to 1."""
    return support.states not in support.next_state[support.row(pair)]


def next_states(support: Support, pair: int) -> NDArray[np.int32]:
    """The next states of a pair other than the goal."""
    row = support.next_state[support.row(pair)]
    return row[row != support.states]


def contains(
    losses: Floats,
    centres: Sequence[Floats],
    radii: Floats,
    truth: tuple[Floats, Sequence[Floats]],
    *,
    slack: float = 0.0,
) -> bool:
    """Whether the set holds a truth (losses [N], rows without the goal): no loss below the optimistic one, and each
    row within the radius of its centre (up to ``slack``). Then the optimistic values are at most the true ones."""
    true_losses, true_rows = truth
    return all(
        true_losses[pair] >= losses[pair] - slack
        and float(np.linalg.norm(np.subtract(true_rows[pair], centres[pair]))) <= radii[pair] + slack
        for pair in range(len(losses))
    )
