"""The decision service: ``python -m benchmarks.service [--quick] [--only steps batch ...]``.

Steps a second are given as ratios to what was measured beside them in the same run: rows that SQLite appends durably,
empty answers of the same HTTP server, and a handler that makes one row durable and does nothing else. The load comes
from ``wrk``, a compiled client. All traffic is on this machine. Ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvloop

from benchmarks.service_load.baselines import opened
from faults.world import free_port
from goalbound import GreedyRidge, PosteriorSampling, Step, Support
from goalbound.problems import incident_recovery
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.events import Event, Kind, chained
from goalbound.serve.store.log import SqliteLog
from goalbound.simulation.warm_up import warm_up

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "service_load" / "steps.lua"
MANY = StoreOptions(most_cases=200_000, snapshot_events=10**9, snapshot_seconds=1e9)
COMPONENTS, LOGGED = 4, 200_000


@dataclass(frozen=True)
class Goal:
    """A number that is to be reached."""

    name: str
    found: float
    wanted: float
    at_least: bool
    unit: str = ""

    @property
    def reached(self) -> bool:
        return self.found >= self.wanted if self.at_least else self.found <= self.wanted

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "reached" if self.reached else "MISSED "
        return f"{verdict}  {self.name}: {self.found:.4g} {self.unit} (goal {sign} {self.wanted:g})"


def bench_learner(kind: str = "posterior") -> Any:
    """One of six states and eighteen pairs, which may all lead anywhere; it has learned from a log, so that a new plan
    is due now and then, as in a service that has run for some days."""
    support, rng = Support.full(6, 3), np.random.default_rng(0)
    learner: Any = (
        GreedyRidge(support, COMPONENTS, loss_floor=0.05)
        if kind == "greedy"
        else PosteriorSampling(support, COMPONENTS, loss_floor=0.05, rng=rng)
    )
    contexts = rng.dirichlet(np.ones(COMPONENTS), size=LOGGED)
    columns = (
        rng.integers(6, size=LOGGED),
        rng.integers(3, size=LOGGED),
        rng.random(LOGGED),
        rng.integers(7, size=LOGGED),
    )
    learner.learn_log(
        zip(contexts, map(Step._make, zip(*(column.tolist() for column in columns), strict=True)), strict=True)
    )
    return learner


def incident_learner() -> PosteriorSampling:
    """One of the incidents of the tutorial: 6 states, 20 pairs, 53 next states, 12 components."""
    problem = incident_recovery()
    rng = np.random.default_rng(0)
    return PosteriorSampling(problem.support, problem.context_size, loss_floor=1 / 12, rng=rng)


def filled(folder: Path, cases: int, *, options: StoreOptions = MANY, kind: str = "posterior") -> Store:
    """A store with open cases c1, c2, ..."""
    store = Store.open(folder, options=options)
    store.create("bench", incident_learner() if kind == "incidents" else bench_learner(kind))
    size = store.learner("bench").status()["context_size"]
    contexts = np.random.default_rng(1).dirichlet(np.ones(size), size=64).tolist()
    for first in range(1, cases + 1, 256):
        numbers = range(first, min(first + 256, cases + 1))
        store.writer.call(
            lambda engine, numbers=numbers: [
                engine.begin("bench", contexts[number % 64], 0, id=f"c{number}") for number in numbers
            ]
        )
    return store


@contextmanager
def serving(*words: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-m", *words], env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE
    )
    try:
        end = time.monotonic() + 300
        while time.monotonic() < end and process.poll() is None:
            with suppress(httpx.TransportError):  # a baseline has no such address, and is ready when it answers
                if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code != 503:
                    break
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def wrk(port: int, *, cases: int, connections: int, seconds: float, batch: int = 1, first: int = 0) -> dict[str, float]:
    words = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds:g}s",
        "--timeout",
        "20s",
        "-s",
        str(SCRIPT),
        f"http://127.0.0.1:{port}",
    ]
    environment = {**os.environ, "CASES": str(cases), "BATCH": str(batch), "FIRST": str(first)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    if found["wrong"]:
        raise SystemExit(f"{found['wrong']} answers were wrong: {done.stderr[:500]}")
    found["rate"] = found["requests"] / found["seconds"]
    return found


def raw_rows(folder: Path, seconds: float, number: int, batch: int = 64) -> float:
    """Rows that SQLite appends durably in a second, in batches."""
    connection = opened(str(folder / f"raw{number}.sqlite"))
    rows, count, end = [(1, 0.25, 0, b"0123456789abcdef")] * batch, 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO event (step, loss, next_state, chain) VALUES (?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        count += batch
    connection.close()
    return count / seconds


def steps(folder: Path, seconds: float, rounds: int, batch_seconds: float) -> list[Goal]:
    """Durable steps a second with 64 in flight, against an empty durable handler, in turns of a few seconds; then
    against empty answers and raw appends.

    What the disk does varies threefold within minutes, so each turn of the service is compared with the turns of the
    handler before and after it, and the middle of these ratios counts.
    """
    single, batched, ports = 256, 2048, {name: free_port() for name in ("empty", "durable", "service")}
    rates: dict[str, list[float]] = {name: [] for name in (*ports, "raw", "batch")}
    batches = min(rounds, 3)
    filled(folder / "store", rounds * single + batches * batched).close()
    baselines = "benchmarks.service_load.baselines"

    def turn(name: str, first: int) -> None:
        found = wrk(ports[name], cases=single, connections=64, seconds=seconds, first=first)
        rates[name].append(found["rate"])
        times = f"p50 {found['p50']:.1f} ms, p99 {found['p99']:.1f} ms"
        print(f"  {name:8} {found['rate']:8.0f} a second, {times}", flush=True)

    with (
        serving(baselines, "empty", str(ports["empty"]), port=ports["empty"]),
        serving(baselines, "durable", str(ports["durable"]), str(folder / "durable.sqlite"), port=ports["durable"]),
        serving(
            "goalbound",
            "serve",
            "--store",
            str(folder / "store"),
            "--port",
            str(ports["service"]),
            port=ports["service"],
        ),
    ):
        turn("durable", 0)
        for number in range(rounds):
            turn("service", number * single)
            turn("durable", 0)
        turn("empty", 0)
        for number in range(batches):
            rates["raw"].append(raw_rows(folder, min(seconds, 2.0), number))
            first = rounds * single + number * batched
            found = wrk(ports["service"], cases=batched, connections=4, seconds=batch_seconds, batch=256, first=first)
            rates["batch"].append(256 * found["rate"])
            print(f"  batch    {rates['batch'][-1]:8.0f} a second", flush=True)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    print(f"  raw SQLite appends, 64 in a commit: {middle['raw']:.0f} a second")
    for name in ("empty", "raw"):
        print(
            f"  steps / {name}: {middle['service'] / middle[name]:.2f}; "
            f"batch / {name}: {middle['batch'] / middle[name]:.2f}"
        )
    around = [(before + after) / 2.0 for before, after in pairwise(rates["durable"])]
    ratios = sorted(rate / beside for rate, beside in zip(rates["service"], around, strict=True))
    print(f"  steps / an empty durable handler, turn by turn: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    return [
        Goal("steps / what an empty durable handler does, 64 in flight", statistics.median(ratios), 0.6, True),
        Goal("steps by batches of 256", middle["batch"], 25_000, True, "a second"),
    ]


def engine(folder: Path, batches: int) -> list[Goal]:
    """The processor time of a step without HTTP: what the engine takes, and a commit of 256; the least of all batches,
    as other programs only make it more."""
    store, cases, size = filled(folder / "store", 2048), 2048, 256
    least = [float("inf")] * 2

    def run(one: Any, number: int) -> None:
        first = number * size
        ids = [(f"c{at % cases + 1}", at // cases + 1) for at in range(first, first + size)]
        begun = time.thread_time()
        for id, step in ids:
            one.observe("bench", id, 0.25, 0, step=step)
        applied = time.thread_time()
        one.commit()
        for place, took in enumerate((applied - begun, time.thread_time() - applied)):
            least[place] = min(least[place], took / size * 1e6)

    for number in range(batches):
        store.writer.call(lambda one, number=number: run(one, number))
    store.close()
    print(f"  a step: {least[0]:.1f} us in the engine, {least[1]:.1f} us in a commit of {size}")
    return []


def open_loop(folder: Path, seconds: float) -> list[Goal]:
    """Steps at a fixed rate, whatever the answers do: how long they take. First by the empty durable handler: what is
    late there is so because of the disk and the machine."""
    port, cases, rate = free_port(), 4096, 1000
    durable = ("benchmarks.service_load.baselines", "durable", str(port), str(folder / "durable.sqlite"))
    with serving(*durable, port=port):
        middle, high, most = np.percentile(uvloop.run(_open_loop(port, cases, rate, seconds)), [50, 99, 100]) * 1e3
    print(f"  an empty durable handler: p50 {middle:.1f} ms, p99 {high:.1f} ms, at worst {most:.0f} ms")
    port = free_port()
    filled(folder / "store", cases).close()
    with serving("goalbound", "serve", "--store", str(folder / "store"), "--port", str(port), port=port):
        times = uvloop.run(_open_loop(port, cases, rate, seconds))
    middle, high = np.percentile(times, [50, 99]) * 1e3
    print(f"  {len(times)} steps at {rate} a second: p50 {middle:.1f} ms, p99 {high:.1f} ms")
    return [Goal(f"p99 at {rate} steps a second", float(high), 30.0, False, "ms")]


async def _open_loop(port: int, cases: int, rate: int, seconds: float) -> list[float]:
    """Requests are sent when they are due; the time counts from then, also if no connection was free."""
    loop, times = asyncio.get_running_loop(), [0.0] * int(rate * seconds)
    free: list[_Asking] = []
    waiting: deque[tuple[int, float]] = deque()
    left, done = len(times), loop.create_future()

    def answered(connection: _Asking, place: int, due: float) -> None:
        nonlocal left
        times[place] = time.perf_counter() - due
        left -= 1
        if left == 0:
            done.set_result(None)
        elif waiting:
            connection.ask(*waiting.popleft())
        else:
            free.append(connection)

    for _ in range(128):
        free.append((await loop.create_connection(lambda: _Asking(cases, answered, done), "127.0.0.1", port))[1])
    begun, place = time.perf_counter(), 0
    gc.collect()
    gc.disable()  # nothing here is a cycle, and its pauses would be counted
    while place < len(times):
        due = begun + place / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        while place < len(times) and begun + place / rate <= time.perf_counter():
            if free:
                free.pop().ask(place, begun + place / rate)
            else:
                waiting.append((place, begun + place / rate))
            place += 1
    await done
    gc.enable()
    return times


class _Asking(asyncio.Protocol):
    """A connection that reports one step at a time."""

    def __init__(self, cases: int, answered: Callable[[_Asking, int, float], None], done: asyncio.Future[None]) -> None:
        self._cases, self._answered, self._done = cases, answered, done
        self._asked: tuple[int, float] = (0, 0.0)
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError("the service closed a connection"))

    def ask(self, place: int, due: float) -> None:
        self._asked = (place, due)
        body = b'{"step":%d,"loss":0.25,"next_state":0}' % (place // self._cases + 1)
        head = b"POST /v1/learners/bench/cases/c%d/steps HTTP/1.1\r\nhost: localhost\r\n"
        head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % (place % self._cases + 1, len(body)) + body)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._data.endswith(b"}"):  # of the answer, which is one object
            return
        assert self._data.startswith(b"HTTP/1.1 200"), self._data
        self._data = b""
        self._answered(self, *self._asked)


def restart(folder: Path, events: int, replayed: int) -> list[Goal]:
    """Opening a store with a long log, of which a snapshot was taken ``replayed`` events before the end."""
    store = filled(folder / "store", 64)
    seq, chain = store._engine.seq, store._engine.chain
    store.close()
    log = SqliteLog(folder / "store")
    files = log.snapshot(seq)
    while seq < events:  # rows that nobody replays, since the snapshot is after them
        rows = []
        for _ in range(min(10_000, events - seq)):
            seq += 1
            event = Event(seq, Kind.ACKNOWLEDGE, 1, None, None, None, 0.25, 0, None, 0, None, None, 0, b"")
            chain = chained(chain, event)
            rows.append(event._replace(chain=chain))
        log.append(rows)
    log.put_snapshot(seq, chain, files, keep=1)  # as if it had been taken later: what came between changed nothing
    log.close()
    with Store.open(folder / "store", options=MANY) as store:
        numbers = {f"c{number}": 0 for number in range(1, 65)}
        for _ in range(0, replayed, 64):
            for id in numbers:
                numbers[id] += 1
            store.writer.call(
                lambda engine: [engine.observe("bench", id, 0.25, 0, step=at) for id, at in numbers.items()]
            )
        copy = folder / "copy"
        subprocess.run(["cp", "-r", str(folder / "store"), str(copy)], check=True)
    begun = time.perf_counter()
    with Store.open(copy, options=MANY) as store:
        took = time.perf_counter() - begun
        print(f"  {store.status()['events']} events, {store.status()['replayed']} replayed: open after {took:.2f} s")
    return [Goal(f"restart with {events} events", took, 3.0, False, "s")]


def open_cases(folder: Path, count: int) -> list[Goal]:
    """The memory of a process with many open cases, what a snapshot of them takes, and what a restart does."""
    code = (
        "import sys, time; from pathlib import Path; from benchmarks.service import MANY, filled, memory;"
        "store = filled(Path(sys.argv[1]), int(sys.argv[2]), options=MANY, kind='incidents'); print(memory());"
        "begun = time.perf_counter(); store.snapshot(); print(time.perf_counter() - begun); print(memory());"
        "store.close()"
    )
    megabytes, seconds, after = _measured(code, folder, count)
    print(f"  {count} open cases: {megabytes:.0f} MB; a snapshot takes {seconds:.1f} s, and leaves {after:.0f} MB")
    code = (
        "import resource, sys, time; from pathlib import Path; from benchmarks.service import MANY, Store, memory;"
        "begun = time.perf_counter(); store = Store.open(Path(sys.argv[1]), options=MANY);"
        "print(time.perf_counter() - begun); print(memory());"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024); store.close()"
    )
    took, again, peak = _measured(code, folder, count)
    print(f"  open again after {took:.1f} s, with {again:.0f} MB, {peak:.0f} MB at most on the way")
    return [Goal(f"memory with {count} open cases", megabytes, 900.0, False, "MB")]


def _measured(code: str, folder: Path, count: int) -> tuple[float, float, float]:
    """Three numbers that a process of its own prints."""
    words = [sys.executable, "-c", code, str(folder / "store"), str(count)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    first, second, third = map(float, done.stdout.split())
    return first, second, third


def memory() -> float:
    """The resident memory, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


PARTS: dict[str, tuple[Callable[..., list[Goal]], dict[str, Any], dict[str, Any]]] = {
    "engine": (engine, {"batches": 50}, {"batches": 400}),
    "steps": (
        steps,
        {"seconds": 2.0, "rounds": 3, "batch_seconds": 3.0},
        {"seconds": 3.0, "rounds": 15, "batch_seconds": 10.0},
    ),
    "open-loop": (open_loop, {"seconds": 4.0}, {"seconds": 30.0}),
    "restart": (restart, {"events": 50_000, "replayed": 2_000}, {"events": 1_000_000, "replayed": 10_000}),
    "open-cases": (open_cases, {"count": 5_000}, {"count": 100_000}),
}
"""The parts, with their small and their full size."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="The decision service.")
    parser.add_argument("--quick", action="store_true", help="small sizes; its goals say little")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    warm_up(bench_learner())
    goals = []
    for name in arguments.only:
        part, small, full = PARTS[name]
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            goals += part(Path(folder), **(small if arguments.quick else full))
    print("\n".join(map(str, goals)))
    return 0 if all(goal.reached for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
