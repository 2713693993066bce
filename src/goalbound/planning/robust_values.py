"""The least and the largest values of one policy over the plausible models, with their certificates.

Every function takes a set in which each state has one pair: that of the policy. The argument for the bounds is that of
:func:`goalbound.planning.policy_bounds`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import BallSet, IntervalSet, Support
from goalbound.planning.checks import EFFORT
from goalbound.planning.extended_value_iteration import uncertainty_arrays
from goalbound.planning.kernels.robust_evaluation import optimistic_backups, pessimistic_backups
from goalbound.planning.kernels.value_iteration import ROUNDING, UNDERFLOW, UncertaintySet
from goalbound.planning.plausible_rows import NEGLIGIBLE, PlausibleRows, confined, kept_to, leading_to
from goalbound.planning.solution import Status

MOST_MODELS = 100
"""As many models are evaluated on the way to the worst one; a handful suffices."""
SETTLED = 1e-13
"""A share of the losses: backups that exceed values by no more are those of the worst model, but for rounding."""
EPSILON = 2.0**-52
UNFIT = 1e-6
"""Rows whose sum is further from 1 are not plausible: sets are checked up to less than this."""
SPREAD = 1e-3
"""Losses below this share of their mean are too small to absorb rounding: expected steps do it instead."""
DENSE_STATES = 400
"""Up to this many states linear systems are solved without a look at their zeros."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def upper_bounds(sets: BallSet | IntervalSet, finite: Bools, tolerance: float) -> tuple[Floats, Status]:
    """[S + 1] the certified upper bounds of a policy, and whether they are within the tolerance."""
    upper = np.append(np.full(len(finite), np.inf), 0.0)
    if not finite.any():
        return upper, Status.CONVERGED
    arrays = uncertainty_arrays(sets)._replace(losses=np.array(sets.loss_high))
    mean = float(arrays.losses[finite].mean())
    values, excess, short = _worst_values(sets.support, arrays, finite)
    shape, slip, paid = values, excess, arrays.losses
    if paid[finite].min() < SPREAD * mean or mean == 0.0:
        paid = np.maximum(paid, SPREAD * mean if mean > 0.0 else 1.0)
        shape, slip, _ = _worst_values(sets.support, arrays._replace(losses=paid), finite)
    margin = (paid - slip)[finite]
    if not (np.isfinite(excess[finite]).all() and (margin > 0.0).all()):
        return upper, Status.ROUNDING
    factor = float(np.max(excess[finite] / margin)) * (1.0 + 1e-12)
    fall = float(np.max(short[finite] / margin))  # the largest values are not below values - fall * shape, see there
    bound = (values + factor * shape)[:-1][finite]
    upper[:-1][finite] = np.nextafter(bound * (1.0 + 1e-15), np.inf)
    return upper, bounds_status((factor + fall) * shape[:-1][finite], bound, tolerance)


def _worst_values(support: Support, arrays: UncertaintySet, finite: Bools) -> tuple[Floats, Floats, Floats]:
    """[S + 1] the values of the worst model found, [S] how far their backups exceed them, infinite if none was, and [S]
    how far their backups fall short of them, which is rounding.

    Strategy iteration of an adversary that chooses the rows: all its models arrive from the states that are finite, so
    their values rise, in a handful of rounds, to those of the worst one.

    How far the values v may be above the largest ones: let q be the rows of T v >= v - short, and s a shape with
    l + q' s <= s + slip for all plausible rows q'. Then T(v - y s) >= T v - y q s >= v - y s for
    y >= short / (l - slip), and what is below its own backup is below the fixed point.
    """
    values, found = np.zeros(support.states + 1), np.full(support.states, np.inf)
    backups = _Backups(support, arrays, pessimistic_backups)
    units = np.where(finite & (arrays.losses > 0.0), arrays.losses, 1.0)
    for left in reversed(range(MOST_MODELS)):
        worth, rows = backups.of(values)
        excess = np.where(finite, np.maximum(worth - values[:-1], 0.0), 0.0)
        short = np.where(finite, np.maximum(values[:-1] - worth, 0.0), 0.0)
        solved = _chain_values(support, rows, arrays.losses, finite)
        rises = solved is not None and ((solved - values)[:-1] > 4.0 * EPSILON * values[:-1]).any()
        if (excess <= SETTLED * units).all() or not rises or left == 0:
            break
        assert solved is not None
        values = solved
    return values, excess if values.any() or not worth[finite].any() else found, short


