"""Serving: addresses, start, stop."""

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import threading

import httpx
import pytest

from faults.world import environment
from goalbound import GreedyRidge, LossScale
from goalbound.errors import ArgumentError
from goalbound.serve.client import Client
from goalbound.serve.service import server
from goalbound.serve.service.app import Service
from goalbound.serve.service.server import HEAD_BYTES, Address, Serving, check_address
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store.replay import verify
from tests.support.incidents_at_work import greedy
from tests.support.services import command, running, waiting
from tests.support.stores import open_store, until
from tests.support.units import in_units


@pytest.mark.parametrize(
    ("host", "fine"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
                       ("192.168.1.7", False), ("my-host", False)],
)  # fmt: skip
def test_only_with_tokens_other_machines_are_answered(host, fine):
    check_address(Address(host), has_tokens=True)
    if fine:
        check_address(Address(host), has_tokens=False)
    else:
        with pytest.raises(ArgumentError, match="there are no tokens"):
            check_address(Address(host), has_tokens=False)
    check_address(Address(host, socket="/run/x.sock"), has_tokens=False)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (Address(), "http://127.0.0.1:8765"), (Address("::1", 80), "http://[::1]:80"),
        (Address(socket="/run/x.sock"), "/run/x.sock"),
    ],
)  # fmt: skip
def test_the_address_of_ipv6_is_shown_in_brackets(address, shown):
    assert str(address) == shown


def test_a_service_is_started_asked_and_stopped_and_a_second_one_refuses(tmp_path):
    folder = tmp_path / "store"
    greedy().save(tmp_path / "learner.npz")
    with running(folder, "--learner", f"incidents={tmp_path / 'learner.npz'}") as (process, url):
        with Client(url) as client:
            case = client.learner("incidents").begin([1, 0], "down", id="a")
            case.observe(0.1, "down")
            seq = case.proposal.seq
        second = subprocess.run(command(folder, 1), env=environment(), capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert f"process {process.pid} has this store open" in second.stderr
        assert httpx.get(f"{url}/healthz").headers.get("server") is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with open_store(folder) as store:
        assert store.status()["replayed"] == 0  # a snapshot was taken at the end
        assert store.learner("incidents").act("a").seq == seq


def test_it_listens_at_once_says_what_it_compiles_and_compiles_only_what_its_learners_use(tmp_path, monkeypatch):
    compiling, go_on, asked = threading.Event(), threading.Event(), []

    def warm_up(*learners):
        asked.extend(map(type, learners))
        compiling.set()
        assert go_on.wait(60)

    monkeypatch.setattr(server, "warm_up", warm_up)
    monkeypatch.setattr(server, "collect_seldom", lambda: None)
    with open_store(tmp_path / "store") as store:
        store.create("incidents", in_units(greedy(), LossScale("min", cap=60)))
    service = Service(tokens=Tokens(tmp_path / "store"))
    opening = server._Opening(tmp_path / "store", service, Serving(), fail=pytest.fail)

    def ready():
        async def ask():
            transport = httpx.ASGITransport(service)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.get("/readyz"), await client.get("/healthz"), await client.get("/v1/learners")

        return asyncio.run(ask())

    not_ready, healthy, refused = ready()
    assert (not_ready.status_code, healthy.status_code, refused.status_code) == (503, 200, 503)
    assert not_ready.json()["detail"] == "the store is being opened"
    opening.start()
    assert compiling.wait(60)
    not_ready = ready()[0]
    assert (not_ready.json()["code"], not_ready.headers["retry-after"]) == ("not-ready", "1")
    assert not_ready.json()["detail"] == "what the learner incidents runs is being compiled"
    go_on.set()
    opening.join(60)
    assert [answer.status_code for answer in ready()] == [200, 200, 200]
    assert asked == [GreedyRidge]  # the learner inside: the rest is not compiled
    assert opening.end() == 0


@pytest.fixture
def opening(tmp_path, monkeypatch):
    """The opening of a store with an open case, which is not begun yet."""
    monkeypatch.setattr(server, "collect_seldom", lambda: None)
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy()).begin([1, 0], "down", id="a")
    service = Service(tokens=Tokens(tmp_path / "store"))
    opening = server._Opening(tmp_path / "store", service, Serving(), fail=lambda: None)
    yield opening
    opening._alarms.close()
    if opening._store is not None:
        opening._store.close()


def test_open_cases_are_not_copied_to_compile_what_learners_run(opening, monkeypatch):
    episodes = []
    monkeypatch.setattr(server, "warm_up", lambda learner: episodes.append(len(learner.open_episodes)))
    opening.run()
    assert episodes == [0]


def test_a_standby_answers_503_takes_over_and_its_client_goes_on(tmp_path, database):
    greedy().save(tmp_path / "learner.npz")
    learner = f"incidents={tmp_path / 'learner.npz'}"
    with (
        running(database, "--learner", learner) as (process, url),
        waiting(database, "--standby") as (standby, beside),
        Client(url, beside) as client,
    ):
        case = client.learner("incidents").begin([1, 0], "down", id="a")
        until(lambda: httpx.get(f"{beside}/readyz").json().get("code") == "not-leader")
        refused = httpx.post(f"{beside}/v1/learners/incidents/cases/a/abandon", json={"step": 1, "reason": "x"})
        assert (refused.status_code, refused.json()["code"]) == (503, "not-leader")
        process.kill()
        case.abandon("why")  # waits for the standby
        assert case.proposal.seq == 3
        standby.send_signal(signal.SIGTERM)
        assert standby.wait(30) == 0
    assert verify(database).seq == 3


GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
MANY = b"".join(b"x-%d: %s\r\n" % (number, b"a" * 1000) for number in range(2000))
TOO_LONG = {
    "an address": b"GET /" + b"a" * 2_000_000 + b" HTTP/1.1\r\n\r\n",
    "an address without end": b"GET /" + b"a" * 2_000_000,
    "many headers": GET + MANY + b"\r\n",
    "headers without end": GET + MANY,
    "a header": GET + b"x: " + b"a" * 2_000_000 + b"\r\n\r\n",
    "a name without end": GET + b"a" * 2_000_000,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads") / "store"
    with open_store(folder) as store:
        store.create("incidents", greedy())
    with running(folder, "--access-log") as (process, url):
        yield process, url


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_head_that_is_too_long_is_refused_and_the_connection_closed(served, name):
    assert len(TOO_LONG[name]) > HEAD_BYTES
    host, port = served[1].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        answer = b""
        with contextlib.suppress(OSError):  # it may be refused before it was all sent
            connection.sendall(TOO_LONG[name])
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                answer += part
    assert not answer or answer.startswith(b"HTTP/1.1 400 ")
    assert httpx.get(f"{served[1]}/healthz").status_code == 200


def test_an_access_log_says_the_route_and_neither_ids_nor_contexts(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
    with running(tmp_path / "store", "--access-log") as (process, url), Client(url) as client:
        client.learner("incidents").begin([0.73190246, 1 - 0.73190246], "down", id="marker")
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=30)[1].decode()
    assert re.search(r"/v1/learners/\{learner\}/cases 201 [0-9.]+ ms \w+-\w+", said)
    assert "marker" not in said
    assert "7319" not in said
