"""Load for long: memory and files stay as they are, and a replay gives the same actions."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from faults.load import Load
from faults.result import Result
from faults.world import Acknowledged, check_against_log, free_port, megabytes, new_store, served

MEGABYTES_AN_HOUR = 1.0
MORE_FILES = 4
"""What a snapshot has open while it is taken, and a little more."""
_BLOCKS = 12


class Seen(NamedTuple):
    """A look at the process: when, its memory, its open files (connections are not among them)."""

    seconds: float
    megabytes: float
    files: int


def soak(folder: Path, *, seconds: float, noise: float) -> Result:
    """So many seconds; the first third is for what grows once. ``noise``: so many MB are nothing."""
    result, told = Result("soak"), Acknowledged()
    store, port = folder / "store", free_port()
    new_store(store).close()
    with served(store, port) as process:
        seen = asyncio.run(_run(process, port, told, seconds))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    later = [one for one in seen if one.seconds >= seconds / 3]
    slope, grown = growth(later)
    result.counts |= {
        "seconds": round(seen[-1].seconds), "MB at the end": round(later[-1].megabytes),
        "MB an hour": round(slope, 2), "MB more": round(grown, 2),
        "open files, at most": max(one.files for one in later),
    }  # fmt: skip
    result.check(slope <= MEGABYTES_AN_HOUR or grown <= noise, f"the memory grows by {slope:.1f} MB an hour")
    fewest, most = (extreme(one.files for one in later) for extreme in (min, max))
    result.check(most - fewest <= MORE_FILES, f"open files grow, from {fewest} to {most}")
    check_against_log(result, store, told)
    return result


async def _run(process: subprocess.Popen[bytes], port: int, told: Acknowledged, seconds: float) -> list[Seen]:
    work = asyncio.create_task(Load(port, told, programs=32, twice=0.02).run(seconds))
    seen, begun = list[Seen](), time.monotonic()
    while not work.done():
        await asyncio.sleep(min(2.0, seconds / 40))
        seen.append(Seen(time.monotonic() - begun, megabytes(process.pid), _files(process.pid)))
    await work
    return seen


def growth(seen: list[Seen]) -> tuple[float, float]:
    """MB an hour, and in all: a line through the least memory of each of some blocks of time.

    What is allocated for a moment is not in the least of a block; what is never freed is.

    >>> looks = [Seen(3600.0 * at, 100.0 + 2.0 * at + 50.0 * (at % 3 == 1), 9) for at in range(36)]
    >>> slope, grown = growth(looks)
    >>> round(slope, 6), round(grown, 6)
    (2.0, 66.0)
    """
    blocks = [block for block in np.array_split(np.array(seen, dtype=np.float64), _BLOCKS) if len(block)]
    least = np.array([block[block[:, 1].argmin(), :2] for block in blocks])
    if len(least) < 2:
        return 0.0, 0.0
    slope = float(np.polyfit(least[:, 0], least[:, 1], 1)[0])
    return slope * 3600.0, slope * float(least[-1, 0] - least[0, 0])


def _files(pid: int) -> int:
    """Open files and pipes, without connections."""
    count = 0
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            count += not os.readlink(handle).startswith("socket:")
    return count
