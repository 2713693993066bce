"""The wheel under every Python that it is for: installed with the extra ``dev``, and a selection of the tests run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

from release.build import Built
from release.environment import CONSTRAINTS, ROOT, Environment, new_environment

SMOKE = (
    "tests/unit/models", "tests/unit/planning", "tests/unit/learners/test_base.py", "tests/unit/learners/test_plan.py",
    "tests/unit/learners/test_ridge.py", "tests/unit/simulation/test_play.py",
)  # fmt: skip
"""The tests of models, planning and learners that are run with the installed wheel."""


def check(built: Built, folder: Path) -> list[str]:
    """Each version that the classifiers name; those that are not on this machine are named with the reason."""
    found = []
    for version in declared_versions(ROOT):
        python = find_python(version)
        if python is None:
            found.append(f"Python {version}: skipped, there is no python{version} on the PATH or in pyenv")
            continue
        environment = new_environment(folder / f"python{version}", python=python)
        environment.install(f"goalbound[dev] @ {built.wheel.as_uri()}", constraints=CONSTRAINTS)
        found.append(f"Python {version}: {smoke(environment, built, folder / f'tests{version}')}")
    return found


def smoke(environment: Environment, built: Built, place: Path) -> str:
    """Run the selected tests of the sdist, where no sources of the package are, against what is installed."""
    with tarfile.open(built.sdist) as archive:
        archive.extractall(place, filter="data")
    (root,) = place.iterdir()
    shutil.rmtree(root / "src")
    words = ["-m", "pytest", "--quiet", "--numprocesses", "2", "--dist", "worksteal"]
    words += ["--timeout", "1800"]  # nothing is compiled yet
    ended = environment.run(*words, *SMOKE, cwd=root, timeout=7200.0, isolated=False)
    return ended.stdout.strip().splitlines()[-1]


def declared_versions(root: Path) -> list[str]:
    """The versions of Python that the classifiers name."""
    classifiers = tomllib.loads((root / "pyproject.toml").read_text())["project"]["classifiers"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in classifiers]
    return [one[1] for one in found if one]


def find_python(version: str) -> str | None:
    """An interpreter of this version that runs, on the PATH or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    on_path = shutil.which(f"python{version}")
    for candidate in [*([on_path] if on_path else []), *map(str, candidates)]:
        asked = subprocess.run([candidate, "-V"], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.startswith(f"Python {version}."):
            return candidate
    return None
