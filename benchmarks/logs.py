"""The two logs of a store: ``python -m benchmarks.logs``.

Durable rows a second in batches of some sizes, in SQLite and in PostgreSQL (on a Unix socket, fsync on), in turn on the
same disk; the ratio is the result. Without a PostgreSQL server it says so.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import ExitStack

from faults.postgres import Cluster, missing
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.events import FIRST_CHAIN, Event, Kind, chained
from goalbound.serve.store.log import Log, open_log

SIZES, ROUNDS = (1, 16, 64, 256), 60


def batch(size: int, after: int, chain: bytes) -> list[Event]:
    found = []
    for seq in range(after + 1, after + size + 1):
        event = Event(seq, Kind.OBSERVE, 1, seq, 1, None, 0.25, 2, None, 1, 1.0, None, 5, b"")
        chain = chained(chain, event)
        found.append(event._replace(chain=chain))
    return found


def seconds(log: Log, size: int) -> float:
    """Of one commit of so many rows."""
    after, chain = log.last()
    rows = batch(size, after, chain or FIRST_CHAIN)
    begun = time.perf_counter()
    log.append(rows)
    return time.perf_counter() - begun


def main() -> int:
    reason = missing()
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    with ExitStack() as stack:
        cluster, folder = stack.enter_context(Cluster()), stack.enter_context(tempfile.TemporaryDirectory())
        logs = [open_log(place_of(place), create=True) for place in (f"{folder}/store", cluster.url())]
        for one in logs:
            stack.callback(one.close)
        print("rows in a commit  SQLite [rows/s]  PostgreSQL [rows/s]  ratio")
        for size in SIZES:
            both: list[list[float]] = [[], []]
            for _ in range(ROUNDS):  # in turn, so that both meet the same machine
                for place, one in enumerate(logs):
                    both[place].append(seconds(one, size))
            first, second = (size / statistics.median(one) for one in both)
            print(f"{size:16d}  {first:15,.0f}  {second:19,.0f}  {second / first:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
