"""The table of commands: help, its examples, and what asking for help imports."""

import re
import shlex
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.cli.arguments import TABLE, commands, parser
from tests.support.commands import in_a_process

CLI = TABLE.parent
PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "experiments.md"


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_every_command_has_a_function_and_examples_in_its_help_that_parse(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command.name, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: {command.usage}\n")
    examples = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  goalbound ")]
    assert any(example.startswith(f"goalbound {command.name}") for example in examples)
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])
    module, _, function = command.function.partition(":")
    (source,) = (path for path in (CLI / f"{module}.py", CLI / module / "__init__.py") if path.exists())
    assert f"\ndef {function}(arguments: Namespace) -> int:\n" in source.read_text()


def test_help_imports_nothing_heavy():
    look = (
        "import sys\nfrom goalbound.cli import main\nfrom goalbound.cli.arguments import commands\n"
        "for words in (['--help'], ['--version'], ['sovle'], [], *([one.name, '--help'] for one in commands())):\n"
        "    try:\n        main(words)\n    except SystemExit:\n        pass\n"
        "heavy = 'numpy scipy numba pydantic pyarrow joblib matplotlib rich distributed gymnasium'.split()\n"
        "print('loaded:', [name for name in heavy if name in sys.modules])"
    )
    assert in_a_process("-c", look).stdout.splitlines()[-1] == "loaded: []"


def test_the_commands_of_the_page_about_experiments_parse():
    lines = re.findall(r"^goalbound .*$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[1:])
