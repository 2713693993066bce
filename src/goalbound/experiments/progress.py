"""What a sweep says while it works: bars in a terminal, plain lines elsewhere, or one JSON object per line."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

from goalbound.models import ModelError
from goalbound.terminal import console, one_line


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        kind: ``sweep`` (first: runs, todo, episodes, workers, others), ``reused``, ``damaged`` (reason), ``started``
            (episodes, resumed), ``progress`` (done, episodes, expected_regret), ``finished`` (seconds, episodes, steps,
            expected_regret, resumed, alarm), ``failed`` (error), ``retried`` (error), ``stopping``, and ``done`` (last,
            whatever happened).
        id: of the run, if it is about one.
        label: the run in words.
        facts: as listed at ``kind``.
    """

    kind: str
    id: str = ""
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


Progress = Callable[[Event], None]
"""Whoever is told; the last event is always ``done``."""


def silent(event: Event) -> None:
    """Says nothing."""


def progress_on(stream: TextIO | None = None, *, style: str = "auto") -> Progress:
    """What tells a person or a program how a sweep goes.

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
        raise ModelError(f'there is no progress "{style}"; there are auto, bars, lines, json and none')
    return styles[style](stream)


class JsonLines:
    """One JSON object per line; of each run's progress at most one per second."""

    def __init__(self, stream: TextIO, *, seconds: float = 1.0) -> None:
        self._stream, self._seconds = stream, seconds
        self._next: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Hear what happened."""
        if event.kind == "progress":
            now = time.monotonic()
            if now < self._next.get(event.id, 0.0):
                return
            self._next[event.id] = now + self._seconds
        about = {"id": event.id, "label": event.label} if event.id else {}
        facts = {key: _plain(value) for key, value in event.facts.items()}
        print(json.dumps({"event": event.kind, **about, **facts}, allow_nan=False), file=self._stream, flush=True)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


ENOUGH = ((5.0, 0.05), (600.0, 0.01))
"""Seconds and the share of all episodes that must be seen before a time is foretold: the one pair or the other."""


class Pace:
    """How fast the sweep is, and how long it will take.

    What a checkpoint brought is not counted as speed, nor is all up to the first word of any run: processes start,
    bounds are certified and kernels are compiled before it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.runs = self.ended = self.failed = 0
        self.episodes = self.done = 0
        self.running: dict[str, int] = {}
        self._brought = 0
        self._resumed: set[str] = set()
        self._since: float | None = None
        self._before = 0
        self._own: dict[str, _Own] = {}

    def hear(self, event: Event) -> None:
        """Take an event into account."""
        facts = event.facts
        if event.kind == "sweep":
            self.runs, self.episodes = facts["todo"], facts["episodes"]
        elif event.kind == "started":
            self.running[event.id] = 0
            self._own[event.id] = _Own(facts["episodes"])
            if facts["restored"]:
                self._resumed.add(event.id)
        elif event.kind == "progress" and event.id in self.running:
            self._moved(event.id, facts["done"])
        elif event.kind == "finished":
            self._moved(event.id, facts["episodes"])
            del self.running[event.id]
            self._own.pop(event.id, None)
            self.ended += 1
        elif event.kind in ("failed", "retried"):
            self.done -= self.running.pop(event.id, 0)
            self._own.pop(event.id, None)
            if event.kind == "failed":
                self.episodes -= facts.get("episodes", 0)
                self.failed += 1
                self.ended += 1

    def _moved(self, name: str, done: int) -> None:
        step = done - self.running.setdefault(name, 0)
        self.running[name] = done
        self.done += step
        if name in self._resumed:
            self._resumed.discard(name)
            self._brought += step
        if self._since is None:
            self._since, self._before = self._clock(), self.done - self._brought
        if name in self._own and self._own[name].since is None:
            self._own[name] = self._own[name]._replace(since=self._clock(), before=done)

    @property
    def _played(self) -> tuple[int, float]:
        """Episodes since the first word of any run, and seconds."""
        if self._since is None:
            return 0, 0.0
        return max(0, self.done - self._brought - self._before), self._clock() - self._since

    @property
    def speed(self) -> float:
        """Episodes per second since the first word of any run; 0 before."""
        played, passed = self._played
        return played / passed if passed > 0.0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go, if the rest is as fast as what was; None where too little was seen to say so.

        Learners differ in speed by factors of a hundred, and become faster as they learn; so it is not less than what
        any run on its way needs by itself.
        """
        overall = _foretold(*self._played, self.episodes - self._brought, self.episodes - self.done)
        if overall is None:
            return None
        now = self._clock()
        alone = (
            _foretold(self.running[name] - own.before, now - own.since, own.episodes, own.episodes - self.running[name])
            for name, own in self._own.items()
            if own.since is not None and name in self.running
        )
        return max([overall, *(seconds for seconds in alone if seconds is not None)])

    def __str__(self) -> str:
        share = self.done / self.episodes if self.episodes else 1.0
        speed = f", {self.speed:,.0f} episodes/s" if self.speed > 0.0 else ""
        left = "" if self.left is None else f", about {_roughly(self.left)} left"
        return f"{self.ended} of {self.runs} runs, {share:.0%}{speed}{left}"


class _Own(NamedTuple):
    """One run on its way: its episodes, when it first said something, and how many it had then."""

    episodes: int
    since: float | None = None
    before: int = 0


def _foretold(played: int, passed: float, episodes: int, left: int) -> float | None:
    """Seconds for what is left if so many took so long; None if they are too few of all."""
    share = played / max(1, episodes)
    if not any(passed >= seconds and share >= part for seconds, part in ENOUGH):
        return None
    return left * passed / played if played > 0 else None


def _roughly(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else duration(seconds)


def duration(seconds: float) -> str:
    """For people.

    >>> duration(5.25), duration(200), duration(9000), duration(400000)
    ('5.2 s', '3 min 20 s', '2 h 30 min', '4 d 15 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    whole = int(seconds)
    place = next(place for place, (_, size) in enumerate(units) if whole >= size)
    (big, size), (small, part) = units[place], units[place + 1]
    return f"{whole // size} {big} {whole % size // part} {small}"


def sentence(event: Event) -> str | None:
    """What a person wants to read about an event, if anything."""
    facts = event.facts
    if event.kind == "damaged":
        return f"{event.label}: damaged, is done again ({facts['reason']})"
    if event.kind == "finished":
        speed = facts["episodes"] / facts["seconds"] if facts["seconds"] > 0.0 else math.inf
        how = "rest of a broken run" if facts["restored"] else f"{speed:,.0f} episodes/s"
        said = f"{event.label}: expected regret {facts['expected_regret']:,.6g}, {duration(facts['seconds'])} ({how})"
        return said if facts.get("alarm") is None else f"{said}; alarm: {facts['alarm']}"
    if event.kind in ("failed", "retried"):
        return f"{event.label}: {event.kind}: {facts['error']}"
    if event.kind == "stopping":
        return "stopping; Ctrl-C again stops at once"
    if event.kind == "done":
        return _farewell(facts)
    return _greeting(facts) if event.kind == "sweep" else None


def _greeting(facts: Mapping[str, Any]) -> str:
    reused, new = facts["runs"] - facts["todo"], facts["todo"]
    are = "none is new" if not new else f"{new} {'is' if new == 1 else 'are'} new"
    parts = [f"{facts['runs']} runs: {f'{reused} reused, {are}' if reused else 'all are new'}"]
    if reused:
        parts.append("--fresh runs all again")
    if facts["others"]:
        parts.append(f"{facts['others']} records of other specs, or of code as it was, are left alone")
    if facts["todo"]:
        parts.append(f"workers: {facts['workers']}")
    return "; ".join(parts)


def _farewell(facts: Mapping[str, Any]) -> str:
    parts = [f"{facts['done']} done, {facts['reused']} reused, {facts['failed']} failed"]
    if facts["open"]:
        parts.append(f"{facts['open']} still to do")
    end = "stopped" if facts["interrupted"] else "ended"
    return f"{end} after {duration(facts['seconds'])}: {', '.join(parts)}"


class Lines:
    """A line for each run that ends, and in between one every ten seconds."""

    def __init__(self, stream: TextIO, *, seconds: float = 10.0) -> None:
        self._stream, self._seconds = stream, seconds
        self._pace, self._next = Pace(), time.monotonic() + seconds

    def __call__(self, event: Event) -> None:
        """Hear what happened."""
        self._pace.hear(event)
        said = sentence(event)
        if said is not None and event.kind in ("finished", "failed"):
            said = f"[{self._pace.ended}/{self._pace.runs}] {said}"
        now = time.monotonic()
        if said is None and event.kind == "progress" and now >= self._next:
            said = str(self._pace)
        if said is not None:
            self._next = now + self._seconds
            print(one_line(said), file=self._stream, flush=True)


class Bars:
    """A bar for all, and one for each run that is on its way."""

    MOST = 16
    """More bars than this are not shown."""

    def __init__(self, stream: TextIO) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Live

        self._console = console(stream)
        self._live = Live(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False), console=self._console, transient=True,
        )  # fmt: skip
        self._pace = Pace()
        self._overall = self._live.add_task("all", total=None, note="")
        self._bars: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Hear what happened."""
        self._pace.hear(event)
        if event.kind == "sweep":
            self._live.start()
        elif event.kind == "started" and len(self._bars) < self.MOST:
            self._bars[event.id] = self._live.add_task(one_line(event.label), total=event.facts["episodes"], note="")
        elif event.kind == "progress" and event.id in self._bars:
            note = f"{event.facts['done']:,} episodes, expected regret {event.facts['expected_regret']:,.6g}"
            self._live.update(self._bars[event.id], completed=event.facts["done"], note=note)
        elif event.kind in ("finished", "failed", "retried") and event.id in self._bars:
            self._live.remove_task(self._bars.pop(event.id))
        total = max(1, self._pace.episodes)
        self._live.update(self._overall, total=total, completed=self._pace.done, note=str(self._pace))
        if event.kind == "done":
            self._live.stop()
        said = sentence(event)
        if said is not None:
            self._console.print(one_line(said), markup=False, highlight=False, emoji=False)
