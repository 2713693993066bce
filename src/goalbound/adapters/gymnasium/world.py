"""A real environment as the world of a problem that was read from it."""

from __future__ import annotations

from typing import Any

from goalbound.adapters.gymnasium.raw import bare, environment_name
from goalbound.adapters.gymnasium.readings import Place, Transition
from goalbound.adapters.gymnasium.tables import GymProblem
from goalbound.models import ModelError, Step


class EnvironmentWorld:
    """Plays a real environment in the states, actions and losses of its problem.

    The losses are those of the transitions that happen; the problem has their means. Which context the environment
    stands for is the caller's knowledge: Taxi with ``rainy_probability`` and FrozenLake with ``success_rate`` *are* the
    mixture for every context, with the parameter mixed alike.

    >>> import gymnasium
    >>> from goalbound.adapters.gymnasium import from_environments
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=-1)
    >>> world = EnvironmentWorld(from_environments([lake]), lake)
    >>> state = world.begin(seed=0)
    >>> world.step(1)
    Step(state=0, action=1, loss=0.1, next_state=4)
    """

    def __init__(self, table: GymProblem, env: Any) -> None:
        bare(env)
        self._table = table
        self._env = env
        self._observation: int | None = None
        self._state = table.problem.support.states

    def begin(self, *, seed: int | None = None) -> int:
        """A new episode; its first state."""
        self._enter(self._env.reset(seed=seed)[0])
        return self._state

    def step(self, action: int) -> Step:
        """One step. A hole is treated as in the problem: a restart resets the environment and the episode goes on."""
        state, goal = self._state, self._table.problem.support.states
        if state == goal:
            raise ModelError("no episode is open: begin() one")
        self._table.problem.support.pair(state, action)
        self._state = goal  # so that an error below leaves no episode open
        holes = self._table.reading.holes
        if holes.give_up_loss is not None and action == self._table.give_up_action:
            return Step(state, action, holes.give_up_loss, goal)
        loss = self._advance(action)
        return Step(state, action, loss, self._state)

    def _advance(self, action: int) -> float:
        """Steps the environment, moves to the state that follows and gives the loss."""
        before, name = self._observation, environment_name(self._env)
        assert before is not None  # begin() saw one; a hole has none, but there one can only give up
        observation, reward, terminated, truncated, _ = self._env.step(action)
        transition = Transition(before, action, int(observation), float(reward))
        loss, place = self._table.reading.outcome(transition, bool(terminated))
        if place is Place.REFUSED:
            raise ModelError(
                f"{name} ended in a hole at observation {observation}, but the problem was read with refuse()"
            )
        if truncated and not terminated:
            raise ModelError(
                f"{name} was truncated at observation {observation}; truncation is not the goal: "
                "make the environment with max_episode_steps=-1"
            )
        if place is Place.NEXT:
            self._enter(observation)
        elif place is Place.START:
            self._enter(self._env.reset()[0])
        elif place is Place.HOLE:
            if self._table.hole is None:
                raise ModelError(
                    f"{name} ended in a hole at observation {observation}; the problem was read without one"
                )
            self._state = self._table.hole
        return loss

    def _enter(self, observation: int) -> None:
        self._state = self._table.state(observation)
        self._observation = int(observation)
