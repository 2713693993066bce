"""The file of a record: a Parquet table that is tidy by itself, with the spec and the metadata of the run.

Every row says of which run it is: problem, contexts, learner, id and seed (the texts are dictionary-encoded), so that
the files of a folder can be read as one table. Spec and metadata are JSON in the file's key-value metadata, under the
key ``goalbound``. The same record gives the same bytes, and everything that is read is validated.
"""

from __future__ import annotations

import hashlib
import io
import re
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.experiments import columns
from goalbound.experiments.records import RunRecord, canonical_json, kept_episodes
from goalbound.experiments.run_spec import RunSpec
from goalbound.models.files.io import as_format_errors, atomic_write, read_bytes, strict_json

KEY, DIGEST = b"goalbound", b"goalbound.sha256"
_FORMAT = {"format": "goalbound", "kind": "RunRecord", "version": 3}
_LIMIT = 2**28
_DATA, _DICTIONARY = b"\0", b"\4"
_PAGE = re.compile(rb"\x15([\0\4])\x15([\x80-\xff]{0,4}[\0-\x7f])\x15([\x80-\xff]{0,4}[\0-\x7f])")
"""The start of the header of a page: kind, unpacked size, packed size (thrift's compact form)."""
_LONGEST_PAGE_HEADER = 64
_LONGEST_CONSTANT = 16
"""Bytes of a page that refers to the same entry of a dictionary in every row: a bit width, a count, the entry."""


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
    rows = len(record.table["episode"])
    about = [_repeated(column.of(record.spec), rows) for column in columns.RUN_COLUMNS]
    sums = [pyarrow.array(record.table[name]) for name in columns.schema()]
    table = pyarrow.Table.from_arrays([*about, *sums], schema=_schema())
    file = io.BytesIO()
    with parquet.ParquetWriter(
        file, table.schema, version="2.6", data_page_version="1.0", compression="zstd", compression_level=3,
        use_dictionary=[column.name for column in columns.RUN_COLUMNS if column.is_text],
        write_statistics=False, write_page_checksum=True, store_schema=True,
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
    _check_pages(data, footer, spec)
    try:
        read = file.read(use_threads=False)
        _check_run_columns(read, spec)
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


def _check_run_columns(read: Any, spec: RunSpec) -> None:
    """The columns that say of which run a row is, say what the spec says."""
    for column in columns.RUN_COLUMNS:
        found, wanted = read.column(column.name).unique().to_pylist(), column.of(spec)
        if found != [wanted]:
            raise FileFormatError(
                f"{column.name} is {found!r:.80} in the rows; the spec in the file has {wanted!r:.80}"
            )


def _check_pages(data: bytes, footer: Any, spec: RunSpec) -> None:
    """Each column is one page of the size of its rows, a text a dictionary of one entry and a page that refers to it;
    so a small file cannot unpack to a large one."""
    if footer.num_row_groups != 1:
        raise FileFormatError(f"there are {footer.num_row_groups} groups of rows; a record has one")
    rows = len(kept_episodes(spec.episodes))
    for claimed in (footer.num_rows, footer.row_group(0).num_rows):  # memory is taken for the latter
        if claimed != rows:
            raise FileFormatError(f"there are {claimed} rows; {spec.episodes} episodes have {rows}")
    texts = {column.name: str(column.of(spec)) for column in columns.RUN_COLUMNS if column.is_text}
    for at, name in enumerate(_schema().names):
        chunk = footer.row_group(0).column(at)
        kind, size, packed = _page(data, chunk.data_page_offset)
        if name not in texts:
            fits = kind == _DATA and size == 8 * rows and not chunk.has_dictionary_page
            stored = f"one page of {8 * rows} bytes"
        else:
            entry = 4 + len(texts[name].encode())  # its length, and its letters
            first, entry_size, entry_packed = _page(data, chunk.dictionary_page_offset or 0)
            fits = (kind, first, entry_size) == (_DATA, _DICTIONARY, entry) and size <= _LONGEST_CONSTANT
            packed += entry_packed + _LONGEST_PAGE_HEADER
            stored = f"a dictionary of {entry} bytes"
        if not fits or abs(chunk.total_compressed_size - packed) > _LONGEST_PAGE_HEADER:
            raise FileFormatError(f"{name} is not stored as {stored}; the file is damaged, or not of goalbound")


def _page(data: bytes, offset: int) -> tuple[bytes, int, int]:
    """The kind of the page that begins there, its unpacked size and its packed one."""
    found = _PAGE.match(data, offset)
    return (found[1], _decode_varint(found[2]), _decode_varint(found[3])) if found else (b"", -1, -1)


def _decode_varint(varint: bytes) -> int:
    """An integer in thrift's compact form (zigzag varint)."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(varint)) >> 1


def _schema() -> Any:
    import pyarrow

    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = {column.name: text if column.is_text else pyarrow.int64() for column in columns.RUN_COLUMNS}
    kinds |= {name: pyarrow.from_numpy_dtype(kind) for name, kind in columns.schema().items()}
    return pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name, kind in kinds.items()])


def _repeated(value: str | int, rows: int) -> Any:
    """The same value in every row; a text as a dictionary of one entry."""
    import pyarrow

    if isinstance(value, int):
        return pyarrow.array(np.full(rows, value, dtype=np.int64))
    return pyarrow.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pyarrow.array([value]))


def _listing(schema: Any) -> str:
    from pyarrow.types import is_dictionary

    kinds = [(one, "text" if is_dictionary(one.type) else one.type) for one in list(schema)[:30]]
    return ", ".join(f"{one.name}: {kind}{' or null' if one.nullable else ''}" for one, kind in kinds)


def _digest(header: bytes, table: dict[str, NDArray[Any]]) -> bytes:
    """The digest of all content, so that any damage is detected."""
    content = hashlib.sha256(header)
    for name, kind in columns.schema().items():
        content.update(np.asarray(table[name], dtype=np.dtype(kind).newbyteorder("<")).tobytes())
    return content.hexdigest().encode()
