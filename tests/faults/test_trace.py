"""Traces, and the disks that they leave."""

import random

from faults.trace import Disk, Operation, operations


def hexed(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def test_a_trace_is_read_with_its_threads_and_offsets():
    path, other = hexed(b"/store/a"), hexed(b"/store/b")
    lines = [
        f'7 openat(AT_FDCWD, "{path}", O_RDWR|O_CREAT, 0644) = 5\n',
        f'7 write(5, "{hexed(b"one")}", 3) = 3\n',
        f'8 write(5, "{hexed(b"two")}", 3 <unfinished ...>\n',
        "7 fdatasync(9) = 0\n",
        "8 <... write resumed>) = 3\n",
        f'7 pwrite64(5, "{hexed(b"x")}", 1, 1) = 1\n',
        "7 fdatasync(5) = 0\n",
        "7 lseek(5, 0, SEEK_SET) = 0\n",
        f'7 write(5, "{hexed(b"lost")}", 4) = -1 EIO (Input/output error)\n',
        f'7 rename("{path}", "{other}") = 0\n',
        f'7 write(1, "{hexed(b"12" + bytes([10]))}", 3) = 3\n',
        "7 ftruncate(5, 2) = 0\n",
        f'7 unlink("{other}") = 0\n',
    ]
    found = operations(lines, "/store")
    assert [(one.kind, one.offset, one.data) for one in found] == [
        ("create", 0, b""), ("write", 0, b"one"), ("write", 3, b"two"), ("write", 1, b"x"), ("sync", 0, b""),
        ("rename", 0, b""), ("ack", 12, b""), ("truncate", 2, b""), ("remove", 0, b""),
    ]  # fmt: skip
    assert found[-2].path == "/store/b"


def test_what_was_synced_is_there_and_what_was_not_may_be(tmp_path):
    disk = Disk()
    for one in (
        Operation("write", "/s/a", 0, b"safe"),
        Operation("sync", "/s/a"),
        Operation("write", "/s/a", 4, b"maybe"),
        Operation("write", "/s/a-shm", 0, b"never"),
    ):
        disk.happen(one)
    found = {}
    for how in ("none", "all"):
        disk.image("/s", tmp_path / how, how, random.Random(0))
        found[how] = {path.name: path.read_bytes() for path in (tmp_path / how).iterdir()}
    assert found == {"none": {"a": b"safe"}, "all": {"a": b"safemaybe"}}
