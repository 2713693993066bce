"""Treatment plans: the best treatment depends on biomarkers, and the one that is best on average never heals some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import LinearCSSP
from goalbound.models.triples import from_triples
from goalbound.models.validation import check_array, check_distribution
from goalbound.problems.checks import check_entries, check_float, check_int

TARGETED_LOSS, BROAD_LOSS = 0.1, 0.4
TARGETED_HEALS, HARDER_BY, BROAD_HEALS = 0.9, 0.05, 0.25
MAX_MARKERS = 6
LOSS = 0.2
WEAK, STRONG, BROAD = 0.1, 0.9, 0.4
WIDTH = 0.15
TREATMENTS = ("standard", "targeted", "broad")


def treatment_ladder(levels: int = 6, *, markers: int = 2, relapse: float = 0.05) -> LinearCSSP:
    """A patient climbs down a ladder of severity, one rung at a time, until recovered (the goal).

    The components are kinds of patients, one for each biomarker and one without any; the context is the patient's
    mix of them. Drug A is made for marker A: each dose has a loss of 0.1 and takes such a patient one rung down
    with probability 0.9 (drug B for marker B: 0.85, and so on); it never helps anyone else. The broad drug helps
    everyone with probability 0.25, with a loss of 0.4. A dose that does not help is followed by a relapse of one
    rung with probability ``relapse``. Episodes begin at the top. The states are the levels 1 to ``levels``.

    Averaged over all kinds of patients, drug A is the best dose on every rung (for the default ``relapse``). Given
    forever to a patient with another marker, or with none, it never heals: that policy is improper in every
    component but the first.

    Proper for every context: each dose of the broad drug goes one rung down with probability at least 0.25 under
    every mixture, so from any rung ``levels`` such doses in a row heal with positive probability. A dose takes at
    least g = 0.25 - 0.75 ``relapse`` off the level on average, so it needs at most levels / g doses on average.

    >>> ladder = treatment_ladder(3, markers=2)
    >>> ladder.component_names
    ('marker A', 'marker B', 'no marker')
    >>> row = ladder.support.row(ladder.support.pair("severity 3", "drug A"))
    >>> ladder.probabilities[row, 0]  # with marker A: one rung down, or not
    array([0.9, 0.1])
    """
    levels = check_int(levels, "levels", least=1)
    markers = check_int(markers, "markers", least=1, most=MAX_MARKERS)
    relapse = check_float(relapse, "relapse", least=0.0, most=0.3)
    letters = [chr(ord("A") + marker) for marker in range(markers)]

    drugs, kinds = markers + 1, markers + 1
    heals = np.zeros((drugs, kinds))
    np.fill_diagonal(heals, TARGETED_HEALS - HARDER_BY * np.arange(drugs))
    heals[-1] = BROAD_HEALS
    losses = np.where(np.arange(drugs) == markers, BROAD_LOSS, TARGETED_LOSS)
    return severity_ladder(
        levels, [*(f"drug {x}" for x in letters), "broad drug"], heals, losses, relapse=relapse,
        component_names=[*(f"marker {x}" for x in letters), "no marker"],
    )  # fmt: skip


def severity_ladder(
    levels: int,
    treatments: Sequence[str],
    heals: NDArray[np.float64],
    losses: NDArray[np.float64],
    *,
    relapse: float,
    component_names: Sequence[str],
) -> LinearCSSP:
    """Rungs of severity, the goal below the first; episodes begin at the top.

    A dose of treatment a takes one rung down with probability ``heals[a, d]`` under component d; one that does not,
    one rung up with probability ``relapse``. It loses ``losses[a]``.
    """
    count, kinds = heals.shape
    worsens = (1.0 - heals) * relapse
    level = np.repeat(np.arange(levels), count)
    treatment = np.tile(np.arange(count), levels)
    below = np.where(level == 0, levels, level - 1)
    above = np.minimum(level + 1, levels - 1)
    built = from_triples(
        np.tile(level, 3), np.tile(treatment, 3), np.concatenate((below, above, level)),
        np.concatenate((heals[treatment], worsens[treatment], (1.0 - heals - worsens)[treatment])), states=levels,
        names=([f"severity {n + 1}" for n in range(levels)], list(treatments)),
    )  # fmt: skip
    of_pairs = np.tile(losses[treatment][:, None], (1, kinds))
    return LinearCSSP(built.support, of_pairs, built.probabilities, levels - 1, tuple(component_names))


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
    :class:`~goalbound.around.contexts.MappedContexts`.

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
