"""The least and the largest values of one policy over the plausible models, with their certificates.

Every function takes a set in which each state has one pair: that of the policy. The argument for the bounds is that of
:func:`goalbound.planning.policy_bounds`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import value_iteration as kernels
from goalbound.kernels.robust_evaluation import optimistic_backups, pessimistic_backups
from goalbound.kernels.value_iteration import ROUNDING, UNDERFLOW, UncertaintySet, new_value_iteration_state
from goalbound.models import BallSet, IntervalSet, Support
from goalbound.planning.checks import EFFORT
from goalbound.planning.extended_value_iteration import optimistic_rows, uncertainty_arrays
from goalbound.planning.plausible_rows import confined
from goalbound.planning.solution import Status

MOST_MODELS = 100
"""As many models are evaluated on the way to the worst one; a handful suffices."""
MOST_ROUNDS = 1000
"""Rounds until a model of the best rows arrives, and on to the best one."""
SETTLED = 1e-13
"""A share of the losses: backups that exceed values by no more are those of the worst model, but for rounding."""
EPSILON = 2.0**-52
SWEEPS = 20_000
SWEEPS_AT_A_TIME = 64
"""Sweeps between two looks at whether compiled kernels pay."""
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
    return upper, _status((factor + fall) * shape[:-1][finite], bound, tolerance)


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


def _best_values(support: Support, arrays: UncertaintySet, aim: float) -> tuple[Floats, Floats, Floats]:
    """[S + 1] values from which the least plausible ones are not far, [S] how far backups fall short of them, and [S]
    how far backups exceed them, which is rounding.

    Sweeps from below until a model of the best rows arrives, then strategy iteration: losses are positive, so better
    models arrive too, and their values fall to the least ones.
    """
    values = np.append(arrays.losses, 0.0)
    backups = _Backups(support, arrays, optimistic_backups)
    everywhere = np.ones(support.states, dtype=bool)
    modelled = False
    best, least, best_short = values, np.inf, np.full(support.states, np.inf)
    best_excess = best_short
    for _ in range(MOST_ROUNDS):
        worth, rows = backups.of(values)
        short = np.maximum(values[:-1] - worth, 0.0)
        share = float(np.max(short / arrays.losses))
        if modelled and not share < least:
            break  # what is left is rounding
        if modelled:
            best, least, best_short, best_excess = values, share, short, np.maximum(worth - values[:-1], 0.0)
        solved = _chain_values(support, rows, arrays.losses, everywhere)
        if modelled and (share <= aim or solved is None):
            break
        modelled = solved is not None
        values = np.append(worth, 0.0) if solved is None else solved
    return best, best_short, best_excess


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
    """[S + 1] what the finite states lose in a model whose rows [M] lead only to them and to the goal; None if the
    linear system has no answer, or rows are further than rounding from the sum 1, to which they are brought. What
    balls lack goes to the goal."""
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
    if solved is None or not (np.isfinite(solved).all() and (solved >= 0.0).all()):
        return None
    values = np.zeros(states + 1)
    values[:-1][finite] = solved
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
    if sets.loss_low.min() > 0.0:
        found, above = _positive_lower_bounds(sets, tolerance)
    else:
        found, above = _free_lower_bounds(sets, tolerance)
    lower[:-1][arriving] = found[:-1]
    return lower, _status((above - found)[:-1], above[:-1], tolerance)


def _status(gaps: Floats, bounds: Floats, tolerance: float) -> Status:
    """CONVERGED if no gap is above the tolerance, relative to its bound or to SPREAD of the largest one."""
    units = np.maximum(bounds, SPREAD * float(bounds.max()))
    return Status.CONVERGED if (gaps <= tolerance * units + UNDERFLOW).all() else Status.ROUNDING


def _positive_lower_bounds(sets: BallSet | IntervalSet, tolerance: float) -> tuple[Floats, Floats]:
    """[S + 1] each: (1 - x) v and (1 + y) v, with v the values of a model, or below them.

    If backups fall short of v by r and pay l, T((1 - x) v) >= (1 - x)(v - r) + x l >= (1 - x) v for x >= r / (r + l).
    If they exceed v by e < l, T((1 + y) v) = (1 + y) T v - y l <= (1 + y)(v + e) - y l <= (1 + y) v for
    y >= e / (l - e), and the model of these rows loses at most (1 + y) v.
    """
    arrays = uncertainty_arrays(sets)
    values, short, excess = _best_values(sets.support, arrays, 0.1 * tolerance)
    if not np.isfinite(short).all():  # no model was found that arrives: rounding
        return np.append(arrays.losses, 0.0), np.full(len(values), np.inf)
    share = float(np.max(short / (short + arrays.losses))) * (1.0 + 1e-12)
    lower = values * (1.0 - share) * (1.0 - 1e-15)
    if not (excess < arrays.losses).all():
        return lower, np.full(len(values), np.inf)
    return lower, values * (1.0 + float(np.max(excess / (arrays.losses - excess))))


def _free_lower_bounds(sets: BallSet | IntervalSet, tolerance: float) -> tuple[Floats, Floats]:
    """[S + 1] each, where losses may be 0: sweeps from 0, which stay below the least values but for their rounding; and
    what the model of the best rows adds to them, which is the residual times its expected steps."""
    support, arrays = sets.support, uncertainty_arrays(sets)
    iteration = new_value_iteration_state(support.states, support.pairs)
    iteration.policy[:] = np.arange(support.states)
    aim = 1e-3 * tolerance * float(sets.loss_low.mean())
    made = 0
    while made < SWEEPS and not float(iteration.progress["residual"]) <= aim:
        run = EFFORT.engine(support.triples * SWEEPS_AT_A_TIME)
        made += int(run(kernels.value_iteration)(arrays, iteration, aim, SWEEPS_AT_A_TIME))
    lost = 2.0 * made * ROUNDING * float(iteration.values.max()) + made * UNDERFLOW
    over = float(iteration.progress["residual"]) + lost
    above = np.array(iteration.values)
    if over > 2.0 * made * UNDERFLOW:  # else nothing is lost at all, and 0 is the answer everywhere
        above = above + over * _optimistic_steps(support, arrays, iteration)
    return np.maximum(iteration.values - lost, 0.0), above


def _optimistic_steps(support: Support, arrays: UncertaintySet, iteration: Any) -> Floats:
    """[S + 1] the expected steps in the model of the most optimistic rows; infinite if it does not arrive."""
    rows = np.array(optimistic_rows(support, arrays, iteration))
    everywhere = np.ones(support.states, dtype=bool)
    solved = _chain_values(support, rows, np.ones(support.states), everywhere)
    return np.full(support.states + 1, np.inf) if solved is None else solved
