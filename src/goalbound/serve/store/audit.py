"""Checking a store: the database, the chain of its events, every action of it replayed, and its snapshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike

from goalbound.errors import StoreDamaged
from goalbound.models.validation import check_callable
from goalbound.serve.store.events import Event
from goalbound.serve.store.head import check_head
from goalbound.serve.store.locations import location_of
from goalbound.serve.store.replay import replay, restore
from goalbound.serve.store.snapshots import digest_of, read_snapshot


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
    opened = location_of(path).open_to_read()
    folder, log = opened.snapshots, opened.log
    try:
        log.quick_check()
        check_head(folder.parent, folder, log)
        base, (last, _) = log.base(), log.last()
        entries = {entry.seq: entry for entry in log.snapshots() if base.seq < entry.seq <= last}
        notes: list[str] = []
        compared = 0
        state = restore(log, folder, use_snapshots=False, until=base.seq)

        def seen(event: Event) -> None:
            nonlocal compared
            if progress is not None and event.seq % 1000 == 0:
                progress(event.seq - base.seq, last - base.seq)
            entry = entries.get(event.seq)
            if entry is None:
                return
            try:
                log.fetch_snapshot(entry, folder)
                found = digest_of(read_snapshot(folder, entry))
            except StoreDamaged as error:
                notes.append(str(error))  # a cache: without it more is replayed
                return
            if found != digest_of(state.machine):
                raise StoreDamaged(
                    f"the snapshot after event {event.seq} holds another state than replaying the log gives; remove "
                    f"it ({entry.file}), and the log is replayed without it"
                )
            compared += 1

        replay(log, state, until=last, seen=seen)
        return Verification(
            last - base.seq, state.replayed, base.seq, state.seq, state.chain.hex(), digest_of(state.machine), compared,
            tuple(notes),
        )  # fmt: skip
    finally:
        opened.close()
