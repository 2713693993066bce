"""A real Gymnasium environment as the environment of a problem that was read from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goalbound.adapters.gymnasium.problem import GymProblem
from goalbound.adapters.gymnasium.rewards import Target, Transition
from goalbound.adapters.gymnasium.transition_table import environment_name, unwrap
from goalbound.errors import ModelError
from goalbound.models import Step


class GymEnvironment:
    """Plays a real environment in the states, actions and losses of its problem.

    The losses are those of the transitions that happen; the problem has their means. Which context the environment
    stands for is the caller's knowledge: Taxi with ``rainy_probability`` and FrozenLake with ``success_rate`` *are* the
    mixture for every context, with the parameter mixed alike.

    >>> import gymnasium
    >>> from goalbound.adapters.gymnasium import from_environments
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=-1)
    >>> environment = GymEnvironment(from_environments([lake]), lake)
    >>> state = environment.begin(seed=0)
    >>> environment.step(1)
    Step(state=0, action=1, loss=0.1, next_state=4)
    """

    def __init__(self, table: GymProblem, env: Any) -> None:
        unwrap(env)
        self._env = env
        self._tracker = StateTracker(table)

    def begin(self, *, seed: int | None = None) -> int:
        """A new episode; its first state."""
        return self._tracker.enter(self._env.reset(seed=seed)[0])

    def step(self, action: int) -> Step:
        """One step. A failure is treated as in the problem: a restart resets the environment, the episode continues."""
        return self._tracker.step(action, lambda _: self._env)


class StateTracker:
    """The current state of an episode, as a state of the problem and as an observation of its environments.

    This is how all classes around Gymnasium environments interpret a step; they differ in which environment they step.
    """

    def __init__(self, table: GymProblem) -> None:
        self._table = table
        self._observation: int | None = None
        self._state = table.problem.support.states

    def enter(self, observation: int) -> int:
        """Move to an observation; its state."""
        self._state = self._table.state(observation)
        self._observation = int(observation)
        return self._state

    def step(self, action: int, environment_at: Callable[[int], Any]) -> Step:
        """One step in the environment that ``environment_at(observation)`` gives, which is at that observation.

        It is not called to give up. After an error no episode is open.
        """
        support, state = self._table.problem.support, self._state
        if state == support.states:
            raise ModelError("no episode is open: begin() one")
        pair = support.pair(state, action)
        self._state = support.states  # so that an error below leaves no episode open
        failures = self._table.interpretation.failures
        if failures.give_up_loss is not None and action == self._table.give_up_action:
            return Step(state, action, failures.give_up_loss, support.states)
        before = self._observation
        assert before is not None  # enter() set it; the failure state has none, but there one can only give up
        env = environment_at(before)
        loss, following = self._advance(env, before, action)
        if following not in support.next_state[support.row(pair)]:
            raise ModelError(
                f"{environment_name(env)} led from {support.pair_name(pair)} to {support.state_name(following)}, where "
                "the problem says it cannot lead; give the environment that the problem was read from"
            )
        self._state = following
        return Step(state, action, loss, following)

    def _advance(self, env: Any, before: int, action: int) -> tuple[float, int]:
        """Steps the environment; the loss and the state that follows."""
        name = environment_name(env)
        observation, reward, terminated, truncated, _ = env.step(action)
        transition = Transition(before, action, int(observation), float(reward))
        loss, target = self._table.interpretation.outcome(transition, bool(terminated))
        if target is Target.REFUSED:
            raise ModelError(
                f"{name} ended in a failure at observation {observation}, but the problem was built with refuse()"
            )
        if truncated and not terminated:
            raise ModelError(
                f"{name} was truncated at observation {observation}; truncation is not the goal: "
                "make the environment with max_episode_steps=-1"
            )
        if target is Target.GOAL:
            return loss, self._table.problem.support.states
        if target is Target.FAILURE_STATE:
            if self._table.failure_state is None:
                raise ModelError(
                    f"{name} ended in a failure at observation {observation}; the problem was built without failures"
                )
            return loss, self._table.failure_state
        self._observation = int(env.reset()[0] if target is Target.START else observation)
        return loss, self._table.state(self._observation)
