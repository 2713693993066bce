"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.adapters.learner_files import load_learner
    from goalbound.around.contexts import ContextBlind, Discretized, MappedContexts
    from goalbound.around.monitor import Monitored
    from goalbound.around.runbook import Apprentice, Guarded
    from goalbound.baselines import TabularLearner
    from goalbound.confidence import Statistics, confidence_set, project, ridge_estimate, widths
    from goalbound.errors import ArgumentError, FileFormatError, GoalboundError, LearnerError, ModelError
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
    from goalbound.models import SSP, BallSet, Builder, IntervalSet, LinearCSSP, LossScale, Step, Support
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
    from goalbound.simulation.contexts import Adversary, ContextSource, Dirichlet, OneHot
    from goalbound.simulation.environment import Environment, ModelEnvironment
    from goalbound.simulation.history import History
    from goalbound.simulation.play import play
    from goalbound.simulation.warm_up import warm_up
    from goalbound.testing import check_learner

__version__ = "2.0.0.dev0"

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

load_on_use(
    __name__,
    {
        "goalbound.adapters.learner_files": "load_learner",
        "goalbound.around.contexts": "ContextBlind Discretized MappedContexts",
        "goalbound.around.monitor": "Monitored",
        "goalbound.around.runbook": "Apprentice Guarded",
        "goalbound.baselines": "TabularLearner",
        "goalbound.confidence": "Statistics confidence_set project ridge_estimate widths",
        "goalbound.errors": "ArgumentError FileFormatError GoalboundError LearnerError ModelError",
        "goalbound.experiments.plugins": "plugin",
        "goalbound.learners.card": "LearnerCard",
        "goalbound.learners.explanation": "Explanation",
        "goalbound.learners.lr_cssp": "LRCSSP",
        "goalbound.learners.plan": "Plan",
        "goalbound.learners.prior": "PriorKnowledge",
        "goalbound.learners.protocol": "Episode Learner",
        "goalbound.learners.reference": "Clairvoyant",
        "goalbound.learners.ridge": "EpsilonGreedy GreedyRidge KwikRmax LocalOptimism PosteriorSampling",
        "goalbound.learners.settings": "LearnerOptions",
        "goalbound.models": "SSP BallSet Builder IntervalSet LinearCSSP LossScale Step Support",
        "goalbound.models.files": "load save",
        "goalbound.planning": "PolicyBounds Solution context_bounds evaluate "
        "extended_value_iteration optimal_values policy_bounds solve",
        "goalbound.simulation.contexts": "Adversary ContextSource Dirichlet OneHot",
        "goalbound.simulation.environment": "Environment ModelEnvironment",
        "goalbound.simulation.history": "History",
        "goalbound.simulation.play": "play",
        "goalbound.simulation.warm_up": "warm_up",
        "goalbound.testing": "check_learner",
    },
)
