"""Everything that can be asked: one table of routes, from which requests are dispatched and the API is described."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
import numpy as np

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
from goalbound.serve.store import Follower
from goalbound.serve.store.engine import Answer, Engine
from goalbound.serve.store.log import MANY
from goalbound.serve.store.reading import MOST_TOLD, case_of, explanation, learner_status, place_of, proposal_now
from goalbound.serve.store.reading import policy_bounds as bounds_of_policy
from goalbound.serve.store.relearning import relearn, relearned_name
from goalbound.serve.store.snapshots import learner_from
from goalbound.serve.store.transfer import event_line

if TYPE_CHECKING:
    from goalbound.serve.service.app import Service

JSON, NDJSON, BINARY = b"application/json", b"application/x-ndjson", b"application/octet-stream"
TEXT, HTML = b"text/plain; version=0.0.4", b"text/html; charset=utf-8"
SMALL, LARGE = 64 * 2**10, 64 * 2**20
"""The most bytes of a body; that of a learner's file."""
_encode = msgspec.json.Encoder().encode
_MOST_EVENTS, _MOST_LISTED = 1000, 1000


@dataclass(slots=True)
class Request:
    """What a handler is given.

    Attributes:
        service: that was asked.
        names: the parts of the path, by their names.
        query: the text after the question mark.
        body: of the type of the route, or the bytes of it.
        key: the Idempotency-Key header.
        id: of the request.
    """

    service: Service
    names: dict[str, str]
    query: bytes = b""
    body: Any = None
    key: bytes | None = None
    id: str = ""


@dataclass(slots=True)
class Response:
    """What is answered."""

    body: bytes
    status: int = 200
    kind: bytes = JSON
    repeated: bool = False
    policy: bytes | None = None


Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Direct:
    """A handler that is operations of the store and an answer made of their results: it needs no coroutine.

    Attributes:
        operations: of the names in the path and the body; what cannot be is an error.
        answer: of the result of each operation, which may be its error, and the id of the request; errors are raised.
    """

    operations: Callable[[dict[str, str], Any], Sequence[Callable[[Engine], Any]]]
    answer: Callable[[list[Any], str], Response]

    async def __call__(self, request: Request) -> Response:
        """The same as a coroutine."""
        results = await request.service.submit(self.operations(request.names, request.body))
        return self.answer(results, request.id)


