"""A learner that is not shown the context."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.kernels.world import Tally
from goalbound.learners.learner import Episode, SimulatedWorld
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import ModelError


class ContextBlind:
    """Plays contextual problems with a learner of one component, which meets every episode as the same problem.

    What it learns is the average over the contexts that came, and the policy that is best on average may do badly, or
    even never arrive, under each of them: this is the price of not looking.

    >>> from goalbound import LRCSSP, Support
    >>> blind = ContextBlind(LRCSSP(Support.full(2, 2), 1, loss_floor=0.1))
    >>> blind.begin([0.3, 0.7]).context
    array([1.])
    """

    def __init__(self, learner: LRCSSP) -> None:
        if learner.settings.context_size != 1:
            raise ModelError(
                f"the learner has {learner.settings.context_size} components; one that is blind to the context has 1"
            )
        self.learner = learner

    def begin(self, context: ArrayLike) -> Episode:
        """An episode; the context is not looked at."""
        return self.learner.begin([1.0])

    def play_episodes(
        self,
        world: SimulatedWorld,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        tally: Tally,
    ) -> None:
        """The compiled loop of the learner, in the world of the contexts."""
        shown = np.ones((len(contexts), 1))
        shown.flags.writeable = False
        self.learner.play_episodes(world, contexts, values, step_limit=step_limit, tally=tally, shown=shown)
