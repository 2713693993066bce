"""A linear contextual problem as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.extras import install_command
from goalbound.models import GOAL, SSP, LinearCSSP, ModelError

try:
    import gymnasium
except ImportError as error:
    raise ImportError(f"Gymnasium is not installed; this part needs it: {install_command('gym')}") from error

ContextSource = Callable[[np.random.Generator], ArrayLike]
"""Draws the context of an episode."""
LossLaw = Callable[[float, np.random.Generator], float]
"""Draws the loss of a step, given its expected loss."""


def uniform_contexts(size: int) -> ContextSource:
    """Contexts drawn evenly from the simplex, Dirichlet(1, ..., 1)."""
    return lambda rng: rng.dirichlet(np.ones(size))


def expected_loss(loss: float, _: np.random.Generator) -> float:
    """Each step loses its expected loss."""
    return loss


def bernoulli_loss(loss: float, rng: np.random.Generator) -> float:
    """Each step loses 1 with probability ``loss``, else 0: the same mean with the most noise that [0, 1] allows."""
    return float(rng.random() < loss)


class LinearCSSPEnv(gymnasium.Env[Any, Any]):
    """A linear contextual problem as a Gymnasium environment; each episode has its context.

    Observations are the states 0 to S - 1, and S for the goal, where the episode terminates. It never truncates itself:
    wrap it in ``gymnasium.wrappers.TimeLimit`` if a policy may be improper. The reward is minus the loss, in [-1, 0].
    Where states differ in their actions, ``info["action_mask"]`` (int8 [A], as ``action_space.sample(mask=...)`` takes
    it) tells which can be played; another one is an error that names those there are.

    ``info`` has ``context`` [d] and ``action_mask`` [A]; ``state_name`` if the states have names.

    Args:
        problem: the problem.
        contexts: draws the context of an episode from the environment's own generator; by default evenly from the
            simplex. ``reset(options={"context": [...]})`` sets it for one episode.
        loss_law: :func:`expected_loss` or :func:`bernoulli_loss`, or any law on [0, 1] with the mean it is given.

    >>> problem = LinearCSSP.dense([[[0.5]], [[0.1]]], [[[[0.0, 1.0]]], [[[0.5, 0.5]]]])
    >>> env = LinearCSSPEnv(problem)
    >>> env.reset(seed=1, options={"context": [1.0, 0.0]})
    (0, {'context': array([1., 0.]), 'action_mask': array([1], dtype=int8)})
    >>> env.step(0)[:4]
    (1, -0.5, True, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own name and type

    def __init__(
        self, problem: LinearCSSP, *, contexts: ContextSource | None = None, loss_law: LossLaw = expected_loss
    ) -> None:
        self.problem = problem
        self.observation_space = gymnasium.spaces.Discrete(problem.support.states + 1)
        self.action_space = gymnasium.spaces.Discrete(problem.support.actions)
        self._contexts = uniform_contexts(problem.context_size) if contexts is None else contexts
        self._loss_law = loss_law
        self._context: NDArray[np.float64] = np.empty(0)
        self._ssp: SSP | None = None
        self._state = problem.support.states

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """A new episode. The only option is ``context``: d numbers that are not negative and sum to 1."""
        super().reset(seed=seed)
        asked = options or {}
        unknown = [key for key in asked if key != "context"]
        if unknown:
            raise ModelError(f'reset knows no option "{unknown[0]}"; the only one is "context"')
        context = asked["context"] if "context" in asked else self._contexts(self.np_random)
        self._context = self.problem.check_context(context)
        self._ssp = self.problem.at(self._context)
        start = self._ssp.start
        self._state = start if isinstance(start, int) else int(self.np_random.choice(len(start), p=start))
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """One step: observation, minus the loss, whether the goal is reached, False, info."""
        support = self.problem.support
        if self._ssp is None or self._state == support.states:
            raise gymnasium.error.ResetNeeded("no episode is open: call reset() first, and again after the goal")
        pair = support.pair(self._state, int(action))
        row = support.row(pair)
        loss = self._loss_law(float(self._ssp.losses[pair]), self.np_random)
        self._state = int(self.np_random.choice(support.next_state[row], p=self._ssp.probabilities[row]))
        return self._state, 0.0 - loss, self._state == support.states, False, self._info()

    def _info(self) -> dict[str, Any]:
        support = self.problem.support
        at_goal = self._state == support.states
        mask = np.zeros(support.actions, dtype=np.int8)
        if not at_goal:
            mask[support.pair_action[support.pair_start[self._state] : support.pair_start[self._state + 1]]] = 1
        info = {"context": self._context.copy(), "action_mask": mask}
        if support.state_names is not None:
            info["state_name"] = GOAL if at_goal else support.state_names[self._state]
        return info
