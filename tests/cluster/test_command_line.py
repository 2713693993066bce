"""``goalbound run --on``: a cluster through the command line, interrupted and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra 'cluster' (Dask distributed) is not installed")
pytest.importorskip("pydantic", reason="the extra 'experiments' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'experiments' is not installed")
pytest.importorskip("joblib", reason="the extra 'experiments' is not installed")

import distributed

from goalbound.cli import main
from tests.support.commands import SPEC
from tests.support.sweep_cases import HERE, PAUSE, records_in

ROOT = Path(__file__).parents[2]
UNHURRIED = f"""
name = "unhurried"
episodes = 200
[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1
[[learners]]
use = "{HERE}:unhurried"
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the command is interrupted with a signal of POSIX")


@pytest.fixture(scope="module")
def address():
    """A scheduler with one worker, on which an episode of the unhurried learner takes 20 ms."""
    os.environ[PAUSE] = "0.02"
    try:
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster:
            del os.environ[PAUSE]
            yield cluster.scheduler_address
    finally:
        os.environ.pop(PAUSE, None)


def test_a_cluster_leaves_the_same_bytes_as_this_machine(address, tmp_path, capsys):
    file = tmp_path / "small.toml"
    file.write_text(SPEC)
    there, here = tmp_path / "there", tmp_path / "here"
    assert main(["run", str(file), "--quick", "--on", address, "--out", str(there)]) == 0
    assert f"workers: {address}" in capsys.readouterr().err
    assert main(["run", str(file), "--quick", "--workers", "1", "--quiet", "--out", str(here)]) == 0
    assert records_in(there) == records_in(here)
    assert len(records_in(there)) == 2
    assert (there / "report.html").is_file()


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_run_of_a_cluster_begins_again(address, tmp_path, monkeypatch):
    file = tmp_path / "unhurried.toml"
    file.write_text(UNHURRIED)
    words = ["run", str(file), "--plugin", HERE, "--no-report", "--json"]
    there = [*words, "--on", address, "--out", "there"]
    monkeypatch.chdir(tmp_path)

    # Only what is interrupted is a process of its own; each takes seconds to start.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "goalbound", *there]
    began = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    for line in began.stdout:
        if json.loads(line)["event"] == "started":
            began.send_signal(signal.SIGINT)
            break
    _, said = began.communicate(timeout=60)

    assert began.returncode == 130, said
    assert "stopped with 0 of 1 run done; resume with: goalbound run" in said
    assert not records_in(tmp_path / "there")
    assert main(there) == 0
    assert main([*words, "--workers", "1", "--out", "here"]) == 0
    assert records_in(tmp_path / "there") == records_in(tmp_path / "here")
