"""A store of learners: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from goalbound.errors import StorageFull, StoreClosed, StoreError
from goalbound.models.files.io import file_name, sync_folder
from goalbound.store.engine import Answer, Engine
from goalbound.store.events import Event
from goalbound.store.files import DATABASE, SNAPSHOTS, free_bytes
from goalbound.store.locations import Location, location_of
from goalbound.store.log import EventLog
from goalbound.store.machine import WARM_CASES
from goalbound.store.reading import case_of, explanation, learner_status, proposal_now
from goalbound.store.replay import software
from goalbound.store.snapshots import copy_snapshots
from goalbound.store.sqlite_log import SqliteLog
from goalbound.store.writer import Writer

if TYPE_CHECKING:
    from goalbound.store.follower import Follower


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

    follows = False
    """Whether it only reads what another process writes."""

    def __init__(self, location: Location, options: StoreOptions, *, create: bool = False) -> None:
        self.location = location
        self.options = options
        self._opened = location.open_to_write(create=create, synchronous=options.synchronous)
        self.folder, log = self._opened.folder, self._opened.log
        try:
            self._engine = Engine(
                log, self._opened.snapshots, most_cases=options.most_cases, warm_cases=options.warm_cases
            )
            log.settle()  # now that all of it was read, and replayed
            if log.get_meta("software") != software():
                with suppress(StorageFull):  # reading goes on
                    log.set_meta("software", software())
        except BaseException:
            self._opened.close()
            raise
        self._log = log
        self.writer = Writer(
            self._engine, most_waiting=options.most_waiting, has_space=self.has_space,
            snapshot_events=options.snapshot_events, snapshot_seconds=options.snapshot_seconds,
        )  # fmt: skip
        self._closed = False

    @classmethod
    def open(cls, path: str | PathLike[str], *, create: bool = True, options: StoreOptions | None = None) -> Self:
        """Open the store in a folder or a database (``postgresql://user@host/database``), or make one there.

        The newest whole snapshot is read and what came after it is replayed, which must give the actions in the log.

        Raises:
            StoreLocked: another process, or another object of this one, has it open.
            StoreDamaged: its bytes are not those that were written.
            ReplayDifference: an action is not the one in the log.
        """
        options = options or StoreOptions()
        return cls(location_of(path, cache=options.cache), options, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do what waits, take a snapshot, and release the folder. After a failure of the disk nothing is written."""
        if self._closed:
            return
        self._closed = True
        self.writer.close()
        try:
            if self.writer.failure is None:
                self.writer.take_snapshot(self._engine)
                self._engine.head.note(self._engine.seq, self._engine.chain, now=True)
                self._log.close()
        finally:
            self._opened.release()

    def has_space(self) -> bool:
        """Whether the disk has more space left than the reserve; that of a database says so itself."""
        return not self._opened.on_disk or free_bytes(self.folder) >= self.options.reserve_bytes

    def create(
        self, name: str, learner: Any, *, follows: str | None = None, mixing: float = 0.0, seed: int | None = None,
        learns_from_shadow: bool = True,
    ) -> StoredLearner:  # fmt: skip
        """Put a learner into the store, as it is now; the object itself is not used any more.

        Args:
            name: 1 to 64 letters, digits, and ``. _ ~ -``.
            learner: one that :func:`goalbound.load_learner` can read back, without open episodes.
            follows: the name of a learner whose cases it follows as a challenger: it learns from every step, and what
                it would have proposed is in the log. :meth:`promote` lets it take that one's place.
            mixing: with this probability an action is drawn uniformly from the possible ones, so that the log can be
                used to evaluate other policies; 0: never.
            seed: of these draws; fresh if left out.
            learns_from_shadow: whether it learns from the steps of shadow cases.
        """
        self.writer.call(
            lambda engine: engine.create(
                name, learner, follows=follows, mixing=mixing, seed=seed, learns_from_shadow=learns_from_shadow
            )
        )
        return StoredLearner(self, name)

    def learner(self, name: str) -> StoredLearner:
        """The learner of this name."""
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

    def promote(self, name: str) -> None:
        """A challenger takes the place of the learner that it follows, under that one's name, and the other way round.

        Cases stay where they are; the next proposal of each is that of the challenger, if it has followed the case.
        """
        self.writer.call(lambda engine: engine.promote(name))

    def snapshot(self) -> int:
        """Take a snapshot; the number of the event after which it was taken."""
        seq: int = self.writer.call(lambda engine: engine.snapshot().seq)
        return seq

    def compact(self) -> int:
        """Let the log begin here; the events before are removed. How many there were. Export the log first."""
        count: int = self.writer.call(lambda engine: engine.compact())
        return count

    def digest(self) -> dict[str, Any]:
        """The number of the last event, its chain, and a digest of all that decides what is proposed next."""
        found: dict[str, Any] = self.writer.call(lambda engine: engine.digest(), writes=False)
        return found

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Some of the log, in order: the events after number ``after``."""
        found: list[Event] = self.writer.call(lambda engine: list(engine.log.events(after, limit)), writes=False)
        return found

    def back_up(self, target: str | PathLike[str]) -> None:
        """Write a copy of the store, as of now, to a new folder, durably.

        It is read beside the writer, which goes on meanwhile, also if the disk of the copy fails.
        """
        if self._closed:
            raise StoreClosed("the store is closed; open it again, or copy its folder")
        if not self._opened.on_disk:
            raise StoreError(f"{self.location.name}: a database is backed up by its own tools, such as pg_dump")
        folder = Path(file_name(target))
        if folder.exists():
            raise StoreError(f"{folder} exists; give the name of a new folder")
        folder.mkdir(mode=0o700, parents=True)
        log = SqliteLog(self.folder / DATABASE, readonly=True)
        try:
            log.back_up(folder / DATABASE)
        finally:
            log.close()
        copy = read_only_log(folder)
        try:
            entries = copy.snapshots()
        finally:
            copy.close()
        copy_snapshots(self.folder / SNAPSHOTS, folder / SNAPSHOTS, entries)
        for written in (folder, folder.parent):
            sync_folder(written)

    def status(self) -> dict[str, Any]:
        """Numbers for people and monitors; no ids and no contexts."""
        writer, engine = self.writer, self._engine
        return {
            "events": engine.seq,
            "open_cases": len(engine.machine.cases),
            "learners": len(engine.machine.learners),
            "waiting": writer.waiting,
            "alive": writer.alive,
            "wal_bytes": self._log.wal_bytes(),
            "free_bytes": free_bytes(self.folder),
            "replayed": engine.restored.replayed,
            "rebuilt": engine.rebuilt,
            "snapshot_event": engine.snapshot_seq,
            **vars(writer.counts),
        }


class StoredLearner:
    """A learner of a store: begin cases, report what came of actions, ask why."""

    def __init__(self, store: Store | Follower, name: str) -> None:
        self.store = store
        self.name = name

    def begin(
        self, context: Any, state: int | str, *, id: str | None = None, allowed: Any = None, shadow: bool = False
    ) -> Answer:
        """Begin a case; what is proposed.

        Args:
            context: a point of the simplex, or covariates where the learner has a map.
            state: where the case is, by number or name.
            id: 1 to 64 letters, digits, and ``. _ ~ -``; made up if left out. The same case again is answered as
                before.
            allowed: the actions that are possible now, by number or name; all if left out.
            shadow: what is proposed is not played: every step says which action was (:meth:`override`).
        """
        return self._call(lambda engine: engine.begin(self.name, context, state, id=id, allowed=allowed, shadow=shadow))

    def act(self, id: str, *, allowed: Any = None) -> Answer:
        """What is proposed now. If it is not among the ``allowed`` actions, it is taken back, and another one is.

        A follower says what its leader would propose, and nothing is recorded.
        """
        if self.store.follows:
            return self._call(lambda engine: proposal_now(engine, self.name, id, allowed), writes=False)
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
        self, id: str, action: int | str, loss: float, next_state: int | str, *, step: int | None = None,
        allowed: Any = None,
    ) -> Answer:  # fmt: skip
        """This action was played, whatever was proposed; what is proposed next."""
        return self._call(
            lambda engine: engine.observe(self.name, id, loss, next_state, taken=action, step=step, allowed=allowed)
        )

    def moved_to(self, id: str, state: int | str, *, step: int | None = None, allowed: Any = None) -> Answer:
        """The case came to another state by itself, and the proposed action was not played; nothing is learned."""
        return self._call(lambda engine: engine.move(self.name, id, state, step=step, allowed=allowed))

    def abandon(self, id: str, reason: str, *, step: int | None = None, missing_at_random: bool = False) -> Answer:
        """The case ends without the goal; see :meth:`LearnerEpisode.abandon
        <goalbound.learners.episode.LearnerEpisode.abandon>`."""
        return self._call(
            lambda engine: engine.abandon(self.name, id, reason, step=step, missing_at_random=missing_at_random)
        )

    def case(self, id: str) -> dict[str, Any]:
        """A case and its history, open or not."""
        found: dict[str, Any] = self.store.writer.call(lambda engine: case_of(engine, self.name, id), writes=False)
        return found

    def cases(self, *, limit: int = 1000) -> list[Answer]:
        """The open cases and what is proposed in each, in the order in which they were begun."""

        def found(engine: Engine) -> list[Answer]:
            lead = engine.machine.named(self.name)
            mine = (one for one in engine.machine.cases.values() if one.learner == lead.number)
            return [engine.act(self.name, one.id) for one, _ in zip(mine, range(limit), strict=False)]

        cases: list[Answer] = self.store.writer.call(found, writes=False)
        return cases

    def explain(self, id: str) -> Any:
        """Why the learner proposes what it does in an open case: an :class:`~goalbound.Explanation`."""
        return self.store.writer.call(lambda engine: explanation(engine, self.name, id), writes=False)

    def policy_bounds(self, context: Any, policy: Any = None) -> Any:
        """What a policy loses at least and at most, as :func:`goalbound.policy_bounds` says it."""
        return self.store.writer.call(
            lambda engine: engine.machine.named(self.name).learner.policy_bounds(context, policy), writes=False
        )

    def acknowledge(self) -> None:
        """The alarms of a monitored learner were seen; it goes on."""
        self.store.writer.call(lambda engine: engine.acknowledge(self.name))

    def status(self) -> dict[str, Any]:
        """What the learner is and guarantees, how many steps it has seen, its open cases, its alarms."""
        found: dict[str, Any] = self.store.writer.call(lambda engine: learner_status(engine, self.name), writes=False)
        return found

    def _call(self, operation: Any, *, writes: bool = True) -> Answer:
        answer: Answer = self.store.writer.call(operation, writes=writes)
        return answer


def read_only_log(path: str | PathLike[str]) -> EventLog:
    """The log of a store, to be read only, beside the process that may write to it."""
    return location_of(path).read_only_log()
