"""The record of a run, and the sums that fill it (:mod:`goalbound.experiments.record_file` has its file)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.experiments import columns
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.card import LearnerCard
from goalbound.models.validation import readonly_copy
from goalbound.simulation import History

METADATA_KEYS = (
    "totals", "diagnosis", "simplex", "policies", "actions", "settings", "card", "alarm", "problem", "provenance",
)  # fmt: skip
"""The keys of the metadata of a record."""

KEEP_ALL_UP_TO = 2000
"""Up to this many episodes, every episode has a row."""
FIRST_KEPT = 100
SPACING = 128
"""In longer runs the first 100 have one, and then rows are 1/128 of the episode apart."""

BINS = 12
"""Bins of a component's weight in [0, 1]."""
MAX_PAIRS = 28
"""Pairs of components that have a map; the first ones, in the order (0, 1), (0, 2), ..."""

_MAX_EPISODES = 2**62


def kept_episodes(episodes: int) -> NDArray[np.int64]:
    """[n] the episodes after which a record has a row: all, or for long runs at growing distances, and the last.

    Integer arithmetic, so it is the same everywhere; a longer run has the rows of a shorter one.

    >>> kept_episodes(1_000_000)[[0, 99, 200, 255, 256, 400, -1]]
    array([      1,     100,     201,     256,     258,     671, 1000000])
    """
    if not 1 <= episodes <= _MAX_EPISODES:
        raise ArgumentError(f"the run has {episodes} episodes; it needs at least one, and at most {_MAX_EPISODES}")
    if episodes <= KEEP_ALL_UP_TO:
        return np.arange(1, episodes + 1)
    kept = list(range(1, FIRST_KEPT + 1))
    while kept[-1] < episodes:
        kept.append(min(kept[-1] + max(1, kept[-1] // SPACING), episodes))
    return np.array(kept, dtype=np.int64)


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


def _running_sum(before: Any, values: NDArray[Any]) -> NDArray[Any]:
    """The cumulative sums, in the order of the values."""
    values[0] += before
    return np.cumsum(values)


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The result of a run. It does not depend on when, where or in how many parts the run was played.

    Attributes:
        spec: the run.
        table: for each column of :func:`goalbound.experiments.columns.schema` an array [n], one row for each of
            :func:`kept_episodes`.
        metadata: plain values, for each of :data:`METADATA_KEYS`.
    """

    spec: RunSpec
    table: dict[str, NDArray[Any]]
    metadata: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", _checked_table(self.table, self.spec.episodes))
        object.__setattr__(self, "metadata", _as_plain_json(self.metadata))
        _check_metadata(self.metadata, self.table, self.spec)

    @property
    def id(self) -> str:
        """That of the spec."""
        return self.spec.id

    @property
    def card(self) -> LearnerCard:
        """The card of the learner."""
        return LearnerCard.from_json(self.metadata["card"])

    def __repr__(self) -> str:
        totals = self.metadata["totals"]
        return f"RunRecord({self.id}, {totals['episodes']} episodes, expected regret {totals['expected_regret']:.6g})"


def canonical_json(values: Any) -> bytes:
    """Plain values as canonical JSON: equal values give equal bytes. No NaN."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _checked_table(table: dict[str, NDArray[Any]], episodes: int) -> dict[str, NDArray[Any]]:
    """The columns in their order, read-only; an error that names the column and the row."""
    schema = columns.schema()
    if set(table) != set(schema):
        raise ArgumentError(f"the columns are {sorted(table)}; a record has {sorted(schema)}")
    kept = kept_episodes(episodes)
    for name, kind in schema.items():
        column = table[name]
        if column.dtype != kind or column.shape != kept.shape:
            raise ArgumentError(f"{name} is {column.dtype} {column.shape}; it needs {np.dtype(kind)} {kept.shape}")
        rises = np.diff(column, prepend=column.dtype.type(0))
        bad = np.flatnonzero(~(np.isfinite(column) & (rises >= 0)))
        if len(bad):
            raise ArgumentError(f"{name}[{bad[0]}] is {column[bad[0]]}; sums are numbers that do not fall")
    if not np.array_equal(table["episode"], kept):
        raise ArgumentError(f"the rows are not those that a run of {episodes} episodes keeps")
    parts = [(column.name, column.at_most) for column in columns.stored() if column.at_most]
    for part, whole in [("episode", "steps"), *parts]:
        bad = np.flatnonzero(table[part] > table[whole])
        if len(bad):
            row = int(bad[0])
            raise ArgumentError(f"{part}[{row}] is {table[part][row]}, more than {whole}[{row}] = {table[whole][row]}")
    return {name: readonly_copy(table[name], kind) for name, kind in schema.items()}


def _as_plain_json(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata as they are read back from a file."""
    try:
        return json.loads(canonical_json(metadata))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the metadata are not plain values ({error})") from None


def _check_metadata(metadata: dict[str, Any], table: dict[str, NDArray[Any]], spec: RunSpec) -> None:
    if set(metadata) != set(METADATA_KEYS):
        raise ArgumentError(f"the metadata keys are {sorted(metadata)}; a record needs {sorted(METADATA_KEYS)}")
    if not isinstance(metadata["alarm"], str | None):
        raise ArgumentError(f"alarm in the metadata is {metadata['alarm']!r:.60}, neither text nor null")
    LearnerCard.from_json(metadata["card"])
    for name in ("totals", "simplex", "settings", "problem", "provenance"):
        if not isinstance(metadata[name], dict):
            raise ArgumentError(f"{name} in the metadata is {metadata[name]!r:.60}, not an object")
    last = {name: column[-1].item() for name, column in table.items() if name != "episode"}
    wanted = {"episodes": spec.episodes, "regret": last["loss"] - last["optimal_loss"], **last}
    if metadata["totals"] != wanted:
        raise ArgumentError(f"the totals are {metadata['totals']}; the last row says {wanted}")
    found = metadata["provenance"].get("id")
    if found != spec.id:
        raise ArgumentError(f"the record is of run {found!r}; the spec in it is that of {spec.id}")
