"""Stores in PostgreSQL: two leaders, a leader that is killed, and a server that stops at once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from faults.postgres import Cluster, missing
from faults.result import Result
from faults.world import CONTEXT, NAME, OPTIONS, Acknowledged, check_against_log, environment, new_store, outcome
from goalbound.errors import StoreError
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.log import open_log
from goalbound.serve.store.replay import verify


def leaders(folder: Path, *, cycles: int, kills: int = 0, takeovers: int = 0, programs: int = 8) -> Result:
    """The server stops at once under load, leaders are killed, and others take over from leaders that still write."""
    result = Result("leaders")
    reason = missing()
    if reason is not None:
        result.skipped = reason
        return result
    with Cluster() as cluster:
        _control(result, cluster, programs)
        _take_over(result, cluster, takeovers, programs)
        _kill(result, cluster, kills)
        _stop_the_server(result, cluster, cycles, programs)
    return result


class Programs:
    """Threads that handle cases through a store, and go on with the next one: a request without answer is repeated."""

    def __init__(self, told: Acknowledged, count: int) -> None:
        self.told = told
        self._lock = threading.Lock()
        self._open: list[dict[str, Any] | None] = [None] * count
        self._begun = 0
        self._threads: list[threading.Thread] = []
        self.stopping = False

    def start(self, store: Store) -> None:
        """Until the store fails, or :meth:`join`."""
        self.stopping = False
        self._threads = [threading.Thread(target=self._work, args=(store, number)) for number in range(len(self._open))]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Let every program have its last answer."""
        self.stopping = True
        for thread in self._threads:
            thread.join()

    def _work(self, store: Store, number: int) -> None:
        try:
            learner = store.learner(NAME)
            while not self.stopping:
                self._open[number] = one = self._open[number] or self._new()
                if one["step"] < 0:
                    answer = learner.begin(CONTEXT, 0, id=one["case"])
                else:
                    loss, state = outcome(one["case"], one["step"] + 1)
                    answer = learner.observe(one["case"], loss, state, step=one["step"] + 1)
                with self._lock:
                    self.told.note(answer._asdict() | {"repeated": False})
                self._open[number] = None if answer.done else {"case": one["case"], "step": answer.step}
        except StoreError:
            return  # the same request is sent to the next leader

    def _new(self) -> dict[str, Any]:
        with self._lock:
            self._begun += 1
            return {"case": f"p-{self._begun}", "step": -1}


def _stop_the_server(result: Result, cluster: Cluster, cycles: int, programs: int) -> None:
    """Immediate stops under load, as if the power went at the server."""
    told, rng, url = Acknowledged(), random.Random(0), cluster.url("stopped")
    handled = Programs(told, programs)
    for _ in range(cycles):
        store = new_store(url)
        handled.start(store)
        time.sleep(rng.uniform(0.02, 0.25))
        cluster.stop("immediate")
        handled.join()
        store.close()
        cluster.start()
        result.add("immediate stops")
    with new_store(url) as store:  # every request that had no answer is sent once more
        handled.start(store)
        time.sleep(0.1)
        handled.join()
    if cycles:
        check_against_log(result, url, told)
        _check_snapshots(result, url)


def _control(result: Result, cluster: Cluster, programs: int) -> None:
    """With commits that are not waited for, acknowledged steps must be lost, or the test finds nothing."""
    lost = 0
    for number in range(10):
        url, told = cluster.url(f"control{number}"), Acknowledged()
        store = new_store(url, replace(OPTIONS, synchronous="OFF"))
        handled = Programs(told, programs)
        handled.start(store)
        time.sleep(0.3)
        cluster.stop("immediate")
        handled.join()
        store.close()
        cluster.start()
        log = open_log(place_of(url), readonly=True)
        lost = max([0, *(answer[1] for answer in told.answers.values())]) - log.last()[0]
        log.close()
        if lost > 0:
            break
    result.add("lost by the control", lost)
    result.check(lost > 0, "without waiting for commits nothing was lost: the test finds nothing")


def _kill(result: Result, cluster: Cluster, kills: int) -> None:
    """kill -9 of the leader's process; the next one starts at once, and has all that was told."""
    rng, url, told = random.Random(1), cluster.url("killed"), 0
    for _ in range(kills):
        words = [sys.executable, "-m", "faults.workload", url, "1000000"]
        process = subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        first = process.stdout.readline()
        result.check(first == b"open\n", f"a leader did not start: {first!r}")
        time.sleep(rng.uniform(0.05, 0.5))
        process.kill()
        seen = [int(line) for line in process.communicate()[0].split(b"\n")[:-1] if line.isdigit()]
        told = max([told, *seen])
        log = open_log(place_of(url), readonly=True)
        last = log.last()[0]
        log.close()
        result.add("leaders killed")
        result.add("told before", len(seen))
        result.check(last >= told, f"event {told} was told, and the log ends at {last}")
    if kills:
        with new_store(url) as store:
            result.check(store.digest()["seq"] >= told, "the next leader has less than was told")
        _check_snapshots(result, url)


def _take_over(result: Result, cluster: Cluster, takeovers: int, programs: int) -> None:
    """A leader loses its lock without noticing, and writes on while another one takes over: it writes no row."""
    for number in range(takeovers):
        url, told = cluster.url(f"taken{number}"), Acknowledged()
        old = new_store(url)
        handled = Programs(told, programs)
        handled.start(old)
        time.sleep(0.05)
        old._log._connection.execute("SELECT pg_advisory_unlock_all()")  # type: ignore[attr-defined]  # as a pooler does
        new = new_store(url)
        seq = new.digest()["seq"]
        handled.join()
        result.add("takeovers")
        result.check(old.writer.failure is not None or _refused(old), "the old leader wrote after the takeover")
        late = [answer for answer in told.answers.values() if answer[1] > seq]
        result.check(not late, f"the old leader acknowledged events after event {seq}: {late[:2]}")
        result.add("rows of a fenced leader", new.digest()["seq"] - seq)
        result.check(new.digest()["seq"] == seq, "rows came that the new leader did not write")
        with_new = Programs(told, 2)
        with_new._begun = 10**6
        with_new.start(new)
        time.sleep(0.05)
        with_new.join()
        old.close()
        new.close()
        check_against_log(result, url, told)
        _check_snapshots(result, url)


def _check_snapshots(result: Result, url: str) -> None:
    """Every snapshot that is listed is whole, and holds the state that a replay gives."""
    found = verify(url)
    result.add("snapshots compared", found.snapshots)
    result.check(not found.notes, f"a snapshot is listed that is not whole: {found.notes[:1]}")


def _refused(store: Store) -> bool:
    """Whether one more step is refused."""
    try:
        store.learner(NAME).begin(CONTEXT, 0)
    except StoreError:
        return True
    return False
