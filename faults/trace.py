"""What a process wrote and synced, in order, from a trace by strace; and the files as they may be after the power went.

Metadata (creating, renaming, removing, truncating a file) is taken to be in order and durable, as journaling file
systems have it. What was written to a file and not synced since may be there, or not, or in part.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from faults.world import environment

CALLS = "openat,open,close,pwrite64,write,lseek,fdatasync,fsync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,dup"
_LINE = re.compile(r"(?:\[pid\s+)?(\d+)\]?\s+(.*)")
_CALL = re.compile(r"(\w+)\((.*)\)\s*=\s*(-?\d+)")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
SECTOR = 512


@dataclass(frozen=True)
class Operation:
    """Something that happened to a file: ``write`` (data at offset), ``sync``, ``truncate`` (to offset), ``rename`` (to
    target), ``remove``; or ``ack``, an acknowledged event."""

    kind: str
    path: str = ""
    offset: int = 0
    data: bytes = b""
    target: str = ""


def traced(folder: Path, *words: str, output: Path) -> list[Operation]:
    """Run a workload under strace; what it did to the files of the folder, and what it acknowledged."""
    command = ["strace", "-f", "-xx", "-s", "4000000", "-e", f"trace={CALLS}", "-o", str(output)]
    done = subprocess.run(
        [*command, sys.executable, "-m", "faults.workload", str(folder), *words], env=environment(), check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"the workload ended with {done.returncode}: {done.stderr[-500:]}")
    with open(output, encoding="latin-1") as file:
        return operations(file, str(folder))


def operations(lines: object, folder: str) -> list[Operation]:
    """The operations of a trace."""
    found: list[Operation] = []
    names: dict[int, str] = {}
    offsets: dict[int, int] = {}
    unfinished: dict[str, str] = {}
    for line in lines:  # type: ignore[attr-defined]
        match = _LINE.match(line)
        if match is None:
            continue
        pid, text = match[1], match[2]
        if text.endswith("<unfinished ...>"):
            unfinished[pid] = text.removesuffix("<unfinished ...>").rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        if resumed is not None:
            text = unfinished.pop(pid, "") + resumed[1]
        call = _CALL.match(text)
        if call is not None and int(call[3]) >= 0:
            _apply(call[1], call[2], int(call[3]), folder, names, offsets, found)
    return found


def _apply(
    name: str, arguments: str, result: int, folder: str, names: dict[int, str], offsets: dict[int, int],
    found: list[Operation],
) -> None:  # fmt: skip
    strings = [bytes.fromhex(text.replace("\\x", "")) for text, _ in _STRING.findall(arguments)]
    if name in ("open", "openat"):
        path = strings[0].decode("utf-8", "replace")
        names.pop(result, None)
        if path.startswith(folder):
            names[result], offsets[result] = path, 0
            if "O_TRUNC" in arguments:
                found.append(Operation("truncate", path, 0))
            elif "O_CREAT" in arguments:
                found.append(Operation("create", path))
        return
    if name in ("rename", "renameat", "renameat2"):
        old, new = (one.decode("utf-8", "replace") for one in strings[:2])
        if old.startswith(folder):
            found.append(Operation("rename", old, target=new))
            for handle, path in names.items():
                if path == old:
                    names[handle] = new
        return
    if name in ("unlink", "unlinkat"):
        path = strings[0].decode("utf-8", "replace")
        if path.startswith(folder):
            found.append(Operation("remove", path))
        return
    handle = int(arguments.split(",")[0])
    if name == "write" and handle == 1 and strings and strings[0].strip().isdigit():
        found.append(Operation("ack", offset=int(strings[0])))
        return
    if handle not in names:
        return
    path = names[handle]
    if name == "close":
        del names[handle]
    elif name == "lseek":
        offsets[handle] = result
    elif name == "write":
        found.append(Operation("write", path, offsets[handle], strings[0][:result]))
        offsets[handle] += result
    elif name == "pwrite64":
        found.append(Operation("write", path, int(arguments.rsplit(",", 1)[1]), strings[0][:result]))
    elif name == "ftruncate":
        found.append(Operation("truncate", path, int(arguments.split(",")[1])))
    elif name in ("fsync", "fdatasync"):
        found.append(Operation("sync", path))


@dataclass
class Disk:
    """Files as they are on the disk for sure, and what was written to each since it was last synced."""

    durable: dict[str, bytearray] = field(default_factory=dict)
    pending: dict[str, list[Operation]] = field(default_factory=dict)

    def happen(self, one: Operation) -> None:
        """An operation happened."""
        if one.kind == "create":
            self.durable.setdefault(one.path, bytearray())
        elif one.kind == "write":
            self.durable.setdefault(one.path, bytearray())
            self.pending.setdefault(one.path, []).append(one)
        elif one.kind == "sync":
            for write in self.pending.pop(one.path, ()):
                _write(self.durable[one.path], write, len(write.data))
        elif one.kind == "truncate":
            file = self.durable.setdefault(one.path, bytearray())
            kept = [write for write in self.pending.get(one.path, ()) if write.offset < one.offset]
            self.pending[one.path] = kept
            del file[one.offset :]
        elif one.kind == "rename":
            self.durable[one.target] = self.durable.pop(one.path, bytearray())
            self.pending[one.target] = self.pending.pop(one.path, [])
        elif one.kind == "remove":
            self.durable.pop(one.path, None)
            self.pending.pop(one.path, None)

    def image(self, folder: str, target: Path, how: str, rng: random.Random) -> None:
        """Write what the disk may hold after the power went: of what was not synced ``none``, ``all``, ``some``, or
        some with a ``torn`` one."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for path, durable in self.durable.items():
            if path.endswith("-shm"):  # made anew when it is opened
                continue
            content = bytearray(durable)
            writes = self.pending.get(path, [])
            if how == "all":
                chosen = writes
            elif how == "none":
                chosen = []
            else:
                chosen = [write for write in writes if rng.random() < 0.5]
            for place, write in enumerate(chosen):
                torn = how == "torn" and place == len(chosen) - 1
                size = rng.randrange(0, len(write.data) + 1, SECTOR) if torn and write.data else len(write.data)
                _write(content, write, size)
            place_of = target / Path(path).relative_to(folder)
            place_of.parent.mkdir(parents=True, exist_ok=True)
            place_of.write_bytes(content)


def _write(content: bytearray, write: Operation, size: int) -> None:
    end = write.offset + size
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[write.offset : end] = write.data[:size]
