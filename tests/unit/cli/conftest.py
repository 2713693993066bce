"""A command in this process, and an experiment for it to work on."""

import shutil

import pytest

from goalbound.cli import main
from tests.support.commands import SPEC

DRN = """@type: MDP
@parameters

@reward_models
time fuel
@nr_states
3
@nr_choices
4
@model
state 0 [0, 0] init
\taction fast [300, 9]
\t\t1 : 0.5
\t\t2 : 0.5
\taction slow [100, 1]
\t\t0 : 0.5
\t\t1 : 0.5
state 1 [0, 0]
\taction go [30, 2]
\t\t2 : 1
state 2 [0, 0] done
\taction stay [0, 0]
\t\t2 : 1
"""
# time: slow costs 100 / 0.5 = 200 until it moves, then 30: 230 in 2 + 1 = 3 steps; fast costs 300 + 0.5 * 30 = 315.


@pytest.fixture
def run(capsys):
    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder with one experiment in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """What a run of it leaves."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "small.toml").write_text(SPEC)
    words = ["run", str(folder / "small.toml"), "--workers", "1", "--quiet", "--out", str(folder / "out" / "small")]
    assert main(words) == 0
    return folder / "out"


@pytest.fixture
def done(place, results):
    """The folder after the run."""
    shutil.copytree(results, place / "out")
    return place


@pytest.fixture
def drn(tmp_path):
    path = tmp_path / "model.drn"
    path.write_text(DRN)
    return str(path)
