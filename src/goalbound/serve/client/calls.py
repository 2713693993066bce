"""What is sent and what is understood of the answers; how it is sent is elsewhere."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from goalbound import errors
from goalbound.errors import AccessRefused, CaseError, GoalboundError, InputError, ServiceError, StoreError

RETRIED = frozenset({408, 429, 502, 503, 504, 507})
"""Statuses after which the same is asked again."""
LISTED = 1000
"""So many open cases are asked for at once."""
_LONGEST_WAIT, _FIRST_WAIT = 5.0, 0.05
_BY_CODE: dict[str, type[Any]] = {
    one.code: one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, CaseError | StoreError) and "code" in vars(one)
}


@dataclass(frozen=True)
class Call:
    """A request. All of them may be sent again: the service tells a repeated one from a new one.

    Attributes:
        method, path, body: what is sent.
        answer: what the answer has, at least.
    """

    method: str
    path: str
    body: Any = None
    answer: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """What a service proposes.

    Attributes:
        case: the id of the case.
        step: how many steps of it were reported.
        action: the number of the action; None: the case has ended.
        name: its name, where actions have names.
        propensity: the probability with which it was proposed; None: not known.
        seq: the number of the event in the log.
        done: whether the case has ended.
    """

    case: str
    step: int
    action: int | None
    name: str | None
    propensity: float | None
    seq: int
    done: bool

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Proposal:
        """From an answer; what it has besides is left out."""
        return cls(**{name: answer[name] for name in _PROPOSAL})


_PROPOSAL = tuple(Proposal.__dataclass_fields__)


def begin(learner: str, context: Any, state: int | str, *, id: str | None, allowed: Sequence[int | str] | None) -> Call:
    """Begin a case; without an id it gets one here, so that asking again does not begin another."""
    body: dict[str, Any] = {"context": _plain(context), "state": _plain(state), "id": id or uuid.uuid4().hex}
    if allowed is not None:
        body["allowed"] = _plain(list(allowed))
    return Call("POST", f"/v1/learners/{_name(learner)}/cases", body, _PROPOSAL)


def report(
    learner: str, proposal: Proposal, next_state: int | str, *, loss: float, action: int | str | None = None,
    allowed: Sequence[int | str] | None = None,
) -> Call:  # fmt: skip
    """What came of an action."""
    if loss is None:  # left out, the service would take it for a move
        raise InputError("loss is None; it is a number. If the case came there by itself, that is moved_to(state)")
    return _step(learner, proposal, next_state, {"loss": loss, "action": action, "allowed": allowed})


def moved(
    learner: str, proposal: Proposal, next_state: int | str, *, allowed: Sequence[int | str] | None = None
) -> Call:
    """The case went there by itself."""
    return _step(learner, proposal, next_state, {"allowed": allowed})


def _step(learner: str, proposal: Proposal, next_state: int | str, more: dict[str, Any]) -> Call:
    body: dict[str, Any] = {"step": proposal.step + 1, "next_state": _plain(next_state)}
    if more["allowed"] is not None:
        more["allowed"] = list(more["allowed"])
    body |= {key: _plain(value) for key, value in more.items() if value is not None}
    return Call("POST", f"{case_path(learner, proposal.case)}/steps", body, _PROPOSAL)


def abandon(learner: str, proposal: Proposal, reason: str, *, missing_at_random: bool) -> Call:
    """The case ends without the goal."""
    body = {"step": proposal.step + 1, "reason": reason, "missing_at_random": missing_at_random}
    return Call("POST", f"{case_path(learner, proposal.case)}/abandon", body, _PROPOSAL)


def propose(learner: str, case: str, allowed: Sequence[int | str] | None) -> Call:
    """What is proposed now, among these actions."""
    body = {} if allowed is None else {"allowed": _plain(list(allowed))}
    return Call("POST", f"{case_path(learner, case)}/proposal", body, _PROPOSAL)


def bounds(learner: str, context: Any, policy: Any) -> Call:
    """What a policy loses."""
    body = {"context": _plain(context)} | ({} if policy is None else {"policy": _plain(policy)})
    return Call("POST", f"/v1/learners/{_name(learner)}/policy-bounds", body)


def learners() -> Call:
    """All learners."""
    return Call("GET", "/v1/learners", answer=("learners",))


def cases(learner: str, after: int, limit: int) -> Call:
    """Some of the open cases: those after this number."""
    return Call("GET", f"/v1/learners/{_name(learner)}/cases?after={after}&limit={limit}", answer=("cases",))


def acknowledge(learner: str) -> Call:
    """The alarms of a learner were seen."""
    return Call("POST", f"/v1/learners/{_name(learner)}/acknowledge", answer=("alarms",))


def place_in(answer: Mapping[str, Any]) -> int | str | None:
    """The state in which a case is, by its name where states have names; None: the answer does not say."""
    state: int | str | None = answer.get("state") if answer.get("state_name") is None else answer["state_name"]
    return state


def show(*parts: str) -> Call:
    """Read something."""
    return Call("GET", "/v1/" + "/".join(map(_name, parts)))


def case_path(learner: str, case: str) -> str:
    """Of a case."""
    return f"/v1/learners/{_name(learner)}/cases/{_name(case)}"


def understood(status: int, text: bytes, *, place: str, has: Sequence[str] = ()) -> Any:
    """The answer as Python has it; an error is raised as the class that it is on the other side.

    Args:
        status, text: of the answer.
        place: that was asked.
        has: what an answer without error has, at least.
    """
    try:
        found = json.loads(text)
    except ValueError:  # also of bytes that are no text
        found = None
    if status < 400:
        if status < 300 and isinstance(found, dict) and all(name in found for name in has):
            return found
        raise ServiceError(
            f"{place}: the answer, of status {status}, is not that of a decision service; give the address at which "
            "goalbound serve, or a proxy before it, answers itself",
            status=status,
        )
    if not isinstance(found, dict):
        found = {}
    detail, code = str(found.get("detail") or f"{place}: the answer is {status}"), str(found.get("code", ""))
    error = error_of(status, code, detail, found.get("expected_step"))
    if isinstance(error, errors.NotLeader) and isinstance(found.get("leader"), str):
        error.leader = found["leader"]
    raise error


def error_of(status: int, code: str, detail: str, expected_step: Any = None) -> GoalboundError:
    """The error of an answer."""
    if status in (401, 403):
        return AccessRefused(detail, status=status, code=code)
    kind = _BY_CODE.get(code)
    if kind is not None and issubclass(kind, CaseError):
        return kind(detail, expected_step if isinstance(expected_step, int) else None)
    if kind is not None:
        found: GoalboundError = kind(detail)
        return found
    if status in (400, 413, 415, 422):
        return InputError(detail)
    return ServiceError(detail, status=status, code=code)


def shown(url: Any) -> str:
    """An address (``httpx.URL``) as an error may say it: without a user and a password of a proxy."""
    return str(url.copy_with(userinfo=b""))


def wait_before(attempt: int, retry_after: str | None) -> float:
    """How long to wait before asking again: longer each time, not all clients at once, and as the service says."""
    own = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 16)) * random.uniform(0.5, 1.0)
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        return max(own, min(float(retry_after[:6]), _LONGEST_WAIT))
    return own


def _name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"{name!r:.80} is no name of a learner or a case")
    return quote(name, safe="")


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as those of Python, without importing it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
