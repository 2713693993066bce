"""What the kernels of a learner by ridge regression take, to call them one at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.kernels.active_set import ProjectionWorkspace
from goalbound.kernels.algorithm import begin
from goalbound.kernels.elimination import EvaluationWorkspace
from goalbound.kernels.state import Constants, EpisodeState, LearnerState
from goalbound.learners.core import RidgeLearner


class Arguments(NamedTuple):
    """The arrays of a learner and of one episode, by the names that kernels have for them."""

    constants: Constants
    learner: LearnerState
    episode: EpisodeState
    scratch: ProjectionWorkspace
    workspace: EvaluationWorkspace

    def begin(self, context: ArrayLike) -> Arguments:
        """The same arrays, the episode begun anew under a context."""
        begin.python(self.constants, self.learner, self.episode, np.array(context, dtype=np.float64))
        return self

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
            self.learner.rows[first + index] = coefficients
        regression.seen[pair] = len(rows)
        self.learner.losses[pair] = losses


def arguments_of(learner: RidgeLearner, context: ArrayLike) -> Arguments:
    """What kernels take of a learner, with an episode that has just begun."""
    arrays = Arguments(
        learner._constants, learner._state, learner._new_episode_state(), learner._scratch, learner._workspace
    )
    return arrays.begin(context)
