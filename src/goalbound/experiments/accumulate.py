"""Running sums of a run, added in the order of episodes, so that results do not depend on how it is split."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.experiments import columns
from goalbound.experiments.records import kept_episodes
from goalbound.simulation import History

BINS = 12
"""Bins of a component's weight in [0, 1]."""
MAX_PAIRS = 28
"""Pairs of components that have a map; the first ones, in the order (0, 1), (0, 2), ..."""


class Accumulator:
    """Accumulates the episodes of a run, in chunks of any size.

    Attributes:
        done: episodes so far.
        totals: the sum of each column so far.
        table: the columns [n]; the rows of episodes to come are zero.
        count: [P, 144] episodes by cell, for each pair of components.
        regret: [P, 144] their expected regret, summed.
    """

    def __init__(self, episodes: int, context_size: int) -> None:
        self.done = 0
        self._columns = columns.stored()
        kinds = {name: kind for name, kind in columns.schema().items() if name != "episode"}
        self.totals: dict[str, Any] = {name: np.dtype(kind).type(0) for name, kind in kinds.items()}
        kept = kept_episodes(episodes)
        self.table: dict[str, NDArray[Any]] = {"episode": kept}
        self.table |= {name: np.zeros(len(kept), dtype=kind) for name, kind in kinds.items()}
        self.pairs = list(islice(combinations(range(context_size), 2), MAX_PAIRS))
        self.count = np.zeros((len(self.pairs), BINS * BINS), dtype=np.int64)
        self.regret = np.zeros((len(self.pairs), BINS * BINS))

    def add(self, history: History) -> None:
        """The next episodes."""
        kept = self.table["episode"]
        rows = slice(*np.searchsorted(kept, [self.done + 1, self.done + history.episodes + 1]))
        for column in self._columns:
            running = _running_sum(self.totals[column.name], column.values_in(history))
            self.table[column.name][rows] = running[kept[rows] - self.done - 1]
            self.totals[column.name] = running[-1]
        part = np.minimum((BINS * history.contexts).astype(np.int64), BINS - 1)
        for (i, j), count, regret in zip(self.pairs, self.count, self.regret, strict=True):
            cell = BINS * part[:, i] + part[:, j]
            np.add.at(count, cell, 1)
            np.add.at(regret, cell, history.expected_regret)
        self.done += history.episodes

    @property
    def expected_regret(self) -> float:
        """So far; non-decreasing."""
        return float(self.totals["expected_regret"])

    @property
    def realised_regret(self) -> float:
        """So far."""
        return float(self.totals["loss"] - self.totals["optimal_loss"])

    def metadata(self) -> dict[str, Any]:
        """The ``totals`` and the ``simplex`` of a record."""
        totals = {"episodes": self.done, "regret": self.realised_regret}
        return {
            "totals": totals | {name: value.item() for name, value in self.totals.items()},
            "simplex": {
                "bins": BINS,
                "pairs": [list(pair) for pair in self.pairs],
                "count": self.count.tolist(),
                "expected_regret": self.regret.tolist(),
            },
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The state without the number of episodes, for :meth:`restore`."""
        arrays = {f"table.{name}": self.table[name] for name in self.totals}
        arrays |= {f"total.{name}": np.array(total) for name, total in self.totals.items()}
        return arrays | {"cells.count": self.count, "cells.regret": self.regret}

    def restore(self, arrays: dict[str, NDArray[Any]], done: int) -> None:
        """Restore the state of another accumulator of the same run."""
        for name, mine in self.arrays().items():
            if arrays[name].shape != mine.shape or arrays[name].dtype != mine.dtype:
                raise FileFormatError(f"{name} is {arrays[name].dtype} {arrays[name].shape}; it needs {mine.shape}")
        for name, total in self.totals.items():
            self.table[name][...] = arrays[f"table.{name}"]
            self.totals[name] = type(total)(arrays[f"total.{name}"][()])
        self.count[...], self.regret[...] = arrays["cells.count"], arrays["cells.regret"]
        self.done = done


def _running_sum(before: Any, values: NDArray[Any]) -> NDArray[Any]:
    """The sums after each of the values, one added after the other."""
    values[0] += before
    return np.cumsum(values)
