"""A log as a text file: one JSON object for each event, for audits, archives and other databases."""

from __future__ import annotations

import base64
import binascii
import json
import shutil
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from goalbound.errors import FileFormatError, InputError, StoreError
from goalbound.models.files.io import as_format_errors, atomic_write, open_regular, strict_json
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.events import Event, Kind, chained, content_of
from goalbound.serve.store.log import Log, open_log
from goalbound.serve.store.replay import Restored, replay_one, restore

FORMAT, VERSION = "goalbound-log", 2
_CHUNK = 1000
_LONGEST_LINE = 2**30
_FIELDS = Event._fields[:-1]  # the chain is that of the database


def export_log(path: str | PathLike[str], target: str | PathLike[str]) -> int:
    """Write the log of a store to a file, beside the process that may write to the store; how many events.

    The first line says what the file is, then come the files of the learners (base64), the events in order, and a last
    line with the number of the last event.
    """
    log = open_log(place_of(path), readonly=True)
    try:
        with atomic_write(target, private=True) as file:
            count = 0
            for line in _lines(log):
                file.write(json.dumps(line, sort_keys=True, allow_nan=False).encode() + b"\n")
                count += "seq" in line
        return count
    finally:
        log.close()


def _lines(log: Log) -> Iterator[dict[str, Any]]:
    seq = log.base().seq
    yield {"format": FORMAT, "version": VERSION, "after": seq}
    for event in log.events(seq):
        if event.seq != seq + 1:
            raise StoreError(f"event {event.seq} follows event {seq}: the log was compacted meanwhile; export it again")
        if event.kind == Kind.CREATE:
            yield {"learner": event.learner, "file": base64.b64encode(log.learner_file(event.learner)).decode()}
        yield event_line(event)
        seq = event.seq
    yield {"end": seq}


def event_line(event: Event) -> dict[str, Any]:
    """An event as a line of an export; None is left out."""
    return {name: value for name, value in zip(_FIELDS, event, strict=False) if value is not None}


def import_log(path: str | PathLike[str], source: str | PathLike[str]) -> int:
    """Read a file of :func:`export_log` into a store: a new one, or one whose last event is where the file begins.

    All of it or nothing: it is one transaction, and every event is replayed in it, which must give the same action.
    How many events there were.
    """
    place = place_of(path)
    is_new = isinstance(place, Path) and not place.exists()
    log = open_log(place, create=True)
    try:
        state = restore(log)
        with as_format_errors(source, "log"), log.writing():
            return _import_lines(log, state, source)
    except BaseException:
        if is_new:
            shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        log.close()


def _import_lines(log: Log, state: Restored, source: str | PathLike[str]) -> int:
    first, ended = state.seq, False
    events: list[Event] = []
    for number, line in enumerate(_read_lines(source), start=1):
        if ended:
            raise FileFormatError(f"line {number} follows the line that ends the log")
        if number == 1:
            _check_begin(line, state.seq)
        elif "file" in line:
            learner = int(line["learner"])
            if learner in state.machine.learners:
                raise FileFormatError(f"line {number} has a file for learner {learner}, which is in the store already")
            log.put_learner(learner, _decoded(line["file"]))
        elif "end" in line:
            ended = True
            if line["end"] != state.seq:
                raise FileFormatError(f"the file ends at event {state.seq}, and says that it ends at {line['end']}")
        else:
            events.append(_replayed(log, state, line, number))
        if len(events) == _CHUNK or ended:
            begun = [event for event in events if event.kind == Kind.BEGIN]
            log.add(events, cases=[(event.case or 0, event.learner, content_of(event.body)["id"]) for event in begun])
            events = []
    if not ended:
        raise FileFormatError("the file has no last line, so events may be missing; export it again")
    return state.seq - first


def _replayed(log: Log, state: Restored, line: dict[str, Any], number: int) -> Event:
    """The event of a line, which follows what was read and gives the action that it says."""
    unknown = sorted(set(line) - set(_FIELDS))
    if unknown:
        raise FileFormatError(f"line {number}: an event has {unknown}, which it should not")
    floats = {name: float(line[name]) for name in ("loss", "propensity") if line.get(name) is not None}
    values: Any = dict.fromkeys(_FIELDS) | line | floats
    event = Event(**values, chain=b"")
    if event.seq != state.seq + 1:
        raise FileFormatError(f"line {number}: event {event.seq} follows event {state.seq}")
    event = event._replace(chain=chained(state.chain, event))
    replay_one(log, state.machine, event)
    state.seq, state.chain = event.seq, event.chain
    return event


def _check_begin(line: dict[str, Any], seq: int) -> None:
    if line.get("format") == FORMAT and line.get("version") == 1:
        raise InputError(
            "a log of goalbound 1.0.0, which this version does not replay: learn its finished cases as a log "
            "(goalbound fit), and begin with that learner in a new store"
        )
    if line.get("format") != FORMAT or line.get("version") != VERSION:
        raise FileFormatError(f"the file is no log of goalbound of version {VERSION}")
    if line.get("after") != seq:
        raise FileFormatError(
            f"the file begins after event {line.get('after')}, and the store ends with event {seq}"
            + ("; import the archive of what came before first" if seq == 0 else "")
        )


def _read_lines(source: str | PathLike[str]) -> Iterator[dict[str, Any]]:
    with open_regular(source) as file:
        while line := file.readline(_LONGEST_LINE):
            yield strict_json(line, "a line")


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise FileFormatError(f"the file of a learner is not base64 ({error})") from None
