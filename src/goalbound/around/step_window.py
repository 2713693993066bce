"""The last steps that were seen, kept to learn from them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.kernels.steps import StepArrays
from goalbound.learners.step_log import part_of
from goalbound.models import Support
from goalbound.models.support_match import SupportMatch
from goalbound.models.validation import check_memory

ARRAY_TYPES = {"window.contexts": "<f8", "window.pairs": "<i8", "window.places": "<i8", "window.losses": "<f8"}


class StepWindow:
    """At least the last ``size`` steps, in their order. A step is added in O(d), on average.

    >>> window = StepWindow(2, 1)
    >>> for pair in range(5):
    ...     window.add(StepArrays(np.ones((1, 1)), np.array([pair]), np.array([0]), np.array([0.5])))
    >>> window.count, window.last().pairs
    (5, array([3, 4]))
    """

    def __init__(self, size: int, context_size: int) -> None:
        check_memory(2 * size * (context_size + 3), f"window {size}")
        self.size = size
        self.count = 0
        """How many steps were added, those that are no longer kept included."""
        self._kept = 0
        self._steps = _room(min(2 * size, 64), context_size)

    def add(self, steps: StepArrays) -> None:
        """Add steps."""
        self.count += len(steps.pairs)
        steps = part_of(steps, max(len(steps.pairs) - self.size, 0), len(steps.pairs))
        fresh = len(steps.pairs)
        if self._kept + fresh > len(self._steps.pairs):
            self._make_room(fresh)
        for mine, theirs in zip(self._steps, steps, strict=True):
            mine[self._kept : self._kept + fresh] = theirs
        self._kept += fresh

    def _make_room(self, fresh: int) -> None:
        kept = self.last()
        room = min(2 * self.size, max(2 * len(self._steps.pairs), 2 * (len(kept.pairs) + fresh)))
        if len(kept.pairs) + fresh > room:
            kept = part_of(kept, len(kept.pairs) + fresh - room, len(kept.pairs))
        found = _room(room, self._steps.contexts.shape[1])
        for mine, theirs in zip(found, kept, strict=True):
            mine[: len(theirs)] = theirs
        self._steps, self._kept = found, len(kept.pairs)

    def last(self) -> StepArrays:
        """The last ``size`` steps, or all if there were fewer; views."""
        return part_of(self._steps, max(self._kept - self.size, 0), self._kept)

    @property
    def first(self) -> int:
        """The number of the first step in :meth:`last`, from 0 on."""
        return self.count - min(self._kept, self.size)

    def since(self, number: int) -> StepArrays:
        """The steps from this number on; an error if they are no longer kept."""
        if number < self.first:
            raise ArgumentError(
                f"the steps from {number} on are no longer kept, only those from {self.first} on (window={self.size}); "
                "learn from a log of them, learner.learn_log(log.window(first=...)), or use a larger window"
            )
        kept = self.last()
        return part_of(kept, number - self.first, len(kept.pairs))

    def moved(self, places: SupportMatch) -> StepWindow:
        """The same steps, as those of a larger support."""
        found = StepWindow(self.size, self._steps.contexts.shape[1])
        kept = self.last()
        found.add(kept._replace(pairs=places.pairs[kept.pairs], places=places.triples[kept.places]))
        found.count = self.count
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is in a file."""
        kept = self.last()
        return dict(zip(ARRAY_TYPES, (np.ascontiguousarray(column) for column in kept), strict=True))

    def restore(self, arrays: Mapping[str, NDArray[Any]], count: int, support: Support) -> None:
        """Take over what is in a file, checked; ``count`` is that of all steps."""
        contexts, pairs, places, losses = (arrays[name] for name in ARRAY_TYPES)
        size, kept = self._steps.contexts.shape[1], len(losses)
        if contexts.shape != (kept, size) or not pairs.shape == places.shape == losses.shape == (kept,):
            raise FileFormatError(f"the arrays of the window have other shapes than {(kept, size)} and {(kept,)}")
        if kept != min(count, self.size):
            raise FileFormatError(f"the window has {kept} steps; of {count} it keeps {min(count, self.size)}")
        fine = bool(((pairs >= 0) & (pairs < support.pairs)).all() and ((losses >= 0.0) & (losses <= 1.0)).all())
        fine = fine and bool((contexts >= 0.0).all()) and bool((np.abs(contexts.sum(axis=1) - 1.0) < 1e-9).all())
        if not fine or not ((places >= support.next_start[pairs]) & (places < support.next_start[pairs + 1])).all():
            raise FileFormatError("the window has a step that cannot be: a pair, a next state, a loss or a context")
        self.add(StepArrays(contexts, pairs, places, losses))
        self.count = count


def _room(length: int, context_size: int) -> StepArrays:
    return StepArrays(
        np.zeros((length, context_size)), np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.int64),
        np.zeros(length),
    )  # fmt: skip
