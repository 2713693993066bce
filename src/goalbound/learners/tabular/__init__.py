"""Context-free learners of the literature: they meet every episode as the same problem."""

from goalbound.learners.tabular.factories import bernstein_ssp, eb_ssp, hoeffding_ssp, psrl_ssp, uc_ssp, ulcvi
from goalbound.learners.tabular.learner import TabularLearner
from goalbound.learners.tabular.method import Method
from goalbound.learners.tabular.settings import TabularOptions, TabularSettings

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
