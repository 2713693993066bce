"""Visits whose outcome is awaited. Which of them count, and in which order, must not depend on when outcomes are
reported (docs/explanation/pending.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from goalbound.learners.episode import LearnerEpisode


class PendingVisits:
    """The episodes of a learner that have acted and not yet observed.

    Attributes:
        acts: the number of the next visit. Numbers say the order of ``act``, and nothing else.
        counted_early: whether a visit enters the Gram matrix before its outcome comes, once a later one of its pair
            does.
        classes: [N] visits of pairs with the same number here are counted in one order, as their data is pooled; None:
            each pair has its own.
    """

    def __init__(self, *, counted_early: bool, classes: NDArray[np.int64] | None = None) -> None:
        self.acts = 0
        self.counted_early = counted_early
        self.classes = classes
        self._awaited: dict[int, LearnerEpisode] = {}  # by the number of the visit, so in the order of act
        self._uncounted: dict[int, list[LearnerEpisode]] = {}  # of each class, those that are in no Gram matrix yet

    def class_of(self, pair: int) -> int:
        """The class of a pair; by default, itself."""
        return pair if self.classes is None else int(self.classes[pair])

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
            self._uncounted.setdefault(self.class_of(episode._pair), []).append(episode)

    def remove(self, episode: LearnerEpisode) -> None:
        """The outcome has come, or never will."""
        if episode._acted is not None:
            del self._awaited[episode._acted]
            self.acts = self.acts if self._awaited else 0
        episode._acted = None
        if not self._uncounted:  # on the way of every step
            return
        place = self.class_of(episode._pair)
        waiting = self._uncounted.get(place, [])
        if episode in waiting:
            waiting.remove(episode)
        if not waiting:
            self._uncounted.pop(place, None)

    @property
    def uncounted_classes(self) -> list[int]:
        """The classes of pairs with visits that are in no Gram matrix yet; each is a pair of it."""
        return list(self._uncounted)

    def take_uncounted(self, pair: int, last: LearnerEpisode | None) -> list[LearnerEpisode]:
        """The uncounted visits of the class of a pair that were made before that of ``last`` (None: all); from now on
        they count."""
        place = self.class_of(pair)
        waiting = self._uncounted.get(place, [])
        earlier = waiting[: waiting.index(last)] if last in waiting else [] if last is not None else list(waiting)
        if earlier:
            del waiting[: len(earlier)]
            if not waiting:
                del self._uncounted[place]
        return earlier
