"""Executors of runs: this process, processes of this machine (joblib), or a Dask cluster.

Each executor takes jobs and yields outcomes in the order of completion; an outcome does not depend on the
executor. The only module that imports joblib and distributed.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.experiments.job import Failed, Job, Outcome, Throttled, failure_of, run_job
from goalbound.experiments.signals import signals_blocked
from goalbound.extras import install_command
from goalbound.terminal import guard_output

Notify = Callable[[str, str, Mapping[str, Any]], None]
"""Called with the kind of the event, the id of the run, and its data."""
Outcomes = Generator[Outcome, None, None]
"""Closing it ends the workers."""

POLL_SECONDS = 0.2
CONNECT_SECONDS = 10.0
SINGLE_THREAD_ENV = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
     "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1",
)  # fmt: skip
"""One thread per process: with many runs, more threads would compete for cores."""


def cpu_count() -> int:
    """The processors that this process may use (its affinity and its container's share count)."""
    from joblib import cpu_count

    return int(cpu_count())


def run_serially(jobs: Sequence[Job], *, notify: Notify, stop: Callable[[], bool]) -> Outcomes:
    """Serially, in this process."""
    for job in jobs:
        if stop():
            return
        notify("started", job.id, {"episodes": job.episodes})

        def report(done: int, episodes: int, regret: float, name: str = job.id) -> None:
            notify("progress", name, {"done": done, "episodes": episodes, "expected_regret": regret})

        yield run_job(job, report=Throttled(report), stop=stop)


@dataclass(frozen=True)
class ProgressFiles:
    """Progress of worker processes as files in a folder, one per run.

    Files, not a queue: a process that is killed in the middle of writing cannot block the others.
    """

    path: Path

    def write(self, name: str, data: Mapping[str, Any]) -> None:
        """Write the progress of a run. A full disk is ignored here."""
        with suppress(OSError):
            (self.path / name).write_text(json.dumps(data), encoding="utf-8")

    def read(self, name: str) -> dict[str, Any] | None:
        """The progress of a run; None if it has not been written, or is being written."""
        try:
            data = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return data if isinstance(data, dict) else None

    def delete(self, name: str) -> None:
        """Delete the progress of a run."""
        with suppress(OSError):
            (self.path / name).unlink()


def run_in_processes(
    jobs: Sequence[Job], *, workers: int, progress_files: ProgressFiles, notify: Notify, stop: Callable[[], bool]
) -> Outcomes:
    """In ``workers`` processes of this machine.

    A process that dies breaks the whole pool, and which run caused it is unknown: all runs that were
    running are retried, one at a time; one that kills its process when it is alone has failed.
    """
    suspects = []
    for job, outcome in _stream(jobs, workers, progress_files, notify, stop):
        if outcome is not None:
            yield outcome
        else:
            suspects.append(job)
            notify("retried", job.id, {"error": "a worker process died; it is retried alone"})
    for suspect in suspects:
        for job, outcome in _stream([suspect], 1, progress_files, notify, stop):
            yield _worker_died(job) if outcome is None else outcome


def _worker_died(job: Job) -> Failed:
    error = (
        "its process died twice, the second time alone: killed from outside, out of memory, or a crash in native code"
    )
    return Failed(job.id, error, "")


def _stream(
    jobs: Sequence[Job], max_running: int, progress_files: ProgressFiles, notify: Notify, stop: Callable[[], bool]
) -> Generator[tuple[Job, Outcome | None], None, None]:
    """Outcomes in order of completion, None for a run whose process died; at most ``max_running`` jobs at a time."""
    waiting = deque(jobs)
    running: dict[Future[Outcome], Job] = {}
    pool, broken = _pool(max_running), False
    try:
        while (waiting or running) and not stop():
            if broken and not running:
                pool.shutdown(kill_workers=True)
                pool, broken = _pool(max_running), False
            while waiting and len(running) < max_running and not broken:
                with signals_blocked():
                    try:
                        running[pool.submit(_run_in_worker, waiting[0], progress_files)] = waiting[0]
                    except BrokenExecutor:
                        broken = True
                        break
                job = waiting.popleft()
                notify("started", job.id, {"episodes": job.episodes})
            ended, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in ended:
                job, outcome = _take_outcome(running, future, progress_files)
                broken = broken or outcome is None
                yield job, outcome
            _forward_progress(running.values(), progress_files, notify)
        for future in [future for future in running if future.done()]:
            job, outcome = _take_outcome(running, future, progress_files)
            if outcome is not None:
                yield job, outcome
    finally:
        with signals_blocked():
            pool.shutdown(kill_workers=True)  # all outcomes were collected; waiting for them takes seconds


def _take_outcome(
    running: dict[Future[Outcome], Job], future: Future[Outcome], progress_files: ProgressFiles
) -> tuple[Job, Outcome | None]:
    job = running.pop(future)
    progress_files.delete(job.id)
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        return job, None
    return job, future.result() if error is None else failure_of(job, error)


def _forward_progress(jobs: Iterable[Job], progress_files: ProgressFiles, notify: Notify) -> None:
    for job in jobs:
        data = progress_files.read(job.id)
        if data is not None:
            progress_files.delete(job.id)
            notify("progress", job.id, data)


def _pool(max_running: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=max_running, env=SINGLE_THREAD_ENV, initializer=_init_worker, initargs=(os.getpid(),)
    )


def _init_worker(parent: int) -> None:
    """Initialise a worker process: ignore Ctrl-C, exit with the parent, and escape control characters."""
    guard_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _run_in_worker(job: Job, progress_files: ProgressFiles) -> Outcome:
    def report(done: int, episodes: int, regret: float) -> None:
        progress_files.write(job.id, {"done": done, "episodes": episodes, "expected_regret": regret})

    return run_job(job, report=Throttled(report))


def run_on_cluster(address: str, jobs: Sequence[Job], *, notify: Notify, stop: Callable[[], bool]) -> Outcomes:
    """On the workers of a Dask scheduler (``tcp://host:8786``). They need goalbound, but no shared disk.

    Runs of a worker that dies are rescheduled by Dask, three times at most.
    """
    client = _connect(address)
    sweep = _ClusterSweep(client, address, f"goalbound-{secrets.token_hex(4)}", notify)
    try:
        sweep.submit(jobs)
        while sweep.running and not stop():
            yield from sweep.next_outcomes()
        while sweep.running and sweep.has_messages:
            yield from sweep.next_outcomes()
    finally:
        with suppress(Exception):  # the cluster may be gone; nothing is lost
            sweep.cancel()
        client.close(timeout=2)


class _ClusterSweep:
    """Runs on a cluster: those without an outcome yet, and what their workers say."""

    def __init__(self, client: Any, address: str, topic: str, notify: Notify) -> None:
        self._client, self._address, self._topic, self._notify = client, address, topic, notify
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.running: dict[str, tuple[Job, Any]] = {}

    @property
    def has_messages(self) -> bool:
        return not self._messages.empty()

    def submit(self, jobs: Sequence[Job]) -> None:
        self._client.subscribe_topic(self._topic, lambda event: self._messages.put(event[1]))
        for job in jobs:
            future = self._client.submit(
                _run_on_dask_worker, job, self._topic, key=self._key(job.id), pure=False, retries=2
            )
            future.add_done_callback(self._messages.put)
            self.running[future.key] = job, future

    def next_outcomes(self) -> Outcomes:
        """Wait for a message a moment; the outcome that it brings, if it brings one."""
        message = _next_message(self._messages, self._client, self._address)
        if isinstance(message, dict):  # progress may arrive after the outcome
            if self._key(message["id"]) in self.running:
                self._notify(message["kind"], message["id"], message["data"])
        elif message is not None and message.key in self.running:
            job, future = self.running[message.key]
            outcome = _fetch(job, future, self._address)
            if outcome is None:  # its worker died after completion; the scheduler reruns it
                future.add_done_callback(self._messages.put)
                return
            del self.running[message.key]
            future.release()
            yield outcome

    def cancel(self) -> None:
        """Cancel all runs without an outcome."""
        self._client.cancel([future for _, future in self.running.values()])

    def _key(self, name: str) -> str:
        return f"{self._topic}-{name}"


def _next_message(messages: queue.SimpleQueue[Any], client: Any, address: str) -> Any:
    try:
        return messages.get(timeout=POLL_SECONDS)
    except queue.Empty:
        if client.status in ("closing", "closed"):
            raise _connection_lost(address) from None
        return None


def _connection_lost(address: str) -> ArgumentError:
    return ArgumentError(f"the Dask scheduler at {address} was lost; finished runs are kept: start it and sweep again")


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ArgumentError(f"a Dask cluster needs the extra: {install_command('cluster')}") from None
    connect: Any = Client
    try:
        return connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"no Dask scheduler answers at {address!r} ({_first_line(error)}); start one with `dask scheduler`, and "
            "give its address, such as tcp://host:8786"
        ) from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _fetch(job: Job, future: Any, address: str) -> Outcome | None:
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError, KilledWorker

    try:
        outcome: Outcome = future.result(timeout=30)
    except TimeoutError:
        return None
    except KilledWorker as error:
        return Failed(job.id, f"every worker that it was assigned to died: {_first_line(error)}", "")
    except (Cancelled, CancelledError):
        raise _connection_lost(address) from None
    except Exception as error:  # before our function was reached: goalbound or a module of the spec is not there
        return failure_of(job, error)
    return outcome


def _run_on_dask_worker(job: Job, topic: str) -> Outcome:
    """On a worker of the cluster."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def send(kind: str, data: Mapping[str, Any]) -> None:
        worker.log_event(topic, {"kind": kind, "id": job.id, "data": dict(data)})

    def report(done: int, episodes: int, regret: float) -> None:
        send("progress", {"done": done, "episodes": episodes, "expected_regret": float(regret)})

    def is_unwanted() -> bool:
        """Whether the result is no longer needed (cancelled, or the sweep died): threads cannot be stopped."""
        mine = worker.state.tasks.get(key)
        return mine is None or mine.state == "cancelled"

    send("started", {"episodes": job.episodes})
    return run_job(job, report=Throttled(report, seconds=1.0), stop=is_unwanted)
