"""The data of one learner by ridge regression put into another one, which has seen nothing.

All that is learned from steps is in sums over them, and most of it follows from the sums anew: estimates, radii,
determinants, levels. Two things were made from the sets as they were when a step came, and are carried over only where
these sets still count: bounds of the variance, and the sums of the test of the linear model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.estimation.statistics import by_support
from goalbound.jit.records import assign
from goalbound.kernels.lattice import Lattice
from goalbound.kernels.likelihood import LikelihoodConstants
from goalbound.kernels.likelihood_state import LikelihoodState, begin_pair, row_of
from goalbound.kernels.transfer import refresh_pairs
from goalbound.learners.caveats import united_caveats
from goalbound.learners.constants import spare_failure, variance_failure
from goalbound.models import Support
from goalbound.models.support_match import SupportMatch

if TYPE_CHECKING:
    from goalbound.learners.core import RidgeLearner

SEEN = 1e-9
"""Sums of contexts above this are those of steps."""
SLACK = 1e-12
"""More than what rounding can take from a product."""
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


def _owners(support: Support) -> Indices:
    """[M] the pair of each triple."""
    return np.repeat(np.arange(support.pairs), np.diff(support.next_start))


def carry_over(source: RidgeLearner, empty: RidgeLearner, target: RidgeLearner, places: SupportMatch) -> None:
    """Put all that ``source`` has seen into ``target``, which has seen nothing.

    ``empty`` is made like the source and has seen nothing either: what it begins with is no data.
    """
    mine, theirs = target._state, source._state
    _check_known_rows(source, empty, target, places)
    ridge = mine.regression.gram[:, 0, 0].copy()
    ratio = np.ones_like(ridge)
    ratio[places.pairs] = empty._state.regression.gram[:, 0, 0] / ridge[places.pairs]
    _carry_sums(source, empty, target, places)
    _carry_counts(source, target, places, ratio)
    still = _still_valid(source, target, places)
    _carry_variance(source, empty, target, places, still)
    _carry_linearity(source, target, places, still)
    _carry_likelihood(source, target, places)
    if source._constants.doubling and target._constants.doubling:
        for name in ("loss_bound", "doublings"):
            mine.totals[name] = theirs.totals[name]
    run = target._effort.engine(target.support.triples)(refresh_pairs)
    run(target._constants, mine, target._scratch, ridge, ratio != 1.0)
    if source.settings.exploration == target.settings.exploration:
        floor = target._constants.loss_floor
        mine.values[places.states[:-1]] = np.clip(theirs.values[:-1], floor, max(floor, target._ceiling()))
        mine.policy[places.states[:-1]] = places.pairs[theirs.policy]
    target._abandoned = source.abandoned
    target._caveats = united_caveats(target.caveats, source.caveats)


class StillValid(NamedTuple):
    """What was made from the sets of the source, and still counts for the target."""

    sets: bool
    """whether the sets held the truth with at least the probability that is asked of the target's"""
    contradiction: bool
    """whether a contradiction of the linear model counts"""
    rows: Flags
    """[N] whether the same is declared of the row of a pair"""
    losses: Flags
    """[N] whether the same is declared of its loss"""
    certain: Flags
    """[N] whether it had a single next state and has more now"""


def _still_valid(source: RidgeLearner, target: RidgeLearner, places: SupportMatch) -> StillValid:
    """A target that is not proven asks nothing of the sets of the source."""
    before, now = source.settings, target.settings
    proven = before.is_optimistic and before.widths.proven
    asked = now.is_optimistic and now.widths.proven
    one, other = source._constants.prior, target._constants.prior
    starts = source.support.next_start
    same_rows = np.ones(source.support.pairs, dtype=np.bool_)
    if len(one.rows) and len(other.rows):
        same_rows = np.logical_and.reduceat((one.rows == other.rows[places.triples]).all(axis=1), starts[:-1])
    same_losses = (one.losses == other.losses[places.pairs]).all(axis=1)
    row_known, loss_known = other.row_known[places.pairs], other.loss_known[places.pairs]
    return StillValid(
        sets=not asked or (proven and before.delta <= now.delta),
        contradiction=not asked or proven,
        rows=(one.row_known == row_known) & (same_rows | ~row_known),
        losses=(one.loss_known == loss_known)
        & (same_losses | ~loss_known)
        & (_floors(source) == _floors(target)[places.pairs]),
        certain=(np.diff(starts) == 1) & (np.diff(target.support.next_start)[places.pairs] > 1),
    )


