"""Numbers for Prometheus; no ids and no contexts."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

_GAUGES = {
    "open_cases": "Open cases.",
    "learners": "Learners.",
    "waiting": "Requests that wait for the writer.",
    "wal_bytes": "Size of the write-ahead log.",
    "free_bytes": "Space left on the disk.",
    "snapshot_event": "The event after which the last snapshot was taken.",
    "snapshot_seconds": "What the last snapshot took.",
    "replayed": "Events that were replayed at the start.",
    "slowest_commit": "The longest commit since the last scrape, in seconds.",
}
_COUNTERS = {
    "events": "Events of the log.",
    "commits": "Transactions.",
    "commit_seconds": "Time spent in them.",
    "snapshots": "Snapshots taken since the start.",
    "refused": "Requests refused because too many waited.",
    "rebuilt": "How often the state was rebuilt from the log.",
}
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What the service itself counts: answers by route and status, and how long they took by route."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self._slots: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, route: str, status: int, seconds: float) -> None:
        """An answer was sent."""
        self.answers[route, status] += 1
        self._seconds[route] += seconds
        slots = self._slots.setdefault(route, [0] * (len(_BUCKETS) + 1))
        slots[bisect_left(_BUCKETS, seconds)] += 1

    def text(self, status: dict[str, Any]) -> str:
        """All of it, in the text format of Prometheus."""
        lines = []
        for kind, names in (("gauge", _GAUGES), ("counter", _COUNTERS)):
            for name, meaning in names.items():
                full = f"goalbound_{name}" + ("_total" if kind == "counter" else "")
                lines += [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}", f"{full} {status[name]!r}"]
        age = time.monotonic() - status["last_snapshot"]
        lines += ["# TYPE goalbound_snapshot_age_seconds gauge", f"goalbound_snapshot_age_seconds {age:g}"]
        lines += ["# HELP goalbound_alarms Alarms that were not acknowledged.", "# TYPE goalbound_alarms gauge"]
        lines += [f'goalbound_alarms{{learner="{name}"}} {count}' for name, count in status["alarms"].items()]
        lines += ["# TYPE goalbound_writer_alive gauge", f"goalbound_writer_alive {int(status['alive'])}"]
        lines.append("# TYPE goalbound_answers_total counter")
        lines += [
            f'goalbound_answers_total{{route="{route}",status="{code}"}} {count}'
            for (route, code), count in sorted(self.answers.items())
        ]
        lines.append("# TYPE goalbound_answer_seconds histogram")
        for route, slots in sorted(self._slots.items()):
            total = 0
            for limit, count in zip([*map(str, _BUCKETS), "+Inf"], slots, strict=True):
                total += count
                lines.append(f'goalbound_answer_seconds_bucket{{route="{route}",le="{limit}"}} {total}')
            lines.append(f'goalbound_answer_seconds_sum{{route="{route}"}} {self._seconds[route]:g}')
            lines.append(f'goalbound_answer_seconds_count{{route="{route}"}} {total}')
        return "\n".join(lines) + "\n"
