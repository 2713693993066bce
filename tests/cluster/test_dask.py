"""Sweeps on a real Dask cluster: a scheduler and two worker processes of this machine."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra 'cluster' (Dask distributed) is not installed")
pytest.importorskip("pydantic", reason="the extra 'experiments' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'experiments' is not installed")
pytest.importorskip("joblib", reason="the extra 'experiments' is not installed")

import distributed

from goalbound.errors import InputError
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import sweep
from tests.support.sweep_cases import HERE, EventLog, records_in, small_spec

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are killed with signals of POSIX")


def workers(count, *, threads=1):
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=threads, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster():
    with workers(2) as cluster:
        yield cluster


def when_there(folder: Path, act, *, seconds: float = 40.0) -> threading.Thread:
    """In a thread: wait for a file in the folder and act on its name."""

    def watch() -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(folder.iterdir()):
            time.sleep(0.02)
        act(next(folder.iterdir()).name)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_a_worker_that_is_killed_on_the_way_is_survived_and_the_bytes_are_the_same(cluster, tmp_path):
    pids, until = tmp_path / "pids", tmp_path / "until"
    pids.mkdir()
    waiter = {"use": f"{HERE}:waiting", "pid": str(pids), "until": str(until)}
    spec = small_spec(learners=[{"use": "lr-cssp", "scale": 0.1}, waiter])
    killed = []

    def kill(pid: str) -> None:
        os.kill(int(pid), signal.SIGKILL)
        killed.append(int(pid))
        until.touch()

    thread = when_there(pids, kill)
    events = EventLog()
    result = sweep(spec, tmp_path / "there", on=cluster.scheduler_address, progress=events)
    thread.join()

    assert result.complete
    assert killed
    assert killed[0] != os.getpid()
    assert sweep(spec, tmp_path / "here", workers=1).complete
    assert records_in(tmp_path / "there") == records_in(tmp_path / "here")
    assert len(records_in(tmp_path / "there")) == 4
    assert len(events.of("finished")) == 4  # among them the run of the killed worker


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_leaves_the_cluster_alone_and_keeps_what_came_back(cluster, tmp_path):
    pids, until = tmp_path / "pids", tmp_path / "until"
    pids.mkdir()
    waiter = {"use": f"{HERE}:waiting", "pid": str(pids), "until": str(until)}
    spec = small_spec(seeds=1, learners=[{"use": "clairvoyant"}, waiter])

    def interrupt_after_one(event) -> None:
        if event.kind == "finished":
            signal.raise_signal(signal.SIGINT)

    started = time.monotonic()
    result = sweep(spec, tmp_path / "out", on=cluster.scheduler_address, progress=interrupt_after_one)

    assert result.interrupted
    assert (len(result.done), len(result.open)) == (1, 1)
    assert time.monotonic() - started < 20.0
    until.touch()
    assert sweep(spec, tmp_path / "out", on=cluster.scheduler_address).complete


def test_a_scheduler_that_goes_away_is_one_error_and_what_came_back_is_kept(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    waiter = {"use": f"{HERE}:waiting", "pid": str(pids), "until": str(tmp_path / "never")}
    spec = small_spec(seeds=1, learners=[waiter, {"use": "clairvoyant"}])
    cluster = workers(1, threads=2)  # one waits, the other finishes

    def close_after_one(event) -> None:
        if event.kind == "finished":
            cluster.close()

    with pytest.raises(InputError, match="was lost; finished runs are kept"):
        sweep(spec, tmp_path / "out", on=cluster.scheduler_address, progress=close_after_one)

    assert len(records_in(tmp_path / "out")) == 1


def test_workers_know_what_is_allowed_and_do_not_run_another_version(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module, file = tmp_path / "beside_dask.py", tmp_path / "beside.toml"
    module.write_text(
        '__version__ = "1"\n'
        "from goalbound import Clairvoyant, plugin\n\n\n@plugin\ndef wise(problem):\n    return Clairvoyant(problem)\n"
    )
    file.write_text(
        'name = "beside"\nepisodes = 3\n[[problems]]\nuse = "random"\n[[learners]]\nuse = "beside_dask:wise"\n'
    )

    def swept(address):
        sys.modules.pop("beside_dask", None)  # as a new process would see it
        return sweep(ExperimentSpec.load(file, plugins=["beside_dask"]), tmp_path / "out", on=address)

    with workers(1) as cluster:
        assert swept(cluster.scheduler_address).complete
        module.write_text(module.read_text().replace('"1"', '"2"'))
        (said,) = swept(cluster.scheduler_address).failed.values()
        assert "the version here is not that of the run (beside_dask 1, and the run names beside_dask 2)" in said
    with workers(1) as cluster:
        again = swept(cluster.scheduler_address)
    assert (len(again.done), again.reused) == (1, ())
    sys.modules.pop("beside_dask", None)
