"""A real environment as the world of a problem that was read from it."""

from __future__ import annotations

from collections.abc import Callable
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
        self._env = env
        self._position = Position(table)

    def begin(self, *, seed: int | None = None) -> int:
        """A new episode; its first state."""
        return self._position.enter(self._env.reset(seed=seed)[0])

    def step(self, action: int) -> Step:
        """One step. A hole is treated as in the problem: a restart resets the environment and the episode goes on."""
        return self._position.step(action, lambda _: self._env)


class Position:
    """Where an episode stands, as a state of the problem and as an observation of its environments.

    This is how all worlds of real environments read what an environment answers; they differ in which one they ask.
    """

    def __init__(self, table: GymProblem) -> None:
        self._table = table
        self._observation: int | None = None
        self._state = table.problem.support.states

    def enter(self, observation: int) -> int:
        """Move to what an environment showed; its state."""
        self._state = self._table.state(observation)
        self._observation = int(observation)
        return self._state

    def step(self, action: int, environment_at: Callable[[int], Any]) -> Step:
        """One step in the environment that ``environment_at(observation)`` gives, which stands at that observation.

        It is not asked for one to give up. After an error no episode is open.
        """
        support, state = self._table.problem.support, self._state
        if state == support.states:
            raise ModelError("no episode is open: begin() one")
        pair = support.pair(state, action)
        self._state = support.states  # so that an error below leaves no episode open
        holes = self._table.reading.holes
        if holes.give_up_loss is not None and action == self._table.give_up_action:
            return Step(state, action, holes.give_up_loss, support.states)
        before = self._observation
        assert before is not None  # enter() saw one; a hole has none, but there one can only give up
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
        if place is Place.GOAL:
            return loss, self._table.problem.support.states
        if place is Place.HOLE:
            if self._table.hole is None:
                raise ModelError(
                    f"{name} ended in a hole at observation {observation}; the problem was read without one"
                )
            return loss, self._table.hole
        self._observation = int(env.reset()[0] if place is Place.START else observation)
        return loss, self._table.state(self._observation)
