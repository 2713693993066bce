"""The confidence sets of the paper: an ellipsoid around the ridge estimate of each pair, and around its projected rows.

Under a context they are an interval of losses and a Euclidean ball of rows: eq. (loss-confidence-set-per-context) and
eq. (dynamics-confidence-set-per-context). :mod:`goalbound.confidence.widths` says which radii are proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.pending import pending_norm
from goalbound.confidence.points import (
    PointState,
    erase_estimate,
    estimated_loss,
    estimated_row,
    new_point_state,
    regress_and_project,
    start_at_guess,
)
from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.radii import ball_radii, visits_log
from goalbound.confidence.regression import projection_gap, ridge_error
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.models import BallSet
from goalbound.models.validation import set_readonly
from goalbound.planning.extended_value_iteration import in_support_order
from goalbound.planning.kernels.stochastic_rows import cannot_reach_goal
from goalbound.planning.kernels.value_iteration import L2_BALL

if TYPE_CHECKING:
    from goalbound.confidence.widths import Widths


class BallConstants(Struct):
    """The constants of the radii; see :class:`goalbound.confidence.widths.Radii`."""

    next_factor: NDArray[np.float64]
    """[N] radius of the rows = factor * rho"""
    known_factor: NDArray[np.float64]
    """[N] beta = factor * rho"""
    width_factor: NDArray[np.float64]
    """[N] what a radius counts in beta"""
    loss_factor: float
    loss_log: float
    """log(8 N / delta)"""
    next_log: float
    """log(8 M' / delta)"""


class BallState(Struct):
    """Estimates and radii of all pairs; the first two are those of :class:`.points.PointState`."""

    losses: NDArray[np.float64]
    """[N, d] ridge coefficients"""
    rows: NDArray[np.float64]
    """[M, d] projected coefficients, by seen index"""
    loss_radius: NDArray[np.float64]
    """[N]"""
    next_radius: NDArray[np.float64]
    """[N]"""
    known_width: NDArray[np.float64]
    """[N] beta of the known test"""


@lean
def set_radii(constants, state, pair, loss_error, gap):
    """The radii of a pair whose data has changed: eq. (loss-conf-set), eq. (dynamics-conf-set) and the beta of
    eq. (ineq-known)."""
    balls = constants.sets
    grown = visits_log(state.regression.visits[pair], constants.regularization, state.totals["restart_log"])
    state.sets.loss_radius[pair], state.sets.next_radius[pair], rho = ball_radii(
        state.sets.losses.shape[1],
        balls.loss_log,
        balls.next_log,
        grown,
        constants.regularization,
        balls.loss_factor,
        balls.next_factor[pair],
        pending_norm(state.pending, pair),
        loss_error,
        gap,
    )
    excess = state.sets.next_radius[pair] - balls.next_factor[pair] * rho
    state.sets.known_width[pair] = balls.known_factor[pair] * rho + balls.width_factor[pair] * excess + loss_error


@lean
def start_balls(constants, state, pair):
    """The sets of a pair without data."""
    start_at_guess(constants, state, pair)
    set_radii(constants, state, pair, 0.0, 0.0)


@lean
def renew_balls(constants, state, scratch, pair):
    """The sets of a pair whose sums have changed; an inexact projection makes them larger."""
    regress_and_project(constants, state, scratch, pair)
    loss_error, gap = certify_estimate(constants, state, pair)
    set_radii(constants, state, pair, loss_error, gap)


@lean
def certify_estimate(constants, state, pair):
    """How far the estimate of a pair may be from the exact one: the error of its loss, the gap of its projection.

    Where it is no number, 0 or a uniform row is put in its place: any estimate will do, with its error.
    """
    regression = state.regression
    losses = state.sets.losses[pair]
    gram = regression.gram[pair]
    first = constants.next_start[pair]
    count = regression.seen[pair]
    sums = regression.next_sums[first : first + count]
    rows = state.sets.rows[first : first + count]
    loss_error = ridge_error(gram, regression.loss_sums[pair], losses, constants.regularization)
    if loss_error == np.inf:
        for j in range(len(losses)):
            losses[j] = 0.0
        loss_error = ridge_error(gram, regression.loss_sums[pair], losses, constants.regularization)
    stochastic = cannot_reach_goal(constants, pair)
    gap = projection_gap(gram, sums, rows, count, stochastic)
    if gap == np.inf:
        for r in range(count):
            for j in range(len(losses)):
                rows[r, j] = 1.0 / count if stochastic else 0.0
        gap = projection_gap(gram, sums, rows, count, stochastic)
    return loss_error, gap


@lean
def ball_loss(constants, state, view, pair):
    """eq. (loss-confidence-set-per-context). The true loss lies in [loss floor, 1], so clipping keeps the guarantee.
    Departs from the paper: it does not clip."""
    centre = estimated_loss(state, view, pair)
    width = state.sets.loss_radius[pair] * view.norm[pair]
    return min(1.0, centre - width), centre + width


@lean
def ball_row(constants, state, view, pair):
    """eq. (dynamics-confidence-set-per-context): the rows within a radius of the estimated one."""
    radius = state.sets.next_radius[pair] * view.norm[pair]
    view.sets.ball[pair] = radius * radius
    estimated_row(constants, state, view, pair)
    return radius


@lean
def ball_known_width(constants, state, view, pair, low, high, width):
    """beta times the norm of the context."""
    return state.sets.known_width[pair] * view.norm[pair]


@lean
def ball_loss_width(constants, state, view, pair, low, high, width):
    """Half the length of the interval of losses."""
    return state.sets.loss_radius[pair] * view.norm[pair]


@dataclass(frozen=True)
class Balls(ConfidenceModel):
    """The room of the paper's sets.

    Attributes:
        widths: the rule of their radii.
    """

    widths: Widths
    slots = SetSlots(
        loss_set=ball_loss,
        row_set=ball_row,
        known_width=ball_known_width,
        loss_width=ball_loss_width,
        renew=renew_balls,
        start=start_balls,
        erase=erase_estimate,
    )
    shape = L2_BALL

    def constants(self, run: Run) -> BallConstants:
        """The constants of the radii, checked against what the proof needs."""
        self.widths.check(run.support, run.size, delta=run.delta, regularization=run.regularization)
        radii = self.widths.radii(run.support, delta=run.delta)
        return BallConstants(
            next_factor=set_readonly(radii.next_factor),
            known_factor=set_readonly(radii.known_factor),
            width_factor=set_readonly(radii.width_factor),
            loss_factor=radii.loss_factor,
            loss_log=radii.loss_log,
            next_log=radii.next_log,
        )

    def new_state(self, run: Run, constants: Any) -> BallState:
        """Nothing was seen."""
        points: PointState = new_point_state(run)
        pairs = run.support.pairs
        return BallState(points.losses, points.rows, np.zeros(pairs), np.zeros(pairs), np.zeros(pairs))

    def check(self, learner: Any) -> None:
        """Coefficients as large as ridge regression can make them, and radii that are numbers."""
        from goalbound.confidence import checks

        state, ridge = learner._state, checks.ridge_of(learner._constants)
        sets = state.sets
        checks.check_points(sets.losses, sets.rows, state.regression.visits, ridge)
        checks.check_radii(loss_radius=sets.loss_radius, next_radius=sets.next_radius, known_width=sets.known_width)

    def confidence_set(self, learner: Any, view: Any) -> BallSet:
        """The balls of all pairs, in the order of the support."""
        sets = in_support_order(learner.support, view.sets)
        declared, added = learner._constants.declared, learner._constants.added_loss
        room = learner._state.sets
        high = room.losses @ view.context + room.loss_radius * view.norm
        high = np.where(declared.loss_known, sets.losses, np.maximum(np.clip(high, 0.0, 1.0) + added, sets.losses))
        return BallSet(learner.support, sets.losses, high, np.clip(sets.centre, 0.0, 1.0), np.sqrt(sets.ball))
