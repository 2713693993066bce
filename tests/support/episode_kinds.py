"""Learners of the incidents whose episodes differ in what they hold, some with wrappers around them."""

from goalbound import (
    LRCSSP,
    Apprentice,
    EpsilonGreedy,
    GreedyRidge,
    Guarded,
    LossScale,
    Monitored,
    PosteriorSampling,
    widths,
)
from goalbound.around.contexts import ContextBlind
from goalbound.baselines import uc_ssp
from tests.support.incidents_at_work import BEFORE, RUNBOOK
from tests.support.units import in_units

SUPPORT = BEFORE.support
KINDS = {
    "greedy": lambda rng: GreedyRidge(SUPPORT, 2, loss_floor=0.1),
    "drawing": lambda rng: EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, rng=rng),
    "posterior": lambda rng: PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=rng),
    "likelihood": lambda rng: LRCSSP(SUPPORT, 2, loss_floor=0.1),
    "balls": lambda rng: LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.paper()),
    "tabular": lambda rng: ContextBlind(uc_ssp(SUPPORT, loss_floor=0.1)),
    "guarded": lambda rng: in_units(
        Monitored(Guarded(GreedyRidge(SUPPORT, 2, loss_floor=0.1), RUNBOOK, after_steps=2)), LossScale("min", cap=1.0)
    ),
    "apprentice": lambda rng: Apprentice(LRCSSP(SUPPORT, 2, loss_floor=0.1), RUNBOOK),
}
"""By name, each from a generator."""
