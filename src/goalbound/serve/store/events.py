"""What a store records: events, one after another, each chained to the one before it by a hash."""

from __future__ import annotations

import json
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from goalbound.errors import StoreDamaged

CHAIN_BYTES = 16
FIRST_CHAIN = bytes(CHAIN_BYTES)
"""What the first event is chained to."""


class Kind(IntEnum):
    """What happened."""

    CREATE = 0
    """A learner was put into the store."""
    BEGIN = 1
    """A case was begun, and an action proposed."""
    OBSERVE = 2
    """The proposed action was played; another one is proposed."""
    OVERRIDE = 3
    """Somebody played an action, maybe another one; another one is proposed."""
    MOVE = 4
    """The case came to another state by no action."""
    ACT = 5
    """The proposed action is not possible; another one is proposed."""
    ABANDON = 6
    """The case ended without the goal."""
    ACKNOWLEDGE = 7
    """The alarms of a learner were acknowledged."""
    PROMOTE = 8
    """A challenger took the place of the learner that it follows."""


class Change(NamedTuple):
    """What an event says happened, before it has a number, a time and a chain: the first fields of it.

    A request and a replay both become a change, which :class:`~goalbound.serve.store.machine.Machine` applies.
    """

    kind: Kind
    learner: int
    case: int | None = None
    step: int | None = None
    taken: int | None = None
    loss: float | None = None
    next_state: int | None = None
    body: str | None = None


class Proposal(NamedTuple):
    """What a change leads to.

    Attributes:
        action: the number of the action that is proposed; None: the case has ended.
        propensity: the probability with which it was chosen; None: not known.
        others: what challengers would have proposed, ``{number of the learner: action}`` as canonical JSON.
    """

    action: int | None = None
    propensity: float | None = None
    others: str | None = None


class Event(NamedTuple):
    """A row of the log. None where a kind has no such thing.

    Attributes:
        seq: 1, 2, ... without holes.
        kind: a :class:`Kind`.
        learner: the number of the learner.
        case: the number of the case.
        step: of the case: 0 when it is begun; one more for what came of each action, and when it is abandoned.
        taken: the action that was played.
        loss: of that action, in the learner's unit.
        next_state: where it led; for BEGIN, where the case is.
        body: everything else that was given, as canonical JSON.
        action: what was proposed.
        propensity: the probability with which it was; None: not known.
        others: what challengers would have proposed, as canonical JSON.
        time: milliseconds since 1970; information only, never an input to a learner.
        chain: a hash of all of this and of the event before.
    """

    seq: int
    kind: int
    learner: int
    case: int | None
    step: int | None
    taken: int | None
    loss: float | None
    next_state: int | None
    body: str | None
    action: int | None
    propensity: float | None
    others: str | None
    time: int
    chain: bytes


def chained(previous: bytes, event: Event) -> bytes:
    """The chain of an event: a hash of the chain before it and of all fields but its own chain, as JSON.

    >>> event = Event(1, Kind.BEGIN, 1, 1, 0, None, None, 2, "{}", 0, 1.0, None, 0, b"")
    >>> chained(FIRST_CHAIN, event) == chained(FIRST_CHAIN, event._replace(next_state=3))
    False
    """
    return chain_of(previous, event[:-1])


def chain_of(previous: bytes, fields: tuple[Any, ...]) -> bytes:
    """The chain of an event with these fields, all but the chain itself."""
    return blake2b(previous + json.dumps(fields).encode(), digest_size=CHAIN_BYTES).digest()


def check_chain(previous: bytes, event: Event, *, follows: int) -> None:
    """An error unless an event follows number ``follows`` and is as it was written."""
    if event.seq != follows + 1:
        raise StoreDamaged(f"event {event.seq} follows event {follows}; {event.seq - follows - 1} are missing")
    try:
        fine = chained(previous, event) == event.chain
    except TypeError:  # a damaged row may hold anything
        fine = False
    if not fine:
        raise StoreDamaged(
            f"event {event.seq} is not as it was written: its hash does not fit to its content and to the event before "
            "it. Restore a back-up"
        )


def canonical(content: Any) -> str:
    """JSON in one form only: the same content has the same bytes.

    >>> canonical({"b": [1.5, None], "a": "x"})
    '{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_of(data: str | None) -> dict[str, Any]:
    """What :func:`canonical` wrote; nothing where there is none."""
    if data is None:
        return {}
    try:
        found = json.loads(data)
    except ValueError as error:
        raise StoreDamaged(f"the body of an event is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise StoreDamaged("the body of an event is no object")
    return found
