"""The paper's bounds as numbers: true ones that need only measured counts, and the rates inside its O-tilde.

Reads the paper as: pairs are counted by N for |S| |A|, and S_i, the possible next states of a pair other than the goal,
stands for |S|; with full supports these are the paper's. Values of plans come from value iteration that stops when no
value moves by more than ``tolerance * l_min``, so they are at most 1 + tolerance times the exact optimistic ones.
"""

from __future__ import annotations

from math import inf, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.balls import ridge_radius
from goalbound.confidence.protocol import KNOWN_FACTOR
from goalbound.errors import ArgumentError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.program import Assembly
from goalbound.models import Support
from goalbound.planning.kernels.value_iteration import INTERVAL_SET


def martingale_bound(steps: int, *, delta: float, loss_bound: float = 1.0) -> float:
    """B sqrt(T log(4 T / delta)), item 4 of the high-probability event; it holds for all T at once.

    The paper takes it from Azuma's inequality for |X_t| <= B, which with x = B sqrt(T log(4 T / delta)) gives
    exp(-x^2 / (2 T B^2)) = sqrt(delta / (4 T)): that does not sum over T. It is right all the same: X_t is V(next) less
    its mean with V in [0, B], so its *range* is B, and Hoeffding and Azuma give exp(-2 x^2 / (T B^2)) =
    (delta / (4 T))^2. Summed over all T this is at most 0.11 delta^2.

    >>> round(martingale_bound(100, delta=0.1), 2)
    28.8
    """
    return loss_bound * sqrt(steps * log(4.0 * steps / delta)) if steps else 0.0


def a_posteriori_bound(
    learner: LRCSSP, *, steps: int, episodes: int, unknown_visits: int, loss_bound: float, time_bound: float = inf
) -> float:
    """Lemma (regret-tilde-bound) with the measured T and the measured unknown visits U: a bound of the realised regret.

    It holds, for all T, where the sets held the truth (:class:`goalbound.simulation.diagnostics.RegretDiagnostics`
    says whether they did) but for a probability of 0.22 delta^2 + 0.06 delta^3. As printed, R_K <= B U +
    2 B |S| rho W + B sqrt(T log(4 T / delta)) with W = sqrt(d |S||A| T log(1 + T / (d lambda))). Term by term, with
    what had to be corrected:

    - switching: B for each new plan inside an episode, and those are at most U (one more for each doubling).
    - dynamics: (P - P~) V <= B sqrt(S_i) ||P c - P~ c||_2. Both are in a ball of radius R_i w, so they are up to
      **twice** that apart: 2 B sqrt(S_i) R_i w = 2 B S_i rho w for the paper's widths. The largest S_i is used.
    - losses: in the same way 2 rho_l w.
    - W bounds the sum of w over all steps. The determinant of V grows by 1 + n w^2 in an interval that plays the pair n
      times, and x <= log(1 + x) / log 2 for x = n w^2 <= 1, so the sum of n w^2 is at most d log(1 + tau / (d lambda))
      / log 2: the **factor** 1.44 (the proof has 2, its statement 1). n w^2 <= 1 is argued in the paper from item 3 of
      the event, read for the mean losses of the pairs (realised ones may be below l_min); for lambda < 1 it may be
      1 / lambda, and the factor is (1 / lambda) / log(1 + 1 / lambda). With a replan factor f above 1, x stays below
      f - 1 + 1 / lambda.
      Then Cauchy and Schwarz, twice, as printed. A learner that forgets begins again at each doubling.
    - martingale: as printed, see :func:`martingale_bound`. **Plus the noise of the losses**, which the paper leaves
      out: sqrt(T log(4 T / delta)), as a loss has range 1.
    - value iteration: B grows by the tolerance; a first plan may exceed v* by ``tolerance * v*``, and a step may leave
      ``tolerance * l_min`` open.

    Args:
        learner: for its support, widths, delta and so on.
        steps: T.
        episodes: K.
        unknown_visits: U, of all pairs together.
        loss_bound: B, at least the largest optimal loss of the problem as the learner sees it: what the zero-loss
            variant adds to the losses counts.
        time_bound: T*; only the zero-loss variant needs it. Its regret is K epsilon T* more at most, since adding
            epsilon to every loss raises no optimal value by more than epsilon T*.
    """
    settings = learner.settings
    constants = Assembly(settings, learner.support, None).constants
    if settings.widths.room.shape == INTERVAL_SET:  # the width of an interval is not a function of the visits alone
        return inf
    size, lam = settings.context_size, settings.regularization
    grown = log1p(max(steps, int(learner.statistics.visits.max())) / lam)
    rho = ridge_radius.python(size, constants.sets.next_log, grown, lam)
    loss_rho = constants.sets.loss_factor * ridge_radius.python(size, constants.sets.loss_log, grown, lam)
    spread = float((constants.sets.next_factor * np.sqrt(next_states(learner.support))).max())
    largest = _largest_potential(learner)
    epochs = 1 + learner.doublings if settings.forget else 1
    potential = epochs * largest / log1p(largest) * size * log1p(steps / (size * lam))
    widths = sqrt(potential * learner.support.pairs * steps)
    raised = (1.0 + settings.tolerance) * loss_bound
    switching = raised * (unknown_visits + learner.doublings)
    return (
        switching
        + 2.0 * (raised * spread * rho + loss_rho) * widths
        + martingale_bound(steps, delta=settings.delta, loss_bound=raised + 1.0)
        + slack(learner, steps=steps, optimal_loss=episodes * loss_bound)
        + zero_loss_excess(learner, episodes=episodes, time_bound=time_bound)
    )


