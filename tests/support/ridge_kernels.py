"""What the kernels of a learner by ridge regression take, to call them one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.projection import ProjectionWorkspace
from goalbound.confidence.protocol import is_known
from goalbound.jit.compile import Kernel, Slot
from goalbound.jit.records import named_arrays
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.loop import begin, look_at, observe, plan
from goalbound.learners.program import Program
from goalbound.learners.state import Constants, EpisodeState, LearnerState
from goalbound.planning.kernels.elimination import EvaluationWorkspace


class Arguments(NamedTuple):
    """The arrays of a learner and of one episode, by the names that kernels have for them."""

    constants: Constants
    learner: LearnerState
    episode: EpisodeState
    scratch: ProjectionWorkspace
    workspace: EvaluationWorkspace
    program: Program

    def python(self, kernel: Kernel | Slot) -> Callable[..., Any]:
        """A kernel of the loop, or what fills a slot of it, as Python, with the slots of the learner filled."""
        return self.program[kernel].python

    def begin(self, context: ArrayLike) -> Arguments:
        """The same arrays, the episode begun anew under a context."""
        self.python(begin)(self.constants, self.learner, self.episode, np.array(context, dtype=np.float64))
        return self

    def look_at(self, *pairs: int) -> None:
        """Compute the sets of some pairs."""
        for pair in pairs:
            self.python(look_at)(self.constants, self.learner, self.episode, pair)

    def plan(self, sweeps: int = 10**6) -> bool:
        """Make a plan, and say whether value iteration came to its end."""
        return bool(self.python(plan)(self.constants, self.learner, self.episode, self.workspace, sweeps))

    def observe(self, pair: int, to: int, loss: float = 0.5) -> bool:
        """A step of a pair to the next state in this place of its row; whether it ended its interval."""
        place = int(self.constants.next_start[pair]) + to
        return bool(self.python(observe)(self.constants, self.learner, self.episode, self.scratch, pair, place, loss))

    def is_known(self, pair: int) -> bool:
        """The known test of a pair."""
        return bool(self.python(is_known)(self.constants, self.learner, self.episode, pair))

    def make_known(self) -> None:
        """Under the context of the episode nothing is uncertain."""
        self.episode.known_width[:] = 0.0
        self.episode.norm[:] = 0.0

    def all_arrays(self, *, without: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
        """Copies of all arrays of the learner, but for some, by their paths."""
        named = named_arrays("learner", self.learner)
        return {name: array.copy() for name, array in named if not name.endswith(without)}

    def row(self, pair: int) -> dict[int, float]:
        """The centre of the set of a pair as {next state: probability}."""
        sets = self.episode.sets
        places = range(sets.next_start[pair], sets.next_start[pair] + sets.used[pair])
        return {int(sets.state[k]): float(sets.centre[k]) for k in places}

    def estimate(self, pair: int, rows: dict[int, list[float]], losses: list[float]) -> None:
        """Make this the estimate of a pair: the coefficients [d] of each next state and of the loss."""
        regression, first = self.learner.regression, self.constants.next_start[pair]
        following: NDArray[np.int32] = self.constants.next_state[first : self.constants.next_start[pair + 1]]
        for index, (state, coefficients) in enumerate(rows.items()):
            regression.seen_index[first + int(np.flatnonzero(following == state)[0])] = index
            regression.seen_state[first + index] = state
            self.learner.sets.rows[first + index] = coefficients
        regression.seen[pair] = len(rows)
        self.learner.sets.losses[pair] = losses


def arguments_of(learner: RidgeLearner, context: ArrayLike) -> Arguments:
    """What kernels take of a learner, with an episode that has just begun."""
    arrays = Arguments(
        learner._constants,
        learner._state,
        learner._new_episode_state(),
        learner._scratch,
        learner._workspace,
        learner._program,
    )
    return arrays.begin(context)
