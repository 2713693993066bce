"""Large arrays of a learner in a file: without the rows that nothing was learned of, symmetric matrices by halves.

Most rows of an array of a large learner are alike: zeros, or lambda I, of pairs that were never played. A file has that
*usual* row once, and the others with their numbers. In place of ``gram`` [n, d, d] stand

    gram.usual [1, ...]    gram.rows [k + 1]: the k rows that are unlike it, increasing, then n    gram.entries [k, ...]

where matrices that are symmetric to the bit are the lower triangles, row by row. Arrays [n, q, k] of other blocks are
taken as [n q, k], so that the parts of a block count one by one. What comes back is the same to the bit. Rows of a
learner that are usual already are not written to, so that they take no memory (:mod:`goalbound.kernels.lazy_arrays`).

>>> given = {"state.gram": np.zeros((4, 2, 2)), "state.visits": np.arange(4)}
>>> given["state.gram"][2] = [[1.0, 0.5], [0.5, 3.0]]
>>> arrays = compacted(given, from_bytes=0)
>>> {name: array.tolist() for name, array in arrays.items() if "gram" in name}
{'state.gram.usual': [[0.0, 0.0, 0.0]], 'state.gram.rows': [2, 4], 'state.gram.entries': [[1.0, 0.5, 3.0]]}
>>> again = np.ones((4, 2, 2))
>>> spread("state.gram", arrays, again)
>>> np.array_equal(again, given["state.gram"])
True
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

USUAL, ROWS, ENTRIES = ".usual", ".rows", ".entries"
FROM_BYTES = 2**16
"""Smaller arrays stand in a file as they are."""
SAMPLE = 64
"""So many rows are asked which one is usual."""
CHUNK_BYTES = 2**22

Arrays = dict[str, NDArray[Any]]
ArrayMap = Mapping[str, NDArray[Any]]


class Parts(NamedTuple):
    """An array of n rows in parts."""

    usual: NDArray[Any]
    """[1, ...]"""
    rows: NDArray[np.int64]
    """[k]"""
    entries: NDArray[Any]
    """[k, ...]"""
    length: int
    """n"""


def compacted(arrays: ArrayMap, *, from_bytes: int | None = None) -> Arrays:
    """The arrays as a file has them: those of eight bytes a number and two or three dimensions are put in parts if they
    are large and that is smaller, the others are as they were."""
    least = FROM_BYTES if from_bytes is None else from_bytes
    found: Arrays = {}
    for name, array in arrays.items():
        if array.dtype not in (np.float64, np.int64) or array.ndim < 2 or array.size == 0 or array.nbytes < least:
            found[name] = array
            continue
        rows_of = _as_rows(array)
        usual = _usual_row(rows_of)
        rows = np.concatenate([start + places for start, places in _unlike(rows_of, usual)])
        entries = rows_of[rows]
        if _is_symmetric(usual) and _is_symmetric(entries):
            usual, entries = _lower_triangles(usual), _lower_triangles(entries)
        if entries.nbytes + rows.nbytes >= array.nbytes:
            found[name] = array
            continue
        found |= {f"{name}{USUAL}": usual, f"{name}{ROWS}": np.append(rows, len(rows_of)), f"{name}{ENTRIES}": entries}
    return found


def part_types(arrays: Mapping[str, str]) -> dict[str, str]:
    """The types of the parts of arrays that have these types."""
    wide = {name: dtype for name, dtype in arrays.items() if dtype in ("<f8", "<i8")}
    parts = {f"{name}{part}": dtype for name, dtype in wide.items() for part in (USUAL, ENTRIES)}
    return parts | {f"{name}{ROWS}": "<i8" for name in wide}


def part_names(name: str) -> tuple[str, str, str]:
    """What stands in the place of an array."""
    return f"{name}{USUAL}", f"{name}{ROWS}", f"{name}{ENTRIES}"


def parts_of(name: str, arrays: ArrayMap) -> Parts | None:
    """The parts of an array, or None where it has none; an error unless all are there and fit together."""
    if not any(part in arrays for part in part_names(name)):
        return None
    missing = [part for part in part_names(name) if part not in arrays]
    if missing or name in arrays:
        raise FileFormatError(f"{name} is in parts, and {f'{missing[0]} is missing' if missing else 'it is whole too'}")
    usual, numbers, entries = (arrays[part] for part in part_names(name))
    if usual.ndim < 2 or len(usual) != 1 or numbers.ndim != 1 or entries.shape != (len(numbers) - 1, *usual.shape[1:]):
        raise FileFormatError(
            f"the parts of {name} have the shapes {usual.shape}, {numbers.shape} and {entries.shape}; they are "
            "[1, ...], [k + 1] and [k, ...]"
        )
    if numbers[0] < 0 or (np.diff(numbers) <= 0).any():
        raise FileFormatError(f"{name}{ROWS} holds numbers that are not increasing from 0 on")
    return Parts(usual, numbers[:-1], entries, int(numbers[-1]))


def filled_bytes(arrays: ArrayMap) -> int:
    """How many bytes of memory those rows take that are not in the file. Zeros take none."""
    total = 0
    for name in arrays:
        if name.endswith(USUAL) and (parts := parts_of(name.removesuffix(USUAL), arrays)) and parts.usual.any():
            total += (parts.length - len(parts.rows)) * _entries_in_memory(parts.usual) * parts.usual.itemsize
    return total


def has_matrices(name: str, shape: tuple[int, int, int], arrays: ArrayMap) -> bool:
    """Whether an array [n, d, d] of this name and shape is there, whole or in parts."""
    parts = parts_of(name, arrays)
    if parts is None:
        return name in arrays and arrays[name].shape == shape
    count, side, _ = shape
    return parts.length == count and parts.usual.shape in ((1, side, side), (1, _triangle(side)))


def spread(name: str, arrays: ArrayMap, target: NDArray[Any]) -> None:
    """Give ``target`` the numbers of an array that is in parts; an error if they are not for its shape."""
    parts = parts_of(name, arrays)
    if parts is None:
        raise FileFormatError(f"{name} is missing")
    usual, rows, entries, length = parts
    target = _as_rows(target)
    if target.ndim == 3 and usual.ndim == 2 and usual.shape[1] == _triangle(target.shape[1]):
        usual, entries = _matrices(usual, target.shape[1]), _matrices(entries, target.shape[1])
    if (length, *usual.shape[1:]) != target.shape:
        raise FileFormatError(f"{name} has shape {(length, *usual.shape[1:])}; the support asks for {target.shape}")
    for start, places in _unlike(target, usual):
        target[start + places] = usual
    target[rows] = entries


def _as_rows(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, by rows or by square matrices; a view."""
    squares = array.ndim == 3 and array.shape[1] == array.shape[2]
    return array if squares else array.reshape(-1, array.shape[-1])


