"""What a learner by ridge regression is made of: its constants, all that changes, and how one context looks to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.kernels.interchangeable import InterchangeablePairs
from goalbound.kernels.lazy_arrays import lazy_zeros
from goalbound.kernels.likelihood import LikelihoodConstants
from goalbound.kernels.likelihood_state import (
    FORECASTERS,
    LikelihoodState,
    new_likelihood_state,
    part_in_use,
)
from goalbound.kernels.linearity_test import LinearityTest, new_linearity_test
from goalbound.kernels.model_prior import ModelPrior
from goalbound.kernels.pending import Pending, new_pending
from goalbound.kernels.regression import RegressionSums
from goalbound.kernels.value_iteration import (
    INTERVAL_SET,
    L2_BALL,
    UncertaintySet,
    ValueIterationState,
    new_uncertainty_set,
    new_value_iteration_state,
)

OPTIMISTIC, GREEDY, POSTERIOR, RMAX, LOCAL = 0, 1, 2, 3, 4
"""Ways of exploring. OPTIMISTIC: the most optimistic model of the sets (LR-CSSP). GREEDY: the estimate. POSTERIOR: a
draw from the Gaussian posterior around it. RMAX: the estimate where it is known, else straight to the goal. LOCAL: the
estimate, but for the step that is to be made, which is optimistic."""

LEARNER_TOTALS = record_type(
    reals=("loss_bound", "restart_log", "squared_losses"),
    integers=("intervals", "failed_projections", "doublings", "changes", "episodes", "restarts", "logged"),
)
"""Fields of :attr:`LearnerState.totals`: B; log of the share of the failure probability that data gets which is
forgotten when the bound doubles; the sum of the squares of all losses; intervals opened, projections that failed,
doublings, entries of the change log, episodes begun, how often all data was forgotten, steps that others chose (those
of a log, and overridden ones)."""

EPISODE_PROGRESS = record_type(
    reals=("loss_bound", "interval_loss", "planned_loss", "own_share", "mean_loss", "shrinkage", "dispersion",
           "concentration"),
    integers=(
        "interval", "planned", "intervals", "unknown_steps", "changes_read", "changes_known", "number", "restarts",
        "counted", "counted_norm", "optimistic",
    ),
)  # fmt: skip
"""Fields of :attr:`EpisodeState.progress`: the loss bound of the plan, the loss of the interval so far, the loss that
the plan expected where it was begun (kept where there is a ``patience``); the number m of the interval, whether a plan
is held, intervals and unknown steps of this episode, entries of the change log read, and how many there were when the
episode last acted or arrived in a state (OPTIMISTIC); the number of the episode from 1 on; of the visit whose outcome
is awaited: the learner's restarts when it was made, whether it counts already, the norm with which it does (in UNITs
of :mod:`.pending`); POSTERIOR: whether the plan is optimistic; LOCAL: as
:func:`.loss_shrinkage.set_loss_shrinkage` and :mod:`.interchangeable` say."""

CHANGE_LOG_SIZE = 64
"""How many changes an episode may have missed before it checks all pairs."""


class IntervalConstants(Struct):
    """How the intervals of the sharp widths are made (:func:`goalbound.estimation.sharp` says why they are valid)."""

    _static = ("on",)

    on: bool
    """whether rows are in intervals at all; if not, nothing below matters"""
    goal: bool
    """whether the goal has an interval of its own; else any mass may go there"""
    determinant: bool
    """whether the determinant of the Gram matrix is used, or a bound of it by the visits"""
    entrywise: bool
    """whether the bias of the ridge is bounded entry by entry, or by norms"""
    variance: bool
    """whether bounds by the variance of a next state are used where they are smaller"""
    noise: float
    """R, the sub-Gaussian constant of a number in [0, 1], times the scale"""
    loss_log: float
    """log(1 / failure) of a loss"""
    row_log: float
    """log(1 / failure) of a next state"""
    variance_log: float
    """log(1 / failure) of a next state, for the bound by the variance"""
    scale: float
    """of all bounds of noise; that of the bias is what it is"""


class PriorArrays(Struct):
    """Prior knowledge of single pairs."""

    floor: NDArray[np.float64]
    """[N] a lower bound of the mean loss, what is added included"""
    loss_known: NDArray[np.bool_]
    """[N]"""
    losses: NDArray[np.float64]
    """[N, d] where known"""
    row_known: NDArray[np.bool_]
    """[N]"""
    rows: NDArray[np.float64]
    """[M, d] where known; empty if no row is"""


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
    next_factor: NDArray[np.float64]
    """[N] radius of the rows = factor * rho"""
    known_factor: NDArray[np.float64]
    """[N] beta = factor * rho"""
    width_factor: NDArray[np.float64]
    """[N] what a radius counts in beta: the root of the number of next states other than the goal, at least 1"""
    loss_factor: float
    loss_log: float
    """log(8 N / delta)"""
    next_log: float
    """log(8 M' / delta), M' triples that do not lead to the goal"""
    regularization: float
    delta: float
    """delta / 4 is the share of each of the other two items of the good event"""
    loss_floor: float
    """l_min of the problem that is planned in: what was added to the losses included"""
    added_loss: float
    """the corollary's epsilon, or 0"""
    tolerance: float
    """how much a value may change in the last sweep"""
    doubling: bool
    forget: bool
    exploration: int
    growth: float
    """an unknown step ends its interval if the log-determinant of its Gram matrix has grown by this since the plan"""
    spread: float
    """POSTERIOR: the standard deviation of a coefficient is this in the norm of the Gram matrix; LOCAL: the factor of
    the bonus of a pair"""
    spread_by_variance: bool
    """POSTERIOR: times the estimated standard deviation of an outcome"""
    optimism: float
    """POSTERIOR: the share of plans that are optimistic instead"""
    patience: float
    """a plan ends once more is lost under it than this times 1 plus what it expected; infinite for OPTIMISTIC"""
    threshold: float
    """RMAX: a pair is known where the sum of |V^-1 c| is at most this"""
    explore: float
    """share of steps, in the first episode, that play any pair"""
    fade: float
    """in episode k it is explore * k^-fade"""
    intervals: IntervalConstants
    likelihood: LikelihoodConstants
    prior: PriorArrays
    model: ModelPrior
    interchangeable: InterchangeablePairs
    policy_iteration: bool
    """whether plans are made by policy iteration: O(S^3), for few states where it pays"""
    tests_linearity: bool
    """whether outcomes are tested against the linear model"""
    alarm_log: float
    """log(1 / failure) of one test of the linear model"""


class LearnerState(Struct):
    """All of a learner that changes. Estimates are by seen index, like the sums."""

    regression: RegressionSums
    pending: Pending
    losses: NDArray[np.float64]
    """[N, d] ridge coefficients"""
    rows: NDArray[np.float64]
    """[M, d] projected coefficients; empty where rows are in intervals, which are made from the sums"""
    loss_radius: NDArray[np.float64]
    """[N]"""
    next_radius: NDArray[np.float64]
    """[N]"""
    known_width: NDArray[np.float64]
    """[N] beta of the known test"""
    revision: NDArray[np.int64]
    """[N] how often the estimate of a pair has changed"""
    log_det: NDArray[np.float64]
    """[N] an upper bound of the log-determinant of the Gram matrix, less that without data"""
    variance: NDArray[np.float64]
    """[M, d (d + 1) / 2] sums of c c^T times a bound of the variance of the next state then: the lower triangle, row by
    row; empty where nothing asks for it"""
    variance_log_det: NDArray[np.float64]
    """[M] the log-determinant that belongs to it, with its shares of failure; else empty"""
    likelihood: LikelihoodState
    linearity: LinearityTest
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

    context: NDArray[np.float64]
    """[d]"""
    sets: UncertaintySet
    iteration: ValueIterationState
    norm: NDArray[np.float64]
    """[N] the norm of the context in the pair's inverse Gram matrix"""
    known_width: NDArray[np.float64]
    """[N] beta * norm"""
    revision: NDArray[np.int64]
    """[N] ``revision`` of a pair when it was looked at, or -1"""
    log_det: NDArray[np.float64]
    """[N] ``log_det`` of a pair when it was looked at"""
    loss_high: NDArray[np.float64]
    """[N] intervals: the largest plausible loss, what is added included; else empty"""
    forecast: NDArray[np.float64]
    """[m + 1, FORECASTERS] likelihood-ratio sets: the forecasts of the loss and of the next states of the pair that is
    played, for m the most next states of a pair; else empty"""
    noise: NDArray[np.float64]
    """[M + N] POSTERIOR: standard normal numbers, by triple of the support and then by pair; else empty"""
    direction: NDArray[np.float64]
    """[d] scratch: V^-1 c of the pair whose set is computed"""
    residual: NDArray[np.float64]
    """[d] scratch: c less V times that"""
    progress: np.void
    """fields: EPISODE_PROGRESS"""


def new_learner_state(
    regression: RegressionSums,
    pair_start: NDArray[np.int64],
    loss_floor: float,
    loss_bound: float,
    *,
    rows: bool = True,
    variance: bool = False,
    lattice: tuple[int, int] = (0, 0),
    parts: int = 0,
) -> LearnerState:
    """Nothing learned; the radii have still to be set. ``lattice``: vertices and cells of likelihood-ratio sets."""
    pairs, size = regression.loss_sums.shape
    states = len(pair_start) - 1
    values = np.full(states + 1, loss_floor)
    values[states] = 0.0
    totals = new_record(LEARNER_TOTALS)
    totals["loss_bound"] = loss_bound
    return LearnerState(
        regression=regression,
        pending=new_pending(pairs, size),
        losses=lazy_zeros((pairs, size)),
        rows=lazy_zeros((len(regression.next_sums) if rows else 0, size)),
        loss_radius=np.zeros(pairs),
        next_radius=np.zeros(pairs),
        known_width=np.zeros(pairs),
        revision=np.zeros(pairs, dtype=np.int64),
        log_det=np.zeros(pairs),
        variance=lazy_zeros((len(regression.next_sums) if variance else 0, size * (size + 1) // 2)),
        variance_log_det=np.zeros(len(regression.next_sums) if variance else 0),
        likelihood=new_likelihood_state(pairs, len(regression.next_sums), size, *lattice),
        linearity=new_linearity_test(pairs, len(regression.next_sums), parts),
        values=values,
        policy=np.array(pair_start[:-1]),
        totals=totals,
        change_log=np.zeros(CHANGE_LOG_SIZE, dtype=np.int64),
    )


def state_in_use(state: LearnerState) -> LearnerState:
    """The same arrays, as views, without room for what was not seen yet: what is in a file."""
    return state._replace(likelihood=part_in_use(state.likelihood))


def new_episode_state(
    pair_start: NDArray[np.int64],
    next_start: NDArray[np.int64],
    size: int,
    *,
    shape: int = L2_BALL,
    ceiling: float = np.inf,
    sampled: bool = False,
    forecasts: bool = False,
) -> EpisodeState:
    """Arrays for one episode. O(M + N)."""
    states, pairs, triples = len(pair_start) - 1, len(next_start) - 1, int(next_start[-1])
    sets = new_uncertainty_set(pair_start, next_start, shape=shape, ceiling=ceiling)
    return EpisodeState(
        context=np.zeros(size),
        sets=sets,
        iteration=new_value_iteration_state(states, pairs),
        norm=np.zeros(pairs),
        known_width=np.zeros(pairs),
        revision=np.full(pairs, -1, dtype=np.int64),
        log_det=np.zeros(pairs),
        loss_high=np.zeros(pairs if shape == INTERVAL_SET else 0),
        forecast=np.full((int(np.diff(next_start).max()) + 1 if forecasts else 0, FORECASTERS), 0.5),
        noise=np.zeros(triples + pairs if sampled else 0),
        direction=np.zeros(size),
        residual=np.zeros(size),
        progress=new_record(EPISODE_PROGRESS),
    )
