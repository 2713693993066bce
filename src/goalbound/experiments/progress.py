"""Progress of a sweep: bars in a terminal, plain lines elsewhere, or one JSON object per line."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

from goalbound.errors import ArgumentError
from goalbound.terminal import console, one_line


@dataclass(frozen=True)
class Event:
    """An event of a sweep.

    Attributes:
        kind: ``sweep`` (first: runs, todo, episodes, workers, others, unversioned), ``reused``, ``damaged`` (reason),
            ``started`` (episodes), ``progress`` (done, episodes, expected_regret), ``finished`` (seconds, episodes,
            steps, expected_regret, alarm), ``failed`` (error, episodes), ``retried`` (error), ``stopping``, and
            ``done`` (always last).
        id: of the run, if it is about one.
        label: of the run.
        data: as listed at ``kind``.
    """

    kind: str
    id: str = ""
    label: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Progress = Callable[[Event], None]
"""Called with each event; the last one is always ``done``."""


def silent(event: Event) -> None:
    """Ignore the event."""


def progress_reporter(stream: TextIO | None = None, *, style: str = "auto") -> Progress:
    """A reporter of the progress of a sweep.

    Args:
        stream: where to; stderr if not given.
        style: ``bars``, ``lines``, ``json``, ``none``, or ``auto``: bars if the stream is a terminal, else lines.
    """
    stream = sys.stderr if stream is None else stream
    if style == "auto":
        style = "bars" if stream.isatty() else "lines"
    if style == "none":
        return silent
    styles: dict[str, Callable[[TextIO], Progress]] = {"bars": Bars, "lines": Lines, "json": JsonLines}
    if style not in styles:
        raise ArgumentError(f'there is no progress "{style}"; there are auto, bars, lines, json and none')
    return styles[style](stream)


class JsonLines:
    """One JSON object per line; of each run's progress at most one per second."""

    def __init__(self, stream: TextIO, *, seconds: float = 1.0) -> None:
        self._stream, self._seconds = stream, seconds
        self._next: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Report the event."""
        if event.kind == "progress":
            now = time.monotonic()
            if now < self._next.get(event.id, 0.0):
                return
            self._next[event.id] = now + self._seconds
        about = {"id": event.id, "label": event.label} if event.id else {}
        data = {key: _finite_or_none(value) for key, value in event.data.items()}
        print(json.dumps({"event": event.kind, **about, **data}, allow_nan=False), file=self._stream, flush=True)


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


ESTIMATE_AFTER = ((5.0, 0.05), (600.0, 0.01))
"""Seconds and the share of episodes after which the remaining time is estimated: one pair or the other."""


class ThroughputEstimator:
    """Estimates the speed of a sweep and its remaining time.

    The time before the first report of any run does not count: processes start, bounds are certified and kernels are
    compiled.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.runs = self.ended = self.failed = 0
        self.episodes = self.done = 0
        self.running: dict[str, int] = {}
        self._since: float | None = None
        self._before = 0
        self._per_run: dict[str, _RunProgress] = {}

    def update(self, event: Event) -> None:
        """Update by an event."""
        data = event.data
        if event.kind == "sweep":
            self.runs, self.episodes = data["todo"], data["episodes"]
        elif event.kind == "started":
            self.running[event.id] = 0
            self._per_run[event.id] = _RunProgress(data["episodes"])
        elif event.kind == "progress" and event.id in self.running:
            self._advance(event.id, data["done"])
        elif event.kind == "finished":
            self._advance(event.id, data["episodes"])
            del self.running[event.id]
            self._per_run.pop(event.id, None)
            self.ended += 1
        elif event.kind in ("failed", "retried"):
            self.done -= self.running.pop(event.id, 0)
            self._per_run.pop(event.id, None)
            if event.kind == "failed":
                self.episodes -= data.get("episodes", 0)
                self.failed += 1
                self.ended += 1

    def _advance(self, name: str, done: int) -> None:
        self.done += done - self.running.get(name, 0)
        self.running[name] = done
        if self._since is None:
            self._since, self._before = self._clock(), self.done
        if name in self._per_run and self._per_run[name].since is None:
            self._per_run[name] = self._per_run[name]._replace(since=self._clock(), before=done)

    @property
    def _played(self) -> tuple[int, float]:
        """Episodes since the first report of any run, and seconds."""
        if self._since is None:
            return 0, 0.0
        return max(0, self.done - self._before), self._clock() - self._since

    @property
    def speed(self) -> float:
        """Episodes per second since the first report of any run; 0 before."""
        played, passed = self._played
        return played / passed if passed > 0.0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left at the speed so far; None while there is too little data.

        Learners differ in speed by factors of a hundred, and become faster as they learn; so it is at least the
        time that any unfinished run needs alone.
        """
        overall = _estimated_seconds(*self._played, self.episodes, self.episodes - self.done)
        if overall is None:
            return None
        now = self._clock()
        alone = (
            _estimated_seconds(
                self.running[name] - run.before, now - run.since, run.episodes, run.episodes - self.running[name]
            )
            for name, run in self._per_run.items()
            if run.since is not None and name in self.running
        )
        return max([overall, *(seconds for seconds in alone if seconds is not None)])

    def __str__(self) -> str:
        share = self.done / self.episodes if self.episodes else 1.0
        speed = f", {self.speed:,.0f} episodes/s" if self.speed > 0.0 else ""
        left = "" if self.seconds_left is None else f", about {_rounded_duration(self.seconds_left)} left"
        return f"{self.ended} of {self.runs} runs, {share:.0%}{speed}{left}"


class _RunProgress(NamedTuple):
    """An unfinished run: its episodes, the time of its first report, and the episodes done then."""

    episodes: int
    since: float | None = None
    before: int = 0


def _estimated_seconds(played: int, passed: float, episodes: int, left: int) -> float | None:
    """Seconds for the remaining episodes by proportion; None if too few were played."""
    share = played / max(1, episodes)
    if not any(passed >= seconds and share >= part for seconds, part in ESTIMATE_AFTER):
        return None
    return left * passed / played if played > 0 else None


def _rounded_duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else format_duration(seconds)


def format_duration(seconds: float) -> str:
    """A duration in two units.

    >>> format_duration(5.25), format_duration(200), format_duration(9000), format_duration(400000)
    ('5.2 s', '3 min 20 s', '2 h 30 min', '4 d 15 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    whole = int(seconds)
    place = next(place for place, (_, size) in enumerate(units) if whole >= size)
    (big, size), (small, part) = units[place], units[place + 1]
    return f"{whole // size} {big} {whole % size // part} {small}"


def describe(event: Event) -> str | None:
    """The message for an event, or None."""
    data = event.data
    if event.kind == "damaged":
        return f"{event.label}: damaged record, run again ({data['reason']})"
    if event.kind == "finished":
        speed = data["episodes"] / data["seconds"] if data["seconds"] > 0.0 else math.inf
        message = (
            f"{event.label}: expected regret {data['expected_regret']:,.6g}, {format_duration(data['seconds'])} "
            f"({speed:,.0f} episodes/s)"
        )
        return message if data.get("alarm") is None else f"{message}; alarm: {data['alarm']}"
    if event.kind in ("failed", "retried"):
        return f"{event.label}: {event.kind}: {data['error']}"
    if event.kind == "stopping":
        return "stopping; Ctrl-C again stops at once"
    if event.kind == "done":
        return _end_message(data)
    return _start_message(data) if event.kind == "sweep" else None


def _start_message(data: Mapping[str, Any]) -> str:
    reused, new = data["runs"] - data["todo"], data["todo"]
    are = "none is new" if not new else f"{new} {'is' if new == 1 else 'are'} new"
    parts = [f"{data['runs']} runs: {f'{reused} reused, {are}' if reused else 'all are new'}"]
    if reused:
        parts.append("--fresh runs all again")
        if data["unversioned"]:
            parts.append(f"unversioned, so edits are not seen: {', '.join(data['unversioned'])}")
    if data["others"]:
        parts.append(f"{data['others']} records of other specs, or of other versions, are left alone")
    if data["todo"]:
        parts.append(f"workers: {data['workers']}")
    return "; ".join(parts)


def _end_message(data: Mapping[str, Any]) -> str:
    parts = [f"{data['done']} done, {data['reused']} reused, {data['failed']} failed"]
    if data["open"]:
        parts.append(f"{data['open']} still to do")
    end = "stopped" if data["interrupted"] else "ended"
    return f"{end} after {format_duration(data['seconds'])}: {', '.join(parts)}"


class Lines:
    """A line for each run that ends, and one every ten seconds in between."""

    def __init__(self, stream: TextIO, *, seconds: float = 10.0) -> None:
        self._stream, self._seconds = stream, seconds
        self._throughput, self._next = ThroughputEstimator(), time.monotonic() + seconds

    def __call__(self, event: Event) -> None:
        """Report the event."""
        self._throughput.update(event)
        message = describe(event)
        if message is not None and event.kind in ("finished", "failed"):
            message = f"[{self._throughput.ended}/{self._throughput.runs}] {message}"
        now = time.monotonic()
        if message is None and event.kind == "progress" and now >= self._next:
            message = str(self._throughput)
        if message is not None:
            self._next = now + self._seconds
            print(one_line(message), file=self._stream, flush=True)


class Bars:
    """A bar for the sweep, and one for each unfinished run."""

    MAX_BARS = 16
    """More bars than this are not shown."""

    def __init__(self, stream: TextIO) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Live

        self._console = console(stream)
        self._live = Live(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False), console=self._console, transient=True,
        )  # fmt: skip
        self._throughput = ThroughputEstimator()
        self._overall = self._live.add_task("all", total=None, note="")
        self._bars: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Report the event."""
        self._throughput.update(event)
        if event.kind == "sweep":
            self._live.start()
        elif event.kind == "started" and len(self._bars) < self.MAX_BARS:
            self._bars[event.id] = self._live.add_task(one_line(event.label), total=event.data["episodes"], note="")
        elif event.kind == "progress" and event.id in self._bars:
            note = f"{event.data['done']:,} episodes, expected regret {event.data['expected_regret']:,.6g}"
            self._live.update(self._bars[event.id], completed=event.data["done"], note=note)
        elif event.kind in ("finished", "failed", "retried") and event.id in self._bars:
            self._live.remove_task(self._bars.pop(event.id))
        total = max(1, self._throughput.episodes)
        self._live.update(self._overall, total=total, completed=self._throughput.done, note=str(self._throughput))
        if event.kind == "done":
            self._live.stop()
        message = describe(event)
        if message is not None:
            self._console.print(one_line(message), markup=False, highlight=False, emoji=False)
