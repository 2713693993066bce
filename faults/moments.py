"""kill -9 at exact moments: at a system call of a replay, of a snapshot, of a checkpoint."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from faults.result import Result
from faults.world import OPTIONS, check_told, environment, told_by
from goalbound.serve.store import Store
from goalbound.serve.store.files import DATABASE

STEPS = 60
_MOST: dict[str, tuple[tuple[str, str, int], ...]] = {
    "replay": (("pread64", DATABASE, 12), ("pread64", f"{DATABASE}-wal", 20)),
    "snapshot": (("rename", "", 3), ("fsync", "", 3)),
    "checkpoint": (("pwrite64", DATABASE, 6), ("fdatasync", DATABASE, 1), ("ftruncate", f"{DATABASE}-wal", 1)),
}
"""For each moment: a system call, the file it is of (empty: any), and about how many there are of it. SQLite writes to
the database itself in checkpoints only, and nothing but the files of learners for snapshots uses fsync and rename."""


def kill_at(folder: Path, *, times: int) -> Result:
    """The process is killed before a system call, another one in each run; all that was told is in the log."""
    result = Result("kill -9 at exact moments")
    if shutil.which("strace") is None:
        result.skipped = "there is no strace"
        return result
    source, told = _killed_store(folder)
    rng = random.Random(0)
    for moment, calls in _MOST.items():
        for number in range(times):
            store = folder / "store"
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(source, store)
            call, name, most = calls[number % len(calls)]
            when = 2 if number == 0 else rng.randint(1, most)  # there are at least two of the first
            path = [] if not name else ["-P", str(store / name)]
            inject = f"inject={call}:signal=KILL:when={when}"
            strace = ["strace", "-f", "-qq", "-o", "/dev/null", *path, "-e", f"trace={call}", "-e", inject]
            words = [*strace, sys.executable, "-m", "faults.workload", str(store), str(STEPS)]
            done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
            killed = done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
            result.add(f"killed in a {moment}" if killed else f"{moment} was over before")
            result.check(killed or done.returncode == 0, f"{inject}: {done.returncode}: {done.stderr[-300:]}")
            check_told(result, store, told + told_by(done.stdout))
    for moment in _MOST:
        result.check(result.counts.get(f"killed in a {moment}", 0) > 0, f"nobody was killed in a {moment}")
    return result


def _killed_store(folder: Path) -> tuple[Path, list[int]]:
    """A store whose process was killed, with a snapshot, events after it and a write-ahead log; what it had told."""
    store = folder / "first"
    words = [sys.executable, "-m", "faults.workload", str(store), "45", "FULL", "killed"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    told = told_by(done.stdout)
    if done.returncode != -signal.SIGKILL or not told:
        raise RuntimeError(f"the workload ended with {done.returncode}: {done.stderr[-500:]}")
    shutil.copytree(store, folder / "whole")
    with Store.open(folder / "whole", options=OPTIONS) as opened:
        if not opened.status()["replayed"]:
            raise RuntimeError("nothing is left to be replayed")
    return store, told
