"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.estimation import (
        Estimate,
        Statistics,
        Widths,
        confidence_set,
        paper,
        printed,
        project,
        ridge_estimate,
        scaled,
        sharp,
    )
    from goalbound.experiments.plugins import plugin
    from goalbound.learners.context_free import ContextBlind, Discretized
    from goalbound.learners.context_map import MappedContexts
    from goalbound.learners.errors import LearnerError, PlanningStopped, ProjectionFailed
    from goalbound.learners.linearity import NotLinearWarning, WrongPriorWarning
    from goalbound.learners.lr_cssp import LRCSSP
    from goalbound.learners.plan import Plan
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.reference import Clairvoyant, RandomWalk
    from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
    from goalbound.learners.settings import LearnerOptions
    from goalbound.learners.tabular import (
        TabularLearner,
        bernstein_ssp,
        eb_ssp,
        hoeffding_ssp,
        psrl_ssp,
        uc_ssp,
        ulcvi,
    )
    from goalbound.models import (
        SSP,
        Builder,
        ConfidenceSet,
        FileConflictError,
        FileFormatError,
        IntervalSet,
        LargeFileWarning,
        LinearCSSP,
        ModelError,
        Step,
        Support,
    )
    from goalbound.models.files import load, save
    from goalbound.planning import (
        Bound,
        BoundStatus,
        ContextBounds,
        Evaluation,
        NoProperPolicy,
        OptimisticSolution,
        Solution,
        Status,
        blocking_states,
        context_bounds,
        evaluate,
        extended_value_iteration,
        hitting_times,
        is_proper,
        optimal_values,
        solve,
    )
    from goalbound.simulation import (
        Adversary,
        AuditedLearner,
        Cyclic,
        Dirichlet,
        Drifting,
        FromArray,
        History,
        ModelEnvironment,
        OneHot,
        RegretDiagnostics,
        Simulation,
        bernoulli,
        bounded,
        deterministic,
        play,
    )

__version__ = "0.2.0"

_NAMES = {
    "goalbound.estimation": (
        "Estimate",
        "Statistics",
        "Widths",
        "confidence_set",
        "paper",
        "printed",
        "project",
        "ridge_estimate",
        "scaled",
        "sharp",
    ),
    "goalbound.experiments.plugins": ("plugin",),
    "goalbound.learners.errors": ("LearnerError", "PlanningStopped", "ProjectionFailed"),
    "goalbound.learners.context_free": ("ContextBlind", "Discretized"),
    "goalbound.learners.prior": ("PriorKnowledge",),
    "goalbound.learners.linearity": ("NotLinearWarning", "WrongPriorWarning"),
    "goalbound.learners.lr_cssp": ("LRCSSP",),
    "goalbound.learners.plan": ("Plan",),
    "goalbound.learners.reference": ("Clairvoyant", "RandomWalk"),
    "goalbound.learners.ridge": ("EpsilonGreedy", "GreedyRidge", "KwikRmax", "PosteriorSampling"),
    "goalbound.learners.settings": ("LearnerOptions",),
    "goalbound.learners.context_map": ("MappedContexts",),
    "goalbound.learners.tabular": (
        "TabularLearner",
        "bernstein_ssp",
        "eb_ssp",
        "hoeffding_ssp",
        "psrl_ssp",
        "uc_ssp",
        "ulcvi",
    ),
    "goalbound.models": (
        "SSP",
        "Builder",
        "ConfidenceSet",
        "FileConflictError",
        "FileFormatError",
        "IntervalSet",
        "LargeFileWarning",
        "LinearCSSP",
        "ModelError",
        "Step",
        "Support",
    ),
    "goalbound.models.files": ("load", "save"),
    "goalbound.planning": (
        "Bound",
        "BoundStatus",
        "ContextBounds",
        "Evaluation",
        "NoProperPolicy",
        "OptimisticSolution",
        "Solution",
        "Status",
        "blocking_states",
        "context_bounds",
        "evaluate",
        "extended_value_iteration",
        "hitting_times",
        "is_proper",
        "optimal_values",
        "solve",
    ),
    "goalbound.simulation": (
        "Adversary",
        "OneHot",
        "Cyclic",
        "RegretDiagnostics",
        "Dirichlet",
        "Drifting",
        "History",
        "FromArray",
        "ModelEnvironment",
        "Simulation",
        "AuditedLearner",
        "bernoulli",
        "bounded",
        "deterministic",
        "play",
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'goalbound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