class _Model(NamedTuple):
    """A model that arrives from everywhere, and what backups against its values say.

    Attributes:
        rows: [M] as :func:`_chain_values` takes them.
        values: [S + 1].
        short: [S] how far backups fall short of them.
        excess: [S] how far backups exceed them, which is rounding.
    """

    rows: Floats
    values: Floats
    short: Floats
    excess: Floats


def _best_model(plausible: PlausibleRows, losses: Floats, aim: float) -> _Model | None:
    """The best of the models that arrive, but for rounding; None if no model could be evaluated.

    Policy iteration from a model that arrives, in a handful of rounds. Rows are replaced only where that is better, so
    that models go on arriving, even where nothing is lost: :func:`goalbound.planning.robust_plan` says why. Ends where
    backups fall short by at most ``aim`` times the loss, or where values fall no more.
    """
    support = plausible.support
    everywhere = np.ones(support.states, dtype=bool)
    arrays = uncertainty_arrays(plausible.sets)._replace(losses=np.array(losses))
    backups = _Backups(support, arrays, optimistic_backups)
    rows = _arriving_rows(plausible, backups.of(np.append(np.maximum(losses, 0.0), 0.0))[1])
    values = _chain_values(support, rows, losses, everywhere)
    if values is None:
        return None
    for left in reversed(range(MOST_MODELS)):
        worth, best = backups.of(values)
        found = _Model(rows, values, np.maximum(values[:-1] - worth, 0.0), np.maximum(worth - values[:-1], 0.0))
        if (found.short <= aim * losses).all() or left == 0:
            break
        better = found.short > 2.0 * ROUNDING * float(values.max())
        rows = np.where(np.repeat(better, np.diff(support.next_start)), best, rows)
        solved = _chain_values(support, rows, losses, everywhere)
        if solved is None or not (solved < values * (1.0 - 4.0 * EPSILON)).any():
            break
        values = solved
    return found


def _arriving_rows(plausible: PlausibleRows, rows: Floats) -> Floats:
    """[M] ``rows``, but in states from which they never arrive rows that lead everywhere where plausible ones lead."""
    support = plausible.support
    first, lengths = support.next_start[:-1], np.diff(support.next_start)
    to_goal = support.next_state == support.states
    lacking = 1.0 - np.add.reduceat(np.where(to_goal, 0.0, rows), first)
    leads = np.where(to_goal, np.repeat(lacking, lengths) > NEGLIGIBLE, rows > 0.0)
    reached = leading_to(support, leads, np.append(np.zeros(support.states, dtype=bool), True))[:-1]
    return np.where(np.repeat(reached, lengths), rows, _inner_rows(plausible.sets))


def _inner_rows(sets: BallSet | IntervalSet) -> Floats:
    """[M] plausible rows that lead to every next state to which a plausible row leads; those of balls lack the goal."""
    first, lengths = sets.support.next_start[:-1], np.diff(sets.support.next_start)
    if isinstance(sets, IntervalSet):
        start, way = sets.low, sets.high - sets.low
        whole, length = 1.0 - np.add.reduceat(start, first), np.add.reduceat(way, first)
    else:
        start = np.where(sets.to_state, sets.rows, 0.0)
        way = np.where(sets.to_state, 1.0 / np.repeat(lengths, lengths) - start, 0.0)
        whole, length = 0.5 * sets.radii, np.sqrt(np.add.reduceat(way * way, first))
    whole = np.maximum(whole, 0.0)  # rows that are known may sum to a little more than 1
    share = np.divide(whole, length, out=np.ones(len(first)), where=length > whole)
    return np.asarray(start + np.repeat(share, lengths) * way)


