"""``python -m release [--full] [--only part ...]``: run the parts, print what each found; 1 if one does not hold."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from release import build, contents, extras, minimum, newest, pythons, typed
from release.environment import ReleaseError

Part = Callable[[build.Built, Path], list[str]]

SHORT: dict[str, Part] = {
    "contents": contents.check,
    "extras": extras.check,
    "typed": typed.check,
    "newest": newest.check,
}
FULL: dict[str, Part] = {
    "development": extras.check_development,
    "pythons": pythons.check,
    "minimum": minimum.check,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run the parts, and say what they found."""
    parts = {**SHORT, **FULL}
    parser = argparse.ArgumentParser(prog="python -m release", description="Build, install and use what is released.")
    parser.add_argument("--full", action="store_true", help="all Pythons and the lower bounds too: many minutes")
    parser.add_argument("--only", nargs="+", choices=list(parts), metavar="part", help=f"of {', '.join(parts)}")
    options = parser.parse_args(arguments)
    failed = False
    with tempfile.TemporaryDirectory(prefix="goalbound-release-") as place:
        folder = Path(place)
        begun, used = time.perf_counter(), _cpu()
        built = build.build(folder / "dist")
        _say("build", [built.wheel.name, built.sdist.name], begun, used)
        for name in options.only or (parts if options.full else SHORT):
            begun, used = time.perf_counter(), _cpu()
            try:
                found = parts[name](built, folder)
            except ReleaseError as error:
                failed, found = True, [f"FAILED: {error}"]
            _say(name, found, begun, used)
    return int(failed)


def _cpu() -> float:
    children, own = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    return children.ru_utime + children.ru_stime + own.ru_utime + own.ru_stime


def _say(name: str, lines: list[str], begun: float, used: float) -> None:
    print(f"{name} ({time.perf_counter() - begun:.1f} s, {_cpu() - used:.1f} s of CPU)")
    print("\n".join(f"  {line}" for line in lines), flush=True)


if __name__ == "__main__":
    sys.exit(main())
