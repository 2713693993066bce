"""The exact sums of one learner by ridge regression in another: added, on a larger support, or under other settings.

Visits, Gram matrices, and sums of losses and next states follow from the steps alone, so they may be added to the sums
of any other learner. What makes sets tight comes from the sets of its time (bounds of variances) or from forecasts
(likelihoods), and begins anew. Proofs are in docs/explanation/steps_by_anyone.md.
"""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.linearity import NO_EPISODE
from goalbound.confidence.pooling import least_weights, prior_weights
from goalbound.confidence.protocol import renew, take_over
from goalbound.confidence.regression import EPS, renew_inverse
from goalbound.confidence.statistics import by_support
from goalbound.errors import ArgumentError, LearnerError
from goalbound.jit.compile import lean
from goalbound.jit.records import assign
from goalbound.learners.answers import Cause, violation_of
from goalbound.learners.episode import count_reason
from goalbound.learners.loop import open_interval
from goalbound.learners.own_card import united_caveats
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.learners.visits import add_missing
from goalbound.models import Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import SupportMatch, match_support
from goalbound.models.validation import check_type, set_readonly

if TYPE_CHECKING:
    from goalbound.learners.learner import RidgeLearner

R = TypeVar("R", bound="RidgeLearner")
MOST_NAMED = 8
"""Open episodes that an error names."""
SEEN = 1e-9
"""Sums of contexts above this contain steps; below, they are rounding."""
Floats = NDArray[np.float64]
Sums = dict[str, tuple[Floats, ...]]
"""What is added to each sum, as terms."""
LOW = {"gram": "gram_low", "loss_sums": "loss_low", "goal_sums": "goal_low"}
"""The sums by pair, and what each lacks of the exact one."""


def merge(learner: RidgeLearner, other: RidgeLearner) -> None:
    """See :meth:`goalbound.learners.learner.RidgeLearner.merge`."""
    from goalbound.learners.learner import RidgeLearner

    check_type(other, RidgeLearner, "other", "a learner by ridge regression, such as an LRCSSP")
    if other is learner:
        raise ArgumentError("a learner cannot be merged with itself: its steps would count twice")
    if other.context_size != learner.context_size:
        raise ArgumentError(f"other knows contexts of {other.context_size} entries, this one of {learner.context_size}")
    if other.support != learner.support:
        raise ArgumentError(
            f"other has another support ({other.support}, not {learner.support}), or other names; merge "
            "other.extended(support), with a support that has all of both"
        )
    _check_keeps_data(learner, "the learner")
    _check_can_give(other, "other")
    learner._check_same_unit(other)
    declared = other.settings.loss_floor == learner.settings.loss_floor and other.prior == learner.prior
    places = match_support(learner.support, other.support, name="other")
    added = _added_sums(learner, other, places)
    for pair in learner._visits.uncounted_pairs:
        learner._visits.count_before(pair)
    for episode in learner.open_episodes:  # steps of a plan made before would bound variances by the sets of before
        if episode._arrays.progress["planned"]:
            open_interval.python(learner._state, episode._arrays)
    _add(learner, other, places, added, declared=declared)
    learner._after_learning()


def extended(learner: R, support: Support) -> R:
    """See :meth:`goalbound.learners.learner.RidgeLearner.extended`."""
    _check_can_give(learner, "the learner")
    check_type(support, Support, "support", SUPPORT_REMEDY)
    places = match_support(support, learner.support, name="the learner")
    target = learner._made_alike(support, learner.settings, _prior_in(learner.prior, support, places))
    return _filled(target, learner, places, declared=True)


def with_settings(learner: R, changes: dict[str, Any]) -> R:
    """See :meth:`goalbound.learners.learner.RidgeLearner.with_settings`; ``changes`` by name."""
    _check_can_give(learner, "the learner")
    wrong = [name for name in ("loss_bound", "widths", "delta") if name in changes]
    if wrong and not learner.settings.is_optimistic:
        raise ArgumentError(f"{wrong[0]} is a setting of LRCSSP; a {type(learner).__name__} has none: leave it out")
    known = changes.pop("prior", learner.prior)
    if "options" in changes:
        options = check_type(
            changes.pop("options"), LearnerOptions, "options", "give LearnerOptions(...), or leave it out"
        )
        if options.forget:
            raise ArgumentError("options has forget=True; data that was not to be forgotten cannot be from now on")
        changes |= options.given(learner.settings)
    target = learner._made_alike(learner.support, replace(learner.settings, **changes), known)
    declared = target.settings.loss_floor == learner.settings.loss_floor and target.prior == learner.prior
    places = match_support(learner.support, learner.support, name="the learner")
    return _filled(target, learner, places, declared=declared)


