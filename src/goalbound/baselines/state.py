"""The arrays of the context-free learners."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.records import mapped, new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.planning.kernels.elimination import EvaluationWorkspace, new_evaluation_workspace
from goalbound.planning.kernels.value_iteration import (
    UncertaintySet,
    ValueIterationState,
    new_uncertainty_set,
    new_value_iteration_state,
)

LEARNER_TOTALS = record_type(
    reals=("loss_bound",),
    integers=("episodes", "steps", "plans", "stale", "triggers", "retries", "goals", "goals_before", "sweeps"),
)
"""Fields of :attr:`LearnerState.totals`: B; episodes begun, steps made, plans made, whether the shared plan has to be
made anew, triggers j (EB-SSP), later attempts G (UC-SSP), goals of the epoch and of the one before (PSRL-SSP), sweeps
of value iteration made."""

EPISODE_PROGRESS = record_type(integers=("number", "plan", "intervals", "unknown_steps", "steps", "limit"))
"""Fields of :attr:`EpisodeState.progress`: the number k of the episode, the plan that is followed (0: none), plans
begun to be followed, steps with unknown pairs, steps made with this plan, H of the attempt (UC-SSP)."""


class Constants(Struct):
    """The constants of a run. S states, N pairs, M triples."""

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
    """[N] a pair with more visits is known (Hoeffding-SSP; else -1)"""
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
    policy_iteration: bool
    """whether plans are made by policy iteration: O(S^3), for few states"""


class VisitCounts(Struct):
    """What was seen so far. Next states are indexed in the order in which they were first seen."""

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
    seen_index: NDArray[np.int32]
    """[M] by triple: the index of a next state in its row, or -1"""
    seen_state: NDArray[np.int32]
    """[M] by seen index: the next state"""
    seen_count: NDArray[np.int64]
    """[M] by seen index: how often it came"""


class PlanningModel(Struct):
    """A model to plan in, where value iteration in it stands, and the pairs that it has not looked at since a visit."""

    sets: UncertaintySet
    iteration: ValueIterationState
    dirty: NDArray[np.int64]
    """[N] the first ``dirty_count[0]`` are pairs, each once"""
    is_dirty: NDArray[np.bool_]
    """[N]"""
    dirty_count: NDArray[np.int64]
    """[1] how many pairs wait"""


class Bonus(Struct):
    """What EB-SSP and ULCVI know of a pair beside its row: as of the visit, or plan, when it was last looked at."""

    rate: NDArray[np.float64]
    """[N] log term / n"""
    flat: NDArray[np.float64]
    """[N] the bonus of the losses"""
    steep: NDArray[np.float64]
    """[N] the part that depends on the values only by their bound: per unit of B (EB-SSP), or whole (ULCVI)"""


class MethodWorkspace(Struct):
    """Where single methods work. What a method does not use has no entries."""

    _unsaved = ("row", "values", "upper", "workspace")

    row: NDArray[np.float64]
    """[M] optimistic rows by seen index (UC-SSP), or weights by triple (PSRL-SSP)"""
    values: NDArray[np.float64]
    """[2, S + 1] values of two sweeps (UC-SSP, EB-SSP), or lower values of two stages (ULCVI)"""
    upper: NDArray[np.float64]
    """[2, S + 1] upper values of two stages (ULCVI)"""
    table: NDArray[np.int32]
    """[H, S] the pair of each stage and state (ULCVI)"""
    workspace: EvaluationWorkspace
    """to evaluate policies in; empty for many states"""


class LearnerState(Struct):
    """All of a learner that changes, its generator apart."""

    counts: VisitCounts
    visits_used: NDArray[np.int64]
    """[N] the visits of a pair when it was last looked at"""
    main: PlanningModel
    unit: PlanningModel
    """as ``main``, sharing its rows, with a loss of 1 everywhere: the later attempts of UC-SSP"""
    bonus: Bonus
    workspace: MethodWorkspace
    totals: np.void
    """fields: LEARNER_TOTALS"""


class EpisodeState(Struct):
    """What an episode holds."""

    policy: NDArray[np.int64]
    """[S] the pair of each state in the plan that is followed (ULCVI: not used, it follows the table)"""
    progress: np.void
    """fields: EPISODE_PROGRESS"""


def new_learner_state(constants: Constants, *, shape: int, ceiling: float = np.inf) -> LearnerState:
    """Nothing seen yet, all mass goes to the goal; plans will have no value above ``ceiling``. O(M + H S)."""
    states, pairs, triples = len(constants.pair_start) - 1, len(constants.pair_state), len(constants.next_state)
    sets = new_uncertainty_set(constants.pair_start, constants.next_start, shape=shape, ceiling=ceiling)
    main = _new_planning_model(sets, constants.floor)
    totals = new_record(LEARNER_TOTALS)
    totals["stale"] = 1
    totals["loss_bound"] = constants.loss_bound
    return LearnerState(
        counts=VisitCounts(
            visits=np.zeros(pairs, dtype=np.int64),
            loss_sums=np.zeros(pairs),
            square_sums=np.zeros(pairs),
            seen=np.zeros(pairs, dtype=np.int64),
            goals=np.zeros(pairs, dtype=np.int64),
            seen_index=np.full(triples, -1, dtype=np.int32),
            seen_state=np.zeros(triples, dtype=np.int32),
            seen_count=np.zeros(triples, dtype=np.int64),
        ),
        visits_used=np.zeros(pairs, dtype=np.int64),
        main=main,
        unit=_new_planning_model(main.sets._replace(losses=np.ones(pairs)), 1.0),
        bonus=Bonus(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)),
        workspace=MethodWorkspace(
            row=np.zeros(triples),
            values=np.zeros((2, states + 1)),
            upper=np.zeros((2, states + 1)),
            table=np.zeros((constants.horizon, states), dtype=np.int32),
            workspace=new_evaluation_workspace(states if constants.policy_iteration else 0),
        ),
        totals=totals,
    )


def new_episode_state(states: int) -> EpisodeState:
    """Arrays for one episode. O(S)."""
    return EpisodeState(np.zeros(states, dtype=np.int64), new_record(EPISODE_PROGRESS))


def _new_planning_model(sets: UncertaintySet, least: float) -> PlanningModel:
    """All pairs wait to be looked at; values start at the least loss."""
    states, pairs = len(sets.pair_start) - 1, len(sets.used)
    iteration = new_value_iteration_state(states, pairs)
    iteration.values[:-1] = least
    iteration.policy[:] = sets.pair_start[:-1]
    return PlanningModel(sets, iteration, np.arange(pairs), np.ones(pairs, dtype=np.bool_), np.array([pairs]))


def copied(learner: LearnerState) -> LearnerState:
    """The same state in other arrays, to try something in. What is shared in it stays shared. O(M + H S)."""

    def copy(part: Any) -> Any:
        is_array = isinstance(part, np.ndarray) and part.flags.writeable
        return part.copy() if is_array or isinstance(part, np.void) else part

    found: LearnerState = mapped(learner, copy)
    return found
