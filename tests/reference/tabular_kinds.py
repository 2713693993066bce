"""The context-free learners beside their naive twins, by name, with the scales at which they are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goalbound.learners.tabular import (
    Method,
    TabularLearner,
    bernstein_ssp,
    eb_ssp,
    hoeffding_ssp,
    psrl_ssp,
    uc_ssp,
    ulcvi,
)
from tests.reference.tabular import (
    NaiveBernsteinSSP,
    NaiveEBSSP,
    NaiveHoeffdingSSP,
    NaivePSRLSSP,
    NaiveUCSSP,
    NaiveULCVI,
)
from tests.reference.tabular_sets import PriorArrays
from tests.reference.tabular_twins import Naive, Twins

PRECISE, USUAL, COARSE = 1e-9, 1e-3, 0.05
"""tolerances of value iteration"""


def learner_of(told: PriorArrays, method: Method, *, seed: int = 0, tolerance: float = PRECISE) -> TabularLearner:
    return TabularLearner(
        told.support, method, delta=told.delta, loss_floor=told.loss_floor, added_loss=told.added_loss,
        known_losses=told.known_losses, tolerance=tolerance, rng=np.random.default_rng(seed),
    )  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A learner, both ways, and scales at which it does something within some hundred steps."""

    method: Callable[[float], Method]
    """from the scale"""
    naive: Callable[[PriorArrays, np.random.Generator], Naive]
    scales: tuple[float, ...]
    zero_floor: bool = False
    """whether a floor of 0 is allowed"""

    def twins(self, told: PriorArrays, seed: int, *, tolerance: float = PRECISE) -> Twins:
        learner = learner_of(told, self.method(told.scale), seed=seed, tolerance=tolerance)
        return Twins(learner, self.naive(told, np.random.default_rng(seed)), tolerance=tolerance)


KINDS = {
    "uc-ssp": Kind(lambda x: uc_ssp(scale=x), lambda told, rng: NaiveUCSSP(told), (1.0, 0.1, 0.02)),
    "hoeffding-ssp": Kind(
        lambda x: hoeffding_ssp(loss_bound=1.5, scale=x),
        lambda told, rng: NaiveHoeffdingSSP(told, loss_bound=1.5),
        (1.0, 0.05, 0.004),
    ),
    "bernstein-ssp": Kind(
        lambda x: bernstein_ssp(scale=x), lambda told, rng: NaiveBernsteinSSP(told), (1.0, 0.03, 0.003)
    ),
    "eb-ssp": Kind(
        lambda x: eb_ssp(loss_bound=3.0, scale=x),
        lambda told, rng: NaiveEBSSP(told, loss_bound=3.0),
        (1.0, 0.01, 0.001), zero_floor=True,
    ),
    "eb-ssp, doubling": Kind(
        lambda x: eb_ssp(scale=x), lambda told, rng: NaiveEBSSP(told), (0.01, 0.001), zero_floor=True
    ),
    "ulcvi": Kind(
        lambda x: ulcvi(loss_bound=1.0, time_bound=1.0, episodes=2, scale=x),
        lambda told, rng: NaiveULCVI(told, loss_bound=1.0, time_bound=1.0, episodes=2),
        (1.0, 1e-6, 1e-8), zero_floor=True,
    ),
    "psrl-ssp": Kind(
        lambda x: psrl_ssp(value_cap=30.0, scale=x),
        lambda told, rng: NaivePSRLSSP(told, rng, value_cap=30.0),
        (1.0, 0.2),
    ),
}  # fmt: skip
