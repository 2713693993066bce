"""``python -m guarantees [--quick] [--only a b] [--out folder]``: run the parts, print tables, leave a page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from guarantees import (
    change,
    coverage,
    environments,
    in_use,
    likelihood,
    reductions,
    regret,
    sharp,
    statements,
    stuck,
    termination,
    variants,
)
from guarantees.claims import count_by_status, load_claims
from guarantees.page import write_page
from guarantees.result import Notify, Result
from guarantees.settings import warm_up

PARTS: dict[str, Any] = {
    "a": (regret.regret, regret.QUICK, regret.Size()),
    "b": (coverage.coverage, coverage.QUICK, coverage.Size()),
    "c": (termination.termination, termination.QUICK, termination.Size()),
    "d": (variants.variants, variants.QUICK, variants.Size()),
    "e": (reductions.reductions, reductions.QUICK, reductions.Size()),
    "f": (environments.environments, environments.QUICK, environments.Size()),
    "g": (sharp.sharp_sets, sharp.QUICK, sharp.Size()),
    "h": (in_use.in_use, in_use.QUICK, in_use.Size()),
    "i": (likelihood.likelihood_sets, likelihood.QUICK, likelihood.Size()),
    "j": (change.change, change.QUICK, change.Size()),
    "k": (stuck.stuck, stuck.QUICK, stuck.Size()),
    "l": (statements.statements, statements.QUICK, statements.Size()),
}
"""Each part by its letter: the function, and its small and its full size."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts. 0 if every claim held, 1 if one did not, 130 after Ctrl-C; what was finished is kept."""
    parser = argparse.ArgumentParser(prog="python -m guarantees", description="The claims of the paper, made visible.")
    parser.add_argument("--quick", action="store_true", help="small sizes: about three minutes")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), metavar="part", help=f"some parts: {' '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path("out/guarantees"), help="where results go (%(default)s)")
    options = parser.parse_args(arguments)
    letters = options.only or list(PARTS)
    held = True
    try:
        warm_up()
        for letter in letters:
            result = _run(letter, quick=options.quick)
            result.save(options.out)
            write_page(options.out)
            print(f"\n{result}\n   {result.seconds:.0f} s", flush=True)
            held &= result.held
    except KeyboardInterrupt:
        print(f"\nstopped; the parts that were finished are in {options.out}", file=sys.stderr)
        return 130
    claims = load_claims()
    print(f"\nthe paper, claim by claim: {len(claims)} claims, {count_by_status(claims)}")
    print(f"{'every claim held' if held else 'NOT EVERY CLAIM HELD'}; look at {options.out / 'index.html'}")
    return 0 if held else 1


def _run(letter: str, *, quick: bool) -> Result:
    part, small, full = PARTS[letter]
    begin = time.perf_counter()
    with _progress() as notify:
        result: Result = part(small if quick else full, notify)
    return replace(result, seconds=time.perf_counter() - begin)


def _progress() -> AbstractContextManager[Notify]:
    """A bar in a terminal, else a line for each piece of work."""
    if not sys.stderr.isatty():
        return nullcontext(_line)
    try:
        from rich.progress import Progress
    except ImportError:
        return nullcontext(_line)
    return _Bar(Progress(transient=True))


def _line(what: str, done: int, total: int) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


class _Bar(AbstractContextManager[Callable[..., object]]):
    """One bar of rich for a part."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def __enter__(self) -> Notify:
        self._progress.start()
        self._task = self._progress.add_task("")
        return lambda what, done, total: self._progress.update(
            self._task, description=what, completed=done, total=total
        )

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


if __name__ == "__main__":
    sys.exit(main())
