"""Raw covariates as people have them: tables of rows, of records or of whole columns, with values missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.models.validation import check_list, short_repr

Floats = NDArray[np.float64]
Column = str | int | tuple[str | int, ...]
"""Which column a map reads: its name, its place in a row, or several of them."""


def checked_columns(columns: Iterable[Any], count: int) -> tuple[Column, ...]:
    """One column, or one tuple of columns, for each of ``count`` maps; either all names or all places."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ArgumentError(
            f"columns is {short_repr(columns)}; it needs a list with one column, or tuple of columns, for each map"
        )
    given = check_list(columns, "columns", "a list with one column, or tuple of columns, for each map")
    found = tuple(tuple(one) if isinstance(one, list | tuple) else one for one in given)
    if len(found) != count:
        raise ArgumentError(f"there are {len(found)} columns for {count} maps; give one, or a tuple, for each map")
    flat = [one for column in found for one in (column if isinstance(column, tuple) else (column,))]
    by_name = all(isinstance(one, str) for one in flat)
    by_place = all(isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 0 for one in flat)
    if not (flat and (by_name or by_place)) or any(isinstance(one, tuple) and not one for one in found):
        raise ArgumentError(f"columns is {short_repr(found)}; it needs names only, or places in a row (0, 1, ...) only")
    if by_name:
        return found
    return tuple(tuple(map(int, one)) if isinstance(one, tuple) else int(one) for one in found)


def column_of(table: Any, column: Column) -> Any:
    """The K values of a column, or K tuples of values.

    A table is a list of rows or of records (``{"age": 61, ...}``), an array [K, n], or whole columns by name: a dict
    of arrays, a structured array, a data frame.

    >>> column_of([{"age": 61}, {"age": 35}], "age"), column_of([[61, "B"], [35, "A"]], (1, 0))
    ([61, 35], [('B', 61), ('A', 35)])
    """
    if isinstance(column, tuple):
        return list(zip(*(listed(column_of(table, one)) for one in column), strict=True))
    if column_keys(table) is not None:
        return _lookup(table, column, "the table")
    if isinstance(column, int) and isinstance(table, np.ndarray) and table.ndim == 2 and column < table.shape[1]:
        return table[:, column]
    check_rows(table)
    return [_lookup(row, column, f"row {place}") for place, row in enumerate(table)]


def check_rows(table: Any) -> None:
    """An error unless this has rows, one after the other."""
    if not np.iterable(table):
        raise ArgumentError(f"the table is {short_repr(table)}; give a list of rows or records, or whole columns")


def column_keys(table: Any) -> list[Any] | None:
    """The names of the columns of a table that holds whole columns; None for one that holds rows."""
    if isinstance(table, np.ndarray):
        return None if table.dtype.names is None else list(table.dtype.names)
    if callable(getattr(table, "keys", None)):
        return list(table.keys())
    keys = getattr(table, "column_names", None) or getattr(table, "columns", None)  # of Arrow, of data frames
    return None if keys is None else list(keys)


def column_label(column: str | int) -> str:
    """What a column is called in reports and errors."""
    return column if isinstance(column, str) else f"column {column}"


def column_labels(column: Column, inner: Sequence[str]) -> tuple[str, ...]:
    """The names of the raw columns of a map that calls them ``inner``."""
    own = column if isinstance(column, tuple) else (column,)
    if len(own) == len(inner):
        return tuple(column_label(one) for one in own)
    joint = " and ".join(column_label(one) for one in own)
    return tuple(f"{joint}: {one}" for one in inner)


def _lookup(holder: Any, column: str | int, where: str) -> Any:
    try:
        return holder[column]
    except (KeyError, IndexError, TypeError, ValueError):
        keys = column_keys(holder)
        has = f": {short_repr(holder)}" if keys is None else f"; there are {', '.join(map(str, keys))}"
        kind = "name" if isinstance(column, str) else "place"
        raise ArgumentError(f"{where} has no {column_label(column)} (by {kind}){has}") from None


def listed(values: Any) -> list[Any]:
    """The values as Python has them; of a table with one column, that column."""
    keys = None if hasattr(values, "tolist") else column_keys(values)
    if keys:
        if len(keys) > 1:
            raise ArgumentError(
                f"the table has the columns {short_repr(keys)}; this map reads one, which has no name: give that "
                f"column, or name it: Tensor([map], [{short_repr(keys[0])}])"
            )
        values = values[keys[0]]
    plain = values.tolist() if hasattr(values, "tolist") else values
    found = check_list(plain, "the column of values", "one value for each row")
    for row, value in enumerate(found):
        if isinstance(value, Mapping):
            raise ArgumentError(_record_instead(value, row))
    return found


def number_column(values: Any) -> Floats:
    """[K] float64, NaN where a value is missing; an error names the row and the value."""
    array = _as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ArgumentError(f"the values have shape {array.shape}; give one number for each row")
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.dtype.kind in "mMc":
        raise ArgumentError(f"the values are {array.dtype}; give one number for each row, such as days since some day")
    return np.array([_number(value, row) for row, value in enumerate(array.tolist())], dtype=np.float64)


def number_rows(table: Any, width: int) -> Floats:
    """[K, n] float64, NaN where a value is missing; rows of n values each, read by place."""
    array = _as_array(table)
    if array.ndim == 0:
        raise ArgumentError(f"the table is {short_repr(table)}; give rows of {width} values each")
    if array.ndim == 2 and array.dtype.kind in "fiub" and array.shape[1] == width:
        return array.astype(np.float64)
    given = table if column_keys(table) is None or array.ndim != 2 else array
    rows = [_row_values(row, place, width) for place, row in enumerate(given)]
    for place, row in enumerate(rows):
        if len(row) != width:
            raise ArgumentError(f"row {place} has {len(row)} values; the map takes {width} columns")
    columns = [number_column([row[column] for row in rows]) for column in range(width)]
    return np.stack(columns, axis=1) if rows else np.empty((0, width))


def _row_values(row: Any, place: int, width: int) -> list[Any]:
    """The values of a row in the order of the columns."""
    if not isinstance(row, Mapping):
        return list(row) if np.iterable(row) and not isinstance(row, str) else [row]
    if all(isinstance(key, int) for key in row) and sorted(row) == list(range(width)):
        return [row[column] for column in range(width)]
    raise ArgumentError(
        f"row {place} is a record, {short_repr(row)}; the columns of this map have no names: give {width} values "
        f"in their order, or name them: Tensor([map], [{short_repr(tuple(row))}])"
    )


def _as_array(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    except Exception as error:  # an object may do anything when it is asked for its array
        raise ArgumentError(f"the values are no table ({error!s:.200}); give one number for each row") from None


def _record_instead(record: Mapping[Any, Any], row: int) -> str:
    """The error of a record where a map reads one column, of whatever name."""
    one = len(record) == 1
    itself = f", {short_repr(next(iter(record.values())))}" if one else ""
    named = f"; or name the column: Tensor([map], [{short_repr(next(iter(record)))}])" if one else ""
    return (
        f"row {row} is a record, {short_repr(record)}; this map reads one column, which has no name: give the value "
        f"itself{itself}{named}"
    )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA (known by its name, so that pandas need not be there)."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _number(value: Any, row: int) -> float:
    if is_missing(value):
        return np.nan
    if isinstance(value, Mapping):
        raise ArgumentError(_record_instead(value, row))
    if not isinstance(value, str | bytes | complex | np.complexfloating):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ArgumentError(
        f"row {row}: {short_repr(value)} is not a number; a missing one is None or NaN, and words are for Categories"
    )
