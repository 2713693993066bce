"""Files that are refused in time and space."""

import io
import tarfile
import time
import tracemalloc

import pytest

from goalbound.errors import FileFormatError
from goalbound.models.files import load

MIB = 2**20


def refused(path, data: bytes, message: str, reader=load) -> None:
    """The reader refuses the bytes in time and space, with a message that names the file."""
    path.write_bytes(data)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    began = time.perf_counter()
    with pytest.raises(FileFormatError, match=message) as caught:
        reader(path)
    assert time.perf_counter() - began < 5.0
    assert tracemalloc.get_traced_memory()[1] - before < 200 * MIB
    assert str(path) in str(caught.value)


def tar_with(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info
