"""Preallocated arrays that a run fills episode by episode."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.environment import EpisodeResults

RESULT_TYPES: dict[str, type[np.generic]] = {
    name: get_args(get_args(hint)[1])[0] for name, hint in get_type_hints(EpisodeResults).items()
}
"""The columns that the loop fills, with the types of their entries, as :class:`EpisodeResults` declares them."""


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
        columns: dict[str, Any] = {name: np.zeros(episodes, dtype=kind) for name, kind in RESULT_TYPES.items()}
        return cls(EpisodeResults(**columns), np.zeros((episodes, context_size)), np.zeros(episodes))

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
