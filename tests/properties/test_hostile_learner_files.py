"""A forged learner file is refused, or the learner plays and ends: compiled code that never returns would take the
process with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_learners import KINDS
from tests.support.strategies import EXAMPLES_FACTOR

OWN = ("likelihood", "sharp", "doubling", "local", "guesses", "posterior", "eb", "psrl", "uc", "ulcvi")
"""Kinds that have arrays of their own; the others are tried where more examples are asked for."""


@pytest.mark.parametrize("kind", KINDS if EXAMPLES_FACTOR > 1 else OWN)
def test_a_forged_array_is_refused_or_the_learner_plays_and_ends(kind: str, tmp_path: Path) -> None:
    note = tmp_path / "last"
    program = [sys.executable, "-m", "tests.support.hostile_learners", kind, str(note)]
    ended = subprocess.run(program, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert ended.returncode == 0, f"{note.read_text() if note.exists() else 'at the start'}: {ended.stderr[-2000:]}"
    refused, played = (int(part.split()[0]) for part in ended.stdout.split(","))
    assert refused > 100
    assert played > 10
