"""A store of learners: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from goalbound.errors import FileConflictError, StorageFull, StoreClosed, StoreDamaged, StoreError
from goalbound.models.files.io import atomic_write, file_name, sync_folder
from goalbound.serve.store import reading
from goalbound.serve.store.bodies import abandon_body
from goalbound.serve.store.database_url import place_of, shown
from goalbound.serve.store.engine import Answer, Engine
from goalbound.serve.store.events import Event
from goalbound.serve.store.files import DATABASE, Head, free_bytes
from goalbound.serve.store.log import SqliteLog, open_log
from goalbound.serve.store.machine import alarm_count
from goalbound.serve.store.replay import software
from goalbound.serve.store.writer import Writer


@dataclass(frozen=True)
class StoreOptions:
    """How a store works.

    Attributes:
        most_cases: so many cases may be open at once.
        most_waiting: so many requests may wait; more are refused.
        reserve_bytes: nothing is written when the disk has less space left.
        snapshot_events, snapshot_seconds: a snapshot is taken after so many events, or after so long.
        synchronous: FULL. Tests set others to show what they lose.
    """

    most_cases: int = 100_000
    most_waiting: int = 4096
    reserve_bytes: int = 16 * 2**20
    snapshot_events: int = 50_000
    snapshot_seconds: float = 60.0
    synchronous: str = "FULL"


class Store:
    """Learners and their cases, in a folder or a database that one process has open.

    A step is acknowledged (a method returns) when it is on the disk. After a crash at any moment the store opens with
    every acknowledged step, and goes on to the bit. Methods may be called by several threads; what they ask at the same
    time is written together.

    >>> import tempfile
    >>> from goalbound import GreedyRidge, Support
    >>> support = Support.from_names({"down": {"restart": ["down", "goal"]}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store.open(folder) as store:
    ...         learner = store.create("incidents", GreedyRidge(support, 1, loss_floor=0.1))
    ...         proposed = learner.begin([1.0], "down", id="case-17")
    ...         observed = learner.observe("case-17", 0.25, "down", step=1)
    ...     with Store.open(folder) as store:
    ...         again = store.learner("incidents").observe("case-17", 0.25, "down", step=1)
    >>> proposed.name, observed.step, again.repeated, again[:6] == observed[:6]
    ('restart', 1, True, True)
    """

    def __init__(self, place: Path | str, options: StoreOptions, *, create: bool = False) -> None:
        self.place = place
        self.options = options
        self._closed = False
        self._log = open_log(place, create=create, synchronous=options.synchronous)
        try:
            head = Head(place) if isinstance(place, Path) else None
            self._engine = Engine(self._log, most_cases=options.most_cases, head=head)
            self._log.settle()  # now that all of it was read, and replayed
            if self._log.get_meta("software") != software():
                with suppress(StorageFull):  # reading goes on
                    self._log.set_meta("software", software())
        except StoreDamaged:
            self._log.leave()  # closing would checkpoint what is damaged, and remove the write-ahead log
            raise
        except BaseException:
            self._log.close()
            raise
        self.writer = Writer(
            self._engine,
            most_waiting=options.most_waiting,
            has_space=self.has_space,
            snapshot_events=options.snapshot_events,
            snapshot_seconds=options.snapshot_seconds,
        )

    @classmethod
    def open(cls, path: str | PathLike[str], *, create: bool = True, options: StoreOptions | None = None) -> Self:
        """Open the store in a folder or a database (``postgresql://user@host/database``), or make one there.

        The newest whole snapshot is read and what came after it is replayed, which must give the actions in the log.

        Raises:
            StoreLocked: another process, or another object of this one, has it open.
            StoreDamaged: its bytes are not those that were written.
            ReplayDifference: an action is not the one in the log.
        """
        return cls(place_of(path), options or StoreOptions(), create=create)

    @property
    def name(self) -> str:
        """The folder, or the URL without its password."""
        return shown(self.place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do what waits, take a snapshot, and release the folder. After a failure of the disk nothing is written."""
        if not self._closed:
            self._closed = True
            self.writer.close()

    def has_space(self) -> bool:
        """Whether the disk has more space left than the reserve; that of a database says so itself."""
        return isinstance(self.place, str) or free_bytes(self.place) >= self.options.reserve_bytes

    # Learners.

    def create(self, name: str, learner: Any, *, follows: str | None = None) -> StoredLearner:
        """Put a learner into the store, as it is now; the object itself is not used any more.

        Args:
            name: 1 to 64 letters, digits, and ``. _ ~ -``.
            learner: one that :func:`goalbound.load_learner` can read back, without open episodes.
            follows: the name of a learner whose cases it follows as a challenger: it learns from every step, and what
                it would have proposed is in the log. :meth:`promote` lets it take that one's place.
        """
        self.writer.call(lambda engine: engine.create(name, learner, follows=follows))
        return StoredLearner(self, name)

    def learner(self, name: str) -> StoredLearner:
        """The learner of this name."""
        self.read(lambda engine: engine.machine.named(name))
        return StoredLearner(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @property
    def names(self) -> tuple[str, ...]:
        """Of all learners, in the order in which they were created."""
        names: tuple[str, ...] = self.read(
            lambda engine: tuple(managed.name for managed in engine.machine.learners.values())
        )
        return names

    def promote(self, name: str) -> None:
        """A challenger takes the place of the learner that it follows, under that one's name, and the other way round.

        Cases stay where they are; the next proposal of each is that of the challenger, if it has followed the case.
        """
        self.writer.call(lambda engine: engine.promote(name))

    def relearn(self, name: str, new_name: str | None = None) -> StoredLearner:
        """Put in a learner that has forgotten what a monitored one has noticed to have changed, as its challenger.

        It is ``relearned()`` of that one, under ``new_name`` (left out: the name with ``-relearned``). :meth:`promote`
        lets it take its place.
        """
        made = reading.relearned_name(name) if new_name is None else new_name
        self.writer.call(lambda engine: reading.relearn(engine, name, made))
        return StoredLearner(self, made)

    # The log.

    def snapshot(self) -> int:
        """Take a snapshot; the number of the event after which it was taken."""
        seq: int = self.writer.call(lambda engine: engine.snapshot())
        return seq

    def compact(self) -> int:
        """Let the log begin here; the events before are removed. How many there were. Export the log first."""
        count: int = self.writer.call(lambda engine: engine.compact())
        return count

    def back_up(self, target: str | PathLike[str]) -> None:
        """Write a copy of the store in a folder, as of now, to a new folder, durably, while others write to it."""
        if self._closed:
            raise StoreClosed("the store is closed; open it again, or copy its folder")
        back_up(self.place, target)

    def digest(self) -> dict[str, Any]:
        """The number of the last event, its chain, and a digest of all that decides what is proposed next."""
        digest: dict[str, Any] = self.read(lambda engine: engine.digest())
        return digest

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Some of the log, in order: the events after number ``after``."""
        events: list[Event] = self.read(lambda engine: engine.events(after, limit))
        return events

    def status(self) -> dict[str, Any]:
        """Numbers for people and monitors; no ids and no contexts."""
        engine = self._engine
        return {
            "events": engine.seq,
            "open_cases": len(engine.machine.cases),
            "learners": len(engine.machine.learners),
            "alarms": {
                managed.name: alarm_count(managed.learner) for managed in list(engine.machine.learners.values())
            },
            "waiting": self.writer.waiting,
            "alive": self.writer.alive,
            "replayed": engine.restored.replayed,
            "rebuilt": engine.rebuilt,
            "free_bytes": free_bytes(self.place) if isinstance(self.place, Path) else 0,
            "wal_bytes": self._log.wal_bytes(),
            "snapshot_event": engine.snapshot_seq,
            **vars(self.writer.counts),
        }

    def read(self, operation: Any) -> Any:
        """The result of an operation of the engine that writes nothing."""
        return self.writer.call(operation, writes=False)


class StoredLearner:
    """A learner of a store: begin cases, report what came of actions, ask why."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name

    def begin(self, context: Any, state: int | str, *, id: str | None = None, allowed: Any = None) -> Answer:
        """Begin a case; what is proposed.

        Args:
            context: a point of the simplex, or covariates where the learner has a map.
            state: where the case is, by number or name.
            id: 1 to 64 letters, digits, and ``. _ ~ -``; made up if left out. The same case again is answered as
                before.
            allowed: the actions that are possible now, by number or name; all if left out.
        """
        return self._call(lambda engine: engine.begin(self.name, context, state, id=id, allowed=allowed))

    def act(self, id: str, *, allowed: Any = None) -> Answer:
        """What is proposed now. If it is not among the ``allowed`` actions, it is taken back, and another one is.

        Where a person begins another action, name it alone, as soon as it begins: ``act(id, allowed=[action])``. Then
        :meth:`observe` reports what came of it, and sets stay valid whatever the order of the reports.
        """
        return self._call(lambda engine: engine.act(self.name, id, allowed=allowed), writes=allowed is not None)

    def observe(
        self, id: str, loss: float, next_state: int | str, *, step: int | None = None, allowed: Any = None
    ) -> Answer:
        """The proposed action was played; what is proposed next.

        With ``step``, the number of this step in its case (1, 2, ...), the same step again is answered as before, with
        nothing recorded, and another content is a :class:`~goalbound.errors.StepConflict`: a report whose answer was
        lost can be repeated. Without it the step is the next one.
        """
        return self._call(lambda engine: engine.observe(self.name, id, loss, next_state, step=step, allowed=allowed))

    def override(
        self,
        id: str,
        action: int | str,
        loss: float,
        next_state: int | str,
        *,
        step: int | None = None,
        allowed: Any = None,
    ) -> Answer:
        """This action was played, whatever was proposed; what is proposed next.

        Nobody said when it began (:meth:`act` does), so a learner with confidence sets proves nothing from then on,
        unless this is its only open case and nothing was learned since the proposal
        (:meth:`LearnerEpisode.observe <goalbound.learners.episode.LearnerEpisode.observe>`).
        """
        return self._call(
            lambda engine: engine.observe(self.name, id, loss, next_state, taken=action, step=step, allowed=allowed)
        )

    def moved_to(self, id: str, state: int | str, *, step: int | None = None, allowed: Any = None) -> Answer:
        """The case came to another state by itself, and the proposed action was not played; nothing is learned."""
        return self._call(lambda engine: engine.move(self.name, id, state, step=step, allowed=allowed))

    def abandon(self, id: str, reason: str, *, step: int | None = None, missing_at_random: bool = False) -> Answer:
        """The case ends without the goal; see :meth:`LearnerEpisode.abandon
        <goalbound.learners.episode.LearnerEpisode.abandon>`."""
        body = abandon_body(reason, missing_at_random=missing_at_random)
        return self._call(lambda engine: engine.abandon(self.name, id, body, step=step))

    def case(self, id: str) -> dict[str, Any]:
        """A case and its history, open or not."""
        case = self._case_before(id, None)
        while case["earlier"]:  # some at a time, so that nobody waits for all of a long one
            more = self._case_before(id, case["history"][0]["seq"])
            case["history"], case["earlier"] = more["history"] + case["history"], more["earlier"]
        return case

    def _case_before(self, id: str, before: int | None) -> dict[str, Any]:
        case: dict[str, Any] = self.store.read(lambda engine: reading.case_of(engine, self.name, id, before=before))
        return case

    def cases(self, *, limit: int = 1000) -> list[Answer]:
        """The open cases and what is proposed in each, in the order in which they were begun."""

        def listed(engine: Engine) -> list[Answer]:
            lead = engine.machine.named(self.name)
            ids = [case.id for case in engine.machine.cases.values() if case.learner == lead.number]
            return [engine.act(self.name, id) for id in ids[:limit]]

        answers: list[Answer] = self.store.read(listed)
        return answers

    def explain(self, id: str) -> Any:
        """Why the learner proposes what it does in an open case: an :class:`~goalbound.Explanation`."""
        return self.store.read(lambda engine: reading.explanation(engine, self.name, id))

    def policy_bounds(self, context: Any, policy: Any = None) -> Any:
        """What a policy loses at least and at most, as :func:`goalbound.policy_bounds` says it."""
        return self.store.read(lambda engine: reading.policy_bounds(engine, self.name, context, policy))

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, as it is now, to a file that :func:`goalbound.load_learner` reads; without its open cases,
        which are of the store."""
        save_file(self.store.read(lambda engine: reading.file_of(engine.machine, self.name)), path, overwrite=overwrite)

    def acknowledge(self) -> None:
        """The alarms of a monitored learner were seen; it goes on."""
        self.store.writer.call(lambda engine: engine.acknowledge(self.name))

    def status(self) -> dict[str, Any]:
        """What the learner is and guarantees, how many steps it has seen, its open cases, its alarms."""
        status: dict[str, Any] = self.store.read(lambda engine: reading.learner_status(engine, self.name))
        return status

    def _call(self, operation: Any, *, writes: bool = True) -> Answer:
        answer: Answer = self.store.writer.call(operation, writes=writes)
        return answer


def save_file(data: bytes, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write the file of a learner, complete or not at all."""
    if Path(path).exists() and not overwrite:
        raise FileConflictError(f"{path} exists; write elsewhere, or replace it with overwrite=True")
    with atomic_write(path) as file:
        file.write(data)


def back_up(path: str | PathLike[str], target: str | PathLike[str]) -> None:
    """Write a copy of the store in a folder, as of now, to a new folder, durably.

    It is read beside the process that writes, which goes on meanwhile, also if the disk of the copy fails.
    """
    place, folder = place_of(path), Path(file_name(target))
    if isinstance(place, str):
        raise StoreError(f"{shown(place)}: a database is backed up by its own tools, such as pg_dump")
    if folder.exists():
        raise StoreError(f"{folder} exists; give the name of a new folder")
    log = SqliteLog(place, readonly=True)
    try:
        folder.mkdir(mode=0o700, parents=True)
        log.back_up(folder / DATABASE)
        for written in (folder, folder.parent):
            sync_folder(written)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        log.close()
