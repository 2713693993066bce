"""The binary members of a UMB file as arrays; each size is checked against the index before anything is made."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

_EXACT = 2**53  # whole numbers up to here are doubles
_LARGEST_RATIONAL = 2**16


def starts(members: Mapping[str, memoryview], name: str, sources: int, targets: int) -> NDArray[np.int64]:
    """A CSR mapping, [sources + 1]; where the member is absent, everything maps to itself."""
    if name not in members:
        if sources != targets:
            raise FileFormatError(f"{name} is missing, and {sources} entries cannot map one to one to {targets}")
        return np.arange(sources + 1)
    array = _plain(members[name], name, "<u8", sources + 1)
    if array[0] != 0 or array[-1] != targets or (array[1:] < array[:-1]).any():
        raise FileFormatError(f"{name} does not rise from 0 to {targets}")
    return array.astype(np.int64)


def bits(members: Mapping[str, memoryview], name: str, count: int) -> NDArray[np.bool_]:
    """A bit vector, [count], least bit first, padded to 64 bits; all false where the member is absent."""
    if name not in members:
        return np.zeros(count, dtype=bool)
    data = members[name]
    if len(data) != -(-count // 64) * 8:
        raise FileFormatError(f"{name} has {len(data)} bytes; {count} bits take {-(-count // 64) * 8}")
    found = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    if found[count:].any():
        raise FileFormatError(f"{name} has bits set beyond the {count} there are")
    return found[:count].view(bool)


def bits_data(flags: NDArray[np.bool_]) -> bytes:
    """A bit vector as bytes, padded to 64 bits."""
    return np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little").tobytes()


def values(
    members: Mapping[str, memoryview], name: str, kind: dict[str, Any], count: int, *, default: int | None = None
) -> NDArray[Any]:
    """[count] numbers of the type the index gives: double, rational (rounded once to double), int or uint."""
    what = kind.get("type")
    size = kind.get("size", 128 if what == "rational" else 64)
    if what not in ("double", "rational", "int", "uint") or type(size) is not int:
        raise FileFormatError(f"{name} is encoded as {what!r} of {size!r} bits; double, rational, int, uint are read")
    if name not in members:
        if default is None:
            raise FileFormatError(f"{name} is missing")
        return np.full(count, default, dtype=np.int64)
    if what == "rational":
        return _rationals(members[name], name, size, count)
    if size not in ((64,) if what == "double" else (8, 16, 32, 64)):
        raise FileFormatError(f"{name} is encoded as {what!r} of {size} bits, which is not read")
    letter = {"double": "f", "int": "i", "uint": "u"}[what]
    return _plain(members[name], name, f"<{letter}{size // 8}", count)


def strings(members: Mapping[str, memoryview], folder: str, count: int) -> tuple[str, ...]:
    """``count`` texts: ``string-mapping.bin`` says where each stands in ``strings.bin``."""
    data = bytes(members.get(f"{folder}strings.bin", b""))
    ends = starts(members, f"{folder}string-mapping.bin", count, len(data)).tolist()
    return tuple(data[first:last].decode("utf-8") for first, last in pairwise(ends))


def _plain(data: memoryview, name: str, dtype: str, count: int) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    if len(data) != count * width:
        raise FileFormatError(f"{name} has {len(data)} bytes; {count} entries of {width} take {count * width}")
    return np.frombuffer(data, dtype)


def _rationals(data: memoryview, name: str, size: int, count: int) -> NDArray[np.float64]:
    """Rationals of ``size`` bits: half for a signed numerator, half for an unsigned denominator."""
    if size % 128 or not 0 < size <= _LARGEST_RATIONAL:
        raise FileFormatError(f"{name} holds rationals of {size} bits; it must be a multiple of 128")
    width = size // 8
    rows = _plain(data, name, f"V{width}", count)
    if size == 128:
        parts = np.frombuffer(data, "<i8").reshape(count, 2)
        above, below = parts[:, 0], parts[:, 1].view("<u8")
        if (np.abs(above) <= _EXACT).all() and (above > -_EXACT).all() and ((below > 0) & (below <= _EXACT)).all():
            return above / below.astype(np.float64)
    different, index = np.unique(rows, return_inverse=True)
    return np.array([_quotient(bytes(row), name) for row in different])[index]


def _quotient(row: bytes, name: str) -> float:
    half = len(row) // 2
    above, below = int.from_bytes(row[:half], "little", signed=True), int.from_bytes(row[half:], "little")
    if below == 0:
        raise FileFormatError(f"{name} holds a rational with the denominator 0")
    return above / below  # whole numbers divide correctly rounded, however large
