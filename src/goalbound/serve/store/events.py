"""What a store records: events, one after another, each chained to the one before it by a hash."""

from __future__ import annotations

import json
import struct
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


ENDS_STEP = frozenset({Kind.OBSERVE, Kind.OVERRIDE, Kind.MOVE})
"""The kinds that say what came of an action."""


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
    body: bytes | None
    action: int | None
    propensity: float | None
    others: bytes | None
    time: int
    chain: bytes


_FIXED = struct.Struct("<qBqqqqdqqdqqqH")


def chained(previous: bytes, event: Event) -> bytes:
    """The chain of an event, from that of the event before it and all fields but its own chain.

    >>> one = Event(1, Kind.BEGIN, 1, 1, 0, None, None, 2, b"{}", 0, 1.0, None, 0, b"")
    >>> chained(FIRST_CHAIN, one) == chained(FIRST_CHAIN, one._replace(next_state=3))
    False
    """
    return chain_of(previous, *event[:-1])


def chain_of(
    previous: bytes, seq: int, kind: int, learner: int, case: int | None, step: int | None, taken: int | None,
    loss: float | None, next_state: int | None, body: bytes | None, action: int | None, propensity: float | None,
    others: bytes | None, time: int,
) -> bytes:  # fmt: skip
    """The chain of an event with these fields. What is not there is told from a zero."""
    present = (
        (case is not None) | (step is not None) << 1 | (taken is not None) << 2 | (loss is not None) << 3
        | (next_state is not None) << 4 | (body is not None) << 5 | (action is not None) << 6
        | (propensity is not None) << 7 | (others is not None) << 8
    )  # fmt: skip
    fixed = _FIXED.pack(
        seq, kind, learner, case or 0, step or 0, taken or 0, loss or 0.0, next_state or 0, action or 0,
        propensity or 0.0, time, len(body or b""), len(others or b""), present,
    )  # fmt: skip
    return blake2b(previous + fixed + (body or b"") + (others or b""), digest_size=CHAIN_BYTES).digest()


def chain_of_step(
    previous: bytes, seq: int, learner: int, case: int, step: int, loss: float, next_state: int, action: int | None,
    propensity: float | None, time: int,
) -> bytes:  # fmt: skip
    """:func:`chain_of` an OBSERVE event without a body: what most events are."""
    if action is None:
        fixed = _FIXED.pack(seq, 2, learner, case, step, 0, loss, next_state, 0, 0.0, time, 0, 0, 0b11011)
    elif propensity is None:
        fixed = _FIXED.pack(seq, 2, learner, case, step, 0, loss, next_state, action, 0.0, time, 0, 0, 0b1011011)
    else:
        fixed = _FIXED.pack(
            seq, 2, learner, case, step, 0, loss, next_state, action, propensity, time, 0, 0, 0b11011011
        )
    return blake2b(previous + fixed, digest_size=CHAIN_BYTES).digest()


def check_chain(previous: bytes, event: Event, *, follows: int) -> None:
    """An error unless an event follows number ``follows`` and is as it was written."""
    if event.seq != follows + 1:
        raise StoreDamaged(f"event {event.seq} follows event {follows}; {event.seq - follows - 1} are missing")
    try:
        fine = chained(previous, event) == event.chain
    except (struct.error, TypeError):  # a damaged row may hold anything
        fine = False
    if not fine:
        raise StoreDamaged(
            f"event {event.seq} is not as it was written: its hash does not fit to its content and to the event before "
            "it. Restore a back-up"
        )


def canonical(content: Any) -> bytes:
    """JSON in one form only: the same content has the same bytes.

    >>> canonical({"b": [1.5, None], "a": "x"})
    b'{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def content_of(data: bytes | None) -> dict[str, Any]:
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
