"""The application: finds the route, checks who asks and what, waits for the writer, answers. Plain ASGI."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from goalbound.errors import ArgumentError
from goalbound.serve.service.deadlines import Deadlines
from goalbound.serve.service.messages import Batch, Begin, CaseStep
from goalbound.serve.service.metrics import Metrics
from goalbound.serve.service.problems import RETRY_AFTER, Refused, problem_of, where_raised
from goalbound.serve.service.routes import BINARY, JSON, LARGE, ROUTES, SMALL, Direct, Request, Response, Route
from goalbound.serve.service.tokens import Token, Tokens
from goalbound.serve.store import Follower, Store
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.worker import Job

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger("goalbound.serve.service")

PROBLEM = b"application/problem+json"
_LOCAL = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
_TOGETHER = 256  # operations of one job: as many as one batch may have
_encode = msgspec.json.Encoder().encode
_seen: ContextVar[tuple[int, float] | None] = ContextVar("seen", default=None)  # what a follower had, when it answered


class Asker(Protocol):
    """Who waits for a direct request."""

    def finish(self, results: list[Any]) -> None:
        """They are on the disk."""

    def fail(self, error: Exception) -> None:
        """The writer does not take it."""

    def abort(self) -> None:
        """There is no answer."""


_Asked = tuple[Asker, Sequence[Callable[[Engine], Any]]]


@dataclass(frozen=True)
class Limits:
    """What a service takes.

    Attributes:
        body_seconds: so long a body may take to arrive.
        requests_a_second: of each token, on average; None: as many as come.
        most_behind: a follower that is further behind, in seconds, is not ready; it answers all the same.
    """

    body_seconds: float = 10.0
    requests_a_second: float | None = None
    most_behind: float = 10.0

    def __post_init__(self) -> None:
        if self.requests_a_second is not None and not 0.0 < self.requests_a_second < math.inf:
            raise ArgumentError(
                f"requests_a_second is {self.requests_a_second}; it is a number above 0, and None for no limit"
            )


class Service:
    """An ASGI application around a store.

    Args:
        store: an open one, or a follower of one.
        tokens: who may ask for what; without any, everyone may, and only local names of the host are answered.
        limits: what it takes.

    Attributes:
        guarded: whether everybody needs a token.
    """

    def __init__(self, store: Store | Follower, tokens: Tokens | None = None, *, limits: Limits | None = None) -> None:
        self.store = store
        self.tokens = Tokens(store.location.place) if tokens is None else tokens
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self._deadlines = Deadlines(self.limits.body_seconds)
        self._routes = _Table(ROUTES)
        self._buckets: dict[str, tuple[float, float]] = {}
        self.guarded = bool(self.tokens)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._direct: list[_Asked] = []
        self._prefix, self._numbers = f"{secrets.token_hex(4)}-", itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        begun, name, request_id = time.perf_counter(), "none", self.next_id()
        try:
            route, names = self._routes.find(scope["method"], scope["path"], scope.get("raw_path"))
            name = route.path
            headers = dict(scope["headers"])
            if len(headers) < len(scope["headers"]) and [one for one, _ in scope["headers"]].count(b"host") > 1:
                raise Refused(400, "host", "the request has two Host headers; send one")
            _seen.set(None)
            self._admit(route, headers)
            body = None
            if route.body is not None:
                most = _most_bytes(route, headers)
                task = self._deadlines.begin()  # from the start: the first byte may never come
                try:
                    message = await receive()
                    data = message["body"] if _is_whole(message) else await _rest(message, receive, most)
                except asyncio.CancelledError:
                    if self._deadlines.is_late(task):
                        raise self._too_slow() from None
                    raise
                finally:
                    self._deadlines.end(task)
                body = self._decoded(route, data, most)
            response = await route.handler(
                Request(self, names, scope["query_string"], body, headers.get(b"idempotency-key"), request_id)
            )
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            response = refusal(error, request_id)
        self.metrics.count(name, response.status, time.perf_counter() - begun)
        headers_sent = headers_of(response, request_id, self._age())
        await send({"type": "http.response.start", "status": response.status, "headers": headers_sent})
        await send({"type": "http.response.body", "body": response.body})

    def _age(self) -> tuple[int, float] | None:
        """Of a follower: the last event that it had seen when it answered, and how far it was behind."""
        return (_seen.get() or self.store.seen()) if isinstance(self.store, Follower) else None

    # Who may ask.

    def _admit(self, route: Route, headers: dict[bytes, bytes]) -> None:
        """An error unless whoever asks may."""
        # Once there was a token, everybody needs one: a file that is gone must not let anybody in.
        self.guarded = self.guarded or bool(self.tokens)
        if not self.guarded:
            host, origin = headers.get(b"host", b"localhost"), headers.get(b"origin")
            if not _LOCAL.fullmatch(host):
                raise Refused(403, "host", "without tokens only local names of this host are answered")
            # A page of another site may not read answers, but a browser lets it send a POST without a body.
            if origin is not None and origin not in (b"http://" + host, b"https://" + host):
                raise Refused(403, "origin", "without tokens no page of another site is answered")
            return
        if route.scope is None:
            return
        token = self.tokens.find(headers.get(b"authorization"))
        if token is None:
            raise Refused(401, "token", self.tokens.why_not(headers.get(b"authorization")))
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
        if left < 1.0:
            self._buckets[token.sha256] = (left, now)
            raise Refused(429, "too-many-requests", f"more than {rate:g} requests a second by this token")
        self._buckets[token.sha256] = (left - 1.0, now)

    def _too_slow(self) -> Refused:
        return Refused(408, "too-slow", f"the body took over {self.limits.body_seconds:g} s")

    # What is done.

    async def call(self, operation: Callable[[Engine], Any], *, writes: bool = True) -> Any:
        """One operation; its result, once it is on the disk."""
        result = (await self.submit((operation,), writes=writes))[0]
        if isinstance(result, BaseException):
            raise result
        return result

    def submit(self, operations: Sequence[Callable[[Engine], Any]], *, writes: bool = True) -> Awaitable[list[Any]]:
        """Several operations; their results or errors come once all are on the disk."""
        loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Any]] = loop.create_future()
        job = Job(operations, self._deliver, writes=writes, tag=future)
        self.store.writer.submit(job)
        return _note_seen(job, future) if isinstance(self.store, Follower) else future

    def _deliver(self, jobs: list[Job]) -> None:
        """Called by the writer: all that was committed together is answered together."""
        self._in_loop(_resolve, jobs)

    # What needs no coroutine.

    def next_id(self) -> str:
        """The id of a request."""
        return f"{self._prefix}{next(self._numbers):x}"

    def find_direct(self, url: bytes) -> tuple[Route, dict[str, str]] | None:
        """The route of a POST that the connection may answer itself, and the names in its path."""
        return None if isinstance(self.store, Follower) else self._routes.find_direct(url)

    def submit_direct(
        self, route: Route, names: dict[str, str], headers: dict[bytes, bytes], data: bytearray, asker: Asker
    ) -> None:
        """Hand a whole request of a direct route to the writer, together with what else has come by now; ``asker`` is
        told in this event loop what came of it. Whatever is wrong with the request is raised here."""
        assert isinstance(route.handler, Direct)
        self._admit(route, headers)
        body = self._decoded(route, data, _most_bytes(route, headers))
        self._direct.append((asker, route.handler.operations(names, body)))
        if len(self._direct) == 1:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        """All that was readable has been read, and is one job, or a few. One by one, each of them would wake the
        writer, which would take the interpreter away from who reads."""
        asked, self._direct = self._direct, []
        writer = self.store.writer
        taken = writer.room
        for some in (*_parts(asked[:taken]), *([one] for one in asked[taken:])):
            operations = list(itertools.chain.from_iterable(operations for _, operations in some))
            try:
                writer.submit(Job(operations, self._deliver_direct, requests=len(some), tag=some))
            except Exception as error:
                for asker, _ in some:
                    _tell(asker, asker.fail, error)

    def _deliver_direct(self, jobs: list[Job]) -> None:
        self._in_loop(_finish, jobs)

    def _in_loop(self, tell: Callable[[list[Job]], None], jobs: list[Job]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(tell, jobs)

    def _decoded(self, route: Route, data: bytes | bytearray, most: int) -> Any:
        if len(data) > most:
            raise _too_large(most)
        return bytes(data) if route.body is bytes else self._routes.decode(route, data)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.get_running_loop().run_in_executor(None, self.store.close)
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _note_seen(job: Job, future: asyncio.Future[list[Any]]) -> list[Any]:
    """The results of a follower's job; what it had seen of the log then goes with the answer."""
    results = await future
    if job.seen is not None:
        _seen.set(job.seen)
    return results


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        if not job.tag.done():
            job.tag.set_result(job.results)


