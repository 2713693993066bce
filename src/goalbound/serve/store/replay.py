"""From the log to the state: the newest snapshot that is whole, then every event after it, whose action must be the
same."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from goalbound.errors import GoalboundError, ReplayDifference, StoreDamaged, StoreError
from goalbound.serve.store.bodies import learner_fields
from goalbound.serve.store.cases import Managed
from goalbound.serve.store.events import Event, Kind, check_chain, content_of
from goalbound.serve.store.log import EventLog
from goalbound.serve.store.machine import Machine, Poisoned
from goalbound.serve.store.snapshots import learner_from, read_snapshot


@dataclass
class Restored:
    """A state, and where in the log it is.

    Attributes:
        machine: the state after event ``seq``, whose chain is ``chain``.
        replayed: how many events were replayed.
        snapshot: the event after which the snapshot was taken; None: there was none.
        notes: what was noticed: snapshots that could not be used.
    """

    machine: Machine
    seq: int
    chain: bytes
    replayed: int
    snapshot: int | None
    notes: tuple[str, ...]


class Result(NamedTuple):
    """What replaying an event gives, to be compared with what is in the log."""

    action: int | None
    propensity: float | None
    others: bytes | None


def restore(log: EventLog, folder: Path, *, use_snapshots: bool = True, until: int | None = None) -> Restored:
    """The state at the end of the log, or after event ``until``.

    Raises:
        StoreDamaged: the log is not as it was written.
        ReplayDifference: an action is not the one in the log.
    """
    begin, notes = _newest(log, folder) if use_snapshots else (None, [])
    base = log.base()
    if begin is None:
        if base.seq:
            begin, other = _at_base(log, folder)
            notes += other
        else:
            begin = Restored(Machine(), 0, base.chain, 0, None, ())
    begin.notes = tuple(notes)
    replay(log, begin, until=until)
    return begin


def _newest(log: EventLog, folder: Path) -> tuple[Restored | None, list[str]]:
    notes: list[str] = []
    last = log.last()[0]
    for entry in log.snapshots():
        if entry.seq > last or log.chain_at(entry.seq) != entry.chain:
            notes.append(f"the snapshot after event {entry.seq} is of another log; it was not used")
            continue
        try:
            log.fetch_snapshot(entry, folder)
            machine = read_snapshot(folder, entry)
        except StoreDamaged as error:
            notes.append(f"{error}; it was not used")
            continue
        return Restored(machine, entry.seq, entry.chain, 0, entry.seq, ()), notes
    return None, notes


def _at_base(log: EventLog, folder: Path) -> tuple[Restored, list[str]]:
    base = log.base()
    notes: list[str] = []
    for entry in log.snapshots():
        if entry.seq == base.seq:
            log.fetch_snapshot(entry, folder)
            return Restored(read_snapshot(folder, entry), base.seq, base.chain, 0, base.seq, ()), notes
    raise StoreDamaged(
        f"the log begins after event {base.seq}, and the snapshot of that place is missing or damaged; restore a "
        "back-up, or import the archive"
    )


def replay(
    log: EventLog, state: Restored, *, until: int | None = None, seen: Callable[[Event], None] | None = None
) -> None:
    """Replay the events after ``state.seq`` (up to ``until``); ``seen`` is called after each."""
    limit = None if until is None else until - state.seq
    for event in log.events(state.seq, limit):
        check_chain(state.chain, event, follows=state.seq)
        replay_one(log, state.machine, event)
        state.seq, state.chain = event.seq, event.chain
        state.replayed += 1
        if seen is not None:
            seen(event)


def replay_one(log: EventLog, machine: Machine, event: Event) -> None:
    """One event; an error unless what comes of it is what the log says."""
    if event.kind == Kind.CREATE:
        create(log, machine, event)
        return
    try:
        change = machine.replay(event)
    except StoreError:
        raise
    except (Poisoned, GoalboundError, KeyError, ValueError, AssertionError) as error:
        cause = error.__cause__ if isinstance(error, Poisoned) else error
        raise ReplayDifference(f"{_place(event)}: it cannot be replayed ({cause}). {_versions(log)}") from error
    found, logged = Result(*change[8:11]), Result(event.action, event.propensity, event.others)
    if found.action != logged.action:
        raise ReplayDifference(
            f"{_place(event)}: the log says that action {logged.action} was proposed, and replaying it gives "
            f"{found.action}. {_versions(log)}"
        )
    if found != logged or (change.kind, change.case, change.step) != (event.kind, event.case, event.step):
        raise ReplayDifference(
            f"{_place(event)}: the log has {logged}, step {event.step}, and replaying it gives {found}, step "
            f"{change.step}. {_versions(log)}"
        )
    case = machine.cases.get(event.case or 0)
    if case is not None:
        case.seq = event.seq


def create(log: EventLog, machine: Machine, event: Event) -> None:
    """A learner is put into the state, from its file."""
    about = content_of(event.body)
    data = log.learner_file(event.learner)
    if sha256(data).hexdigest() != about.pop("sha256", None):
        raise StoreDamaged(f"event {event.seq} creates {about.get('name')!r}, whose file is not as it was written")
    machine.add(Managed(event.learner, learner=learner_from(data), **learner_fields(about)))


def _place(event: Event) -> str:
    of = "" if event.case is None else f" of case {event.case}" + ("" if event.step is None else f", step {event.step}")
    return f"event {event.seq} ({Kind(event.kind).name.lower()}{of})"


def software() -> str:
    """What decides the last bits of results: versions, and the kind of processor."""
    names = ("goalbound", "numpy", "numba", "llvmlite")
    found = " ".join(f"{name} {metadata.version(name)}" for name in names)
    return f"{found} python {platform.python_version()} {sys.platform} {platform.machine()}"


def _versions(log: EventLog) -> str:
    written, now = log.get_meta("software"), software()
    if written in (None, now):
        return "The software is the one that wrote the log"
    return f"The log was written by {written}, and this is {now}: replay it with the software that wrote it"
