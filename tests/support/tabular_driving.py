"""The six methods on small problems, and what the tests do with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound.baselines import Method, TabularLearner, TabularOptions
from goalbound.models import LinearCSSP
from goalbound.testing import small_problem as small_contextual_problem
from tests.support.driving import Clinic

METHODS: dict[str, Method] = {
    "uc": Method("uc-ssp", scale=0.1),
    "hoeffding": Method("hoeffding-ssp", loss_bound=5.0, scale=0.002),
    "bernstein": Method("bernstein-ssp", scale=0.01),
    "eb": Method("eb-ssp", scale=0.01),
    "eb, bounded": Method("eb-ssp", loss_bound=5.0, scale=0.02),
    "ulcvi": Method("ulcvi", loss_bound=4.0, time_bound=1.0, episodes=3, scale=1e-7),
    "psrl": Method("psrl-ssp"),
}
"""Scales so small that plans depend on data from the first steps on."""

KINDS = ("learned", "added", "known")
"""What is known of the losses; where a loss is added they may be zero."""


def small_problem() -> LinearCSSP:
    """Three states, one to three actions, one of which never arrives; no context."""
    return LinearCSSP.mix([small_contextual_problem().at([0.6, 0.4])])


def learner_of(problem: LinearCSSP, method: str, kind: str = "learned", *, seed: int = 0) -> TabularLearner:
    options = TabularOptions(
        added_loss=0.05 if kind == "added" else 0.0, known_losses=problem.losses[:, 0] if kind == "known" else None
    )
    floor = 0.0 if kind == "added" else 0.1
    rng = np.random.default_rng(seed)
    return TabularLearner(problem.support, METHODS[method], loss_floor=floor, rng=rng, options=options)


def clinic(method: str, beds: int, *, kind: str = "learned", seed: int = 5) -> Clinic:
    """Several episodes of one learner at once."""
    problem = small_problem()
    learner: Any = learner_of(problem, method, kind)
    return Clinic(problem, learner, beds=beds, seed=seed)
