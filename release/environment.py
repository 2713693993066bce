"""Virtual environments of their own, made and filled by uv, and programs that run in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from release.index import index_options, without_extra_indexes

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"


class ReleaseError(Exception):
    """What is built is not what is promised."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment; ``python`` is its interpreter."""

    python: Path

    def install(self, *requirements: str, constraints: Path | None = CONSTRAINTS) -> None:
        """Install requirements, and remove what they do not need: afterwards nothing else is there."""
        wanted = self.python.parents[1] / "requirements.txt"
        pins = self.python.parents[1] / "resolved.txt"
        wanted.write_text("\n".join(requirements) + "\n")
        limits = [] if constraints is None else ["--constraints", str(constraints)]
        resolve(self.python, "--output-file", str(pins), str(wanted), *limits)
        uv("pip", "sync", "--quiet", "--python", str(self.python), "--only-binary", ":all:", str(pins),
           *index_options())  # fmt: skip

    def run(
        self, *words: str, cwd: Path, check: bool = True, timeout: float = 600.0, isolated: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run its interpreter; where ``check``, a failure is a ReleaseError with what was printed."""
        return run([str(self.python), *(["-I"] if isolated else []), *words], cwd=cwd, check=check, timeout=timeout)


def new_environment(folder: Path, *, python: str = sys.executable) -> Environment:
    """An empty environment; no pip in it either."""
    uv("venv", "--quiet", "--no-project", "--python", python, str(folder))
    return Environment(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def resolve(python: Path, *words: str) -> None:
    """``uv pip compile`` for an interpreter, from wheels alone."""
    words = ("pip", "compile", "--quiet", "--python", str(python), "--only-binary", ":all:", *words)
    try:
        uv(*words, *index_options())
    except ReleaseError:
        if (fewer := without_extra_indexes(index_options())) == index_options():
            raise
        uv(*words, *fewer)


def uv(*words: str) -> subprocess.CompletedProcess[str]:
    """Run uv, which is a package of the extra ``dev``."""
    return run([sys.executable, "-m", "uv", *words], cwd=ROOT)


def run(
    words: Sequence[str], *, cwd: Path, check: bool = True, timeout: float = 600.0
) -> subprocess.CompletedProcess[str]:
    """Run a program without what this process was told about Python."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    ended = subprocess.run(
        list(words), cwd=cwd, env={**variables, "PYTHONNOUSERSITE": "1"}, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip
    if check and ended.returncode:
        last = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-25:])
        raise ReleaseError(f"{' '.join(words[:8])} ended with {ended.returncode}:\n{last}")
    return ended
