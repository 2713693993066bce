"""Tables of any library, and files, as columns of values. Nothing read is executed."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.csv_cells import unescaped
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.extras import EXTRAS, install_command
from goalbound.models.files.io import LIMIT, as_format_errors, file_name, read_bytes
from goalbound.models.validation import short_repr

Values = Any
"""One value for each row: an Arrow array where all are of one kind that Arrow knows, else a list."""

DELIMITERS = (",", ";", "\t")
_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_SPLIT = "split the file"
_PARQUET_REMEDY = "split it; or, if you trust it, give the table that pyarrow.parquet.read_table reads"
_CSV_REMEDY = "unpack it first (gunzip, unxz)"
_BATCH = 2**16
_ROWS, _EXPANSION, _UNPACKED = 10**6, 64, 64 * 2**20
"""What a packed file may hold, however small it is: rows, or one for each of its bytes; bytes, or so many times its
own. Logs have some 3 bytes for each row in Parquet and unpack to 10 to 20 times their size."""
_KINDS = (
    "give a pandas, polars or Arrow table, a dict of columns, a list of records, or the path of a CSV or Parquet file"
)
_ONE_VALUE = "it needs one number, text or date in each row"


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that were asked for.

    Attributes:
        columns: by name, all of the same length.
        rows: how many rows there are.
        path: the file, or None.
        lines: [rows] the line of the file on which each row begins, or None.
        ragged: rows without the right number of cells, with the reason; their values are None.
    """

    columns: Mapping[str, Values]
    rows: int
    path: str | None = None
    lines: NDArray[np.int64] | None = None
    ragged: Mapping[int, str] | None = None

    @property
    def is_text(self) -> bool:
        """Whether all values are text, as those of CSV files are."""
        return self.lines is not None


def read_table(source: Any, names: Sequence[str]) -> Table:
    """These columns of a table or of a file; an error says which column is not there, and which are."""
    if isinstance(source, str | PathLike):
        path = file_name(source)
        with as_format_errors(path, "log"):
            return _from_file(path, names)
    return _checked(_columns_of(source, names), None)


def _from_file(path: str, names: Sequence[str]) -> Table:
    data = read_bytes(path, LIMIT, remedy=_SPLIT, expansion=_EXPANSION)
    size = os.path.getsize(path)
    if data.startswith(_PARQUET):
        return _checked(_parquet_columns(data, names, size), path)
    if data.startswith(_ZIP):
        raise FileFormatError("this is a zip file, perhaps a workbook of a spreadsheet; save the sheet as CSV (UTF-8)")
    return _read_csv(_decoded(data), names, path, size if size < len(data) else None)


def _decoded(data: bytes) -> str:
    if not data.strip():
        raise FileFormatError("the file is empty; the first line names the columns")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError("the file is in UTF-16; save it as CSV in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"line {line}: the byte {data[error.start]:#04x} is not UTF-8; save the file as CSV in UTF-8"
        ) from None
    if "\0" in text:
        raise FileFormatError(
            f"line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a zero byte; this is not a CSV file"
        )
    return text


def _read_csv(text: str, names: Sequence[str], path: str, packed: int | None) -> Table:
    """``packed`` is the size of the file if it is compressed, else None."""
    reader, header = _opened(text, names)
    width = len(header)
    places = [_place(header, name) for name in names]
    pick = itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)
    cells: list[Any] = []  # of all rows, side by side: one list is much faster than one tuple for each row
    lines: list[int] = []
    ragged: dict[int, str] = {}
    begin = reader.line_num + 1
    try:
        for row in reader:
            if len(row) == width:
                cells.extend(pick(row))
                lines.append(begin)
            elif row:  # not a blank line
                ragged[len(lines)] = f"{len(row)} cells, and the header has {width}; quote cells that hold a delimiter"
                cells.extend((None,) * len(places))
                lines.append(begin)
            begin = reader.line_num + 1
            if packed is not None:
                _check_packed(len(lines), 0, packed, _CSV_REMEDY)
    except csv.Error as error:
        raise FileFormatError(f"line {begin}: {_csv_reason(error)}") from None
    if "'" in text:  # of texts that were written as what is no formula
        cells = [cell if cell is None else unescaped(cell) for cell in cells]
    columns = {name: as_column(cells[place :: len(names)]) for place, name in enumerate(names)}
    return Table(columns, len(lines), path, np.array(lines, dtype=np.int64), ragged)


