"""A learner and a problem of someone else take part in everything without touching goalbound.

They are named by an import path, whose module the command line allows, or by the entry points of their package.
"""

import json
import os
import subprocess
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
OFFERED = """
name = "offered"
episodes = 20

[[problems]]
use = "ditch"
length = 2

[[learners]]
use = "tryer"
tries = 4

[[learners]]
use = "lr-cssp"
"""
ALLOWED = ["--plugin", "careful_walks"]
ROOT = Path(__file__).parents[2]


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
    assert check_problem(real_ditch()).environment_steps >= 2000


def test_their_learner_plays_their_problem_from_a_spec(spec, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["run", spec, *ALLOWED, "--out", str(folder), "--workers", "1", "--quiet"]) == 0
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
    assert main(["check", spec, *ALLOWED, "--set", "learners.0.tires=4"]) == 2
    assert (
        'learners[0]: careful_walks.learner:tryer has no setting "tires" (did you mean "tries"?)'
        in capsys.readouterr().err
    )
    assert main(["check", spec, *ALLOWED, "--try"]) == 0
    assert "4 combinations" in capsys.readouterr().out


def test_entry_points_need_no_leave_but_take_no_name_of_ours_and_are_marked(tmp_path, capsys):
    path = tmp_path / "offered.toml"
    path.write_text(OFFERED)
    assert main(["run", str(path), "--workers", "1", "--quiet", "--out", str(tmp_path / "out")]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [(group["problem"], group["learner"]) for group in summary["groups"]] == [
        ("ditch", "tryer"), ("ditch", "lr-cssp"),
    ]  # fmt: skip
    assert summary["groups"][1]["constants"].startswith("widths: paper")  # ours, not theirs of that name
    capsys.readouterr()
    assert main(["check", str(path), "--set", "learners.0.tires=4"]) == 2
    assert 'learners[0]: tryer has no setting "tires" (did you mean "tries"?)' in capsys.readouterr().err
    assert main(["check", str(path), "--set", "learners.use=unmarked"]) == 2
    assert "is not marked as a plug-in; mark it with @goalbound.plugin" in capsys.readouterr().err
    assert main(["check", str(path), "--set", "learners.0.use=tyer"]) == 2
    assert 'no learner is called "tyer" (did you mean "tryer"?)' in capsys.readouterr().err


def elsewhere(*words: str) -> subprocess.CompletedProcess:
    """A command on a machine that has goalbound, and nothing of them."""
    return subprocess.run(
        [sys.executable, "-m", "goalbound", *words], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip


def test_who_has_only_the_folder_draws_the_same_report_and_figures_without_their_code(spec, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "out"
    assert main(["run", spec, *ALLOWED, "--out", str(folder), "--workers", "2", "--quiet"]) == 0
    assert main(["figures", str(folder), "--format", "svg"]) == 0
    names = [
        "report.html",
        "summary.csv",
        "summary.json",
        *(f"figures/{one}" for one in os.listdir(folder / "figures")),
    ]
    before = {name: (folder / name).read_bytes() for name in names}
    assert len(before) > 4
    assert b"--plugin careful_walks.learner --plugin careful_walks.problem" in before["report.html"]
    for name in names:
        (folder / name).unlink()
    assert elsewhere("check", spec, *ALLOWED).returncode == 2  # their code is not there
    for words in (("report", str(folder)), ("figures", str(folder), "--format", "svg")):
        ended = elsewhere(*words)
        assert (ended.returncode, ended.stderr) == (0, "")
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_a_report_is_drawn_from_the_records_alone_where_what_was_to_be_run_is_lost(spec, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["run", spec, *ALLOWED, "--out", str(folder), "--workers", "1", "--quiet"]) == 0
    before = json.loads((folder / "summary.json").read_text())
    (folder / "runs.json").unlink()
    for name in [name for name in sys.modules if name.partition(".")[0] == "careful_walks"]:
        del sys.modules[name]
    assert main(["report", str(folder)]) == 0
    after = json.loads((folder / "summary.json").read_text())
    assert {group["learner"] for group in after["groups"]} == {group["learner"] for group in before["groups"]}
    assert after["missing"] == []
    assert not any(name.startswith("careful_walks") for name in sys.modules)
