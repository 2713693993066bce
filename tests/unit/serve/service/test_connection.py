"""Connections: what they answer themselves is what the application answers, whatever comes by the socket."""

import asyncio
import gc
import socket
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest
import uvloop

from goalbound.errors import StepGap, StoreOverloaded
from goalbound.serve.service.app import Limits, Service, _parts
from goalbound.serve.service.connection import Connection, _Exchange
from goalbound.serve.service.tokens import Tokens
from tests.support.connections import BATCH, STEP, STEPS, read, request, served, talk, writer_busy
from tests.support.incidents_at_work import greedy
from tests.support.stores import SELDOM, open_store, until


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same service twice: one whose connections answer, one that is any ASGI application."""
    folder = tmp_path_factory.mktemp("connections")
    with open_store(folder / "one") as one, open_store(folder / "two") as two:
        for store in (one, two):
            store.create("incidents", greedy())
            store.learner("incidents").begin([1, 0], "degraded", id="a")
        with served(one, Connection) as (first, _), served(two, "httptools") as (second, _):
            yield one, (first, second)
        assert one.digest()["state"] == two.digest()["state"]


def next_step(store):
    return STEP % (store.learner("incidents").act("a").step + 1)


WRONG = {
    "nobody": request("/v1/learners/incidents/cases/nobody/steps", STEP % 1),
    "no learner": request("/v1/learners/other/cases/a/steps", STEP % 1),
    "gap": request(STEPS, STEP % 1000),
    "malformed": request(STEPS, b"{"),
    "invalid": request(STEPS, b'{"step":0,"next_state":"degraded"}'),
    "no loss": request(STEPS, b'{"step":1,"next_state":"degraded","action":0}'),
    "empty": request(STEPS, b""),
    "large": request(STEPS, b" " * 70_000),
    "other type": request(STEPS, STEP % 1, headers=b"content-type: text/plain\r\n"),
    "other host": request(STEPS, STEP % 1).replace(b"localhost", b"example.org"),
    "other origin": request(
        STEPS, STEP % 1, headers=b"content-type: application/json\r\norigin: http://example.org\r\n"
    ),
    "query": request(STEPS + "?a=b", STEP % 1000),
    "escape": request(STEPS.replace("incidents", "in%63idents"), STEP % 1),
    "method": request(STEPS, STEP % 1, method=b"PUT"),
    "batch": request(BATCH, b'{"steps":[{"case":"a","step":1000,"loss":0.1,"next_state":"degraded"}]}'),
    "batch of none": request(BATCH, b'{"steps":[]}'),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_the_application_and_the_connection_goes_on(pair, name):
    _, ports = pair
    after = request("/v1/learners/other/cases/a/steps", STEP % 1)
    first, second = (talk(port, WRONG[name], after, answers=2) for port in ports)
    assert first == second
    assert first[0][0] != b"HTTP/1.1 200 OK" or name == "batch"


FORMS = {
    "whole": lambda body: (request(STEPS, body),),
    "again": lambda body: (request(STEPS, body), request(STEPS, body)),
    "in three parts": lambda body: (request(STEPS, body)[:30], request(STEPS, body)[30:-5], body[-5:]),
    "body after its head": lambda body: (request(STEPS, body)[: -len(body)], body),
    "two at once": lambda body: (request(STEPS, body) * 2,),
    "three at once": lambda body: (request(STEPS, body) * 3,),
    "one and a half": lambda body: (request(STEPS, body) + request(STEPS, body)[:-9], request(STEPS, body)[-9:]),
    "after a page": lambda body: (request("/healthz", b"", method=b"GET") + request(STEPS, body),),
    "before a page": lambda body: (request(STEPS, body) + request("/healthz", b"", method=b"GET"),),
    "chunked": lambda body: (
        request(STEPS, b"", headers=b"content-type: application/json\r\ntransfer-encoding: chunked\r\n").replace(
            b"content-length: 0\r\n", b"") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),),
    "expects": lambda body: (
        request(STEPS, body, headers=b"content-type: application/json\r\nexpect: nothing\r\n"),),
    "close": lambda body: (request(STEPS, body, headers=b"content-type: application/json\r\nconnection: close\r\n"),),
    "old": lambda body: (request(STEPS, body, version=b"1.0"),),
    "batch": lambda body: (request(BATCH, b'{"steps":[%s]}' % body.replace(b"{", b'{"case":"a",')),),
}  # fmt: skip
ANSWERS = {"again": 2, "two at once": 2, "three at once": 3, "one and a half": 2, "after a page": 2, "before a page": 2}


@pytest.mark.parametrize("name", FORMS)
def test_a_step_in_any_form_is_answered_as_by_the_application(pair, name):
    store, ports = pair
    parts = FORMS[name](next_step(store))
    first, second = (talk(port, *parts, answers=ANSWERS.get(name, 1)) for port in ports)
    assert first == second
    assert all(status == b"HTTP/1.1 200 OK" for status, _, _ in first[:-1])
    assert first[-1] == ("closed" if name in ("close", "old") else "open")


def test_whole_steps_need_no_coroutine(store, monkeypatch):
    monkeypatch.setattr(Service, "__call__", None)
    with served(store, Connection) as (port, _):
        [answer, _] = talk(port, request(STEPS, STEP % 1), answers=1)
    assert answer[0] == b"HTTP/1.1 200 OK"


def test_tokens_are_asked_for_and_counted(store):
    tokens = Tokens(store.location.place)
    reads, writes = tokens.create(["cases:read"]), tokens.create(["cases:write"])
    with served(store, Connection, limits=Limits(requests_a_second=1.0)) as (port, _):
        found = []
        for token in (None, "gb_x_y", reads, writes, writes):
            word = b"" if token is None else b"authorization: Bearer %s\r\n" % token.encode()
            sent = request(STEPS, next_step(store), headers=b"content-type: application/json\r\n" + word)
            found.append(talk(port, sent, answers=1)[0])
    assert [status[9:12] for status, _, _ in found] == [b"401", b"401", b"403", b"200", b"429"]
    assert b"www-authenticate: Bearer" in found[0][1]
    assert any(line.startswith(b"retry-after") for line in found[-1][1])


def test_a_body_that_does_not_come_is_not_waited_for(store):
    with served(store, Connection, limits=Limits(body_seconds=0.2)) as (port, _):
        [answer, _] = talk(port, request(STEPS, STEP % 1)[:-5], answers=1)
    assert answer[0].startswith(b"HTTP/1.1 408")


def test_who_leaves_before_the_answer_has_reported_and_others_are_answered(store):
    with served(store, Connection) as (port, server), writer_busy(store) as release:
        gone = socket.create_connection(("127.0.0.1", port))
        gone.sendall(request(STEPS, STEP % 1))
        until(lambda: store.writer.waiting == 1)
        gone.close()
        until(lambda: not server.server_state.connections)
        stays = socket.create_connection(("127.0.0.1", port), timeout=20)
        stays.sendall(request(STEPS, STEP % 2))
        until(lambda: store.writer.waiting == 2)
        release()
        [answer] = read(stays, 1)
        stays.close()
    assert answer[0] == b"HTTP/1.1 200 OK"
    assert store.learner("incidents").act("a").step == 2


def test_a_stop_answers_who_waits_and_ends_the_connection(store):
    with served(store, Connection) as (port, server), writer_busy(store) as release:
        waits = socket.create_connection(("127.0.0.1", port), timeout=20)
        waits.sendall(request(STEPS, STEP % 1))
        until(lambda: store.writer.waiting == 1)
        server.should_exit = True
        until(lambda: not next(iter(server.server_state.connections)).cycle.keep_alive)
        release()
        [answer] = read(waits, 1)
        assert b"connection: close" in answer[1]
        assert waits.recv(1) == b""
        waits.close()


def test_a_closed_store_is_answered(store):
    with served(store, Connection) as (port, _):
        store.close()
        [answer, state] = talk(port, request(STEPS, STEP % 1), answers=1)
    assert answer[0].startswith(b"HTTP/1.1 503")
    assert state == "open"


def test_a_full_queue_is_answered(tmp_path):
    with open_store(tmp_path / "store", replace(SELDOM, most_waiting=2)) as store:
        store.create("incidents", greedy())
        for id in "abcd":
            store.learner("incidents").begin([1, 0], "degraded", id=id)
        with served(store, Connection) as (port, _), ExitStack() as stack:
            with writer_busy(store):
                asking = []
                for id in "abcd":
                    asking.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)))
                    asking[-1].sendall(request(STEPS.replace("/a/", f"/{id}/"), STEP % 1))
                    if len(asking) <= 2:
                        until(lambda: store.writer.waiting == len(asking))
                refused = [read(one, 1)[0] for one in asking[2:]]
            taken = [read(one, 1)[0] for one in asking[:2]]
    assert [status[9:12] for status, _, _ in taken + refused] == [b"200"] * 2 + [b"503"] * 2


class Asker:
    """Notes what it is told; the last of all sets the event."""

    def __init__(self, told, done, all_of):
        self._told, self._done, self._all = told, done, all_of

    def finish(self, results):
        self._told.append((self, results))
        if len(self._told) == self._all:
            self._done.set()

    fail = abort = finish


@pytest.mark.parametrize("most_waiting", [4096, 1, 0])
def test_requests_that_were_read_together_are_one_job_and_each_gets_its_own_results(tmp_path, most_waiting):
    bodies = [(STEPS, STEP % 1), (BATCH, b'{"steps":[{"case":"b","step":1,"loss":0.2,"next_state":"degraded"},'
              b'{"case":"b","step":2,"loss":0.3,"next_state":"degraded"}]}'), (STEPS, STEP % 7)]  # fmt: skip
    told = []

    async def ask(service):
        done = asyncio.Event()
        askers = [Asker(told, done, len(bodies)) for _ in bodies]
        for asker, (path, body) in zip(askers, bodies, strict=True):
            found = service.find_direct(path.encode())
            service.submit_direct(*found, {b"content-type": b"application/json"}, bytearray(body), asker)
        await asyncio.wait_for(done.wait(), 20)
        return askers

    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        for id in "ab":
            store.learner("incidents").begin([1, 0], "degraded", id=id)
        commits, store.writer._most_waiting = store.writer.counts.commits, most_waiting
        askers = uvloop.run(ask(Service(store)))
        assert {asker for asker, _ in told} == set(askers)
        if most_waiting < 3:
            told.sort(key=lambda one: askers.index(one[0]))
            assert [isinstance(error, StoreOverloaded) for _, error in told] == [False] * most_waiting + [True] * (
                3 - most_waiting
            )
            assert store.writer.counts.refused == 3 - most_waiting
            return
        assert [asker for asker, _ in told] == askers
        assert [[getattr(one, "step", None) for one in results] for _, results in told] == [[1], [1, 2], [None]]
        assert isinstance(told[2][1][0], StepGap)
        assert store.writer.counts.commits == commits + 1


def test_many_steps_that_were_read_together_are_several_jobs():
    """So that the number of steps in a commit has a bound."""
    asked = [(number, [None] * count) for number, count in enumerate([1, 1, 254, 1, 256, 256, 100, 100])]
    parts = list(_parts(asked))
    assert [[number for number, _ in part] for part in parts] == [[0, 1, 2], [3], [4], [5], [6, 7]]
    assert list(_parts([])) == []


def test_a_defect_in_one_answer_leaves_the_others_theirs(store, monkeypatch, caplog):
    answer = _Exchange.answer

    def broken(self, response):
        if b'"step":1,' in response.body:
            raise ZeroDivisionError
        answer(self, response)

    monkeypatch.setattr(_Exchange, "answer", broken)
    with served(store, Connection) as (port, _), ExitStack() as stack:
        with writer_busy(store):
            asking = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(2)]
            for number, one in enumerate(asking, 1):
                one.sendall(request(STEPS, STEP % number))
                until(lambda: store.writer.waiting == number)  # noqa: B023
        assert read(asking[1], 1)[0][0] == b"HTTP/1.1 200 OK"
        assert asking[0].recv(1) == b""
    assert "could not be sent" in caplog.text


def test_connections_that_have_ended_leave_no_cycle_and_no_body(store):
    with served(store, Connection) as (port, server):
        talk(port, request(STEPS, STEP % 1), answers=1)  # what is made once
        gc.collect()
        gc.disable()
        try:
            for number in range(2, 8):
                talk(port, request(STEPS, STEP % number), answers=1)
            until(lambda: not server.server_state.connections)
            assert sum(isinstance(one, Connection | _Exchange) for one in gc.get_objects()) <= 1
        finally:
            gc.enable()


def test_what_follows_a_chunked_body_is_no_header(pair):
    _, ports = pair
    head = request(STEPS, b"", headers=b"content-type: application/json\r\ntransfer-encoding: chunked\r\n")
    head = head.replace(b"content-length: 0\r\n", b"").replace(b"localhost", b"example.org")
    sent = head + b"%x\r\n%s\r\n0\r\nhost: localhost\r\n\r\n" % (len(STEP % 1), STEP % 1)
    for parts in ((sent,), (sent[:-60], sent[-60:])):
        assert talk(ports[0], *parts, answers=1)[0][0].startswith(b"HTTP/1.1 403")


def test_who_does_not_read_is_not_answered_without_end(store):
    """Answers that nobody reads stay in the transport up to its limit; then no more requests are answered."""
    with served(store, Connection) as (port, server):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.connect(("127.0.0.1", port))
            until(lambda: server.server_state.connections)
            [one] = server.server_state.connections
            one.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            one.transport.set_write_buffer_limits(high=4096)
            sent, waited = 0, 0.0
            while sent < 1000 and waited < 0.5:
                if server.server_state.total_requests == sent:  # one at a time
                    connection.sendall(request(STEPS, STEP % 1000))
                    sent, waited = sent + 1, 0.0
                else:
                    time.sleep(0.001)
                    waited += 0.001
        assert 1 < sent < 1000


def test_only_an_idle_connection_is_closed_after_a_while(store):
    with served(store, Connection) as (port, server):
        server.config.timeout_keep_alive = 0.8
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            for step in (1, 2, 3):  # together they take longer than it may be idle
                connection.sendall(request(STEPS, STEP % step))
                assert read(connection, 1)[0][0] == b"HTTP/1.1 200 OK"
                time.sleep(0.4)
            head = request(STEPS, STEP % 4)
            connection.sendall(head[:40])  # the rest of it comes later
            time.sleep(0.4)
            with writer_busy(store):  # it waits for its answer, and is not idle
                connection.sendall(head[40:])
                time.sleep(1.0)
            assert read(connection, 1)[0][0] == b"HTTP/1.1 200 OK"
            begun = time.perf_counter()
            assert connection.recv(1) == b""
            assert 0.5 < time.perf_counter() - begun < 10.0
