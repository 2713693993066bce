"""How the rewards and terminations of an environment are interpreted: losses, goals, failures.

A *failure* is a termination that is not the goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite
from typing import NamedTuple

from goalbound.errors import ModelError
from goalbound.models.ssp import check_scale
from goalbound.models.validation import check_float


class Transition(NamedTuple):
    """One transition, as the environment gives it."""

    observation: int
    action: int
    next_observation: int
    reward: float


GoalRule = Callable[[Transition], bool]
"""Whether a transition that terminates reaches the goal. It is asked about terminating transitions only."""


def every_termination(_: Transition) -> bool:
    """Every termination is the goal (Taxi, CliffWalking)."""
    return True


def positive_reward(transition: Transition) -> bool:
    """A termination is the goal if it pays a positive reward (FrozenLake)."""
    return transition.reward > 0.0


def _check_loss(loss: float, of: str) -> float:
    loss = check_float(loss, f"the loss of {of}", "in [0, 1]")
    if not 0.0 <= loss <= 1.0:
        raise ModelError(f"the loss of {of}, {loss}, is not in [0, 1]; divide all losses by one scale")
    return loss


@dataclass(frozen=True)
class Losses:
    """How rewards are read as losses.

    Attributes:
        of: the loss, in [0, 1], of a transition with this reward; the second argument says if it reaches the goal.
        scale: what a loss of 1 is in the environment's unit; it becomes the ``loss_scale`` of the problem.

    >>> Losses(lambda reward, goal: 0.0 if goal else 0.5).of(-3.0, False)
    0.5
    """

    of: Callable[[float, bool], float]
    scale: float = 1.0


def negated_rewards(*, scale: float, goal_reward: float | None = None) -> Losses:
    """Loss = -reward / scale. With ``goal_reward``, a transition to the goal counts as if it had paid that.

    >>> negated_rewards(scale=10, goal_reward=-1).of(20.0, True)
    0.1
    """
    scale = check_float(scale, "scale", "the reward, without its sign, that becomes a loss of 1")
    if goal_reward is not None:
        goal_reward = check_float(goal_reward, "goal_reward", "the reward that reaching the goal counts as")
        if not isfinite(goal_reward):
            raise ModelError(f"goal_reward is {goal_reward}; it is a finite number")
    if not 0.0 < scale < inf:
        raise ModelError(f"scale {scale} is not positive; it is the reward, without its sign, that becomes a loss of 1")

    def loss(reward: float, goal: bool) -> float:
        return (0.0 - (goal_reward if goal and goal_reward is not None else reward)) / scale

    return Losses(loss, scale)


def per_step(loss: float, *, scale: float = 1.0) -> Losses:
    """The same loss for every step, whatever its reward."""
    loss = _check_loss(loss, "a step")
    return Losses(lambda reward, goal: loss, check_scale(scale, "scale"))


TAXI_LOSSES = negated_rewards(scale=10.0, goal_reward=-1.0)
"""The final +20 counts as one more step, so that every loss is positive: return = 21 - 10 x loss."""
CLIFF_WALKING_LOSSES = negated_rewards(scale=100.0)
FROZEN_LAKE_LOSSES = per_step(0.1)


class Target(Enum):
    """Where a transition leads."""

    NEXT = "the next observation"
    GOAL = "the goal"
    START = "the start law"
    FAILURE_STATE = "the failure state, where one can only give up"
    REFUSED = "nowhere: the environment is refused"


@dataclass(frozen=True)
class FailurePolicy:
    """What becomes of terminations that are not goals. Made by :func:`restart` and the functions below.

    Attributes:
        to: where a failing transition leads.
        loss: what that transition loses; None: what its reward is read as.
        give_up_loss: the loss of the extra action that leads to the goal; None: there is none.
    """

    to: Target
    loss: float | None = None
    give_up_loss: float | None = None


def restart(*, loss: float = 1.0) -> FailurePolicy:
    """A failure leads back to the start law of its environment, with this loss in place of the step's own."""
    return FailurePolicy(Target.START, _check_loss(loss, "a restart"))


def penalty_exit(*, loss: float = 1.0) -> FailurePolicy:
    """A failure leads to the goal, with this loss in place of the step's own.

    Beware: failing is then a way to finish, and often the cheapest.
    """
    return FailurePolicy(Target.GOAL, _check_loss(loss, "a failure"))


def give_up(*, loss: float) -> FailurePolicy:
    """In every state one may give up: an extra action, the last, that leads to the goal with this loss.

    All failures become one state, the last, in which giving up is the only action: failing loses the step's own loss
    and then this one. No optimal loss is then above ``loss``, so steps should be small against it.
    """
    return FailurePolicy(Target.FAILURE_STATE, None, _check_loss(loss, "giving up"))


def refuse() -> FailurePolicy:
    """An environment with failures is an error that names them."""
    return FailurePolicy(Target.REFUSED)


class Outcome(NamedTuple):
    """The loss of a transition, and where it leads."""

    loss: float
    target: Target


@dataclass(frozen=True)
class Interpretation:
    """Losses, goals and failures together: all that turns a transition into a loss and a target."""

    losses: Losses
    goals: GoalRule
    failures: FailurePolicy

    def outcome(self, transition: Transition, terminated: bool) -> Outcome:
        """The loss of a transition and where it leads; an error if the loss is not in [0, 1]."""
        goal = terminated and bool(self.goals(transition))
        if terminated and not goal and self.failures.loss is not None:
            return Outcome(self.failures.loss, self.failures.to)
        target = Target.GOAL if goal else self.failures.to if terminated else Target.NEXT
        loss = float(self.losses.of(transition.reward, goal))
        if not 0.0 <= loss <= 1.0:
            raise ModelError(
                f"observation {transition.observation}, action {transition.action}: reward {transition.reward:g} is "
                f"read as loss {loss:g}, which is not in [0, 1]; pass other losses=, such as "
                "negated_rewards(scale=...)"
            )
        return Outcome(loss, target)


class EnvironmentDefaults(NamedTuple):
    """Default losses, goals and action names of an environment class."""

    losses: Losses
    goals: GoalRule
    actions: tuple[str, ...]


_DEFAULTS = {
    "gymnasium.envs.toy_text.taxi.TaxiEnv": EnvironmentDefaults(
        TAXI_LOSSES, every_termination, ("south", "north", "east", "west", "pick up", "drop off")
    ),
    "gymnasium.envs.toy_text.cliffwalking.CliffWalkingEnv": EnvironmentDefaults(
        CLIFF_WALKING_LOSSES, every_termination, ("up", "right", "down", "left")
    ),
    "gymnasium.envs.toy_text.frozen_lake.FrozenLakeEnv": EnvironmentDefaults(
        FROZEN_LAKE_LOSSES, positive_reward, ("left", "down", "right", "up")
    ),
}


def environment_defaults(env: object) -> EnvironmentDefaults | None:
    """The defaults of an unwrapped environment, by its class or a base of it (so Gymnasium need not be imported)."""
    names = (f"{base.__module__}.{base.__qualname__}" for base in type(env).__mro__)
    return next((_DEFAULTS[name] for name in names if name in _DEFAULTS), None)