@dataclass(frozen=True)
class Route:
    """Something that can be asked.

    Attributes:
        method, path: with names in braces.
        handler: answers; a :class:`Direct` one is answered by the connection itself where it can.
        scope: what a token must allow; None: nobody needs one.
        summary: for the description.
        body: the type of the JSON body; bytes: a file; None: no body.
        result: the type of the answer, where it is JSON of one type.
        status: of an answer without error.
        errors: the statuses of errors besides those that any request may have.
        query: parameters, with what each is; the least of those that are whole numbers, else None.
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


def _reply(answer: Answer, status: int = 200) -> Response:
    body = _encode(Reply(*answer[:7]))
    return Response(body, 200 if answer.repeated else status, repeated=answer.repeated)


async def begin(request: Request) -> Response:
    """A case begins."""
    name, body = request.names["learner"], request.body
    id = body.id
    if id is None and request.key is not None:
        id = f"key-{sha256(request.key).hexdigest()[:32]}"

    def operation(engine: Engine) -> Answer:
        return engine.begin(name, body.context, body.state, id=id, allowed=body.allowed)

    try:
        return _reply(await request.service.call(operation), 201)
    except CaseExists as error:
        if body.id is None:
            raise Refused(422, "key-reused", "this Idempotency-Key was used with another body") from None
        raise error


def _step(name: str, case: str, body: StepReport) -> Callable[[Engine], Answer]:
    step, loss, state, allowed = body.step, body.loss, body.next_state, body.allowed
    if loss is None:
        if body.action is not None:
            raise Refused(422, "invalid", "an action without a loss; give the loss, or leave the action out")
        return lambda engine: engine.move(name, case, state, step=step, allowed=allowed)
    taken = body.action
    return lambda engine: engine.observe(name, case, loss, state, taken=taken, step=step, allowed=allowed)


def _one_step(names: dict[str, str], body: StepReport) -> Sequence[Callable[[Engine], Answer]]:
    """What came of an action; what is proposed next."""
    return (_step(names["learner"], names["case"], body),)


def _one_answer(results: list[Any], request_id: str) -> Response:
    [answer] = results
    if isinstance(answer, BaseException):
        raise answer
    return _reply(answer)


def _many_steps(names: dict[str, str], body: Batch) -> Sequence[Callable[[Engine], Answer]]:
    """Steps of several cases; each is durable before the answer, and has its own result."""
    name = names["learner"]
    return [_step(name, one.case, one) for one in body.steps]


def _many_answers(results: list[Any], request_id: str) -> Response:
    answers = [
        BatchReply(*answer) if isinstance(answer, Answer) else {"problem": problem_of(answer, request_id)}
        for answer in results
    ]
    return Response(_encode({"results": answers}))


step, batch = Direct(_one_step, _one_answer), Direct(_many_steps, _many_answers)


async def ask(request: Request) -> Response:
    """What is proposed now, among the actions that are possible."""
    name, case, allowed = request.names["learner"], request.names["case"], request.body.allowed
    service = request.service
    follows = service.store.follows

    def operation(engine: Engine) -> tuple[Answer, int, str | None]:
        answer = proposal_now(engine, name, case, allowed) if follows else engine.act(name, case, allowed=allowed)
        return answer, *place_of(engine, name, case)

    answer, state, state_name = await service.call(operation, writes=allowed is not None and not follows)
    proposed = {key: value for key, value in answer._asdict().items() if key != "repeated"}
    reply = CaseReply(**proposed, state=state, state_name=state_name)
    return Response(_encode(reply), repeated=answer.repeated)


async def abandon(request: Request) -> Response:
    """The case ends without the goal."""
    name, case, body = request.names["learner"], request.names["case"], request.body
    return _reply(
        await request.service.call(
            lambda engine: engine.abandon(
                name, case, body.reason, step=body.step, missing_at_random=body.missing_at_random
            )
        )
    )


async def show_case(request: Request) -> Response:
    """A case and the end of its history."""
    name, case = request.names["learner"], request.names["case"]
    before = _number(request, "before", MANY, least=1)
    limit = min(_number(request, "limit", MOST_TOLD, least=1), MOST_TOLD)
    found = await request.service.call(
        lambda engine: case_of(engine, name, case, before=before, limit=limit), writes=False
    )
    return Response(_encode(found))


async def show_cases(request: Request) -> Response:
    """The open cases and what is proposed in each, in the order in which they were begun."""
    name = request.names["learner"]
    after, limit = _number(request, "after", 0), min(_number(request, "limit", 100, least=1), _MOST_LISTED)

    def operation(engine: Engine) -> list[dict[str, Any]]:
        lead = engine.machine.named(name)
        found: list[dict[str, Any]] = []
        for case in engine.machine.cases.values():
            if case.learner == lead.number and case.number > after:
                state, state_name = place_of(engine, name, case.id)
                place = {"number": case.number, "state": state, "state_name": state_name}
                found.append({**place, **engine.act(name, case.id)._asdict()})
                if len(found) == limit:
                    break
        return found

    return Response(_encode({"cases": await request.service.call(operation, writes=False)}))


async def explain(request: Request) -> Response:
    """Why the learner proposes what it does: all actions of the state side by side."""
    name, case = request.names["learner"], request.names["case"]
    found = await request.service.call(lambda engine: explanation(engine, name, case).as_json(), writes=False)
    return Response(_encode(found))


async def policy_bounds(request: Request) -> Response:
    """What a policy loses until the goal, at least and at most, with what is proven of it."""
    name, body = request.names["learner"], request.body

    def operation(engine: Engine) -> dict[str, Any]:
        return bounds_as_json(bounds_of_policy(engine, name, body.context, body.policy))

    return Response(_encode(await request.service.call(operation, writes=False)))


def bounds_as_json(bounds: PolicyBounds) -> dict[str, Any]:
    """By state; what is infinite is null."""
    support = bounds.support

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
                "state": state, "name": None if support.state_names is None else support.state_names[state],
                "action": int(action),
                "action_name": None if support.action_names is None else support.action_names[int(action)],
                "at_least": finite(bounds.lower, state), "estimate": finite(bounds.estimate, state),
                "at_most": finite(bounds.upper, state),
            }
            for state, action in enumerate(bounds.policy)
        ],
    }  # fmt: skip


async def show_learners(request: Request) -> Response:
    """All learners."""
    found = await request.service.call(
        lambda engine: [learner_status(engine, one.name) for one in engine.machine.learners.values()], writes=False
    )
    return Response(_encode({"learners": found}))


async def show_learner(request: Request) -> Response:
    """What a learner is and guarantees, how many steps it has seen, its alarms."""
    name = request.names["learner"]
    return Response(_encode(await request.service.call(lambda engine: learner_status(engine, name), writes=False)))


async def create_learner(request: Request) -> Response:
    """A learner is put into the store, from the file that ``learner.save`` wrote."""
    values = _query(request)
    name, follows = values.get("name"), values.get("follows")
    if name is None:
        raise Refused(422, "invalid", "give the name of the learner: ?name=...")
    if values.keys() - {"name", "follows"}:  # mixing, as version 1.0.0 had it, must not seem to be in force
        raise Refused(422, "invalid", "the query has another name than name and follows; leave it out")
    data: bytes = request.body
    learner = learner_from(data)

    def operation(engine: Engine) -> dict[str, Any]:
        engine.create(name, learner, follows=follows)
        return learner_status(engine, name)

    return Response(_encode(await request.service.call(operation)), 201)


async def promote(request: Request) -> Response:
    """A challenger takes the place of the learner that it follows."""
    name = request.names["learner"]
    await request.service.call(lambda engine: engine.promote(name))
    return await show_learner(request)


async def acknowledge(request: Request) -> Response:
    """The alarms of a learner were seen; it goes on."""
    name = request.names["learner"]
    await request.service.call(lambda engine: engine.acknowledge(name))
    return await show_learner(request)


async def relearn_learner(request: Request) -> Response:
    """A challenger is put in that has forgotten what a monitored learner has noticed to have changed."""
    name = request.names["learner"]
    new_name = _query(request).get("name", relearned_name(name))

    def operation(engine: Engine) -> dict[str, Any]:
        relearn(engine, name, new_name)
        return learner_status(engine, new_name)

    return Response(_encode(await request.service.call(operation)), 201)


async def show_events(request: Request) -> Response:
    """Some of the log, one line for each event, in order."""
    after = _number(request, "after", 0)
    limit = min(_number(request, "limit", _MOST_EVENTS, least=1), _MOST_EVENTS)
    events = await request.service.call(lambda engine: engine.events(after, limit), writes=False)
    return Response(b"".join(_encode(event_line(event)) + b"\n" for event in events), kind=NDJSON)


async def digest(request: Request) -> Response:
    """The last event, its chain, and a digest of the state."""
    return Response(_encode(await request.service.call(lambda engine: engine.digest(), writes=False)))


async def snapshot(request: Request) -> Response:
    """A snapshot is taken."""
    seq = await request.service.call(lambda engine: engine.snapshot().seq)
    return Response(_encode({"seq": seq}), 201)


async def health(request: Request) -> Response:
    """The process runs."""
    return Response(b'{"status":"alive"}')


async def ready(request: Request) -> Response:
    """It can take steps: the log was replayed, the writer works, the disk has space; a follower is not far behind."""
    store = request.service.store
    if not store.writer.alive:
        raise Refused(503, "not-ready", "the writer has stopped")
    if isinstance(store, Follower):
        seq, behind = store.seen()
        if behind > request.service.limits.most_behind:
            raise Refused(503, "not-ready", f"it is {behind:.1f} s behind its leader")
        return Response(_encode({"status": "following", "seq": seq, "behind": round(behind, 3)}))
    if not store.has_space():
        raise Refused(503, "not-ready", "the disk has no space left but the reserve")
    return Response(b'{"status":"ready"}')


async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    service = request.service
    text = service.metrics.text(service.store.status())
    service.store.writer.counts.slowest_commit = 0.0
    return Response(text.encode(), kind=TEXT)


async def show_page(request: Request) -> Response:
    """The page for people."""
    text, policy = page()
    return Response(text, kind=HTML, policy=policy)


async def description(request: Request) -> Response:
    """This description."""
    from goalbound.serve.service.openapi import openapi

    return Response(_encode(openapi(ROUTES)))


def _query(request: Request) -> dict[str, str]:
    try:
        found = parse_qs(request.query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(request.query))
    except (ValueError, UnicodeDecodeError):
        raise Refused(422, "invalid", "the query is not of the form name=value&name=value") from None
    return {name: values[-1] for name, values in found.items()}


def _number(request: Request, name: str, otherwise: int, *, least: int = 0) -> int:
    text = _query(request).get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= 18) or int(text) < least:
        raise Refused(422, "invalid", f"{name} is a whole number, {least} or larger")
    return int(text)


_ONE, _CASE = "/v1/learners/{learner}", "/v1/learners/{learner}/cases/{case}"
_PAGE = (("after", "those after this number", 0), ("limit", "the most of them; 1000 at once", 1))
ROUTES: tuple[Route, ...] = (
    Route("POST", f"{_CASE}/steps", step, "cases:write", "report what came of an action, and get the next proposal",
          StepReport, Reply, errors=(404, 409, 422), repeats=True),
    Route("POST", f"{_ONE}/cases", begin, "cases:write", "begin a case, and get a proposal", Begin, Reply, 201,
          (404, 409, 422), repeats=True),
    Route("POST", f"{_ONE}/steps:batch", batch, "cases:write", "report up to 256 steps of several cases", Batch,
          errors=(422,)),
    Route("POST", f"{_CASE}/proposal", ask, "cases:write", "get another proposal, among the possible actions", Ask,
          CaseReply, errors=(404, 409, 422), repeats=True),
    Route("POST", f"{_CASE}/abandon", abandon, "cases:write", "end a case without the goal", Abandon, Reply,
          errors=(404, 409, 422), repeats=True),
    Route("GET", _CASE, show_case, "cases:read", "a case and the end of its history", errors=(404, 422),
          query=(("before", "events before this number only: that of the first one, if earlier is true", 1),
                 ("limit", "the most events of it, 1,000 at most", 1))),
    Route("GET", f"{_ONE}/cases", show_cases, "cases:read", "the open cases", errors=(404, 422), query=_PAGE),
    Route("GET", f"{_CASE}/explanation", explain, "cases:read", "why this action is proposed", errors=(404, 409, 422)),
    Route("POST", f"{_ONE}/policy-bounds", policy_bounds, "cases:read", "what a policy loses at least and at most",
          PolicyQuestion, errors=(404, 422)),
    Route("GET", "/v1/learners", show_learners, "cases:read", "all learners"),
    Route("GET", _ONE, show_learner, "cases:read", "a learner: what it is, what it guarantees, its alarms",
          errors=(404,)),
    Route("POST", "/v1/learners", create_learner, "admin", "put a learner into the store, from its file", bytes,
          status=201, errors=(404, 422),
          query=(("name", "of the learner", None),
                 ("follows", "the learner whose cases it follows as a challenger", None))),
    Route("POST", f"{_ONE}/promote", promote, "admin", "let a challenger take the place of the learner it follows",
          errors=(404, 422)),
    Route("POST", f"{_ONE}/relearn", relearn_learner, "admin",
          "put in a challenger that has forgotten what an alarm says has changed", status=201, errors=(404, 422),
          query=(("name", "of the challenger; else that of the learner, -relearned", None),)),
    Route("POST", f"{_ONE}/acknowledge", acknowledge, "admin", "go on after an alarm", errors=(404, 422)),
    Route("GET", "/v1/events", show_events, "events:read", "the log, one line for each event", errors=(422,),
          query=_PAGE),
    Route("GET", "/v1/digest", digest, "admin", "the last event, its chain, and a digest of the state"),
    Route("POST", "/v1/snapshots", snapshot, "admin", "take a snapshot", status=201),
    Route("GET", "/metrics", metrics, "metrics", "numbers for Prometheus"),
    Route("GET", "/", show_page, None, "a page for people: open cases, what is recommended, why"),
    Route("GET", "/healthz", health, None, "whether the process runs"),
    Route("GET", "/readyz", ready, None, "whether it can take steps"),
    Route("GET", "/openapi.json", description, None, "this description"),
)  # fmt: skip
"""All that can be asked."""
