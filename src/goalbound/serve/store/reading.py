"""What a store can say about a case or a learner, without changing anything."""

from __future__ import annotations

import copy
from typing import Any
from weakref import WeakSet

from goalbound.around.around import has_own
from goalbound.around.monitor import Monitored
from goalbound.around.runbook import Guarded
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.card import learner_card
from goalbound.learners.checks import allowed_pairs
from goalbound.learners.layers import layers, unwrap
from goalbound.serve.store.bodies import actions_of
from goalbound.serve.store.cases import Case, Managed, columns_of
from goalbound.serve.store.engine import Answer, Engine
from goalbound.serve.store.events import Event, Kind, content_of
from goalbound.serve.store.machine import Machine, case_not_found, context_error
from goalbound.serve.store.proposals import propose

RECENT = 100
"""The losses of so many cases are shown."""

MOST_TOLD = 1000
"""Of the history of a case so many events are told at once: all others who ask wait meanwhile."""


def case_of(engine: Engine, name: str, id: str, *, before: int | None = None, limit: int = MOST_TOLD) -> dict[str, Any]:
    """A case, open or not, and the end of its history: the last so many events, or of those before event ``before``.

    ``earlier`` says whether there are events before these.
    """
    lead = engine.machine.named(name)
    number = engine._number_of(lead.number, id) if isinstance(id, str) else None
    if number is None:
        raise case_not_found(lead)
    case = engine.machine.find(lead.number, id)
    events = engine.events_of(number, before=before, limit=limit + 1)
    last = engine.events_of(number, limit=1) if case is None else []
    begun = engine._step_of(number, 0)
    first = {} if begun is None else content_of(begun.body)
    return {
        "case": id,
        "open": case is not None,
        "step": (last[0].step if last else None) if case is None else case.step,
        "state": None if case is None else case.state,
        "state_name": None if case is None else _state_name(lead, case.state),
        "action": None if case is None else case.action,
        "action_name": None if case is None else _action_name(lead, case.action),
        "context": first.get("context"),
        "history": [event_as_json(engine.machine, event) for event in events[max(len(events) - limit, 0) :]],
        "earlier": len(events) > limit,
    }


def place_of(engine: Engine, name: str, id: str) -> tuple[int, str | None]:
    """The state in which an open case is, and its name where states have names."""
    lead = engine.machine.named(name)
    state, names = engine._open(lead, id).state, lead.support.state_names
    return state, None if names is None else names[state]


def event_as_json(machine: Machine, event: Event) -> dict[str, Any]:
    """An event as people read it, with names."""
    lead = machine.learners[event.learner]
    body = content_of(event.body)
    found: dict[str, Any] = {"seq": event.seq, "kind": Kind(event.kind).name.lower(), "step": event.step}
    for key, value in (
        ("taken", _action_name(lead, event.taken)), ("loss", event.loss),
        ("next_state", _state_name(lead, event.next_state)), ("action", _action_name(lead, event.action)),
        ("propensity", event.propensity), ("allowed", body.get("allowed")), ("reason", body.get("reason")),
    ):  # fmt: skip
        if value is not None:
            found[key] = value
    if event.others:
        found["others"] = {
            machine.learners[int(number)].name: _action_name(lead, action)
            for number, action in content_of(event.others).items()
        }
    found["time"] = event.time
    return found


def explanation(engine: Engine, name: str, id: str) -> Any:
    """Why the learner proposes what it does in an open case."""
    lead = engine.machine.named(name)
    case = engine._open(lead, id)
    decider = engine.machine.learners[case.decider]
    inside = unwrap(decider.learner)
    if not hasattr(inside, "explain"):
        raise LearnerError(f"{name} is a {type(inside).__name__}, which cannot explain itself")
    allowed = _allowed_at(engine, case.seq)
    return case.episodes[case.decider].explain(allowed=allowed)


def _allowed_at(engine: Engine, seq: int) -> list[int] | None:
    """The actions that were possible at an event; None: all, or it is in the archive."""
    events = [event for event in engine._pending if event.seq == seq] or list(engine.log.events(seq - 1, 1))
    return content_of(events[0].body).get("allowed") if events and events[0].seq == seq else None


def policy_bounds(engine: Engine, name: str, context: Any, policy: Any = None) -> Any:
    """What a policy loses at least and at most."""
    lead = engine.machine.named(name)
    bounds = getattr(lead.learner, "policy_bounds", None)
    if bounds is None:
        raise LearnerError(
            f"{name} is a {type(unwrap(lead.learner)).__name__}, which has no confidence sets, and so no bounds"
        )
    try:
        return bounds(context, policy)
    except ArgumentError as error:
        wrong = context_error(lead)
        raise wrong if policy is None else ArgumentError(f"{wrong}; and as policy an action for each state") from error


