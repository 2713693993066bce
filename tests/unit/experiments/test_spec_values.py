"""Values that no experiment can have, on the command line and in files: one line that names the key, no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goalbound.cli import main
from goalbound.experiments.spec import MAX_RUNS

SPEC = """
name = "small"
episodes = 3
seeds = 1
step_limit = 100

[[problems]]
use = "treatment-ladder"
levels = 1
markers = 1

[[contexts]]
use = "dirichlet"

[[learners]]
use = "lr-cssp"
"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command says on stderr when it is given wrong input."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SPEC)

    def given(*words: str) -> str:
        assert main(words) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "Traceback" not in said
        return said

    return given


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("learners.scale=nan", "learners.scale is nan; an experiment is made of finite numbers"),
        ("seeds=99999999999999999999", "seeds is 99999999999999999999; whole numbers go up to 2^63 - 1"),
        (
            "seeds=1000000000000000000",
            f"how many seeds there are, at most {MAX_RUNS}; name single ones as a list",
        ),
        ("episodes=1e18", "episodes is 1000000000000000000; at most 2147483647 can be played"),
        ("episodes=" + "9" * 5000, "--set: 9999999999999999999999999999999999999999... cannot be read"),
        ("seeds=" + "[" * 5000 + "]" * 5000, "cannot be read"),
        ("seeds=" + "[" * 100 + "]" * 100, "lists and tables are nested more than 20 deep"),
        ("question=2020-01-01", "question is datetime.date(2020, 1, 1), a date; give a text"),
    ],
)
def test_a_change_that_cannot_be_is_reported_in_one_line(given: Any, change: str, words: str) -> None:
    assert words in given("run", "small.toml", "--set", change)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("delta = " + "9" * 5000, "it holds a number of thousands of digits"),
        ("delta = " + "[" * 5000 + "]" * 5000, "its lists or tables are nested too deeply"),
        ("delta = nan", "learners[0].delta is nan; an experiment is made of finite numbers"),
        ("delta = 99999999999999999999", "learners[0].delta is 99999999999999999999; whole numbers go up to 2^63 - 1"),
        ("delta = 2020-01-01T00:00:00", "learners[0].delta is datetime.datetime(2020, 1, 1, 0, 0)"),
    ],
    ids=["digits", "brackets", "nan", "large", "date"],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_file_that_cannot_be_is_reported_in_one_line(given: Any, command: str, line: str, words: str) -> None:
    Path("small.toml").write_text(SPEC + line + "\n")
    said = given(command, "small.toml")
    assert "small.toml: " in said
    assert words in said