def _csv_reason(error: csv.Error) -> str:
    if "field limit" in str(error):
        return f"a cell has more than {csv.field_size_limit()} characters; a quote may be missing"
    return f"not CSV ({error}); quotes inside a quoted cell are doubled"


def _opened(text: str, names: Sequence[str]) -> tuple[Any, list[str]]:
    """A reader behind the header; the delimiter is the first one by which the header has all columns."""
    headers: list[list[str]] = []
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            header = [unescaped(name) for name in next((row for row in reader if row), [])]
        except csv.Error as error:
            raise FileFormatError(f"line {reader.line_num}: {_csv_reason(error)}") from None
        if set(names) <= set(header):
            return reader, header
        headers.append(header)
    header = max(headers, key=lambda one: len(one))
    raise _no_column(next(name for name in names if name not in header), header)


def _place(header: Sequence[str], name: str) -> int:
    if header.count(name) > 1:
        raise ArgumentError(
            f"the column {short_repr(name)} is there {header.count(name)} times; names of columns differ"
        )
    return header.index(name)


def _parquet_columns(data: bytes, names: Sequence[str], size: int) -> dict[str, Values]:
    """Read by batches, and counted: a few bytes of the file can stand for any number of rows.

    Texts are read as dictionaries, so that a repeated one is in memory once.
    """
    pyarrow = _pyarrow()
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        _check_claims(file, names, size)
        file = parquet.ParquetFile(
            pyarrow.BufferReader(data), page_checksum_verification=True, read_dictionary=list(names)
        )
        batches = []
        rows, unpacked = 0, 0
        for batch in file.iter_batches(_BATCH, columns=list(names), use_threads=False):
            rows, unpacked = rows + batch.num_rows, unpacked + batch.nbytes
            _check_packed(rows, unpacked, size, _PARQUET_REMEDY)
            batches.append(batch)
        table = pyarrow.Table.from_batches(batches, None if batches else file.schema_arrow)
        table.validate(full=True)
        return {name: as_column(table[name]) for name in names}
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        unread = "not yet implemented" in reason.lower()
        kind = "this Parquet file is stored in a way that is not read" if unread else "damaged Parquet file"
        raise FileFormatError(f"{kind} ({reason}); save it again") from None


