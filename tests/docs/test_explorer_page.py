"""docs/how_to/explorer.md: its commands are commands, and what it says of limits is so."""

import re
import shlex

import pytest

from goalbound.cli.arguments import parser
from goalbound.experiments.explorer import optimum
from goalbound.experiments.explorer.layout import MOST_DRAWN
from goalbound.experiments.explorer.runs import ReplayOptions
from tests.support.documents import ROOT

TEXT = (ROOT / "docs" / "how_to" / "explorer.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line.partition("#")[0])
    for found in re.findall(r"^goalbound (explore .*)$|`goalbound (explore [^`]*)`", TEXT, re.MULTILINE)
    for line in found
    if line
]


def test_the_page_has_commands():
    assert len(COMMANDS) >= 9


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_are_understood(words):
    assert parser().parse_args(words).function == "goalbound.cli.explore:run"


def test_limits_are_those_of_the_code():
    assert f"up to {optimum.MOST_STATES} states (and {optimum.MOST_NUMBERS:,} probabilities)" in " ".join(TEXT.split())
    assert f"up to {MOST_DRAWN} states" in TEXT
    assert f"up to {ReplayOptions().contexts} contexts" in TEXT
