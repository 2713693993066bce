"""From the log to the state: the newest snapshot that is whole, then every event after it, whose action must be the
same. And the checks that are made of this: of a whole store, and of another version of the software."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import metadata
from os import PathLike
from pathlib import Path

from goalbound.errors import GoalboundError, ReplayDifference, StoreDamaged, StoreError
from goalbound.models.validation import check_callable
from goalbound.serve.store.database_url import place_of, shown
from goalbound.serve.store.events import Change, Event, Kind, Proposal, check_chain, content_of
from goalbound.serve.store.files import Head
from goalbound.serve.store.log import Log, open_log
from goalbound.serve.store.machine import Machine, Managed, Poisoned
from goalbound.serve.store.snapshots import digest_of, learner_from, machine_of


@dataclass
class Restored:
    """A state, and where in the log it is.

    Attributes:
        machine: the state after event ``seq``, whose chain is ``chain``.
        snapshot: the event after which the snapshot was taken; None: there was none.
        replayed: how many events were replayed.
        notes: what was noticed: snapshots that could not be used.
    """

    machine: Machine
    seq: int
    chain: bytes
    snapshot: int | None = None
    replayed: int = 0
    notes: list[str] = field(default_factory=list)


def restore(log: Log, *, until: int | None = None, before: int | None = None) -> Restored:
    """The state at the end of the log, or after event ``until``, from a snapshot that was taken by event ``before``.

    Raises:
        StoreDamaged: the log is not as it was written.
        ReplayDifference: an action is not the one in the log.
    """
    state, base = None, log.base()
    notes: list[str] = []
    for seq in log.snapshots():
        if before is not None and seq > max(before, base.seq):
            continue
        try:
            state = Restored(machine_of(log.snapshot(seq)), seq, log.chain_at(seq) or b"", seq)
            break
        except StoreDamaged as error:
            if seq == base.seq:
                raise
            notes.append(f"{error}; it was not used")
    if state is None and base.seq:
        raise StoreDamaged(
            f"the log begins after event {base.seq}, and the snapshot of that place is missing; restore a back-up"
        )
    state = state or Restored(Machine(), 0, base.chain)
    state.notes = notes
    replay(log, state, until=until)
    return state


def replay(log: Log, state: Restored, *, until: int | None = None, seen: Callable[[Event], None] | None = None) -> None:
    """Replay the events after ``state.seq`` (up to ``until``); ``seen`` is called after each."""
    for event in log.events(state.seq, *([] if until is None else [until - state.seq])):
        check_chain(state.chain, event, follows=state.seq)
        replay_one(log, state.machine, event)
        state.seq, state.chain = event.seq, event.chain
        state.replayed += 1
        if seen is not None:
            seen(event)


def replay_one(log: Log, machine: Machine, event: Event) -> None:
    """Apply one event; an error unless what comes of it is what the log says."""
    if event.kind not in set(Kind):
        raise StoreDamaged(f"event {event.seq} is of the kind {event.kind}, which this goalbound does not know")
    change = Change(Kind(event.kind), *event[2:9])
    if change.kind is Kind.CREATE:
        _create(log, machine, event)
        return
    try:
        proposal = machine.apply(change)
    except StoreDamaged as error:
        raise StoreDamaged(f"{_place(event)}: {error}") from error
    except (Poisoned, GoalboundError, LookupError, ValueError, AssertionError) as error:
        cause = error.__cause__ if isinstance(error, Poisoned) else error
        raise ReplayDifference(f"{_place(event)}: it cannot be replayed ({cause}). {_versions(log)}") from error
    logged = Proposal(event.action, event.propensity, event.others)
    if proposal.action != logged.action:
        raise ReplayDifference(
            f"{_place(event)}: the log says that action {logged.action} was proposed, and replaying it gives "
            f"{proposal.action}. {_versions(log)}"
        )
    if proposal != logged:
        raise ReplayDifference(
            f"{_place(event)}: the log has {logged}, and replaying it gives {proposal}. {_versions(log)}"
        )
    case = machine.cases.get(event.case or 0)
    if case is not None and event.step not in (None, case.step):
        raise ReplayDifference(f"{_place(event)}: replaying it gives step {case.step}. {_versions(log)}")
    machine.note(event.learner, event.case, event.seq, event.time)


def _create(log: Log, machine: Machine, event: Event) -> None:
    about = content_of(event.body)
    data = log.learner_file(event.learner)
    if sha256(data).hexdigest() != about.pop("sha256", None):
        raise StoreDamaged(f"event {event.seq} creates {about.get('name')!r}, whose file is not as it was written")
    machine.add(Managed(event.learner, learner=learner_from(data), **about))


def _place(event: Event) -> str:
    of = "" if event.case is None else f" of case {event.case}" + ("" if event.step is None else f", step {event.step}")
    return f"event {event.seq} ({Kind(event.kind).name.lower()}{of})"


def software() -> str:
    """What decides the last bits of results: versions, and the kind of processor."""
    names = ("goalbound", "numpy", "numba", "llvmlite")
    versions = " ".join(f"{name} {metadata.version(name)}" for name in names)
    return f"{versions} python {platform.python_version()} {sys.platform} {platform.machine()}"


def _versions(log: Log) -> str:
    written, now = log.get_meta("software"), software()
    if written in (None, now):
        return "The software is the one that wrote the log"
    return f"The log was written by {written}, and this is {now}: replay it with the software that wrote it"


@dataclass(frozen=True)
class Verification:
    """What was checked.

    Attributes:
        events: how many there are; ``replayed``: how many of them were replayed, each with the action in the log.
        base: the events up to this one are not here any more, and were not checked.
        seq, chain, state: the last event, its chain, and a digest of the state that it led to.
        snapshots: how many were compared with the replayed state, bit by bit.
        notes: what else was noticed.
    """

    events: int
    replayed: int
    base: int
    seq: int
    chain: str
    state: str
    snapshots: int
    notes: tuple[str, ...]


def verify(path: str | PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> Verification:
    """Check all of a store, beside the process that may write to it; nothing is changed.

    Every event is held against its hash, and replayed: the same action must come of it. Where a snapshot was taken, the
    state is compared with it bit by bit.

    Args:
        path: the folder of the store, or the URL of its database.
        progress: is called with the events done, and all of them, now and then.

    Raises:
        StoreDamaged: something is not as it was written.
        ReplayDifference: an action is not the one in the log; the error names the first.
    """
    if progress is not None:
        check_callable(progress, "progress", "a function of the events done and all of them, or None")
    place = place_of(path)
    log = open_log(place, readonly=True)
    try:
        log.check()
        if isinstance(place, Path):
            Head(place).check(log)
        base, (last, _) = log.base(), log.last()
        taken = {seq for seq in log.snapshots() if base.seq < seq <= last}
        notes: list[str] = []
        compared = 0
        state = restore(log, until=base.seq, before=0)

        def seen(event: Event) -> None:
            nonlocal compared
            if progress is not None and event.seq % 1000 == 0:
                progress(event.seq - base.seq, last - base.seq)
            if event.seq not in taken:
                return
            try:
                held = digest_of(machine_of(log.snapshot(event.seq)))
            except StoreDamaged as error:
                if event.seq in log.snapshots():  # else whoever writes has replaced it meanwhile
                    notes.append(str(error))  # a cache: without it more is replayed
                return
            if held != digest_of(state.machine):
                raise StoreDamaged(
                    f"{shown(place)}: the snapshot after event {event.seq} holds another state than replaying the log "
                    "gives; restore a back-up"
                )
            compared += 1

        replay(log, state, until=last, seen=seen)
        return Verification(
            events=last - base.seq,
            replayed=state.replayed,
            base=base.seq,
            seq=state.seq,
            chain=state.chain.hex(),
            state=digest_of(state.machine),
            snapshots=compared,
            notes=tuple(notes),
        )
    finally:
        log.close()


def check_upgrade(path: str | PathLike[str], *, events: int = 10_000) -> tuple[int, str | None]:
    """Replay the last events of a store with the software that is installed, from the newest snapshot before them.

    Beside the process that may write to the store; nothing is changed. How many events were replayed, and the software
    that wrote the log. A difference is a :class:`~goalbound.errors.ReplayDifference` that names the first event.
    """
    log = open_log(place_of(path), readonly=True)
    try:
        last, _ = log.last()
        state = restore(log, until=last, before=max(last - events, 0))
        return state.replayed, log.get_meta("software")
    except StoreDamaged as error:
        raise StoreError(f"{error}; export the log with the version that wrote it, and import it here") from error
    finally:
        log.close()
