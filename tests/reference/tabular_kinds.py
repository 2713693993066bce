"""The context-free learners beside their naive twins, by name, with the scales at which they are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goalbound.baselines import Method, TabularLearner, TabularOptions
from tests.reference.tabular import (
    NaiveBernsteinSSP,
    NaiveEBSSP,
    NaiveHoeffdingSSP,
    NaivePSRLSSP,
    NaiveUCSSP,
    NaiveULCVI,
)
from tests.reference.tabular_sets import Declared
from tests.reference.tabular_twins import Naive, Twins

PRECISE, USUAL, COARSE = 1e-9, 1e-3, 0.05
"""tolerances of value iteration"""


def learner_of(given: Declared, method: Method, *, seed: int = 0, tolerance: float = PRECISE) -> TabularLearner:
    return TabularLearner(
        given.support, method, loss_floor=given.loss_floor, rng=np.random.default_rng(seed),
        options=TabularOptions(given.delta, given.added_loss, given.known_losses, tolerance),
    )  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A learner, both ways, and scales at which it does something within some hundred steps."""

    method: Callable[[float], Method]
    """from the scale"""
    naive: Callable[[Declared, np.random.Generator], Naive]
    scales: tuple[float, ...]
    zero_floor: bool = False
    """whether a floor of 0 is allowed"""

    def twins(self, given: Declared, seed: int, *, tolerance: float = PRECISE) -> Twins:
        learner = learner_of(given, self.method(given.scale), seed=seed, tolerance=tolerance)
        return Twins(learner, self.naive(given, np.random.default_rng(seed)), tolerance=tolerance)


KINDS = {
    "uc-ssp": Kind(lambda x: Method("uc-ssp", scale=x), lambda given, rng: NaiveUCSSP(given), (1.0, 0.1, 0.02)),
    "hoeffding-ssp": Kind(
        lambda x: Method("hoeffding-ssp", loss_bound=1.5, scale=x),
        lambda given, rng: NaiveHoeffdingSSP(given, loss_bound=1.5),
        (1.0, 0.05, 0.004),
    ),
    "bernstein-ssp": Kind(
        lambda x: Method("bernstein-ssp", scale=x), lambda given, rng: NaiveBernsteinSSP(given), (1.0, 0.03, 0.003)
    ),
    "eb-ssp": Kind(
        lambda x: Method("eb-ssp", loss_bound=3.0, scale=x),
        lambda given, rng: NaiveEBSSP(given, loss_bound=3.0),
        (1.0, 0.01, 0.001), zero_floor=True,
    ),
    "eb-ssp, doubling": Kind(
        lambda x: Method("eb-ssp", scale=x), lambda given, rng: NaiveEBSSP(given), (0.01, 0.001), zero_floor=True
    ),
    "ulcvi": Kind(
        lambda x: Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=2, scale=x),
        lambda given, rng: NaiveULCVI(given, loss_bound=1.0, time_bound=1.0, episodes=2),
        (1.0, 1e-6, 1e-8), zero_floor=True,
    ),
    "psrl-ssp": Kind(
        lambda x: Method("psrl-ssp", value_cap=30.0, scale=x),
        lambda given, rng: NaivePSRLSSP(given, rng, value_cap=30.0),
        (1.0, 0.2),
    ),
}  # fmt: skip
