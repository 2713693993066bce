"""The arrays of the context-free learners, and the codes that say what is where."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.elimination import Bench
from goalbound.kernels.optimism import Outlook, Plausible

UC, HOEFFDING, BERNSTEIN, EB, ULCVI, PSRL = 1, 2, 3, 4, 5, 6
"""The methods: :attr:`Rules.method`."""

BEGUN, STEPS, PLANS, STALE, TRIGGERS, RETRIES, GOALS, GOALS_BEFORE, SWEEPS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in :attr:`Learned.tally`."""

NUMBER, FOLLOWED, INTERVALS, UNKNOWN_STEPS, MADE, LIMIT = 0, 1, 2, 3, 4, 5
"""Places in :attr:`Walk.tally`."""


class Rules(NamedTuple):
    """The constants of a run. S states, N pairs, M triples."""

    method: int
    pair_state: NDArray[np.int32]
    """[N]"""
    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1]"""
    next_state: NDArray[np.int32]
    """[M]"""
    width: NDArray[np.float64]
    """[N] m1: the possible next states of a pair other than the goal, at least 1"""
    known_after: NDArray[np.float64]
    """[N] a pair with more visits is known (Hoeffding-SSP; else infinity)"""
    known_losses: NDArray[np.float64]
    """[N] the losses, if they are known"""
    losses_are_known: bool
    actions: int
    delta: float
    scale: float
    """what every radius and bonus is multiplied by"""
    loss_floor: float
    """f"""
    added_loss: float
    """e"""
    floor: float
    """f + e, the least loss of the problem that is planned in"""
    tolerance: float
    """how much a value may change in the last sweep"""
    loss_bound: float
    """B, or where doubling starts"""
    doubling: bool
    horizon: int
    """H of ULCVI"""
    prior: float
    """of each possible next state (PSRL-SSP)"""


class Counts(NamedTuple):
    """What was seen so far. Next states stand in slots, in the order in which they were first seen."""

    visits: NDArray[np.int64]
    """[N]"""
    loss_sums: NDArray[np.float64]
    """[N]"""
    square_sums: NDArray[np.float64]
    """[N] of the squared losses"""
    seen: NDArray[np.int64]
    """[N] how many different next states of a pair were seen, the goal left out"""
    goals: NDArray[np.int64]
    """[N] how often a pair led to the goal"""
    slot: NDArray[np.int32]
    """[M] by triple: the slot of a next state in its row, or -1"""
    slot_state: NDArray[np.int32]
    """[M] by slot: the next state"""
    slot_count: NDArray[np.int64]
    """[M] by slot: how often it came"""


class Front(NamedTuple):
    """A model to plan in, where value iteration in it stands, and the pairs that it has not looked at since a visit."""

    plausible: Plausible
    outlook: Outlook
    waiting: NDArray[np.int64]
    """[N] the first ``length[0]`` are pairs, each once"""
    is_waiting: NDArray[np.bool_]
    """[N]"""
    length: NDArray[np.int64]
    """[1] how many pairs wait"""


class Bonus(NamedTuple):
    """What EB-SSP and ULCVI know of a pair beside its row: as of the visit, or plan, when it was last looked at."""

    rate: NDArray[np.float64]
    """[N] log term / n"""
    flat: NDArray[np.float64]
    """[N] the bonus of the losses"""
    steep: NDArray[np.float64]
    """[N] the part that depends on the values only by their bound: per unit of B (EB-SSP), or whole (ULCVI)"""


class Room(NamedTuple):
    """Where single methods work. What a method does not use has no entries."""

    row: NDArray[np.float64]
    """[M] optimistic rows by slot (UC-SSP), or weights by triple (PSRL-SSP)"""
    values: NDArray[np.float64]
    """[2, S + 1] values of two sweeps (UC-SSP, EB-SSP), or lower values of two stages (ULCVI)"""
    upper: NDArray[np.float64]
    """[2, S + 1] upper values of two stages (ULCVI)"""
    table: NDArray[np.int32]
    """[H, S] the pair of each stage and state (ULCVI)"""
    bench: Bench
    """to evaluate policies in; empty for many states"""


class Learned(NamedTuple):
    """All of a learner that changes, its generator apart."""

    counts: Counts
    looked: NDArray[np.int64]
    """[N] the visits of a pair when it was last looked at"""
    main: Front
    unit: Front
    """as ``main``, sharing its rows, with a loss of 1 everywhere: the later attempts of UC-SSP"""
    bonus: Bonus
    room: Room
    bound: NDArray[np.float64]
    """[1] B"""
    tally: NDArray[np.int64]
    """[9] episodes begun, steps made, plans made, whether the shared plan has to be made anew, triggers j (EB-SSP),
    later attempts G (UC-SSP), goals of the epoch and of the one before (PSRL-SSP), sweeps of value iteration made"""


class Walk(NamedTuple):
    """What an episode holds."""

    policy: NDArray[np.int64]
    """[S] the pair of each state in the plan that is followed (ULCVI: not used, it follows the table)"""
    tally: NDArray[np.int64]
    """[6] the number k of the episode, the plan that is followed (0: none), plans begun to be followed, steps with
    unknown pairs, steps made with this plan, H of the attempt (UC-SSP)"""
