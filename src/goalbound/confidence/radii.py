"""The radius of a confidence ellipsoid: Theorem (confidenceEllipsoid), eq. (loss-conf-set), eq. (dynamics-conf-set).

It stands here once; learners, :func:`goalbound.confidence.confidence_set` and the regret bounds all take it from here.
"""

from math import log, sqrt

from goalbound.jit.compile import lean


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
