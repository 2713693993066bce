"""What a learner is: a thing that begins episodes, which act and observe."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import LinearCSSP, Step
from goalbound.models.simulated import Components
from goalbound.models.step import LossLaw


class Episode(Protocol):
    """One way to the goal under one context.

    An episode may also have the whole numbers ``intervals`` and ``unknown_steps``; the history of a run keeps them.
    """

    def act(self, state: int) -> int:
        """The action (its number) to play in a state."""
        ...

    def observe(self, step: Step) -> None:
        """What came of it: to be called once after each act, in the order of the steps."""
        ...


class Learner(Protocol):
    """Begins episodes. Many may be open at once; what one observes, the others know.

    A learner may also have a ``card``, a :class:`goalbound.learners.card.LearnerCard`: what it sees, whether it has a
    known test, which guarantee it has. Of a learner without one nothing is known.
    """

    def begin(self, context: ArrayLike) -> Episode:
        """An episode under a context, a point of the simplex [d]."""
        ...


class SimulatedEnvironment(Protocol):
    """An environment that a compiled loop can play in: a problem as arrays, a law of losses, a stream of numbers."""

    problem: LinearCSSP
    components: Components
    start_law: NDArray[np.float64]
    rng: np.random.Generator

    @property
    def losses(self) -> LossLaw:
        """The law of the losses."""
        ...