def _floors(learner: RidgeLearner) -> Floats:
    """[N] the least mean losses that were declared."""
    floors = np.zeros(learner.support.pairs) if learner.prior is None else learner.prior.floors
    return np.maximum(floors, learner.settings.loss_floor)


def _check_known_rows(source: RidgeLearner, empty: RidgeLearner, target: RidgeLearner, places: SupportMatch) -> None:
    """An error if the target was told a row that excludes what the source has seen."""
    prior, support = target.prior, source.support
    if prior is None or not len(prior.rows):
        return
    theirs, began = source._state.regression, empty._state.regression
    owner, to_goal = _owners(support), support.next_state == support.states
    seen = by_support(support, theirs, theirs.next_sums) - by_support(support, began, began.next_sums)
    seen[to_goal] = (theirs.goal_sums - began.goal_sums)[owner[to_goal]]
    led, possible = seen > SEEN, prior.rows[places.triples] > 0.0
    wrong = prior.row_known[places.pairs][owner] & led.any(axis=1) & ~(led & possible).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ArgumentError(
            f"{support.pair_name(int(owner[at]))} led to {support.state_name(int(support.next_state[at]))}, which the "
            "row that the prior says it has excludes; declare the row as it is, or leave it to be learned"
        )


def _rebased(sums: Floats, low: Floats, old: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Compensated sums that began with ``old``, as if they had begun with ``new``; to the bit where these are alike."""
    found, rest = sums, low
    for value in (-old, new):
        total = found + value
        shift = total - found
        carried = rest + ((found - (total - shift)) + (value - shift))
        found = total + carried
        rest = carried - (found - total)
    return np.where(old == new, sums, found), np.where(old == new, low, rest)


def _carry_sums(source: RidgeLearner, empty: RidgeLearner, target: RidgeLearner, places: SupportMatch) -> None:
    """Gram matrices and sums: what the empty source began with goes, what the target began with stays."""
    mine, theirs, began = target._state.regression, source._state.regression, empty._state.regression
    at, old, new = places.pairs, source.support, target.support
    for name, low in (("gram", "gram_low"), ("loss_sums", "loss_low"), ("goal_sums", "goal_low")):
        found = _rebased(getattr(theirs, name), getattr(theirs, low), getattr(began, name), getattr(mine, name)[at])
        getattr(mine, name)[at], getattr(mine, low)[at] = found
    mine.inverse[at] = theirs.inverse
    mine.visits[at] = theirs.visits
    sums, rest = _rebased(
        by_support(old, theirs, theirs.next_sums), by_support(old, theirs, theirs.next_low),
        by_support(old, began, began.next_sums), by_support(new, mine, mine.next_sums)[places.triples],
    )  # fmt: skip
    _index_next_states(source, target, places, np.asarray(sums.any(axis=1)))
    index = mine.seen_index[places.triples]
    has = index >= 0
    stands = new.next_start[_owners(new)[places.triples[has]]] + index[has]
    mine.next_sums[stands], mine.next_low[stands] = sums[has], rest[has]
    if not (source._constants.intervals.on or target._constants.intervals.on):
        target._state.rows[stands] = by_support(old, theirs, source._state.rows)[has]


def _index_next_states(source: RidgeLearner, target: RidgeLearner, places: SupportMatch, led: Flags) -> None:
    """Next states that were seen (``led`` [M]) get their indices, in the order in which the source has them."""
    mine, theirs = target._state.regression, source._state.regression
    owner = _owners(source.support)
    seen = np.flatnonzero((theirs.seen_index >= 0) & led & (mine.seen_index[places.triples] < 0))
    for place in seen[np.lexsort((theirs.seen_index[seen], owner[seen]))].tolist():
        pair, there = places.pairs[owner[place]], places.triples[place]
        mine.seen_index[there] = mine.seen[pair]
        mine.seen_state[target.support.next_start[pair] + mine.seen[pair]] = target.support.next_state[there]
        mine.seen[pair] += 1


def _carry_counts(source: RidgeLearner, target: RidgeLearner, places: SupportMatch, ratio: Floats) -> None:
    """Bounds of determinants and of visits without an outcome, and counters.

    ``ratio`` [N] is the old ridge over the new one. Where it is above 1, V of the target is at least V / ratio of the
    source, so norms in V^-1 grow by at most its root, and log det(V / ridge) by at most d log(ratio).
    """
    mine, theirs, at = target._state, source._state, places.pairs
    more = np.maximum(ratio[at], 1.0)
    size = source.settings.context_size
    mine.log_det[at] = np.where(more > 1.0, (theirs.log_det + size * np.log(more)) * (1.0 + SLACK), theirs.log_det)
    mine.pending.visits[at] = theirs.pending.visits
    mine.pending.contexts[at] = theirs.pending.contexts
    norms = np.ceil(theirs.pending.norms * np.sqrt(more) * (1.0 + SLACK)).astype(np.int64)
    mine.pending.norms[at] = np.where(more > 1.0, norms, theirs.pending.norms)
    for name in ("intervals", "episodes", "logged", "squared_losses"):
        mine.totals[name] = theirs.totals[name]


def _carry_variance(
    source: RidgeLearner, empty: RidgeLearner, target: RidgeLearner, places: SupportMatch, still: StillValid
) -> None:
    """Bounds of the variances of next states: those that were made before each visit, where they still count and delta
    pays for the sets that they came from; else a quarter for each visit, which bounds the variance of any number in
    [0, 1]."""
    if not target._constants.intervals.variance:
        return
    mine, kept = target._state.variance, source._state.variance
    origin = np.full(target.support.pairs, -1)
    origin[places.pairs] = np.arange(source.support.pairs)
    of_triple = origin[_owners(target.support)]
    quarter = quarters(source._state.regression.gram - empty._state.regression.gram)
    mine[of_triple >= 0] = quarter[of_triple[of_triple >= 0]]
    if not still.sets or not len(kept) or not source._steps:
        return
    price = source._trusted + (0.0 if _is_implied(source, target) else variance_failure(source.settings))
    if pays(target, price):
        usable = (still.rows & ~still.certain)[_owners(source.support)]
        mine[places.triples[usable]] = kept[usable]
        target._trusted = price


def quarters(gram: Floats) -> Floats:
    """[..., d (d + 1) / 2] a quarter for each visit, as variances are kept, of Gram matrices without their ridge."""
    lower = np.tril_indices(gram.shape[-1])  # row by row
    return 0.25 * gram[..., *lower]


def pays(learner: RidgeLearner, price: float) -> bool:
    """Whether delta pays for sets of others that fail with this probability; nothing is asked of sets without proof."""
    settings = learner.settings
    return not settings.widths.proven or price <= spare_failure(settings) * (1.0 + SLACK)


def _is_implied(source: RidgeLearner, target: RidgeLearner) -> bool:
    """Whether the sets of next states of the source hold as long as those of the target do: they are made alike, of the
    same sums, and fail with no larger probability."""
    one, other = source._constants, target._constants
    names = ("on", "goal", "determinant", "entrywise", "variance", "noise", "scale")
    alike = all(getattr(one.intervals, name) == getattr(other.intervals, name) for name in names)
    alike = alike and source.support == target.support and one.regularization == other.regularization
    alike = alike and one.intervals.row_log >= other.intervals.row_log
    if not (alike and one.likelihood.on):
        return bool(alike)
    rows = source.support.pairs
    followed = one.likelihood.tracked[rows:] <= other.likelihood.tracked[rows:]
    return bool(other.likelihood.on and followed.all() and one.likelihood.row_log >= other.likelihood.row_log)


def _carry_linearity(source: RidgeLearner, target: RidgeLearner, places: SupportMatch, still: StillValid) -> None:
    """The test of the linear model goes on for pairs of which the same is declared, and begins anew for the others.

    A next state that was added has been in the interval [0, 1] so far, and so has one that had been certain.
    """
    mine, theirs = target._state.linearity, source._state.linearity
    if still.sets and len(mine.steps) and len(theirs.steps):
        kept = still.rows & still.losses
        mine.steps[places.pairs[kept]] = theirs.steps[kept]
        mine.losses[places.pairs[kept]] = theirs.losses[kept]
        mine.rows[:, :, 0] = -mine.steps[_owners(target.support)]  # outcome 0, upper end 1
        owner = _owners(source.support)
        mine.rows[places.triples[kept[owner]]] = theirs.rows[kept[owner]]
        opened = places.triples[(kept & still.certain)[owner]]
        mine.rows[opened, :, 1] = -mine.steps[_owners(target.support)[opened]]  # lower end 0, outcome 1
    found = theirs.violation
    if not found["found"] or not still.contradiction:
        return
    pair, place = int(found["pair"]), int(found["place"])
    if (still.losses if place < 0 else still.rows)[pair]:
        assign(mine.violation, found)
        mine.violation["pair"] = places.pairs[pair]
        mine.violation["place"] = place if place < 0 else places.triples[place]


def _carry_likelihood(source: RidgeLearner, target: RidgeLearner, places: SupportMatch) -> None:
    """The likelihoods of all numbers that both follow go on: sums and log-losses do not depend on delta, and any
    partition into cells is valid. Others begin with the next step: what was seen before has no forecasts, and counts by
    its sums alone."""
    one, other = source._constants.likelihood, target._constants.likelihood
    if not (one.on and other.on):
        return
    theirs, mine = source._state.likelihood, target._state.likelihood
    cells = _cells_within(one.cells, other.cells)
    old, new = source.support, target.support
    played = np.flatnonzero(theirs.place)
    for pair in played[np.argsort(theirs.place[played])].tolist():
        there = int(places.pairs[pair])
        first, last = (int(new.next_start[at]) for at in (there, there + 1))
        begin_pair.python(mine, there, last - first)
        at, place = int(mine.place[there]) - 1, int(theirs.place[pair]) - 1
        mine.visits[there], mine.fitted[there] = theirs.visits[pair], theirs.fitted[pair]
        mine.contexts[at] = theirs.contexts[place]
        _copy_rows(mine, mine.cell_rows[at], theirs, theirs.cell_rows[place], cells)
        triples = np.arange(old.next_start[pair], old.next_start[pair + 1])
        was = np.concatenate([[pair], old.pairs + triples])
        now = np.concatenate([[there], new.pairs + places.triples[triples]])
        to = np.concatenate([[0], 1 + places.triples[triples] - first])
        both = np.flatnonzero(one.tracked[was] & other.tracked[now])
        for k in both.tolist():
            number, other_number = int(mine.first[there] + to[k]), int(theirs.first[pair]) + k
            _copy_number(mine, number, theirs, other_number, cells)
            if _holds(one, other, is_loss=k == 0):
                mine.low[number], mine.high[number] = theirs.low[other_number], theirs.high[other_number]
        followed = int(other.tracked[there]) + int(other.tracked[new.pairs + first : new.pairs + last].sum())
        if followed == len(both) and all(_same_bounds(one, other, is_loss=k == 0) for k in both.tolist()):
            mine.bounded[there] = theirs.bounded[pair]


def _cells_within(old: Lattice, new: Lattice) -> Indices:
    """[L] for each cell of a lattice the one of another that its vertex is nearest to."""
    if old.steps == new.steps:
        return np.arange(len(old.vertices))
    points, others = old.vertices / old.steps, new.vertices / new.steps
    return np.abs(points[:, None, :] - others[None, :, :]).sum(axis=2).argmin(axis=1)


def _holds(old: LikelihoodConstants, new: LikelihoodConstants, *, is_loss: bool) -> bool:
    """Whether bounds of before hold as long as new ones would: those fail with at least the same probability."""
    logs = (old.loss_log, new.loss_log) if is_loss else (old.row_log, new.row_log)
    return old.vertices.steps == new.vertices.steps and logs[0] >= logs[1]


def _same_bounds(old: LikelihoodConstants, new: LikelihoodConstants, *, is_loss: bool) -> bool:
    """Whether new bounds would be those of before; else they are computed anew."""
    return _holds(old, new, is_loss=is_loss) and _holds(new, old, is_loss=is_loss)


def _copy_number(mine: LikelihoodState, number: int, theirs: LikelihoodState, other: int, cells: Indices) -> None:
    """All that was seen of a number, but its bounds."""
    for name in ("log_loss", "estimate", "pending", "ones", "shift"):
        getattr(mine, name)[number] = getattr(theirs, name)[other]
    _copy_rows(mine, mine.hit_rows[number], theirs, theirs.hit_rows[other], cells)
    _copy_rows(mine, mine.miss_rows[number], theirs, theirs.miss_rows[other], cells)


def _copy_rows(
    mine: LikelihoodState, index: NDArray[Any], theirs: LikelihoodState, rows: NDArray[Any], cells: Indices
) -> None:
    """The sums of cells, in the cells that these are in now."""
    for cell in np.flatnonzero(rows).tolist():
        mine.rows[row_of.python(mine, index, int(cells[cell]))] += theirs.rows[rows[cell]]
