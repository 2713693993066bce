"""Connections of the server. Reports of steps, most of what a service is asked, are answered without a coroutine.

All of HTTP is uvicorn's. A request of a :class:`~goalbound.serve.service.routes.Direct` route whose body came together
with its head goes to the writer at once, and is answered when it is on the disk. Every other one (slow bodies, requests
sent before the last was answered, clients that do not read their answers, followers) goes the way of any ASGI
application.

Two things are not as uvicorn has them. The head of a request has a limit; and a client that offers another protocol
(``Upgrade: h2c``) is answered by HTTP/1.1 as if it had not, with its body (RFC 9110, 7.8).
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from goalbound.serve.service.app import Service, headers_of, refusal
from goalbound.serve.service.problems import Refused
from goalbound.serve.service.routes import JSON, Direct, Response, Route

MOST_HEAD = 64 * 2**10
"""The most bytes of the head of a request: its address and headers, and the headers that follow a chunked body."""
_OFFERS = (b"upgrade", b"http2-settings")

_PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nx-request-id: %s\r\n\r\n%s"


class Connection(HttpToolsProtocol):
    """One connection of a client; uvicorn makes it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._service: Service = self.config.app  # type: ignore[assignment]
        self._found: tuple[Route, dict[str, str]] | None = None  # of a request whose body may come with its head
        self._head: dict[bytes, bytes] = {}  # its headers
        self._data = bytearray()
        self._active = 0.0  # when something came or was sent last
        self._in_head = self._upgrades = False
        self._left = MOST_HEAD  # what may come of the head, by what the parser has told of it
        self._parts, self._untold = 0, 0  # how many heads and bodies it told of; bytes since then
        self._refused: Refused | None = None

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self._active = self.loop.time()
        parts = self._parts
        try:
            self._feed(data)
        except httptools.HttpParserError:
            if self._refused is None:
                self.send_400_response("Invalid HTTP request received.")
            else:
                self._refuse(self._refused)
            return
        if self._parts == parts:  # a header that goes on and on is told when it ends
            self._untold += len(data)
            if self._untold > MOST_HEAD:
                self._refuse(_too_large(431))
                return
        if self._found is not None:
            self._leave_to_asgi()

    def _feed(self, data: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                if not self._upgrades:  # CONNECT, which is refused
                    return
                # The parser would leave out the body: it reads the same head once more, without the offer.
                data = self._head_without_offers() + data[offer.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                with suppress(AttributeError):  # before httptools 0.6.3
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
            else:
                return

    def _head_without_offers(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                value = b", ".join(one for one in value.split(b",") if one.strip().lower() not in _OFFERS)
            if name not in _OFFERS:
                lines.append(b"%s: %s\r\n" % (name, value))
        return b"".join([*lines, b"\r\n"])

    def _refuse(self, refused: Refused) -> None:
        """End the connection; and say why, unless another answer comes first."""
        cycle, request_id = self.cycle, self._service.next_id()
        busy = cycle is not None and not cycle.response_complete
        if busy and not self._in_head and getattr(cycle, "more_body", False):  # the request itself waits for its end
            busy = bool(self.pipeline) or cycle.response_started
        self._service.metrics.count("none", refused.status, 0.0)
        if not busy and not self.transport.is_closing():
            self.transport.write(_as_bytes(refusal(refused, request_id), request_id, keep_alive=False))
        self._found = None
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._in_head, self._left, self._upgrades = True, MOST_HEAD, False
        self._parts += 1
        self._untold = 0

    def on_url(self, url: bytes) -> None:
        """Some of the address has come."""
        self._left -= len(url)
        if self._left < 0:
            self._refused = _too_large(414)
            raise self._refused
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come, also one that follows a chunked body."""
        self._left -= len(name) + len(value) + 3
        if self._left < 0:
            self._refused = _too_large(431)
            raise self._refused
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of a request has come."""
        self._found = None
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._upgrades = True
            return
        self._in_head = False
        cycle = self.cycle
        if (
            (cycle is None or cycle.response_complete)
            and not (self.expect_100_continue or self.flow.write_paused)
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
        ):
            self._head = dict(self.headers)
            if len(self._head) == len(self.headers):  # what is sent twice is for the application to look at
                self._found = self._service.find_direct(self.url)
        if self._found is None:
            self._begin_cycle()

    def on_body(self, body: bytes) -> None:
        """Some of a body has come."""
        self._parts += 1
        self._untold = 0
        if self._found is None:
            super().on_body(body)
        else:
            self._data += body

    def on_message_complete(self) -> None:
        """A request has come whole."""
        if self._upgrades:
            return
        found, self._found = self._found, None
        if found is None:
            super().on_message_complete()
            return
        exchange = _Exchange(self, self._service, found[0], keep_alive=self.parser.should_keep_alive())
        self.cycle = exchange  # type: ignore[assignment]
        headers, data, self._data = self._head, self._data, bytearray()
        try:
            self._service.submit_direct(*found, headers, data, exchange)
        except Exception as error:
            exchange.fail(error)

    def _leave_to_asgi(self) -> None:
        """The rest of the body comes later, if ever: the application waits for it, and not for ever."""
        data, self._found, self._data = self._data, None, bytearray()
        if self.parser is None or self.transport.is_closing():
            return
        self._begin_cycle()
        if data:
            super().on_body(bytes(data))

    def _begin_cycle(self) -> None:
        """A request for the application; its scope is made only now."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.headers.extend(headers)
        self.url, self.expect_100_continue = url, expects
        super().on_headers_complete()
        self.headers = []  # what follows a chunked body is no header of the request

    # One timer for a connection that is idle, instead of a new one after each answer.

    def on_response_complete(self) -> None:
        """An answer was sent."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._active = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again(self.timeout_keep_alive)

    def _unset_keepalive_if_required(self) -> None:
        """The timer finds out itself that there was something."""

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle for long enough."""
        left = self._active + self.timeout_keep_alive - self.loop.time()
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy or left > 0.0:
            self._look_again(self.timeout_keep_alive if busy else left)
        else:
            super().timeout_keep_alive_handler()

    def _look_again(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


class _Exchange:
    """A request that waits for the writer. To uvicorn it is the cycle of a request and its response."""

    __slots__ = ("begun", "connection", "disconnected", "id", "keep_alive", "response_complete", "route", "service")

    class message_event:  # noqa: N801  uvicorn's name
        """Nobody waits for more."""

        @staticmethod
        def set() -> None:
            """Nothing."""

    def __init__(self, connection: Connection, service: Service, route: Route, *, keep_alive: bool) -> None:
        self.begun = time.perf_counter()
        self.connection, self.service, self.route = connection, service, route
        self.id = service.next_id()
        self.keep_alive = keep_alive
        self.disconnected = self.response_complete = False

    def finish(self, results: list[Any]) -> None:
        """The results are on the disk."""
        assert isinstance(self.route.handler, Direct)
        try:
            response = self.route.handler.answer(results, self.id)
        except Exception as error:
            self.fail(error)
        else:
            self.answer(response)

    def fail(self, error: Exception) -> None:
        """There are no results."""
        self.answer(refusal(error, self.id))

    def abort(self) -> None:
        """Nothing can be answered: whoever waits is to notice."""
        self.connection.transport.abort()

    def answer(self, response: Response) -> None:
        """Send it, if somebody is there still."""
        self.service.metrics.count(self.route.path, response.status, time.perf_counter() - self.begun)
        self.response_complete = True
        connection = self.connection
        if not connection.transport.is_closing():
            connection.transport.write(_as_bytes(response, self.id, keep_alive=self.keep_alive))
            if not self.keep_alive:
                connection.transport.close()
        connection.on_response_complete()
        del self.connection  # which knows this exchange: no cycle is left


def _too_large(status: int) -> Refused:
    what = "address is" if status == 414 else "headers are"
    return Refused(status, "too-large", f"the {what} too long; together they may have {MOST_HEAD} bytes")


def _as_bytes(response: Response, request_id: str, *, keep_alive: bool) -> bytes:
    if response.status == 200 and response.kind is JSON and keep_alive and not response.repeated:
        return _PLAIN % (len(response.body), request_id.encode(), response.body)
    lines = [b"%s: %s\r\n" % header for header in headers_of(response, request_id)]
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join([STATUS_LINE[response.status], *lines, b"\r\n", response.body])
