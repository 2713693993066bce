"""Where the plausible rows of a pair may lead, must lead and need not lead: the graphs of robust planning.

A policy may fail to arrive in the worst of the plausible models only if some set of states can be kept to for ever.
These are questions about the supports of rows, not about their numbers; probabilities of at most NEGLIGIBLE, which may
be rounding, count as none wherever that makes fewer models arrive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goalbound.models import BallSet, IntervalSet, Support

NEGLIGIBLE = 1e-12
"""A probability, or a distance between rows, that may be rounding."""

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
    place = np.append(np.cumsum(inside) - 1, int(inside.sum()))
    pairs = np.flatnonzero(inside[support.pair_state])
    here = np.repeat(inside[support.pair_state], np.diff(support.next_start))
    kept = here & np.append(inside, True)[support.next_state]
    lengths = np.add.reduceat(kept.astype(np.int64), support.next_start[:-1])[pairs]
    smaller = Support(
        np.concatenate(([0], np.cumsum(np.diff(support.pair_start)[inside]))), support.pair_action[pairs],
        np.concatenate(([0], np.cumsum(lengths))), place[support.next_state[kept]],
    )  # fmt: skip
    losses = {"support": smaller, "loss_low": sets.loss_low[pairs], "loss_high": sets.loss_high[pairs]}
    if isinstance(sets, IntervalSet):
        return replace(sets, low=sets.low[kept], high=sets.high[kept], **losses)  # type: ignore[arg-type]
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
    return replace(sets, rows=rows, radii=np.sqrt(left), **losses)  # type: ignore[arg-type]


def only_pairs(sets: BallSet | IntervalSet, pairs: NDArray[np.int64]) -> BallSet | IntervalSet:
    """The set in which each state has one pair left (``pairs`` [S])."""
    support = sets.support
    lengths = np.diff(support.next_start)[pairs]
    start = np.concatenate(([0], np.cumsum(lengths)))
    triples = np.repeat(support.next_start[pairs] - start[:-1], lengths) + np.arange(start[-1])
    smaller = Support(
        np.arange(support.states + 1), support.pair_action[pairs], start, support.next_state[triples],
        support.state_names, support.action_names, support.goal_name,
    )  # fmt: skip
    entries = {"loss_low": pairs, "loss_high": pairs, "radii": pairs, "low": triples, "high": triples, "rows": triples}
    parts = {name: getattr(sets, name)[places] for name, places in entries.items() if hasattr(sets, name)}
    return replace(sets, support=smaller, **parts)
