"""What a store can say about a case or a learner, without changing anything; and learners that leave it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from goalbound.around.around import bytes_of, has_own
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.card import learner_card
from goalbound.learners.layers import layers, unwrap
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.events import Event, Kind, content_of
from goalbound.serve.store.log import Log, Outcome
from goalbound.serve.store.machine import Case, Machine, Managed, case_not_found, columns_of, context_error
from goalbound.serve.store.snapshots import learner_from

RECENT = 100
"""The losses of so many cases are shown."""

MOST_TOLD = 1000
"""Of the history of a case so many events are told at once: all others who ask wait meanwhile."""


def case_of(engine: Engine, name: str, id: str, *, before: int | None = None, limit: int = MOST_TOLD) -> dict[str, Any]:
    """A case, open or not, and the end of its history: the last so many events, or of those before event ``before``.

    ``earlier`` says whether there are events before these.
    """
    lead = engine.machine.named(name)
    number = engine.number_of(lead.number, id)
    if number is None:
        raise case_not_found(lead)
    case = engine.machine.find(lead.number, id)
    events = engine.events_of(number, before=before, limit=limit + 1)
    last = engine.events_of(number, limit=1) if case is None else []
    begun = engine.step_of(number, 0)
    first = {} if begun is None else content_of(begun.body)
    now = dict.fromkeys(("state", "state_name", "action", "action_name"))
    if case is not None:
        now |= {
            "state": case.state,
            "state_name": _state_name(lead, case.state),
            "action": case.action,
            "action_name": _action_name(lead, case.action),
        }
    return {
        "case": id,
        "open": case is not None,
        "step": (last[0].step if last else None) if case is None else case.step,
        **now,
        "context": first.get("context"),
        "history": [event_as_json(engine.machine, event) for event in events[max(len(events) - limit, 0) :]],
        "earlier": len(events) > limit,
    }


def place_of(lead: Managed, case: Case) -> dict[str, Any]:
    """The state in which an open case is, and its name where states have names."""
    names = lead.support.state_names
    return {"state": case.state, "state_name": None if names is None else names[case.state]}


def open_cases(engine: Engine, name: str, *, after: int, limit: int, search: str = "") -> list[dict[str, Any]]:
    """The open cases after this number and what is proposed in each, in the order in which they were begun; with
    ``search`` only those whose id has this text in it."""
    lead = engine.machine.named(name)
    wanted = (
        case
        for case in engine.machine.cases.values()
        if case.learner == lead.number and case.number > after and search in case.id
    )
    cases = list(islice(wanted, limit))
    begun = engine.begun([case.number for case in cases])  # in one query, as all others who ask wait meanwhile
    found: list[dict[str, Any]] = []
    for case in cases:
        event = begun.get(case.number)
        times = {"since": None if event is None else event.time, "last": case.since}
        context = None if event is None else content_of(event.body).get("context")
        answer = engine.act(name, case.id)._asdict()
        found.append({"number": case.number, **place_of(lead, case), **answer, **times, "context": context})
    return found


def history(engine: Engine, name: str, *, limit: int = 1000) -> dict[str, Any]:
    """How a learner did over time: the cases that reached the goal lately, and its alarms."""
    lead = engine.machine.named(name)
    outcomes = engine.log.outcomes(lead.number, limit)
    return {
        "unit": getattr(lead.learner, "unit", None),
        "cases": [{name: value for name, value in outcome._asdict().items() if name != "case"} for outcome in outcomes],
        "alarms": alarms(lead.learner),
        "alarmed": lead.alarmed,
    }


def recent_losses(log: Log, learner: int) -> dict[str, Any]:
    """What the last and the first cases that reached the goal lost; the first only where they are other ones."""
    latest, first = log.outcomes(learner, RECENT), log.outcomes(learner, RECENT, first=True)
    if {outcome.case for outcome in first} & {outcome.case for outcome in latest}:
        first = []
    return {
        "cases": len(latest),
        "mean": _mean_loss(latest),
        "first_cases": len(first),
        "first_mean": _mean_loss(first),
        "steps": sum(outcome.steps for outcome in latest),
        "overridden": sum(outcome.overridden for outcome in latest),
    }


def _mean_loss(outcomes: list[Outcome]) -> float | None:
    return sum(outcome.loss for outcome in outcomes) / len(outcomes) if outcomes else None


def event_as_json(machine: Machine, event: Event) -> dict[str, Any]:
    """An event as people read it, with names."""
    lead = machine.learners[event.learner]
    body = content_of(event.body)
    found: dict[str, Any] = {"seq": event.seq, "kind": Kind(event.kind).name.lower(), "step": event.step}
    values = {
        "taken": _action_name(lead, event.taken),
        "loss": event.loss,
        "next_state": _state_name(lead, event.next_state),
        "action": _action_name(lead, event.action),
        "propensity": event.propensity,
        "allowed": body.get("allowed"),
        "reason": body.get("reason"),
    }
    found |= {key: value for key, value in values.items() if value is not None}
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
    case = engine.open_case(lead, id)
    decider = engine.machine.learners[case.decider]
    inside = unwrap(decider.learner)
    if not hasattr(inside, "explain"):
        raise LearnerError(f"{name} is a {type(inside).__name__}, which cannot explain itself")
    allowed = _allowed_at(engine, case.seq)
    return case.episodes[case.decider].explain(allowed=allowed)


def _allowed_at(engine: Engine, seq: int) -> list[int] | None:
    """The actions that were possible at an event; None: all, or it is in the archive."""
    events = [event for event in engine._uncommitted if event.seq == seq] or list(engine.log.events(seq - 1, 1))
    return content_of(events[0].body).get("allowed") if events and events[0].seq == seq else None


def policy_bounds(engine: Engine, name: str, context: Any, policy: Any = None) -> Any:
    """What a policy loses at least and at most."""
    lead = engine.machine.named(name)
    if not getattr(unwrap(lead.learner), "has_sets", False):
        raise LearnerError(
            f"{name} is a {type(unwrap(lead.learner)).__name__}, which has no confidence sets, and so no bounds"
        )
    try:
        return lead.learner.policy_bounds(context, policy)
    except ArgumentError as error:
        wrong = context_error(lead)
        raise wrong if policy is None else ArgumentError(f"{wrong}; and as policy an action for each state") from error


def alarms(learner: Any) -> list[dict[str, str]]:
    """What a learner, or one inside it, has noticed: contradictions of its model, changes, losses above its plans."""
    return [
        {"kind": kind, "text": str(getattr(one, kind))}
        for one in layers(learner)
        for kind in ("alarm", "change", "excess")
        if has_own(one, kind) and getattr(one, kind) is not None
    ]


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
        "recent": recent_losses(engine.log, lead.number),
        "alarms": alarms(lead.learner),
        "alarmed": lead.alarmed,
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


def relearn(engine: Engine, name: str, new_name: str) -> None:
    """Put a learner into the store that has forgotten what a monitored one has noticed to have changed.

    It follows the cases of that one as a challenger from now on; or, if that one is a challenger itself, those of the
    learner that it follows.
    """
    old = engine.machine.named(name)
    again = getattr(old.learner, "relearned", None)
    if again is None or not hasattr(old.learner, "alarms"):
        raise LearnerError(
            f"{name} is no Monitored learner, so nothing is known of changes; learn a log anew (goalbound fit --since) "
            f"and put that learner in as a challenger (goalbound store create ... --follows {name})"
        )
    if not old.learner.alarms:
        raise LearnerError(
            f"{name} has noticed no change, or it was acknowledged; learn a log anew since a time that you know: "
            "goalbound fit --since"
        )
    lead = old if old.follows is None else engine.machine.learners[old.follows]
    engine.create(new_name, again(), follows=lead.name)


def relearned_name(name: str) -> str:
    """What such a learner is called if nothing else is said."""
    return f"{name}-relearned"


def file_of(machine: Machine, name: str) -> bytes:
    """The file of a learner as it is now. Its open cases stay in the store; what is proposed in them counts in the file
    as visits whose outcomes may have been anything."""
    copy = learner_from(bytes_of(machine.named(name).learner).tobytes())
    inside = unwrap(copy)
    for episode in inside.open_episodes:
        if episode.state is not None:
            episode.moved_to(episode.state)
    for held in (inside._open, inside._loaded, inside._named):
        held.clear()
    return bytes_of(copy).tobytes()
