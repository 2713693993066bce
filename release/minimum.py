"""The lower bounds of the dependencies are true: everything works with the lowest versions that they admit."""

from __future__ import annotations

from pathlib import Path

from release.build import Built
from release.environment import ROOT, new_environment, uv
from release.extras import DEVELOPMENT, extras_of
from release.index import index_options
from release.pythons import declared_versions, find_python, smoke


def check(built: Built, folder: Path) -> list[str]:
    """The lowest versions of all direct dependencies, under the lowest Python: a selection of the tests."""
    version = declared_versions(ROOT)[0]
    python = find_python(version)
    if python is None:
        return [f"skipped: there is no python{version} on the PATH or in pyenv"]
    environment = new_environment(folder / "minimum", python=python)
    lowest = folder / "lowest.txt"
    names = [name for name in extras_of(ROOT) if name not in DEVELOPMENT] + ["dev"]
    uv("pip", "compile", "--quiet", "--resolution", "lowest-direct", "--python", str(environment.python),
       *(word for name in names for word in ("--extra", name)), "--only-binary", ":all:",
       "--output-file", str(lowest), str(ROOT / "pyproject.toml"), *index_options())  # fmt: skip
    pins = [line for line in lowest.read_text().splitlines() if "==" in line and "goalbound" not in line]
    lowest.write_text("\n".join(pins) + "\n")
    environment.install(f"goalbound[{','.join(names)}] @ {built.wheel.as_uri()}", constraints=lowest)
    core = [pin.partition(" ")[0] for pin in pins if pin.startswith(("numpy=", "scipy=", "numba=", "rich="))]
    return [f"{', '.join(core)}, ...: {smoke(environment, built, folder / 'tests-minimum')}"]
