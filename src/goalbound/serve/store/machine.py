"""The state of a store in memory: learners and open cases, and what each change does to them.

The same code runs when something happens and when it is replayed. A change that cannot be is an error and changes
nothing; where something has changed before the error, it is :class:`Poisoned`, and the state must be rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from goalbound.around.around import has_own
from goalbound.around.monitor import Monitored
from goalbound.around.runbook import Guarded
from goalbound.errors import (
    ArgumentError,
    CaseFinished,
    CaseNotFound,
    GoalboundError,
    InputError,
    LearnerError,
    LearnerNotFound,
    StoreDamaged,
)
from goalbound.learners.checks import allowed_pairs, checked_state
from goalbound.learners.layers import layers, unwrap
from goalbound.models import Step, Support
from goalbound.models.validation import short_repr
from goalbound.serve.store.events import Change, Kind, Proposal, canonical, content_of


class Poisoned(Exception):
    """An error after something had changed. Its cause is what went wrong."""


@dataclass
class Managed:
    """A learner of the store.

    Attributes:
        number, name: of it.
        learner: what decides and learns.
        follows: the number of the learner whose cases it follows as a challenger; None: it has cases of its own.
        support: of the learner.
        draws: whether it draws its actions.
        counts_early: whether its visits count in the order in which they begin.
        watched: whether something around it raises alarms.
        alarmed: when the first of its alarms was raised that were not acknowledged, in milliseconds since 1970; None:
            there is none. Information only.
    """

    number: int
    name: str
    learner: Any
    follows: int | None = None
    support: Support = field(init=False)
    draws: bool = field(init=False)
    counts_early: bool = field(init=False)
    watched: bool = field(init=False)
    alarmed: int | None = None

    def __post_init__(self) -> None:
        inside = unwrap(self.learner)
        self.support = inside.support
        self.draws = bool(inside.settings.draws)
        self.counts_early = getattr(inside.settings, "is_optimistic", False)
        self.watched = any(isinstance(layer, Monitored | Guarded) for layer in layers(self.learner))

    def as_json(self) -> dict[str, Any]:
        """All but the learner itself."""
        return {"name": self.name, "follows": self.follows}


class Case:
    """An open case: where it is, what is proposed, and its episodes, one for each learner that takes part.

    The first of the episodes decides: that of the learner under which the case was begun, or, where a challenger that
    had not followed the case was promoted, still that of the learner which decided before.
    """

    __slots__ = ("action", "episodes", "id", "learner", "number", "propensity", "seq", "since", "state", "step")

    def __init__(self, number: int, id: str, learner: int, state: int) -> None:
        self.number = number
        self.id = id
        self.learner = learner
        self.state = state
        self.step = 0
        self.action = -1
        self.propensity: float | None = None
        self.seq = 0  # of the event that made the proposal
        self.since = 0  # milliseconds since 1970, of the last event; information only
        self.episodes: dict[int, Any] = {}

    @property
    def decider(self) -> int:
        """The number of the learner that decides."""
        return next(iter(self.episodes))


class Machine:
    """Learners and open cases.

    Attributes:
        learners: by number.
        cases: the open ones, by number.
        last_case: the largest number that a case has had.
    """

    def __init__(self) -> None:
        self.learners: dict[int, Managed] = {}
        self.cases: dict[int, Case] = {}
        self.last_case = 0
        self._by_name: dict[str, int] = {}
        self._by_id: dict[tuple[int, str], Case] = {}

    # What is there.

    def add(self, managed: Managed) -> None:
        """A learner is in the store."""
        self.learners[managed.number] = managed
        self._by_name[managed.name] = managed.number

    def named(self, name: str) -> Managed:
        """The learner of this name."""
        number = self._by_name.get(name)
        if number is None:
            known = ", ".join(map(repr, self._by_name)) or "none"
            raise LearnerNotFound(f"there is no learner {short_repr(name)}; there are {known}")
        return self.learners[number]

    def has(self, name: str) -> bool:
        """Whether there is a learner of this name."""
        return name in self._by_name

    def challengers(self, number: int) -> list[Managed]:
        """The learners that follow another one, in the order of their numbers."""
        return [managed for managed in self.learners.values() if managed.follows == number]

    def note(self, number: int, case: int | None, seq: int, time: int) -> None:
        """What happened with a learner, and with a case, has this number and time."""
        followed = self.cases.get(case or 0)
        if followed is not None:
            followed.seq, followed.since = seq, time
        for managed in self.learners.values():
            if managed.watched and number in (managed.number, managed.follows):
                managed.alarmed = (managed.alarmed or time) if alarm_count(managed.learner) else None

    def find(self, learner: int, id: str) -> Case | None:
        """An open case."""
        return self._by_id.get((learner, id))

    def keep(self, case: Case) -> None:
        """A case is open."""
        self.cases[case.number] = case
        self._by_id[case.learner, case.id] = case
        self.last_case = max(self.last_case, case.number)

    def _end(self, case: Case) -> Proposal:
        case.action, case.propensity = -1, None
        del self.cases[case.number]
        del self._by_id[case.learner, case.id]
        return Proposal()

    # What happens.

    def apply(self, change: Change) -> Proposal:
        """Do what a change says, and propose what follows."""
        content = content_of(change.body)
        if change.kind is Kind.BEGIN:
            return self._begin(change, content["id"], content["context"], content.get("allowed"))
        if change.kind is Kind.ACKNOWLEDGE:
            return self._acknowledge(self.learners[change.learner])
        if change.kind is Kind.PROMOTE:
            return self._promote(self.learners[change.learner])
        case = self.cases.get(change.case or 0)
        if case is None:
            raise StoreDamaged(f"case {change.case} is not open there")
        if change.kind is Kind.ABANDON:
            return self._abandon(case, content["reason"], missing_at_random=content.get("missing_at_random", False))
        allowed = content.get("allowed")
        if change.kind is Kind.ACT:
            return self._act(case, allowed or [])
        if change.next_state is None:
            raise StoreDamaged("a step has no next state")
        if change.kind is Kind.MOVE:
            return self._move(case, change.next_state, allowed)
        return self._observe(case, change, allowed)

    def _begin(self, change: Change, id: str, context: Any, allowed: list[int] | None) -> Proposal:
        lead = self.learners[change.learner]
        if lead.follows is not None:
            name = self.learners[lead.follows].name
            raise LearnerError(f"{lead.name} follows {name} as its challenger; begin the case there")
        state = checked_state(lead.support, change.next_state or 0, None)
        _check_allowed(lead.support, state, allowed)
        number = self.last_case + 1
        if change.case != number:
            raise StoreDamaged(f"case {change.case} follows case {self.last_case}")
        case = Case(number, id, lead.number, state)
        try:
            case.episodes[lead.number] = lead.learner.begin(context, id=number)
        except ArgumentError as error:
            raise context_error(lead) from error
        with _poisons():
            for other in self.challengers(lead.number):
                with suppress(GoalboundError):  # one that cannot read this context does not follow this case
                    case.episodes[other.number] = other.learner.begin(context, id=number)
            proposal = self._propose(case, allowed)
        self.keep(case)
        return proposal

    def _observe(self, case: Case, change: Change, allowed: list[int] | None) -> Proposal:
        """The proposed action was played, or the one that is ``taken``."""
        support, state = self.learners[case.learner].support, change.next_state
        assert state is not None
        assert change.loss is not None
        played = case.action if change.taken is None else change.taken
        if state != support.states:
            _check_allowed(support, state, allowed)
        step = Step(case.state, played, change.loss, state)
        try:
            case.episodes[case.decider].observe(step, overridden=change.taken is not None)
        except InputError:  # nothing has changed
            _check_leads(self.learners[case.decider], step)
            raise
        with _poisons():
            for number in list(case.episodes)[1:]:
                with _following(case, number):
                    case.episodes[number].observe(step, overridden=True)
            return self._go_on(case, state, allowed)

    def _move(self, case: Case, state: int, allowed: list[int] | None) -> Proposal:
        """The case came to another state by no action that is learned from; its proposal was not played."""
        support = self.learners[case.learner].support
        if state != support.states:
            _check_allowed(support, state, allowed)
        with _poisons():
            for episode in case.episodes.values():
                episode.take_back()
                episode.moved_to(state)
            return self._go_on(case, state, allowed)

    def _go_on(self, case: Case, state: int, allowed: list[int] | None) -> Proposal:
        case.step += 1
        case.state = state
        if state == self.learners[case.learner].support.states:
            return self._end(case)
        return self._propose(case, allowed)

    def is_allowed(self, case: Case, allowed: list[int]) -> bool:
        """Whether the proposal of a case is among these actions; an error if none of them is possible."""
        support = self.learners[case.learner].support
        return case.action in support.pair_action[_check_allowed(support, case.state, allowed)]

    def _act(self, case: Case, allowed: list[int]) -> Proposal:
        """Another proposal, among the allowed actions."""
        if self.is_allowed(case, allowed):
            raise StoreDamaged("a proposal was made already")
        with _poisons():
            for episode in case.episodes.values():
                episode.take_back()
            return self._propose(case, allowed)

    def _abandon(self, case: Case, reason: str, *, missing_at_random: bool) -> Proposal:
        with _poisons():
            for episode in case.episodes.values():
                episode.abandon(reason, missing_at_random=missing_at_random)
        case.step += 1
        return self._end(case)

    def _propose(self, case: Case, allowed: list[int] | None) -> Proposal:
        """Ask the learners of a case for an action in its present state.

        A challenger whose visits count in the order in which they begin awaits the outcome of the action that is
        proposed.
        """
        decider, others = case.decider, {}
        case.action = _choose(case.episodes[decider], case.state, allowed)
        case.propensity = None if self.learners[decider].draws else 1.0
        for number, episode in list(case.episodes.items())[1:]:
            with _following(case, number):
                others[str(number)] = _choose(episode, case.state, allowed)
                if self.learners[number].counts_early:
                    episode.begins(case.action)
        return Proposal(case.action, case.propensity, canonical(others) if others else None)

    def _acknowledge(self, managed: Managed) -> Proposal:
        """The alarms of a learner, and of all that is around it, were seen; it goes on."""
        watchers = [layer for layer in layers(managed.learner) if has_own(layer, "acknowledge")]
        if not watchers:
            raise LearnerError(f"{managed.name} is no Monitored or Guarded learner, and has no alarms to acknowledge")
        for layer in watchers:
            layer.acknowledge()
        return Proposal()

    def _promote(self, challenger: Managed) -> Proposal:
        """A challenger takes the place of the learner that it follows, which follows it from now on.

        Open cases of the champion that the challenger has followed are its own from the next proposal on.
        """
        if challenger.follows is None:
            raise LearnerError(f"{challenger.name} follows no learner; only a challenger can be promoted")
        champion = self.learners[challenger.follows]
        # The two change places: cases are found under the number, and so the name, under which they were begun.
        challenger.learner, champion.learner = champion.learner, challenger.learner
        challenger.alarmed, champion.alarmed = champion.alarmed, challenger.alarmed
        for managed in (challenger, champion):
            managed.__post_init__()
        other = {champion.number: challenger.number, challenger.number: champion.number}
        with _poisons():
            for case in self.cases.values():
                if case.learner == champion.number:
                    _change_places(case, other, self.learners)
        return Proposal()


@contextmanager
def _poisons() -> Iterator[None]:
    """Inside it something has changed, or will half-way: an error is :class:`Poisoned`."""
    try:
        yield
    except Exception as error:
        raise Poisoned(str(error)) from error


@contextmanager
def _following(case: Case, number: int) -> Iterator[None]:
    """A challenger that cannot learn from a step, or plan for the next one, follows the case no further.

    The learner that decides goes on: what a challenger cannot do is no reason to refuse a step.
    """
    try:
        yield
    except GoalboundError:
        case.episodes.pop(number).abandon("could not be followed")


def _choose(episode: Any, state: int, allowed: list[int] | None) -> int:
    return int(episode.act(state) if allowed is None else episode.act(state, allowed=allowed))


def _change_places(case: Case, other: dict[int, int], learners: dict[int, Managed]) -> None:
    """Two learners of a case change places; one that comes to decide makes the proposal that was made its own."""
    before = case.episodes[case.decider]
    moved = {other.get(number, number): episode for number, episode in case.episodes.items()}
    first = case.learner if case.learner in moved else other.get(case.decider, case.decider)
    # The one that decides stands first, then the others by their numbers, as when a case is begun.
    case.episodes = {number: moved[number] for number in sorted(moved, key=lambda number: (number != first, number))}
    now = case.episodes[first]
    if now is not before and learners[first].counts_early:
        now.begins(case.action)
    elif now is not before:
        now.take_back()
        now.act(case.state, allowed=[case.action])


# Errors hold neither ids of cases nor values of contexts: they come into logs of programs and of the service.


def case_not_found(lead: Managed) -> CaseNotFound:
    """The error of an id that no case of a learner has."""
    return CaseNotFound(f"{lead.name} has no case of this id; begin it first")


def finished() -> CaseFinished:
    """The error of a case that has ended."""
    return CaseFinished("the case has ended; nothing can follow, begin another one")


def alarm_count(learner: Any) -> int:
    """How many alarms a learner, or one inside it, has that were not acknowledged; for threads that only look."""
    count = 0
    for layer in layers(learner):
        if isinstance(layer, Monitored):
            count += layer.detector.alarm_count
        elif isinstance(layer, Guarded):
            count += layer.excess is not None
    return count + (getattr(unwrap(learner), "alarm", None) is not None)


def columns_of(learner: Any) -> list[str] | None:
    """The covariates that a learner with a map reads; None: it is shown contexts."""
    return next((list(layer.map.column_names) for layer in layers(learner) if has_own(layer, "map")), None)


def context_error(lead: Managed) -> ArgumentError:
    """The error of a context that a learner cannot read; its cause says which value is wrong."""
    columns = columns_of(lead.learner)
    if columns is None:
        needed = f"{getattr(unwrap(lead.learner), 'context_size', 1)} weights, 0 or larger, that sum to 1"
    else:
        needed = f"a value for {', '.join(columns)}, each in the range of the learner's map"
    return ArgumentError(f"{lead.name} cannot read the context; give {needed}")


def _check_leads(lead: Managed, step: Step) -> None:
    """An error, with the ways out of a store, where a learner cannot learn from a step because of where it led."""
    support = lead.support
    pair = support.pair(step.state, step.action)
    if step.next_state not in support.next_state[support.row(pair)]:
        following = support.state_name(int(step.next_state))
        raise ArgumentError(
            f"{support.pair_name(pair)} led to {following}, which the support of {lead.name} does not allow. To go on, "
            "report the step without a loss: the case moves there, and nothing is learned. To learn from such steps, "
            f"fit a learner with a [support] that allows it (goalbound fit), create it with --follows {lead.name}, and "
            "promote it"
        )


def _check_allowed(support: Support, state: int, allowed: list[int] | None) -> Any:
    return None if allowed is None else allowed_pairs(support, state, allowed)
