"""Learners by ridge regression from one flat set of settings, as tables of tests have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import paper
from goalbound.confidence.sharp import SharpState
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, LocalOptimism, PosteriorSampling
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Support


def lr_cssp(support: Support, context_size: int, **settings: Any) -> LRCSSP:
    """An LRCSSP, with the paper's widths if no others are given; what belongs to its options is put there."""
    names = {field.name for field in fields(LearnerOptions)}
    options = LearnerOptions(**{name: value for name, value in settings.items() if name in names})
    others = {name: value for name, value in settings.items() if name not in names}
    return LRCSSP(support, context_size, options=options, **{"widths": paper(), **others})


def exploring(
    rule: ExplorationRule,
    support: Support,
    context_size: int,
    *,
    loss_floor: float = 0.1,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> RidgeLearner:
    """The learner that explores so, with a new plan after every step unless ``replan_factor`` is given."""
    chosen = LearnerOptions(**{"replan_factor": 1.0, **options})
    rng = np.random.default_rng(0) if rng is None else rng
    settings = Settings.of(context_size, loss_floor=loss_floor, options=chosen, exploration=rule)
    kind = next(one for one in KINDS if isinstance(rule, one.rules))
    return kind._made(support, settings, None, rng)


KINDS = (LRCSSP, GreedyRidge, EpsilonGreedy, LocalOptimism, PosteriorSampling, KwikRmax)
Make = Callable[[Support, int, np.random.Generator], RidgeLearner]

LEARNERS: dict[str, Make] = {
    "greedy": lambda support, size, rng: GreedyRidge(support, size, loss_floor=0.1),
    "epsilon": lambda support, size, rng: EpsilonGreedy(support, size, loss_floor=0.1, rng=rng),
    "local": lambda support, size, rng: LocalOptimism(support, size, loss_floor=0.1, bonus=0.5),
    "ps": lambda support, size, rng: PosteriorSampling(support, size, loss_floor=0.1, spread=0.5, rng=rng),
    "kwik": lambda support, size, rng: KwikRmax(support, size, loss_floor=0.1, threshold=0.2),
    "zero losses": lambda support, size, rng: PosteriorSampling(
        support, size, loss_floor=0.0, options=LearnerOptions(episodes=5000), rng=rng
    ),
}
"""The ridge learners that are not optimistic."""


def variances_of(learner: RidgeLearner) -> NDArray[np.float64]:
    """[M, d, d] the sums of variances as whole matrices; a learner has their lower triangles, row by row."""
    size = learner.context_size
    rows, columns = np.tril_indices(size)
    found = np.empty((learner.support.triples, size, size))
    found[:, rows, columns] = found[:, columns, rows] = sharp_state_of(learner).variance
    return found


def sharp_state_of(learner: RidgeLearner) -> SharpState:
    """What a learner with intervals keeps of variances."""
    kept: SharpState = learner._state.sets.sharp
    return kept
