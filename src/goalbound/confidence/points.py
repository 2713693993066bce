"""Point estimates: the projected ridge estimate of each pair, with no set around it.

What learners without confidence sets plan in, and the centre of the paper's balls (:mod:`goalbound.confidence.balls`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.projection import ProjectionWorkspace, new_projection_workspace, project
from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.regression import FILE_SLACK, dot, ridge, ridge_of
from goalbound.jit.compile import lean
from goalbound.jit.records import lazy_zeros
from goalbound.jit.struct import Struct
from goalbound.models.files.ranges import around, within
from goalbound.planning.kernels.stochastic_rows import NO_GOAL, cannot_reach_goal
from goalbound.planning.kernels.value_iteration import L2_BALL


class PointState(Struct):
    """The estimates of all pairs, by seen index as the sums are."""

    losses: NDArray[np.float64]
    """[N, d] ridge coefficients"""
    rows: NDArray[np.float64]
    """[M, d] projected coefficients"""


def new_point_state(run: Run) -> PointState:
    """Nothing was seen."""
    support = run.support
    return PointState(lazy_zeros((support.pairs, run.size)), lazy_zeros((support.triples, run.size)))


@lean
def regress_and_project(constants, state, scratch, pair):
    """The estimate of a pair from its sums (Algorithm 1, lines 22 and 23). Returns whether the projection failed.

    O(count d^2) for the ``count`` next states that were seen, or that are declared where the goal is not.
    """
    regression = state.regression
    first = constants.next_start[pair]
    count = regression.seen[pair]
    inverse = regression.inverse[pair]
    ridge(regression.loss_sums[pair : pair + 1], inverse, 1, state.sets.losses[pair : pair + 1])
    rows = state.sets.rows[first : first + count]
    ridge(regression.next_sums[first : first + count], inverse, count, scratch.target)
    return project(regression.gram[pair], inverse, count, cannot_reach_goal(constants, pair), scratch, rows) < 0


@lean
def start_at_guess(constants, state, pair):
    """The estimate of a pair without data: its guess, or 0; where the goal cannot follow a uniform row, which is the
    projection of 0 in the norm of lambda I."""
    goal = len(constants.pair_start) - 1
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    size = state.sets.losses.shape[1]
    if constants.model.guessed[pair]:
        at = first
        for j in range(size):
            state.sets.losses[pair, j] = constants.model.losses[pair, j]
        for place in range(first, last):
            if constants.next_state[place] != goal:
                for j in range(size):
                    state.sets.rows[at, j] = constants.model.rows[place, j]
                at += 1
    elif cannot_reach_goal(constants, pair):
        state.sets.rows[first:last] = 1.0 / (last - first)


@lean
def erase_estimate(constants, state, pair):
    """The estimate of a pair is 0."""
    state.sets.losses[pair] = 0.0
    state.sets.rows[constants.next_start[pair] : constants.next_start[pair + 1]] = 0.0


@lean
def estimated_loss(state, view, pair):
    """The estimated loss of a pair under the context of the view, not clipped. O(d)."""
    return dot(state.sets.losses[pair], view.context)


@lean
def estimated_row(constants, state, view, pair):
    """The estimated row of a pair under the context of the view, by seen index, as the centre of its set.
    O(count d)."""
    sets = view.sets
    first = constants.next_start[pair]
    count = state.regression.seen[pair]
    mass = 0.0
    for k in range(first, first + count):
        q = dot(state.sets.rows[k], view.context)
        sets.centre[k] = q
        sets.state[k] = state.regression.seen_state[k]
        mass += q * q
    sets.used[pair] = count
    sets.mass[pair] = NO_GOAL if cannot_reach_goal(constants, pair) else mass


@lean
def point_loss(constants, state, view, pair):
    """The estimated loss, clipped from above."""
    loss = min(1.0, estimated_loss(state, view, pair))
    return loss, loss


@lean
def point_row(constants, state, view, pair):
    """The estimated row alone."""
    view.sets.ball[pair] = 0.0
    estimated_row(constants, state, view, pair)
    return 0.0


@lean
def no_width(constants, state, view, pair, low, high, width):
    """Points have no width."""
    return 0.0


@lean
def is_never_known(constants, state, view, pair):
    """Nothing is known for sure without a confidence set."""
    return False


@lean
def renew_point(constants, state, scratch, pair):
    """The estimate of a pair whose sums have changed; a projection that failed is counted, and ends the run."""
    if regress_and_project(constants, state, scratch, pair):
        state.totals["failed_projections"] += 1


POINT_SLOTS = SetSlots(
    loss_set=point_loss,
    row_set=point_row,
    known_width=no_width,
    loss_width=no_width,
    is_known=is_never_known,
    renew=renew_point,
    start=start_at_guess,
    erase=erase_estimate,
)


@dataclass(frozen=True)
class Points(ConfidenceModel):
    """The room of point estimates; exploration rules exchange single kernels of it.

    Attributes:
        slots: its kernels.
    """

    slots: SetSlots = POINT_SLOTS
    name = "points"
    shape = L2_BALL

    def new_state(self, run: Run, constants: Any) -> PointState:
        """Estimates of 0."""
        return new_point_state(run)

    def new_scratch(self, run: Run) -> ProjectionWorkspace:
        """Those of the projection."""
        return new_projection_workspace(int(np.diff(run.support.next_start).max()), run.size)

    def check(self, learner: Any) -> None:
        """Coefficients as large as ridge regression can make them."""
        sets, visits = learner._state.sets, learner._state.regression.visits
        most = 1.0 + 2.0 * np.sqrt(sets.losses.shape[1] + visits / ridge_of(learner._constants))
        within("state.sets.losses", sets.losses, *around(0.0, most[:, None]))
        within("state.sets.rows", sets.rows, 0.0, 1.0 + FILE_SLACK)
