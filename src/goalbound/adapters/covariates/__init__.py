"""Contexts as people have them: raw covariates (age, hour, diagnosis, region) to points of the simplex.

A map is fitted once, before learning, and never moves again; its digest is kept with the learner.

>>> ages = Hats([20, 40, 60, 80], clamp=True)
>>> ages(50), ages.names
(array([0. , 0.5, 0.5, 0. ]), ('at 20', 'at 40', 'at 60', 'at 80'))
"""

from goalbound.adapters.covariates.composite import Additive, Tensor
from goalbound.adapters.covariates.contexts import (
    ContextReport,
    CovariateContexts,
    context_report,
    rows_at_random,
    rows_in_order,
    uniform_numbers,
)
from goalbound.adapters.covariates.covariate_map import CovariateMap, MapResult
from goalbound.adapters.covariates.fit import fill_missing, fit_categories, fit_clusters, fit_hats
from goalbound.adapters.covariates.learner import CovariateLearner
from goalbound.adapters.covariates.multivariate import FromTransformer, SoftClusters
from goalbound.adapters.covariates.serialization import (
    load_map,
    map_as_json,
    map_digest,
    map_from_json,
    map_from_settings,
    save_map,
)
from goalbound.adapters.covariates.univariate import Categories, Hats, Periodic

__all__ = [
    "Additive",
    "Categories",
    "ContextReport",
    "CovariateContexts",
    "CovariateLearner",
    "CovariateMap",
    "FromTransformer",
    "Hats",
    "MapResult",
    "Periodic",
    "SoftClusters",
    "Tensor",
    "context_report",
    "fill_missing",
    "fit_categories",
    "fit_clusters",
    "fit_hats",
    "load_map",
    "map_as_json",
    "map_digest",
    "map_from_json",
    "map_from_settings",
    "rows_at_random",
    "rows_in_order",
    "save_map",
    "uniform_numbers",
]