def proposal_now(engine: Engine, name: str, id: str, allowed: Any = None) -> Answer:
    """What :meth:`Engine.act` would answer if it were asked next, with the draws that it would make; nothing changes.

    Where the proposal that was made is not among the allowed actions, a copy of the learner is asked for another one.
    """
    lead = engine.machine.named(name)
    made = engine.act(name, id)
    actions = actions_of(lead.support, allowed)
    case = engine.machine.find(lead.number, id)
    assert case is not None
    if actions is None or made.action in lead.support.pair_action[allowed_pairs(lead.support, case.state, actions)]:
        return made
    asked = Case(case.number, case.id, case.learner, case.state)
    decider = copy_with_episode(engine.machine.learners[case.decider].learner, case.number)
    episode = decider.episode(case.number)
    episode.take_back()
    asked.episodes = {case.decider: episode}
    proposal = propose(engine.machine.learners, asked, actions)
    action_name = _action_name(lead, proposal.action)
    return made._replace(
        action=proposal.action, name=action_name if isinstance(action_name, str) else None,
        propensity=proposal.propensity, repeated=False,
    )  # fmt: skip


def copy_with_episode(learner: Any, name: str | int) -> Any:
    """A copy of a learner with one of its open episodes, that of this id, in the time that this one alone takes.

    The copy is to be asked for actions in this episode, and thrown away: visits of other episodes whose outcome is
    awaited are still those of the learner itself. Nobody else may use the learner meanwhile.

    >>> from goalbound import LRCSSP, Support
    >>> learner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1)
    >>> episodes = [learner.begin([1.0], id=id) for id in "abc"]
    >>> [episode.id for episode in copy_with_episode(learner, "b").open_episodes], len(learner.open_episodes)
    (['b'], 3)
    """
    inner = unwrap(learner)
    one = inner.episode(name)
    every = (inner._open, inner._loaded, inner._named)
    inner._open, inner._loaded, inner._named = WeakSet([one]), [], {one.id: one}
    try:
        return copy.deepcopy(learner, {id(other): other for other in every[0] if other is not one})
    finally:
        inner._open, inner._loaded, inner._named = every


def alarms(learner: Any) -> list[dict[str, str]]:
    """What a learner, or one inside it, has noticed: contradictions of its model, changes, losses above its plans."""
    return [
        {"kind": kind, "text": str(getattr(one, kind))}
        for one in layers(learner)
        for kind in ("alarm", "change", "excess")
        if has_own(one, kind) and getattr(one, kind) is not None
    ]


def alarm_count(learner: Any) -> int:
    """How many alarms a learner, or one inside it, has that were not acknowledged; for threads that only look."""
    found = 0
    for one in layers(learner):
        if isinstance(one, Monitored):
            found += one.detector.alarm_count
        elif isinstance(one, Guarded):
            found += one.excess is not None
    return found + (getattr(unwrap(learner), "alarm", None) is not None)


def learner_status(engine: Engine, name: str) -> dict[str, Any]:
    """What a learner is and guarantees, how many steps it has seen, its open cases, its alarms."""
    lead = engine.machine.named(name)
    inside = unwrap(lead.learner)
    follows = None if lead.follows is None else engine.machine.learners[lead.follows].name
    support = lead.support
    return {
        "name": name,
        "learner": repr(lead.learner),
        "card": learner_card(lead.learner).as_json(),
        "states": support.states,
        "actions": support.actions,
        "state_names": None if support.state_names is None else list(support.state_names),
        "action_names": None if support.action_names is None else list(support.action_names),
        "goal_name": support.goal_name,
        "context_size": getattr(inside, "context_size", None),
        "columns": columns_of(lead.learner),
        "unit": getattr(lead.learner, "unit", None),
        "steps": inside._steps,
        "open_cases": sum(case.learner == lead.number for case in engine.machine.cases.values()),
        "abandoned": dict(getattr(inside, "abandoned", {})),
        "follows": follows,
        "challengers": [one.name for one in engine.machine.challengers(lead.number)],
        "recent": engine.log.loss_counts(lead.number, RECENT, until=engine.seq)._asdict(),
        "alarms": alarms(lead.learner),
        "caveats": list(getattr(inside, "caveats", ())),
    }


def _state_name(lead: Managed, state: int | None) -> str | int | None:
    names = lead.support.state_names
    if state is None or names is None:
        return state
    return lead.support.goal_name if state == lead.support.states else names[state]


def _action_name(lead: Managed, action: int | None) -> str | int | None:
    names = lead.support.action_names
    return action if action is None or names is None or action < 0 else names[action]