def _filled(target: R, source: R, places: SupportMatch, *, declared: bool) -> R:
    """The target, which has seen nothing, with the data of the source."""
    _add(target, source, places, _added_sums(target, source, places), declared=declared)
    target._after_learning()
    return target


def _added_sums(target: RidgeLearner, source: RidgeLearner, places: SupportMatch) -> Sums:
    """What is added to each of the target's sums, as terms: a sum, what it lacks of the exact one, and less what it
    began with (the ridge and guesses). An error if the target was told a row that excludes what was seen."""
    theirs, began, support = source._state.regression, source.anew()._state.regression, source.support
    added: Sums = {
        name: (getattr(theirs, name), getattr(theirs, low), -getattr(began, name)) for name, low in LOW.items()
    }
    added["next_sums"] = (
        by_support(support, theirs, theirs.next_sums),
        by_support(support, theirs, theirs.next_low),
        -by_support(support, began, began.next_sums),
    )
    if target.prior is not None and len(target.prior.rows):
        _check_known_rows(target.prior, support, places, sum(added["next_sums"]), sum(added["goal_sums"]))
    return added


def _check_known_rows(prior: PriorKnowledge, support: Support, places: SupportMatch, seen: Any, into_goal: Any) -> None:
    owner, to_goal = _owners(support), support.next_state == support.states
    seen[to_goal] = into_goal[owner[to_goal]]
    led, possible = seen > SEEN, prior.rows[places.triples] > 0.0
    wrong = prior.row_known[places.pairs][owner] & led.any(axis=1) & ~(led & possible).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ArgumentError(
            f"{support.pair_name(int(owner[at]))} led to {support.state_name(int(support.next_state[at]))}, which the "
            "row that the prior says it has excludes; declare the row as it is, or leave it to be learned"
        )


def _add(target: RidgeLearner, source: RidgeLearner, places: SupportMatch, added: Sums, *, declared: bool) -> None:
    """Add the data of the source. ``declared``: both were told the same of losses and rows."""
    mine, theirs, at = target._state, source._state, places.pairs
    for name, low in LOW.items():
        _accumulate(getattr(mine.regression, name), getattr(mine.regression, low), at, added[name])
    _add_next_states(target, source, places, added["next_sums"])
    mine.regression.visits[at] += theirs.regression.visits
    add_missing(mine, theirs, at, least_weights(target._constants)[at], least_weights(source._constants))
    _carry_alarm(target, source, places, declared=declared)
    for name in ("intervals", "episodes", "logged", "squared_losses"):
        mine.totals[name] += theirs.totals[name]
    if source._assembly.doubles and target._assembly.doubles:
        for name in ("loss_bound", "doublings"):
            mine.totals[name] = max(mine.totals[name], theirs.totals[name])
    changed = np.zeros(target.support.pairs, dtype=np.bool_)
    changed[at] = theirs.regression.visits > 0
    target._run(renew_pairs)(target._constants, mine, target._scratch, *prior_weights(target._constants), changed)
    for reason, count in source.abandoned.items():
        count_reason(target._abandoned, reason, count)
    target._caveats = united_caveats(target.caveats, source.caveats)
    target.clipped += source.clipped


def _accumulate(sums: Floats, low: Floats, at: NDArray[Any], terms: tuple[Floats, ...]) -> None:
    """Add terms to some of the compensated sums, as :func:`goalbound.confidence.regression.add` does."""
    for value in terms:
        before = sums[at]
        total = before + value
        shift = total - before
        rest = low[at] + ((before - (total - shift)) + (value - shift))
        sums[at] = total + rest
        low[at] = rest - (sums[at] - total)


def _add_next_states(
    target: RidgeLearner, source: RidgeLearner, places: SupportMatch, terms: tuple[Floats, ...]
) -> None:
    """Next states that are new get their indices, in the order in which the source has them."""
    mine, theirs, old, new = target._state.regression, source._state.regression, source.support, target.support
    owner, led = _owners(old), np.asarray(sum(terms)).max(axis=1) > SEEN
    fresh = np.flatnonzero(led & (mine.seen_index[places.triples] < 0))
    for place in fresh[np.lexsort((theirs.seen_index[fresh], owner[fresh]))].tolist():
        pair, there = places.pairs[owner[place]], places.triples[place]
        mine.seen_index[there] = mine.seen[pair]
        mine.seen_state[new.next_start[pair] + mine.seen[pair]] = new.next_state[there]
        mine.seen[pair] += 1
    there = places.triples[led]
    stands = new.next_start[places.pairs[owner[led]]] + mine.seen_index[there]
    _accumulate(mine.next_sums, mine.next_low, stands, tuple(one[led] for one in terms))


