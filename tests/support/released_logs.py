"""Logs with every kind of event, and those of released versions, which later ones are held against
(docs/how_to/operations.md, "Formats").

``python -m tests.support.released_logs NAME`` writes one, by the version that it is run with, to tests/fixtures/stores.
A log that is there is never written again: that it was written by an earlier version is what it is for.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from goalbound import LRCSSP, EpsilonGreedy, LossScale, Monitored, PosteriorSampling
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.serve.store import Store
from goalbound.serve.store.transfer import export_log
from tests.support.incidents_at_work import BEFORE, greedy
from tests.support.stores import SELDOM
from tests.support.units import in_units

STORES = Path(__file__).parents[1] / "fixtures" / "stores"
CALM, BUSY = [1.0, 0.0], [0.25, 0.75]


def handle(store: Store) -> None:
    """Something of every kind of event, with learners of several kinds."""
    support = BEFORE.support
    champion = store.create("champion", greedy())
    rival = EpsilonGreedy(support, 2, loss_floor=0.1, explore=0.5, fade=0.0, rng=np.random.default_rng(5))
    store.create("rival", rival, follows="champion")
    sampled = PosteriorSampling(support, 2, loss_floor=0.1, rng=np.random.default_rng(6))
    drawn = store.create("drawn", sampled)
    scale = LossScale("min", cap=60)
    wrapped = store.create(
        "wrapped", CovariateLearner(Hats([0, 100], clamp=True), in_units(Monitored(greedy()), scale))
    )
    proven = store.create("proven", LRCSSP(support, 2, loss_floor=0.1))

    champion.begin(CALM, "down", id="a", allowed=["restart", "page"])
    champion.begin(BUSY, "down", id="b")
    champion.observe("a", 0.1, _stays(champion, "a"), step=1)
    champion.override("b", "page", 0.4, "degraded", step=1)
    champion.act("a", allowed=["restart" if champion.act("a").name == "page" else "page"])
    champion.moved_to("a", "down", step=2)
    store.promote("rival")
    champion.observe("a", 0.125, _stays(champion, "a"), step=3, allowed=["restart", "page"])
    champion.abandon("b", "lost contact", step=2)
    for number in range(6):
        drawn.begin(CALM if number % 2 else BUSY, "down", id=f"d{number}")
        drawn.observe(f"d{number}", number / 8, _stays(drawn, f"d{number}"), step=1)
    wrapped.begin(40.0, "down", id="w")
    wrapped.observe("w", 12.5, _stays(wrapped, "w"), step=1)
    wrapped.acknowledge()
    proven.begin(BUSY, "down", id="p")
    proven.observe("p", 0.25, _stays(proven, "p"), step=1)
    proven.observe("p", 0.5, "goal", step=2)


def go_on(store: Store) -> list[Any]:
    """What is proposed in the open cases, and after one more step of each."""
    found: list[Any] = []
    for name in store.names:
        learner = store.learner(name)
        for case in learner.cases():
            after = learner.observe(case.case, 0.25, _stays(learner, case.case), step=case.step + 1)
            found.append([name, case.case, case.action, after.action])
    return found


def _stays(learner: Any, id: str) -> str:
    """Where the proposed action may lead, other than to the goal."""
    restarts = learner.act(id).name == "restart"
    return "down" if restarts and learner.case(id)["state"] in (0, "down") else "degraded"


def write(folder: Path) -> None:
    """The log as a file, a store that was compacted and gone on with, and what both do next."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "store"
        with Store.open(store, options=SELDOM) as opened:
            handle(opened)
            digest = opened.digest()
        export_log(store, Path(place) / "log.ndjson")
        (folder / "log.ndjson.gz").write_bytes(gzip.compress((Path(place) / "log.ndjson").read_bytes(), mtime=0))
        with Store.open(store, options=SELDOM) as opened:
            opened.compact()
            opened.learner("drawn").begin(CALM, "down", id="after")
        shutil.copytree(store, Path(place) / "compacted", ignore=shutil.ignore_patterns("lock"))
        shutil.make_archive(str(folder / "compacted"), "zip", Path(place) / "compacted")
        with Store.open(store, options=SELDOM) as opened:
            expected: dict[str, Any] = {"seq": digest["seq"], "chain": digest["chain"], "next": go_on(opened)}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def unpacked(folder: Path, target: Path) -> tuple[Path, Path]:
    """Of a log that was written to a folder the exported file, and the folder of the compacted store."""
    (target / "log.ndjson").write_bytes(gzip.decompress((folder / "log.ndjson.gz").read_bytes()))
    shutil.unpack_archive(folder / "compacted.zip", target / "compacted", "zip")
    return target / "log.ndjson", target / "compacted"


if __name__ == "__main__":
    write(STORES / sys.argv[1])