def _unlike(array: NDArray[Any], usual: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Chunk by chunk: where it begins, and which of its rows are not the usual one to the bit."""
    bits = np.ascontiguousarray(usual).view(np.int64).reshape(1, -1)
    step = max(1, CHUNK_BYTES // bits.nbytes)
    for start in range(0, len(array), step):
        chunk = array[start : start + step].view(np.int64).reshape(-1, bits.shape[1])
        yield start, np.flatnonzero((chunk != bits).any(axis=1))


def _usual_row(array: NDArray[Any]) -> NDArray[Any]:
    """[1, ...] the row that most of a sample have; of several the one that comes first."""
    places = np.unique(np.linspace(0, len(array) - 1, SAMPLE).astype(np.int64))
    most, _ = Counter(array[place].tobytes() for place in places).most_common(1)[0]
    return np.frombuffer(most, array.dtype).reshape(1, *array.shape[1:])


def _is_symmetric(array: NDArray[Any]) -> bool:
    """Whether every matrix is the same to the bit as its transpose."""
    if array.ndim != 3 or array.shape[1] != array.shape[2]:
        return False
    bits = array.view(np.int64)
    step = max(1, CHUNK_BYTES // (8 * array.shape[1] ** 2))
    chunks = (bits[start : start + step] for start in range(0, len(bits), step))
    return all(np.array_equal(chunk, chunk.transpose(0, 2, 1)) for chunk in chunks)


def _triangle(side: int) -> int:
    return side * (side + 1) // 2


def _entries_in_memory(usual: NDArray[Any]) -> int:
    """How many entries a row may have in memory: a triangle those of its matrix."""
    if usual.ndim > 2:
        return int(usual.size)
    side = (math.isqrt(8 * usual.shape[1] + 1) - 1) // 2
    return side * side if _triangle(side) == usual.shape[1] else usual.shape[1]


def _lower_triangles(array: NDArray[Any]) -> NDArray[Any]:
    """[n, d (d + 1) / 2] of symmetric matrices [n, d, d]."""
    rows, columns = np.tril_indices(array.shape[1])
    return np.ascontiguousarray(array[:, rows, columns])


def _matrices(lower: NDArray[Any], side: int) -> NDArray[Any]:
    """[n, d, d] from lower triangles."""
    rows, columns = np.tril_indices(side)
    found = np.empty((len(lower), side, side), dtype=lower.dtype)
    found[:, rows, columns] = lower
    found[:, columns, rows] = lower
    return found