def slack(learner: LRCSSP, *, steps: int, optimal_loss: float) -> float:
    """What value iteration may leave open in T steps, where the optimal losses sum to ``optimal_loss``.

    tolerance * sum of v*(first states), as a plan's value exceeds the exact optimistic one by that share at most, and
    tolerance * l_min per step, as no value is further from its backup.
    """
    constants = Assembly(learner.settings, learner.support, None).constants
    return learner.settings.tolerance * optimal_loss + constants.tolerance * steps


def zero_loss_excess(learner: LRCSSP, *, episodes: int, time_bound: float) -> float:
    """K epsilon T*: how much the losses that the corollary adds may raise the optimal losses; 0 if it adds none."""
    return episodes * learner.added_loss * time_bound if learner.added_loss else 0.0


def unknown_visits_bound(
    learner: LRCSSP, *, visits: ArrayLike, intervals: int, loss_bound: float | None = None
) -> NDArray[np.float64]:
    """[N] how often each pair can have been played while unknown (Lemma bound-2B-known): certain, with one open
    episode at a time.

    A pair is unknown in interval m if w >= a = l_min / (10 B max(beta, sqrt(log(4 m / delta)))), where beta is that of
    its visits tau then. Both are largest at the end, so w >= a for the final tau and M. Playing an unknown pair ends
    the interval, so V is up to date at each such play, and det V grows by the factor 1 + w^2 >= 1 + a^2. By AM-GM
    det V / lambda^d <= (1 + tau / (d lambda))^d. Hence U_i <= d log(1 + tau / (d lambda)) / log(1 + a^2).

    With a replan factor above 1 an interval may play the pair n times, and det V grows by 1 + n w^2 in it, which is at
    least exp(n w^2 log(1 + x) / x) for x the largest n w^2.

    Departs from the paper: its constant is 4 where its test has 10, and it has no max; here it is the test itself.

    Args:
        learner: whose known test it is.
        visits: [N] tau, the visits of each pair; the same number for all will do.
        intervals: M.
        loss_bound: the largest B that the test has used; the learner's own now if left out.
    """
    settings = learner.settings
    constants = Assembly(settings, learner.support, None).constants
    if settings.widths.room.shape == INTERVAL_SET:  # the width of an interval is not a function of the visits alone
        return np.full(learner.support.pairs, inf)
    bound = learner.loss_bound if loss_bound is None else loss_bound
    size, lam = settings.context_size, settings.regularization
    tau = np.broadcast_to(np.asarray(visits, dtype=np.float64), learner.support.pairs)
    rho = np.array([ridge_radius.python(size, constants.sets.next_log, grown, lam) for grown in np.log1p(tau / lam)])
    known_width = np.maximum(constants.sets.known_factor * rho, sqrt(log(4.0 * max(intervals, 1) / settings.delta)))
    threshold = constants.loss_floor / (KNOWN_FACTOR * bound * known_width)
    grown = size * np.log1p(tau / (size * lam))
    if settings.replan_factor > 1.0:
        largest = _largest_potential(learner)
        return np.minimum(tau, grown * largest / (log1p(largest) * threshold**2))
    return np.minimum(tau, grown / np.log1p(threshold**2))


