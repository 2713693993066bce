"""Gymnasium: its tables as problems, its environments as ours, and our problems as its environments.

Reading tables needs only the environments themselves; Gymnasium is imported when :class:`LinearCSSPEnv` is first used
(``pip install '.[gym]'`` in the folder of goalbound).

>>> import gymnasium
>>> from goalbound.adapters.gymnasium import from_environments
>>> taxi = from_environments(
...     [gymnasium.make("Taxi-v4"), gymnasium.make("Taxi-v4", is_rainy=True)], component_names=["dry", "rain"]
... )
>>> taxi.problem
LinearCSSP(2 components, 400 states, 2400 pairs, 4528 next states)
"""

from typing import TYPE_CHECKING, Any

from goalbound.adapters.gymnasium.environment import ContextualGymEnvironment, GymEnvironment, ParametricGymEnvironment
from goalbound.adapters.gymnasium.problem import GymProblem, from_environments, ssp_from_environment
from goalbound.adapters.gymnasium.rewards import (
    CLIFF_WALKING_LOSSES,
    FROZEN_LAKE_LOSSES,
    TAXI_LOSSES,
    FailurePolicy,
    Losses,
    Transition,
    every_termination,
    give_up,
    negated_rewards,
    penalty_exit,
    per_step,
    positive_reward,
    refuse,
    restart,
)

if TYPE_CHECKING:
    from goalbound.adapters.gymnasium.linear_cssp_env import LinearCSSPEnv

_NEED_GYMNASIUM = ("LinearCSSPEnv",)

__all__ = [
    "CLIFF_WALKING_LOSSES",
    "FROZEN_LAKE_LOSSES",
    "TAXI_LOSSES",
    "ContextualGymEnvironment",
    "FailurePolicy",
    "GymEnvironment",
    "GymProblem",
    "LinearCSSPEnv",
    "Losses",
    "ParametricGymEnvironment",
    "Transition",
    "every_termination",
    "from_environments",
    "give_up",
    "negated_rewards",
    "penalty_exit",
    "per_step",
    "positive_reward",
    "refuse",
    "restart",
    "ssp_from_environment",
]


def __getattr__(name: str) -> Any:
    if name in _NEED_GYMNASIUM:
        from goalbound.adapters.gymnasium import linear_cssp_env

        return getattr(linear_cssp_env, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
