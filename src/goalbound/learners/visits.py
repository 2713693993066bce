"""Visits: when they enter the Gram matrix of their pair, and what is learned of them (lines 10 to 12, 22 and 23).

A visit counts as soon as the outcome of a later visit of the same pair is learned from, in the order of ``act``: which
visits count, and in which order, must not depend on when outcomes are reported (docs/explanation/pending.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goalbound.confidence.protocol import enters, learn, missing, renew
from goalbound.confidence.regression import add_pending, count_visit, count_visit_of_norm, in_units, record_outcome
from goalbound.jit.compile import lean
from goalbound.learners.state import CHANGE_LOG_SIZE

if TYPE_CHECKING:
    from goalbound.learners.episode import LearnerEpisode


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
def keep_pending(constants, state, view, scratch, pair):
    """The outcome of a visit will never come: it counts, as one that might have been anything."""
    count_pending(constants, state, view, scratch, pair)
    renew(constants, state, scratch, pair)
    mark_changed(state, pair)


@lean
def is_set_current(state, view, pair):
    """Whether the set of a pair is that of its Gram matrix as it is now. Visits that are awaited change the matrix
    before the pair is marked as changed."""
    return view.revision[pair] == state.revision[pair] and state.pending.visits[pair] == 0


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


class PendingVisits:
    """The episodes of a learner that have acted and not yet observed.

    Attributes:
        acts: the number of the next visit. Numbers say the order of ``act``, and nothing else.
        counted_early: whether a visit enters the Gram matrix before its outcome comes, once a later one of its pair
            does.
    """

    def __init__(self, *, counted_early: bool) -> None:
        self.acts = 0
        self.counted_early = counted_early
        self._awaited: dict[int, LearnerEpisode] = {}  # by the number of the visit, so in the order of act
        self._uncounted: dict[int, list[LearnerEpisode]] = {}  # of each pair, those that are in no Gram matrix yet

    def add(self, episode: LearnerEpisode, pair: int) -> None:
        """An episode has played a pair. It is held here until its outcome comes."""
        episode._acted, episode._pair = self.acts, pair
        self.acts += 1
        self.hold(episode)

    def hold(self, episode: LearnerEpisode) -> None:
        """An episode whose visit has its number already."""
        assert episode._acted is not None
        self._awaited[episode._acted] = episode
        if self.counted_early and not episode._progress["counted"]:
            self._uncounted.setdefault(episode._pair, []).append(episode)

    def remove(self, episode: LearnerEpisode) -> None:
        """The outcome has come, or never will."""
        if episode._acted is not None:
            del self._awaited[episode._acted]
            self.acts = self.acts if self._awaited else 0
        episode._acted = None
        if not self._uncounted:  # on the way of every step
            return
        waiting = self._uncounted.get(episode._pair, [])
        if episode in waiting:
            waiting.remove(episode)
        if not waiting:
            self._uncounted.pop(episode._pair, None)

    @property
    def uncounted_pairs(self) -> list[int]:
        """The pairs with visits that are in no Gram matrix yet."""
        return list(self._uncounted)

    def take_uncounted(self, pair: int, last: LearnerEpisode | None) -> list[LearnerEpisode]:
        """The uncounted visits of a pair that were made before that of ``last`` (None: all); from now on they count."""
        waiting = self._uncounted.get(pair, [])
        earlier = waiting[: waiting.index(last)] if last in waiting else [] if last is not None else list(waiting)
        if earlier:
            del waiting[: len(earlier)]
            if not waiting:
                del self._uncounted[pair]
        return earlier
