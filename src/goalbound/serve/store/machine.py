"""The state of a store in memory: learners and open cases, and what each event does to them.

The same code runs when an event happens and when it is replayed. An event that cannot be is an error and changes
nothing; where something has changed before the error, it is :class:`Poisoned`, and the state must be rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from goalbound.around.around import has_own
from goalbound.errors import (
    ArgumentError,
    CaseFinished,
    CaseNotFound,
    InputError,
    LearnerError,
    LearnerNotFound,
    StoreDamaged,
)
from goalbound.learners.advance import ENDED, IMPOSSIBLE
from goalbound.learners.checks import allowed_pairs, checked_state
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.layers import layers, unwrap
from goalbound.models import Step, Support
from goalbound.models.validation import short_repr
from goalbound.serve.store.bodies import abandon_body, begin_body, body_allowed, check_no_shadow, checked_loss
from goalbound.serve.store.cases import Case, Change, Managed, columns_of
from goalbound.serve.store.events import Event, Kind, canonical, content_of
from goalbound.serve.store.proposals import Proposal, propose

MOST_STEPS = 2**40
WARM_CASES = 16_384
"""So many open cases are ready to go on; the others are packed until they do."""


class Poisoned(Exception):
    """An error after something had changed. Its cause is what went wrong."""


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
        self, learner: int, id: str, context: Any, state: int | str, *, allowed: list[int] | None = None
    ) -> Change:
        """A case begins, and an action is proposed."""
        lead = self.learners[learner]
        if lead.follows is not None:
            name = self.learners[lead.follows].name
            raise LearnerError(f"{lead.name} follows {name} as its challenger; begin the case there")
        here = checked_state(lead.support, state, None)
        _check_allowed(lead.support, here, allowed)
        number = self.last_case + 1
        encoded = begin_body(id, context, allowed)
        context = content_of(encoded)["context"]  # as a replay will see it
        case = Case(number, id, learner, here)
        try:
            case.episodes[learner] = lead.learner.begin(context, id=number)
        except ArgumentError as error:
            raise context_error(lead) from error
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
        support = self.learners[case.learner].support
        played = case.action if taken is None else support.action(taken)
        following = support.state(next_state)
        amount = checked_loss(loss)
        if following != support.states:
            _check_allowed(support, following, allowed)
        step = Step(case.state, played, amount, following)
        _check_leads(self.learners[case.decider], step)
        episode = case.episodes[case.decider]
        if taken is None:
            episode.observe(step)
        else:
            episode.observe(step, overridden=True)
        with _poisons():
            for other in list(self._others(case)):
                self._follow(case, other, step)
            proposal = self._go_on(case, following, allowed)
        return Change(
            Kind.OBSERVE if taken is None else Kind.OVERRIDE, case.learner, case.number, case.step,
            played if taken is not None else None, amount, following, body_allowed(allowed), *proposal,
        )  # fmt: skip

    def advance(self, case: Case, loss: Any, next_state: Any) -> bool:
        """:meth:`observe` of the proposed action of a case with one plain learner, in one go; the case says the rest.

        False: that cannot be done here, and nothing has changed; :meth:`observe` does it, or says what is wrong.
        """
        episodes = case.episodes
        if len(episodes) != 1 or type(loss) is not float:
            return False
        [(number, episode)] = episodes.items()
        one = self.learners[number]
        advance = one.advance
        if advance is None or type(episode) is not LearnerEpisode or episode.learner is not advance.learner:
            return False
        loss = advance.learner._plain_loss(loss)
        if not 0.0 <= loss <= 1.0:  # one above the cap of a unit may be counted as the cap
            return False
        if type(next_state) is str:
            next_state = one.support.state(next_state)
        elif type(next_state) is not int:
            return False
        place = advance.place(episode, next_state)
        if place == IMPOSSIBLE:
            return False
        try:
            action = advance(episode, place, loss, next_state)
        except Exception as error:
            raise Poisoned(str(error)) from error
        case.step += 1
        case.state, case.action = next_state, action
        if action == ENDED:
            case.propensity = None
            self._end(case)
        else:
            case.propensity = None if one.draws else 1.0
            self._touch(case)
        return True

    def _follow(self, case: Case, challenger: Managed, step: Step) -> None:
        """A challenger learns from a step; one that cannot follows the case no further."""
        try:
            case.episodes[challenger.number].observe(step, overridden=True)
        except InputError:
            case.episodes.pop(challenger.number).abandon("could not be followed")

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

    def acknowledge(self, learner: int, *, outermost: bool = False) -> Change:
        """The alarms of a learner, and of all that is around it, were seen; it goes on.

        ``outermost``: only those of the outermost that has alarms, which is what events of version 1.0.0 say.
        """
        found = [one for one in layers(self.learners[learner].learner) if has_own(one, "acknowledge")]
        if not found:
            raise LearnerError(
                f"{self.learners[learner].name} is no Monitored or Guarded learner, and has no alarms to acknowledge"
            )
        for one in found[:1] if outermost else found:
            one.acknowledge()
        return Change(Kind.ACKNOWLEDGE, learner, body=None if outermost else canonical({"all": True}))

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
        for one in (challenger, champion):
            one.__post_init__()
        other = {champion.number: challenger.number, challenger.number: champion.number}
        with _poisons():
            for case in self.cases.values():
                if case.learner == champion.number:
                    _change_places(case, other, self.learners)
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
            check_no_shadow(body.get("shadow"), f"event {event.seq}")
            return self.begin(event.learner, body["id"], body["context"], event.next_state or 0, allowed=allowed)
        if kind is Kind.ACKNOWLEDGE:
            return self.acknowledge(event.learner, outermost=not body)
        if kind is Kind.PROMOTE:
            return self.promote(event.learner)
        case = self.cases.get(event.case or 0)
        if case is None:
            raise StoreDamaged(f"event {event.seq} is of case {event.case}, which is not open there")
        if kind in (Kind.OBSERVE, Kind.OVERRIDE):
            assert event.loss is not None
            assert event.next_state is not None
            if kind is Kind.OBSERVE and event.body is None and self.advance(case, event.loss, event.next_state):
                action = None if case.action == ENDED else case.action
                return Change(
                    kind, case.learner, case.number, case.step, None, event.loss, case.state, None, action,
                    case.propensity,
                )  # fmt: skip
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


def context_error(lead: Managed) -> ArgumentError:
    """The error of a context that a learner cannot read; its cause says which value is wrong."""
    inside = unwrap(lead.learner)
    columns = columns_of(lead.learner)
    needed = (
        f"{getattr(inside, 'context_size', 1)} weights, 0 or larger, that sum to 1" if columns is None
        else f"a value for {', '.join(columns)}, each in the range of the learner's map"
    )  # fmt: skip
    return ArgumentError(f"{lead.name} cannot read the context; give {needed}")


def _check_leads(one: Managed, step: Step) -> None:
    """An error, with the ways out of a store, where a learner cannot learn from a step because of where it led."""
    support = one.support
    pair = support.pair(step.state, step.action)
    if step.next_state not in support.next_state[support.row(pair)]:
        following = support.state_name(int(step.next_state))
        raise ArgumentError(
            f"{support.pair_name(pair)} led to {following}, which the support of {one.name} does not allow. To go on, "
            "report the step without a loss: the case moves there, and nothing is learned. To learn from such steps, "
            f"fit a learner with a [support] that allows it (goalbound fit), create it with --follows {one.name}, and "
            "promote it"
        )


def _check_allowed(support: Support, state: int, allowed: list[int] | None) -> Any:
    return None if allowed is None else allowed_pairs(support, state, allowed)
