"""Core and each extra alone, in an empty environment, used for what they are for; and what is said without them."""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from release.build import Built
from release.environment import ROOT, Environment, ReleaseError, new_environment

USES = Path(__file__).parent / "uses"
DEVELOPMENT = ("bench", "dev", "docs", "all")
"""Extras for those who work on goalbound; they are part of the full form only."""


@dataclass(frozen=True)
class Use:
    """A program that uses extras; without ``extras[0]``, but with the extras ``without``, it must fail and name it."""

    extras: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def program(self) -> Path:
        """Its file."""
        return USES / f"{'_and_'.join(self.extras) or 'core'}.py"


WITHOUT = {"cluster": ("experiments",)}
"""Extras whose libraries are asked for only where others are there."""
TOGETHER = (("service", "client"),)
"""Extras that are used together as well."""


def check(built: Built, folder: Path) -> list[str]:
    """Core, then each extra alone, then those that belong together."""
    place = folder / "work"
    environment = new_environment(folder / "extras")
    environment.install(f"goalbound @ {built.wheel.as_uri()}")
    use(environment, Use(()), place)
    found = ["core: import, python -m goalbound, solve, a learner"]
    names = [name for name in extras_of(ROOT) if name not in DEVELOPMENT]
    for name in names:
        if name not in WITHOUT:
            refuse(environment, Use((name,)), place)
    for extras in [*((name,) for name in names), *TOGETHER]:
        environment.install(f"goalbound[{','.join(extras)}] @ {built.wheel.as_uri()}")
        found.append(use(environment, Use(extras), place))
        for name, needed in WITHOUT.items():
            if needed == extras:
                refuse(environment, Use((name,), needed), place)
    return found


def check_development(built: Built, folder: Path) -> list[str]:
    """The extras for those who work on goalbound can be installed, and their libraries imported."""
    environment = new_environment(folder / "development")
    found = []
    for name in (name for name in extras_of(ROOT) if name in DEVELOPMENT):
        environment.install(f"goalbound[{name}] @ {built.wheel.as_uri()}")
        found.append(use(environment, Use((name,)), folder / "work"))
    return found


def extras_of(root: Path) -> list[str]:
    """The extras that pyproject.toml declares."""
    return list(tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def use(environment: Environment, one: Use, place: Path) -> str:
    """Run the program of a use; without one, import what the extra installs."""
    if one.program.is_file():
        environment.run(str(one.program), cwd=_empty(place))
        return f"{' and '.join(one.extras)}: used" if one.extras else ""
    environment.run(str(USES / "only_imports.py"), *one.extras, cwd=_empty(place))
    return f"{' and '.join(one.extras)}: imported"


def refuse(environment: Environment, one: Use, place: Path) -> None:
    """Without the extra, its program fails, and the last line that it prints names the extra."""
    if not one.program.is_file():
        return
    ended = environment.run(str(one.program), cwd=_empty(place), check=False)
    if not ended.returncode:
        raise ReleaseError(f"{one.program.name} works without the extra {one.extras[0]}")
    if f"[{one.extras[0]}]" not in (ended.stderr.strip().splitlines() or [""])[-1]:
        raise ReleaseError(f"without the extra {one.extras[0]} the error does not name it:\n{ended.stderr[-800:]}")


def _empty(folder: Path) -> Path:
    """A new folder below this one."""
    folder.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder))
