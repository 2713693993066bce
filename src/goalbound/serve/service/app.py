"""The application: Starlette finds the route; then who asks is checked, the body is read, and the store is asked."""

from __future__ import annotations

import asyncio
import contextlib
import http
import itertools
import logging
import math
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as PathRoute
from starlette.types import Receive, Scope, Send

from goalbound.errors import ArgumentError
from goalbound.serve.service.messages import Batch, CaseStep
from goalbound.serve.service.metrics import Metrics
from goalbound.serve.service.problems import RETRY_AFTER, Refused, problem_of
from goalbound.serve.service.routes import LARGE, ROUTES, SMALL, Asked, Route, encode
from goalbound.serve.service.tokens import Token, Tokens
from goalbound.serve.store import Store
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.writer import Job

log = logging.getLogger("goalbound.serve.service")

_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
_CLOSES = (408, 413)  # whoever sends too much, or too slowly, is not listened to any longer


class _Name(StringConvertor):
    regex = "[A-Za-z0-9._~-]{1,64}"


register_url_convertor("name", _Name())


@dataclass(frozen=True)
class Limits:
    """What a service takes.

    Attributes:
        body_seconds: so long a body may take to arrive.
        requests_a_second: of each token, on average; None: as many as come.
    """

    body_seconds: float = 10.0
    requests_a_second: float | None = None

    def __post_init__(self) -> None:
        if self.requests_a_second is not None and not 0.0 < self.requests_a_second < math.inf:
            raise ArgumentError(
                f"requests_a_second is {self.requests_a_second}; it is a number above 0, and None for no limit"
            )


