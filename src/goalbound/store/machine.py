"""The state of a store in memory: learners and open cases, and what each event does to them.

The same code runs when an event happens and when it is replayed. An event that cannot be is an error and changes
nothing; where something has changed before the error, it is :class:`Poisoned`, and the state must be rebuilt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from goalbound.errors import (
    ArgumentError,
    CaseFinished,
    InputError,
    LearnerError,
    LearnerNotFound,
    StoreDamaged,
)
from goalbound.learners.checks import allowed_pairs, checked_state
from goalbound.learners.wrapper import Wrapper, unwrap
from goalbound.models import Step, Support
from goalbound.models.validation import check_bool, short_repr
from goalbound.store.events import Event, Kind, canonical, content_of
from goalbound.store.proposals import Proposal, propose

MOST_STEPS = 2**40
WARM_CASES = 16_384
"""So many open cases are ready to go on; the others are packed until they do."""


class Poisoned(Exception):
    """An error after something had changed. Its cause is what went wrong."""


class Change(NamedTuple):
    """What an event is, before it has a number, a time and a chain: the fields of :class:`Event`."""

    kind: Kind
    learner: int
    case: int | None = None
    step: int | None = None
    taken: int | None = None
    loss: float | None = None
    next_state: int | None = None
    body: bytes | None = None
    action: int | None = None
    propensity: float | None = None
    others: bytes | None = None


@dataclass
class Managed:
    """A learner of the store.

    Attributes:
        number, name: of it.
        learner: what decides and learns.
        follows: the number of the learner whose cases it follows as a challenger; None: it has cases of its own.
        mixing: with which probability an action is drawn uniformly from the possible ones.
        seed: of these draws.
        learns_from_shadow: whether it learns from the steps of shadow cases.
        support: of the learner.
    """

    number: int
    name: str
    learner: Any
    follows: int | None = None
    mixing: float = 0.0
    seed: int = 0
    learns_from_shadow: bool = True
    support: Support = field(init=False)
    draws: bool = field(init=False)

    def __post_init__(self) -> None:
        inside = unwrap(self.learner)
        self.support = inside.support
        self.draws = bool(inside.settings.draws)

    def as_json(self) -> dict[str, Any]:
        """All but the learner itself."""
        return {
            "name": self.name, "follows": self.follows, "mixing": self.mixing, "seed": self.seed,
            "learns_from_shadow": self.learns_from_shadow,
        }  # fmt: skip


class Case:
    """An open case: where it is, what is proposed, and its episodes, one for each learner that takes part.

    The first of the episodes is the one that decides: that of the learner under which the case was begun, or, where a
    challenger that had not followed the case was promoted, still that of the learner which decided before.
    """

    __slots__ = ("action", "episodes", "id", "learner", "number", "propensity", "seq", "shadow", "state", "step")

    def __init__(self, number: int, id: str, learner: int, state: int, *, shadow: bool) -> None:
        self.number = number
        self.id = id
        self.learner = learner
        self.state = state
        self.shadow = shadow
        self.step = 0
        self.action = -1
        self.propensity: float | None = None
        self.seq = 0
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
        warm_cases: so many open cases are ready to go on; those that were not used for longest are packed.
    """

    def __init__(self) -> None:
        self.learners: dict[int, Managed] = {}
        self.cases: dict[int, Case] = {}
        self.last_case = 0
        self._by_name: dict[str, int] = {}
        self._by_id: dict[tuple[int, str], Case] = {}
        self.warm_cases = WARM_CASES
        self._warm: dict[int, Case] = {}  # those that were used last, the latest at the end

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
        return [one for one in self.learners.values() if one.follows == number]

    def find(self, learner: int, id: str) -> Case | None:
        """An open case."""
        return self._by_id.get((learner, id))

    def keep(self, case: Case) -> None:
        """A case is open."""
        self.cases[case.number] = case
        self._by_id[case.learner, case.id] = case
        self.last_case = max(self.last_case, case.number)
        self._touch(case)

    def _touch(self, case: Case) -> None:
        """A case is used; the one that was not for longest takes less memory from now on."""
        warm = self._warm
        warm.pop(case.number, None)
        warm[case.number] = case
        while len(warm) > self.warm_cases:
            for episode in warm.pop(next(iter(warm))).episodes.values():
                episode.park()

    def _end(self, case: Case) -> None:
        self._warm.pop(case.number, None)
        del self.cases[case.number]
        del self._by_id[case.learner, case.id]

    # What happens. Each takes what was given, in numbers, and returns the event.

    def begin(
        self, learner: int, id: str, context: Any, state: int | str, *,
        allowed: list[int] | None = None, shadow: bool = False,
    ) -> Change:  # fmt: skip
        """A case begins, and an action is proposed."""
        lead = self.learners[learner]
        if lead.follows is not None:
            name = self.learners[lead.follows].name
            raise LearnerError(f"{lead.name} follows {name} as its challenger; begin the case there")
        here = checked_state(lead.support, state, None)
        _check_allowed(lead.support, here, allowed)
        number = self.last_case + 1
        encoded = begin_body(id, context, allowed, shadow=shadow)
        context = content_of(encoded)["context"]  # as a replay will see it
        case = Case(number, id, learner, here, shadow=shadow)
        case.episodes[learner] = lead.learner.begin(context, id=number)
        with _poisons():
            for other in self.challengers(learner):
                with suppress(InputError):  # one that cannot read this context does not follow this case
                    case.episodes[other.number] = other.learner.begin(context, id=number)
            proposal = self._propose(case, allowed)
        self.keep(case)
        return Change(
            Kind.BEGIN, learner, number, 0, next_state=here, body=encoded, action=proposal.action,
            propensity=proposal.propensity, others=proposal.others,
        )  # fmt: skip

    def observe(
        self, case: Case, loss: float, next_state: int | str, *,
        taken: int | str | None = None, allowed: list[int] | None = None,
    ) -> Change:  # fmt: skip
        """What came of an action: the proposed one, or the one that was ``taken``."""
        lead = self.learners[case.learner]
        support = lead.support
        if taken is None and case.shadow:
            raise ArgumentError(
                f"case {short_repr(case.id)} is a shadow case: what is proposed is not played; say which action was"
            )
        played = case.action if taken is None else support.action(taken)
        following = support.state(next_state)
        amount = checked_loss(loss)
        if following != support.states:
            _check_allowed(support, following, allowed)
        step = Step(case.state, played, amount, following)
        self._outcome(case, self.learners[case.decider], step, overridden=taken is not None)
        with _poisons():
            for other in list(self._others(case)):
                self._follow(case, other, step)
            proposal = self._go_on(case, following, allowed)
        return Change(
            Kind.OBSERVE if taken is None else Kind.OVERRIDE, case.learner, case.number, case.step,
            played if taken is not None else None, amount, following, body_allowed(allowed), *proposal,
        )  # fmt: skip

    def _outcome(self, case: Case, one: Managed, step: Step, *, overridden: bool) -> None:
        episode = case.episodes[one.number]
        if case.shadow and not one.learns_from_shadow:
            with _poisons():
                episode.take_back()
                episode.moved_to(step.next_state, missing_at_random=True)
        elif overridden:
            episode.observe(step, overridden=True)
        else:
            episode.observe(step)

    def _follow(self, case: Case, challenger: Managed, step: Step) -> None:
        """A challenger learns from a step; one that cannot follows the case no further."""
        try:
            self._outcome(case, challenger, step, overridden=True)
        except InputError:
            case.episodes.pop(challenger.number).abandon("could not be followed", missing_at_random=True)

    def move(self, case: Case, next_state: int | str, *, allowed: list[int] | None = None) -> Change:
        """The case came to another state by no action that is learned from; its proposal was not played."""
        support = self.learners[case.learner].support
        following = support.state(next_state)
        if following != support.states:
            _check_allowed(support, following, allowed)
        with _poisons():
            for episode in case.episodes.values():
                episode.take_back()
                episode.moved_to(following)
            proposal = self._go_on(case, following, allowed)
        return Change(
            Kind.MOVE, case.learner, case.number, case.step, None, None, following, body_allowed(allowed), *proposal
        )

    def _go_on(self, case: Case, following: int, allowed: list[int] | None) -> Proposal:
        case.step += 1
        case.state = following
        if following == self.learners[case.learner].support.states:
            case.action, case.propensity = -1, None
            self._end(case)
            return Proposal(None, None, None)
        return self._propose(case, allowed)

    def act(self, case: Case, allowed: list[int]) -> Change | None:
        """Another proposal, among the allowed actions; None: the one that was made is among them."""
        support = self.learners[case.learner].support
        pairs = _check_allowed(support, case.state, allowed)
        if case.action in support.pair_action[pairs]:
            return None
        with _poisons():
            for episode in case.episodes.values():
                episode.take_back()
            proposal = self._propose(case, allowed)
        return Change(Kind.ACT, case.learner, case.number, None, None, None, None, body_allowed(allowed), *proposal)

    def abandon(self, case: Case, reason: str, *, missing_at_random: bool = False) -> Change:
        """The case ends without the goal."""
        encoded = abandon_body(reason, missing_at_random=missing_at_random)
        with _poisons():
            for episode in case.episodes.values():
                episode.abandon(reason, missing_at_random=missing_at_random)
        case.step += 1
        case.action, case.propensity = -1, None
        self._end(case)
        return Change(Kind.ABANDON, case.learner, case.number, case.step, body=encoded)

    def acknowledge(self, learner: int) -> Change:
        """The alarms of a learner were seen; it goes on."""
        one = self.learners[learner].learner
        while isinstance(one, Wrapper) and not callable(getattr(one, "acknowledge", None)):
            one = one.inner
        if not callable(getattr(one, "acknowledge", None)):
            raise LearnerError(
                f"{self.learners[learner].name} is no Monitored learner, and has no alarms to acknowledge"
            )
        one.acknowledge()
        return Change(Kind.ACKNOWLEDGE, learner)

    def promote(self, learner: int) -> Change:
        """A challenger takes the place of the learner that it follows, which follows it from now on.

        Open cases of the champion that the challenger has followed are its own from the next proposal on.
        """
        challenger = self.learners[learner]
        if challenger.follows is None:
            raise LearnerError(f"{challenger.name} follows no learner; only a challenger can be promoted")
        champion = self.learners[challenger.follows]
        # The two change places: cases are found under the number, and so the name, under which they were begun.
        challenger.learner, champion.learner = champion.learner, challenger.learner
        other = {champion.number: challenger.number, challenger.number: champion.number}
        with _poisons():
            for case in self.cases.values():
                if case.learner == champion.number:
                    _change_places(case, other)
        for one in (challenger, champion):
            one.__post_init__()
        return Change(Kind.PROMOTE, learner)

    def _others(self, case: Case) -> Iterator[Managed]:
        return (self.learners[number] for number in case.episodes if number != case.decider)

    def _propose(self, case: Case, allowed: list[int] | None) -> Proposal:
        proposal = propose(self.learners, case, allowed)
        assert proposal.action is not None
        case.action, case.propensity = proposal.action, proposal.propensity
        self._touch(case)
        return proposal

    # The past.

    def replay(self, event: Event) -> Change:
        """Do what an event of the log says was done; what comes of it is compared by the caller."""
        body = content_of(event.body)
        kind, allowed = Kind(event.kind), body.get("allowed")
        if kind is Kind.BEGIN:
            return self.begin(
                event.learner, body["id"], body["context"], event.next_state or 0, allowed=allowed,
                shadow=body.get("shadow", False),
            )  # fmt: skip
        if kind is Kind.ACKNOWLEDGE:
            return self.acknowledge(event.learner)
        if kind is Kind.PROMOTE:
            return self.promote(event.learner)
        case = self.cases.get(event.case or 0)
        if case is None:
            raise StoreDamaged(f"event {event.seq} is of case {event.case}, which is not open there")
        if kind in (Kind.OBSERVE, Kind.OVERRIDE):
            assert event.loss is not None
            assert event.next_state is not None
            return self.observe(case, event.loss, event.next_state, taken=event.taken, allowed=allowed)
        if kind is Kind.MOVE:
            assert event.next_state is not None
            return self.move(case, event.next_state, allowed=allowed)
        if kind is Kind.ACT:
            change = self.act(case, allowed or [])
            if change is None:
                raise StoreDamaged(f"event {event.seq} asks for a proposal that was made already")
            return change
        if kind is Kind.ABANDON:
            return self.abandon(case, body["reason"], missing_at_random=body.get("missing_at_random", False))
        raise StoreDamaged(f"event {event.seq} is of the kind {event.kind}, which this goalbound does not know")


