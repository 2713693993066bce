"""Snapshots of an engine, and logs that begin with one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from goalbound.errors import StorageFull, StoreDamaged
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.snapshots import KEPT, digest_of, is_whole, prune, read_snapshot, write_snapshot

if TYPE_CHECKING:
    from goalbound.serve.store.engine import Engine


def take_snapshot(engine: Engine) -> SnapshotEntry:
    """Keep a snapshot of a state that is committed, unless there is one; the oldest are removed."""
    entry = listed_snapshot(engine)
    if entry is None:
        entry = new_snapshot(engine)
        engine.log.put_snapshot(entry, engine.snapshots)
        list_snapshot(engine, entry)
    return entry


def listed_snapshot(engine: Engine) -> SnapshotEntry | None:
    """The snapshot of this state; None: there is none yet."""
    for entry in engine.log.snapshots():
        if entry.seq == engine.seq and entry.chain == engine.chain and is_whole(engine.snapshots, entry):
            return entry
    return None


def new_snapshot(engine: Engine) -> SnapshotEntry:
    """Write the file of a snapshot of a state that is committed."""
    try:
        return write_snapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
    except OSError as error:
        raise StorageFull(f"{engine.snapshots}: no snapshot could be written ({error.strerror})") from error


def list_snapshot(engine: Engine, entry: SnapshotEntry) -> None:
    """The file of a snapshot is kept: the log lists it, and the oldest are removed, but for the one it begins with."""
    base = engine.log.base().seq
    others = [one for one in engine.log.snapshots() if one.seq != entry.seq]
    kept = [entry, *others[: KEPT - 1], *(one for one in others[KEPT - 1 :] if one.seq == base)]
    engine.log.set_snapshots(kept)
    prune(engine.snapshots, kept)
    engine.snapshot_seq = entry.seq


def compact(engine: Engine, entry: SnapshotEntry) -> int:
    """Remove the events up to this snapshot, which is of the end of the log; how many there were."""
    if entry.seq == 0:
        return 0
    if engine.log.chain_at(entry.seq) != entry.chain:
        raise StoreDamaged(f"the snapshot after event {entry.seq} is of another log")
    # The events are about to be removed, and then there is nothing else to read the state from.
    if digest_of(read_snapshot(engine.snapshots, entry)) != digest_of(engine.machine):
        raise StoreDamaged(
            f"the snapshot after event {entry.seq} holds another state than this one; nothing was removed"
        )
    count = engine.log.rebase(entry.seq)
    kept = [one for one in engine.log.snapshots() if one.seq >= entry.seq]
    with suppress(StorageFull):  # the events are gone; the list is made shorter with the next snapshot
        engine.log.set_snapshots(kept)
        prune(engine.snapshots, kept)
    return count
