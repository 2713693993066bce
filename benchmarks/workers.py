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
from contextlib import suppress
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
    """A contender's process: load a problem, then solve it as often as needed."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.problem: tuple[str, int] | None = None
        self._start()

    def load(self, instance: str, n: int) -> str:
        """Build the problem and convert it; returns what went wrong, or nothing."""
        self.problem = (instance, n)
        return self._ask(("load", instance, n), START_LIMIT) or ""

    def solve(self, limit: float) -> Answer:
        """Solve the problem that was loaded; the worker is started again if it takes longer than the limit."""
        answer = self._ask(("solve",), limit)
        return answer if isinstance(answer, Answer) else Answer(limit, error=answer or "no answer")

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._pipe.send(("close",))
        self._process.join(2.0)
        if self._process.is_alive():
            self._process.kill()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, self.contender), daemon=True)
        self._process.start()
        theirs.close()
        self.missing = self._ask(None, START_LIMIT, restart=False) or ""

    def _ask(self, message: Any, limit: float, *, restart: bool = True) -> Any:
        """The reply to a message, or a word for why there is none."""
        try:
            if message is not None:
                self._pipe.send(message)
            if self._pipe.poll(limit):
                return self._pipe.recv()
            trouble = f"no answer in {limit:g} s"
        except (EOFError, OSError):
            trouble = "crashed"
        self._process.kill()
        if restart:
            self._start()
        return trouble


def _serve(pipe: Connection, contender: Contender) -> None:
    """The child: warm up, then do as told. Its own output is dropped: solvers are talkative."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    pipe.send(_attempt_warm_up(contender))
    model: Any = None
    while True:
        command, *arguments = pipe.recv()
        if command == "close":
            return
        if command == "load":
            model = None
            try:
                model = contender.prepare(getattr(instances, arguments[0])(arguments[1]))
                pipe.send("")
            except Exception as error:
                pipe.send(f"{type(error).__name__}: {error}")
        else:
            pipe.send(_solve(contender, model))


def _attempt_warm_up(contender: Contender) -> str:
    """Compile and load what the first solve needs; what is missing, if something is."""
    try:
        for instance in contender.warm_up:
            contender.values(contender.solve(contender.prepare(getattr(instances, instance)(WARM_UP_SIZE))))
    except ImportError as error:
        return f"not installed ({error})"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _solve(contender: Contender, model: Any) -> Answer:
    before = _reset_peak()
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