class _poisons:  # noqa: N801 - a context manager, written as a class because it is on the way of every step
    """Inside it something has changed, or will half-way: an error is :class:`Poisoned`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, Poisoned):
            raise Poisoned(str(error)) from error


def actions_of(support: Support, allowed: Any) -> list[int] | None:
    """Actions by number or name, as increasing numbers; None: all."""
    if allowed is None:
        return None
    if not isinstance(allowed, list | tuple) or len(allowed) > 100_000:
        raise ArgumentError(f"allowed is {short_repr(allowed)}; give a list of actions, by number or name")
    try:
        return sorted({support.action(action) for action in allowed})
    except TypeError:
        raise ArgumentError(f"allowed is {short_repr(allowed)}; give a list of actions, by number or name") from None


def _change_places(case: Case, other: dict[int, int]) -> None:
    """Two learners of a case change places; one that comes to decide makes the proposal that was made its own."""
    before = case.episodes[case.decider]
    moved = {other.get(number, number): episode for number, episode in case.episodes.items()}
    first = case.learner if case.learner in moved else other.get(case.decider, case.decider)
    # The one that decides stands first, then the others by their numbers, as when a case is begun.
    case.episodes = {number: moved[number] for number in sorted(moved, key=lambda number: (number != first, number))}
    now = case.episodes[first]
    if now is not before:
        now.take_back()
        now.act(case.state, allowed=[case.action])


def finished(id: str) -> CaseFinished:
    """The error of a case that has ended."""
    return CaseFinished(f"case {short_repr(id)} has ended; nothing can follow, begin another one")


def _check_allowed(support: Support, state: int, allowed: list[int] | None) -> Any:
    return None if allowed is None else allowed_pairs(support, state, allowed)


def begin_body(id: str, context: Any, allowed: list[int] | None, *, shadow: bool) -> bytes:
    """What a case is begun with."""
    try:
        body = {"id": id, "context": _plain(context)}
    except RecursionError:
        raise ArgumentError("the context has lists inside of lists beyond measure; give a list of numbers") from None
    if allowed is not None:
        body["allowed"] = allowed
    if check_bool(shadow, "shadow"):
        body["shadow"] = True
    return _encoded(body)


def abandon_body(reason: str, *, missing_at_random: bool) -> bytes:
    """What a case is abandoned with."""
    if not isinstance(reason, str) or not reason:
        raise ArgumentError(f"reason is {short_repr(reason)}; give a few words, such as 'lost contact'")
    return _encoded({"reason": reason} | ({"missing_at_random": True} if missing_at_random else {}))


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def checked_loss(loss: Any) -> float:
    """A loss as it is recorded."""
    if isinstance(loss, np.generic):
        loss = loss.item()
    if isinstance(loss, bool) or not isinstance(loss, int | float):
        raise ArgumentError(f"loss is {short_repr(loss)}; it is a number")
    try:
        amount = float(loss) + 0.0  # no negative zero, which the database would not keep
    except OverflowError:
        raise ArgumentError(f"loss is {short_repr(loss)}; it is a number that is too large") from None
    if not math.isfinite(amount):  # the database would keep NaN as nothing, and the hash would not fit any more
        raise ArgumentError(f"loss is {amount}; it is a finite number")
    return amount


def body_allowed(allowed: list[int] | None) -> bytes | None:
    """What is recorded of a step besides its columns."""
    return None if allowed is None else canonical({"allowed": allowed})


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return canonical(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"the context or another text cannot be written as JSON ({error}); give numbers, texts, lists or "
            "dictionaries of them, and no NaN"
        ) from None
