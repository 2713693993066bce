"""Wheel and sdist, built by the build system that pyproject.toml names, in an environment of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from release.environment import CONSTRAINTS, ROOT, uv
from release.index import index_options


@dataclass(frozen=True)
class Built:
    """The two files that a release consists of, and the wheel that is built from the sdist alone."""

    wheel: Path
    sdist: Path
    rebuilt: Path


def build(folder: Path) -> Built:
    """Build the wheel and the sdist from the sources, and the wheel again from the sdist."""
    wheel = _build(ROOT, "--wheel", folder)
    sdist = _build(ROOT, "--sdist", folder)
    return Built(wheel, sdist, _build(sdist, "--wheel", folder / "again"))


def _build(source: Path, kind: str, folder: Path) -> Path:
    uv("build", "--quiet", kind, "--out-dir", str(folder), str(source), "--build-constraints", str(CONSTRAINTS),
       *index_options())  # fmt: skip
    (built,) = folder.glob("goalbound-*.whl" if kind == "--wheel" else "goalbound-*.tar.gz")
    return built
