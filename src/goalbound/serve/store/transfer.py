"""A log as a text file: one JSON object for each event, for audits, archives and other databases."""

from __future__ import annotations

import base64
import binascii
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from goalbound.errors import FileFormatError, StoreDamaged, StoreError
from goalbound.models.files.io import (
    as_format_errors,
    atomic_write,
    open_regular,
    strict_json,
    sync_folder,
)
from goalbound.serve.store.events import Event, Kind, check_chain, content_of
from goalbound.serve.store.files import DATABASE, LOCK, SNAPSHOTS, FolderLock, check_local
from goalbound.serve.store.head import FILE as HEAD
from goalbound.serve.store.locations import Location, location_of
from goalbound.serve.store.log import EventLog
from goalbound.serve.store.snapshots import copy_snapshots
from goalbound.serve.store.sqlite_log import SqliteLog
from goalbound.serve.store.store import Store

FORMAT, VERSION = "goalbound-log", 1
_CHUNK = 1000
_LONGEST_LINE = 2**30
_DRAFT = ".import-"


def export_log(path: str | PathLike[str], target: str | PathLike[str]) -> int:
    """Write the log of a store to a file, beside the process that may write to the store; how many events.

    The first line says what the file is, then come the files of the learners (base64), the events in order, and a last
    line with the number and the chain of the last event.
    """
    opened = location_of(path).open_to_read()
    try:
        with atomic_write(target, private=True) as file:
            count = 0
            for line in _lines(opened.log):
                file.write(json.dumps(line, sort_keys=True, allow_nan=False).encode() + b"\n")
                count += "seq" in line
        return count
    finally:
        opened.close()


def _lines(log: EventLog) -> Iterator[dict[str, Any]]:
    base = log.base()
    yield {"format": FORMAT, "version": VERSION, "after": base.seq, "chain": base.chain.hex()}
    seq, chain = base
    for event in log.events(base.seq):
        if event.seq != seq + 1:
            raise StoreError(f"event {event.seq} follows event {seq}: the log was compacted meanwhile; export it again")
        if event.kind == Kind.CREATE:
            yield {"learner": event.learner, "file": base64.b64encode(log.learner_file(event.learner)).decode()}
        yield event_line(event)
        seq, chain = event.seq, event.chain
    yield {"end": seq, "chain": chain.hex()}


def event_line(event: Event) -> dict[str, Any]:
    """An event as a line of an export; None is left out."""
    found: dict[str, Any] = {name: value for name, value in zip(Event._fields, event, strict=True) if value is not None}
    found["chain"] = event.chain.hex()
    for name in ("body", "others"):
        if name in found:
            found[name] = found[name].decode()
    return found


def import_log(path: str | PathLike[str], source: str | PathLike[str]) -> int:
    """Read a file of :func:`export_log` into a store: a new one, or one whose last event is where the file begins.

    All of it or nothing: it is read into a copy inside of the folder, every event is held against its hash and
    replayed there, and only then the copy takes the place of what was. (In PostgreSQL the whole file is checked before
    the first event is written.) How many events there were.
    """
    location = location_of(path)
    if isinstance(location.place, str):
        return _import_into_database(location, source)
    folder = location.place
    if folder.is_dir() and not (folder / DATABASE).is_file() and any(map(_is_foreign, folder.iterdir())):
        raise StoreError(f"{folder} is not empty and holds no store; give a new folder")
    is_new = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FolderLock(folder)
    try:
        check_local(folder)
        for left in folder.glob(f"{_DRAFT}*"):  # by an import that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=folder) as draft:
            count = _import_into(Path(draft), folder, source)
            _take_over(Path(draft), folder)
        return count
    finally:
        lock.release()
        if is_new and not (folder / DATABASE).is_file():
            shutil.rmtree(folder, ignore_errors=True)


def _import_into_database(location: Location, source: str | PathLike[str]) -> int:
    """The same for a database, which has no copy to read into: the file is checked as a whole, then read again.

    A replay that differs is found last, and leaves the events: they are those of the file, by their hashes.
    """
    opened = location.open_to_write(create=True)
    try:
        with as_format_errors(source, "log"):
            _append_lines(_OnlyChecks(*opened.log.last()), source)
            count = _append_lines(opened.log, source)
    finally:
        opened.close()
    with Store.open(location.place, create=False):
        return count


