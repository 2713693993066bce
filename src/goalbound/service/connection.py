"""Connections of the server. Reports of steps, most of what a service is asked, are answered without a coroutine.

All of HTTP is uvicorn's. A request of a :class:`~goalbound.service.routes.Direct` route whose body came together with
its head goes to the writer at once, and is answered when it is on the disk. Every other one (slow bodies, requests sent
before the last was answered, clients that do not read their answers, followers) goes the way of any ASGI application.
"""

from __future__ import annotations

import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from goalbound.service.app import Service, headers_of, refusal
from goalbound.service.routes import JSON, Direct, Response, Route

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

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self._active = self.loop.time()
        super().data_received(data)
        if self._found is not None:
            self._leave_to_asgi()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        """The head of a request has come."""
        self._found = None
        cycle = self.cycle
        if (
            (cycle is None or cycle.response_complete)
            and not (self.expect_100_continue or self.flow.write_paused or self.parser.should_upgrade())
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
        ):
            self._found = self._service.find_direct(self.url)
        if self._found is None:
            self._begin_cycle()
        else:
            self._head = dict(self.headers)

    def on_body(self, body: bytes) -> None:
        """Some of a body has come."""
        if self._found is None:
            super().on_body(body)
        else:
            self._data += body

    def on_message_complete(self) -> None:
        """A request has come whole."""
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


def _as_bytes(response: Response, request_id: str, *, keep_alive: bool) -> bytes:
    if response.status == 200 and response.kind is JSON and keep_alive and not response.repeated:
        return _PLAIN % (len(response.body), request_id.encode(), response.body)
    lines = [b"%s: %s\r\n" % header for header in headers_of(response, request_id)]
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join([STATUS_LINE[response.status], *lines, b"\r\n", response.body])
