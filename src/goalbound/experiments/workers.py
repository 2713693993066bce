"""Where runs are played: in this process, in processes of this machine (joblib), or on a Dask cluster.

Each way takes tasks and gives outcomes in the order in which they end; what an outcome holds does not depend on the
way. This is the only door of joblib and distributed.
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

from goalbound.experiments.stopping import GRACE, signals_held
from goalbound.experiments.tasks import Failed, Outcome, Stopped, Task, Throttled, failure, perform
from goalbound.extras import install_command
from goalbound.models import ModelError
from goalbound.terminal import guard_output

Tell = Callable[[str, str, Mapping[str, Any]], None]
"""Kind of the event, id of the run, facts."""
Outcomes = Generator[Outcome, None, None]
"""To be closed: that ends the workers."""

POLL = 0.2
CONNECT_SECONDS = 10.0
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
     "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1",
)  # fmt: skip
"""One core per process: runs are many, and more threads would only fight."""


def cpu_count() -> int:
    """The processors that this process may use (its affinity and its container's share count)."""
    from joblib import cpu_count

    return int(cpu_count())


def in_this_process(tasks: Sequence[Task], *, tell: Tell, stop: Callable[[], bool]) -> Outcomes:
    """One after another, here."""
    for task in tasks:
        if stop():
            return
        tell("started", task.id, _start(task))

        def report(done: int, episodes: int, regret: float, name: str = task.id) -> None:
            tell("progress", name, {"done": done, "episodes": episodes, "expected_regret": regret})

        yield perform(task, report=Throttled(report), stop=stop)


def _start(task: Task) -> dict[str, Any]:
    return {"episodes": task.episodes, "restored": task.resumes}


@dataclass(frozen=True)
class Board:
    """A folder by which processes speak: each run's progress in a file of its name, and a file that says stop.

    Files, not a queue: a process that is killed in the middle of writing cannot block the others.
    """

    path: Path

    def tell(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write how far a run is. A disk that is full does not stop a run here."""
        with suppress(OSError):
            (self.path / name).write_text(json.dumps(facts), encoding="utf-8")

    def heard(self, name: str) -> dict[str, Any] | None:
        """How far a run is; None if it has not said, or is saying it right now."""
        try:
            facts = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return facts if isinstance(facts, dict) else None

    def forget(self, name: str) -> None:
        """Remove what a run said."""
        with suppress(OSError):
            (self.path / name).unlink()

    def ask_to_stop(self) -> None:
        """Ask all runs to stop."""
        with suppress(OSError):
            (self.path / "stop").touch()

    def stops(self) -> bool:
        """Whether runs are asked to stop."""
        return (self.path / "stop").exists()


def in_processes(
    tasks: Sequence[Task], *, workers: int, board: Board, tell: Tell, stop: Callable[[], bool]
) -> Outcomes:
    """In so many processes of this machine.

    A process that dies takes the whole pool with it, and whose fault it was is not known: all runs that were on their
    way are tried again, one at a time; one that kills its process when it is alone has failed.
    """
    suspects = []
    for task, outcome in _flow(tasks, workers, board, tell, stop):
        if outcome is not None:
            yield outcome
        else:
            suspects.append(task)
            tell("retried", task.id, {"error": "a worker process died; it is tried again alone"})
    for suspect in suspects:
        for task, outcome in _flow([suspect], 1, board, tell, stop):
            yield _died(task) if outcome is None else outcome


def _died(task: Task) -> Failed:
    error = (
        "its process died twice, the second time alone: killed from outside, out of memory, or a crash in native code"
    )
    return Failed(task.id, error, "")


def _flow(
    tasks: Sequence[Task], width: int, board: Board, tell: Tell, stop: Callable[[], bool]
) -> Generator[tuple[Task, Outcome | None], None, None]:
    """Outcomes as they come, None for a run whose process died. At most ``width`` tasks are out at a time."""
    waiting = deque(tasks)
    out: dict[Future[Outcome], Task] = {}
    pool, broken = _pool(width), False
    try:
        while (waiting or out) and not stop():
            if broken and not out:
                pool.shutdown(kill_workers=True)
                pool, broken = _pool(width), False
            while waiting and len(out) < width and not broken:
                with signals_held():
                    try:
                        out[pool.submit(_in_process, waiting[0], board)] = waiting[0]
                    except BrokenExecutor:
                        broken = True
                        break
                task = waiting.popleft()
                tell("started", task.id, _start(task))
            ended, _ = wait(out, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in ended:
                task, outcome = _settled(out, future, board)
                broken = broken or outcome is None
                yield task, outcome
            _pass_on(out.values(), board, tell)
        if out:
            board.ask_to_stop()
            ended, _ = wait(out, timeout=GRACE)
            for future in ended:
                task, outcome = _settled(out, future, board)
                yield task, outcome or Stopped(task.id)
    finally:
        with signals_held():
            pool.shutdown(kill_workers=True)  # all that they had to say was heard; waiting for them takes seconds


def _settled(out: dict[Future[Outcome], Task], future: Future[Outcome], board: Board) -> tuple[Task, Outcome | None]:
    task = out.pop(future)
    board.forget(task.id)
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        return task, None
    return task, future.result() if error is None else failure(task, error)


def _pass_on(tasks: Iterable[Task], board: Board, tell: Tell) -> None:
    for task in tasks:
        facts = board.heard(task.id)
        if facts is not None:
            board.forget(task.id)
            tell("progress", task.id, facts)


def _pool(width: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=width, env=ONE_THREAD, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """In a new process: leave Ctrl-C to the parent, do not outlive it, and print only what can be seen."""
    guard_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _in_process(task: Task, board: Board) -> Outcome:
    def report(done: int, episodes: int, regret: float) -> None:
        board.tell(task.id, {"done": done, "episodes": episodes, "expected_regret": regret})

    return perform(task, report=Throttled(report), stop=board.stops)


def on_cluster(address: str, tasks: Sequence[Task], *, tell: Tell, stop: Callable[[], bool]) -> Outcomes:
    """On the workers of a Dask scheduler (``tcp://host:8786``). They need goalbound, but no disk in common with us.

    A worker that dies is survived: the scheduler gives its runs to others, three times at most.
    """
    client = _connected(address)
    sweep = f"goalbound-{secrets.token_hex(4)}"
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
    out: dict[str, tuple[Task, Any]] = {}
    try:
        client.subscribe_topic(sweep, lambda event: heard.put(event[1]))
        for task in tasks:
            future = client.submit(_on_worker, task, sweep, key=f"{sweep}-{task.id}", pure=False, retries=2)
            future.add_done_callback(heard.put)
            out[future.key] = task, future
        while out and not stop():
            message = _next(heard, client, address)
            if isinstance(message, dict):  # what a run said may come after its end
                if f"{sweep}-{message['id']}" in out:
                    tell(message["kind"], message["id"], message["facts"])
            elif message is not None and message.key in out:
                task, future = out[message.key]
                outcome = _fetched(task, future, address)
                if outcome is None:  # its worker died after the end; the scheduler has it done again
                    future.add_done_callback(heard.put)
                    continue
                del out[message.key]
                future.release()
                yield outcome
    finally:
        with suppress(Exception):  # the cluster may be gone; nothing here is lost by that
            client.cancel([future for _, future in out.values()])
        client.close(timeout=2)


def _next(heard: queue.SimpleQueue[Any], client: Any, address: str) -> Any:
    try:
        return heard.get(timeout=POLL)
    except queue.Empty:
        if client.status in ("closing", "closed"):
            raise _lost(address) from None
        return None


def _lost(address: str) -> ModelError:
    return ModelError(f"the Dask scheduler at {address} was lost; what had come back is kept: start it and sweep again")


def _connected(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ModelError(f"a Dask cluster needs the extra: {install_command('cluster')}") from None
    connect: Any = Client
    try:
        return connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"no Dask scheduler answers at {address!r} ({_first_line(error)}); start one with `dask scheduler`, and "
            "give its address, such as tcp://host:8786"
        ) from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _fetched(task: Task, future: Any, address: str) -> Outcome | None:
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError, KilledWorker

    try:
        outcome: Outcome = future.result(timeout=30)
    except TimeoutError:
        return None
    except KilledWorker as error:
        return Failed(task.id, f"every worker that it was given died: {_first_line(error)}", "")
    except (Cancelled, CancelledError):
        raise _lost(address) from None
    except Exception as error:  # before our function was reached: goalbound or a module of the spec is not there
        return failure(task, error)
    return outcome


def _on_worker(task: Task, topic: str) -> Outcome:
    """On a worker of the cluster."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def say(kind: str, facts: Mapping[str, Any]) -> None:
        worker.log_event(topic, {"kind": kind, "id": task.id, "facts": dict(facts)})

    def report(done: int, episodes: int, regret: float) -> None:
        say("progress", {"done": done, "episodes": episodes, "expected_regret": float(regret)})

    def is_cancelled() -> bool:
        """Whether nobody waits for it any more (cancelled, or the sweep died): a thread cannot be stopped otherwise."""
        mine = worker.state.tasks.get(key)
        return mine is None or mine.state == "cancelled"

    say("started", _start(task))
    return perform(task, report=Throttled(report, seconds=1.0), stop=is_cancelled)
