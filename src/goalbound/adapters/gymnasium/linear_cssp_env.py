"""A linear contextual problem as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ModelError
from goalbound.extras import install_command
from goalbound.models import GOAL, LinearCSSP
from goalbound.models.step import LossLaw
from goalbound.simulation.contexts import ContextSource, Dirichlet
from goalbound.simulation.environment import ModelEnvironment

try:
    import gymnasium
except ImportError as error:
    raise ImportError(f"Gymnasium is not installed; this part needs it: {install_command('gym')}") from error


class LinearCSSPEnv(gymnasium.Env[Any, Any]):
    """A linear contextual problem as a Gymnasium environment; each episode has its context.

    Observations are the states 0 to S - 1, and S for the goal, where the episode terminates. It never truncates itself:
    wrap it in ``gymnasium.wrappers.TimeLimit`` if a policy may be improper. The reward is minus the loss, in [-1, 0].
    Where states differ in their actions, ``info["action_mask"]`` (int8 [A], as ``action_space.sample(mask=...)`` takes
    it) tells which can be played; another one is an error that names those there are.

    ``info`` has ``context`` [d] and ``action_mask`` [A]; ``state_name`` if the states have names.

    Args:
        problem: the problem.
        contexts: the context source of :mod:`goalbound.simulation`; draws the context of an episode from the
            environment's own generator, by default uniformly from the simplex. ``reset(options={"context": [...]})``
            sets it for one episode.
        losses: the law of the losses, ``deterministic()`` if left out.

    >>> problem = LinearCSSP.dense([[[0.5]], [[0.1]]], [[[[0.0, 1.0]]], [[[0.5, 0.5]]]])
    >>> env = LinearCSSPEnv(problem)
    >>> env.reset(seed=1, options={"context": [1.0, 0.0]})
    (0, {'context': array([1., 0.]), 'action_mask': array([1], dtype=int8)})
    >>> env.step(0)[:4]
    (1, -0.5, True, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own name and type

    def __init__(
        self, problem: LinearCSSP, *, contexts: ContextSource | None = None, losses: LossLaw | None = None
    ) -> None:
        self.problem = problem
        self.observation_space = gymnasium.spaces.Discrete(problem.support.states + 1)
        self.action_space = gymnasium.spaces.Discrete(problem.support.actions)
        self._contexts = Dirichlet.symmetric(problem.context_size) if contexts is None else contexts
        self._environment = ModelEnvironment(problem, losses=losses, rng=self.np_random)
        self._context: NDArray[np.float64] = np.empty(0)
        self._episodes = 0
        self._state = problem.support.states

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """A new episode. The only option is ``context``: d numbers that are not negative and sum to 1."""
        super().reset(seed=seed)
        asked = options or {}
        unknown = [key for key in asked if key != "context"]
        if unknown:
            raise ModelError(f'reset knows no option "{unknown[0]}"; the only one is "context"')
        context = asked.get("context")
        if context is None:
            context = self._contexts.draw(self.np_random, self._episodes, 1)[0]
        self._environment.rng = self.np_random
        self._state = self._environment.begin(context)
        self._context = self.problem.check_context(context)
        self._episodes += 1
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """One step: observation, minus the loss, whether the goal is reached, False, info."""
        support = self.problem.support
        if self._state == support.states:
            raise gymnasium.error.ResetNeeded("no episode is open: call reset() first, and again after the goal")
        step = self._environment.step(int(action))
        self._state = step.next_state
        return self._state, 0.0 - step.loss, self._state == support.states, False, self._info()

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
