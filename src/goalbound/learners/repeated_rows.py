"""Rows of an array that follow from rows shortly before them, in a file.

Sums of the numbers of a pair are often alike: the next states of a pair that was played a few times have the same
bounds of their variances, and the first context of a cell stands in the sums of all numbers, in those of the loss times
the loss. In place of ``sums`` [n, w] stand

    sums.repeats [n]     0, or how many rows before it there is the same row; or SCALED and how many rows before it
                         there is the row of which it is a multiple
    sums.distinct [u, w] the rows with a 0
    sums.factors [f]     the factors of the multiples

The last entry of a row of which others are multiples is 1, so that the last entry of the other is the factor. Every row
is compared to the bit with what it would be read as; nothing here knows what the rows mean.

>>> sums = np.repeat([[0.5, 0.5, 1.0], [0.25, 0.75, 2.0]], 3, axis=0)
>>> sums[1] = 0.1 * sums[0]
>>> arrays = without_repeats({"state.sums": sums}, from_bytes=0)
>>> {name: array.tolist() for name, array in arrays.items() if "distinct" not in name}
{'state.sums.repeats': [0, 129, 2, 0, 1, 1], 'state.sums.factors': [0.1]}
>>> np.array_equal(with_repeats(arrays)["state.sums"], sums)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

REPEATS, DISTINCT, FACTORS = ".repeats", ".distinct", ".factors"
FROM_BYTES = 2**16
"""Smaller arrays stand in a file as they are."""
REACH = 8
"""How far before a row the same one is looked for."""
SCALED = 128
"""Added to the distance of a row of which this one is a multiple."""
LEAST_SHARE = 1 / 16
"""Arrays with fewer rows that follow from others stand in a file as they are."""

Arrays = dict[str, NDArray[Any]]
ArrayMap = Mapping[str, NDArray[Any]]


def without_repeats(arrays: ArrayMap, *, from_bytes: int | None = None) -> Arrays:
    """The arrays as a file has them: large ones of real numbers, by rows, without those that follow from others."""
    least = FROM_BYTES if from_bytes is None else from_bytes
    found: Arrays = {}
    for name, array in arrays.items():
        found[name] = array
        if array.dtype != np.float64 or array.ndim != 2 or array.nbytes < max(1, least):
            continue
        array = np.ascontiguousarray(array)
        repeats = _repeats(array)
        if np.count_nonzero(repeats) < LEAST_SHARE * len(array):
            continue
        del found[name]
        found |= {
            f"{name}{REPEATS}": repeats,
            f"{name}{DISTINCT}": array[repeats == 0],
            f"{name}{FACTORS}": array[repeats > SCALED, -1],
        }
    return found


def part_types(names: Mapping[str, str]) -> dict[str, str]:
    """The types of the parts of arrays of real numbers."""
    wide = [name for name, dtype in names.items() if dtype == "<f8"]
    parts = {f"{name}{part}": "<f8" for name in wide for part in (DISTINCT, FACTORS)}
    return parts | {f"{name}{REPEATS}": "|u1" for name in wide}


def repeated_bytes(arrays: ArrayMap) -> int:
    """How many bytes of memory those rows take that are not in the file."""
    total = 0
    for name in _names(arrays):
        repeats, distinct, _ = _parts(name, arrays)
        total += (len(repeats) - len(distinct)) * distinct.shape[1] * distinct.itemsize
    return total


def with_repeats(arrays: ArrayMap) -> Arrays:
    """The arrays of a file, with all their rows; an error where parts do not fit together."""
    names = _names(arrays)
    found = {name: array for name, array in arrays.items() if not name.endswith((REPEATS, DISTINCT, FACTORS))}
    for name in names:
        if name in arrays:
            raise FileFormatError(f"{name} has parts for its repeated rows, and it is whole too")
        found[name] = _with_all_rows(name, *_parts(name, arrays))
    return found


def _repeats(array: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[n] the distance to a row that is the same, or SCALED and that to one of which it is a multiple; else 0."""
    bits = array.view(np.int64)
    repeats = np.zeros(len(array), dtype=np.uint8)
    key = bits[:, 0].copy()
    for distance in range(1, min(REACH, len(array) - 1) + 1):
        alike = np.flatnonzero((key[distance:] == key[:-distance]) & (repeats[distance:] == 0)) + distance
        same = alike[(bits[alike] == bits[alike - distance]).all(axis=1)]
        repeats[same] = distance
    # A row of which others are multiples is no multiple itself, since the factor would be 1.
    entry, last = array[:, 0].copy(), array[:, -1].copy()
    for distance in range(1, min(REACH, len(array) - 1) + 1):
        may = (last[:-distance] == 1.0) & (last[distance:] != 1.0) & (repeats[distance:] == 0)
        at = np.flatnonzero(may & (entry[:-distance] * last[distance:] == entry[distance:])) + distance
        multiple = last[at, None] * array[at - distance]
        repeats[at[(multiple.view(np.int64) == bits[at]).all(axis=1)]] = SCALED + distance
    return repeats


def _names(arrays: ArrayMap) -> list[str]:
    """Of the arrays without their repeated rows; an error if a part is missing."""
    found = sorted({name.rpartition(".")[0] for name in arrays if name.endswith((REPEATS, DISTINCT, FACTORS))})
    for name in found:
        for part in (REPEATS, DISTINCT, FACTORS):
            if f"{name}{part}" not in arrays:
                raise FileFormatError(f"{name} is without its repeated rows, and {name}{part} is missing")
    return found


def _parts(name: str, arrays: ArrayMap) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Repeats, distinct rows and factors, which fit together."""
    repeats, distinct, factors = (arrays[f"{name}{part}"] for part in (REPEATS, DISTINCT, FACTORS))
    if repeats.ndim != 1 or distinct.ndim != 2 or factors.ndim != 1 or not distinct.shape[1]:
        raise FileFormatError(f"the parts of {name} have {repeats.ndim}, {distinct.ndim} and {factors.ndim} dimensions")
    if len(distinct) != np.count_nonzero(repeats == 0) or len(factors) != np.count_nonzero(repeats >= SCALED):
        raise FileFormatError(f"{name}{REPEATS} asks for other numbers of distinct rows and factors than there are")
    return repeats, distinct, factors


def _with_all_rows(
    name: str, repeats: NDArray[np.uint8], distinct: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[n, w]"""
    numbers = np.arange(len(repeats))
    scaled = repeats >= SCALED
    before = numbers - (repeats - SCALED * scaled.astype(np.uint8))
    if (before < 0).any() or (before[scaled] == numbers[scaled]).any():
        raise FileFormatError(f"{name}{REPEATS} names rows before the first one")
    source = np.where(scaled, numbers, before)  # the row that a row is the same as
    while (source[source] != source).any():
        source = source[source]
    base = source[before[scaled]]
    if (repeats[base] != 0).any():
        raise FileFormatError(f"{name}{REPEATS} has a multiple of a multiple")
    array = np.empty((len(repeats), distinct.shape[1]))
    array[repeats == 0] = distinct
    with np.errstate(all="ignore"):  # numbers that are not finite are an error later
        array[scaled] = factors[:, None] * array[base]
    same = np.flatnonzero(source != numbers)
    array[same] = array[source[same]]
    array.flags.writeable = False
    return array
