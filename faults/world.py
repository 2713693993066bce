"""The learner, the cases and the processes of all parts."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from faults.result import Result
from goalbound import EpsilonGreedy, Support
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.events import Kind
from goalbound.serve.store.log import open_log
from goalbound.serve.store.replay import verify

ROOT = Path(__file__).parents[1]
SUPPORT = Support.full(3, 2)
"""Any action may lead anywhere, so that any report can be made."""
NAME, CONTEXT = "cases", [0.25, 0.75]
OPTIONS = StoreOptions(reserve_bytes=0, snapshot_events=50, snapshot_seconds=1e9)
"""Snapshots are taken often, so that faults meet them."""


def learner() -> EpsilonGreedy:
    """One with a random stream of its own: an event too many or too few changes all later actions."""
    return EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, explore=0.5, fade=0.0, rng=np.random.default_rng(7))


def new_store(place: Path | str, options: StoreOptions = OPTIONS) -> Store:
    """A store with the learner, in a folder or a database."""
    store = Store.open(place, options=options)
    if NAME not in store:
        store.create(NAME, learner())
    return store


def outcome(case: str, step: int) -> tuple[float, int]:
    """What the world does in a step of a case: a loss and a next state, the same at every run."""
    drawn = np.random.default_rng([step, *case.encode()])
    return round(float(drawn.random()), 3), int(drawn.choice([0, 1, 2, 3], p=[0.4, 0.25, 0.25, 0.1]))


def environment() -> dict[str, str]:
    """For processes of this clone."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(folder: Path, port: int, *prefix: str) -> subprocess.Popen[bytes]:
    """A service in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "goalbound",
        "serve",
        "--store",
        str(folder),
        "--port",
        str(port),
        "--cold",
        "--reserve",
        "0",
    ]
    return subprocess.Popen([*prefix, *words], env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)


def wait_until_ready(
    port: int, process: subprocess.Popen[bytes], path: str = "/readyz", *, seconds: float = 60.0
) -> float:
    """How long it took."""
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        try:
            if httpx.get(f"http://127.0.0.1:{port}{path}", timeout=2.0).status_code == 200:
                return time.monotonic() - begun
        except httpx.TransportError:
            pass
        if process.poll() is not None:
            error = (process.stderr.read() if process.stderr else b"")[-500:]
            raise RuntimeError(f"the service ended with {process.returncode}: {error!r}")
        time.sleep(0.01)
    raise RuntimeError("the service was not ready in time")


@contextmanager
def served(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A service until the end of the block, where it is killed if it still runs."""
    process = start(folder, port)
    try:
        wait_until_ready(port, process)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Acknowledged:
    """What programs were told: for each step of each case, the action, the event, and a checksum of the answer."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, int], tuple[int | None, int, int]] = {}
        self.different = 0

    def note(self, answer: dict[str, Any]) -> None:
        """An answer came; the same step must have the same answer whenever it comes."""
        told = (answer["action"], answer["seq"], zlib.crc32(repr(sorted(answer.items())).encode()))
        kept = self.answers.setdefault((answer["case"], answer["step"]), told)
        self.different += kept != told


def check_against_log(result: Result, place: Path | str, told: Acknowledged) -> None:
    """Every acknowledged step is in the log with the action that was told, and a replay gives the same actions."""
    found = verify(place)
    result.add("events replayed", found.replayed)
    missing, wrong, ids = dict(told.answers), list[tuple[str, int]](), dict[int, str]()
    log = open_log(place_of(place), readonly=True)
    for event in log.events(0):
        if event.kind == Kind.BEGIN and event.case is not None:
            ids[event.case] = json.loads(event.body or b"{}")["id"]
        if event.case is not None and event.step is not None:
            key = ids[event.case], event.step
            answer = missing.pop(key, None)
            if answer is not None and answer[:2] != (event.action, event.seq):
                wrong.append(key)
    log.close()
    lost = list(missing)
    result.add("acknowledged", len(told.answers))
    result.add("lost", len(lost))
    result.add("wrong actions", len(wrong) + told.different)
    result.check(not lost, f"acknowledged steps are not in the log: {lost[:3]}")
    result.check(not wrong, f"the log has other actions than were told: {wrong[:3]}")
    result.check(not told.different, f"{told.different} steps were answered differently when asked again")


def told_by(output: str) -> list[int]:
    """The events that a workload was told of."""
    return [int(line) for line in output.split() if line.isdigit()]


def check_told(result: Result, folder: Path, told: list[int]) -> None:
    """The store opens, and has all events that were told."""
    with Store.open(folder, options=OPTIONS) as store:
        seq = store.digest()["seq"]
    verify(folder)
    result.add("acknowledged", len(told))
    result.add("lost", sum(one > seq for one in told))
    result.check(max(told, default=0) <= seq, f"event {max(told, default=0)} was told, and the log ends at {seq}")


def quick_folder() -> str | None:
    """Where files are in memory, for what is not about disks; None: there is no such place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def megabytes(pid: int, *, peak: bool = False) -> float:
    """The resident memory of a process, now or at its peak."""
    field = "VmHWM" if peak else "VmRSS"
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0
