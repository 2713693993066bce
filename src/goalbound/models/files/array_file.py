"""Arrays and a JSON header in one file: a zip, exact to the bit; nothing in it is ever executed.

``numpy.load`` opens such files too. Members: ``header.json``, an object that says at least format, version and kind,
and one ``<name>.npy`` per array. No pickle, no objects, and the headers of the arrays are matched, not evaluated.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "counts.npz"
...     write_array_file(path, {"format": "goalbound", "version": 1, "kind": "Counts"}, {"visits": np.arange(3)})
...     header, arrays = read_array_file(path, kind="Counts", versions=[1], arrays={"visits": "<i8"})
>>> header["kind"], arrays["visits"]
('Counts', array([0, 1, 2]))
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.models.files.io import (
    LIMIT,
    UNPACKED_WEIGHT,
    as_format_errors,
    atomic_write,
    check_unpacked,
    open_regular,
    read_bytes,
    strict_json,
    warn_if_large,
)
from goalbound.models.files.saved_files import SavedFiles

FORMAT = "goalbound"
"""The format in the header of every array file."""
ANY = "any"
"""In the place of the type of an array: any that a file may have."""
ID = "id"
"""The key of a header that tells one save of a learner from another."""

_PATTERN_SIGNS = frozenset("[({*+?|\\^$")
"""What a pattern has and a name has not; a point is in both."""
_HEADER, _SUFFIX = "header.json", ".npy"
_MOST_HEADER_BYTES = 2**26
_DTYPES = ("<f8", "<i8", "<i4", "|b1", "|u1")
_DIMENSIONS = 3
_LEVEL = 1  # of deflated arrays: the fastest
_DEFLATED_FROM = 2**16  # bytes
_SAMPLES, _SAMPLE_BYTES = 16, 4096
_WORTH_IT = 0.7
_MOST_MEMBERS = 2**16 - 2  # more would not be counted in the last bytes of the file, where they are checked first
MOST_ARRAYS = _MOST_MEMBERS - 1
"""How many arrays a file may hold; the header is a member too."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]{0,99}")
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']{1,8})', 'fortran_order': (False|True), "
    rb"'shape': \((|[0-9]{1,18},|[0-9]{1,18}(?:, [0-9]{1,18}){1,2})\), \} *\n",
    re.DOTALL,
)  # what NumPy writes, and nothing that would have to be evaluated
_END = struct.Struct("<4s4H2LH")


def write_array_file(
    path: str | PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    any_size: bool = False,
    deflate: Collection[str] = (),
    files: SavedFiles | None = None,
    overwrite: bool = False,
) -> None:
    """Write arrays and their header so that :func:`read_array_file` gives them back to the bit.

    The file appears complete or not at all, and the same content in the same order gives the same bytes. Arrays are
    float64, int64, int32, bool or uint8, of at most three dimensions; ``header`` is what JSON can say (no NaN) and has
    the keys ``format`` ("goalbound"), ``version`` and ``kind``. A file that is read only if ``limit`` is raised is
    written with a :class:`LargeFileWarning`, unless its readers take files of ``any_size``. The arrays named by
    ``deflate`` are deflated where that pays, unless the file would need a larger ``limit`` for it. With ``files`` (the
    record of the object being saved) the file gets an id, which follows from its content, and an existing file is
    replaced only if its id is in the record, or with ``overwrite``.
    """
    if header.get("format") != FORMAT or type(header.get("version")) is not int or type(header.get("kind")) is not str:
        raise ArgumentError(f'the header of an array file needs "format": "{FORMAT}", a whole "version" and a "kind"')
    if len(arrays) > MOST_ARRAYS:
        raise ArgumentError(f"{len(arrays)} arrays are more than the {MOST_ARRAYS} of one file; join some of them")
    members = {name: _storable(name, array) for name, array in arrays.items()}
    head = json.dumps(header, allow_nan=False).encode()
    id = "" if files is None else _content_id(head, members)
    if files is not None:
        head = json.dumps({**header, ID: id}, allow_nan=False).encode()

    def replace(draft: Path, target: Path) -> None:
        if files is not None:
            if target.exists() and not overwrite:
                found = peek_header(target).get(ID)
                files.check(path, found if isinstance(found, str) else None)
            files.record(target, id)
        os.replace(draft, target)

    with atomic_write(path, replace=replace) as file:
        unpacked = _write_zip(file, head, members, deflate)
        size = file.seek(0, io.SEEK_END)
    if not any_size:
        warn_if_large(path, size, unpacked=unpacked)


