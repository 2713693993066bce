"""Problem families of our own, each a function that gives a LinearCSSP, and a catalog of them by name."""

from goalbound.problems.catalog import CATALOG, CatalogEntry, catalog_entry
from goalbound.problems.deceptive_lock import deceptive_lock
from goalbound.problems.dense_random import dense_random
from goalbound.problems.long_corridor import long_corridor
from goalbound.problems.random_cssp import random_cssp
from goalbound.problems.roads import Regime
from goalbound.problems.routing_grid import routing_grid
from goalbound.problems.treatment_curve import biomarker, treatment_curve
from goalbound.problems.treatment_ladder import treatment_ladder
from goalbound.problems.windy_grid import windy_grid

__all__ = [
    "CATALOG",
    "CatalogEntry",
    "Regime",
    "biomarker",
    "catalog_entry",
    "deceptive_lock",
    "dense_random",
    "long_corridor",
    "random_cssp",
    "routing_grid",
    "treatment_curve",
    "treatment_ladder",
    "windy_grid",
]
