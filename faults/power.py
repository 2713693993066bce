"""The power goes at any moment: whatever the disk holds then, no acknowledged step is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from faults.result import Result
from faults.trace import Disk, Operation, traced
from faults.world import OPTIONS
from goalbound.errors import GoalboundError
from goalbound.serve.store import Store
from goalbound.serve.store.events import check_chain
from goalbound.serve.store.files import DATABASE
from goalbound.serve.store.log import SqliteLog

HOW = ("none", "all", "some", "torn")


def power_loss(folder: Path, *, steps: int, images: int) -> Result:
    """Images of the disk at many moments are opened; with commits that are not synced, the test must find losses."""
    result = Result("power loss")
    if shutil.which("strace") is None:
        result.skipped = "there is no strace"
        return result
    done = traced(folder / "store", str(steps), output=folder / "trace")
    result.counts["operations"] = len(done)
    lost = check_images(done, folder, images=images, result=result)
    result.counts |= {"lost": lost}
    result.check(lost == 0, f"{lost} images had lost an acknowledged step")
    control = Result("control")
    done = traced(folder / "control", str(steps), "NORMAL", output=folder / "control-trace")
    lost = check_images(done, folder, images=max(40, images // 20), result=control, of="control")
    result.counts["images with losses where commits are not synced (control)"] = lost
    result.check(lost > 0, "the test finds no loss where commits are not synced: it is broken")
    return result


def check_images(
    done: list[Operation], folder: Path, *, images: int, result: Result, of: str = "store", seed: int = 0
) -> int:
    """How many images have lost an acknowledged event; other damage is a fault of the result."""
    rng, source, target = random.Random(seed), str(folder / of), folder / "image"
    chains = _chains(folder / of)
    moments = sorted(rng.choices(range(len(done)), k=images))
    disk, told, lost, place = Disk(), 0, 0, 0
    for number, moment in enumerate(moments):
        while place <= moment:
            one = done[place]
            told = max(told, one.offset) if one.kind == "ack" else told
            disk.happen(one)
            place += 1
        how = HOW[number % len(HOW)]
        disk.image(source, target, how, rng)
        result.add("images")
        lost += _has_lost(target, told, chains, result, f"after operation {moment}, {how}", whole=number % 20 == 0)
    return lost


def _chains(folder: Path) -> list[bytes]:
    log = SqliteLog(folder)
    found = [log.base().chain, *(event.chain for event in log.events(0))]
    log.close()
    return found


def _has_lost(folder: Path, told: int, chains: list[bytes], result: Result, where: str, *, whole: bool) -> bool:
    """Whether an acknowledged event is missing. What is there must be the beginning of the log."""
    if not (folder / DATABASE).is_file():
        return told > 0
    try:
        log = SqliteLog(folder)
        seq, chain = log.base()
        for event in log.events(0):
            check_chain(chain, event, follows=seq)
            seq, chain = event.seq, event.chain
        log.close()
        result.check(chain == chains[seq], f"{where}: the log is not the beginning of what was written")
        if whole:
            with Store.open(folder, options=OPTIONS) as store:  # snapshots, replay
                store.digest()
            result.add("opened and replayed")
    except GoalboundError as error:
        result.check(False, f"{where}: {error}")
        return told > 0
    return seq < told
