"""The least and the largest values of one policy over the plausible models, with their certificates.

A policy may fail to arrive in the worst of the plausible models only if some set of states can be kept to for ever:
:class:`PlausibleRows` answers questions about the supports of rows, not about their numbers. Probabilities of at most
NEGLIGIBLE, which may be rounding, count as none wherever that makes fewer models arrive.

The functions of values take a set in which each state has one pair: that of the policy. The argument for the bounds is
that of :func:`goalbound.planning.policy_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import BallSet, IntervalSet, Support
from goalbound.planning.checks import EFFORT
from goalbound.planning.extended_value_iteration import uncertainty_arrays
from goalbound.planning.kernels.robust_evaluation import optimistic_backups, pessimistic_backups
from goalbound.planning.kernels.value_iteration import ROUNDING, UNDERFLOW, UncertaintySet
from goalbound.planning.solution import Status

NEGLIGIBLE = 1e-12
"""A probability, or a distance between rows, that may be rounding."""
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


@dataclass(frozen=True, eq=False)
class PlausibleRows:
    """What the rows of a set of plausible models can do. Every method costs O(M)."""

    sets: BallSet | IntervalSet

    @property
    def support(self) -> Support:
        """The pairs and where each may lead."""
        return self.sets.support

    def may_stay(self, inside: Bools) -> Bools:
        """[N] whether some plausible row of the pair leads only to where ``inside`` [S + 1] is true."""
        there = inside[self.support.next_state]
        if isinstance(self.sets, IntervalSet):
            must_leave = self._any(~there & (self.sets.low > NEGLIGIBLE))
            return ~must_leave & (self._sums(np.where(there, self.sets.high, 0.0)) >= 1.0 - NEGLIGIBLE)
        return self._distance(there) <= self.sets.radii + NEGLIGIBLE

    def attainable(self, inside: Bools) -> Bools:
        """[M] which next states have positive probability in some plausible row that leads only ``inside`` [S + 1]."""
        support = self.support
        there = inside[support.next_state]
        pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
        stays = there & self.may_stay(inside)[pair]
        if isinstance(self.sets, IntervalSet):
            return stays & (self.sets.high > 0.0) & (self._left_by_others(there, pair) > 0.0)
        to_goal = support.next_state == support.states
        centre = np.where(there & ~to_goal, self.sets.rows, 0.0)
        lacking = 1.0 - self._sums(centre)
        takes_rest = self._any(there & to_goal)
        free = self.sets.radii > self._distance(there)  # in all directions
        at_centre = np.where(
            to_goal, lacking[pair] > NEGLIGIBLE, (centre > 0.0) | ~(takes_rest | (lacking <= 0.0))[pair]
        )
        return stays & (free[pair] | at_centre)

    def _left_by_others(self, there: Bools, pair: NDArray[np.int64]) -> Floats:
        """[M] what the least probabilities of the other next states leave; of the right sign, whatever the rounding."""
        assert isinstance(self.sets, IntervalSet)
        low = np.where(there, np.maximum(self.sets.low, 0.0), 0.0)
        left = 1.0 - (self._sums(low)[pair] - low)
        for triple in np.flatnonzero(np.abs(left) <= NEGLIGIBLE):
            others = np.delete(low[self.support.row(int(pair[triple]))], triple - self.support.next_start[pair[triple]])
            left[triple] = math.fsum([1.0, *(-others)])
        return left

    def _distance(self, there: Bools) -> Floats:
        """[N] how far the centre of a ball is from the nearest row that leads only there; infinite if there is none.

        What the centre has elsewhere goes to the goal if it is there, else to all next states that are, alike.
        """
        assert isinstance(self.sets, BallSet)
        to_state = self.sets.to_state
        centre = np.where(to_state, self.sets.rows, 0.0)
        square = self._sums(np.where(there, 0.0, centre * centre))
        lacking = np.maximum(1.0 - self._sums(np.where(there, centre, 0.0)), 0.0)
        count = self._sums((there & to_state).astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            shared = np.where(count > 0.0, lacking * lacking / count, np.inf)
        return np.sqrt(square + np.where(self._any(there & ~to_state), 0.0, shared))

    def _sums(self, entries: Floats) -> Floats:
        return np.add.reduceat(entries, self.support.next_start[:-1])

    def _any(self, entries: Bools) -> Bools:
        return np.logical_or.reduceat(entries, self.support.next_start[:-1])


def may_never_arrive(rows: PlausibleRows) -> Bools:
    """[S] of a set with one pair for each state: where some plausible model does not reach the goal with probability 1.

    Let X be the largest set of states each of which has a plausible row that stays in X: a model of such rows never
    leaves it. From every other state that cannot come to X all plausible models arrive, as none has a set that it
    stays in. O(M) a round, at most S + 1 rounds.
    """
    states = rows.support.states
    kept = kept_to(rows, np.ones(states, dtype=bool))
    return leading_to(rows.support, rows.attainable(np.ones(states + 1, dtype=bool)), kept)[:-1]


def kept_to(rows: PlausibleRows, inside: Bools) -> Bools:
    """[S + 1] the largest set of states within ``inside`` [S] that some plausible model never leaves."""
    kept = np.append(inside, False)
    while True:
        following = kept.copy()
        following[:-1] &= rows.may_stay(kept)
        if np.array_equal(following, kept):
            return kept
        kept = following


def may_arrive(rows: PlausibleRows) -> Bools:
    """[S] of a set with one pair for each state: where some plausible model reaches the goal with probability 1.

    The largest set X from each state of which the goal is reached by rows that stay in X and the goal: in a model of
    such rows, each with positive probability for a next state that is nearer, the goal is reached from all of X.
    """
    states = rows.support.states
    goal = np.append(np.zeros(states, dtype=bool), True)
    inside = np.ones(states + 1, dtype=bool)
    while True:
        reached = inside & leading_to(rows.support, rows.attainable(inside), goal)
        if np.array_equal(reached, inside):
            return inside[:-1]
        inside = reached


def leading_to(support: Support, usable: Bools, targets: Bools) -> Bools:
    """[S + 1] the targets, and the states that have a way of usable triples [M] to them. O(M)."""
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))[usable]
    end = support.next_state[usable]
    order = np.argsort(end, kind="stable")
    begin, start = support.pair_state[pair][order], np.searchsorted(end[order], np.arange(support.states + 2))
    found = targets.copy()
    front = np.flatnonzero(found)
    while len(front):
        before = np.unique(np.concatenate([begin[start[t] : start[t + 1]] for t in front]))
        front = before[~found[before]]
        found[front] = True
    return found


def confined(sets: BallSet | IntervalSet, inside: Bools) -> BallSet | IntervalSet:
    """The states that are ``inside`` [S] alone, numbered anew, and their plausible rows that lead only there or to the
    goal; each of their pairs must have such a row.

    A ball is cut by a face of the simplex, on which it is a ball around the nearest row of the face.
    """
    support = sets.support
    number = np.append(np.cumsum(inside) - 1, int(inside.sum()))
    pairs = np.flatnonzero(inside[support.pair_state])
    own = np.repeat(inside[support.pair_state], np.diff(support.next_start))
    kept = own & np.append(inside, True)[support.next_state]
    lengths = np.add.reduceat(kept.astype(np.int64), support.next_start[:-1])[pairs]
    pair_start, next_start = _starts(np.diff(support.pair_start)[inside]), _starts(lengths)
    smaller = Support(pair_start, support.pair_action[pairs], next_start, number[support.next_state[kept]])
    if isinstance(sets, IntervalSet):
        return _only(sets, smaller, pairs, kept)
    rows = np.where(sets.to_state, sets.rows, 0.0)
    lost = np.add.reduceat(np.where(kept, 0.0, rows * rows), support.next_start[:-1])[pairs]
    rows = rows[kept]
    first, to_state = smaller.next_start[:-1], smaller.next_state < smaller.states
    lacking = np.where(smaller.leads_to_goal, 0.0, 1.0 - np.add.reduceat(rows, first))
    share = lacking / np.maximum(np.add.reduceat(to_state.astype(np.int64), first), 1)
    rows = np.where(to_state, np.clip(rows + np.repeat(share, lengths), 0.0, 1.0), rows)
    lost += lacking * share
    square = np.minimum(sets.radii[pairs], 2.0) ** 2
    left = np.where(lost > 0.0, np.maximum(square - lost, 0.0) + 1e-15 * square, square)  # rounding makes none smaller
    return _only(sets, smaller, pairs, kept, rows=rows, radii=np.sqrt(left))


def only_pairs(sets: BallSet | IntervalSet, pairs: NDArray[np.int64]) -> BallSet | IntervalSet:
    """The set in which each state has one pair left (``pairs`` [S])."""
    support = sets.support
    lengths = np.diff(support.next_start)
    kept = np.repeat(np.isin(np.arange(support.pairs), pairs), lengths)
    names = support.state_names, support.action_names, support.goal_name
    next_start, next_state = _starts(lengths[pairs]), support.next_state[kept]
    smaller = Support(np.arange(support.states + 1), support.pair_action[pairs], next_start, next_state, *names)
    return _only(sets, smaller, pairs, kept)


def _only(
    sets: BallSet | IntervalSet, support: Support, pairs: NDArray[np.int64], kept: Bools, **changed: Floats
) -> BallSet | IntervalSet:
    """The set on a smaller support of these pairs, and of the triples [M] that are kept."""
    entries = {"loss_low": pairs, "loss_high": pairs, "radii": pairs, "low": kept, "high": kept, "rows": kept}
    parts = {name: getattr(sets, name)[places] for name, places in entries.items() if hasattr(sets, name)}
    return replace(sets, support=support, **(parts | changed))


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths)))


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
