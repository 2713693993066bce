"""Tar archives in memory: the plain part of the format, and nothing that points anywhere else.

Not read by ``tarfile``, which takes a damaged header for the end of an archive and, in Pythons that we support, half an
hour for an extended header of 1 MB (docs/decisions/0014-libraries.md). A model needs regular files only.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable
from typing import BinaryIO

from goalbound.errors import FileFormatError

BLOCK = 512
_MOST_MEMBERS = 65536
_LONGEST_HEADER = 65536
_EMPTY = bytes(BLOCK)
_PAX = re.compile(rb"[1-9][0-9]* ([^=\n]+)=([^\n]*)\n")


def is_tar(data: bytes) -> bool:
    """Whether the bytes are a POSIX tar archive."""
    return data[257:262] == b"ustar"


def tar_members(archive: bytes) -> dict[str, memoryview]:
    """The regular files of an archive by name; nothing is copied.

    Links, devices, sparse files, repeated names, and names that are absolute or climb with ``..`` are errors.
    """
    view, at = memoryview(archive), 0
    found: dict[str, memoryview] = {}
    long_name = None
    for _ in range(_MOST_MEMBERS):
        header = archive[at : at + BLOCK]
        if header == _EMPTY:
            return found
        if len(header) < BLOCK:
            raise FileFormatError("the archive ends without an end mark; the file is truncated")
        _check_sum(header, at)
        size, kind = _number(header[124:136]), header[156:157]
        body = view[at + BLOCK : at + BLOCK + size]
        if len(body) < size:
            raise FileFormatError(f"{_plain_name(header)!r} claims {size} bytes, and {len(body)} follow")
        at += BLOCK + -(-size // BLOCK) * BLOCK
        if kind in b"xL":
            long_name = _long_name(body, kind) or long_name
        elif kind != b"g":
            name = _checked_name(long_name or _plain_name(header))
            long_name = None
            if kind in (b"0", b"\0", b"7") and not name.endswith("/"):
                if name in found:
                    raise FileFormatError(f"{name!r} appears twice in the archive")
                found[name] = body
            elif kind != b"5" and not name.endswith("/"):
                raise FileFormatError(f"{name!r} is a link or a device; a model holds files only")
    raise FileFormatError(f"the archive has more than {_MOST_MEMBERS} members")


def write_tar(file: BinaryIO, members: Iterable[tuple[str, bytes]]) -> None:
    """An archive of files by name, the same bytes for the same files."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _check_sum(header: bytes, at: int) -> None:
    total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
    if total != _number(header[148:156]):
        raise FileFormatError(f"the header at byte {at} of the archive is damaged (wrong check sum)")


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise FileFormatError(f"{field!r} is not an octal number; the archive is damaged")
    return int(digits or b"0", 8)


def _plain_name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return (prefix + b"/" + name if prefix else name).decode("utf-8")


def _long_name(body: memoryview, kind: bytes) -> str | None:
    if len(body) > _LONGEST_HEADER:
        raise FileFormatError(f"a header of {len(body)} bytes; names are shorter")
    text = bytes(body)
    if kind == b"L":
        return text.split(b"\0")[0].decode("utf-8")
    name = None
    for key, value in _PAX.findall(text):
        if key == b"path":
            name = value.decode("utf-8")
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise FileFormatError(f"the archive uses {key.decode('ascii', 'replace')}; write it as a plain tar")
    return name


def _checked_name(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    parts = name.removesuffix("/").split("/")
    if name and (not all(parts) or {".", ".."} & set(parts) or "\\" in name or not name.isprintable()):
        raise FileFormatError(f"{name!r} is not a valid name in a model file")
    return name or "/"
