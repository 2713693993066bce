"""Problem families of our own, each a function that gives a LinearCSSP, and a catalog of them by name."""

from goalbound.problems.catalog import CATALOG, CatalogEntry, catalog_entry
from goalbound.problems.chains import deceptive_lock, long_corridor
from goalbound.problems.incidents import incident_contexts, incident_log, incident_recovery, runbook
from goalbound.problems.random_problems import dense_random, random_cssp
from goalbound.problems.roads import Regime, routing_grid
from goalbound.problems.treatment import biomarker, treatment_curve, treatment_ladder
from goalbound.problems.windy_grid import windy_grid

__all__ = [
    "CATALOG",
    "CatalogEntry",
    "Regime",
    "biomarker",
    "catalog_entry",
    "deceptive_lock",
    "dense_random",
    "incident_contexts",
    "incident_log",
    "incident_recovery",
    "long_corridor",
    "random_cssp",
    "routing_grid",
    "runbook",
    "treatment_curve",
    "treatment_ladder",
    "windy_grid",
]
