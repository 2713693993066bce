"""A learner and a problem of someone else, named by import path, take part in everything without touching goalbound."""

import json
import sys
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.testing import check_learner, check_problem

SPEC = """
name = "theirs"
episodes = 60
seeds = 2

[[problems]]
use = "careful_walks.problem:ditch"
label = "the ditch"
length = 4

[[problems]]
use = "careful_walks.problem:real_ditch"

[[learners]]
use = "careful_walks.learner:tryer"
tries = 5

[[learners]]
use = "clairvoyant"
"""


@pytest.fixture(autouse=True)
def third_party(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent / "third_party")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "careful_walks"]:
        del sys.modules[name]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "theirs.toml"
    path.write_text(SPEC)
    return str(path)


def test_their_learner_and_problem_keep_the_contract():
    from careful_walks.learner import tryer
    from careful_walks.problem import ditch, real_ditch

    check_learner(tryer)
    check_learner(tryer, ditch())
    assert check_problem(ditch()).pairs == 6
    assert check_problem(real_ditch()).world_steps >= 2000


def test_their_learner_plays_their_problem_from_a_spec(spec, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["run", spec, "--out", str(folder), "--workers", "1", "--quiet"]) == 0
    summary = json.loads((folder / "summary.json").read_text())
    groups = {(group["problem"], group["learner"]): group for group in summary["groups"]}
    assert list(groups) == [
        ("the ditch", "tryer"), ("the ditch", "clairvoyant"), ("real_ditch", "tryer"), ("real_ditch", "clairvoyant"),
    ]  # fmt: skip
    for problem in ("the ditch", "real_ditch"):
        assert groups[problem, "clairvoyant"]["expected_regret"]["mean"] == pytest.approx(0.0, abs=1e-6)
        assert groups[problem, "tryer"]["expected_regret"]["mean"] > 1.0  # it learns the cheap step, not the good one
    assert (folder / "report.html").exists()
    assert "tryer" in capsys.readouterr().out


def test_their_settings_are_checked_like_ours(spec, capsys):
    assert main(["check", spec, "--set", "learners.0.tires=4"]) == 2
    assert (
        'learners[0]: careful_walks.learner:tryer has no setting "tires" (did you mean "tries"?)'
        in capsys.readouterr().err
    )
    assert main(["check", spec, "--try"]) == 0
    assert "4 combinations" in capsys.readouterr().out


def test_a_path_that_leads_nowhere_is_one_line(spec, capsys):
    assert main(["check", spec, "--set", "learners.use=careful_walks.learner:trier"]) == 2
    said = capsys.readouterr().err
    assert "cannot be imported" in said
    assert said.count("\n") == 1
