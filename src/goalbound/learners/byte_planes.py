"""Arrays in a file byte by byte: the first bytes of all numbers, then the second ones, and so on, each deflated where
that makes it smaller.

The exponents of numbers of similar size are alike, and so are the high bytes of indices; the last bytes of measured
numbers are as good as random, and are stored as they are, which costs no time. In place of ``gram`` [n, d, d] stand

    gram.layout: its shape, and how many bytes each of its planes has in the file    gram.planes: these bytes

What comes back is the same to the bit. How much memory it takes is known before it is made, and nothing is inflated to
more than the layout says.

>>> arrays = packed({"state.gram": np.arange(10_000.0), "state.visits": np.arange(4)})
>>> list(arrays), arrays["state.gram.planes"].nbytes < 10_000
(['state.gram.layout', 'state.gram.planes', 'state.visits'], True)
>>> again = unpacked(arrays, {"state.gram": "<f8", "state.visits": "<i8"})
>>> np.array_equal(again["state.gram"], np.arange(10_000.0))
True
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

LAYOUT, PLANES = ".layout", ".planes"
FROM_BYTES = 2**16
"""Smaller arrays stand in a file as they are."""
LEVEL = 1
"""Of zlib: higher ones take several times as long for a few percent."""
SAMPLE_BYTES, SAMPLES = 2**12, 4
"""So much of a plane is deflated first, to see whether the rest is worth the time."""
WORTH_IT = 0.95
"""A plane whose sample does not get smaller than this is stored as it is."""
_MOST_DIMENSIONS = 3
_MOST_SIDE = 2**40

Arrays = dict[str, NDArray[Any]]
ArrayMap = Mapping[str, NDArray[Any]]


def packed(arrays: ArrayMap) -> Arrays:
    """The arrays as a file has them: large ones by planes, if that is smaller."""
    found: Arrays = {}
    for name, array in arrays.items():
        if array.dtype == np.bool_ or array.nbytes < FROM_BYTES or not 1 <= array.ndim <= _MOST_DIMENSIONS:
            found[name] = array
            continue
        planes = _deflated(array)
        if sum(len(plane) for plane in planes) + 128 < array.nbytes:
            layout = [*array.shape, *(len(plane) for plane in planes)]
            found[f"{name}{LAYOUT}"] = np.array(layout, dtype=np.int64)
            found[f"{name}{PLANES}"] = np.frombuffer(b"".join(planes), dtype=np.uint8)
        else:
            found[name] = array
    return found


def packed_types(prefix: str) -> dict[str, str]:
    """What the parts are called, as patterns, and their types; ``prefix`` is that of the names of the arrays."""
    name = rf"{prefix}[a-z0-9_.]{{1,90}}\."
    return {f"{name}{LAYOUT.removeprefix('.')}": "<i8", f"{name}{PLANES.removeprefix('.')}": "|u1"}


def unpacked_bytes(arrays: ArrayMap, types: Mapping[str, str]) -> int:
    """How many bytes of memory :func:`unpacked` takes beyond those of the file."""
    claimed = 0
    for name in _names(arrays):
        shape, lengths = _layout(name, arrays, types)
        claimed += max(0, math.prod(shape) * len(lengths) - int(lengths.sum()))
    return claimed


def unpacked(arrays: ArrayMap, types: Mapping[str, str]) -> Arrays:
    """The arrays of a file, all whole; ``types`` has those that may be there. An error where planes are not those of
    their layout."""
    names = _names(arrays)
    found = {name: array for name, array in arrays.items() if not name.endswith((LAYOUT, PLANES))}
    for name in names:
        if name in arrays:
            raise FileFormatError(f"{name} is in planes, and it is whole too")
        shape, lengths = _layout(name, arrays, types)
        count = math.prod(shape)
        numbers = np.empty((count, len(lengths)), dtype=np.uint8)
        planes, at = arrays[f"{name}{PLANES}"], 0
        for byte, length in enumerate(lengths.tolist()):
            numbers[:, byte] = _inflated(name, planes[at : at + length], count)
            at += length
        found[name] = numbers.view(types[name]).reshape(shape)
        found[name].flags.writeable = False
    return found


def _names(arrays: ArrayMap) -> list[str]:
    """Of the arrays that are in planes; an error if a part stands alone."""
    layouts, planes = ([name.removesuffix(part) for name in arrays if name.endswith(part)] for part in (LAYOUT, PLANES))
    alone = sorted(set(layouts) ^ set(planes))
    if alone:
        raise FileFormatError(f"of {alone[0]} only one of {LAYOUT} and {PLANES} is there")
    return layouts


def _layout(name: str, arrays: ArrayMap, types: Mapping[str, str]) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """The shape of an array, and the lengths of its planes, checked."""
    if name not in types:
        raise FileFormatError(f"{name!r} is not part of a goalbound checkpoint; this npz is of another kind")
    layout, planes, width = arrays[f"{name}{LAYOUT}"], arrays[f"{name}{PLANES}"], np.dtype(types[name]).itemsize
    sides = len(layout) - width if layout.ndim == 1 else 0
    if planes.ndim != 1 or not 1 <= sides <= _MOST_DIMENSIONS or not ((layout >= 0) & (layout <= _MOST_SIDE)).all():
        raise FileFormatError(f"{name}{LAYOUT} is no shape and {width} numbers of bytes")
    shape, lengths = tuple(layout[:sides].tolist()), layout[sides:]
    if (lengths > math.prod(shape)).any() or lengths.sum() != len(planes):
        raise FileFormatError(f"{name}{LAYOUT} says other lengths than {name}{PLANES} has")
    return shape, lengths


def _deflated(array: NDArray[Any]) -> list[bytes]:
    """The planes of an array, each as it is or deflated, whichever is smaller."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    columns = little.view(np.uint8).reshape(-1, array.itemsize)
    return [_smaller(columns[:, byte].tobytes()) for byte in range(array.itemsize)]


def _smaller(plane: bytes) -> bytes:
    starts = [k * (len(plane) - SAMPLE_BYTES) // (SAMPLES - 1) for k in range(SAMPLES)]
    sample = b"".join(plane[max(0, start) : max(0, start) + SAMPLE_BYTES] for start in starts)
    if len(zlib.compress(sample, LEVEL)) > WORTH_IT * len(sample):
        return plane
    deflated = zlib.compress(plane, LEVEL)
    return deflated if len(deflated) < len(plane) else plane


def _inflated(name: str, data: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """A plane of ``count`` bytes; never more are made."""
    if len(data) == count:
        return data
    stream = zlib.decompressobj()
    plane = stream.decompress(data.tobytes(), count + 1)
    if len(plane) != count or not stream.eof or stream.unused_data:
        raise FileFormatError(f"a plane of {name}{PLANES} is not of the {count} bytes that its shape asks for")
    return np.frombuffer(plane, dtype=np.uint8)