class _Backups:
    """Backups of all pairs, against one vector of values after the other."""

    def __init__(self, support: Support, arrays: UncertaintySet, kernel: Any) -> None:
        self._support, self._arrays, self._kernel = support, arrays, kernel
        self._duals = np.zeros(support.pairs)

    def of(self, values: Floats) -> tuple[Floats, Floats]:
        """([N] the backups, [M] their rows); entries of the goal in rows of balls are 0."""
        worth, rows = np.zeros(self._support.pairs), np.zeros(self._support.triples)
        EFFORT.engine(self._support.triples)(self._kernel)(self._arrays, values, self._duals, worth, rows)
        return worth, rows


def _chain_values(support: Support, rows: Floats, losses: Floats, finite: Bools) -> Floats | None:
    """[S + 1] what the finite states lose, at least 0, in a model whose rows [M] lead only to them and to the goal.

    None if the linear system has no answer, or rows are further than rounding from the sum 1, to which they are
    brought. What balls lack goes to the goal.
    """
    states, lengths = support.states, np.diff(support.next_start)
    row = np.repeat(np.arange(states), lengths)
    inside = np.append(finite, True)
    to_goal = support.next_state == states
    entries = np.where(inside[support.next_state] & ~to_goal, rows, 0.0)
    total = np.add.reduceat(entries, support.next_start[:-1])
    given = np.add.reduceat(np.where(to_goal, rows, 0.0), support.next_start[:-1])
    leaving = np.where(support.leads_to_goal, np.maximum(given, 1.0 - total), 0.0)
    leaving = np.maximum(leaving, 0.0)
    scale = total + leaving
    if (np.abs(scale[finite] - 1.0) > UNFIT).any():
        return None
    scale = np.where(scale > 0.0, scale, 1.0)
    entries, leaving = entries / scale[row], leaving / scale
    apart = (support.next_state != row) & (entries > 0.0) & finite[row]
    place = np.cumsum(finite) - 1
    moves, begin, end = entries[apart], place[row[apart]], place[support.next_state[apart]]
    count = int(finite.sum())
    diagonal = leaving[finite] + np.bincount(
        begin, weights=moves, minlength=count
    )  # 1 minus staying, without subtraction
    solved = _solved(begin, end, moves, diagonal, losses[finite])
    if solved is None or not np.isfinite(solved).all():
        return None
    values = np.zeros(states + 1)
    values[:-1][finite] = np.maximum(solved, 0.0)
    return values


def _solved(
    begin: NDArray[np.int64], end: NDArray[np.int64], moves: Floats, diagonal: Floats, right: Floats
) -> Floats | None:
    """x with diagonal x - moves x = right; None where the system is singular."""
    count = len(diagonal)
    if (diagonal <= 0.0).any():
        return None
    if count <= DENSE_STATES or len(moves) > 0.05 * count * count:
        matrix = np.diag(diagonal)
        np.subtract.at(matrix, (begin, end), moves)
        try:
            return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    everywhere = np.arange(count)
    coordinates = np.concatenate((begin, everywhere)), np.concatenate((end, everywhere))
    try:
        answer: Floats = splu(csc_array((np.concatenate((-moves, diagonal)), coordinates))).solve(right)
    except RuntimeError:  # exactly singular
        return None
    return answer


def lower_bounds(sets: BallSet | IntervalSet, arriving: Bools, tolerance: float) -> tuple[Floats, Status]:
    """[S + 1] the certified lower bounds of a policy, and whether they are within the tolerance.

    No model that arrives leads to a state that never does, so only the others are looked at, and their rows there.
    """
    lower = np.append(np.full(len(arriving), np.inf), 0.0)
    if not arriving.any():
        return lower, Status.CONVERGED
    if not arriving.all():
        sets = confined(sets, arriving)
    rows = PlausibleRows(sets)
    found, above = _scaled_values(rows, tolerance)
    status = bounds_status((above - found)[:-1], above[:-1], tolerance)
    if status is not Status.CONVERGED:
        kept, best = _kept_values(rows)
        found, above = np.maximum(found, kept), np.minimum(above, best)
        status = bounds_status((above - found)[:-1], above[:-1], tolerance)
    lower[:-1][arriving] = found[:-1]
    return lower, status


