"""Connections: heads of requests that are too long, and offers of other protocols."""

import select
import socket
import time
from contextlib import ExitStack

import pytest

from goalbound.serve.service.connection import Connection
from tests.support.connections import STEP, STEPS, request, served, talk, writer_busy
from tests.support.stores import until

CHUNKED = request(STEPS, b"", headers=b"content-type: application/json\r\ntransfer-encoding: chunked\r\n").replace(
    b"content-length: 0\r\n", b"") + b"%x\r\n%s\r\n0\r\n" % (len(STEP % 1), STEP % 1)  # fmt: skip
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
MANY = b"".join(b"x-%d: %s\r\n" % (number, b"a" * 1000) for number in range(100))
TOO_LONG = {
    "an address": (414, [b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"]),
    "an address without end": (414, [b"GET /", *[b"a" * 10_000] * 10]),
    "many headers": (431, [GET + MANY + b"\r\n"]),
    "headers without end": (431, [GET, *[MANY[:20_100]] * 5]),
    "a header": (431, [GET + b"x: " + b"a" * 100_000 + b"\r\n\r\n"]),
    "a header without end": (431, [GET, b"x: ", *[b"a" * 10_000] * 10]),
    "a name without end": (431, [GET, *[b"a" * 10_000] * 10]),
    "headers after a body": (431, [CHUNKED + MANY + b"\r\n"]),
    "headers after a body, later": (431, [CHUNKED[:-3], b"0\r\n" + MANY, b"\r\n"]),
    "a header after a body without end": (431, [CHUNKED, b"x: ", *[b"a" * 10_000] * 10]),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_head_that_is_too_long_is_refused_and_the_connection_closed(store, name):
    status, parts = TOO_LONG[name]
    with served(store, Connection) as (port, _):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            for part in parts:
                connection.sendall(part)
                time.sleep(0.01)
                if select.select([connection], [], [], 0.0)[0]:
                    break
            answer = connection.recv(65536)
        [after, _] = talk(port, request(STEPS, STEP % 1), answers=1)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    assert b'"code":"too-large"' in body
    assert after[0] == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("second", [b"localhost", b"evil.example"])
def test_two_host_headers_are_refused(store, second):
    twice = b"content-type: application/json\r\nHost: " + second + b"\r\n"
    get = GET + b"host: " + second + b"\r\n\r\n"
    with served(store, Connection) as (port, _):
        for whole in (request(STEPS, STEP % 1, headers=twice), get):
            [answer, state] = talk(port, whole, answers=1)
            assert (answer[0], state) == (b"HTTP/1.1 400 Bad Request", "open")


def test_a_head_just_below_the_limit_is_read_also_in_pieces(store):
    whole = request(STEPS, STEP % 1, headers=b"content-type: application/json\r\nx: " + b"a" * 65_000 + b"\r\n")
    with served(store, Connection) as (port, _):
        for parts in ((whole,), [whole[begin : begin + 9000] for begin in range(0, len(whole), 9000)]):
            [answer, state] = talk(port, *parts, answers=1)
            assert (answer[0], state) == (b"HTTP/1.1 200 OK", "open")


def test_a_long_head_after_a_request_that_waits_is_no_answer_to_that_one(store):
    with ExitStack() as stack:
        port, _ = stack.enter_context(served(store, Connection))
        stack.enter_context(writer_busy(store))
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        connection.sendall(request(STEPS, STEP % 1))
        until(lambda: store.writer.waiting == 1)
        connection.sendall(GET + MANY + b"\r\n")
        assert connection.recv(1) == b""
    until(lambda: store.learner("incidents").act("a").step == 1)  # it was reported all the same


OFFER = (
    b"content-type: application/json\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    b"http2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
)


@pytest.mark.parametrize("form", ["whole", "in parts", "two at once", "chunked", "websocket", "close"])
def test_an_offer_of_another_protocol_is_passed_over(store, form):
    offer = OFFER.replace(b"h2c", b"websocket") if form == "websocket" else OFFER
    if form == "close":
        offer = offer.replace(b"Upgrade, ", b"close, upgrade, ")
    one = request(STEPS, STEP % 1, headers=offer)
    parts = {
        "in parts": (one[:30], one[30:-20], one[-20:]),
        "two at once": (one + request(STEPS, STEP % 2, headers=offer),),
        "chunked": (CHUNKED.replace(b"content-type: application/json\r\n", offer), b"\r\n"),
    }.get(form, (one,))
    with served(store, Connection) as (port, _):
        found = talk(port, *parts, answers=2 if form == "two at once" else 1)
        assert [answer[0] for answer in found[:-1]] == [b"HTTP/1.1 200 OK"] * (len(found) - 1)
        assert found[-1] == ("closed" if form == "close" else "open")
        [page, _] = talk(port, request("/healthz", b"", method=b"GET", headers=offer), answers=1)
        assert page[0] == b"HTTP/1.1 200 OK"


def test_a_tunnel_is_refused(store):
    with served(store, Connection) as (port, _):
        for target in (b"example.org:443", b"/healthz"):
            [answer, _] = talk(port, b"CONNECT %s HTTP/1.1\r\nhost: localhost\r\n\r\n" % target, answers=1)
            assert answer[0].split()[1] in (b"400", b"404", b"405")