def _content_id(head: bytes, members: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.blake2b(head, digest_size=16)
    for name, array in members.items():
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _write_zip(file: BinaryIO, head: bytes, members: Mapping[str, NDArray[Any]], deflate: Collection[str]) -> int:
    """Write the members; how many bytes more they have in memory than in the file."""
    stored = sum(array.nbytes for array in members.values())
    most = stored + (UNPACKED_WEIGHT - 1) * sum(members[name].nbytes for name in deflate)
    needs_limit = stored <= LIMIT < most  # only where it is deflated
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(_HEADER), head)
        for name, array in members.items():
            about = _member(f"{name}{_SUFFIX}")
            if name in deflate and not needs_limit and _deflates(array):
                data = io.BytesIO()
                np.lib.format.write_array(data, array, version=(1, 0), allow_pickle=False)
                archive.writestr(about, data.getbuffer(), zipfile.ZIP_DEFLATED, _LEVEL)
                continue
            with archive.open(about, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        return sum(about.file_size - about.compress_size for about in archive.infolist())


def _deflates(array: NDArray[Any]) -> bool:
    """Whether samples of a large array become much smaller."""
    data = array.reshape(-1).view(np.uint8)
    if len(data) < _DEFLATED_FROM:
        return False
    starts = np.linspace(0, len(data) - _SAMPLE_BYTES, _SAMPLES).astype(np.int64)
    sample = b"".join(data[start : start + _SAMPLE_BYTES].tobytes() for start in starts)
    return len(zlib.compress(sample, _LEVEL)) < _WORTH_IT * len(sample)


def peek_header(path: str | PathLike[str]) -> dict[str, Any]:
    """The header of an array file, unchecked, without its arrays; empty for other files."""
    try:
        with open_regular(path) as raw, zipfile.ZipFile(raw) as file:
            about = file.getinfo(_HEADER)
            if about.file_size <= _MOST_HEADER_BYTES and about.compress_type == zipfile.ZIP_STORED:  # as it is written
                found = json.loads(file.read(_HEADER))
                return found if isinstance(found, dict) else {}
    except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError, NotImplementedError, struct.error, EOFError):
        pass
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the first byte, where bytes were lost at the front
            raise
    return {}


