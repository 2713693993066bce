"""The data of two learners by ridge regression as that of one: :func:`merge` is a method of
:class:`~goalbound.learners.core.RidgeLearner`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, LearnerError
from goalbound.kernels import merge as kernel
from goalbound.kernels.transfer import set_variance_log_det
from goalbound.learners.carry_over import pays, quarters
from goalbound.learners.caveats import united_caveats
from goalbound.learners.constants import variance_failure
from goalbound.learners.episode import count_reason

if TYPE_CHECKING:
    from goalbound.learners.core import RidgeLearner

R = TypeVar("R", bound="RidgeLearner")


def merge(learner: R, other: R) -> None:
    """Add what another learner has seen, as if its steps had been learned here; ``other`` stays as it is.

    Both have the same class, support, settings and prior knowledge, and saw different steps: data that both have
    (a common past, from a copy or a file) would count twice. The merged sets are valid if neither chose by what
    only the other saw later, and if what is merged is not selected by its outcomes. They hold with probability
    1 - delta, however often is merged: where delta does not pay for bounds of variances that come from the sets of
    both, each visit counts with the largest variance there is. docs/explanation/steps_by_anyone.md has the price, and
    what does not add up.

    >>> from goalbound import LRCSSP, Step, Support
    >>> here, there = (LRCSSP(Support.full(2, 2), 2, loss_floor=0.1) for _ in range(2))
    >>> here.learn([0.3, 0.7], Step(0, 1, 0.5, 1))
    >>> there.learn([0.6, 0.4], Step(0, 1, 0.25, 2))
    >>> here.merge(there)
    >>> here.statistics.visits
    array([0, 2, 0, 0])
    """
    _check_can_merge(learner, other)
    for pair in learner._pending.uncounted_pairs:
        learner._count_visits_before(pair, None)
    both = learner._steps > 0 and other._steps > 0  # else the sets stay those of one
    price = learner._trusted + other._trusted + (2.0 * variance_failure(learner.settings) if both else 0.0)
    kept = pays(learner, price)
    theirs = other._state if kept else other._state._replace(variance=_quarters(other))
    if not kept:
        _set_quarters(learner)
    run = learner._effort.engine(learner.support.triples)(kernel.merge)
    run(learner._constants, learner._state, theirs, learner._scratch)
    learner._trusted = price if kept else 0.0
    for reason, count in other.abandoned.items():
        count_reason(learner._abandoned, reason, count)
    learner._caveats = united_caveats(learner.caveats, other.caveats)
    learner._after_learning()


def _quarters(learner: RidgeLearner) -> NDArray[np.float64]:
    """[M, d (d + 1) / 2] variances of a quarter for each visit."""
    gram = learner._state.regression.gram - learner.settings.regularization * np.eye(learner.settings.context_size)
    return np.repeat(quarters(gram), np.diff(learner.support.next_start), axis=0)


def _set_quarters(learner: RidgeLearner) -> None:
    """Each visit counts with a quarter: no bound of a variance comes from sets of before."""
    state = learner._state
    state.variance[...] = _quarters(learner)
    for pair in range(len(state.revision)):
        set_variance_log_det.python(learner._constants, state, pair)
    state.revision[...] += 1


def _check_can_merge(learner: RidgeLearner, other: object) -> None:
    if type(other) is not type(learner):
        raise ArgumentError(f"other is a {type(other).__name__}, and this is a {type(learner).__name__}; merge alike")
    assert isinstance(other, type(learner))
    if other is learner:
        raise ArgumentError("a learner cannot be merged with itself: its steps would count twice")
    if other.support != learner.support:
        raise ArgumentError(f"other has another support ({other.support}, not {learner.support}), or other names")
    if other.settings != learner.settings or other.prior != learner.prior:
        raise ArgumentError(
            f"other has other settings or prior knowledge: {other}, not {learner}; learn its log with the settings of "
            "this one instead"
        )
    if learner.settings.forget:
        raise LearnerError("with forget=True data is dropped as the loss bound doubles, and cannot be merged")
    waiting = other.open_episodes
    if waiting:
        raise LearnerError(
            f"other has {len(waiting)} open episodes, whose steps are still to come; let them end there, or "
            "abandon(reason) them, before it is merged"
        )
