"""Visits: the order in which they count, and what becomes of those whose outcome is late, or never comes (lines 10 to
12, 22 and 23). Steps that anyone chose are learned from in their order, each against the sets as they were before it.

A visit counts as soon as the outcome of a later visit of the same pair is learned from, in the order of ``act``: which
visits count, and in which order, must not depend on when outcomes are reported (docs/explanation/pending.md). All that
is kept of visits without an outcome is asked for, moved to another learner and checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import before_visit, enters, learn, missing, renew
from goalbound.confidence.regression import (
    UNIT,
    add_pending,
    count_visit,
    count_visit_of_norm,
    in_units,
    record_outcome,
)
from goalbound.jit.compile import Slot, lean
from goalbound.jit.struct import Struct
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.models.files.ranges import MANY, within

if TYPE_CHECKING:
    from goalbound.confidence.statistics import Statistics
    from goalbound.learners.episode import LearnerEpisode
    from goalbound.learners.learner import RidgeLearner

SLACK = 1e-12
"""More than rounding can take from a product."""
Floats = NDArray[np.float64]

look_before_learning = Slot("look_before_learning")
"""``(constants, state, view, pair)`` the set of a pair just before a step is learned, if the step is learned by it."""


@lean
def mark_changed(state, pair):
    """Episodes that hold the set of this pair will compute it again."""
    state.revision[pair] += 1
    state.change_log[state.totals["changes"] % CHANGE_LOG_SIZE] = pair
    state.totals["changes"] += 1


@lean
def count_pending(constants, state, view, scratch, pair):
    """The visit whose outcome the episode awaits begins to count, in the order in which its pair was played."""
    if view.progress["restarts"] != state.totals["restarts"] or view.progress["counted"] == 1:
        return
    missing(constants, state, view, pair, 1)
    enters(constants, state, view, pair)
    norm = in_units(count_visit(constants, state, scratch, pair, view.context))
    add_pending(state.pending, pair, view.context, norm, 1)
    view.progress["counted"] = 1
    view.progress["counted_norm"] = norm


@lean
def count_without_outcome(constants, state, view, scratch, pair):
    """A visit counts, as one whose outcome might be anything; it may come later, or never."""
    count_pending(constants, state, view, scratch, pair)
    renew(constants, state, scratch, pair)
    mark_changed(state, pair)


@lean
def is_set_current(state, view, pair):
    """Whether the set of a pair is that of its Gram matrix as it is now. Visits that are awaited change the matrix
    before the pair is marked as changed."""
    return view.revision[pair] == state.revision[pair] and state.pending.visits[pair] == 0


@lean
def forget_missing(state, pair):
    """All visits of a pair are forgotten, those without an outcome too."""
    state.pending.visits[pair] = 0
    state.pending.norms[pair] = 0
    for j in range(state.pending.contexts.shape[1]):
        state.pending.contexts[pair, j] = 0


@lean
def visits_with_outcome(state, pair):
    """How many visits of a pair are in its sums with their outcome."""
    return state.regression.visits[pair] - state.pending.visits[pair]


@lean
def learn_outcome(constants, state, view, scratch, pair, place, loss):
    """Enter a step and bring the estimate of its pair up to date (lines 10 to 12, 22 and 23). O(count d^2).

    A step whose data was forgotten on the way is not learned from: it may be the one that had it forgotten.
    """
    if view.progress["restarts"] != state.totals["restarts"]:
        view.progress["counted"] = 0
        return
    if view.progress["counted"] == 1:
        missing(constants, state, view, pair, -1)
        add_pending(state.pending, pair, view.context, view.progress["counted_norm"], -1)
    else:
        enters(constants, state, view, pair)
        if is_set_current(state, view, pair):
            count_visit_of_norm(constants, state, scratch, pair, view.context, view.norm[pair])
        else:
            count_visit(constants, state, scratch, pair, view.context)
    state.totals["squared_losses"] += loss * loss
    goal = len(constants.pair_start) - 1
    record_outcome(state.regression, constants.next_start, constants.next_state, goal, pair, place, loss, view.context)
    learn(constants, state, view, pair, place, loss)
    view.progress["counted"] = 0
    renew(constants, state, scratch, pair)
    mark_changed(state, pair)


class StepArrays(Struct):
    """n steps, in the order in which they were made."""

    contexts: NDArray[np.float64]
    """[n, d]"""
    pairs: NDArray[np.int64]
    """[n] what was played"""
    places: NDArray[np.int64]
    """[n] the next state, by its place among the M triples"""
    losses: NDArray[np.float64]
    """[n]"""


@lean
def forget_view(constants, state, view, pair):
    """The set of a pair is that of another context."""
    view.revision[pair] = -1


@lean
def learn_steps(constants, state, view, scratch, steps):
    """Learn from steps, whoever chose them. O(m d^2) for each, with m next states of its pair.

    ``view`` is room for the set of a pair, and no episode. The set is that of just before the step, so that bounds of
    the variance, and what outcomes are tested against, follow from earlier steps alone. Nothing else of the learner
    changes: not the intervals, not the loss bound, not the plan that the next episode starts from.
    """
    view.progress["restarts"] = state.totals["restarts"]
    view.progress["counted"] = 0
    for t in range(len(steps.pairs)):
        pair = steps.pairs[t]
        for j in range(len(view.context)):
            view.context[j] = steps.contexts[t, j]
        look_before_learning(constants, state, view, pair)
        before_visit(constants, state, view, pair)
        learn_outcome(constants, state, view, scratch, pair, steps.places[t], steps.losses[t])
        state.totals["logged"] += 1


def single_step(context: NDArray[np.float64], pair: int, place: int, loss: float) -> StepArrays:
    """One step."""
    return StepArrays(
        context.reshape(1, -1), np.array([pair], dtype=np.int64), np.array([place], dtype=np.int64), np.array([loss])
    )


def part_of(steps: StepArrays, first: int, last: int) -> StepArrays:
    """The steps from ``first`` on, before ``last``, as views."""
    return StepArrays._make(column[first:last] for column in steps)


class Visits:
    """The visits of a learner whose outcome has not come, in the order of ``act``.

    Attributes:
        acts: the number of the next visit. Numbers say the order of ``act``, and nothing else.
        count: enters a visit into the Gram matrix before its outcome comes, once a later one of its pair does; None:
            visits count when their outcome comes, and never without one.
    """

    def __init__(self, count: Callable[[LearnerEpisode], None] | None) -> None:
        self.acts = 0
        self.count = count
        self._awaited: dict[int, LearnerEpisode] = {}  # by the number of the visit, so in the order of act
        self._uncounted: dict[int, list[LearnerEpisode]] = {}  # of each pair, those that are in no Gram matrix yet

    def hold(self, episode: LearnerEpisode, pair: int, number: int | None = None) -> None:
        """An episode plays a pair, and is held here until the outcome comes. ``number``: that of the visit; None: the
        next."""
        if number is None:
            number = self.acts
            self.acts += 1
        episode._acted, episode._pair = number, pair
        self._awaited[number] = episode
        if self.count is not None and not episode._progress["counted"]:
            self._uncounted.setdefault(pair, []).append(episode)

    def settle(self, episode: LearnerEpisode) -> None:
        """The outcome has come, or never will."""
        if episode._acted is not None:
            del self._awaited[episode._acted]
            self.acts = self.acts if self._awaited else 0
        episode._acted = None
        if episode._pair in self._uncounted:
            self._uncounted[episode._pair] = [one for one in self._uncounted[episode._pair] if one is not episode]

    def lose(self, episode: LearnerEpisode, *, at_random: bool) -> None:
        """The outcome will never come: the visit counts, as one that might have been anything, unless it is missing
        ``at_random`` and does not count yet."""
        if self.count is not None:
            if not at_random:
                self.count_before(episode._pair, episode)
                self.count(episode)
            episode._progress["counted"] = 0  # of the visit that the episode makes next
        self.settle(episode)

    def count_before(self, pair: int, last: LearnerEpisode | None = None) -> None:
        """The visits of a pair that were made before that of ``last`` (None: all) count from now on, outcome or not."""
        waiting = self._uncounted.get(pair)
        if not waiting or self.count is None:
            return
        earlier = len(waiting) if last is None else waiting.index(last) if last in waiting else 0
        self._uncounted[pair] = waiting[earlier:]
        for episode in waiting[:earlier]:
            self.count(episode)

    @property
    def uncounted_pairs(self) -> list[int]:
        """The pairs with visits that are in no Gram matrix yet."""
        return [pair for pair, waiting in self._uncounted.items() if waiting]


def statistics_of(learner: RidgeLearner) -> Statistics:
    """What a learner has seen so far, visits without an outcome included; it shows what the learner learns."""
    from goalbound.confidence.statistics import Statistics

    state, guessed = learner._state, learner._constants.model.guessed
    return Statistics.over(
        learner.support,
        state.regression,
        learner.settings.regularization,
        state.pending,
        holds_guesses=bool(guessed.any()),
    )


def add_missing(state: Any, source: Any, at: NDArray[Any], ridge: Floats, of_source: Floats) -> None:
    """The visits without an outcome of another learner's pairs, in the pairs ``at`` of this one. ``ridge`` and
    ``of_source`` [N'] are the multiples of the identity in their Gram matrices.

    Their norms in the inverse of the other matrix are at most those of before, times the root of the ratio of a smaller
    ridge; and at most the ridge itself allows.
    """
    mine, theirs = state.pending, source.pending
    norms = theirs.norms * np.sqrt(np.maximum(of_source / ridge, 1.0))
    most = theirs.visits / (UNIT * np.sqrt(ridge))
    mine.visits[at] += theirs.visits
    mine.contexts[at] += theirs.contexts
    mine.norms[at] += np.ceil(np.minimum(norms, most) * (1.0 + SLACK)).astype(np.int64)


def check_missing(state: Any, regularization: float) -> None:
    """An error unless visits without an outcome, read from a file, can be: a context has d entries that sum to 1, its
    norm is at most that of the first visit."""
    visits, contexts, norms = state.pending
    within("pending visits", visits, 0, state.regression.visits)
    units = visits / UNIT + contexts.shape[1] * visits
    within("pending contexts", contexts, 0, np.minimum(units, MANY)[:, None])
    within("pending contexts", contexts.sum(axis=1), 0, units)
    within("pending norms", norms, 0, np.minimum(units * (1.01 / np.sqrt(regularization) + 1.0), MANY))
