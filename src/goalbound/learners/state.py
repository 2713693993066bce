"""What a learner by ridge regression is made of: its constants, all that changes, and how one context looks to it.

What belongs to a confidence model, to an exploration rule or to an observer is theirs: ``sets``, ``explore`` and
``watch`` are structs of their rooms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.declared import Declared, ModelPrior
from goalbound.confidence.pooling import Pooling
from goalbound.confidence.regression import Pending, RegressionSums, new_pending
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.planning.kernels.value_iteration import (
    UncertaintySet,
    ValueIterationState,
    new_uncertainty_set,
    new_value_iteration_state,
)

LEARNER_TOTALS = record_type(
    reals=("loss_bound", "restart_log", "squared_losses"),
    integers=("intervals", "failed_projections", "doublings", "changes", "episodes", "restarts", "logged"),
)
"""Fields of :attr:`LearnerState.totals`: B; log of the share of the failure probability that data gets which is
forgotten when the bound doubles; the sum of the squares of all losses; intervals opened, projections that failed,
doublings, entries of the change log, episodes begun, how often all data was forgotten, steps that others chose (those
of a log, and overridden ones)."""

EPISODE_PROGRESS = record_type(
    reals=("loss_bound", "interval_loss", "slack", "spread"),
    integers=(
        "interval",
        "planned",
        "intervals",
        "unknown_steps",
        "changes_read",
        "changes_known",
        "number",
        "restarts",
        "counted",
        "counted_norm",
    ),
)
"""Fields of :attr:`EpisodeState.progress`: the loss bound of the plan, the loss of the interval so far; bounds of the
rounding of the pair that was looked at last (``solve_context``); the number m of the interval, whether a plan is held,
intervals and unknown steps of this episode, entries of the change log read, and how many there were when the episode
last acted or arrived in a state (learners with confidence sets); the number of the episode from 1 on; of the visit
whose outcome is awaited: the learner's restarts when it was made, whether it counts already, the norm with which it
does (in UNITs of :mod:`goalbound.confidence.regression`)."""

CHANGE_LOG_SIZE = 64
"""How many changes an episode may have missed before it checks all pairs."""


class Constants(Struct):
    """The constants of a run."""

    pair_state: NDArray[np.int32]
    """[N]"""
    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1]"""
    next_state: NDArray[np.int32]
    """[M]"""
    regularization: float
    """lambda"""
    pooling: Pooling
    """what it is less or more for the mean of a pair's components"""
    delta: float
    """delta / 4 is the share of each of the other two items of the good event"""
    loss_floor: float
    """l_min of the problem that is planned in: what was added to the losses included"""
    added_loss: float
    """the corollary's epsilon, or 0"""
    tolerance: float
    """how much a value may change in the last sweep"""
    growth: float
    """an unknown step ends its interval if the log-determinant of its Gram matrix has grown by this since the plan"""
    declared: Declared
    model: ModelPrior
    """the guesses that sums begin with"""
    sets: Any
    """of the confidence model"""
    explore: Any
    """of the exploration rule"""
    watch: Any
    """of the observer, if there is one"""


class LearnerState(Struct):
    """All of a learner that changes."""

    regression: RegressionSums
    pending: Pending
    revision: NDArray[np.int64]
    """[N] how often the estimate of a pair has changed"""
    log_det: NDArray[np.float64]
    """[N] an upper bound of the log-determinant of the Gram matrix, less that without data"""
    sets: Any
    """of the confidence model"""
    watch: Any
    """of the observer: whether the linear model was contradicted"""
    values: NDArray[np.float64]
    """[S + 1] of the plan that was followed last: where the next context starts from"""
    policy: NDArray[np.int64]
    """[S] of that plan: the pair of each state"""
    totals: np.void
    """fields: LEARNER_TOTALS"""
    change_log: NDArray[np.int64]
    """[CHANGE_LOG_SIZE] the pairs whose estimates changed last, in a ring"""


class EpisodeState(Struct):
    """How one context looks to the learner: what an episode holds."""

    _unsaved = ("direction", "residual")

    context: NDArray[np.float64]
    """[d]"""
    sets: UncertaintySet
    iteration: ValueIterationState
    norm: NDArray[np.float64]
    """[N] the norm of the context in the pair's inverse Gram matrix"""
    known_width: NDArray[np.float64]
    """[N] what the known test takes"""
    revision: NDArray[np.int64]
    """[N] ``revision`` of a pair when it was looked at, or -1"""
    log_det: NDArray[np.float64]
    """[N] ``log_det`` of a pair when it was looked at"""
    loss_high: NDArray[np.float64]
    """[N] the largest plausible loss, what is added included"""
    direction: NDArray[np.float64]
    """[d] scratch: V^-1 c of the pair whose set is computed"""
    residual: NDArray[np.float64]
    """[d] scratch: c less V times that"""
    room: Any
    """of the confidence model"""
    explore: Any
    """of the exploration rule"""
    progress: np.void
    """fields: EPISODE_PROGRESS"""


def new_learner_state(
    regression: RegressionSums,
    pair_start: NDArray[np.int64],
    *,
    loss_floor: float,
    loss_bound: float,
    sets: Struct,
    watch: Struct,
) -> LearnerState:
    """Nothing learned; the estimates have still to be started (:func:`goalbound.learners.doubling.reset_data`)."""
    pairs, size = regression.loss_sums.shape
    states = len(pair_start) - 1
    values = np.full(states + 1, loss_floor)
    values[states] = 0.0
    totals = new_record(LEARNER_TOTALS)
    totals["loss_bound"] = loss_bound
    return LearnerState(
        regression=regression,
        pending=new_pending(pairs, size),
        revision=np.zeros(pairs, dtype=np.int64),
        log_det=np.zeros(pairs),
        sets=sets,
        watch=watch,
        values=values,
        policy=np.array(pair_start[:-1]),
        totals=totals,
        change_log=np.zeros(CHANGE_LOG_SIZE, dtype=np.int64),
    )


def new_episode_state(
    pair_start: NDArray[np.int64],
    next_start: NDArray[np.int64],
    size: int,
    *,
    shape: int,
    ceiling: float,
    room: Struct,
    explore: Struct,
) -> EpisodeState:
    """Arrays for one episode. O(M + N)."""
    states, pairs = len(pair_start) - 1, len(next_start) - 1
    return EpisodeState(
        context=np.zeros(size),
        sets=new_uncertainty_set(pair_start, next_start, shape=shape, ceiling=ceiling),
        iteration=new_value_iteration_state(states, pairs),
        norm=np.zeros(pairs),
        known_width=np.zeros(pairs),
        revision=np.full(pairs, -1, dtype=np.int64),
        log_det=np.zeros(pairs),
        loss_high=np.zeros(pairs),
        direction=np.zeros(size),
        residual=np.zeros(size),
        room=room,
        explore=explore,
        progress=new_record(EPISODE_PROGRESS),
    )
