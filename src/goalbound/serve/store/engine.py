"""What a store does with a request: the same request again is answered as before, a new one becomes an event.

One thread uses an engine. Nothing is acknowledged before :meth:`Engine.commit` has returned.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from goalbound.errors import (
    ArgumentError,
    CaseExists,
    LearnerError,
    StepConflict,
    StepGap,
    StorageFull,
    StoreDamaged,
    TooManyCases,
)
from goalbound.models.support_match import pairs_difference
from goalbound.models.validation import check_int, short_repr
from goalbound.serve.store.bodies import actions_of, allowed_body, begin_body, checked_loss
from goalbound.serve.store.events import Change, Event, Kind, Proposal, canonical, chain_of
from goalbound.serve.store.files import Head
from goalbound.serve.store.log import MANY, Log
from goalbound.serve.store.machine import Case, Machine, Managed, case_not_found, finished
from goalbound.serve.store.replay import Restored, restore
from goalbound.serve.store.snapshots import digest_of, learner_from, loadable, machine_of, snapshot_of

MOST_STEPS = 2**40
KEPT = 2
"""So many snapshots are kept."""
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
        most_cases: so many cases may be open at once.
        head: where it is noted how far the log has come; None: the database keeps its end by itself.

    Attributes:
        rebuilt: how often the state was rebuilt from the log.
        on_rebuilt: is called after each time.
        on_committed: is called after each commit, also those that are part of something else: all that was recorded
            until then is on the disk.
    """

    def __init__(self, log: Log, *, most_cases: int, head: Head | None = None) -> None:
        self.log, self.head = log, head
        self.most_cases = most_cases
        self._uncommitted: list[Event] = []
        self._by_step: dict[tuple[int | None, int | None], Event] = {}
        self._begun: dict[tuple[int, str], int] = {}  # the numbers of new cases
        self.rebuilt = 0
        self.on_rebuilt: Callable[[], None] | None = None
        self.on_committed: Callable[[], None] | None = None
        if head is not None:
            head.check(log)
        self._take_over(restore(log))

    def _take_over(self, restored: Restored) -> None:
        self.restored = restored
        self.machine: Machine = restored.machine
        self.seq, self.chain = restored.seq, restored.chain
        self.snapshot_seq = restored.snapshot or 0
        self.machine.last_case = max(self.machine.last_case, self.log.last_case())

    def rebuild(self) -> None:
        """Forget what was not committed, and what it did to the learners."""
        self._forget_uncommitted()
        self.rebuilt += 1
        self._take_over(restore(self.log))
        if self.on_rebuilt is not None:
            self.on_rebuilt()

    # Recording.

    @property
    def uncommitted(self) -> int:
        """How many events wait for :meth:`commit`."""
        return len(self._uncommitted)

    def commit(self) -> None:
        """Write what has happened, durably. Without space nothing of it has happened."""
        if self._uncommitted:
            try:
                begun = [(number, learner, id) for (learner, id), number in self._begun.items()]
                self.log.append(self._uncommitted, cases=begun)
            except StorageFull:
                self.rebuild()
                raise
            self._forget_uncommitted()
        if self.on_committed is not None:
            self.on_committed()

    def _forget_uncommitted(self) -> None:
        for kept in (self._uncommitted, self._by_step, self._begun):
            kept.clear()

    def _record(self, change: Change, proposal: Proposal) -> Event:
        fields = (self.seq + 1, int(change.kind), *change[1:], *proposal, time.time_ns() // 1_000_000)
        event = Event(*fields, chain_of(self.chain, fields))
        self.seq, self.chain = event.seq, event.chain
        self._uncommitted.append(event)
        if event.step is not None:
            self._by_step[event.case, event.step] = event
        self.machine.note(event.learner, event.case, event.seq, event.time)
        return event

    def step_of(self, case: int, step: int) -> Event | None:
        """The event that recorded a step of a case; None: there is none, or it was archived."""
        return self._by_step.get((case, step)) or self.log.step_of(case, step)

    def begun(self, cases: list[int]) -> dict[int, Event]:
        """The events that began these cases, by their numbers; archived ones are missing."""
        waiting = {case: self._by_step[case, 0] for case in cases if (case, 0) in self._by_step}
        return self.log.begun(cases) | waiting

    def number_of(self, learner: int, id: Any) -> int | None:
        """Of a case, open or not; None: there is none. What no case can be called the database is not asked for."""
        if not isinstance(id, str) or not _NAME.fullmatch(id):
            return None
        case = self.machine.find(learner, id)
        return case.number if case else self._begun.get((learner, id)) or self.log.case_number(learner, id)

    # Learners.

    def create(self, name: str, learner: Any, *, follows: str | None = None) -> None:
        """Put a learner into the store, as it is now."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(f"name is {short_repr(name)}; use 1 to 64 letters, digits, and . _ ~ -")
        if self.machine.has(name):
            raise ArgumentError(f"there is a learner {name!r} already; give another name, or use that one")
        lead = None if follows is None else self.machine.named(follows)
        data = loadable(learner)
        if learner.open_episodes:
            raise LearnerError("the learner has open episodes; let them end or abandon them, and begin cases here")
        if lead is not None:
            _check_follows(lead, learner)
        number = max(self.machine.learners, default=0) + 1
        follows_number = None if lead is None else lead.number
        managed = Managed(number, name, learner_from(data), follows_number)  # an error comes before there is an event
        self.commit()
        self.log.add_learner(number, data)
        about = managed.as_json() | {"sha256": sha256(data).hexdigest()}
        self._record(Change(Kind.CREATE, number, body=canonical(about)), Proposal())
        self.machine.add(managed)

    def promote(self, name: str) -> None:
        """A challenger takes the place of the learner that it follows."""
        change = Change(Kind.PROMOTE, self.machine.named(name).number)
        self._record(change, self.machine.apply(change))

    def acknowledge(self, name: str) -> None:
        """The alarms of a learner were seen."""
        change = Change(Kind.ACKNOWLEDGE, self.machine.named(name).number)
        self._record(change, self.machine.apply(change))

    # Cases.

    def begin(self, name: str, context: Any, state: int | str, *, id: str | None = None, allowed: Any = None) -> Answer:
        """Begin a case."""
        lead = self.machine.named(name)
        if id is None:
            id = secrets.token_hex(8)
        if not isinstance(id, str) or not _NAME.fullmatch(id):
            raise ArgumentError(f"id is {short_repr(id)}; use 1 to 64 letters, digits, and . _ ~ -")
        body = begin_body(id, context, actions_of(lead.support, allowed))
        change = Change(Kind.BEGIN, lead.number, None, 0, None, None, lead.support.state(state), body)
        number = self.number_of(lead.number, id)
        if number is not None:
            event = self.step_of(number, 0)
            if event is None:
                raise CaseExists("a case of this id was begun, and is in the archive; use another id")
            if (event.body, event.next_state) != (body, change.next_state):
                raise CaseExists(
                    "a case of this id was begun already, with another context, state or allowed; use another id for "
                    "another case"
                )
            return self._answer(lead, id, event, repeated=True)
        if len(self.machine.cases) >= self.most_cases:
            raise TooManyCases(
                f"{len(self.machine.cases)} cases are open, as many as may be; let some end, abandon those that nobody "
                "works on, or let more be open (most_cases; goalbound serve --most-cases)"
            )
        change = change._replace(case=self.machine.last_case + 1)
        proposal = self.machine.apply(change)
        self._begun[lead.number, id] = self.machine.last_case
        return self._answer(lead, id, self._record(change, proposal))

    def observe(
        self,
        name: str,
        id: str,
        loss: Any,
        next_state: int | str,
        *,
        taken: int | str | None = None,
        step: int | None = None,
        allowed: Any = None,
    ) -> Answer:
        """What came of the proposed action, or of the one that was ``taken``."""
        lead = self.machine.named(name)
        support = lead.support
        kind, played = (Kind.OBSERVE, None) if taken is None else (Kind.OVERRIDE, support.action(taken))
        body = allowed_body(actions_of(support, allowed))
        change = Change(kind, lead.number, None, step, played, checked_loss(loss), support.state(next_state), body)
        return self._do(lead, id, change)

    def move(
        self, name: str, id: str, next_state: int | str, *, step: int | None = None, allowed: Any = None
    ) -> Answer:
        """The case came to another state by no action."""
        lead = self.machine.named(name)
        body = allowed_body(actions_of(lead.support, allowed))
        state = lead.support.state(next_state)
        return self._do(lead, id, Change(Kind.MOVE, lead.number, None, step, None, None, state, body))

    def abandon(self, name: str, id: str, body: str, *, step: int | None = None) -> Answer:
        """The case ends without the goal; ``body`` says why (:func:`.bodies.abandon_body`)."""
        lead = self.machine.named(name)
        return self._do(lead, id, Change(Kind.ABANDON, lead.number, None, step, body=body))

    def act(self, name: str, id: str, *, allowed: Any = None) -> Answer:
        """What is proposed now; another action if it is not among the allowed ones."""
        lead = self.machine.named(name)
        case = self.open_case(lead, id)
        actions = actions_of(lead.support, allowed)
        if actions is not None and not self.machine.is_allowed(case, actions):
            change = Change(Kind.ACT, lead.number, case.number, body=allowed_body(actions))
            event = self._record(change, self.machine.apply(change))
            return self._answer(lead, id, event._replace(step=case.step))
        names = lead.support.action_names
        action_name = None if names is None else names[case.action]
        return Answer(id, case.step, case.action, action_name, case.propensity, case.seq, done=False, repeated=True)

    def open_case(self, lead: Managed, id: Any) -> Case:
        """The open case of this id; an error says whether there was one."""
        case = self.machine.find(lead.number, id) if isinstance(id, str) else None
        if case is None:
            raise case_not_found(lead) if self.number_of(lead.number, id) is None else finished()
        return case

    def _do(self, lead: Managed, id: Any, change: Change) -> Answer:
        """Apply a change to an open case whose next step it is; answer one that was recorded as it was answered."""
        step = change.step
        if step is not None:
            step = check_int(step, "step", least=1, most=MOST_STEPS)
        case = self.machine.find(lead.number, id) if isinstance(id, str) else None
        following = None if case is None else case.step + 1
        if case is not None and step in (None, following):
            change = change._replace(case=case.number, step=following)
            return self._answer(lead, id, self._record(change, self.machine.apply(change)))
        if step is not None and following is not None and step > following:
            raise StepGap(f"step {step} cannot be recorded: step {following} is the next one", following)
        number = self.number_of(lead.number, id)
        if number is None:
            raise case_not_found(lead)
        event = None if step is None else self.step_of(number, step)
        next_one = "the case has ended" if following is None else f"step {following} is the next one"
        if event is None and case is None:
            raise finished()
        if event is None:
            raise StepConflict(
                f"step {step} of this case was recorded, and is in the archive, so it cannot be compared; {next_one}",
                following,
            )
        if event[1:9] != change._replace(case=number):
            raise StepConflict(
                f"step {step} of this case was recorded already, with other content; {next_one}", following
            )
        return self._answer(lead, id, event, repeated=True)

    def _answer(self, lead: Managed, id: str, event: Event, *, repeated: bool = False) -> Answer:
        action, names = event.action, lead.support.action_names
        name = None if names is None or action is None else names[action]
        return Answer(id, event.step or 0, action, name, event.propensity, event.seq, action is None, repeated)

    # Reading.

    def events(self, after: int, limit: int) -> list[Event]:
        """Some of the log, in order."""
        check_int(after, "after", least=0, most=MANY)
        check_int(limit, "limit", least=0, most=MANY)
        return list(self.log.events(after, limit))

    def events_of(self, case: int, *, limit: int, before: int | None = None) -> list[Event]:
        """The last so many events of a case, or of those before event ``before``, in order; also those that wait for
        :meth:`commit`."""
        until = self.seq if before is None else before - 1
        waiting = [event for event in self._uncommitted if event.case == case and event.seq <= until]
        return (self.log.events_of(case, until=until, limit=limit) + waiting)[-limit:]

    def digest(self) -> dict[str, Any]:
        """Where the log is, and a digest of the state that it has led to."""
        return {"seq": self.seq, "chain": self.chain.hex(), "state": digest_of(self.machine)}

    def snapshot(self) -> int:
        """Keep a snapshot of the state; the event after which it was taken."""
        self.commit()
        self.log.put_snapshot(self.seq, self.chain, snapshot_of(self.machine), keep=KEPT)
        self.snapshot_seq = self.seq
        return self.seq

    def compact(self) -> int:
        """Let the log begin here: a snapshot is taken, and all events before it are removed; how many."""
        seq = self.snapshot()
        if seq == 0:
            return 0
        # The events are about to be removed, and then there is nothing else to read the state from.
        if digest_of(machine_of(self.log.snapshot(seq))) != digest_of(self.machine):
            raise StoreDamaged(f"the snapshot after event {seq} holds another state than this one; nothing was removed")
        return self.log.rebase(seq)


def _check_follows(lead: Managed, learner: Any) -> None:
    if lead.follows is not None:
        raise LearnerError(f"{lead.name} follows another learner itself; follow that one")
    support = getattr(learner, "support", None)
    differs = "it has no support" if support is None else pairs_difference(lead.support, support)
    if differs is not None:
        raise ArgumentError(
            f"a challenger of {lead.name} needs its states and actions, by the same names and in the same order; "
            f"{differs}. Fit it with the support of the learner that {lead.name} was made from (goalbound fit LOG "
            "--support LEARNER.npz)"
        )