def _parts(asked: list[_Asked]) -> Iterator[list[_Asked]]:
    """Requests that are one job each: as many as have ``_TOGETHER`` operations, or a single one."""
    part: list[_Asked] = []
    count = 0
    for one in asked:
        if part and count + len(one[1]) > _TOGETHER:
            yield part
            part, count = [], 0
        part.append(one)
        count += len(one[1])
    if part:
        yield part


def _finish(jobs: list[Job]) -> None:
    for job in jobs:
        results = iter(job.results)
        for asker, operations in job.tag:
            _tell(asker, asker.finish, list(itertools.islice(results, len(operations))))


def _tell(asker: Asker, tell: Callable[[Any], None], what: Any) -> None:
    try:
        tell(what)
    except Exception as error:  # a defect; the others are to have their answers
        log.error("an answer could not be sent: %s", where_raised(error))
        asker.abort()


def refusal(error: BaseException, request_id: str) -> Response:
    """An error as an answer; what ends the process is raised."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    found = problem_of(error, request_id)
    return Response(_encode(found), found.status, PROBLEM)


def _most_bytes(route: Route, headers: dict[bytes, bytes]) -> int:
    """How many bytes a body may have; an error if its head says that it has more, or is of another type."""
    wanted, most = (BINARY, LARGE) if route.body is bytes else (JSON, SMALL)
    kind = headers.get(b"content-type", b"")
    if kind != wanted and kind.partition(b";")[0].strip().lower() != wanted:
        raise Refused(415, "content-type", f"the body is to be {wanted.decode()}")
    length = headers.get(b"content-length")
    if length is not None and length.isdigit() and int(length[:20]) > most:
        raise _too_large(most)
    return most


def _too_large(most: int) -> Refused:
    return Refused(413, "too-large", f"the body may have {most} bytes")


def _is_whole(message: MutableMapping[str, Any]) -> bool:
    """Whether a message is all of a body."""
    return message["type"] == "http.request" and "body" in message and not message.get("more_body")


async def _rest(message: MutableMapping[str, Any], receive: Receive, most: int) -> bytearray:
    """The body that begins with a message, or as much of it as is too much: bytes are counted while they come."""
    data = bytearray()
    while True:
        if message["type"] == "http.disconnect":
            raise Refused(400, "broken", "the connection was closed before the body was complete")
        data += message.get("body", b"")
        if len(data) > most or not message.get("more_body"):
            return data
        message = await receive()


def headers_of(response: Response, request_id: str, age: tuple[int, float] | None = None) -> list[tuple[bytes, bytes]]:
    """The headers of an answer; ``age``: what a follower had seen."""
    headers = [
        (b"content-type", response.kind),
        (b"content-length", b"%d" % len(response.body)),
        (b"x-request-id", request_id.encode()),
    ]
    if age is not None:
        headers += [(b"goalbound-seq", b"%d" % age[0]), (b"goalbound-behind", b"%.3f" % age[1])]
    if response.status != 200 or response.repeated or response.policy is not None:
        headers += _other_headers(response)
    return headers


def _other_headers(response: Response) -> list[tuple[bytes, bytes]]:
    headers = []
    if response.policy is not None:
        headers.append((b"content-security-policy", response.policy))
    if response.repeated:
        headers.append((b"idempotent-replay", b"true"))
    if response.status in RETRY_AFTER:
        headers.append((b"retry-after", RETRY_AFTER[response.status]))
    if response.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return headers


def _known_fields(body: Any, message: str) -> str:
    """The fields that there are, where another one was sent."""
    if "unknown field" not in message:
        return ""
    if body is Begin and "`mode`" in message:
        return (
            "; there are no shadow cases any more: begin the case without mode, name the actions that are possible in "
            "allowed, and report the action that was played with each step"
        )
    kind = CaseStep if body is Batch and "$.steps" in message else body
    return f"; there are {', '.join(kind.__struct_fields__)}"


class _Table:
    """Finds routes, and decodes their bodies."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._patterns: dict[str, list[tuple[re.Pattern[str], Route]]] = {}
        self._decoders: dict[Any, Any] = {}
        for route in routes:
            pattern = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[A-Za-z0-9._~-]{1,64})", re.escape(route.path)))
            self._patterns.setdefault(route.method, []).append((pattern, route))
            if route.body not in (None, bytes):
                self._decoders[route.body] = msgspec.json.Decoder(route.body).decode
        self._direct = [pair for pair in self._patterns["POST"] if isinstance(pair[1].handler, Direct)]
        self._all = [pair for pairs in self._patterns.values() for pair in pairs]

    def find(self, method: str, path: str, raw: bytes | None) -> tuple[Route, dict[str, str]]:
        """The route of a path, and the names in it."""
        if raw is not None and b"%" in raw:
            raise Refused(404, "not-found", "there is nothing here; names need no escapes")
        for pattern, route in self._patterns.get(method, ()):
            match = pattern.fullmatch(path)
            if match is not None:
                return route, match.groupdict()
        others = sorted({route.method for pattern, route in self._all if pattern.fullmatch(path)})
        if others:
            raise Refused(405, "method", f"this takes {', '.join(others)}")
        raise Refused(404, "not-found", "there is nothing here; /openapi.json says what there is")

    def find_direct(self, url: bytes) -> tuple[Route, dict[str, str]] | None:
        """The direct route of a POST, and the names in it; None: it has none, or more than a path."""
        path = url.decode("latin-1")
        for pattern, route in self._direct:
            match = pattern.fullmatch(path)
            if match is not None:
                return route, match.groupdict()
        return None

    def decode(self, route: Route, data: bytes | bytearray) -> Any:
        """A body of the type of the route."""
        try:
            return self._decoders[route.body](data)
        except msgspec.ValidationError as error:
            raise Refused(422, "invalid", f"{error}{_known_fields(route.body, str(error))}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, "malformed", f"the body is not JSON ({error})") from None
