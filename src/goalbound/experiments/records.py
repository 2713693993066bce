"""The record of a run and its file: a Parquet table with the spec and the metadata of the run.

Any Parquet reader sees the columns; spec and run metadata are JSON in the file's key-value metadata, under the key
``goalbound``. The same record gives the same bytes, and everything that is read is validated.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass
from itertools import combinations, islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.experiments import columns
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.card import LearnerCard
from goalbound.models.files.io import as_format_errors, atomic_write, read_bytes, strict_json
from goalbound.models.validation import readonly_copy
from goalbound.simulation import History

METADATA_KEYS = (
    "totals", "diagnosis", "simplex", "policies", "settings", "card", "alarm", "problem", "provenance",
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

KEY, DIGEST = b"goalbound", b"goalbound.sha256"
_FORMAT = {"format": "goalbound", "kind": "RunRecord", "version": 2}
_LIMIT = 2**28
_PAGE = re.compile(rb"\x15\0\x15([\x80-\xff]{0,4}[\0-\x7f])\x15([\x80-\xff]{0,4}[\0-\x7f])")
"""The start of the header of a data page: kind, unpacked size, packed size (thrift's compact form)."""
_LONGEST_PAGE_HEADER = 64
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


def write_record(path: str | PathLike[str], record: RunRecord) -> None:
    """Write a record; the file appears complete or not at all, and the same record gives the same bytes."""
    data = record_bytes(record)
    with atomic_write(path) as file:
        file.write(data)


def record_bytes(record: RunRecord) -> bytes:
    """The content of a record's file."""
    import pyarrow
    from pyarrow import parquet

    header = canonical_json({**_FORMAT, "spec": record.spec.as_json(), "metadata": record.metadata})
    table = pyarrow.Table.from_arrays(
        [pyarrow.array(record.table[name]) for name in columns.schema()], schema=_schema()
    )
    file = io.BytesIO()
    with parquet.ParquetWriter(
        file, table.schema, version="2.6", data_page_version="1.0", use_dictionary=False, compression="zstd",
        compression_level=3, write_statistics=False, write_page_checksum=True, store_schema=False,
    ) as writer:  # fmt: skip
        writer.write_table(table, row_group_size=2**20)
        writer.add_key_value_metadata({KEY: header, DIGEST: _digest(header, record.table)})
    return file.getvalue()


def read_record(path: str | PathLike[str]) -> RunRecord:
    """Read what :func:`write_record` wrote; anything else is a :class:`FileFormatError` with the reason."""
    with as_format_errors(path, "record"):
        return _read(read_bytes(path, _LIMIT, remedy="no record is as large", unpack=False))


def _read(data: bytes) -> RunRecord:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data), page_checksum_verification=True)
        footer, schema = file.metadata, file.schema_arrow
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        raise FileFormatError(f"this is not a complete Parquet file ({error})") from None
    found = footer.metadata or {}
    if KEY not in found or DIGEST not in found:
        raise FileFormatError(
            f"this Parquet file is not a goalbound record: it has no {KEY.decode()!r} in its metadata"
        )
    spec, metadata = _read_header(found[KEY])
    wanted = _schema()
    if not schema.equals(wanted):
        raise FileFormatError(f"the columns are {_listing(schema)}; they need to be {_listing(wanted)}")
    rows = len(kept_episodes(spec.episodes))
    if footer.num_rows != rows:
        raise FileFormatError(f"there are {footer.num_rows} rows; {spec.episodes} episodes have {rows}")
    _check_pages(data, footer, rows)
    try:
        read = file.read(use_threads=False)
        table = {name: read.column(name).to_numpy() for name in columns.schema()}
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        raise FileFormatError(f"the table is damaged ({error})") from None
    if found[DIGEST] != _digest(found[KEY], table):
        raise FileFormatError("the content does not match its checksum; the file is damaged, or was edited")
    return RunRecord(spec, table, metadata)


def _read_header(data: bytes) -> tuple[RunSpec, dict[str, Any]]:
    """The spec and the run metadata from the JSON header."""
    header = strict_json(data, f"{KEY.decode()!r} in the metadata")
    said = {name: header.get(name) for name in _FORMAT}
    if said != _FORMAT and said | {"version": _FORMAT["version"]} == _FORMAT:
        raise FileFormatError(
            f"this record has version {said['version']!r:.20}, and this goalbound reads version {_FORMAT['version']}; "
            "run the experiment again"
        )
    if said != _FORMAT:
        raise FileFormatError(f"the metadata says {list(said.values())!r:.100}, not {list(_FORMAT.values())}")
    spec, metadata = header.get("spec"), header.get("metadata")
    if not isinstance(spec, dict) or not isinstance(metadata, dict) or not isinstance(spec.get("labels"), dict):
        raise FileFormatError("spec or metadata in the header are not objects")
    return RunSpec.from_json(spec), metadata


def _check_pages(data: bytes, footer: Any, rows: int) -> None:
    """Each column is one page of the size of its rows, so that a small file cannot unpack to a large one."""
    if footer.num_row_groups != 1:
        raise FileFormatError(f"there are {footer.num_row_groups} groups of rows; a record has one")
    for at, name in enumerate(columns.schema()):
        column = footer.row_group(0).column(at)
        found = _PAGE.match(data, column.data_page_offset)
        unpacked, packed = (_decode_varint(part) for part in found.groups()) if found else (-1, -1)
        rest = column.total_compressed_size - packed
        if unpacked != 8 * rows or column.has_dictionary_page or not 0 <= rest <= _LONGEST_PAGE_HEADER:
            raise FileFormatError(
                f"{name} is not stored as one page of {8 * rows} bytes; the file is damaged, or not of goalbound"
            )


def _decode_varint(varint: bytes) -> int:
    """An integer in thrift's compact form (zigzag varint)."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(varint)) >> 1


def _schema() -> Any:
    import pyarrow

    kinds = {name: pyarrow.from_numpy_dtype(kind) for name, kind in columns.schema().items()}
    return pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name, kind in kinds.items()])


def _listing(schema: Any) -> str:
    return ", ".join(f"{one.name}: {one.type}{' or null' if one.nullable else ''}" for one in list(schema)[:20])


def _digest(header: bytes, table: dict[str, NDArray[Any]]) -> bytes:
    """The digest of all content, so that any damage is detected."""
    content = hashlib.sha256(header)
    for name, kind in columns.schema().items():
        content.update(np.asarray(table[name], dtype=np.dtype(kind).newbyteorder("<")).tobytes())
    return content.hexdigest().encode()


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
