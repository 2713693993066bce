"""Treatment plans by one biomarker: the best treatment changes back and forth along smooth curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import LinearCSSP
from goalbound.models.validation import check_array, check_distribution
from goalbound.problems.checks import check_entries, check_float, check_int
from goalbound.problems.treatment_ladder import severity_ladder

LOSS = 0.2
WEAK, STRONG, BROAD = 0.1, 0.9, 0.4
WIDTH = 0.15
TREATMENTS = ("standard", "targeted", "broad")


def treatment_curve(levels: int = 3, *, knots: int = 33, relapse: float = 0.05) -> LinearCSSP:
    """A patient climbs down a ladder of severity; how well each treatment helps depends on a biomarker x in [0, 1].

    The standard treatment helps at both ends and hardly in the middle, 0.1 + 0.8 cos(pi x)^2; the targeted one in the
    middle only, 0.1 + 0.8 exp(-((x - 0.5) / 0.15)^2); the broad one always with 0.4. Each dose has a loss of 0.2; one
    that helps takes the patient one rung down, one that does not is followed by a relapse of one rung with
    probability ``relapse``. Episodes begin at the top; below the first rung is the goal. So from x = 0 to 1 the best
    treatment is standard, broad, targeted, broad, standard.

    The components are knots at equal distances along x, and the context of x has hat functions as weights: between
    two knots it moves from one to the other in a straight line, so the curves are those above at the knots and straight
    between them. In this description the problem is linear and regret is exact. A learner that is shown ``(1 - x, x)``
    instead sees a problem that is not linear: on average over x the standard treatment is best, and it is best at
    both ends, so it will be given in the middle too. See :func:`biomarker` and
    :class:`~goalbound.learners.context_map.MappedContexts`.

    Proper for every context: every dose helps with probability at least 0.1 under every mixture.

    >>> problem = treatment_curve(levels=2, knots=5)
    >>> problem.component_names
    ('x = 0', 'x = 0.25', 'x = 0.5', 'x = 0.75', 'x = 1')
    >>> row = problem.support.row(problem.support.pair("severity 2", "standard"))
    >>> problem.probabilities[row][0].round(3)  # one rung down, by x
    array([0.9, 0.5, 0.1, 0.5, 0.9])
    """
    levels = check_int(levels, "levels", least=1)
    knots = check_int(knots, "knots", least=3, most=1025)
    relapse = check_float(relapse, "relapse", least=0.0, most=0.1)
    check_entries(9 * levels * knots, "levels * knots")
    places = np.linspace(0.0, 1.0, knots)
    return severity_ladder(
        levels, TREATMENTS, helping_chances(places).T, np.full(len(TREATMENTS), LOSS), relapse=relapse,
        component_names=[f"x = {x:.6g}" for x in places],
    )  # fmt: skip


def helping_chances(x: ArrayLike) -> NDArray[np.float64]:
    """[..., 3] how likely a dose of each treatment helps a patient with biomarker x [...]: the smooth curves.

    >>> helping_chances([0.0, 0.5]).round(3)
    array([[0.9, 0.1, 0.4],
           [0.1, 0.9, 0.4]])
    """
    at = np.asarray(x, dtype=np.float64)
    gain = STRONG - WEAK
    standard = WEAK + gain * np.cos(np.pi * at) ** 2
    targeted = WEAK + gain * np.exp(-(((at - 0.5) / WIDTH) ** 2))
    return np.stack((standard, targeted, np.full_like(at, BROAD)), axis=-1)


def biomarker(context: ArrayLike) -> float:
    """x, back from its context: the mean of the knots, weighted.

    >>> biomarker([0.0, 0.5, 0.5])
    0.75
    """
    weights = check_array(context, "context", (None,), "d weights, one per knot")
    weights = check_distribution(weights, "context", len(weights), "knot")
    return float(np.linspace(0.0, 1.0, len(weights)) @ weights)