def _carry_alarm(target: RidgeLearner, source: RidgeLearner, places: SupportMatch, *, declared: bool) -> None:
    """A contradiction of the linear model stays, unless it may be one of a declaration that is another one now."""
    mine, theirs = target._state.watch.violation, source._state.watch.violation
    if mine["found"] or not theirs["found"]:
        return
    assign(mine, theirs)
    place = int(theirs["place"])
    mine["pair"] = places.pairs[theirs["pair"]]
    mine["place"] = place if place < 0 else places.triples[place]
    if theirs["episode"] != NO_EPISODE:
        mine["episode"] += target._state.totals["episodes"]
    blamed = (violation_of(one) for one in (source, target))
    mine["found"] = declared or all(one is not None and one.cause is Cause.NOT_LINEAR for one in blamed)


def _owners(support: Support) -> NDArray[np.int64]:
    """[M] the pair of each triple."""
    return np.repeat(np.arange(support.pairs), np.diff(support.next_start))


def _prior_in(prior: PriorKnowledge | None, larger: Support, places: SupportMatch) -> PriorKnowledge | None:
    """Prior knowledge on a larger support: the same of the same pairs, nothing of new ones.

    A row that is known stays as it is: next states that were added to it have probability 0.
    """
    if prior is None:
        return None
    found: dict[str, Any] = {}
    for name, array in vars(prior).items():
        if isinstance(array, np.ndarray) and len(array):
            size, at = (larger.triples, places.triples) if name.endswith("rows") else (larger.pairs, places.pairs)
            table = np.zeros((size, *array.shape[1:]), array.dtype)
            table[at] = array
            found[name] = set_readonly(table)
    return replace(prior, support=larger, **found)


def _check_can_give(source: RidgeLearner, name: str) -> None:
    """An error unless the data of a learner can be put into another one."""
    waiting = source.open_episodes
    if waiting:
        names = ", ".join(f"number {one.number}" if one.id is None else repr(one.id) for one in waiting[:MOST_NAMED])
        more = f" and {len(waiting) - MOST_NAMED} more" if len(waiting) > MOST_NAMED else ""
        raise LearnerError(
            f"{name} has open episodes ({names}{more}), which cannot go on elsewhere; let them end, or "
            "abandon(reason) them first"
        )
    _check_keeps_data(source, name)


def _check_keeps_data(learner: RidgeLearner, name: str) -> None:
    if learner.settings.forget:
        raise LearnerError(
            f"{name} has forget=True: its data is dropped as the loss bound doubles, and cannot be merged or moved; "
            "learn the log again in a learner without it"
        )


@lean
def log_det_bound(gram: Any, ridge: Any, mean: Any, work: Any) -> Any:
    """An upper bound of log det V less that of the prior, whose eigenvalues are ``ridge``, d - 1 times, and ``mean``.
    O(d^3).

    The pivots of an elimination in floating point are those of V + E, and with entries of E at most 8 (d + 1) EPS times
    the trace, the share e of E in V is at most d times that over the smaller eigenvalue of the prior. Up to e = 1/2,
    log det V <= log det(V + E) + 2 d e. Beyond, the trace bounds the determinant: the geometric mean of the eigenvalues
    is at most the arithmetic one. ``work`` [d, d].
    """
    size = len(gram)
    trace = 0.0
    for j in range(size):
        trace += gram[j, j]
    less = log(mean / ridge)
    by_trace = max(size * log(max(trace / (size * ridge), 1.0)) - less, 0.0) + 1e-9
    share = 8.0 * (size + 1) * EPS * size * trace / min(ridge, mean)
    if not share <= 0.5:
        return by_trace
    for r in range(size):
        for c in range(size):
            work[r, c] = gram[r, c]
    total = 0.0
    for p in range(size):
        if not work[p, p] > 0.0:
            return by_trace
        total += log(work[p, p] / ridge)
        for r in range(p + 1, size):
            factor = work[r, p] / work[p, p]
            for c in range(p + 1, size):
                work[r, c] -= factor * work[p, c]
    total -= less
    return min(max(total, 0.0) + 2.0 * size * share + 4.0 * EPS * abs(total), by_trace)


@lean
def renew_pairs(constants: Any, state: Any, scratch: Any, ridge: Any, mean: Any, changed: Any) -> Any:
    """Estimates and radii of the pairs whose sums have ``changed`` [N]; what makes sets tight begins anew.
    O(N d^3 + M d^2). ``ridge`` and ``mean`` [N] are the eigenvalues of the Gram matrix of a pair without data."""
    regression = state.regression
    for pair in range(len(changed)):
        if not changed[pair]:
            continue
        renew_inverse(regression.gram[pair], regression.inverse[pair], min(ridge[pair], mean[pair]), scratch.block)
        state.log_det[pair] = log_det_bound(regression.gram[pair], ridge[pair], mean[pair], scratch.block)
        take_over(constants, state, pair)
        renew(constants, state, scratch, pair)
        state.revision[pair] += 1
    state.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
