"""A contender in a process of its own, so that one that hangs or crashes ends nothing but itself.

Times are taken inside the child. The worker is kept from problem to problem (starting Python would take longer than
most solves) and started again after a time limit or a crash.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import re
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import instances
from benchmarks.peers import Contender

START_LIMIT = 180.0
"""Seconds for starting, compiling and building a problem: none of it is timed."""
WARM_UP_SIZE = 10_000
"""Large enough that no planner takes a short cut for toy problems."""


@dataclass(frozen=True)
class Answer:
    """How a solve ended: values [S], or an error, or neither (no answer)."""

    seconds: float
    values: NDArray[np.float64] | None = None
    error: str = ""
    memory: int | None = None
    """Bytes that the solve took at its peak, beyond what the process had before; None where it cannot be told."""


class Worker:
    """A contender's process: load a problem, then solve it as often as needed.

    ``missing`` says why the contender cannot take part, once :meth:`wait` was called.
    """

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.missing = ""
        self._launch()

    def wait(self) -> None:
        """Until the process has warmed up. Several can be launched at once and then waited for."""
        self.missing = self._ask(None, START_LIMIT)

    def load(self, instance: str, n: int) -> str:
        """Build the problem and convert it; returns what went wrong, or nothing."""
        if not self._process.is_alive():
            self._launch()
            self.wait()
        if self.missing:
            return self.missing
        return self._ask(("load", instance, n), START_LIMIT)

    def solve(self, limit: float) -> Answer:
        """Solve the problem that was loaded; the process is ended if it takes longer than the limit."""
        reply = self._ask(("solve",), limit)
        return reply if isinstance(reply, Answer) else Answer(limit, error=reply)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()

    def _launch(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, self.contender), daemon=True)
        self._process.start()
        theirs.close()

    def _ask(self, message: tuple[Any, ...] | None, limit: float) -> Any:
        """What the process replies to a message (None: says by itself), or a word for why it says nothing."""
        try:
            if message is not None:
                self._pipe.send(message)
            if self._pipe.poll(limit):
                return self._pipe.recv()
            trouble = f"no answer in {limit:g} s"
        except (EOFError, OSError):
            trouble = "crashed"
        self.close()
        return trouble


def _serve(pipe: Connection, contender: Contender) -> None:
    """The child: warm up, then do as told. Its own output is dropped: solvers are talkative."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    pipe.send(_warm_up(contender))
    model: Any = None
    first = True
    while True:
        command, *arguments = pipe.recv()
        if command == "load":
            model = None  # the last one, so that its memory is free
            model, trouble = _prepared(contender, *arguments)
            first = True
            pipe.send(trouble)
        else:
            pipe.send(_solve(contender, model, measure=first))
            first = False


def _prepared(contender: Contender, instance: str, n: int) -> tuple[Any, str]:
    try:
        return contender.prepare(getattr(instances, instance)(n)), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _warm_up(contender: Contender) -> str:
    """Compile and load what the first solve needs; what is missing, if something is."""
    try:
        for instance in contender.warm_up:
            contender.values(contender.solve(contender.prepare(getattr(instances, instance)(WARM_UP_SIZE))))
    except ImportError as error:
        return f"not installed ({error})"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _solve(contender: Contender, model: Any, *, measure: bool) -> Answer:
    """One timed solve; memory is measured only when asked, because giving free memory back first costs time."""
    before = _reset_peak() if measure else None
    begin = time.perf_counter()
    try:
        found = contender.solve(model)
    except Exception as error:
        return Answer(time.perf_counter() - begin, error=f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - begin
    peak = _status("VmHWM")
    memory = None if before is None or peak is None else max(0, peak - before)
    try:
        return Answer(seconds, contender.values(found), memory=memory)
    except Exception as error:
        return Answer(seconds, error=f"{type(error).__name__}: {error}")


def _reset_peak() -> int | None:
    """Give free memory back, forget the peak of the process, and return its size now (Linux only)."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return None
    return _status("VmRSS")


def _status(name: str) -> int | None:
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None
