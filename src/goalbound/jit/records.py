"""What structs hold: counters by name, which are NumPy structured records that the same source reads and writes as
Python and compiled, and large arrays of zeros."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.struct import Struct

INTEGER, REAL = np.int64, np.float64
FROM_BYTES = 2**20
"""Smaller arrays of :func:`lazy_zeros` are plain: they are no larger than a few pages."""


def record_type(*, integers: tuple[str, ...] = (), reals: tuple[str, ...] = ()) -> np.dtype[np.void]:
    """The type of a record with these fields."""
    return np.dtype([(name, REAL) for name in reals] + [(name, INTEGER) for name in integers], align=True)


def new_record(kind: np.dtype[np.void]) -> np.void:
    """A record of zeros; ``record["field"] = 1`` writes to it, and to every copy. What NumPy unpickles takes no writes:
    :mod:`goalbound.learners.copying` makes it a record again.

    >>> record = new_record(record_type(integers=("visits",), reals=("loss",)))
    >>> record["visits"] += 2
    >>> record["visits"], record["loss"]
    (np.int64(2), np.float64(0.0))
    """
    record: np.void = np.zeros(1, kind)[0]
    return record


def assign(record: np.void, other: np.void) -> None:
    """All fields become those of another record of the same type."""
    np.asarray(record)[...] = other


def field_arrays(record: np.void | NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """Each field as a writable view [1] of the record, or [K] of an array of K records."""
    names = record.dtype.names or ()
    return {name: np.asarray(record).reshape(-1)[name] for name in names}


def named_arrays(prefix: str, group: Struct) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of nested structs, and the fields of their records, each under its path; all are writable views.

    This is what files and copies of a struct are made of. Fields that are in no file (``Struct._unsaved``) are left
    out; an array that stands in several places has its first path.
    """
    yield from _named_arrays(prefix, group, set())


def _named_arrays(prefix: str, group: Struct, known: set[int]) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in group._asdict().items():
        path = f"{prefix}.{name}"
        if name in group._unsaved or id(value) in known:
            continue
        if isinstance(value, Struct):
            yield from _named_arrays(path, value, known)
        elif isinstance(value, np.void):
            for field, array in field_arrays(value).items():
                yield f"{path}.{field}", array
        elif isinstance(value, np.ndarray):
            known.add(id(value))
            yield path, value


def mapped(value: Any, change: Callable[[Any], Any], known: dict[int, Any] | None = None) -> Any:
    """``change(part)``, for a struct a struct of the same type with ``change`` of each array, record and number in it.

    What stands in several places is changed once, so it is one object in the result too; ``known`` carries this over
    to other calls, for objects that all outlive these.
    """
    done = {} if known is None else known
    if isinstance(value, Struct):
        return value._make(mapped(part, change, done) for part in value)
    if id(value) not in done:
        done[id(value)] = change(value)
    return done[id(value)]


def lazy_zeros(shape: tuple[int, ...], dtype: type[Any] = np.float64) -> NDArray[Any]:
    """Zeros that may be written to, C-contiguous; memory is taken page by page, where something was written.

    NumPy asks for huge pages of 2 MiB for large arrays, so that one number would claim as much; these arrays ask for
    pages of 4 KiB. Where the system cannot be asked, they are plain.

    >>> array = lazy_zeros((1_000_000, 10))
    >>> array[123_456, 7] = 1.0
    >>> array.shape, array.sum()
    ((1000000, 10), np.float64(1.0))
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < FROM_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype=dtype)
    # Private: a fork has its own. Not reserved: there may be more room than memory, as most of it stays empty.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, size, flags=flags)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)
