"""A client of the decision service: retries that cannot duplicate, typed errors, with and without asyncio.

Each call is described once, as a generator that yields requests and is given their answers. :class:`Client` runs it to
its end and returns the result; :class:`AsyncClient` returns something to await.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from goalbound import errors
from goalbound.errors import (
    AccessRefused,
    CaseError,
    GoalboundError,
    InputError,
    ServiceError,
    ServiceUnreachable,
    StoreError,
)
from goalbound.extras import missing_library

try:
    import httpx
except ModuleNotFoundError as error:
    raise missing_library(error) from error

__all__ = [
    "AsyncCase",
    "AsyncClient",
    "AsyncLearner",
    "Case",
    "CaseCalls",
    "Client",
    "Learner",
    "LearnerCalls",
    "Proposal",
    "ServiceCalls",
]

RETRIED = frozenset({408, 429, 502, 503, 504, 507})
"""Statuses after which the same is asked again."""
LISTED = 1000
"""So many open cases are asked for at once."""
LONGEST_WAIT = 2.0
"""Before asking again, in seconds."""
_FIRST_WAIT = 0.05
_BY_CODE: dict[str, type[Any]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CaseError | StoreError) and "code" in vars(kind)
}
P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")
Names = Sequence[int | str]


@dataclass(frozen=True)
class Request:
    """What is sent. All of it may be sent again: the service tells a repeated request from a new one.

    Attributes:
        method, path, body: of it.
        answer: what the answer has, at least.
    """

    method: str
    path: str
    body: Any = None
    answer: tuple[str, ...] = ()


Steps = Generator[Request, Any, T]
"""The requests of a call, whose answers it is given; and its result."""


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


class Sync:
    """Runs its calls to the end."""

    client: Any


class Async:
    """Returns something to await from its calls."""

    client: Any


class call(Generic[P, T]):  # noqa: N801 - a decorator
    """A method that is described by its requests; it returns a result, or in the asynchronous colour an awaitable."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self.steps = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, instance: Sync, owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Async, owner: Any) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, instance: None, owner: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        """The method of an instance; of a class, the function that describes it."""
        if instance is None:
            return self.steps

        def run(*arguments: P.args, **options: P.kwargs) -> Any:
            return instance.client.run(self.steps(instance, *arguments, **options))

        return update_wrapper(run, self.steps)


class CaseCalls(Generic[C]):
    """The calls of a case.

    Attributes:
        proposal: what is proposed now.
        state: where it is: as it was begun or reported here, or as the service says, by its name if it has one.
    """

    def __init__(self, client: Any, learner: str, proposal: Proposal, state: int | str | None = None) -> None:
        self.client = client
        self.learner = learner
        self.proposal = proposal
        self.state = state

    @property
    def id(self) -> str:
        """Of the case."""
        return self.proposal.case

    @property
    def action(self) -> int | str | None:
        """What is proposed, by its name where actions have names; None: the case has ended."""
        return self.proposal.action if self.proposal.name is None else self.proposal.name

    @property
    def step(self) -> int:
        """How many steps of it were reported."""
        return self.proposal.step

    @property
    def done(self) -> bool:
        """Whether the case has ended."""
        return self.proposal.done

    @call
    def observe(self, loss: float, next_state: int | str, *, allowed: Names | None = None) -> Steps[int | str | None]:
        """The proposed action was played; what is proposed next."""
        return (yield from self._report(next_state, _given_loss(loss), allowed))

    @call
    def override(
        self, action: int | str, loss: float, next_state: int | str, *, allowed: Names | None = None
    ) -> Steps[int | str | None]:
        """This action was played, whatever was proposed; what is proposed next.

        Of a learner with confidence sets nothing is proven from then on, unless this is its only open case and nothing
        was learned since the proposal. Say ``propose(allowed=[action])`` when the action begins instead.
        """
        return (yield from self._report(next_state, _given_loss(loss) | {"action": _plain(action)}, allowed))

    @call
    def moved_to(self, state: int | str, *, allowed: Names | None = None) -> Steps[int | str | None]:
        """The case came to another state by itself; nothing is learned. What is proposed next."""
        return (yield from self._report(state, {}, allowed))

    @call
    def propose(self, allowed: Names | None = None) -> Steps[int | str | None]:
        """What is proposed now; another action if it is not among the allowed ones. Where a person begins another
        action, name it alone, and report it with :meth:`observe`."""
        return (yield from self._go_on("proposal", _allowed(allowed)))

    @call
    def abandon(self, reason: str, *, missing_at_random: bool = False) -> Steps[None]:
        """The case ends without the goal."""
        body = {"step": self.step + 1, "reason": reason, "missing_at_random": missing_at_random}
        yield from self._go_on("abandon", body)

    @call
    def explain(self) -> Steps[dict[str, Any]]:
        """Why this action is proposed: all actions of the state side by side."""
        answer: dict[str, Any] = yield Request("GET", f"{_path(self.learner, 'cases', self.id)}/explanation")
        return answer

    def _report(self, next_state: int | str, outcome: dict[str, Any], allowed: Names | None) -> Steps[int | str | None]:
        body = {"step": self.step + 1, "next_state": _plain(next_state), **outcome, **_allowed(allowed)}
        return (yield from self._go_on("steps", body, next_state))

    def _go_on(self, what: str, body: Any, state: int | str | None = None) -> Steps[int | str | None]:
        answer = yield Request("POST", f"{_path(self.learner, 'cases', self.id)}/{what}", body, _PROPOSAL)
        self.proposal = Proposal.of(answer)
        place = _place_in(answer) if state is None else state
        self.state = self.state if place is None else place
        return self.action


class Case(CaseCalls["Case"], Sync):
    """An open case, as this program knows it."""


class AsyncCase(CaseCalls["AsyncCase"], Async):
    """An open case, as this program knows it; its calls are awaited."""


class LearnerCalls(Generic[C]):
    """The calls of a learner."""

    _case: Any

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name

    @call
    def begin(self, context: Any, state: int | str, *, id: str | None = None, allowed: Names | None = None) -> Steps[C]:
        """Begin a case. Asked again it is answered as when it was begun; :meth:`case` finds it where it is now.

        Args:
            context: a point of the simplex, or covariates by their names.
            state: where the case is, by number or name.
            id: a name of yours, without personal data; a random one if left out.
            allowed: the actions that are possible now; all if left out.
        """
        body = {"context": _plain(context), "state": _plain(state), "id": id or uuid.uuid4().hex, **_allowed(allowed)}
        answer = yield Request("POST", f"{_path(self.name)}/cases", body, _PROPOSAL)
        return self._found(answer, state)

    @call
    def case(self, id: str) -> Steps[C]:
        """An open case, where it is now."""
        answer = yield Request("POST", f"{_path(self.name, 'cases', id)}/proposal", {}, _PROPOSAL)
        return self._found(answer, _place_in(answer))

    @call
    def cases(self) -> Steps[list[C]]:
        """All open cases, where they are now, in the order in which they were begun."""
        cases: list[C] = []
        after = 0
        while True:
            path = f"{_path(self.name, 'cases')}?after={after}&limit={LISTED}"
            page = (yield Request("GET", path, answer=("cases",)))["cases"]
            cases += [self._found(listed, _place_in(listed)) for listed in page]
            if len(page) < LISTED:
                return cases
            after = page[-1]["number"]

    @call
    def history(self, id: str) -> Steps[dict[str, Any]]:
        """A case from its beginning, open or not; of a long one the service is asked for some events at a time."""
        path = _path(self.name, "cases", id)
        case: dict[str, Any] = yield Request("GET", path)
        while case.get("earlier"):
            more = yield Request("GET", f"{path}?before={case['history'][0]['seq']}")
            case["history"], case["earlier"] = more["history"] + case["history"], more["earlier"]
        return case

    @call
    def status(self) -> Steps[dict[str, Any]]:
        """What the learner is, what it guarantees, its alarms."""
        answer: dict[str, Any] = yield Request("GET", _path(self.name))
        return answer

    @call
    def acknowledge(self) -> Steps[dict[str, Any]]:
        """The alarms of a monitored learner were seen; it goes on. What :meth:`status` says from now on. A token needs
        the scope ``admin``."""
        answer: dict[str, Any] = yield Request("POST", f"{_path(self.name)}/acknowledge", answer=("alarms",))
        return answer

    @call
    def policy_bounds(self, context: Any, policy: Any = None) -> Steps[dict[str, Any]]:
        """What a policy loses at least and at most, state by state."""
        body = {"context": _plain(context)} | ({} if policy is None else {"policy": _plain(policy)})
        answer: dict[str, Any] = yield Request("POST", f"{_path(self.name)}/policy-bounds", body)
        return answer

    def _found(self, answer: Mapping[str, Any], state: int | str | None) -> C:
        case: C = self._case(self.client, self.name, Proposal.of(answer), state)
        return case


class Learner(LearnerCalls[Case], Sync):
    """A learner of a service."""

    _case = Case


class AsyncLearner(LearnerCalls[AsyncCase], Async):
    """A learner of a service; its calls are awaited."""

    _case = AsyncCase


class ServiceCalls(Generic[C]):
    """A decision service, or several around one store.

    Args:
        urls: where it is, such as ``http://127.0.0.1:8765``; of a leader and its standbys, all of them.
        token: as ``goalbound token`` shows it.
        patience: for so many seconds the same is asked again when there is no answer, or the service is busy.
        timeout: so long a single answer may take, in seconds.
        transport: how requests are sent; for tests.

    Asking again cannot do anything twice: a case has its id and a step its number before they are first sent.
    """

    _http_type: Any
    _learner: Any

    def __init__(
        self,
        *urls: str,
        token: str | None = None,
        patience: float = 60.0,
        timeout: float = 10.0,
        transport: Any = None,
    ) -> None:
        if not urls or not all(url.startswith(("http://", "https://")) for url in urls):
            raise InputError("give the address of a service with its scheme, such as http://127.0.0.1:8765")
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = self._http_type(headers=headers, timeout=timeout, transport=transport)
        self._urls = [url.rstrip("/") for url in urls]
        self._patience = patience
        self.client = self

    def learner(self, name: str) -> C:
        """The learner of this name; nothing is asked yet."""
        learner: C = self._learner(self, name)
        return learner

    @call
    def learners(self) -> Steps[list[dict[str, Any]]]:
        """All learners: what each is, what it guarantees, its alarms."""
        answer = yield Request("GET", "/v1/learners", answer=("learners",))
        learners: list[dict[str, Any]] = answer["learners"]
        return learners

    def _effects(self, steps: Steps[T]) -> Generator[Any, Any, T]:
        """What is to be done for a call: a request, which gives an answer or an error of the connection, or a wait."""
        answer = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = yield from self._answered(request)

    def _answered(self, request: Request) -> Generator[Any, Any, Any]:
        """Ask until there is an answer, or patience ends; of several services one after the other."""
        end, attempt = time.monotonic() + self._patience, 0
        while True:
            url = self._urls[0]
            answer = yield request.method, url + request.path, request.body
            patient, retry_after = time.monotonic() < end, None
            if not isinstance(answer, httpx.TransportError):
                if answer.status_code not in RETRIED or not patient:
                    return understood(answer.status_code, answer.content, place=shown(answer.url), has=request.answer)
                retry_after = answer.headers.get("retry-after")
            elif not patient:
                raise ServiceUnreachable(
                    f"{shown(httpx.URL(url))}: no answer for {self._patience:g} s ({type(answer).__name__}: {answer}); "
                    "what was asked may have been done, and the same can be asked again"
                ) from answer
            attempt += 1
            if self._urls[0] == url:  # another service may answer; the one that does is asked from then on
                self._urls = [*self._urls[1:], url]  # a new list, as other calls may be under way
            if attempt % len(self._urls) == 0:
                wait = wait_before(attempt // len(self._urls) - 1, retry_after)
                yield min(wait, max(0.0, end - time.monotonic()))


class Client(ServiceCalls[Learner], Sync):
    """A decision service whose calls return their results."""

    _http_type, _learner = httpx.Client, Learner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, steps: Steps[T]) -> T:
        """Send the requests of a call, one after the other; its result."""
        effects: Generator[Any, Any, T] = self._effects(steps)
        done: Any = None
        while True:
            try:
                effect = effects.send(done)
                if isinstance(effect, float):
                    time.sleep(effect)
                else:
                    method, url, body = effect
                    done = self._http.request(method, url, json=body)
            except StopIteration as end:
                result: T = end.value
                return result
            except httpx.TransportError as error:
                done = error


class AsyncClient(ServiceCalls[AsyncLearner], Async):
    """A decision service whose calls are awaited (asyncio)."""

    _http_type, _learner = httpx.AsyncClient, AsyncLearner

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, steps: Steps[T]) -> T:
        """Send the requests of a call, one after the other; its result."""
        effects: Generator[Any, Any, T] = self._effects(steps)
        done: Any = None
        while True:
            try:
                effect = effects.send(done)
                if isinstance(effect, float):
                    await asyncio.sleep(effect)
                else:
                    method, url, body = effect
                    done = await self._http.request(method, url, json=body)
            except StopIteration as end:
                result: T = end.value
                return result
            except httpx.TransportError as error:
                done = error


def understood(status: int, text: bytes, *, place: str, has: Sequence[str] = ()) -> Any:
    """The answer as Python has it; an error is raised as the class that it is on the other side.

    Args:
        status, text: of the answer.
        place: that was asked.
        has: what an answer without error has, at least.
    """
    try:
        content = json.loads(text)
    except ValueError:  # also of bytes that are no text
        content = None
    if status < 400:
        if status < 300 and isinstance(content, dict) and all(name in content for name in has):
            return content
        raise ServiceError(
            f"{place}: the answer, of status {status}, is not that of a decision service; give the address at which "
            "goalbound serve, or a proxy before it, answers itself",
            status=status,
        )
    if not isinstance(content, dict):
        content = {}
    detail, code = str(content.get("detail") or f"{place}: the answer is {status}"), str(content.get("code", ""))
    raise error_of(status, code, detail, content.get("expected_step"))


def error_of(status: int, code: str, detail: str, expected_step: Any = None) -> GoalboundError:
    """The error of an answer."""
    if status in (401, 403):
        return AccessRefused(detail, status=status, code=code)
    kind = _BY_CODE.get(code)
    if kind is not None and issubclass(kind, CaseError):
        return kind(detail, expected_step if isinstance(expected_step, int) else None)
    if kind is not None:
        error: GoalboundError = kind(detail)
        return error
    if status in (400, 413, 415, 422):
        return InputError(detail)
    return ServiceError(detail, status=status, code=code)


def shown(url: httpx.URL) -> str:
    """An address as an error may say it: without a user and a password of a proxy."""
    return str(url.copy_with(userinfo=b""))


def wait_before(attempt: int, retry_after: str | None) -> float:
    """How long to wait before asking again: longer each time, not all clients at once, and as the service says."""
    own = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 16)) * random.uniform(0.5, 1.0)
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        return max(own, min(float(retry_after[:6]), LONGEST_WAIT))
    return own


def _given_loss(loss: Any) -> dict[str, Any]:
    if loss is None:  # left out, the service would take it for a move
        raise InputError("loss is None; it is a number. If the case came there by itself, that is moved_to(state)")
    return {"loss": _plain(loss)}


def _allowed(allowed: Names | None) -> dict[str, Any]:
    return {} if allowed is None else {"allowed": _plain(list(allowed))}


def _place_in(answer: Mapping[str, Any]) -> int | str | None:
    """The state in which a case is, by its name where states have names; None: the answer does not say."""
    state: int | str | None = answer.get("state") if answer.get("state_name") is None else answer["state_name"]
    return state


def _path(*names: str) -> str:
    """The path of a learner, and of what is in it."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"{name!r:.80} is no name of a learner or a case")
    return "/v1/learners/" + "/".join(quote(name, safe="") for name in names)


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as those of Python, without importing it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
