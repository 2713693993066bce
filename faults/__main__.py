"""``python -m faults [--quick] [--only kill ...]``: run the parts, print what each found; 1 if one did not hold."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faults import (
    bombs,
    disk,
    leaders,
    messages,
    moments,
    power,
    processes,
    resume,
    short_writes,
    slow,
    soak,
    states,
)
from faults.world import learner
from goalbound.simulation.warm_up import warm_up

PARTS: dict[str, Any] = {
    "kill": (processes.kill, {"cycles": 10}, {"cycles": 200, "programs": 64}),
    "moments": (moments.kill_at, {"times": 3}, {"times": 50}),
    "stop": (processes.stop, {"seconds": 7.0}, {"seconds": 30.0}),
    "leaders": (
        leaders.leaders,
        {"cycles": 5, "kills": 2, "takeovers": 3},
        {"cycles": 100, "kills": 100, "takeovers": 100},
    ),
    "power": (power.power_loss, {"steps": 60, "images": 200}, {"steps": 400, "images": 5000}),
    "full": (disk.full, {"cycles": 3}, {"cycles": 20}),
    "failing": (disk.failing, {"calls": 8}, {"calls": 200}),
    "short": (short_writes.short_writes, {"runs": 4}, {"runs": 120}),
    "flips": (disk.flips, {"cases": 60}, {"cases": 1000}),
    "clock": (messages.clock, {"steps": 200}, {"steps": 2000}),
    "duplicates": (messages.duplicates, {"requests": 1500}, {"requests": 1_000_000}),
    "states": (states.states, {"examples": 30, "steps": 50}, {"examples": 1000, "steps": 100}),
    "resume": (resume.resume, {"seeds": 5, "steps": 100}, {"seeds": 100, "steps": 300}),
    "hostile": (messages.hostile, {"examples": 5}, {"examples": 150}),
    "bombs": (bombs.bombs, {"times": 2}, {"times": 40}),
    "slow": (slow.slow, {"connections": 50, "seconds": 3.0}, {"connections": 500, "seconds": 20.0}),
    "soak": (soak.soak, {"seconds": 20.0, "noise": 100.0}, {"seconds": 1800.0, "noise": 0.5}),
}
"""Each part: the function, and its small and its full size."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts."""
    parser = argparse.ArgumentParser(prog="python -m faults", description="Faults on purpose.")
    parser.add_argument("--quick", action="store_true", help="small sizes: a few minutes")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="part")
    options = parser.parse_args(arguments)
    held = True
    if not options.quick:
        warm_up(learner())  # a service that is killed while it compiles begins anew each time, and ends late
    for name in options.only:
        part, small, full = PARTS[name]
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            result = part(Path(folder), **(small if options.quick else full))
        print(f"{result} ({time.perf_counter() - begun:.0f} s)", flush=True)
        held &= result.held
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
