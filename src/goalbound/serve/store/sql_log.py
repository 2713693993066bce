"""Reading a log in a database with SQL: the same tables and statements in SQLite and in PostgreSQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from goalbound.errors import InputError, StoreDamaged, StoreError
from goalbound.serve.store.events import Event
from goalbound.serve.store.log import MANY, LogBase, LossCounts, SnapshotEntry, base_of

COLUMNS = ", ".join(f'"{name}"' for name in Event._fields)
"""Of the table of events, in the order of the fields of an event."""
SUMS = """SELECT coalesce(sum(now.loss), 0.0), count(*), count(CASE WHEN now.taken <> before.action THEN 1 END)"""
"""Of steps ``now``, each with the one ``before`` it: losses, how many, and those that were not played as proposed."""
_LOOKED_AT = 5000


def statements(text: str) -> list[str]:
    """The statements of a text, each of which ends its line.

    >>> statements("CREATE TABLE a (b int);\\nCREATE TABLE c (d int);\\n")
    ['CREATE TABLE a (b int)', 'CREATE TABLE c (d int)']
    """
    return [one for one in text.split(";\n") if one.strip()]


class SqlLog(ABC):
    """What logs in databases share: a part of :class:`~goalbound.serve.store.log.EventLog`.

    Attributes:
        path: the database, as people may see it.
    """

    path: object
    _mark: ClassVar[str]
    """Stands for a value in a statement."""
    _errors: ClassVar[type[Exception]]
    """Of the database."""

    @abstractmethod
    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """A cursor with the rows of a statement."""

    @abstractmethod
    def _store_error(self, error: Any) -> StoreError | InputError:
        """An error of the database as that of a store, or of what was given."""

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        """Errors of the database as those of stores."""
        try:
            yield
        except self._errors as error:
            raise self._store_error(error) from error
        except (UnicodeDecodeError, OverflowError) as error:  # of what a damaged page says
            raise StoreDamaged(f"{self.path}: the database is damaged ({error}); restore a back-up") from error

    def _one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        with self._as_store_errors():
            return self._run(statement, values).fetchone()

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._as_store_errors():
            found: list[Any] = self._run(statement, values).fetchall()
            return found

    def _bytes(self, value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise StoreDamaged(f"{self.path}: there is a {type(value).__name__} where bytes were written")
        return value

    def _check_format(self, known: str) -> None:
        version = self.get_meta("format")
        if version != known:
            raise StoreDamaged(f"{self.path}: its tables have version {version!r}; this goalbound knows {known}")

    def get_meta(self, key: str) -> str | None:
        """A text that was kept under this key."""
        found = self._one(f"SELECT value FROM meta WHERE key = {self._mark}", (key,))
        return None if found is None else found[0]

    def learner_file(self, number: int) -> bytes:
        """The file of a learner as it was created."""
        found = self._one(f"SELECT file FROM learner WHERE number = {self._mark}", (number,))
        if found is None:
            raise StoreDamaged(f"{self.path}: the file of learner {number} is missing")
        return self._bytes(found[0])

    def last(self) -> tuple[int, bytes]:
        """The number of the last event, and its chain."""
        found = self._one("SELECT seq, chain FROM event ORDER BY seq DESC LIMIT 1")
        return (found[0], self._bytes(found[1])) if found else self.base()

    def base(self) -> LogBase:
        """Where the log begins."""
        return base_of(self.get_meta("base"), self.path)

    def chain_at(self, seq: int) -> bytes | None:
        """The chain of an event; None: there is none."""
        base = self.base()
        if seq == base.seq:
            return base.chain
        found = self._one(f"SELECT chain FROM event WHERE seq = {self._mark}", (seq,))
        return None if found is None else self._bytes(found[0])

    def _new_base(self, seq: int) -> str:
        """What is kept of a log that begins after this event; an error if there is no such event."""
        chain = self.chain_at(seq)
        if chain is None:
            raise StoreError(f"{self.path}: there is no event {seq}, so the log cannot begin there")
        return f"{seq} {chain.hex()}"

    def events_of(self, case: int, *, until: int = MANY, limit: int = MANY) -> list[Event]:
        """The last so many events of a case up to number ``until``, in order."""
        step = self._last_step(case, until)
        rows = self._last_rows(case, -1 if step is None else step, until, limit)
        return [Event._make(row) for row in reversed(rows)]

    def _last_step(self, case: int, until: int) -> int | None:
        """The last step of a case that was recorded up to event ``until``; None: there is none."""
        mark = self._mark
        step: int | None = self._one(f'SELECT max(step) FROM event WHERE "case" = {mark} AND seq <= {mark}',
                                     (case, until))[0]  # fmt: skip
        return step

    def _last_rows(self, case: int, step: int, until: int, limit: int) -> list[Any]:
        """The last rows of a case, up to this step and event, the last one first: one statement, as somebody may
        write."""
        mark = self._mark
        # Without "+ 0" PostgreSQL may look for the few proposals of a case among all events.
        rows = f"""SELECT * FROM (SELECT {COLUMNS} FROM event WHERE "case" = {mark} AND step IS NULL AND seq <= {mark}
            ORDER BY seq + 0 DESC LIMIT {mark}) AS asked
          UNION ALL SELECT {COLUMNS} FROM event WHERE "case" = {mark} AND step > {mark} AND step <= {mark}
          ORDER BY 1 DESC LIMIT {mark}"""
        return self._all(rows, (case, until, limit, case, step - limit, step, limit))

    def step_of(self, case: int, step: int) -> Event | None:
        """The event that recorded a step of a case."""
        mark = self._mark
        found = self._one(f'SELECT {COLUMNS} FROM event WHERE "case" = {mark} AND step = {mark}', (case, step))
        return None if found is None else Event._make(found)

    def case_number(self, learner: int, id: str) -> int | None:
        """The number of the case with this id, whether it is open or not."""
        mark = self._mark
        found = self._one(f'SELECT number FROM "case" WHERE learner = {mark} AND id = {mark}', (learner, id))
        return None if found is None else found[0]

    def case_id(self, case: int) -> str:
        """The id of a case."""
        found = self._one(f'SELECT id FROM "case" WHERE number = {self._mark}', (case,))
        if found is None:
            raise StoreDamaged(f"{self.path}: the id of case {case} is missing")
        return str(found[0])

    def last_case(self) -> int:
        """The largest number of a case; 0: there is none."""
        return self._one('SELECT max(number) FROM "case"')[0] or 0

    def snapshots(self) -> list[SnapshotEntry]:
        """All snapshots, the newest first."""
        rows = self._all("SELECT seq, chain, file, sha256 FROM snapshot ORDER BY seq DESC")
        return [SnapshotEntry(seq, self._bytes(chain), str(file), str(digest)) for seq, chain, file, digest in rows]

    def loss_counts(self, learner: int, count: int, *, until: int = MANY) -> LossCounts:
        """What the last and the first so many cases of a learner that reached the goal by event ``until`` have lost.

        Only the last and the first few thousand events are looked at.
        """
        last, base = min(self.last()[0], until), self.base().seq
        latest, loss, steps, taken = self._losses(learner, count, max(base, last - _LOOKED_AT), last, "DESC")
        first, first_loss, _, _ = self._losses(learner, count, base, min(last, base + _LOOKED_AT), "ASC")
        other = bool(first) and not first & latest
        return LossCounts(
            len(latest), loss / len(latest) if latest else None, len(first) if other else 0,
            first_loss / len(first) if other else None, steps, taken,
        )  # fmt: skip

    def _losses(self, learner: int, count: int, low: int, high: int, order: str) -> tuple[set[int], float, int, int]:
        """Cases that ended between two events: which, their losses, their steps, and those played otherwise."""
        mark = self._mark
        ended = f"""SELECT "case", step FROM event WHERE seq > {mark} AND seq <= {mark} AND learner = {mark}
            AND kind IN (2, 3) AND action IS NULL ORDER BY seq {order} LIMIT {mark}"""
        cases = self._all(ended, (low, high, learner, count))
        if not cases:
            return set(), 0.0, 0, 0
        loss, steps, taken = self._sums(cases)
        return {case for case, _ in cases}, loss, steps, taken

    def _sums(self, cases: Sequence[tuple[int, int]]) -> tuple[float, int, int]:
        """Of cases, each with its last step: what they have lost, their steps, and those played otherwise; what was
        archived is left out."""
        sums = f"""{SUMS} FROM event AS now JOIN event AS before
            ON before."case" = now."case" AND before.step = now.step - 1
            WHERE now."case" IN ({", ".join([self._mark] * len(cases))})"""
        loss, steps, taken = self._one(sums, [case for case, _ in cases])
        return loss, steps, taken
