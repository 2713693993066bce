"""Serving: addresses, start, stop."""

import gc
import signal
import subprocess
import threading
import weakref

import httpx
import pytest

from faults.world import environment
from goalbound import GreedyRidge, LossScale
from goalbound.errors import ArgumentError
from goalbound.serve.client import Client
from goalbound.serve.service import server
from goalbound.serve.service.server import Address, check_address, warm_up_learners
from goalbound.serve.store import Follower
from goalbound.serve.store.audit import verify
from tests.support.incidents_at_work import greedy
from tests.support.services import command, running
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


def test_what_learners_run_is_compiled_ahead(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(server, "warm_up", lambda *learners: asked.append(learners) or 1.5)
    with open_store(tmp_path / "store") as store:
        assert warm_up_learners(store) == 0.0
        store.create("incidents", in_units(greedy(), LossScale("min", cap=60)))
        assert warm_up_learners(store) == 1.5
    assert [type(one) for one in asked[0]] == [GreedyRidge]  # the learner inside: the rest is not compiled


def test_a_store_in_a_database_is_served_and_followed_by_processes_of_their_own(tmp_path, database):
    """The leader is killed: the follower goes on answering; the next leader goes on, and is followed."""
    greedy().save(tmp_path / "learner.npz")
    learner = f"incidents={tmp_path / 'learner.npz'}"
    with (
        running(database, "--learner", learner) as (process, url),
        running(database, "--follow", "--leader", url) as (follower, beside),
    ):
        with Client(url) as client:
            case = client.learner("incidents").begin([1, 0], "down", id="a")
        until(lambda: httpx.get(f"{beside}/healthz").headers["goalbound-seq"] == "2")
        process.kill()
        answer = httpx.post(f"{beside}/v1/learners/incidents/cases/a/proposal", json={})
        assert answer.json()["action"] == case.proposal.action
        refused = httpx.post(f"{beside}/v1/learners/incidents/cases/a/abandon", json={"step": 1, "reason": "x"})
        assert (refused.status_code, refused.json()["leader"]) == (421, url)
        with open_store(database) as store:  # at once: the server has noticed that the leader is gone
            seq = store.learner("incidents").abandon("a", "why").seq
        until(lambda: httpx.get(f"{beside}/healthz").headers["goalbound-seq"] == str(seq))
        follower.send_signal(signal.SIGTERM)
        assert follower.wait(30) == 0
    assert verify(database).seq == seq


def test_a_follower_warms_up_in_its_own_thread(tmp_path, monkeypatch):
    names = []
    monkeypatch.setattr(server, "warm_up", lambda *learners: names.append(threading.current_thread().name) or 1.5)
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        with Follower.open(tmp_path / "store") as following:
            assert warm_up_learners(following) == 1.5
    assert names == ["goalbound follower"]


def test_learners_from_before_a_rebuild_are_gone_after_it(tmp_path):
    before = gc.get_threshold()
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy()).begin([1, 0], "down", id="a")
        old = weakref.ref(store.writer.call(lambda engine: engine.machine.named("incidents").learner))
        try:
            server.collect_seldom()
            store._engine.on_rebuilt = server.collect_seldom
            store.writer.call(lambda engine: engine.rebuild())
            store.writer.call(lambda engine: None)
            assert old() is None
        finally:
            gc.unfreeze()
            gc.set_threshold(*before)


def test_what_is_there_at_the_start_is_not_looked_through_for_cycles():
    before = gc.get_threshold()
    try:
        kept = [[] for _ in range(1000)]
        server.collect_seldom()
        assert gc.get_freeze_count() >= len(kept)
        assert gc.get_threshold()[0] > before[0]
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
