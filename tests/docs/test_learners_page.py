"""The page about the learners: its code is run, its file is played, and it leaves none of them out."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.run import run
from goalbound.experiments.spec import ExperimentSpec

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "learners.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def beside_habit(tmp_path, monkeypatch):
    """A folder with the file that the page writes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (first,) = (code for code in blocks("python") if "class Habit:" in code)
    Path("habit.py").write_text(first)
    yield tmp_path
    sys.modules.pop("habit", None)


def test_the_code_of_the_page_runs_and_the_learner_of_your_own_keeps_the_rules(beside_habit):
    sys.path.append(str(beside_habit))
    printed: list[tuple] = []
    names: dict = {"print": lambda *things: printed.append(things)}
    for code in blocks("python"):
        if "class Habit:" not in code:
            exec(code, names)
    (blind, cell), (regret, abandoned) = printed
    assert {blind, cell} <= {0, 1}
    assert regret > 0
    assert abandoned == 0


def test_the_file_of_the_page_plays_the_learner_of_your_own_by_its_import_path(beside_habit):
    (text,) = blocks("toml")
    Path("habit.toml").write_text(text)
    spec = ExperimentSpec.load("habit.toml", overrides={"seeds": 1}, plugins=["habit"])
    regrets = {
        one.learner.label: run(one, plugins=spec.plugins).metadata["totals"]["expected_regret"] for one in spec.runs()
    }
    assert set(regrets) == {"habit", "0.1 x LR-CSSP"}
    assert all(regret > 0.0 for regret in regrets.values())


def test_the_commands_of_the_page_run_the_learner_of_your_own(beside_habit, capsys):
    (text,) = blocks("toml")
    Path("habit.toml").write_text(text)
    commands = re.findall(r"^goalbound (?:check|run) habit\.toml.*$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        words = [*shlex.split(command)[1:], "--set", "episodes=5", "seeds=1"]
        assert main(words + (["--workers", "1", "--quiet"] if words[0] == "run" else [])) == 0
    assert "out/habit/report.html" in capsys.readouterr().out


def test_every_learner_of_the_catalog_has_a_row_and_a_section():
    table, sections = PAGE.split("## One by one")
    for name in LEARNERS.entries:
        assert f"| `{name}` |" in table
        assert f"`{name}`" in sections
