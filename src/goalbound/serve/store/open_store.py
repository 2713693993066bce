"""What all open stores have in common, whether they write or follow: learners, events, and numbers about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from goalbound.serve.store.engine import Engine
from goalbound.serve.store.events import Event
from goalbound.serve.store.files import free_bytes
from goalbound.serve.store.locations import Location, OpenLog
from goalbound.serve.store.machine import WARM_CASES
from goalbound.serve.store.reading import alarm_count
from goalbound.serve.store.stored_learner import StoredLearner
from goalbound.serve.store.worker import Worker


@dataclass(frozen=True)
class StoreOptions:
    """How a store works.

    Attributes:
        most_cases: so many cases may be open at once.
        warm_cases: so many of them, those used last, are ready to go on; the others take a quarter of the memory, and a
            moment more when they go on.
        most_waiting: so many requests may wait; more are refused.
        reserve_bytes: nothing is written when the disk has less space left.
        snapshot_events, snapshot_seconds: a snapshot is taken after so many events, or after so long.
        synchronous: FULL. Tests set others to show what they lose.
        cache: for a store in a database, a folder of this machine for copies of its snapshots; a temporary one if left
            out. With a folder that stays, snapshots need not be fetched at each start, and a database that has lost its
            end (an older back-up, a standby that was behind) is noticed.
    """

    most_cases: int = 100_000
    warm_cases: int = WARM_CASES
    most_waiting: int = 4096
    reserve_bytes: int = 16 * 2**20
    snapshot_events: int = 50_000
    snapshot_seconds: float = 60.0
    synchronous: str = "FULL"
    cache: str | PathLike[str] | None = None


class OpenStore(ABC):
    """The learners and cases of a store, and the one thread that answers what is asked about them.

    Methods may be called by several threads.
    """

    follows: ClassVar[bool]
    """Whether it only reads what another process writes."""

    writer: Worker

    def __init__(self, location: Location, options: StoreOptions, opened: OpenLog) -> None:
        self.location = location
        self.options = options
        self._opened = opened
        self._closed = False
        try:
            self._engine = Engine(
                opened.log, opened.snapshots, most_cases=options.most_cases, warm_cases=options.warm_cases,
                follows=self.follows,
            )  # fmt: skip
        except BaseException:
            opened.close()
            raise

    @property
    def folder(self) -> Path:
        """The folder of this machine that belongs to it: the store, or copies of its snapshots."""
        return self._opened.folder

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do what waits, and end."""
        if not self._closed:
            self._closed = True
            self.writer.close()
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """The thread has ended: let others have what was used."""

    @abstractmethod
    def has_space(self) -> bool:
        """Whether there is space to write."""

    def learner(self, name: str) -> StoredLearner:
        """The learner of this name. Of a follower, what would write raises :class:`~goalbound.errors.NotLeader`."""
        self.writer.call(lambda engine: engine.machine.named(name), writes=False)
        return StoredLearner(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @property
    def names(self) -> tuple[str, ...]:
        """Of all learners, in the order in which they were created."""
        found: tuple[str, ...] = self.writer.call(
            lambda engine: tuple(one.name for one in engine.machine.learners.values()), writes=False
        )
        return found

    def digest(self) -> dict[str, Any]:
        """The number of the last event, its chain, and a digest of all that decides what is proposed next.

        That of a follower is that of its leader at the same event.
        """
        found: dict[str, Any] = self.writer.call(lambda engine: engine.digest(), writes=False)
        return found

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Some of the log, in order: the events after number ``after``."""
        found: list[Event] = self.writer.call(lambda engine: engine.events(after, limit), writes=False)
        return found

    def status(self) -> dict[str, Any]:
        """Numbers for people and monitors; no ids and no contexts."""
        engine = self._engine
        return {
            "events": engine.seq,
            "open_cases": len(engine.machine.cases),
            "learners": len(engine.machine.learners),
            "alarms": {one.name: alarm_count(one.learner) for one in list(engine.machine.learners.values())},
            "waiting": self.writer.waiting,
            "alive": self.writer.alive,
            "free_bytes": free_bytes(self.folder) if self.folder.is_dir() else 0,
            "replayed": engine.restored.replayed,
            "rebuilt": engine.rebuilt,
        }
