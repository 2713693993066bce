"""Bytes in and out: regular files only, bounded reading, bounded decompression, strict JSON, atomic writing."""

from __future__ import annotations

import json
import lzma
import os
import secrets
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from goalbound.errors import ArgumentError, FileFormatError, InputError, LargeFileWarning
from goalbound.models.validation import check_int

LIMIT = 4 * 2**30
"""How many bytes a file may have, unless the caller allows more."""

UNPACKED_WEIGHT = 8
"""A decompressed byte counts as this many towards the limit: a file of 4 GiB shows that there is memory, but a small
file must not fill memory. By default 512 MiB may be unpacked, and ``limit=`` raises it."""

EXPANSION = 16
"""Deflated arrays of a file may take so many times its bytes in memory, and count as what they take."""

GZIP, XZ = b"\x1f\x8b\x08", b"\xfd7zXZ\x00"

_MOST_EXPANSION = 200  # models are far from it; bombs reach 1000 and more
_ANY_EXPANSION_BYTES = 64 * 2**20  # so that tiny, very regular files are not taken for decompression bombs
_CHUNK = 2**20
_XZ_MEMORY = 256 * 2**20  # xz -9 needs 65 MiB; a file may claim 4 GiB
_PYTHON_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError, EOFError, RuntimeError)
_PARSING_ERRORS = (*_PYTHON_ERRORS, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


@contextmanager
def as_format_errors(path: str | PathLike[str], kind: str) -> Iterator[None]:
    """Turns errors raised inside, but those of the file system, into a :class:`FileFormatError` that names the file."""
    name = file_name(path)
    try:
        with np.errstate(all="ignore"):  # what is not finite is an error later, with a place
            yield
    except InputError as error:
        raise FileFormatError(f"{name}: {error}") from None
    except _PARSING_ERRORS as error:
        raise FileFormatError(f"{name}: damaged {kind} file ({type(error).__name__}: {error})") from error
    except MemoryError as error:
        raise FileFormatError(
            f"{name}: there is not enough memory for what this {kind} file holds; read it where there is more"
        ) from error


def file_name(path: Any) -> str:
    """The path as text. A number is an error: ``open`` would take it for a file that is open already, such as stdout.

    >>> file_name(Path("out") / "model.npz") == os.path.join("out", "model.npz")
    True
    """
    name = os.fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(name, str) or "\0" in name:
        raise ArgumentError(f"{path!r:.80} is not a path; give the name of a file, as text or as a pathlib.Path")
    return name


def open_regular(path: str | PathLike[str]) -> BinaryIO:
    """A regular file, open for reading. Nothing else is opened: a pipe would wait for its writer, a device may act."""
    name = file_name(path)
    _check_regular(os.stat(name).st_mode, "give the file itself, or write what comes from there to a file first")
    file = open(name, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    try:  # it may be another one by now
        _check_regular(os.fstat(file.fileno()).st_mode, "give the file itself")
    except BaseException:
        file.close()
        raise
    return file


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(mode: int, remedy: str) -> None:
    """An error, in words, unless it is the mode of a regular file."""
    if stat.S_ISREG(mode):
        return
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    kind = next((name for is_kind, name in kinds if is_kind(mode)), "a device")
    raise FileFormatError(f"this is {kind}, not a regular file; {remedy}")


def read_bytes(
    path: str | PathLike[str],
    limit: int,
    *,
    remedy: str = "raise it with limit={size}",
    unpack: bool = True,
    expansion: int = _MOST_EXPANSION,
) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes.

    With ``unpack`` gzip and xz are decompressed, to at most ``limit / UNPACKED_WEIGHT`` bytes and ``expansion`` times
    the file (64 MiB are always fine); else they are refused.
    ``remedy`` ends the error for larger files: callers have a ``limit=``, or pass another remedy.
    """
    if check_int(limit, "limit") < 0:
        raise ArgumentError(f"limit is {limit}; it is the most bytes that a file may have")
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise FileFormatError(f"{size} bytes, and the limit is {limit}; {remedy.format(size=size)}")
        data = file.read(size)
    if not unpack and data.startswith((GZIP, XZ)):
        raise FileFormatError("this is a compressed file; unpack it first (gunzip, unxz)")
    return _decompress(data, limit, expansion, remedy)


def _decompress(data: bytes, limit: int, expansion: int, remedy: str) -> bytes:
    decompressor: Any
    if data.startswith(GZIP):
        decompressor = zlib.decompressobj(wbits=31)
    elif data.startswith(XZ):
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    else:
        return data
    expansion_limit = max(expansion * len(data), _ANY_EXPANSION_BYTES)
    most_bytes = min(limit // UNPACKED_WEIGHT, expansion_limit)
    parts: list[bytes] = []
    used, total = 0, 0
    while not decompressor.eof:
        if used >= len(data):
            raise FileFormatError("the compressed stream ends too early; the file is truncated")
        part = decompressor.decompress(data[used : used + _CHUNK], most_bytes - total + 1)
        used += _CHUNK
        total += len(part)
        parts.append(part)
        if total > most_bytes:
            also = f", or {remedy.format(size=2 * limit)}" if most_bytes < expansion_limit else ""
            raise FileFormatError(
                f"a compressed file of {len(data)} bytes, which unpacks to more than {most_bytes} bytes; "
                f"unpack it first (gunzip, unxz){also}"
            )
    if decompressor.unused_data.strip(b"\0") or data[used:].strip(b"\0"):
        raise FileFormatError("something follows the compressed stream; a model is one stream")
    return b"".join(parts)


def check_unpacked(size: int, unpacked: int, limit: int) -> None:
    """An error if ``unpacked`` bytes are made of ``size`` bytes of a file beyond what is in it, and that is too much.

    Each counts as one byte if they are at most EXPANSION times the file, else as UNPACKED_WEIGHT bytes.
    """
    needed, folds = _needed_limit(size, unpacked)
    if unpacked and needed > limit:
        raise FileFormatError(
            f"{size} bytes, and {unpacked} more in memory{folds}; the limit is {limit}: raise it with limit={needed}"
        )


def warn_if_large(path: str | PathLike[str], size: int, *, unpacked: int = 0) -> None:
    """Warn if a file of this size, of which ``unpacked`` more bytes are made, is read only with a larger ``limit``."""
    needed, folds = _needed_limit(size, unpacked)
    if needed > LIMIT:
        memory = f" and takes {unpacked} more in memory{folds}" if unpacked else ""
        warnings.warn(
            f"{os.fspath(path)} has {size} bytes{memory}, and files of more than {LIMIT} are not read unless one asks "
            f"for it: load it with limit={needed}",
            LargeFileWarning,
            stacklevel=3,
        )


def _needed_limit(size: int, unpacked: int) -> tuple[int, str]:
    """The least limit with which a file is read, and what to say of how much its unpacked bytes count."""
    if unpacked <= EXPANSION * size:
        return size + unpacked, ""
    folds = f", which count {UNPACKED_WEIGHT}-fold, as they are more than {EXPANSION} times the file"
    return size + UNPACKED_WEIGHT * unpacked, folds


def strict_json(data: bytes, what: str) -> dict[str, Any]:
    """A JSON object in UTF-8 without repeated keys and without NaN, or an error that says what it is of."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except RecursionError:
        raise FileFormatError(f"{what} is nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{what} is not JSON in UTF-8 ({error})") from None
    if not isinstance(value, dict):
        raise FileFormatError(f"{what} is not a JSON object")
    return value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key appears twice")
    return value


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def writable_target(path: str | PathLike[str]) -> Path:
    """Where a file of this name is written: links are followed, and what is there already must be a regular file."""
    target = Path(os.path.realpath(file_name(path)))
    if os.path.lexists(target):  # what is moved over a device would be in its place
        try:
            _check_regular(os.lstat(target).st_mode, "nothing was written: give the name of a file")
        except FileFormatError as error:
            raise ArgumentError(f"{file_name(path)}: {error}") from None
    return target


@contextmanager
def atomic_write(
    path: str | PathLike[str], *, replace: Callable[[Path, Path], None] | None = None, private: bool = False
) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of ``path`` when all went well; else ``path`` is as it was.

    ``replace(draft, target)`` puts it there, or refuses; :func:`os.replace` if left out. ``private``: for its owner.
    """
    target = writable_target(path)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    file = open(draft, "xb", opener=partial(os.open, mode=0o600) if private else None)  # noqa: SIM115 - closed below
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        (os.replace if replace is None else replace)(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """The names of the files in a folder are durable."""
    if os.name != "posix":  # elsewhere a folder cannot be opened, and renames are durable by themselves
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