def bounds_status(gaps: Floats, bounds: Floats, tolerance: float) -> Status:
    """CONVERGED if all is finite and no gap above the tolerance, relative to its bound or to SPREAD of the largest."""
    if not (np.isfinite(gaps).all() and np.isfinite(bounds).all()):
        return Status.ROUNDING
    units = np.maximum(bounds, SPREAD * float(bounds.max()))
    return Status.CONVERGED if (gaps <= tolerance * units + UNDERFLOW).all() else Status.ROUNDING


def _scaled_values(rows: PlausibleRows, tolerance: float) -> tuple[Floats, Floats]:
    """[S + 1] each: (1 - x) v and (1 + y) v, with v the values of a model, or below them; infinite above where a loss
    is too small beside rounding.

    If backups fall short of v by r and pay l, T((1 - x) v) >= (1 - x)(v - r) + x l >= (1 - x) v for x >= r / (r + l).
    If they exceed v by e < l, T((1 + y) v) = (1 + y) T v - y l <= (1 + y)(v + e) - y l <= (1 + y) v for
    y >= e / (l - e), and the model of these rows loses at most (1 + y) v.
    """
    losses = rows.sets.loss_low
    best = _best_model(rows, losses, 0.1 * tolerance)
    if best is None or not (losses > 0.0).all():
        return np.append(losses, 0.0), np.full(len(losses) + 1, np.inf)
    values, short, excess = best.values, best.short, best.excess
    share = float(np.max(short / (short + losses))) * (1.0 + 1e-12)
    lower = values * (1.0 - share) * (1.0 - 1e-15)
    if not (excess < losses).all():
        return lower, np.full(len(values), np.inf)
    return lower, values * (1.0 + float(np.max(excess / (losses - excess))))


def _kept_values(rows: PlausibleRows) -> tuple[Floats, Floats]:
    """[S + 1] each, where losses are 0 or small beside rounding: w with w <= T w, which is below the values of every
    model that arrives, and bounds of the values of one model.

    Losses less ``slack`` make values w with w + slack <= T w, which is more than rounding. It cannot be taken from
    states that some model keeps to for next to no loss; there w <= T w holds as plausible rows sum to 1: T w is at
    least the loss and the least w of a next state. That is tight, as rows may stay but for what leads to that state.
    """
    support, losses = rows.support, rows.sets.loss_low
    nothing = np.append(losses, 0.0)
    best = _best_model(rows, losses, 0.0)
    if best is None:
        return nothing, np.full(len(nothing), np.inf)
    steps = _chain_values(support, best.rows, np.ones(support.states), np.ones(support.states, dtype=bool))
    slack = 4.0 * ROUNDING * float(best.values.max())
    above = np.full(len(nothing), np.inf) if steps is None else best.values + (slack + best.excess.max()) * steps
    free = kept_to(rows, losses < slack)
    less = _best_model(rows, np.where(free[:-1], 0.0, losses - slack), 0.0)
    if less is None:
        return nothing, above
    values = np.minimum(less.values, best.values)
    backups = _Backups(support, uncertainty_arrays(rows.sets), optimistic_backups)
    reached = rows.attainable(np.ones(support.states + 1, dtype=bool))
    for _ in range(MOST_MODELS):
        nearest = np.minimum.reduceat(np.where(reached, values[support.next_state], np.inf), support.next_start[:-1])
        least = np.maximum(nearest, np.nextafter(nearest + losses, 0.0))
        worth = np.maximum(backups.of(values)[0], least)
        if (worth >= values[:-1]).all():
            return values, above
        values = np.append(np.minimum(values[:-1], worth), 0.0)
    return nothing, above
