"""The lower bounds of the dependencies are true: everything works with the lowest versions that they admit."""

from __future__ import annotations

from pathlib import Path

from release.build import Built
from release.environment import ROOT, Environment, new_environment, resolve
from release.extras import DEVELOPMENT, Use, extras_of, use
from release.pythons import declared_versions, find_python, smoke


def check(built: Built, folder: Path) -> list[str]:
    """The lowest versions of all direct dependencies, under the lowest Python: core and each extra alone are used as in
    the short form; then all of them together, with a selection of the tests."""
    version = declared_versions(ROOT)[0]
    python = find_python(version)
    if python is None:
        return [f"skipped: there is no python{version} on the PATH or in pyenv"]
    environment = new_environment(folder / "minimum", python=python)
    names = [name for name in extras_of(ROOT) if name not in DEVELOPMENT]
    found = []
    for extras in [(), *((name,) for name in names)]:
        pins = install_lowest(environment, built, extras, folder / "lowest.txt")
        use(environment, Use(extras), folder / "work")
        found.append(f"{' '.join(extras) or 'core'}: {', '.join(pins)}")
    install_lowest(environment, built, (*names, "dev"), folder / "lowest.txt")
    return [*found, f"all of them: {smoke(environment, built, folder / 'tests-minimum')}"]


def install_lowest(environment: Environment, built: Built, extras: tuple[str, ...], constraints: Path) -> list[str]:
    """Install the wheel with extras and the lowest versions that pyproject.toml admits; those of direct ones."""
    words = ["--resolution", "lowest-direct", *(word for name in extras for word in ("--extra", name))]
    resolve(environment.python, *words, "--output-file", str(constraints), str(ROOT / "pyproject.toml"))
    pins = lowest_pins(constraints.read_text())
    constraints.write_text("\n".join(pins) + "\n")
    wanted = f"goalbound[{','.join(extras)}]" if extras else "goalbound"
    environment.install(f"{wanted} @ {built.wheel.as_uri()}", constraints=constraints)
    return [pin for pin, direct in pins.items() if direct]


def lowest_pins(resolved: str) -> dict[str, bool]:
    """The pins that ``uv pip compile`` wrote, and whether goalbound itself asks for them.

    >>> lowest_pins("numpy==2.0.0\\n    # via\\n    #   goalbound (pyproject.toml)\\nmdurl==0.1.2\\n    # via rich\\n")
    {'numpy==2.0.0': True, 'mdurl==0.1.2': False}
    """
    pins: dict[str, bool] = {}
    last = ""
    for line in resolved.splitlines():
        if "==" in line and not line.lstrip().startswith("#"):
            last = line.partition(" ")[0].strip()
            pins[last] = False
        elif last and "goalbound" in line:
            pins[last] = True
    return pins
