"""Progress of a sweep: bars in a terminal, plain lines elsewhere, or one JSON object per line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from goalbound.errors import ArgumentError
from goalbound.terminal import console, one_line


@dataclass(frozen=True)
class Event:
    """An event of a sweep.

    Attributes:
        kind: ``sweep`` (first: runs, todo, episodes, workers, others, unversioned), ``reused``, ``damaged`` (reason),
            ``started`` (episodes; on a cluster, when it is submitted), ``finished`` (seconds, episodes, steps,
            expected_regret, alarm), ``failed`` (error, episodes), ``retried`` (error), ``stopping``, and ``done``
            (always last).
        id: of the run, if it is about one.
        label: of the run.
        data: as listed at ``kind``.
    """

    kind: str
    id: str = ""
    label: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


ENDED = ("finished", "failed")
"""The kinds of events that end a run."""
SPEED_SECONDS = 3600.0
"""The remaining time follows from the runs that ended in this time."""
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
    """One JSON object per line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Report the event."""
        about = {"id": event.id, "label": event.label} if event.id else {}
        data = {key: _finite_or_none(value) for key, value in event.data.items()}
        print(json.dumps({"event": event.kind, **about, **data}, allow_nan=False), file=self._stream, flush=True)


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Lines:
    """A line for each run that ends, with how many of them have ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._todo = self._ended = 0

    def __call__(self, event: Event) -> None:
        """Report the event."""
        if event.kind == "sweep":
            self._todo = event.data["todo"]
        message = describe(event)
        if message is None:
            return
        if event.kind in ENDED:
            self._ended += 1
            message = f"[{self._ended}/{self._todo}] {message}"
        print(one_line(message), file=self._stream, flush=True)


class Bars:
    """A bar of the runs that have ended, with the time that is left; messages scroll above it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Live

        self._console = console(stream)
        self._live = Live(
            TextColumn("runs"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            speed_estimate_period=SPEED_SECONDS,
        )
        self._runs = self._live.add_task("runs", total=None)

    def __call__(self, event: Event) -> None:
        """Report the event."""
        if event.kind == "sweep":
            self._live.update(self._runs, total=event.data["todo"])
            self._live.start()
        elif event.kind in ENDED:
            self._live.advance(self._runs)
        elif event.kind == "done":
            self._live.stop()
        message = describe(event)
        if message is not None:
            self._console.print(one_line(message), markup=False, highlight=False, emoji=False)


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