class Service:
    """An ASGI application around a store.

    Args:
        store: an open one; None: it comes later, and until then ``waits_for`` is answered.
        tokens: who may ask for what; without any, everyone may, and only local names of the host are answered.
        limits: what it takes.
        access_log: say each request in the log: its route, status and time; no ids and no contexts.

    Attributes:
        guarded: whether everybody needs a token.
        waits_for: the code of the answer while there is no store yet, and why there is none.
    """

    def __init__(
        self,
        store: Store | None = None,
        tokens: Tokens | None = None,
        *,
        limits: Limits | None = None,
        access_log: bool = False,
    ) -> None:
        if tokens is None:
            assert store is not None
            tokens = Tokens(store.place)
        self.tokens = tokens
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.waits_for = "not-ready", "the store is being opened"
        self.guarded = bool(self.tokens)
        self._store = store
        self._loop: Any = None
        self._access_log = access_log
        self._buckets: dict[str, tuple[float, float]] = {}
        self._prefix, self._numbers = f"{secrets.token_hex(4)}-", itertools.count(1)
        self._app = Starlette(
            routes=[_path_route(self, route) for route in ROUTES],
            exception_handlers={HTTPException: self._not_routed},
            lifespan=self._live,
        )
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    @property
    def store(self) -> Store:
        """The store, once it is open; until then an error that says what is waited for."""
        if self._store is None:
            raise Refused(503, *self.waits_for)
        return self._store

    @store.setter
    def store(self, store: Store) -> None:
        self._store = store

    @contextlib.asynccontextmanager
    async def _live(self, app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._look_at_tokens())
        try:
            yield
        finally:
            looking.cancel()

    async def _look_at_tokens(self) -> None:
        while True:
            await asyncio.sleep(self.tokens.LOOK_SECONDS)
            await asyncio.to_thread(self.tokens.look)

    # One request.

    async def answer(self, route: Route, request: Request, id: str) -> Response:
        """The answer of a route, or an error."""
        self._admit(route, request)
        body = None if route.body is None else await self._body(route, request)
        names = request.path_params
        return await route.handler(Asked(self, names.get("learner", ""), names.get("case", ""), request, body, id))

    def next_id(self) -> str:
        """The id of a request."""
        return f"{self._prefix}{next(self._numbers):x}"

    def done(self, route: str, response: Response, id: str, begun: float) -> None:
        """Note an answer: its id, what it took, and what its status asks of a client."""
        status, seconds = response.status_code, time.perf_counter() - begun
        response.headers["x-request-id"] = id
        if status in RETRY_AFTER:
            response.headers["retry-after"] = RETRY_AFTER[status]
        if status == 401:
            response.headers["www-authenticate"] = "Bearer"
        if status in _CLOSES:
            response.headers["connection"] = "close"
        self.metrics.count(route, status, seconds)
        if self._access_log:
            log.info("%s %d %.1f ms %s", route, status, 1000.0 * seconds, id)

    async def _not_routed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        begun, id = time.perf_counter(), self.next_id()
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "").replace("HEAD", "").strip(", ")
            refused = Refused(405, "method", f"this takes {allowed}")
        elif error.status_code == 404:
            refused = Refused(404, "not-found", "there is nothing here; /openapi.json says what there is")
        else:
            status = error.status_code
            refused = Refused(status, "refused", http.HTTPStatus(status).phrase)
        response = refusal(refused, id)
        self.done("none", response, id, begun)
        return response

    # Who may ask.

    def _admit(self, route: Route, request: Request) -> None:
        """An error unless whoever asks may."""
        # Once there was a token, everybody needs one: a file that is gone must not let anybody in.
        self.guarded = self.guarded or bool(self.tokens)
        headers = request.headers
        hosts = headers.getlist("host")
        if len(hosts) > 1:
            raise Refused(400, "host", "the request has two Host headers; send one")
        if not self.guarded:
            host, origin = (hosts or ["localhost"])[0], headers.get("origin")
            if not _LOCAL.fullmatch(host):
                raise Refused(403, "host", "without tokens only local names of this host are answered")
            # A page of another site may not read answers, but a browser lets it send a POST without a body.
            if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
                raise Refused(403, "origin", "without tokens no page of another site is answered")
            return
        if route.scope is None:
            return
        token = self.tokens.find(headers.get("authorization"))
        if token is None:
            raise Refused(401, "token", self.tokens.why_not(headers.get("authorization")))
        if not token.allows(route.scope):
            raise Refused(403, "scope", f"this token does not allow {route.scope}")
        self._take(token)

    def _take(self, token: Token) -> None:
        rate = self.limits.requests_a_second
        if rate is None:
            return
        now = time.monotonic()
        most = max(1.0, rate)  # a whole request, however seldom
        left, then = self._buckets.get(token.sha256, (most, now))
        left = min(most, left + rate * (now - then))
        self._buckets[token.sha256] = (max(left - 1.0, 0.0) if left >= 1.0 else left, now)
        if left < 1.0:
            raise Refused(429, "too-many-requests", f"more than {rate:g} requests a second by this token")

    async def _body(self, route: Route, request: Request) -> Any:
        """The body of a request: bytes are counted while they come."""
        wanted, most = ("application/octet-stream", LARGE) if route.body is bytes else ("application/json", SMALL)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != wanted:
            raise Refused(415, "content-type", f"the body is to be {wanted}")
        too_large = Refused(413, "too-large", f"the body may have {most} bytes")
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > most:
            raise too_large
        data = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    data += part
                    if len(data) > most:
                        raise too_large
        except TimeoutError:
            raise Refused(408, "too-slow", f"the body took over {self.limits.body_seconds:g} s") from None
        except ClientDisconnect:
            raise Refused(400, "broken", "the connection was closed before the body was complete") from None
        return bytes(data) if route.body is bytes else _decoded(route.body, data)

    # What is done.

    async def call(self, operation: Callable[[Engine], Any], *, writes: bool = True) -> Any:
        """One operation; its result, once it is on the disk."""
        (result,) = await self.submit([operation], writes=writes)
        if isinstance(result, BaseException):
            raise result
        return result

    async def submit(self, operations: Sequence[Callable[[Engine], Any]], *, writes: bool = True) -> list[Any]:
        """Several operations; their results or errors come once all are on the disk."""
        self._loop = asyncio.get_running_loop()
        done: asyncio.Future[list[Any]] = self._loop.create_future()
        self.store.writer.submit(Job(operations, self._deliver, writes=writes, tag=done))
        return await done

    def _deliver(self, jobs: list[Job]) -> None:
        """Called by the writer: all that was committed together is answered together."""
        self._loop.call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        if not job.tag.done():
            job.tag.set_result(job.results)


def _path_route(service: Service, route: Route) -> PathRoute:
    """A route of Starlette whose application answers by ours."""

    class Endpoint:
        """What Starlette calls once it has found the route."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            begun, id = time.perf_counter(), service.next_id()
            try:
                response = await service.answer(route, Request(scope, receive), id)
            except Exception as error:
                response = refusal(error, id)
            service.done(route.path, response, id, begun)
            await response(scope, receive, send)

    path = re.sub(r"\{(\w+)\}", r"{\1:name}", route.path)
    return PathRoute(path, Endpoint(), methods=[route.method])


def refusal(error: BaseException, request_id: str) -> Response:
    """An error as an answer."""
    problem = problem_of(error, request_id)
    return Response(encode(problem), problem.status, media_type="application/problem+json")


_DECODERS = {route.body: msgspec.json.Decoder(route.body).decode for route in ROUTES if route.body not in (None, bytes)}


def _decoded(body: Any, data: bytearray) -> Any:
    """A body of this type."""
    try:
        return _DECODERS[body](data)
    except msgspec.ValidationError as error:
        text = str(error)
        if "unknown field" in text:
            kind = CaseStep if body is Batch and "$.steps" in text else body
            text += f"; there are {', '.join(kind.__struct_fields__)}"
        raise Refused(422, "invalid", text) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, "malformed", f"the body is not JSON ({error})") from None
