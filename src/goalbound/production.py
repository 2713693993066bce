"""What a program in production needs, at one place: from a table of what people did to a guarded, monitored service.

Each name is also where it is defined, and is loaded from there when first used.
"""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.adapters.covariates import (
        Additive,
        Categories,
        CovariateLearner,
        FromTransformer,
        Hats,
        Periodic,
        SoftClusters,
        Tensor,
        context_report,
        fill_missing,
        fit_categories,
        fit_clusters,
        fit_hats,
        load_map,
        save_map,
    )
    from goalbound.adapters.learner_files import load_learner
    from goalbound.around.monitor import Monitored
    from goalbound.around.runbook import Apprentice, Guarded
    from goalbound.confidence import widths
    from goalbound.errors import ChangeWarning, GoalboundError, InputError, ServiceError, StoreError
    from goalbound.learners.lr_cssp import LRCSSP
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.ridge import GreedyRidge, LocalOptimism, PosteriorSampling
    from goalbound.learners.settings import LearnerOptions
    from goalbound.logs import LogColumns, compare_maps, evaluate_policy, pairs_below_floor, read_log
    from goalbound.models import LossScale, Step, Support
    from goalbound.serve.client import Client
    from goalbound.serve.service.app import Service
    from goalbound.serve.store import Store, StoreOptions
    from goalbound.serve.store.replay import verify
    from goalbound.simulation.warm_up import warm_up

__all__ = [
    "LRCSSP", "Additive", "Apprentice", "Categories", "ChangeWarning", "Client", "CovariateLearner", "FromTransformer",
    "GoalboundError", "GreedyRidge", "Guarded", "Hats", "InputError", "LearnerOptions", "LocalOptimism", "LogColumns",
    "LossScale", "Monitored", "Periodic", "PosteriorSampling", "PriorKnowledge", "Service", "ServiceError",
    "SoftClusters", "Step", "Store", "StoreError", "StoreOptions", "Support", "Tensor", "compare_maps",
    "context_report", "evaluate_policy", "fill_missing", "fit_categories", "fit_clusters", "fit_hats", "load_learner",
    "load_map", "pairs_below_floor", "read_log", "save_map", "verify", "warm_up", "widths",
]  # fmt: skip

load_on_use(
    __name__,
    {
        "goalbound.adapters.covariates": "Additive Categories CovariateLearner FromTransformer Hats Periodic "
        "SoftClusters Tensor context_report fill_missing fit_categories fit_clusters fit_hats load_map save_map",
        "goalbound.adapters.learner_files": "load_learner",
        "goalbound.around.monitor": "Monitored",
        "goalbound.around.runbook": "Apprentice Guarded",
        "goalbound.confidence": "widths",
        "goalbound.errors": "ChangeWarning GoalboundError InputError ServiceError StoreError",
        "goalbound.learners.lr_cssp": "LRCSSP",
        "goalbound.learners.prior": "PriorKnowledge",
        "goalbound.learners.ridge": "GreedyRidge LocalOptimism PosteriorSampling",
        "goalbound.learners.settings": "LearnerOptions",
        "goalbound.logs": "LogColumns compare_maps evaluate_policy pairs_below_floor read_log",
        "goalbound.models": "LossScale Step Support",
        "goalbound.serve.client": "Client",
        "goalbound.serve.service.app": "Service",
        "goalbound.serve.store": "Store StoreOptions",
        "goalbound.serve.store.replay": "verify",
        "goalbound.simulation.warm_up": "warm_up",
    },
)
