"""Where events are kept: the one interface between a store and its database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from goalbound.errors import StoreDamaged
from goalbound.serve.store.events import Event

MANY = 2**62
"""More than there are of events."""


class SnapshotEntry(NamedTuple):
    """A snapshot that the log knows: after which event it was taken, the chain there, its file and its SHA-256."""

    seq: int
    chain: bytes
    file: str
    sha256: str


class LogBase(NamedTuple):
    """What a log begins with: everything up to event ``seq`` was archived, and is in the snapshot of this place."""

    seq: int
    chain: bytes


def base_of(text: str | None, where: object) -> LogBase:
    """Where a log begins, from what is kept of it: the number of an event, and its chain.

    >>> base_of("7 00ff", "a log")
    LogBase(seq=7, chain=b'\\x00\\xff')
    """
    seq, _, chain = (text or "").partition(" ")
    try:
        return LogBase(int(seq), bytes.fromhex(chain))
    except ValueError:
        raise StoreDamaged(f"{where}: it does not say where its log begins") from None


class LossCounts(NamedTuple):
    """What cases that reached the goal have lost: the last and the first of them.

    Attributes:
        cases, mean: the last ones, and their mean loss; None without any.
        first_cases, first_mean: the first ones; None where they are the same.
        steps, overridden: the steps of the last ones, and those in which somebody played another action.
    """

    cases: int
    mean: float | None
    first_cases: int
    first_mean: float | None
    steps: int
    overridden: int


class Upload(Protocol):
    """The file of a snapshot on its way to where the log keeps it."""

    def done(self) -> tuple[bool, SnapshotEntry | None]:
        """Whether it has ended, and the snapshot if its file is kept, so that it may be listed."""
        ...


class EventLog(Protocol):
    """An append-only log of events, with the learners as they were created and a list of snapshots.

    One thread uses it. What :meth:`append` returned from is durable. Errors are :class:`~goalbound.errors.StorageFull`
    (nothing was written, writing may be tried again), :class:`~goalbound.errors.StorageFailed` (nobody knows what was
    written: stop) and :class:`~goalbound.errors.StoreDamaged`.
    """

    def append(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write events, and ``(number, learner, id)`` of the cases that they begin; all or none, durably."""
        ...

    def add_learner(self, number: int, file: bytes) -> None:
        """Keep the file of a learner, before the event that creates it is appended."""
        ...

    def learner_file(self, number: int) -> bytes:
        """The file of a learner as it was created."""
        ...

    def last(self) -> tuple[int, bytes]:
        """The number of the last event, and its chain."""
        ...

    def base(self) -> LogBase:
        """Where the log begins."""
        ...

    def chain_at(self, seq: int) -> bytes | None:
        """The chain of an event; None: there is none."""
        ...

    def events(self, after: int, limit: int | None = None) -> Iterator[Event]:
        """Events in order, those after number ``after``."""
        ...

    def events_of(self, case: int, *, until: int = MANY, limit: int = MANY) -> list[Event]:
        """The last so many events of a case up to number ``until``, in order."""
        ...

    def step_of(self, case: int, step: int) -> Event | None:
        """The event that recorded a step of a case."""
        ...

    def case_number(self, learner: int, id: str) -> int | None:
        """The number of the case with this id, whether it is open or not."""
        ...

    def case_id(self, case: int) -> str:
        """The id of a case."""
        ...

    def last_case(self) -> int:
        """The largest number of a case; 0: there is none."""
        ...

    def loss_counts(self, learner: int, count: int, *, until: int = MANY) -> LossCounts:
        """What the last and the first so many cases of a learner that reached the goal by event ``until`` have lost."""
        ...

    def snapshots(self) -> list[SnapshotEntry]:
        """All snapshots, the newest first."""
        ...

    def set_snapshots(self, entries: Sequence[SnapshotEntry]) -> None:
        """Replace the list of snapshots, durably."""
        ...

    def put_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Keep the file of a snapshot, durably, before it is listed; nothing to do where the folder is kept itself."""
        ...

    def begin_upload(self, entry: SnapshotEntry, folder: Path) -> Upload | None:
        """As :meth:`put_snapshot`, while the log is used for other things; None: its file is kept already.

        One at a time; it is given up when snapshots are put or listed meanwhile.
        """
        ...

    def fetch_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Have the file of a listed snapshot in the folder, if it is kept elsewhere and not there yet."""
        ...

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, of which a snapshot was taken; how many there were."""
        ...

    def get_meta(self, key: str) -> str | None:
        """A text that was kept under this key."""
        ...

    def set_meta(self, key: str, value: str) -> None:
        """Keep a text."""
        ...

    def tidy(self, *, idle: bool) -> None:
        """What the database wants done between batches."""
        ...

    def settle(self) -> None:
        """What is to be done once after the log was read and replayed, before anything is written."""
        ...

    def quick_check(self) -> None:
        """An error if the database itself finds that it is damaged."""
        ...

    def wal_bytes(self) -> int:
        """The size of a write-ahead log that the log itself has to keep small."""
        ...

    def close(self) -> None:
        """Nothing is used any more."""
        ...

    def leave(self) -> None:
        """After a failure: nothing is used any more, and nothing more may be written by ending its use."""
        ...