def _check_claims(file: Any, names: Sequence[str], size: int) -> None:
    """Columns of one cell in each row, and not too much of them by what the file says of itself."""
    from pyarrow import types

    schema = file.schema_arrow
    for name in names:
        if name not in schema.names:
            raise _no_column(name, schema.names)
        kind = schema.field(_place(schema.names, name)).type
        value = kind.value_type if types.is_dictionary(kind) else getattr(kind, "storage_type", kind)
        several = (types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
        if any(is_kind(value) for is_kind in several):
            raise ArgumentError(f"the column {short_repr(name)} holds {value}; {_ONE_VALUE}")
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    rows, unpacked = sum(group.num_rows for group in groups), sum(group.total_byte_size for group in groups)
    _check_packed(rows, unpacked, size, _PARQUET_REMEDY)


def _check_packed(rows: int, unpacked: int, size: int, remedy: str) -> None:
    """An error if ``size`` bytes of a packed file stand for more than can be believed of a log."""
    if rows > max(_ROWS, size):
        raise FileFormatError(f"{rows} rows in {size} bytes, and the limit is {max(_ROWS, size)}; {remedy}")
    most = min(max(_UNPACKED, _EXPANSION * size), LIMIT)
    if unpacked > most:
        raise FileFormatError(f"{unpacked} bytes when unpacked, of {size}, and the limit is {most}; {remedy}")


def _columns_of(source: Any, names: Sequence[str]) -> dict[str, Values]:
    if isinstance(source, type) or source is None:
        raise ArgumentError(f"the table is {short_repr(source)}; {_KINDS}")
    if isinstance(source, list | tuple):
        return _from_records(source, names)
    there = _column_names(source)
    if there is None and hasattr(source, "__arrow_c_stream__"):
        try:
            source = _pyarrow().table(source)
        except (TypeError, ValueError, NotImplementedError) as error:  # ArrowInvalid is a ValueError
            reason = " ".join(str(error).split())[:200]
            raise ArgumentError(f"the table could not be read ({reason}); {_KINDS}") from None
        there = source.column_names
    if there is None:
        raise ArgumentError(f"the table is of the type {type(source).__name__}; {_KINDS}")
    for name in names:
        if name not in there:
            raise _no_column(name, there)
    return {name: as_column(source[name]) for name in names}


def _column_names(source: Any) -> list[str] | None:
    """Of tables whose columns are got by name: mappings, structured arrays, pandas, polars, pyarrow."""
    if isinstance(source, Mapping):
        return [name for name in source if isinstance(name, str)]
    if isinstance(source, np.ndarray):
        return None if source.dtype.names is None else list(source.dtype.names)
    if not hasattr(source, "__getitem__"):
        return None
    for listed in (getattr(source, "column_names", None), getattr(source, "columns", None)):
        names = [] if listed is None or callable(listed) else [name for name in listed if isinstance(name, str)]
        if names:
            return names
    return None


def _from_records(source: Sequence[Any], names: Sequence[str]) -> dict[str, Values]:
    for row, record in enumerate(source):
        if not isinstance(record, Mapping):
            raise ArgumentError(f"row {row} of the table is {short_repr(record)}; {_KINDS}")
        for name in names:
            if name not in record:
                raise ArgumentError(f"row {row} has no column {short_repr(name)}; there are {_listing(record)}")
    return {name: as_column([record[name] for record in source]) for name in names}


def as_column(cells: Any) -> Values:
    """The values of a column as an Arrow array; as a list where they are of several kinds.

    >>> as_column(["a", None]).type, as_column([1, "a"])
    (DataType(string), [1, 'a'])
    """
    pyarrow = _pyarrow()
    if isinstance(cells, pyarrow.Array | pyarrow.ChunkedArray):
        return _one_array(cells)
    if isinstance(cells, np.ma.MaskedArray):
        return list(cells.tolist())
    if not isinstance(cells, np.ndarray) and hasattr(cells, "to_numpy"):
        try:
            cells = cells.to_numpy()
        except Exception as error:  # of whatever library the column is
            reason = " ".join(str(error).split())[:200]
            raise ArgumentError(f"a column of the table could not be read ({reason}); {_ONE_VALUE}") from None
    if isinstance(cells, np.ndarray) and cells.ndim != 1:
        raise ArgumentError(f"a column of the table has shape {cells.shape}; it needs one value for each row")
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        raise ArgumentError(f"a column of the table is {short_repr(cells)}; it needs one value for each row")
    plain = isinstance(cells, np.ndarray) and cells.dtype.kind in "iufM"
    cells = cells if plain else cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    try:
        if plain or set(map(type, cells)) in ({int}, {float}):
            return pyarrow.array(cells)
        if set(map(type, cells)) - {type(None)} == {str}:
            return pyarrow.array(cells, pyarrow.string())
    except (
        pyarrow.ArrowException,
        OverflowError,
        UnicodeError,
    ):  # whole numbers of 80 bits, lone surrogates
        cells = cells.tolist() if isinstance(cells, np.ndarray) else cells
    return cells


def _one_array(column: Any) -> Any:
    """An Arrow column in one piece, its texts checked; texts of other layouts than the common ones are converted."""
    pyarrow = _pyarrow()
    try:
        column.validate(full=True)
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        if str(column.type) == "string_view":
            column = column.cast(pyarrow.large_string())
    except (pyarrow.ArrowException, UnicodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ArgumentError(f"a column of the table could not be read ({reason}); {_ONE_VALUE}") from None
    return column


def _checked(columns: Mapping[str, Values], path: str | None) -> Table:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{short_repr(name)} {count}" for name, count in lengths.items())
        raise ArgumentError(f"the columns of the table have different lengths: {listing}")
    return Table(columns, next(iter(lengths.values())), path)


def _no_column(name: str, there: Iterable[Any]) -> ArgumentError:
    return ArgumentError(
        f"there is no column {short_repr(name)}; there are {_listing(there)}. Name the columns with columns="
    )


def _listing(names: Iterable[Any], most: int = 20) -> str:
    every = [short_repr(name, 40) for name in names]
    return (", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")) or "none"


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ArgumentError(f"this needs pyarrow: {install_command(EXTRAS['pyarrow'])}") from None
    return pyarrow
