"""``py.typed`` holds what it promises: a program that uses the installed wheel passes mypy in strict mode."""

from __future__ import annotations

import sys
from pathlib import Path

from release.build import Built
from release.environment import ReleaseError, new_environment, run

PROGRAM = Path(__file__).parent / "uses" / "typed_program.py"
WRONG = "solve(42)\n"


def check(built: Built, folder: Path) -> list[str]:
    """The program passes; one that passes a number as a problem does not, so that types are really there."""
    environment = new_environment(folder / "typed")
    environment.install(f"goalbound @ {built.wheel.as_uri()}")
    place = folder / "typing"
    place.mkdir()
    right, wrong = place / "right.py", place / "wrong.py"
    right.write_text(PROGRAM.read_text())
    wrong.write_text(PROGRAM.read_text() + WRONG)
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(environment.python), "--config-file="]
    run([*words, right.name], cwd=place)
    ended = run([*words, wrong.name], cwd=place, check=False)
    if "arg-type" not in ended.stdout:
        raise ReleaseError(f"mypy finds nothing wrong with {WRONG.strip()}:\n{ended.stdout}")
    return ["a program passes mypy --strict against the installed wheel, and a wrong call does not"]
