"""Executors of runs: this process, processes of this machine (loky of joblib), or a Dask cluster.

An executor takes runs and yields their outcomes in the order of completion; outcomes do not depend on it. Processes and
clusters are both an :class:`concurrent.futures.Executor`, driven by one loop. The only module that imports joblib and
distributed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.experiments.job import Failed, Outcome, failure_of, run_job
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.signals import signals_blocked
from goalbound.extras import install_command
from goalbound.terminal import guard_output

Notify = Callable[[str, str, Mapping[str, Any]], None]
"""Called with the kind of the event, the id of the run, and its data."""
Outcomes = Generator[Outcome, None, None]
"""Closing it ends the workers."""

POLL_SECONDS = 0.2
CONNECT_SECONDS = 10.0
SINGLE_THREAD_ENV = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
"""One thread per process: with many runs, more threads would compete for cores."""
DIED_TWICE = (
    "its process died twice, the second time alone: killed from outside, out of memory, or a crash in native code"
)


def cpu_count() -> int:
    """The processors that this process may use (its affinity and its container's share count)."""
    from joblib import cpu_count

    return int(cpu_count())


def run_serially(runs: Sequence[RunSpec], plugins: Plugins, *, notify: Notify, stop: Callable[[], bool]) -> Outcomes:
    """Serially, in this process."""
    for run in runs:
        if stop():
            return
        notify("started", run.id, {"episodes": run.episodes})
        yield run_job(run, plugins, stop=stop)


def run_in_processes(
    runs: Sequence[RunSpec], plugins: Plugins, *, workers: int, notify: Notify, stop: Callable[[], bool]
) -> Outcomes:
    """In ``workers`` processes of this machine.

    A process that dies breaks the whole pool, and which run caused it is unknown: all runs that were
    running are retried, one at a time; one that kills its process when it is alone has failed.
    """
    waiting, suspects = deque(runs), []
    play = partial(run_job, plugins=plugins)
    while waiting and not stop():
        with _processes(workers) as pool:
            for run, future in _completed(pool, play, waiting, workers, notify=notify, stop=stop):
                outcome = _outcome_in_process(run, future)
                if outcome is not None:
                    yield outcome
                    continue
                suspects.append(run)
                notify("retried", run.id, {"error": "a worker process died; it is retried alone"})
    for suspect in suspects:
        if stop():
            return
        with _processes(1) as pool:
            for run, future in _completed(pool, play, deque([suspect]), 1, notify=notify, stop=stop):
                yield _outcome_in_process(run, future) or Failed(run.id, DIED_TWICE, "")


def run_on_cluster(
    address: str, runs: Sequence[RunSpec], plugins: Plugins, *, notify: Notify, stop: Callable[[], bool]
) -> Outcomes:
    """On the workers of a Dask scheduler (``tcp://host:8786``). They need goalbound, but no shared disk.

    Runs of a worker that dies are rescheduled by Dask, three times at most.
    """
    client = _connect(address)

    def stop_unless_lost() -> bool:
        if client.status in ("closing", "closed"):
            raise _connection_lost(address)
        return stop()

    pool = client.get_executor(pure=False, retries=2)
    play = partial(_run_on_dask_worker, plugins=plugins)
    try:
        waiting = deque(runs)
        for run, future in _completed(pool, play, waiting, len(runs), notify=notify, stop=stop_unless_lost):
            yield _outcome_on_cluster(run, future, address)
    finally:
        with suppress(Exception):  # the cluster may be gone; nothing is lost
            pool.shutdown(wait=False)
        client.close(timeout=2)


def _completed(
    pool: Executor,
    play: Callable[[RunSpec], Outcome],
    waiting: deque[RunSpec],
    at_once: int,
    *,
    notify: Notify,
    stop: Callable[[], bool],
) -> Iterator[tuple[RunSpec, Future[Outcome]]]:
    """Submit the waiting runs, ``at_once`` at a time, and yield those that ended, in the order of completion.

    Ends early on a stop, after yielding what has ended by then; and where the pool is broken, when no run is left in
    it. Runs that were not submitted stay in ``waiting``.
    """
    running: dict[Future[Outcome], RunSpec] = {}
    while waiting or running:
        stopping, broken = stop(), False
        while waiting and len(running) < at_once and not stopping:
            try:
                with signals_blocked():
                    future = pool.submit(play, waiting[0])
            except BrokenExecutor:
                broken = True
                break
            run = running[future] = waiting.popleft()
            notify("started", run.id, {"episodes": run.episodes})
        ended, _ = wait(running, timeout=0.0 if stopping else POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in sorted(ended, key=Future.cancelled):  # a cluster that is lost cancels; what it finished is kept
            yield running.pop(future), future
        if stopping or (broken and not running):
            return


@contextmanager
def _processes(count: int) -> Iterator[Executor]:
    """A pool of processes; they are killed at the end, as waiting for them takes seconds."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        max_workers=count, env=SINGLE_THREAD_ENV, initializer=_init_worker, initargs=(os.getpid(),)
    )
    try:
        yield pool
    finally:
        with signals_blocked():
            pool.shutdown(kill_workers=True)


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


def _outcome_in_process(run: RunSpec, future: Future[Outcome]) -> Outcome | None:
    """The outcome of a run, None if its process died."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except Exception as error:  # the outcome could not be sent
        return failure_of(run, error)


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


def _outcome_on_cluster(run: RunSpec, future: Future[Outcome], address: str) -> Outcome:
    from distributed import KilledWorker

    try:
        return future.result()
    except CancelledError:  # we cancel nothing before the end
        raise _connection_lost(address) from None
    except KilledWorker as error:
        return Failed(run.id, f"every worker that it was assigned to died: {_first_line(error)}", "")
    except Exception as error:  # before our function was reached: goalbound or a module of the spec is not there
        return failure_of(run, error)


def _connection_lost(address: str) -> ArgumentError:
    return ArgumentError(f"the Dask scheduler at {address} was lost; finished runs are kept: start it and sweep again")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _run_on_dask_worker(run: RunSpec, plugins: Plugins) -> Outcome:
    """On a worker of the cluster."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_unwanted() -> bool:
        """Whether the result is no longer needed (cancelled, or the sweep died): threads cannot be stopped."""
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return run_job(run, plugins, stop=is_unwanted)