def _largest_potential(learner: LRCSSP) -> float:
    """The largest n w^2 of a pair that is played n times in an interval; 1 at least.

    All steps of an interval have one context, so they multiply det V by 1 + n w^2. With a replan factor f, that was
    below f before the last of them, and one step adds w^2 <= 1 / lambda.
    """
    settings = learner.settings
    return max(1.0, 1.0 / settings.regularization + (settings.replan_factor - 1.0))


def theorem_rate(
    support: Support, context_size: int, *, episodes: int, delta: float, loss_floor: float, loss_bound: float
) -> float:
    """What is inside the O-tilde of the theorem: a *rate*, not a bound: constants and logarithms are left out.

    B^3 d^2 S^3 A / l^2 log(1 / delta) + sqrt(K d^2 S^3 A B^3 log(1 / delta) / l); S^3 A is read as (longest S_i)^2 N,
    as it comes from beta^2 summed over the pairs. The appendix has d B^2 under the root; this is the main text's.
    """
    size = _checked_size(support, loss_floor) * context_size**2 * loss_bound**3 * log(1.0 / delta)
    return size / loss_floor**2 + sqrt(episodes * size / loss_floor)


def steps_rate(
    support: Support, context_size: int, *, episodes: int, delta: float, loss_floor: float, loss_bound: float
) -> float:
    """What is inside the O-tilde of Lemma (number-steps-bound): a *rate* of the steps T, not a bound.

    K B / l + S^3 A d^2 B^3 / l^3 log^2(1 / delta), S^3 A as in :func:`theorem_rate`.
    """
    size = _checked_size(support, loss_floor) * context_size**2 * loss_bound**3 * log(1.0 / delta) ** 2
    return episodes * loss_bound / loss_floor + size / loss_floor**3


def corollary_rate(
    support: Support, context_size: int, *, episodes: int, delta: float, loss_bound: float, time_bound: float
) -> float:
    """What is inside the O-tilde of the corollary (losses may be zero): a *rate*, not a bound.

    K^(2/3) d^(2/3) S A^(1/3) B^2 T* log(1 / delta), with S A^(1/3) = (S^3 A)^(1/3), read as in :func:`theorem_rate`.
    """
    size = _checked_size(support, 1.0) * context_size**2
    return float(np.cbrt(size * episodes**2)) * loss_bound**2 * time_bound * log(1.0 / delta)


def next_states(support: Support) -> NDArray[np.float64]:
    """[N] S_i, how many next states other than the goal each pair may lead to."""
    return np.add.reduceat(support.next_state < support.states, support.next_start[:-1]).astype(np.float64)


def _checked_size(support: Support, loss_floor: float) -> float:
    """(longest S_i)^2 N, the paper's |S|^3 |A|."""
    if not loss_floor > 0.0:
        raise ArgumentError(f"loss_floor is {loss_floor:g}; the theorem needs one above 0: see corollary_rate")
    return float(max(next_states(support).max(), 1.0) ** 2 * support.pairs)
