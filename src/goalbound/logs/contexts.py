"""The contexts of a log: from the columns of covariates by a map, or from columns that are the context itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates import Categories, CovariateMap, map_digest
from goalbound.adapters.covariates.columns import listed
from goalbound.errors import InputError
from goalbound.logs.columns import LogColumns
from goalbound.logs.tables import Table, Values
from goalbound.logs.values import cells_of, read_numbers
from goalbound.models.validation import ROW_TOLERANCE, short_repr

ONE_COLUMN = ("value",)


class Contexts(NamedTuple):
    """[K, d] contexts, NaN in rows that have none; of such a row the column that is to blame (several: their names with
    commas; "": none) and the reason; names of the components, or None."""

    rows: NDArray[np.float64]
    column: Callable[[int], str]
    reason: Callable[[int], str]
    names: tuple[str, ...] | None


def read_contexts(table: Table, columns: LogColumns, map: CovariateMap | None) -> Contexts:
    """The contexts of all rows, whether they are accepted or not."""
    if map is not None:
        return _mapped(table, columns.covariates, map)
    if columns.context:
        return _weights(table, columns.context)
    return Contexts(np.ones((table.rows, 1)), lambda row: "", lambda row: "", None)


def digest_of(map: CovariateMap | None) -> str | None:
    """The digest of a map; None where there is no map, or it is of a third party and has no identity."""
    try:
        return None if map is None else map_digest(map)
    except InputError:
        return None


def _weights(table: Table, names: tuple[str, ...]) -> Contexts:
    numbers = [read_numbers(table.columns[name]) for name in names]
    rows = np.stack([one.values for one in numbers], axis=1)
    wrong = ~((rows >= 0.0) & (rows <= 1.0 + ROW_TOLERANCE))
    with np.errstate(invalid="ignore"):
        sums = rows.sum(axis=1)
    bad = wrong.any(axis=1) | ~(np.abs(sums - 1.0) <= ROW_TOLERANCE)

    def column(row: int) -> str:
        return names[int(np.argmax(wrong[row]))] if wrong[row].any() else ", ".join(names)

    def reason(row: int) -> str:
        if wrong[row].any():
            at = int(np.argmax(wrong[row]))
            value = rows[row, at]
            return numbers[at].reason(row) if np.isnan(value) else f"{value:g} is not in [0, 1]"
        return f"the weights sum to {sums[row]:.12g}, not 1; give more digits, or divide each row by its sum first"

    exact = np.abs(sums - 1.0) <= (len(names) + 4) * 2.0**-52
    scale = np.where(bad | exact, 1.0, np.where(sums > 0.0, sums, 1.0))
    return Contexts(np.where(bad[:, None], np.nan, rows / scale[:, None]), column, reason, names)


def _mapped(table: Table, names: tuple[str, ...], map: CovariateMap) -> Contexts:
    words = _word_columns(map, names)
    columns = {name: _cells(table.columns[name], table.is_text and name not in words) for name in names}
    if table.is_text:
        for name in _flag_columns(map, names):
            columns[name] = [_flag(cell) for cell in listed(columns[name])]
    shape = _as_map_reads(map, names)
    try:
        rows = np.asarray(map.apply(shape(columns)).contexts)
    except InputError:  # a cell that the map cannot read at all: row by row, to know which
        rows = np.full((table.rows, map.context_size), np.nan)
        for row in range(table.rows):
            found = _one(map, shape, columns, row)
            if not isinstance(found, str):
                rows[row] = found

    def reason(row: int) -> str:
        found = _one(map, shape, columns, row)
        return found if isinstance(found, str) else "the map gives no context"

    return Contexts(rows, lambda row: _blamed(reason(row), names), reason, tuple(map.names))


_NUMBERED = re.compile(r"column ([0-9]{1,6})")  # as maps of numbered columns call them


def _blamed(reason: str, names: tuple[str, ...]) -> str:
    """The column that a map's reason begins with, by its name or its number; all where it names none.

    >>> _blamed("age: the value is missing", ("age", "income")), _blamed("column 1: 9 is outside", ("age", "income"))
    ('age', 'income')
    >>> _blamed("all weights are 0", ("road", "rail"))
    'road, rail'
    """
    for name in sorted(names, key=len, reverse=True):
        if reason.startswith((f"{name}: ", f"{short_repr(name)}: ")):
            return name
    numbered = _NUMBERED.match(reason)
    if numbered and int(numbered[1]) < len(names):
        return names[int(numbered[1])]
    return ", ".join(names)


def _one(map: CovariateMap, shape: Callable[[dict[str, Any]], Any], columns: dict[str, Any], row: int) -> Any:
    """The context of one row, or the reason why there is none."""
    cells = {name: [values[row]] for name, values in columns.items()}
    try:
        return map.apply(shape(cells)).single()
    except InputError as error:
        said = str(error).replace("row 0: ", "")
        return f"{said} (the row has {short_repr({name: _python(cell[0]) for name, cell in cells.items()})})"


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _as_map_reads(map: CovariateMap, names: tuple[str, ...]) -> Callable[[dict[str, Any]], Any]:
    """What a map is given: columns by name, the only column, or rows."""
    reads = getattr(map, "columns", None)
    if reads is not None and any(isinstance(one, str) for one in _flat(reads)):
        return lambda columns: columns
    if len(names) == 1 and map.column_names in (ONE_COLUMN, ()):
        return lambda columns: columns[names[0]]
    return lambda columns: list(zip(*(columns[name] for name in names), strict=True))


def _flat(columns: Any) -> list[Any]:
    return [one for column in columns for one in (column if isinstance(column, tuple) else (column,))]


def _word_columns(map: Any, names: tuple[str, ...]) -> set[str]:
    """The columns that are read as words; all others of a CSV file are read as numbers where they are some."""
    return _category_columns(map, names, lambda values: all(isinstance(value, str) for value in values))


def _flag_columns(map: Any, names: tuple[str, ...]) -> set[str]:
    """The columns whose categories have True or False among them."""
    return _category_columns(map, names, lambda values: any(isinstance(value, bool) for value in values))


def _flag(cell: Any) -> Any:
    """Text of true and false, in letters of any case, as these; all else as it is.

    >>> _flag("TRUE"), _flag(" false "), _flag("yes"), _flag(None)
    (True, False, 'yes', None)
    """
    return _FLAGS.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell


_FLAGS = {"true": True, "false": False}


def _category_columns(map: Any, names: tuple[str, ...], wanted: Callable[[tuple[Any, ...]], bool]) -> set[str]:
    """The columns that are read by Categories whose values are the wanted ones, alone or inside another map."""
    if isinstance(map, Categories):
        return set(names) if wanted(map.values) else set()
    reads = getattr(map, "columns", None)
    if reads is None:
        return set()
    found: set[str] = set()
    for inner, column in zip(map.maps, reads, strict=True):
        own = tuple(one if isinstance(one, str) else names[one] for one in _flat((column,)) if _known(one, names))
        found |= _category_columns(inner, own, wanted)
    return found


def _known(column: Any, names: tuple[str, ...]) -> bool:
    return column in names if isinstance(column, str) else column < len(names)


def _cells(column: Values, numbers: bool) -> list[Any] | NDArray[Any]:
    """The cells of a column as a map reads them: an empty one is missing, and text of a number is the number."""
    if not isinstance(column, list) and str(column.type) in _NUMERIC:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    cells = [None if isinstance(cell, str) and not cell.strip() else cell for cell in cells_of(column)]
    if not numbers:
        return cells
    read = read_numbers(column).values
    if np.isfinite(read).all():
        return read
    return [number if number == number else cell for number, cell in zip(read.tolist(), cells, strict=True)]


_NUMERIC = {"float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