class _OnlyChecks:
    """In the place of a log: takes all, and writes nothing."""

    def __init__(self, seq: int, chain: bytes) -> None:
        self._last = seq, chain

    def last(self) -> tuple[int, bytes]:
        return self._last

    def add_learner(self, number: int, file: bytes) -> None:
        pass

    def append(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        pass


def _is_foreign(path: Path) -> bool:
    """Whether a file is none that an earlier import may have left."""
    return path.name != LOCK and not path.name.startswith(_DRAFT)


def _import_into(draft: Path, folder: Path, source: str | PathLike[str]) -> int:
    """Make a store in a folder of its own: what there is already, and the events of the file."""
    if (folder / DATABASE).is_file():
        log = SqliteLog(folder / DATABASE)
        try:
            log.back_up(draft / DATABASE)
            copy_snapshots(folder / SNAPSHOTS, draft / SNAPSHOTS, log.snapshots())
        finally:
            log.close()
    log = SqliteLog(draft / DATABASE)
    try:
        with as_format_errors(source, "log"):
            count = _append_lines(log, source)
    finally:
        log.close()
    with Store.open(draft, create=False):
        return count


def _take_over(draft: Path, folder: Path) -> None:
    """The store in ``draft`` takes the place of the one in ``folder``, durably; both are closed.

    The database comes first: without the snapshots that it lists all is replayed, and snapshots after its end would be
    taken for a log that has lost events.
    """
    if (folder / f"{DATABASE}-wal").exists():  # it would be applied to the new database
        raise StoreError(f"{folder}: another process reads this store; end it, and import again. Nothing was changed")
    os.replace(draft / DATABASE, folder / DATABASE)
    sync_folder(folder)
    (folder / SNAPSHOTS).mkdir(mode=0o700, exist_ok=True)
    for snapshot in (draft / SNAPSHOTS).iterdir():
        os.replace(snapshot, folder / SNAPSHOTS / snapshot.name)
    sync_folder(folder / SNAPSHOTS)
    os.replace(draft / HEAD, folder / HEAD)


def _append_lines(log: EventLog | _OnlyChecks, source: str | PathLike[str]) -> int:
    seq, chain = log.last()
    count, ended = 0, False
    events: list[Event] = []
    for number, line in enumerate(_read_lines(source), start=1):
        if ended:
            raise FileFormatError(f"line {number} follows the line that ends the log")
        if number == 1:
            _check_head(line, seq, chain)
        elif "file" in line:
            log.add_learner(int(line["learner"]), _decoded(line["file"]))
        elif "end" in line:
            ended = True
            if line["end"] != seq or line["chain"] != chain.hex():
                raise FileFormatError(f"the file ends at event {seq}, and says that it ends at {line['end']}")
        else:
            event = _event(line)
            try:
                check_chain(chain, event, follows=seq)
            except StoreDamaged as error:
                raise FileFormatError(f"line {number}: {error}") from None
            seq, chain = event.seq, event.chain
            events.append(event)
            count += 1
            if len(events) == _CHUNK:
                _append(log, events)
    if not ended:
        raise FileFormatError("the file has no last line, so events may be missing; export it again")
    _append(log, events)
    return count


def _append(log: EventLog | _OnlyChecks, events: list[Event]) -> None:
    begun = [
        (one.case, one.learner, str(content_of(one.body)["id"]))
        for one in events
        if one.kind == Kind.BEGIN and one.case is not None
    ]
    log.append(events, cases=begun)
    events.clear()


def _check_head(line: dict[str, Any], seq: int, chain: bytes) -> None:
    if line.get("format") != FORMAT or line.get("version") != VERSION:
        raise FileFormatError(f"the file is no log of goalbound of version {VERSION}")
    if (line.get("after"), line.get("chain")) != (seq, chain.hex()):
        raise FileFormatError(
            f"the file begins after event {line.get('after')}, and the store ends with event {seq}"
            + ("; import the archive of what came before first" if seq == 0 else " or has another history")
        )


def _read_lines(source: str | PathLike[str]) -> Iterator[dict[str, Any]]:
    with open_regular(source) as file:
        while line := file.readline(_LONGEST_LINE):
            yield strict_json(line, "a line")


def _event(line: dict[str, Any]) -> Event:
    values: Any = [line.get(name) for name in Event._fields]
    if set(line) - set(Event._fields):
        raise FileFormatError(f"an event has {sorted(set(line) - set(Event._fields))}, which it should not")
    event = Event._make(values)
    return event._replace(
        chain=bytes.fromhex(line["chain"]),
        body=None if event.body is None else line["body"].encode(),
        others=None if event.others is None else line["others"].encode(),
        loss=None if event.loss is None else float(event.loss),
        propensity=None if event.propensity is None else float(event.propensity),
    )


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise FileFormatError(f"the file of a learner is not base64 ({error})") from None
