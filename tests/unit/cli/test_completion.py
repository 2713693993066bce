"""The completion of commands, as bash does it."""

import shutil
import subprocess

import pytest

from goalbound.cli.arguments import FUNCTIONS
from goalbound.cli.completion import FILES, FOLDERS, _commands, script
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.problems.catalog import CATALOG

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")


@pytest.fixture
def complete(tmp_path):
    """What is offered for the last of some words, in a folder with some files."""
    (tmp_path / "goalbound.sh").write_text(script())
    for name in ("mine.toml", "log.csv", "my model.npz", "notes.txt"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).touch()
    (tmp_path / "in" / "out").mkdir()

    def complete(*words):
        code = (
            'source ../goalbound.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _goalbound; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        ended = subprocess.run(
            [BASH, "-c", code, "bash", "goalbound", *words], cwd=tmp_path / "in", capture_output=True, text=True,
            check=True, timeout=20,
        )  # fmt: skip
        assert ended.stderr == ""
        return [line for line in ended.stdout.split("\n") if line]

    return complete


@needs_bash
def test_commands_are_completed(complete):
    offered = complete("")
    assert offered[:2] == ["--help", "--version"]
    assert sorted(offered[2:]) == sorted(FUNCTIONS)
    assert complete("exp") == ["export", "explore"]


@needs_bash
def test_names_of_problems_and_learners_are_completed(complete):
    assert complete("solve", "windy") == ["windy-grid"]
    assert set(CATALOG) <= set(complete("solve", ""))
    assert complete("learners", "ps") == ["ps-cssp", "psrl-ssp"]
    assert set(LEARNERS.entries) <= set(complete("warm-up", ""))
    assert complete("warm-up", "lr-cssp", "eb") == ["eb-ssp"]
    assert complete("fit", "log.csv", "--learner", "greedy") == ["greedy-ridge"]


@needs_bash
def test_files_and_folders_are_completed_by_what_a_command_reads(complete):
    assert complete("run", "m") == ["mine.toml"]
    assert complete("report", "") == ["-h", "--help", "--json", "mine.toml", "out"]
    assert complete("fit", "l") == ["log.csv"]
    assert complete("solve", "my") == ["my model.npz"]
    assert complete("store", "create", "out", "recovery", "--learner", "") == ["my model.npz", "out"]
    assert complete("run", "mine.toml", "--out", "o") == ["out"]


@needs_bash
def test_options_and_their_values_are_completed(complete):
    assert complete("run", "mine.toml", "--qui") == ["--quick", "--quiet"]
    assert complete("solve", "demo", "--unreachable", "") == ["refuse", "exclude"]
    assert complete("export", "out", "--csv", "summary", "c") == ["curves"]
    assert complete("export", "out", "--csv", "summary", "--par") == ["--parquet"]
    assert complete("run", "--workers", "") == []
    assert "mine.toml" in complete("run", "--workers", "2", "")
    assert "mine.toml" in complete("run", "--quick", "m")


def test_every_word_of_the_help_that_means_files_is_known():
    names = {action.metavar for command in _commands().values() for action in command._actions}
    assert set(FILES) | set(FOLDERS) <= names
    unknown = {name for name in names - set(FILES) - set(FOLDERS) if name and ("FILE" in name or "FOLDER" in name)}
    assert not unknown
