"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.adapters.learner_files import load_learner
    from goalbound.around.apprentice import Apprentice
    from goalbound.around.context_map import ContextBlind, MappedContexts
    from goalbound.around.discretized import Discretized
    from goalbound.around.guarded import Guarded
    from goalbound.around.loss_units import InUnits
    from goalbound.around.monitored import Monitored
    from goalbound.baselines import TabularLearner
    from goalbound.errors import (
        ArgumentError,
        FileFormatError,
        GoalboundError,
        LearnerError,
        ModelError,
    )
    from goalbound.estimation import (
        Statistics,
        confidence_set,
        project,
        ridge_estimate,
        widths,
    )
    from goalbound.experiments.plugins import plugin
    from goalbound.learners.card import LearnerCard
    from goalbound.learners.explanation import Explanation
    from goalbound.learners.lr_cssp import LRCSSP
    from goalbound.learners.plan import Plan
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.protocol import Episode, Learner
    from goalbound.learners.reference import Clairvoyant
    from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, LocalOptimism, PosteriorSampling
    from goalbound.learners.settings import LearnerOptions
    from goalbound.models import (
        SSP,
        BallSet,
        Builder,
        IntervalSet,
        LinearCSSP,
        LossScale,
        Step,
        Support,
    )
    from goalbound.models.files import load, save
    from goalbound.planning import (
        PolicyBounds,
        Solution,
        context_bounds,
        evaluate,
        extended_value_iteration,
        optimal_values,
        policy_bounds,
        solve,
    )
    from goalbound.simulation import (
        Adversary,
        ContextSource,
        Dirichlet,
        Environment,
        History,
        ModelEnvironment,
        OneHot,
        play,
        warm_up,
    )
    from goalbound.testing import check_learner

__version__ = "2.0.0.dev0"

_NAMES = {
    "goalbound.errors": ("ArgumentError", "FileFormatError", "GoalboundError", "LearnerError", "ModelError"),
    "goalbound.estimation": ("Statistics", "confidence_set", "project", "ridge_estimate", "widths"),
    "goalbound.adapters.learner_files": ("load_learner",),
    "goalbound.experiments.plugins": ("plugin",),
    "goalbound.around.apprentice": ("Apprentice",),
    "goalbound.learners.card": ("LearnerCard",),
    "goalbound.around.context_map": ("ContextBlind", "MappedContexts"),
    "goalbound.around.discretized": ("Discretized",),
    "goalbound.learners.explanation": ("Explanation",),
    "goalbound.around.guarded": ("Guarded",),
    "goalbound.around.loss_units": ("InUnits",),
    "goalbound.learners.lr_cssp": ("LRCSSP",),
    "goalbound.around.monitored": ("Monitored",),
    "goalbound.learners.plan": ("Plan",),
    "goalbound.learners.prior": ("PriorKnowledge",),
    "goalbound.learners.protocol": ("Episode", "Learner"),
    "goalbound.learners.reference": ("Clairvoyant",),
    "goalbound.learners.ridge": ("EpsilonGreedy", "GreedyRidge", "KwikRmax", "LocalOptimism", "PosteriorSampling"),
    "goalbound.learners.settings": ("LearnerOptions",),
    "goalbound.baselines": ("TabularLearner",),
    "goalbound.models": ("BallSet", "Builder", "IntervalSet", "LinearCSSP", "LossScale", "SSP", "Step", "Support"),
    "goalbound.models.files": ("load", "save"),
    "goalbound.planning": (
        "PolicyBounds",
        "Solution",
        "context_bounds",
        "evaluate",
        "extended_value_iteration",
        "optimal_values",
        "policy_bounds",
        "solve",
    ),
    "goalbound.simulation": (
        "Adversary",
        "ContextSource",
        "Dirichlet",
        "Environment",
        "History",
        "ModelEnvironment",
        "OneHot",
        "play",
        "warm_up",
    ),
    "goalbound.testing": ("check_learner",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "LRCSSP",
    "SSP",
    "Adversary",
    "Apprentice",
    "ArgumentError",
    "BallSet",
    "Builder",
    "Clairvoyant",
    "ContextBlind",
    "ContextSource",
    "Dirichlet",
    "Discretized",
    "Environment",
    "Episode",
    "EpsilonGreedy",
    "Explanation",
    "FileFormatError",
    "GoalboundError",
    "GreedyRidge",
    "Guarded",
    "History",
    "InUnits",
    "IntervalSet",
    "KwikRmax",
    "Learner",
    "LearnerCard",
    "LearnerError",
    "LearnerOptions",
    "LinearCSSP",
    "LocalOptimism",
    "LossScale",
    "MappedContexts",
    "ModelEnvironment",
    "ModelError",
    "Monitored",
    "OneHot",
    "Plan",
    "PolicyBounds",
    "PosteriorSampling",
    "PriorKnowledge",
    "Solution",
    "Statistics",
    "Step",
    "Support",
    "TabularLearner",
    "__version__",
    "check_learner",
    "confidence_set",
    "context_bounds",
    "evaluate",
    "extended_value_iteration",
    "load",
    "load_learner",
    "optimal_values",
    "play",
    "plugin",
    "policy_bounds",
    "project",
    "ridge_estimate",
    "save",
    "solve",
    "warm_up",
    "widths",
]
"""Written out for type checkers, to which only what is listed here is exported."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'goalbound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
