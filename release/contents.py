"""What is in the files: all of the package and its data, none of the rest, and the same from wheel and sdist."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from release.build import Built
from release.environment import ROOT, ReleaseError

JUNK = re.compile(r"(^|/)(tests?|__pycache__|\.[^/]+|out|build|dist)(/|$)|\.(pyc|nbi|nbc|so|orig|rej|log)$")
"""Names that have no place in a wheel; ``nbi`` and ``nbc`` are compiled kernels of this machine."""
PROMISED = ("goalbound/py.typed", "goalbound/experiments/pages/plotly/LICENSE")
PROMISED_KINDS = (".py", ".toml", ".js", ".css", ".html")


def check(built: Built, folder: Path) -> list[str]:
    """The contents of wheel and sdist."""
    sources = package_files(ROOT)
    files = wheel_files(built.wheel)
    complain(wrong_contents(set(files), sources))
    again = wheel_files(built.rebuilt)
    different = sorted(name for name in {*files, *again} if files.get(name) != again.get(name))
    complain([f"the wheel that is built from the sdist has another {name}" for name in different])
    with tarfile.open(built.sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    complain(wrong_sdist(names, tracked_files(ROOT)))
    size = built.wheel.stat().st_size / 1e6
    return [f"wheel: {len(files)} files, {size:.1f} MB; sdist: {len(names)} files, and it builds the same wheel"]


def wrong_contents(names: set[str], sources: set[str]) -> list[str]:
    """What is wrong with the names of the files of a wheel, given those of the package in the sources.

    >>> wrong_contents({"goalbound/a.py", "goalbound/tests/b.py"}, {"goalbound/a.py", "goalbound/py.typed"})
    ['the wheel lacks goalbound/py.typed', 'the wheel has goalbound/tests/b.py, which is not of the package']
    """
    package = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    wrong = [f"the wheel lacks {name}" for name in sorted(sources - names)]
    wrong += [f"the wheel has {name}, which is not of the package" for name in sorted(package - sources)]
    wrong += [f"the wheel has junk: {name}" for name in sorted(package & sources) if JUNK.search(_inside(name))]
    if package:
        metadata = {name.partition("/")[2] for name in names - package}
        needed = {"METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE"}
        wrong += [f"the metadata of the wheel lack {name}" for name in sorted(needed - metadata) if names - package]
    return wrong


def wrong_sdist(names: set[str], tracked: set[str]) -> list[str]:
    """What is wrong with the names of the files of an sdist: it has all that is tracked, so that its tests run."""
    lacking = {name for name in tracked - names if not name.startswith(".")}
    extra = names - tracked - {"PKG-INFO", ".gitignore"}
    wrong = [f"the sdist lacks {name}" for name in sorted(lacking)]
    return wrong + [f"the sdist has {name}, which is not tracked" for name in sorted(extra)]


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel by name. The RECORD is left out of comparisons by its digest of others: it follows."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def package_files(root: Path) -> set[str]:
    """The tracked files of the package as a wheel names them; that the promised ones are there."""
    files = {name.removeprefix("src/") for name in tracked_files(root) if name.startswith("src/goalbound/")}
    lacking = [name for name in PROMISED if name not in files]
    lacking += [f"*{kind}" for kind in PROMISED_KINDS if not any(name.endswith(kind) for name in files)]
    complain([f"the package has no {name}" for name in lacking])
    return files


def tracked_files(root: Path) -> set[str]:
    """The files that git knows and that are there."""
    told = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return {name for name in told.split("\0") if name and (root / name).is_file()}


def complain(wrong: Iterable[str]) -> None:
    """Raise if there is something to say."""
    if lines := list(wrong):
        raise ReleaseError("; ".join(lines[:10]) + (f"; and {len(lines) - 10} more" if len(lines) > 10 else ""))


def _inside(name: str) -> str:
    return name.partition("/")[2]
