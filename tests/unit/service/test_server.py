"""Serving: addresses, start, stop."""

import signal
import subprocess

import httpx
import pytest

from faults.world import environment
from goalbound import GreedyRidge, InUnits, LossScale
from goalbound.client import Client
from goalbound.errors import ArgumentError
from goalbound.service import server
from goalbound.service.server import Address, check_address, warm_up_learners
from tests.support.incidents_at_work import greedy
from tests.support.services import command, running
from tests.support.stores import open_store


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
        store.create("incidents", InUnits(greedy(), LossScale("min", cap=60)))
        assert warm_up_learners(store) == 1.5
    assert [type(one) for one in asked[0]] == [GreedyRidge]  # the learner inside: the rest is not compiled
