"""What a store does with a request: the same request again is answered as before, a new one becomes an event.

One thread uses an engine. Nothing is acknowledged before :meth:`Engine.commit` has returned.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from goalbound.errors import (
    ArgumentError,
    CaseExists,
    LearnerError,
    StepConflict,
    StepGap,
    StorageFull,
    TooManyCases,
)
from goalbound.models.support_match import pairs_difference
from goalbound.models.validation import check_bool, check_int, short_repr
from goalbound.serve.store.bodies import abandon_body, actions_of, begin_body, body_allowed, checked_loss
from goalbound.serve.store.cases import Case, Change, Managed
from goalbound.serve.store.compaction import compact, take_snapshot
from goalbound.serve.store.events import Event, Kind, canonical, chain_of, chain_of_step
from goalbound.serve.store.head import Head, check_head
from goalbound.serve.store.log import EventLog, SnapshotEntry
from goalbound.serve.store.machine import MOST_STEPS, WARM_CASES, Machine, case_not_found, finished
from goalbound.serve.store.replay import Restored, restore
from goalbound.serve.store.snapshots import digest_of, learner_from, loadable

_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._~-]{1,64}")  # clients take . and .. out of the paths of addresses


class Answer(NamedTuple):
    """What a store answers, as it is in the log.

    Attributes:
        case: the id.
        step: the number of the step that was recorded; 0: the case was begun.
        action: the number of the action that is proposed; None: the case has ended.
        name: its name, where actions have names.
        propensity: the probability with which it was proposed; None: not known.
        seq: the number of the event.
        done: whether the case has ended.
        repeated: whether it had been recorded before, so that nothing was recorded now.
    """

    case: str
    step: int
    action: int | None
    name: str | None
    propensity: float | None
    seq: int
    done: bool
    repeated: bool = False


class Engine:
    """The log and the state that belongs to it.

    Args:
        log: where events are kept.
        snapshots: the folder of the snapshots.
        most_cases: so many cases may be open at once.
        warm_cases: so many of them are ready to go on; the others are packed until they do.
        follows: whether somebody else writes to the log while this one reads it.

    Attributes:
        rebuilt: how often the state was rebuilt from the log.
        on_rebuilt: is called after each time.
        on_committed: is called after each commit, also those that are part of something else: all that was recorded
            until then is on the disk.
    """

    def __init__(
        self, log: EventLog, snapshots: Path, *, most_cases: int, warm_cases: int = WARM_CASES, follows: bool = False
    ) -> None:
        self.log = log
        self.snapshots = snapshots
        self.most_cases, self._warm_cases, self._follows = most_cases, warm_cases, follows
        self._pending: list[Event] = []
        self._by_step: dict[tuple[int | None, int | None], Event] = {}  # the first so many of them
        self._indexed = 0
        self._begun: dict[tuple[int, str], int] = {}  # the numbers of new cases
        self.rebuilt = 0
        self.on_rebuilt: Callable[[], None] | None = None
        self.on_committed: Callable[[], None] | None = None
        self.head = Head(snapshots.parent)
        check_head(snapshots.parent, snapshots, log)
        self.restored: Restored = restore(log, snapshots)
        self._take_over(self.restored)

    def _take_over(self, restored: Restored) -> None:
        self.machine: Machine = restored.machine
        self.machine.warm_cases = self._warm_cases
        self.seq, self.chain = restored.seq, restored.chain
        self.snapshot_seq = restored.snapshot or 0
        if not self._follows:  # cases that somebody began meanwhile are counted when their events are replayed
            self.machine.last_case = max(self.machine.last_case, self.log.last_case())

    def rebuild(self) -> None:
        """Forget what was not committed, and what it did to the learners."""
        self._forget_pending()
        self.rebuilt += 1
        self.restored = restore(self.log, self.snapshots)
        self._take_over(self.restored)
        if self.on_rebuilt is not None:
            self.on_rebuilt()

    # Recording.

    @property
    def uncommitted(self) -> int:
        """How many events wait for :meth:`commit`."""
        return len(self._pending)

    def commit(self) -> None:
        """Write what has happened, durably. Without space nothing of it has happened."""
        if self._pending:
            try:
                begun = [(number, learner, id) for (learner, id), number in self._begun.items()]
                self.log.append(self._pending, cases=begun)
            except StorageFull:
                self.rebuild()
                raise
            self._forget_pending()
        if self.on_committed is not None:
            self.on_committed()

    def _forget_pending(self) -> None:
        for kept in (self._pending, self._by_step, self._begun):
            kept.clear()
        self._indexed = 0

    def _record(self, change: Change) -> Event:
        fields = (self.seq + 1, *change, time.time_ns() // 1_000_000)
        self.chain = chain_of(self.chain, *fields)
        self.seq += 1
        event = Event(*fields, self.chain)
        self._pending.append(event)
        return event

    def _step_of(self, case: int, step: int) -> Event | None:
        while self._indexed < len(self._pending):
            event = self._pending[self._indexed]
            self._by_step[event.case, event.step] = event
            self._indexed += 1
        return self._by_step.get((case, step)) or self.log.step_of(case, step)

    def _number_of(self, learner: int, id: str) -> int | None:
        """Of a case, open or not; None: there is none. What no case can be called the database is not asked for."""
        case = self.machine.find(learner, id)
        if case is not None:
            return case.number
        if not _NAME.fullmatch(id):
            return None
        number = self._begun.get((learner, id)) or self.log.case_number(learner, id)
        # A follower may find a case in the log whose beginning it has not seen yet.
        return None if number is not None and number > self.machine.last_case else number

    # Learners.

    def create(self, name: str, learner: Any, *, follows: str | None = None) -> None:
        """Put a learner into the store, as it is now."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(f"name is {short_repr(name)}; use 1 to 64 letters, digits, and . _ ~ -")
        if self.machine.has(name):
            raise ArgumentError(f"there is a learner {name!r} already; store.learner({name!r}) is that one")
        lead = None if follows is None else self.machine.named(follows)
        data = loadable(learner)
        if learner.open_episodes:
            raise LearnerError("the learner has open episodes; let them end or abandon them, and begin cases here")
        if lead is not None:
            self._check_follows(lead, learner)
        number = max(self.machine.learners, default=0) + 1
        follows_number = None if lead is None else lead.number
        managed = Managed(number, name, learner_from(data), follows_number)  # an error comes before there is an event
        self.commit()
        self.log.add_learner(number, data)
        about = managed.as_json() | {"sha256": sha256(data).hexdigest()}
        self._record(Change(Kind.CREATE, number, body=canonical(about)))
        self.machine.add(managed)

    def _check_follows(self, lead: Managed, learner: Any) -> None:
        if lead.follows is not None:
            raise LearnerError(f"{lead.name} follows another learner itself; follow that one")
        support = getattr(learner, "support", None)
        differs = "it has no support" if support is None else pairs_difference(lead.support, support)
        if differs is not None:
            raise ArgumentError(
                f"a challenger of {lead.name} needs its states and actions, by the same names and in the same order; "
                f"{differs}. Fit it with the support of the learner that {lead.name} was made from (goalbound fit LOG "
                "--support LEARNER.npz; in Python read_log(..., support=learner.support))"
            )

    def promote(self, name: str) -> None:
        """A challenger takes the place of the learner that it follows."""
        self._record(self.machine.promote(self.machine.named(name).number))

    def acknowledge(self, name: str) -> None:
        """The alarms of a learner were seen."""
        self._record(self.machine.acknowledge(self.machine.named(name).number))

    # Cases.

    def begin(self, name: str, context: Any, state: int | str, *, id: str | None = None, allowed: Any = None) -> Answer:
        """Begin a case."""
        lead = self.machine.named(name)
        if id is None:
            id = secrets.token_hex(8)
        if not isinstance(id, str) or not _NAME.fullmatch(id):
            raise ArgumentError(f"id is {short_repr(id)}; use 1 to 64 letters, digits, and . _ ~ -")
        actions = actions_of(lead.support, allowed)
        number = self._number_of(lead.number, id)
        if number is not None:
            return self._begun_before(lead, id, number, state, begin_body(id, context, actions))
        if len(self.machine.cases) >= self.most_cases:
            raise TooManyCases(
                f"{len(self.machine.cases)} cases are open, as many as may be; let some end, abandon those that nobody "
                "works on, or raise most_cases"
            )
        change = self.machine.begin(lead.number, id, context, state, allowed=actions)
        assert change.case is not None
        self._begun[lead.number, id] = change.case
        return self._answer(lead, id, self._recorded(change))

    def _begun_before(self, lead: Managed, id: str, number: int, state: int | str, body: bytes) -> Answer:
        event = self._step_of(number, 0)
        if event is None:
            raise CaseExists("a case of this id was begun, and is in the archive; use another id")
        if event.body != body or event.next_state != lead.support.state(state):
            raise CaseExists(
                "a case of this id was begun already, with another context, state or allowed; use another id for "
                "another case"
            )
        return self._answer(lead, id, event, repeated=True)

    def observe(
        self, name: str, id: str, loss: Any, next_state: int | str, *,
        taken: int | str | None = None, step: int | None = None, allowed: Any = None,
    ) -> Answer:  # fmt: skip
        """What came of the proposed action, or of the one that was ``taken``."""
        lead = self.machine.named(name)
        if taken is None and allowed is None and type(id) is str:
            found = self.machine.find(lead.number, id)
            if (
                found is not None
                and (step is None or (type(step) is int and step == found.step + 1))
                and self.machine.advance(found, loss, next_state)
            ):
                return self._advanced(lead, found, loss + 0.0)
        actions = actions_of(lead.support, allowed)
        case = self._case_at(lead, id, step)
        if isinstance(case, Case):
            change = self.machine.observe(case, loss, next_state, taken=taken, allowed=actions)
            return self._answer(lead, id, self._recorded(change))
        given = Change(
            Kind.OBSERVE if taken is None else Kind.OVERRIDE, lead.number, case.case, case.step,
            None if taken is None else lead.support.action(taken), checked_loss(loss), lead.support.state(next_state),
            body_allowed(actions),
        )  # fmt: skip
        return self._again(lead, id, case, given)

    def _advanced(self, lead: Managed, case: Case, loss: float) -> Answer:
        """A case was advanced (:meth:`Machine.advance <goalbound.serve.store.machine.Machine.advance>`): record it."""
        seq, now = self.seq + 1, time.time_ns() // 1_000_000
        number, step, state, action, propensity = case.number, case.step, case.state, case.action, case.propensity
        done = action < 0
        proposed = None if done else action
        chain = chain_of_step(self.chain, seq, lead.number, number, step, loss, state, proposed, propensity, now)
        event = (
            seq, 2, lead.number, number, step, None, loss, state, None, proposed, propensity, None, now, chain,
        )  # fmt: skip
        self._pending.append(tuple.__new__(Event, event))
        self.seq, self.chain, case.seq = seq, chain, seq
        names = lead.support.action_names
        name = None if names is None or done else names[action]
        return tuple.__new__(Answer, (case.id, step, proposed, name, propensity, seq, done, False))

    def move(
        self, name: str, id: str, next_state: int | str, *, step: int | None = None, allowed: Any = None
    ) -> Answer:
        """The case came to another state by no action."""
        lead = self.machine.named(name)
        actions = actions_of(lead.support, allowed)
        case = self._case_at(lead, id, step)
        if isinstance(case, Case):
            return self._answer(lead, id, self._recorded(self.machine.move(case, next_state, allowed=actions)))
        following, body = lead.support.state(next_state), body_allowed(actions)
        return self._again(
            lead, id, case, Change(Kind.MOVE, lead.number, case.case, case.step, None, None, following, body)
        )

    def abandon(
        self, name: str, id: str, reason: str, *, step: int | None = None, missing_at_random: bool = False
    ) -> Answer:
        """The case ends without the goal."""
        lead = self.machine.named(name)
        check_bool(missing_at_random, "missing_at_random")
        case = self._case_at(lead, id, step)
        if isinstance(case, Case):
            change = self.machine.abandon(case, reason, missing_at_random=missing_at_random)
            return self._answer(lead, id, self._recorded(change))
        body = abandon_body(reason, missing_at_random=missing_at_random)
        return self._again(
            lead, id, case, Change(Kind.ABANDON, lead.number, case.case, case.step, None, None, None, body)
        )

    def act(self, name: str, id: str, *, allowed: Any = None) -> Answer:
        """What is proposed now; another action if it is not among the allowed ones."""
        lead = self.machine.named(name)
        case = self._open(lead, id)
        actions = actions_of(lead.support, allowed)
        change = None if actions is None else self.machine.act(case, actions)
        if change is not None:
            return self._answer(lead, id, self._recorded(change), step=case.step)
        name_of = lead.support.action_names
        action_name = None if name_of is None else name_of[case.action]
        return Answer(id, case.step, case.action, action_name, case.propensity, case.seq, done=False, repeated=True)

    def _recorded(self, change: Change) -> Event:
        event = self._record(change)
        case = self.machine.cases.get(change.case or 0)
        if case is not None:
            case.seq = event.seq
        return event

    def _open(self, lead: Managed, id: str) -> Case:
        case = self.machine.find(lead.number, id) if isinstance(id, str) else None
        if case is None:
            if isinstance(id, str) and self._number_of(lead.number, id) is not None:
                raise finished()
            raise case_not_found(lead)
        return case

    def _case_at(self, lead: Managed, id: str, step: int | None) -> Case | Event:
        """An open case whose next step this is; or the event that recorded the step before."""
        if step is not None and (type(step) is not int or not 1 <= step <= MOST_STEPS):
            step = check_int(step, "step", least=1, most=MOST_STEPS)
        case = self.machine.find(lead.number, id) if isinstance(id, str) else None
        if case is not None and (step is None or step == case.step + 1):
            return case
        if case is not None and step is not None and step > case.step + 1:
            raise StepGap(f"step {step} cannot be recorded: step {case.step + 1} is the next one", case.step + 1)
        number = self._number_of(lead.number, id) if isinstance(id, str) else None
        if number is None:
            raise case_not_found(lead)
        event = None if step is None else self._step_of(number, step)
        if event is not None:
            return event
        if case is None:
            raise finished()
        raise StepConflict(
            f"step {step} of this case was recorded, and is in the archive, so it cannot be compared; step "
            f"{case.step + 1} is the next one",
            case.step + 1,
        )

    def _again(self, lead: Managed, id: str, event: Event, given: Change) -> Answer:
        """The answer that was given, if what is given now is what was given then."""
        if event[1:9] != given[:8]:
            case = self.machine.find(lead.number, id)
            raise StepConflict(
                f"step {event.step} of this case was recorded already, with other content; "
                + ("the case has ended" if case is None else f"step {case.step + 1} is the next one"),
                None if case is None else case.step + 1,
            )
        return self._answer(lead, id, event, repeated=True)

    def _answer(
        self, lead: Managed, id: str, event: Event, *, repeated: bool = False, step: int | None = None
    ) -> Answer:
        names = lead.support.action_names
        name = None if names is None or event.action is None else names[event.action]
        number = event.step if step is None else step
        return Answer(id, number or 0, event.action, name, event.propensity, event.seq, event.action is None, repeated)

    # Reading.

    def events(self, after: int, limit: int) -> list[Event]:
        """Some of the log, in order; of a follower none that it has not seen."""
        return [event for event in self.log.events(after, limit) if event.seq <= self.seq]

    def events_of(self, case: int, *, limit: int, before: int | None = None) -> list[Event]:
        """The last so many events of a case that led to the state, or of those before event ``before``, in order; also
        those that wait for :meth:`commit`."""
        until = self.seq if before is None else min(before - 1, self.seq)
        waiting = [event for event in self._pending if event.case == case and event.seq <= until]
        found = self.log.events_of(case, until=until, limit=limit) + waiting
        return found[-limit:]

    def digest(self) -> dict[str, Any]:
        """Where the log is, and a digest of the state that it has led to."""
        return {"seq": self.seq, "chain": self.chain.hex(), "state": digest_of(self.machine)}

    def snapshot(self) -> SnapshotEntry:
        """Take a snapshot; the oldest are removed, but for the one that the log begins with."""
        self.commit()
        return take_snapshot(self)

    def compact(self) -> int:
        """Let the log begin here: a snapshot is taken, and all events before it are removed; how many."""
        entry = self.snapshot()
        return compact(self, entry)
