"""Context-free learners of the literature: they meet every episode as the same problem."""

from goalbound.baselines.factories import bernstein_ssp, eb_ssp, hoeffding_ssp, psrl_ssp, uc_ssp, ulcvi
from goalbound.baselines.learner import TabularLearner
from goalbound.baselines.settings import Method, TabularOptions, TabularSettings

__all__ = [
    "Method",
    "TabularLearner",
    "TabularOptions",
    "TabularSettings",
    "bernstein_ssp",
    "eb_ssp",
    "hoeffding_ssp",
    "psrl_ssp",
    "uc_ssp",
    "ulcvi",
]