def read_array_file(
    path: str | PathLike[str],
    *,
    kind: str | tuple[str, ...],
    versions: Collection[int],
    arrays: Mapping[str, str],
    what: str = "file",
    limit: int = LIMIT,
    files: SavedFiles | None = None,
    deflated: bool = False,
    older: str = "",
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_array_file` wrote; anything else is a :class:`FileFormatError` that says what is wrong.

    The header and the arrays are well formed and of the types asked for. Whether they fit together, and whether one is
    missing, is the caller's to check (:func:`check_keys`, :func:`check_present`), inside
    :func:`~goalbound.models.files.io.as_format_errors`, so that errors name the file.

    Args:
        path: the file.
        kind: the kind that the header must give, or several.
        versions: the versions that can be read.
        arrays: the type (``<f8 <i8 <i4 |b1 |u1``) of each array that may be there, by its name or by a regular
            expression that the whole name must match: ``{"gram": "<f8", r"cell_[0-9]+": "|u1"}``. ANY is any of them.
        what: what to call the file in messages.
        limit: the most bytes that the file may have, with what is made of it
            (:func:`~goalbound.models.files.io.check_unpacked`).
        files: records what was read, for a later :func:`write_array_file`.
        deflated: whether arrays may be deflated.
        older: what to do with a file of another version, in the words of its error.

    Returns:
        The header without its id, and the arrays by name in the order of the file. They are read-only.
    """
    with as_format_errors(path, "npz"):
        kinds = (kind,) if isinstance(kind, str) else kind
        data = read_bytes(path, limit, unpack=False)
        _check_count(data, arrays, what)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = _checked_infos(archive, len(data), deflated=deflated)
            check_unpacked(len(data), sum(max(0, one.file_size - one.compress_size) for one in infos.values()), limit)
            found = _header(archive.read(_HEADER), kinds, versions, older) if _HEADER in infos else None
            patterns = {pattern: dtype for pattern, dtype in arrays.items() if _PATTERN_SIGNS & set(pattern)}
            dtypes = {name: _dtype(name, arrays, patterns, what) for name in infos if name != _HEADER}
            if found is None:
                raise FileFormatError(f"{_HEADER} is missing; this npz is not one of goalbound")
            id = found.pop(ID, None)
            if files is not None and isinstance(id, str):
                files.record(path, id)
            return found, {
                name.removesuffix(_SUFFIX): _array(name, _content(archive, infos[name]), dtype)
                for name, dtype in dtypes.items()
            }


def check_keys(header: Mapping[str, Any], keys: Collection[str], optional: Collection[str] = ()) -> None:
    """The header has these keys and no others, besides format, version and kind, and perhaps the optional ones."""
    wanted = {"format", "version", "kind", *keys}
    if set(header) - set(optional) != wanted:
        raise FileFormatError(f"the header has {sorted(header)}; it needs {sorted(wanted)}")


def check_present(arrays: Mapping[str, NDArray[Any]], names: Collection[str]) -> None:
    """None of these arrays is missing."""
    missing = [name for name in names if name not in arrays]
    if missing:
        raise FileFormatError(f"{missing[0]}{_SUFFIX} is missing")


def _storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array by row, least byte first; an error if it is not of the few types that are read back."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"no array can be called {name!r}; use letters, digits, _ and . (at most 100)")
    dtype = np.dtype(array.dtype).newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise ArgumentError(f"{name} holds {array.dtype}; only float64, int64, int32, bool and uint8 are written")
    if array.ndim > _DIMENSIONS:
        raise ArgumentError(f"{name} has {array.ndim} dimensions; at most {_DIMENSIONS} are written")
    return np.asarray(array, dtype=dtype, order="C")


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    return info


def _check_count(data: bytes, arrays: Mapping[str, str], what: str) -> None:
    """The file is a whole zip with no more members than there may be; they are counted before they are listed."""
    tail = data[-_END.size :]
    if not data.startswith(b"PK") or len(tail) < _END.size or not tail.startswith(b"PK\5\6"):
        raise FileFormatError("this is not a complete npz file; it is truncated, or of another format")
    plain = all(re.escape(name) == name for name in arrays)
    count, most = _END.unpack(tail)[4], len(arrays) + 1 if plain else _MOST_MEMBERS
    if count > most:
        raise FileFormatError(f"the file has {count} members; a {what} has at most {most}")


def _checked_infos(archive: zipfile.ZipFile, size: int, *, deflated: bool) -> dict[str, zipfile.ZipInfo]:
    """The members by name. What is in the file of them cannot be larger than the file together."""
    found: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in archive.infolist():
        name = info.filename
        if name in found:
            raise FileFormatError(f"{name!r} appears twice in the file")
        stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        may_be_deflated = deflated and name != _HEADER and info.compress_type == zipfile.ZIP_DEFLATED
        if info.flag_bits & 1 or not (stored or may_be_deflated):
            raise FileFormatError(f"{name} is compressed or encrypted; goalbound stores it as it is")
        total += info.compress_size
        if total > size:
            raise FileFormatError(
                f"{name} claims {info.compress_size} bytes in a file of {size}, where others stand too"
            )
        found[name] = info
    return found


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What a member holds; never more is unpacked than it claims."""
    with archive.open(info) as member:
        data = member.read(info.file_size)
    if len(data) != info.file_size:
        raise FileFormatError(f"{info.filename} has {len(data)} bytes, and claims {info.file_size}")
    return data


def _header(data: bytes, kinds: tuple[str, ...], versions: Collection[int], older: str) -> dict[str, Any]:
    header = strict_json(data, _HEADER)
    found, version, kind = header.get("format"), header.get("version"), header.get("kind")
    if found != FORMAT:
        raise FileFormatError(f"the format is {found!r}, not {FORMAT!r}")
    if kind not in kinds:
        raise FileFormatError(f"the kind is {kind!r}, and {' or '.join(map(repr, kinds))} is needed")
    if type(version) is not int or version not in versions:
        known = " or ".join(map(str, sorted(versions)))
        remedy = f"; {older}" if older and type(version) is int and version < min(versions) else ""
        raise FileFormatError(f"version {version!r}; this goalbound reads version {known}{remedy}")
    return header


def _dtype(name: str, arrays: Mapping[str, str], patterns: Mapping[str, str], what: str) -> str:
    """The type that the array of this member must have; ``patterns`` are those of the names that match many."""
    bare = name.removesuffix(_SUFFIX)
    if bare != name:
        if bare in arrays:
            return arrays[bare]
        for pattern, dtype in patterns.items():
            if re.fullmatch(pattern, bare):
                return dtype
    raise FileFormatError(f"{name!r} is not part of a goalbound {what}; this npz is of another kind")


def _array(name: str, data: bytes, wanted: str) -> NDArray[Any]:
    """An array of the type wanted, over the bytes themselves; its size is checked before anything else."""
    found = _NPY.match(data)
    if found is None:
        raise FileFormatError(f"{name} is not an array of npy version 1.0 with at most three dimensions")
    dtype, order = found[1].decode("latin-1"), found[2]
    if wanted == ANY and dtype in _DTYPES:
        wanted = dtype
    if dtype != wanted or order != b"False":
        raise FileFormatError(f"{name} holds {dtype!r}, fortran_order {order.decode()}; it needs {wanted!r} by row")
    shape = tuple(int(size) for size in found[3].split(b",") if size)
    body, width = len(data) - found.end(), np.dtype(wanted).itemsize
    if math.prod(shape) * width != body:
        raise FileFormatError(f"{name} claims shape {shape}, and {body} bytes follow")
    array: NDArray[Any] = np.frombuffer(data, wanted, offset=found.end())
    if wanted == "|b1" and array.view(np.uint8).max(initial=0) > 1:
        raise FileFormatError(f"{name} holds a byte that is neither false (0) nor true (1)")
    return array.reshape(shape)
