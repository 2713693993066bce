"""The context-free learners by name: each function makes a :class:`TabularLearner` of one method.

What a method does, its guarantee and its source stand with the method (:mod:`goalbound.learners.tabular.method`);
``delta`` and the other common arguments with :class:`TabularLearner`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from goalbound.learners.tabular import method
from goalbound.learners.tabular.learner import TabularLearner
from goalbound.models import Support


def uc_ssp(
    support: Support,
    *,
    loss_floor: float,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
) -> TabularLearner:
    """UC-SSP: see :func:`goalbound.learners.tabular.method.uc_ssp_method`."""
    return TabularLearner(
        support, method.uc_ssp_method(scale=scale), loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses,
    )  # fmt: skip


def hoeffding_ssp(
    support: Support,
    *,
    loss_floor: float,
    loss_bound: float,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
) -> TabularLearner:
    """Hoeffding-SSP: see :func:`goalbound.learners.tabular.method.hoeffding_ssp_method`."""
    return TabularLearner(
        support, method.hoeffding_ssp_method(loss_bound=loss_bound, scale=scale), loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses,
    )  # fmt: skip


def bernstein_ssp(
    support: Support,
    *,
    loss_floor: float,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
) -> TabularLearner:
    """Bernstein-SSP: see :func:`goalbound.learners.tabular.method.bernstein_ssp_method`."""
    return TabularLearner(
        support, method.bernstein_ssp_method(scale=scale), loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses,
    )  # fmt: skip


def eb_ssp(
    support: Support,
    *,
    loss_floor: float,
    loss_bound: float | None = None,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
) -> TabularLearner:
    """EB-SSP: see :func:`goalbound.learners.tabular.method.eb_ssp_method`."""
    return TabularLearner(
        support, method.eb_ssp_method(loss_bound=loss_bound, scale=scale), loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses,
    )  # fmt: skip


def ulcvi(
    support: Support,
    *,
    loss_floor: float,
    loss_bound: float,
    time_bound: float,
    episodes: int,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
) -> TabularLearner:
    """ULCVI: see :func:`goalbound.learners.tabular.method.ulcvi_method`."""
    return TabularLearner(
        support,
        method.ulcvi_method(loss_bound=loss_bound, time_bound=time_bound, episodes=episodes, scale=scale),
        loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses,
    )  # fmt: skip


def psrl_ssp(
    support: Support,
    *,
    loss_floor: float,
    prior: float = 0.1,
    value_cap: float = 1000.0,
    scale: float = 1.0,
    delta: float = 0.1,
    added_loss: float = 0.0,
    known_losses: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> TabularLearner:
    """PSRL-SSP: see :func:`goalbound.learners.tabular.method.psrl_ssp_method`."""
    return TabularLearner(
        support, method.psrl_ssp_method(prior=prior, value_cap=value_cap, scale=scale),
        loss_floor=loss_floor, delta=delta,
        added_loss=added_loss, known_losses=known_losses, rng=rng,
    )  # fmt: skip
