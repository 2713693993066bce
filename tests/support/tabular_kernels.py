"""What the kernels of the context-free learners take, to call them one at a time, beside the data of naive twins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goalbound.baselines import Method, TabularLearner, TabularOptions, loop
from goalbound.baselines.planning import record
from goalbound.baselines.protocol import kernel_of, update_pair
from goalbound.baselines.state import Constants, EpisodeState, LearnerState
from goalbound.jit.compile import Kernel, Slot
from goalbound.models import Support
from tests.reference.tabular_sets import Data, Declared

SUPPORT = Support.full(3, 2)
"""N = 6 pairs, two of each state; 3 next states beside the goal (state 3)."""
PAIRS, GOAL, DELTA = 6, 3, 0.1


class Arguments(NamedTuple):
    """The arrays of a learner and of one episode, by the names that kernels have for them; and its method."""

    constants: Constants
    learner: LearnerState
    episode: EpisodeState
    method: Method

    def kernel(self, kernel: Kernel | Slot) -> Kernel:
        """A kernel of the loop as the method has it, or what the method fills a slot with."""
        filling = {**loop.DEFAULTS, **self.method.room.filling}
        return kernel_of(filling[kernel] if isinstance(kernel, Slot) else kernel, self.method.name)

    def update(self, pair: int) -> None:
        """The method looks at the data of a pair."""
        self.kernel(update_pair).python(self.constants, self.learner, pair)
        self.learner.visits_used[pair] = self.learner.counts.visits[pair]

    def record(self, pair: int, to: int, loss: float) -> None:
        """A step enters the counts; nobody has looked at it yet."""
        record.python(self.constants, self.learner.counts, pair, place(pair, to), loss)

    def row(self, pair: int = 0) -> dict[int, float]:
        """The row of a pair in the model that is planned in, as {next state: probability}."""
        sets = self.learner.main.sets
        places = range(sets.next_start[pair], sets.next_start[pair] + sets.used[pair])
        return {int(sets.state[k]): float(sets.centre[k]) for k in places}


def place(pair: int, to: int) -> int:
    """Where a next state of a pair stands among the triples of SUPPORT."""
    return (GOAL + 1) * pair + to


def arguments(method: Method, *, loss_floor: float = 0.1, **options: Any) -> Arguments:
    """Of a learner that has seen nothing, with an episode that has not begun."""
    learner = TabularLearner(
        SUPPORT, method, loss_floor=loss_floor, options=TabularOptions(delta=DELTA, **options),
        rng=np.random.default_rng(0),
    )  # fmt: skip
    return Arguments(learner._constants, learner._state, learner._new_episode_state(), method)


class Filled(NamedTuple):
    """A learner that has data of every pair and has looked at it, and what naive twins know of the same."""

    case: Arguments
    given: Declared
    data: Data


def filled(method: Method, seed: int, *, loss_floor: float = 0.1) -> Filled:
    """Every pair with 6 to 30 steps, the goal among them."""
    case, data = arguments(method, loss_floor=loss_floor), Data()
    rng = np.random.default_rng(seed)
    for pair in range(PAIRS):
        for to in (GOAL, *rng.integers(GOAL + 1, size=int(rng.integers(5, 30)))):
            loss = float(rng.random())
            case.record(pair, int(to), loss)
            data.record(pair, loss, int(to))
        case.update(pair)
    return Filled(case, Declared(SUPPORT, delta=DELTA, loss_floor=loss_floor, scale=method.scale), data)
