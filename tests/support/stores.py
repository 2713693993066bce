"""Stores for tests: a small world, cases that are handled through a store, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goalbound import LRCSSP, EpsilonGreedy, GreedyRidge, ModelEnvironment
from goalbound.serve.store import Answer, Store, StoredLearner, StoreOptions
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.events import FIRST_CHAIN, Event, Kind, chained
from goalbound.serve.store.log import SqliteLog
from tests.support.incidents_at_work import BEFORE, contexts, greedy

WORLD = BEFORE
SELDOM = StoreOptions(snapshot_events=10**9, snapshot_seconds=1e9, reserve_bytes=0)
"""No snapshots but at the end."""


def drawing() -> EpsilonGreedy:
    """A learner with a random stream of its own."""
    return EpsilonGreedy(WORLD.support, 2, loss_floor=0.1, explore=0.5, fade=0.0, rng=np.random.default_rng(5))


def learners() -> dict[str, Any]:
    return {
        "greedy": greedy(),
        "drawing": drawing(),
        "optimistic": LRCSSP(WORLD.support, 2, loss_floor=0.1),
    }


def new_engine(folder: Path, learner: GreedyRidge | None = None, **options: Any) -> Engine:
    """An engine without a thread, with one learner, "incidents"."""
    engine = Engine(SqliteLog(folder, create=True), most_cases=options.pop("most_cases", 1000))
    if not engine.machine.has("incidents"):
        engine.create("incidents", learner or greedy(), **options)
        engine.commit()
    return engine


class Handled:
    """Cases in a simulated world, some of them open at once, each step by a call; the world has its own stream."""

    def __init__(self, *, seed: int = 0, at_once: int = 3) -> None:
        self.world = ModelEnvironment(WORLD, rng=np.random.default_rng(seed))
        self.rng = np.random.default_rng(seed + 1)
        self.contexts = iter(contexts(100_000, seed))
        self.at_once = at_once
        self.open: dict[str, tuple[Any, int, int]] = {}
        self.begun = 0
        self.answers: list[Answer] = []

    def go_on(self, learner: StoredLearner, steps: int) -> list[Answer]:
        """So many calls; all answers so far."""
        for _ in range(steps):
            if len(self.open) < self.at_once:
                self.begun += 1
                context, id = next(self.contexts), f"case-{self.begun}"
                answer = learner.begin(context, "down", id=id)
                self.open[id] = (context, 0, 1)
            else:
                id = sorted(self.open)[int(self.rng.integers(len(self.open)))]
                answer = self._step(learner, id)
            self.answers.append(answer)
        return self.answers

    def _step(self, learner: StoredLearner, id: str) -> Answer:
        context, state, number = self.open[id]
        proposed = learner.act(id).action
        assert proposed is not None
        self.world.begin(context)
        action = int(self.rng.integers(2)) if self.rng.random() < 0.2 else proposed
        step = play_from(self.world, state, action)
        if action == proposed:
            answer = learner.observe(id, step.loss, step.next_state, step=number)
        else:
            answer = learner.override(id, action, step.loss, step.next_state, step=number)
        if answer.done:
            del self.open[id]
        else:
            self.open[id] = (context, step.next_state, number + 1)
        return answer


def play_from(world: ModelEnvironment, state: int, action: int) -> Any:
    """A step of the world from a state."""
    world._state = state  # the world is asked about many cases in turn
    return world.step(action)


def without_time(answers: Sequence[Answer]) -> list[tuple[Any, ...]]:
    return [tuple(answer[:7]) for answer in answers]


def open_store(place: Path | str, options: StoreOptions = SELDOM) -> Store:
    return Store.open(place, options=options)


def some_events(count: int, *, after: int = 0, chain: bytes = FIRST_CHAIN) -> list[Event]:
    """A chain of events, each the only step of a case of its own."""
    found = []
    for seq in range(after + 1, after + count + 1):
        event = Event(seq, Kind.OBSERVE, 1, seq, 1, None, 0.1 * seq, 2, None, 1, 1.0, None, 5, b"")
        chain = chained(chain, event)
        found.append(event._replace(chain=chain))
    return found


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.01)
