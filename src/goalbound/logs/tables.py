"""Tables of any library, and files, as columns of values. Nothing read is executed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.extras import EXTRAS, install_command
from goalbound.models.files.io import LIMIT, as_format_errors, file_name, read_bytes
from goalbound.models.validation import short_repr

Values = list[Any] | NDArray[Any]
"""One value for each row."""

DELIMITERS = (",", ";", "\t")
_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_SPLIT = "split the file"
_KINDS = (
    "give a pandas, polars or Arrow table, a dict of columns, a list of records, or the path of a CSV or Parquet file"
)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that were asked for.

    Attributes:
        columns: by name; all of the same length.
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
    data = read_bytes(path, LIMIT, remedy=_SPLIT)
    if data.startswith(_PARQUET):
        return _checked(_parquet_columns(data, names), path)
    if data.startswith(_ZIP):
        raise FileFormatError("this is a zip file, perhaps a workbook of a spreadsheet; save the sheet as CSV (UTF-8)")
    return _read_csv(_decoded(data), names, path)


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


def _read_csv(text: str, names: Sequence[str], path: str) -> Table:
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
    except csv.Error as error:
        raise FileFormatError(f"line {begin}: {_csv_reason(error)}") from None
    columns = {name: cells[place :: len(names)] for place, name in enumerate(names)}
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
            header = next((row for row in reader if row), [])
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


def _parquet_columns(data: bytes, names: Sequence[str]) -> dict[str, Values]:
    pyarrow = _pyarrow()
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data), page_checksum_verification=True)
        there = file.schema_arrow.names
        for name in names:
            if name not in there:
                raise _no_column(name, there)
            _place(there, name)
        size = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
        if size > LIMIT:
            raise FileFormatError(f"{size} bytes when unpacked, and the limit is {LIMIT}; {_SPLIT}")
        table = file.read(columns=list(names), use_threads=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise FileFormatError(f"damaged Parquet file ({' '.join(str(error).split())[:200]}); save it again") from None
    return {name: _plain(table[name]) for name in names}


def _columns_of(source: Any, names: Sequence[str]) -> dict[str, Values]:
    if isinstance(source, type) or source is None:
        raise ArgumentError(f"the table is {short_repr(source)}; {_KINDS}")
    if isinstance(source, list | tuple):
        return _from_records(source, names)
    there = _column_names(source)
    if there is None:
        arrow = _as_arrow(source)
        if arrow is None:
            raise ArgumentError(f"the table is of the type {type(source).__name__}; {_KINDS}")
        source, there = arrow, arrow.column_names
    for name in names:
        if name not in there:
            raise _no_column(name, there)
    return {name: _plain(source[name]) for name in names}


def _column_names(source: Any) -> list[str] | None:
    """Of tables whose columns are got by name: mappings, structured arrays, pandas, polars, pyarrow."""
    if isinstance(source, Mapping):
        return [name for name in source if isinstance(name, str)]
    if isinstance(source, np.ndarray):
        return None if source.dtype.names is None else list(source.dtype.names)
    if not hasattr(source, "__getitem__"):
        return None
    for found in (getattr(source, "column_names", None), getattr(source, "columns", None)):
        if found is not None and not callable(found):
            names = [name for name in found if isinstance(name, str)]
            if names:
                return names
    return None


def _as_arrow(source: Any) -> Any:
    """A pyarrow table of what has the protocols of Arrow or of data frames; None for other things."""
    if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__dataframe__"):
        return None
    pyarrow = _pyarrow()
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pyarrow.table(source)
        from pyarrow.interchange import from_dataframe

        return from_dataframe(source)
    except (pyarrow.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise ArgumentError(f"the table could not be read ({' '.join(str(error).split())[:200]}); {_KINDS}") from None


def _from_records(source: Sequence[Any], names: Sequence[str]) -> dict[str, Values]:
    for row, record in enumerate(source):
        if not isinstance(record, Mapping):
            raise ArgumentError(f"row {row} of the table is {short_repr(record)}; {_KINDS}")
        for name in names:
            if name not in record:
                raise ArgumentError(f"row {row} has no column {short_repr(name)}; there are {_listing(record)}")
    return {name: [record[name] for record in source] for name in names}


def _plain(column: Any) -> Values:
    """The values as NumPy numbers or dates, or as Python has them."""
    if isinstance(column, np.ma.MaskedArray):
        return list(column.tolist())
    if not isinstance(column, np.ndarray) and hasattr(column, "to_numpy"):
        try:
            column = column.to_numpy(zero_copy_only=False)  # Arrow arrays
        except TypeError:
            column = column.to_numpy()
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise ArgumentError(f"a column of the table has shape {column.shape}; it needs one value for each row")
        return column if column.dtype.kind in "iufM" else list(column.tolist())
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise ArgumentError(f"a column of the table is {short_repr(column)}; it needs one value for each row")
    return list(column)


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
