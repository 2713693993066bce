"""Policies to measure learners against. They do not learn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import LinearCSSP, ModelError, Step
from goalbound.planning import solve
from goalbound.planning.door import require_contextual

REMEMBERED = 64
"""So many contexts keep their policy, so that contexts that come back are planned for once."""


class Clairvoyant:
    """Knows the problem: plays the optimal policy of each context. Its expected regret is zero.

    >>> problem = LinearCSSP.dense([[[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])
    >>> episode = Clairvoyant(problem).begin([1.0])
    >>> episode.act(0)  # 0.5 once, against 0.2 ten times
    0
    """

    def __init__(self, problem: LinearCSSP) -> None:
        self._problem = require_contextual(problem)
        self._policy = lru_cache(maxsize=REMEMBERED)(self._solve)

    def begin(self, context: ArrayLike) -> FixedPolicy:
        """An episode that plays the optimal policy of the context, by :func:`goalbound.planning.solve`."""
        return FixedPolicy(self._problem, self._policy(self._problem.check_context(context).tobytes()))

    def _solve(self, context: bytes) -> NDArray[np.int64]:
        return solve(self._problem.at(np.frombuffer(context))).policy

    def __repr__(self) -> str:
        return f"Clairvoyant({self._problem})"


class FixedPolicy:
    """An episode that plays one policy [S] (the action of each state) to the end."""

    def __init__(self, problem: LinearCSSP, policy: NDArray[np.int64]) -> None:
        self._problem = problem
        self._policy = policy

    def act(self, state: int) -> int:
        """The action of the policy."""
        if not 0 <= state < len(self._policy):
            raise ModelError(f"nothing can be done in {state}; states are 0 to {len(self._policy) - 1}, then the goal")
        return int(self._policy[state])

    def observe(self, step: Step) -> None:
        """Nothing: the policy is fixed."""
