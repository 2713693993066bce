"""Visits whose outcome is awaited. Which of them count, and in which order, must not depend on when outcomes are
reported (docs/explanation/pending.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goalbound.learners.episode import LearnerEpisode


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
