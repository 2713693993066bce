"""Options, help and its examples."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.cli.arguments import parser
from tests.support.commands import in_a_process

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "experiments.md"
COMMANDS = ["run", "report", "ratios", "compare", "export", "figures", "learners", "check"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_in_its_help_and_they_parse(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    examples = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  goalbound ")]
    assert len(examples) >= 2
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])


def test_help_imports_nothing_heavy():
    look = (
        "import sys\nfrom goalbound.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = 'numpy numba pydantic pyarrow joblib matplotlib rich distributed gymnasium'.split()\n"
        "print('loaded:', [name for name in heavy if name in sys.modules])"
    )
    for command in COMMANDS:
        ended = subprocess.run(
            [sys.executable, "-c", look, command, "--help"], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.stdout.splitlines()[-1] == "loaded: []"


def test_the_commands_of_the_page_about_experiments_parse():
    lines = re.findall(r"^goalbound .*$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("command", ["solve", "problems", "convert", "demo"])
def test_every_command_has_an_example_in_its_help_and_it_parses(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    examples = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  goalbound ")]
    assert any(example.startswith(f"goalbound {command}") for example in examples)
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])


def test_help_imports_neither_numpy_nor_numba():
    look = (
        "import sys\nfrom goalbound.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('loaded:', [name for name in ('numpy', 'scipy', 'numba') if name in sys.modules])"
    )
    for words in (["--help"], ["solve", "--help"], ["--version"], ["sovle"], []):
        assert in_a_process("-c", look, *words).stdout.splitlines()[-1] == "loaded: []"
