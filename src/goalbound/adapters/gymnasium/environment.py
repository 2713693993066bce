"""Real Gymnasium environments as the environment of a problem that was read from them, with contexts or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.gymnasium.problem import GymProblem, from_environments
from goalbound.adapters.gymnasium.rewards import Target, Transition
from goalbound.adapters.gymnasium.transition_table import environment_name, unwrap
from goalbound.errors import ModelError
from goalbound.models import Step
from goalbound.models.validation import check_generator

MakeEnvironment = Callable[[NDArray[np.float64]], Any]
"""Gives the environment of a context [d]."""

_SEEDS = 2**63


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


class ContextualGymEnvironment:
    """Mixes real environments by the context, exactly as the problem does.

    At each step a component is drawn with the weights of the context, its environment is put into the current state
    and makes the step; so is the first state drawn, and a restart is that of the environment that failed.
    The environments must keep their whole state as ``env.unwrapped.s``, as Taxi, CliffWalking and FrozenLake do.

    No environment plays a whole episode, so they are used without their wrappers: a time limit has no effect
    here. This object owns them from now on; two must not share one.

    Args:
        table: the problem.
        environments: the ones that the problem was read from, in the same order (checked).
        rng: draws the seeds of the environments now, and then one number per step. What happens depends on its state,
            the contexts and the actions, and on nothing else.

    >>> import gymnasium
    >>> lakes = [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in (1.0, 0.5)]
    >>> environment = ContextualGymEnvironment(from_environments(lakes), lakes, rng=np.random.default_rng(0))
    >>> environment.begin([1.0, 0.0])
    0
    >>> environment.step(1)
    Step(state=0, action=1, loss=0.1, next_state=4)
    """

    def __init__(self, table: GymProblem, environments: Sequence[Any], *, rng: np.random.Generator) -> None:
        check_generator(rng)
        _check_read_from(table, environments)
        self._table = table
        self._rng = rng
        self._environments = [_settable(env, place, rng) for place, env in enumerate(environments)]
        self._tracker = StateTracker(table)
        self._cumulative: NDArray[np.float64] = np.empty(0)

    def begin(self, context: ArrayLike | str) -> int:
        """A new episode under a context: d weights, or the name of a component; its first state."""
        cumulative = np.cumsum(self._table.problem.check_context(context))
        self._cumulative = cumulative / cumulative[-1]  # the last is 1, above all that random() draws
        return self._tracker.enter(self._drawn().reset()[0])

    def step(self, action: int) -> Step:
        """One step. A failure is treated as in the problem."""
        return self._tracker.step(action, self._drawn_at)

    def _drawn(self) -> Any:
        """The environment of a component, drawn by the context."""
        return self._environments[int(np.searchsorted(self._cumulative, self._rng.random(), side="right"))]

    def _drawn_at(self, observation: int) -> Any:
        env = self._drawn()
        env.s = observation
        return env


class ParametricGymEnvironment:
    """Plays the real environment of each context, for parameters that mix as the context does.

    FrozenLake's ``success_rate`` and Taxi's ``rainy_probability`` enter the probabilities linearly. Where a parameter
    takes the values p_1, ..., p_d in the components of the problem, its value under the context c is
    ``c @ [p_1, ..., p_d]``. That this is so for the environments made is the caller's knowledge.

    Args:
        table: the problem.
        make_environment: gives the environment of a context [d]; it is asked once per episode, and may give one
            environment many times. Make it with ``max_episode_steps=-1``: truncation is not the goal but an error.
        rng: draws the seed of each episode. What happens depends on its state, the contexts and the actions only.

    >>> import gymnasium
    >>> rates = np.array([1.0, 0.5])
    >>> def lake(context):
    ...     return gymnasium.make("FrozenLake-v1", success_rate=float(context @ rates), max_episode_steps=-1)
    >>> table = from_environments([lake(corner) for corner in np.eye(2)])
    >>> environment = ParametricGymEnvironment(table, lake, rng=np.random.default_rng(0))
    >>> environment.begin([1.0, 0.0])
    0
    >>> environment.step(1)
    Step(state=0, action=1, loss=0.1, next_state=4)
    """

    def __init__(self, table: GymProblem, make_environment: MakeEnvironment, *, rng: np.random.Generator) -> None:
        check_generator(rng)
        self._table = table
        self._make_environment = make_environment
        self._rng = rng
        self._episode: GymEnvironment | None = None

    def begin(self, context: ArrayLike | str) -> int:
        """A new episode under a context: d weights, or the name of a component; its first state."""
        weights = self._table.problem.check_context(context)
        self._episode = None  # so that an error below leaves no episode open
        environment = GymEnvironment(self._table, self._make_environment(weights))
        state = environment.begin(seed=int(self._rng.integers(_SEEDS)))
        self._episode = environment
        return state

    def step(self, action: int) -> Step:
        """One step. A failure is treated as in the problem: a restart resets the environment, the episode continues."""
        if self._episode is None:
            raise ModelError("no episode is open: begin() one")
        return self._episode.step(action)


def _check_read_from(table: GymProblem, environments: Sequence[Any]) -> None:
    """The environments give the problem when they are read again, as it was read."""
    problem, interpretation = table.problem, table.interpretation
    if len(environments) != problem.context_size:
        raise ModelError(
            f"{len(environments)} environments for {problem.context_size} components; "
            "give those that the problem was read from, in the same order"
        )
    again = from_environments(
        environments, losses=interpretation.losses, goals=interpretation.goals, failures=interpretation.failures,
        component_names=problem.component_names,
    ).problem  # fmt: skip
    if again == problem:
        return
    other = [place for place in range(problem.context_size) if again.component(place) != problem.component(place)]
    raise ModelError(
        f"environment {other[0]} ({environment_name(environments[other[0]])}) is not what component {other[0]} of the "
        "problem was read from; give those that it was read from, in the same order"
    )


def _settable(env: Any, place: int, rng: np.random.Generator) -> Any:
    """The environment without its wrappers, seeded; an error if its state cannot be set."""
    unwrapped = unwrap(env)
    observation = int(unwrapped.reset(seed=int(rng.integers(_SEEDS)))[0])
    try:
        kept = int(unwrapped.s)
        unwrapped.s = observation
    except (AttributeError, TypeError, ValueError):
        kept = None
    if kept != observation:
        raise ModelError(
            f"environment {place} ({environment_name(env)}) cannot be put into a state: it does not keep its "
            "observation as env.unwrapped.s; give that attribute to it, or use ParametricGymEnvironment"
        )
    return unwrapped
