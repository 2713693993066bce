"""Disks that are full, that fail, and that change bytes."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from faults.result import Result
from faults.world import CONTEXT, NAME, OPTIONS, check_told, environment, new_store, outcome, told_by
from goalbound.errors import GoalboundError, StorageFull
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.log import open_log
from goalbound.serve.store.replay import verify


def full(folder: Path, *, cycles: int) -> Result:
    """A small disk is filled and freed: nothing acknowledged is lost, and steps are taken again once there is space."""
    result, disk = Result("full disk"), folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        return limited(folder, result)
    try:
        store = new_store(disk / "store")
        cases, numbers = store.learner(NAME), dict[str, int]()
        for _ in range(cycles):
            blocker = disk / "blocker"
            _fill(blocker)
            os.truncate(blocker, max(0, blocker.stat().st_size - 100_000))  # so that it is full in the midst of steps
            result.add("times full")
            # Many: pages of the write-ahead log that are there already need no space.
            refused = _steps_until_full(cases, numbers, 5000)
            result.check(refused, "a full disk refused nothing")
            cases.cases()  # reading goes on
            blocker.unlink()
            result.check(not _steps_until_full(cases, numbers, 3), "after space was freed, a step was refused")
        result.counts["acknowledged"] = sum(numbers.values())
        digest = store.digest()
        missing = [id for id, step in numbers.items() if cases.case(id)["step"] < step]
        result.check(not missing, f"steps are missing in {missing[:3]}")
        result.counts["lost"] = len(missing)
        store.close()
        result.check(verify(disk / "store").state == digest["state"], "a replay gives another state")
    finally:
        subprocess.run(["umount", str(disk)], check=False)
    return result


def _fill(path: Path) -> None:
    """Write to a file until no space is left."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, bytes(4096))
    except OSError:
        return
    finally:
        os.close(handle)


def _steps_until_full(cases: object, numbers: dict[str, int], most: int) -> bool:
    """Take steps, and note each; whether the disk was full before so many."""
    for _ in range(most):
        try:
            if len(numbers) < 3:
                numbers[cases.begin(CONTEXT, 0).case] = 0  # type: ignore[attr-defined]
            id = min(numbers, key=lambda one: (numbers[one], one))
            loss, _ = outcome(id, numbers[id] + 1)
            cases.observe(id, loss, 1, step=numbers[id] + 1)  # type: ignore[attr-defined]
            numbers[id] += 1
        except StorageFull:
            return True
    return False


def limited(folder: Path, result: Result) -> Result:
    """Where no disk can be mounted: files may not grow beyond a size, which fails as a disk does."""
    result.name = "full disk (by the size of files)"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    done = subprocess.run(
        [sys.executable, "-m", "faults.workload", str(folder / "store"), "1000"], env=environment(), preexec_fn=limit,
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    told = told_by(done.stdout)
    result.check(done.returncode in (3, 4), f"the workload ended with {done.returncode}: {done.stderr[-300:]}")
    check_told(result, folder / "store", told)
    return result


def failing(folder: Path, *, calls: int) -> Result:
    """A system call fails with EIO, another one in each run: the store stops, and opens with all that was told."""
    result = Result("failing disk")
    if shutil.which("strace") is None:
        result.skipped = "there is no strace"
        return result
    rng = random.Random(0)
    for number in range(calls):
        store = folder / f"store{number}"
        call, error = rng.choice([("fdatasync", "EIO"), ("pwrite64", "EIO"), ("ftruncate", "EIO"), ("fsync", "EIO"),
                                  ("pwrite64", "ENOSPC"), ("openat", "EIO")])  # fmt: skip
        when = rng.randint(1, {"openat": 900, "pwrite64": 150}.get(call, 60))
        inject = f"inject={call}:error={error}:when={when}+"
        paths = [word for name in ("log.sqlite", "log.sqlite-wal") for word in ("-P", str(store / name))]
        strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *paths]
        words = [*strace, sys.executable, "-m", "faults.workload", str(store), "60"]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
        told = told_by(done.stdout)
        result.add("runs")
        result.add(f"ended with {done.returncode}")
        result.check(
            done.returncode in (0, 3, 4, 5), f"{inject}: it ended with {done.returncode}: {done.stderr[-300:]}"
        )
        if (store / "log.sqlite").exists():
            check_told(result, store, told)
        shutil.rmtree(store, ignore_errors=True)
    return result


def flips(folder: Path, *, cases: int) -> Result:
    """Bytes flip, files are cut: it is noticed, or it makes no difference; never another state, silently."""
    result, rng = Result("byte flips"), random.Random(1)
    with new_store(folder / "store") as store:
        handled = store.learner(NAME)
        numbers: dict[str, int] = {}
        _steps_until_full(handled, numbers, 120)
        digest = store.digest()
        time.sleep(2.0)  # what was committed a second ago is known beside the log, too
        shutil.copytree(folder / "store", folder / "killed")  # with its write-ahead log
    sources = {"closed": folder / "store", "killed": folder / "killed"}
    for number in range(cases):
        source = sources["closed" if number % 2 else "killed"]
        target = folder / "damaged"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        files = [path for path in sorted(target.rglob("*")) if path.suffix == ".sqlite" or path.name.endswith("-wal")]
        _damage(rng.choice(files), rng)
        outcome_of = _opened(target, digest)
        result.add(outcome_of)
        result.check(outcome_of in ("noticed", "no difference"), f"case {number}: {outcome_of}, and nobody noticed")
    return result


def _damage(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if not data:
        return
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    else:
        for _ in range(rng.choice((1, 1, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _opened(folder: Path, digest: dict[str, object]) -> str:
    """What came of opening a damaged store: refused, the same, a beginning of the same log, or another state."""
    try:
        with Store.open(folder, options=OPTIONS) as store:
            found = store.digest()
        verified = verify(folder)
    except (GoalboundError, OSError):
        return "noticed"
    if found == digest:
        return "no difference"
    log = open_log(place_of(folder), readonly=True)
    same = log.chain_at(int(str(found["seq"]))) is not None and verified.state == found["state"]
    log.close()
    return "a beginning of the log" if same and int(str(found["seq"])) < int(str(digest["seq"])) else "another state"
