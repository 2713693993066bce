"""Everything that can be asked: one table of routes, from which requests are dispatched and the API is described."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from goalbound.errors import CaseExists
from goalbound.planning import PolicyBounds
from goalbound.serve.service.messages import (
    Abandon,
    Ask,
    Batch,
    BatchReply,
    Begin,
    CaseReply,
    PolicyQuestion,
    Reply,
    StepReport,
)
from goalbound.serve.service.page import page
from goalbound.serve.service.problems import Refused, problem_of
from goalbound.serve.store import reading
from goalbound.serve.store.engine import Answer, Engine
from goalbound.serve.store.log import MANY
from goalbound.serve.store.snapshots import learner_from
from goalbound.serve.store.transfer import event_line

if TYPE_CHECKING:
    from goalbound.serve.service.app import Service

SMALL, LARGE = 64 * 2**10, 64 * 2**20
"""The most bytes of a body; that of a learner's file."""
encode = msgspec.json.Encoder().encode
_MOST_LISTED = 1000


@dataclass(slots=True)
class Asked:
    """A request, as a handler gets it.

    Attributes:
        service: that was asked.
        learner, case: in the path.
        request: as it came.
        body: of the type of the route, or the bytes of it.
        id: of the request.
    """

    service: Service
    learner: str
    case: str
    request: Request
    body: Any
    id: str

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters after the question mark."""
        return self.request.query_params

    async def read(self, operation: Callable[[Engine], Any]) -> Any:
        """The result of an operation that writes nothing."""
        return await self.service.call(operation, writes=False)

    async def write(self, operation: Callable[[Engine], Any]) -> Any:
        """The result of an operation, once it is on the disk."""
        return await self.service.call(operation)

    def number(self, name: str, otherwise: int, *, least: int = 0, most: int = MANY) -> int:
        """A whole number of the query."""
        text = self.query.get(name)
        if text is None:
            return min(otherwise, most)
        if not (text.isascii() and text.isdigit() and len(text) <= 18) or int(text) < least:
            raise Refused(422, "invalid", f"{name} is a whole number, {least} or larger")
        return min(int(text), most)


Handler = Callable[[Asked], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """Something that can be asked.

    Attributes:
        method, path: with names in braces.
        handler: answers.
        scope: what a token must allow; None: nobody needs one.
        summary: for the description.
        body: the type of the JSON body; bytes: a file; None: no body.
        result: the type of the answer, where it is JSON of one type.
        status: of an answer without error.
        errors: the statuses of errors besides those that any request may have.
        query: parameters, with what each is; the least of those that are whole numbers, else None.
        repeats: whether the same again is answered as before.
    """

    method: str
    path: str
    handler: Handler
    scope: str | None
    summary: str
    body: Any = None
    result: Any = None
    status: int = 200
    errors: tuple[int, ...] = ()
    query: tuple[tuple[str, str, int | None], ...] = ()
    repeats: bool = False


def _json(content: Any, status: int = 200, *, repeated: bool = False) -> Response:
    headers = {"idempotent-replay": "true"} if repeated else None
    return Response(encode(content), status, headers, "application/json")


def _reply(answer: Answer, status: int = 200) -> Response:
    return _json(Reply(*answer[:7]), 200 if answer.repeated else status, repeated=answer.repeated)


async def begin(asked: Asked) -> Response:
    """A case begins."""
    name, body = asked.learner, asked.body
    id, key = body.id, asked.request.headers.get("idempotency-key")
    if id is None and key is not None:
        id = f"key-{sha256(key.encode()).hexdigest()[:32]}"
    try:
        answer = await asked.write(
            lambda engine: engine.begin(name, body.context, body.state, id=id, allowed=body.allowed)
        )
    except CaseExists:
        if body.id is None:
            raise Refused(422, "key-reused", "this Idempotency-Key was used with another body") from None
        raise
    return _reply(answer, 201)


def _step(name: str, case: str, body: StepReport) -> Callable[[Engine], Answer]:
    step, loss, state, allowed = body.step, body.loss, body.next_state, body.allowed
    if loss is None:
        if body.action is not None:
            raise Refused(422, "invalid", "an action without a loss; give the loss, or leave the action out")
        return lambda engine: engine.move(name, case, state, step=step, allowed=allowed)
    taken = body.action
    return lambda engine: engine.observe(name, case, loss, state, taken=taken, step=step, allowed=allowed)


async def report_step(asked: Asked) -> Response:
    """What came of an action; what is proposed next."""
    return _reply(await asked.write(_step(asked.learner, asked.case, asked.body)))


async def report_steps(asked: Asked) -> Response:
    """Steps of several cases; each is durable before the answer, and has its own result."""
    operations = [_step(asked.learner, step.case, step) for step in asked.body.steps]
    results = [
        BatchReply(*result) if isinstance(result, Answer) else {"problem": problem_of(result, asked.id)}
        for result in await asked.service.submit(operations)
    ]
    return _json({"results": results})


async def ask(asked: Asked) -> Response:
    """What is proposed now, among the actions that are possible."""
    name, id, allowed = asked.learner, asked.case, asked.body.allowed

    def operation(engine: Engine) -> tuple[Answer, dict[str, Any]]:
        answer = engine.act(name, id, allowed=allowed)
        lead = engine.machine.named(name)
        return answer, reading.place_of(lead, engine.open_case(lead, id))

    answer, place = await (asked.read(operation) if allowed is None else asked.write(operation))
    return _json(CaseReply(*answer[:7], **place), repeated=answer.repeated)


async def abandon(asked: Asked) -> Response:
    """The case ends without the goal."""
    name, id, body = asked.learner, asked.case, asked.body
    said = body.recorded()
    return _reply(await asked.write(lambda engine: engine.abandon(name, id, said, step=body.step)))


def _reads(operation: Callable[[Engine, Asked], Any]) -> Handler:
    """A handler that answers with what an operation says, which writes nothing."""

    async def handler(asked: Asked) -> Response:
        return _json(await asked.read(lambda engine: operation(engine, asked)))

    return handler


def _changes(operation: Callable[[Engine, Asked], str], status: int = 200) -> Handler:
    """A handler of an operation that changes a learner and says its name; it answers with how that one stands."""

    async def handler(asked: Asked) -> Response:
        name = await asked.write(lambda engine: operation(engine, asked))
        return _json(await asked.read(lambda engine: reading.learner_status(engine, name)), status)

    return handler


def _case(engine: Engine, asked: Asked) -> Any:
    before = asked.number("before", MANY, least=1)
    limit = asked.number("limit", reading.MOST_TOLD, least=1, most=reading.MOST_TOLD)
    return reading.case_of(engine, asked.learner, asked.case, before=before, limit=limit)


def _cases(engine: Engine, asked: Asked) -> Any:
    after, limit = asked.number("after", 0), asked.number("limit", 100, least=1, most=_MOST_LISTED)
    search = asked.query.get("search", "")
    return {"cases": reading.open_cases(engine, asked.learner, after=after, limit=limit, search=search)}


def _explained(engine: Engine, asked: Asked) -> Any:
    return reading.explanation(engine, asked.learner, asked.case).as_json()


def _history(engine: Engine, asked: Asked) -> Any:
    return reading.history(engine, asked.learner)


def _learner(engine: Engine, asked: Asked) -> Any:
    return reading.learner_status(engine, asked.learner)


def _digest(engine: Engine, asked: Asked) -> Any:
    return engine.digest()


def _bounds(engine: Engine, asked: Asked) -> Any:
    return bounds_as_json(reading.policy_bounds(engine, asked.learner, asked.body.context, asked.body.policy))


def _learners(engine: Engine, asked: Asked) -> Any:
    names = [managed.name for managed in engine.machine.learners.values()]
    return {"learners": [reading.learner_status(engine, name) for name in names]}


def bounds_as_json(bounds: PolicyBounds) -> dict[str, Any]:
    """By state; what is infinite is null."""
    states, actions = bounds.support.state_names, bounds.support.action_names

    def finite(values: Any, state: int) -> float | None:
        return None if values is None or not np.isfinite(values[state]) else float(values[state])

    return {
        "proven": bounds.proven,
        "delta": bounds.delta,
        "status": bounds.status.name.lower(),
        "unit": bounds.unit,
        "caveats": list(bounds.caveats),
        "states": [
            {
                "state": state,
                "name": None if states is None else states[state],
                "action": int(action),
                "action_name": None if actions is None else actions[int(action)],
                "at_least": finite(bounds.lower, state),
                "estimate": finite(bounds.estimate, state),
                "at_most": finite(bounds.upper, state),
            }
            for state, action in enumerate(bounds.policy)
        ],
    }


async def create_learner(asked: Asked) -> Response:
    """A learner is put into the store, from the file that ``learner.save`` wrote."""
    name, follows = asked.query.get("name"), asked.query.get("follows")
    if name is None:
        raise Refused(422, "invalid", "give the name of the learner: ?name=...")
    if asked.query.keys() - {"name", "follows"}:
        raise Refused(422, "invalid", "the query has another name than name and follows; leave it out")
    learner = await asyncio.to_thread(learner_from, asked.body)  # a large one takes seconds; others are answered
    await asked.write(lambda engine: engine.create(name, learner, follows=follows))
    return _json(await asked.read(lambda engine: reading.learner_status(engine, name)), 201)


def _promote(engine: Engine, asked: Asked) -> str:
    engine.promote(asked.learner)
    return asked.learner


def _acknowledge(engine: Engine, asked: Asked) -> str:
    engine.acknowledge(asked.learner)
    return asked.learner


def _relearn(engine: Engine, asked: Asked) -> str:
    name = asked.query.get("name", reading.relearned_name(asked.learner))
    reading.relearn(engine, asked.learner, name)
    return name


async def show_events(asked: Asked) -> Response:
    """Some of the log, one line for each event, in order."""
    after, limit = asked.number("after", 0), asked.number("limit", _MOST_LISTED, least=1, most=_MOST_LISTED)
    events = await asked.read(lambda engine: engine.events(after, limit))
    return Response(b"".join(encode(event_line(event)) + b"\n" for event in events), media_type="application/x-ndjson")


async def snapshot(asked: Asked) -> Response:
    """A snapshot is taken."""
    return _json({"seq": await asked.write(lambda engine: engine.snapshot())}, 201)


async def health(asked: Asked) -> Response:
    """The process runs."""
    return _json({"status": "alive"})


async def ready(asked: Asked) -> Response:
    """It can take steps: the log was replayed, kernels are compiled, the writer works, the disk has space."""
    store = asked.service.store
    if not store.writer.alive:
        raise Refused(503, "not-ready", "the writer has stopped")
    if not store.has_space():
        raise Refused(503, "not-ready", "the disk has no space left but the reserve")
    return _json({"status": "ready"})


async def metrics(asked: Asked) -> Response:
    """Numbers for Prometheus."""
    store = asked.service.store
    text = asked.service.metrics.text(store.status())
    store.writer.counts.slowest_commit = 0.0
    return Response(text, media_type="text/plain; version=0.0.4")


async def show_page(asked: Asked) -> Response:
    """The page for people."""
    text, policy = page()
    return Response(text, headers={"content-security-policy": policy}, media_type="text/html")


async def description(asked: Asked) -> Response:
    """This description."""
    from goalbound.serve.service.openapi import openapi

    return _json(openapi(ROUTES))


_LEARNER, _CASE = "/v1/learners/{learner}", "/v1/learners/{learner}/cases/{case}"
_AFTER = ("after", "those after this number", 0)
_LIMIT = ("limit", "the most of them; 1000 at once", 1)
ROUTES: tuple[Route, ...] = (
    Route(
        "POST", f"{_CASE}/steps", report_step, "cases:write", "report what came of an action, get the next proposal",
        StepReport, Reply, errors=(404, 409, 422), repeats=True,
    ),
    Route(
        "POST", f"{_LEARNER}/cases", begin, "cases:write", "begin a case, and get a proposal", Begin, Reply, 201,
        (404, 409, 422), repeats=True,
    ),
    Route(
        "POST", f"{_LEARNER}/steps:batch", report_steps, "cases:write", "report up to 256 steps of several cases",
        Batch, errors=(422,),
    ),
    Route(
        "POST", f"{_CASE}/proposal", ask, "cases:write", "get another proposal, among the possible actions", Ask,
        CaseReply, errors=(404, 409, 422), repeats=True,
    ),
    Route(
        "POST", f"{_CASE}/abandon", abandon, "cases:write", "end a case without the goal", Abandon, Reply,
        errors=(404, 409, 422), repeats=True,
    ),
    Route(
        "GET", _CASE, _reads(_case), "cases:read", "a case and the end of its history", errors=(404, 422),
        query=(
            ("before", "events before this number only: that of the first one, if earlier is true", 1),
            ("limit", "the most events of it, 1,000 at most", 1),
        ),
    ),
    Route(
        "GET", f"{_LEARNER}/cases", _reads(_cases), "cases:read", "the open cases", errors=(404, 422),
        query=(_AFTER, _LIMIT, ("search", "those whose id has this text in it", None)),
    ),
    Route(
        "GET", f"{_CASE}/explanation", _reads(_explained), "cases:read", "why this action is proposed",
        errors=(404, 409, 422),
    ),
    Route(
        "GET", f"{_LEARNER}/history", _reads(_history), "cases:read", "how a learner did over time, case by case",
        errors=(404,),
    ),
    Route(
        "POST", f"{_LEARNER}/policy-bounds", _reads(_bounds), "cases:read", "what a policy loses at least and at most",
        PolicyQuestion, errors=(404, 422),
    ),
    Route("GET", "/v1/learners", _reads(_learners), "cases:read", "all learners"),
    Route(
        "GET", _LEARNER, _reads(_learner), "cases:read", "a learner: what it is, what it guarantees, its alarms",
        errors=(404,),
    ),
    Route(
        "POST", "/v1/learners", create_learner, "admin", "put a learner into the store, from its file", bytes,
        status=201, errors=(404, 422),
        query=(("name", "of the learner", None), ("follows", "the learner that it follows as a challenger", None)),
    ),
    Route(
        "POST", f"{_LEARNER}/promote", _changes(_promote), "admin",
        "let a challenger take the place of the learner it follows",
        errors=(404, 422),
    ),
    Route(
        "POST", f"{_LEARNER}/relearn", _changes(_relearn, 201), "admin",
        "put in a challenger that has forgotten what has changed",
        status=201, errors=(404, 422),
        query=(("name", "of the challenger; else that of the learner, -relearned", None),),
    ),
    Route(
        "POST", f"{_LEARNER}/acknowledge", _changes(_acknowledge), "admin", "go on after an alarm", errors=(404, 422),
    ),
    Route(
        "GET", "/v1/events", show_events, "events:read", "the log, one line for each event", errors=(422,),
        query=(_AFTER, _LIMIT),
    ),
    Route("GET", "/v1/digest", _reads(_digest), "admin", "the last event, its chain, and a digest of the state"),
    Route("POST", "/v1/snapshots", snapshot, "admin", "take a snapshot", status=201),
    Route("GET", "/metrics", metrics, "metrics", "numbers for Prometheus"),
    Route("GET", "/", show_page, None, "a page for people: open cases, what is recommended, why"),
    Route("GET", "/healthz", health, None, "whether the process runs"),
    Route("GET", "/readyz", ready, None, "whether it can take steps"),
    Route("GET", "/openapi.json", description, None, "this description"),
)  # fmt: skip
"""All that can be asked."""
