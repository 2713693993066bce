"""The confidence set of a context."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence import radii as radii_kernels
from goalbound.confidence import regression as regression_kernels
from goalbound.confidence.estimate import Estimate, project, ridge_estimate
from goalbound.confidence.statistics import Statistics
from goalbound.confidence.widths import Radii, Widths, paper, rule_names
from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.models import BallSet
from goalbound.models.validation import check_distribution, check_float, check_fraction, check_type

_BALLS = f"give {rule_names(lambda rule: rule.intervals is None)}, or scale one of them"


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
    if statistics.holds_guesses:
        raise ArgumentError(
            "the statistics began with guesses of the prior, which are no data; take those of a learner without "
            "guesses, or of an LRCSSP"
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
        out[0, pair], _, _ = run(regression_kernels.solve_context)(
            gram, regression.inverse[pair], context, statistics.regularization, x, residual
        )
        error = run(regression_kernels.ridge_error)(
            gram, regression.loss_sums[pair], model.losses[pair], statistics.regularization
        )
        stochastic = count == row.stop - row.start
        gap = run(regression_kernels.projection_gap)(gram, sums[row], model.rows[row], count, stochastic)
        grown = run(radii_kernels.visits_log)(regression.visits[pair], statistics.regularization, 0.0)
        out[1, pair], out[2, pair], _ = run(radii_kernels.ball_radii)(
            size, radii.loss_log, radii.next_log, grown, statistics.regularization, radii.loss_factor,
            radii.next_factor[pair], missing[pair], error, gap,
        )  # fmt: skip
    return out
