"""The newest versions of all dependencies, without constraints, under the newest Python of this machine."""

from __future__ import annotations

import json
from pathlib import Path

from release.build import Built
from release.environment import ROOT, ReleaseError, new_environment
from release.extras import Use, use
from release.pythons import declared_versions, find_python

CORE = ("numpy", "numba", "scipy", "rich")
VERSIONS = f"import importlib.metadata, json; print(json.dumps({{n: importlib.metadata.version(n) for n in {CORE}}}))"


def check(built: Built, folder: Path) -> list[str]:
    """The core, installed as an installer does it today, plays a learner."""
    found = ((version, find_python(version)) for version in reversed(declared_versions(ROOT)))
    version, python = next(((version, path) for version, path in found if path is not None), (None, None))
    if python is None:
        raise ReleaseError(f"no Python of {', '.join(declared_versions(ROOT))} is on the PATH or in pyenv")
    environment = new_environment(folder / "newest", python=python)
    environment.install(f"goalbound @ {built.wheel.as_uri()}", constraints=None)
    use(environment, Use(()), folder / "work")
    installed = json.loads(environment.run("-c", VERSIONS, cwd=folder).stdout)
    return [f"Python {version}, {', '.join(f'{name} {number}' for name, number in installed.items())}: a learner plays"]
