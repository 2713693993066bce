"""Preallocated arrays that a run fills episode by episode."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.environment import EpisodeResults


class EpisodeBuffer(NamedTuple):
    """Arrays for the episodes of a run; those that count are the first ones, up to the first with no steps."""

    results: EpisodeResults
    contexts: NDArray[np.float64]
    """[K, d]"""
    optimal_loss: NDArray[np.float64]
    """[K]"""

    @classmethod
    def empty(cls, episodes: int, context_size: int) -> EpisodeBuffer:
        """Arrays for so many episodes, none of them played."""
        floats, counts = np.zeros((3, episodes)), np.zeros((4, episodes), dtype=np.int64)
        results = EpisodeResults(
            loss=floats[0], expected_regret=floats[1], start=counts[0], intervals=counts[1],
            unknown_steps=counts[2], abandoned=np.zeros(episodes, dtype=np.bool_), steps=counts[3],
        )  # fmt: skip
        return cls(results, np.zeros((episodes, context_size)), floats[2])

    def rows(self, first: int, end: int) -> EpisodeBuffer:
        """Some of the episodes, as views."""
        columns: list[Any] = [column[first:end] for column in self.results]
        return EpisodeBuffer(EpisodeResults(*columns), self.contexts[first:end], self.optimal_loss[first:end])

    @property
    def finished(self) -> int:
        """How many episodes count."""
        return int(np.count_nonzero(self.results.steps))

    @property
    def regret(self) -> float:
        """Realised."""
        return float((self.results.loss - self.optimal_loss).sum())
