"""The confidence sets of the paper: an ellipsoid around the ridge estimate of each pair, and around its projected rows.

Under a context they are an interval of losses and a Euclidean ball of rows: eq. (loss-confidence-set-per-context) and
eq. (dynamics-confidence-set-per-context). :mod:`goalbound.confidence.widths` says which radii are proven. Learners,
:func:`confidence_set` and the bounds of the regret take the radii from :func:`ball_radii`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence import regression as kernels
from goalbound.confidence.estimate import Estimate, project, ridge_estimate
from goalbound.confidence.points import (
    Points,
    PointState,
    erase_estimate,
    estimated_loss,
    estimated_row,
    new_point_state,
    regress_and_project,
    start_at_guess,
)
from goalbound.confidence.projection import ProjectionWorkspace
from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.regression import UNIT, projection_gap, ridge_error
from goalbound.confidence.statistics import Statistics
from goalbound.confidence.widths import Radii, Widths, paper, rule_names
from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine, lean
from goalbound.jit.struct import Struct
from goalbound.models import BallSet
from goalbound.models.files.ranges import LARGEST, within
from goalbound.models.validation import check_distribution, check_float, check_fraction, check_type
from goalbound.planning.kernels.stochastic_rows import cannot_reach_goal
from goalbound.planning.kernels.value_iteration import L2_BALL

_BALLS = f"give {rule_names(lambda rule: rule.intervals is None)}, or scale one of them"


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
def visits_log(visits, regularization, restart_log):
    """log(1 + tau / lambda), and what a restart costs."""
    return log(1.0 + visits / regularization) + restart_log


@lean
def ridge_radius(size, failure_log, grown, regularization):
    """rho = sqrt(d (log(x / failure) + grown)) + sqrt(lambda) for d = ``size`` and ``grown`` of :func:`visits_log`."""
    return sqrt(size * (failure_log + grown)) + sqrt(regularization)


@lean
def ball_radii(size, loss_log, next_log, grown, regularization, loss_factor, next_factor, missing, loss_error, gap):
    """The radii of the loss and of the rows of a pair, and the rho of its rows.

    Reads the paper as: 1 + tau / lambda in all of them.
    Departs from the paper: outcomes that are missing, an inexact ridge estimate (``loss_error``), an inexact projection
    (``gap``) and data that may be forgotten make the sets larger; all four are nearly always 0 or next to it.
    """
    loss_radius = loss_factor * ridge_radius(size, loss_log, grown, regularization) + missing + loss_error
    rho = ridge_radius(size, next_log, grown, regularization)
    radius = next_factor * rho + missing
    return loss_radius, sqrt(radius * radius + 2.0 * gap), rho


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
        UNIT * state.pending.norms[pair],
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
        losses[:] = 0.0
        loss_error = ridge_error(gram, regression.loss_sums[pair], losses, constants.regularization)
    stochastic = cannot_reach_goal(constants, pair)
    gap = projection_gap(gram, sums, rows, count, stochastic)
    if gap == np.inf:
        rows[:] = 1.0 / count if stochastic else 0.0
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

    def constants(self, run: Run) -> Radii:
        """The constants of the radii, checked against what the proof needs."""
        self.widths.check(run.support, run.size, delta=run.delta, regularization=run.regularization)
        return self.widths.radii(run.support, delta=run.delta)

    def new_state(self, run: Run, constants: Any) -> BallState:
        """Nothing was seen."""
        points: PointState = new_point_state(run)
        pairs = run.support.pairs
        return BallState(points.losses, points.rows, np.zeros(pairs), np.zeros(pairs), np.zeros(pairs))

    def new_scratch(self, run: Run) -> ProjectionWorkspace:
        """Those of the projection."""
        return Points().new_scratch(run)

    def check(self, learner: Any) -> None:
        """Coefficients as large as ridge regression can make them, and radii that are numbers."""
        Points().check(learner)
        sets = learner._state.sets
        for name in ("loss_radius", "next_radius", "known_width"):
            within(f"state.sets.{name}", getattr(sets, name), 0.0, LARGEST)


def confidence_set(
    statistics: Statistics,
    context: ArrayLike,
    *,
    widths: Widths | None = None,
    delta: float = 0.1,
    loss_floor: float = 0.0,
    estimate: Estimate | None = None,
) -> BallSet:
    """The models that are plausible under a context after the steps recorded.

    eq. (loss-confidence-set-per-context) and eq. (dynamics-confidence-set-per-context).

    With :func:`paper` widths the true problem lies in it for all contexts and at all times with probability at least
    1 - delta. The image of an ellipsoid {L : |L - L_hat|_V <= rho} under a context c is the interval of half width
    rho w around L_hat c, w = |c|_{V^-1}; the image of the matrices is a Euclidean ball of radius R w. Losses are cut to
    [loss floor, 1], where the true ones lie, and rows to those on the declared support. ``estimate`` is the projected
    estimate, if it is at hand. R counts all next states of a pair other than the goal, seen or not: each has a row of
    the regression that is off by at most rho, and the projection, on a convex set that holds the truth, takes their
    matrix no further from it. (Rows that sum to 1 have one dimension less; R does not make use of it.)

    Rounding, an inexact projection and outcomes that are not known yet make the set larger, never wrong.

    >>> from goalbound.models import Support
    >>> confidence_set(Statistics(Support.full(1, 1), 1), [1.0]).loss_low
    array([0.])
    """
    check_type(statistics, Statistics, "statistics", "give Statistics, such as learner.statistics")
    if statistics.has_prior:
        raise ArgumentError(
            "the statistics began with a prior that is not lambda I: with guesses, which are no data, or pooled over "
            "components; take those of an LRCSSP, or enter the steps in Statistics of your own"
        )
    if estimate is not None:
        check_type(estimate, Estimate, "estimate", "give a projected estimate, or leave it out")
    weights = check_distribution(context, "context", statistics.context_size, "component")
    rule = paper() if widths is None else check_type(widths, Widths, "widths", _BALLS)
    if rule.intervals is not None:
        raise ArgumentError(
            f"{rule} widths make intervals, not balls, and need what the learner saw on its way; ask the "
            "learner: learner.confidence_set(context)"
        )
    delta = check_fraction(delta, "delta", "the probability with which the sets may fail")
    loss_floor = check_float(loss_floor, "loss_floor", "the least mean loss of a pair, in [0, 1]")
    if not 0.0 <= loss_floor <= 1.0:
        raise ArgumentError(f"loss_floor {loss_floor} is not in [0, 1]")
    support = statistics.support
    rule.check(support, statistics.context_size, delta=delta, regularization=statistics.regularization)
    model = project(ridge_estimate(statistics)) if estimate is None else estimate
    if not model.projected:
        raise ArgumentError("the estimate is a ridge estimate: its rows may be negative; project it first")
    if model.support != support or model.losses.shape[1] != statistics.context_size:
        raise ArgumentError(f"{model} is not an estimate from {statistics}")
    norm, loss_radius, next_radius = _ball_radii(statistics, model, weights, rule.radii(support, delta=delta))
    loss_width = loss_radius * norm
    centre = model.losses @ weights
    return BallSet(
        support,
        loss_low=np.clip(centre - loss_width, loss_floor, 1.0),
        loss_high=np.clip(centre + loss_width, loss_floor, 1.0),
        rows=np.clip(model.rows @ weights, 0.0, 1.0),
        radii=next_radius * norm,
    )


def _ball_radii(
    statistics: Statistics, model: Estimate, context: NDArray[np.float64], radii: Radii
) -> NDArray[np.float64]:
    """[3, N] the norm of the context in V^-1, and the radii of losses and rows, by the kernels of the learner."""
    support, regression, size = statistics.support, statistics.regression, statistics.context_size
    run = engine(support.triples)
    x, residual = np.zeros_like(context), np.zeros_like(context)
    sums, missing = statistics.next_sums, statistics.pending_norms
    out = np.zeros((3, support.pairs))
    for pair in range(support.pairs):
        gram, row = regression.gram[pair], support.row(pair)
        count = int((support.next_state[row] < support.states).sum())
        out[0, pair], _, _ = run(kernels.solve_context)(
            gram, regression.inverse[pair], context, statistics.regularization, x, residual
        )
        error = run(kernels.ridge_error)(
            gram, regression.loss_sums[pair], model.losses[pair], statistics.regularization
        )
        stochastic = count == row.stop - row.start
        gap = run(kernels.projection_gap)(gram, sums[row], model.rows[row], count, stochastic)
        grown = run(visits_log)(regression.visits[pair], statistics.regularization, 0.0)
        out[1, pair], out[2, pair], _ = run(ball_radii)(
            size, radii.loss_log, radii.next_log, grown, statistics.regularization, radii.loss_factor,
            radii.next_factor[pair], missing[pair], error, gap,
        )  # fmt: skip
    return out
