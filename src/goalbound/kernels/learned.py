"""What a learner by ridge regression is made of: its constants, all that changes, and how one context looks to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.gram import Memory
from goalbound.kernels.optimism import Outlook, Plausible
from goalbound.kernels.pending import Pending

HOPE, PLAIN, SAMPLE, RMAX = 0, 1, 2, 3
"""Attitudes. HOPE: the most hopeful model of the confidence sets (LR-CSSP). PLAIN: the estimate as it is. SAMPLE: a
draw from the Gaussian posterior around it. RMAX: the estimate where it is known, else straight to the goal."""

LOSS_BOUND, INTERVAL_LOSS = 0, 1
"""Places in :attr:`View.gauge`."""

INTERVAL, PLANNED, INTERVALS, UNKNOWN_STEPS, READ, EPISODE, RESTART, COUNTED, COUNTED_NORM = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in :attr:`View.tally`."""

OPENED, FAILED_PROJECTIONS, DOUBLINGS, WRITTEN, BEGUN, RESTARTS = 0, 1, 2, 3, 4, 5
"""Places in :attr:`Learned.tally`."""

JOURNAL = 64
"""How many changes a view may have missed before it looks at all pairs again."""


class BoxRules(NamedTuple):
    """How the boxes of the sharp widths are made (:func:`goalbound.estimation.sharp` says why they are valid)."""

    on: bool
    """whether rows are boxes at all; if not, nothing below matters"""
    goal: bool
    """whether the goal has a box of its own; else any mass may go there"""
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


class Told(NamedTuple):
    """What the learner was told of single pairs."""

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


class Rules(NamedTuple):
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
    doubt_factor: NDArray[np.float64]
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
    loss_floor: float
    """l_min of the problem that is planned in: what was added to the losses included"""
    added_loss: float
    """the corollary's epsilon, or 0"""
    tolerance: float
    """how much a value may change in the last sweep"""
    doubling: bool
    forget: bool
    attitude: int
    growth: float
    """an unknown step ends its interval if the log-determinant of its Gram matrix has grown by this since the plan"""
    spread: float
    """SAMPLE: the standard deviation of a coefficient is this in the norm of the Gram matrix"""
    threshold: float
    """RMAX: a pair is known where the sum of |V^-1 c| is at most this"""
    explore: float
    """share of steps, in the first episode, that play any pair"""
    fade: float
    """in episode k it is explore * k^-fade"""
    box: BoxRules
    told: Told
    alarm_log: float
    """log(1 / failure) of one test of the linear model"""


class Excess(NamedTuple):
    """By how much outcomes were outside the intervals that were plausible before, by part of the simplex (q parts).

    All are empty where nothing is tested.
    """

    steps: NDArray[np.int64]
    """[N, q]"""
    losses: NDArray[np.float64]
    """[N, q, 3] sums of loss - high, of low - loss and of declared floor - loss"""
    rows: NDArray[np.float64]
    """[M, q, 2] of each next state, without the last"""
    alarm: NDArray[np.int64]
    """[4] of the first contradiction: the pair, the place in the row (-1: the loss, -2: the loss and its floor), the
    part, the episode; -1: none"""


class Learned(NamedTuple):
    """All of a learner that changes. Estimates are by slot, like the sums."""

    memory: Memory
    pending: Pending
    losses: NDArray[np.float64]
    """[N, d] ridge coefficients"""
    rows: NDArray[np.float64]
    """[M, d] projected coefficients"""
    loss_radius: NDArray[np.float64]
    """[N]"""
    next_radius: NDArray[np.float64]
    """[N]"""
    doubt: NDArray[np.float64]
    """[N] beta of the known test"""
    changes: NDArray[np.int64]
    """[N] how often the estimate of a pair has changed"""
    volume: NDArray[np.float64]
    """[N] an upper bound of the log-determinant of the Gram matrix, less that without data"""
    variance: NDArray[np.float64]
    """[M, d, d] sums of c c^T times a bound of the variance of the next state then; empty where nothing asks for it"""
    level: NDArray[np.float64]
    """[M] the log-determinant that belongs to it, with its shares of failure; else empty"""
    excess: Excess
    values: NDArray[np.float64]
    """[S + 1] of the plan that was followed last: where the next context starts from"""
    policy: NDArray[np.int64]
    """[S] of that plan: the pair of each state"""
    bound: NDArray[np.float64]
    """[1] B, the loss bound"""
    restart_log: NDArray[np.float64]
    """[1] log of the share of the failure probability that data gets which is forgotten when the bound doubles"""
    tally: NDArray[np.int64]
    """[6] intervals opened, projections that failed, doublings, entries of the journal written, episodes begun, how
    often all data was forgotten"""
    journal: NDArray[np.int64]
    """[JOURNAL] the pairs whose estimates changed last, in a ring"""


class View(NamedTuple):
    """How one context looks to the learner: what an episode holds."""

    context: NDArray[np.float64]
    """[d]"""
    plausible: Plausible
    outlook: Outlook
    norm: NDArray[np.float64]
    """[N] the norm of the context in the pair's inverse Gram matrix"""
    doubt: NDArray[np.float64]
    """[N] beta * norm"""
    version: NDArray[np.int64]
    """[N] ``changes`` of a pair when it was looked at, or -1"""
    volume: NDArray[np.float64]
    """[N] ``volume`` of a pair when it was looked at"""
    loss_high: NDArray[np.float64]
    """[N] boxes: the largest plausible loss, what is added included; else empty"""
    noise: NDArray[np.float64]
    """[M + N] SAMPLE: standard normal numbers, by triple of the support and then by pair; else empty"""
    direction: NDArray[np.float64]
    """[d] room to work in: V^-1 c of the pair that is being looked at"""
    residual: NDArray[np.float64]
    """[d] room to work in: c less V times that"""
    gauge: NDArray[np.float64]
    """[2] the loss bound of the plan, the loss of the interval so far"""
    tally: NDArray[np.int64]
    """[9] the number m of the interval, whether a plan is held, intervals and unknown steps of this episode, entries of
    the journal read, the number of the episode from 1 on; of the visit whose outcome is awaited: the learner's restarts
    when it was made, whether it counts already, the norm with which it does (in UNITs of :mod:`.pending`)"""
