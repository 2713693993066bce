"""The constants that follow from the settings of a learner by ridge regression, as its kernels take them.

:func:`constants` is a method of :class:`~goalbound.learners.settings.Settings`.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from goalbound.jit.compile import engine
from goalbound.kernels.elimination import MOST_ELIMINATED_STATES
from goalbound.kernels.interchangeable import InterchangeablePairs, mark_interchangeable
from goalbound.kernels.lattice import Lattice, new_lattice
from goalbound.kernels.likelihood import MOST_CELLS, MOST_PAIR_BOUNDS, MOST_VERTICES, LikelihoodConstants
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.state import LOCAL, Constants, IntervalConstants
from goalbound.learners.linearity import FALSE_ALARM, MOST_SUMS
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Support
from goalbound.models.validation import set_readonly

if TYPE_CHECKING:
    from goalbound.learners.settings import Settings

SET_SHARE, LIKELIHOOD_SHARE, OTHER_SHARE = 0.45, 0.98, 0.05
"""With likelihood-ratio sets: the shares of delta of the sets of losses, and of rows; what of them belongs to the
likelihoods; and the share of each of the other two items of the good event. Without, each of the four has a quarter."""
MOST_BOUNDS = 2**22
"""Numbers times vertices of likelihood-ratio sets: with more numbers the lattice is coarser."""
NO_LATTICE = Lattice(1, set_readonly(np.zeros((0, 1), dtype=np.int64)))
NO_LIKELIHOOD = LikelihoodConstants(False, 0.0, 0.0, NO_LATTICE, NO_LATTICE, set_readonly(np.zeros(0, dtype=np.bool_)))


def _added_loss(settings: Settings, support: Support) -> float:
    """epsilon, or 0 if there is a loss floor."""
    if settings.loss_floor > 0.0 or settings.episodes is None:
        return 0.0
    return added_loss(support, settings.context_size, settings.episodes)


def constants(settings: Settings, support: Support, prior: PriorKnowledge | None = None) -> Constants:
    """The constants of the kernels."""
    known = PriorKnowledge.nothing(support, settings.context_size) if prior is None else prior
    if settings.is_optimistic:
        settings.widths.check(
            support, settings.context_size, delta=settings.delta, regularization=settings.regularization
        )
    radii = settings.widths.radii(support, delta=settings.delta)
    added = _added_loss(settings, support)
    floor = settings.loss_floor + added
    intervals = _interval_constants(settings, support, known)
    likelihood = _likelihood_constants(settings, support, known)
    return Constants(
        pair_state=support.pair_state,
        pair_start=support.pair_start,
        next_start=support.next_start,
        next_state=support.next_state,
        next_factor=set_readonly(radii.next_factor),
        known_factor=set_readonly(radii.known_factor),
        width_factor=set_readonly(radii.width_factor),
        loss_factor=radii.loss_factor,
        loss_log=radii.loss_log,
        next_log=radii.next_log,
        regularization=float(settings.regularization),
        delta=float(settings.delta) * (1.0 if not _has_likelihood(settings) else 4.0 * OTHER_SHARE),
        loss_floor=float(floor),
        added_loss=float(added),
        tolerance=float(settings.tolerance * floor),
        doubling=settings.loss_bound is None and settings.is_optimistic,
        forget=bool(settings.forget),
        exploration=settings.exploration.code,
        growth=log(settings.replan_factor) * (1.0 - 1e-12),  # sums of logarithms may round to just below
        spread=settings.exploration.spread,
        spread_by_variance=settings.exploration.by_variance,
        optimism=settings.exploration.optimism,
        patience=settings.exploration.patience,
        threshold=settings.exploration.threshold,
        explore=settings.exploration.explore,
        fade=settings.exploration.fade,
        intervals=intervals,
        likelihood=likelihood,
        prior=known.arrays(settings.loss_floor, added),
        model=known.model_prior(on=not settings.is_optimistic),
        interchangeable=_interchangeable(settings, support, known),
        policy_iteration=(intervals.on or not settings.is_optimistic) and support.states <= MOST_ELIMINATED_STATES,
        tests_linearity=intervals.on and _tests_linearity(settings, support),
        alarm_log=log(2 * PARTS * settings.context_size * (support.pairs + support.triples) / FALSE_ALARM),
    )


def _interchangeable(settings: Settings, support: Support, known: PriorKnowledge) -> InterchangeablePairs:
    """Pairs without a guess, of which nothing is known for sure, that nothing tells apart; for LOCAL."""
    pairs = np.zeros(support.pairs, dtype=np.bool_)
    if settings.exploration.code == LOCAL:
        run = engine(support.triples)
        run(mark_interchangeable)(support.pair_start, support.next_start, support.next_state, pairs)
        pairs &= ~(known.guessed | known.row_known | known.loss_known)
    return InterchangeablePairs(bool(pairs.any()), set_readonly(pairs))


def _tests_linearity(settings: Settings, support: Support) -> bool:
    """As asked for; if nothing was said, where the sums for it are not too many."""
    sums = PARTS * settings.context_size * 2 * (support.pairs + support.triples)
    return sums <= MOST_SUMS if settings.check_linearity is None else settings.check_linearity


def _interval_constants(settings: Settings, support: Support, known: PriorKnowledge) -> IntervalConstants:
    """Known rows and losses need no share of the failure probability."""
    intervals, scale = settings.widths.intervals, settings.widths.scale
    if intervals is None or not settings.is_optimistic:
        return IntervalConstants(*[False] * 5, *[0.0] * 5)
    unknown = np.repeat(~known.row_known, np.diff(support.next_start))
    if not intervals.goal:
        unknown &= support.next_state < support.states
    rows = max(1, int(unknown.sum()))
    losses = max(1, int((~known.loss_known).sum()))
    # Half of the share of losses and of rows for each side; rows share theirs between two bounds.
    of_sets = SET_SHARE * (1.0 - LIKELIHOOD_SHARE) if _has_likelihood(settings) else 0.25
    share = log((4.0 if intervals.variance else 2.0) * rows / (of_sets * settings.delta))
    return IntervalConstants(
        on=True,
        goal=intervals.goal,
        determinant=intervals.determinant,
        entrywise=intervals.entrywise,
        variance=intervals.variance,
        noise=scale * (0.5 if intervals.half else 1.0),
        loss_log=log(2.0 * losses / (of_sets * settings.delta)),
        row_log=share,
        variance_log=share,
        scale=scale,
    )


def variance_failure(settings: Settings) -> float:
    """The probability with which the intervals of next states fail that bounds of variances come from; 0: there are no
    such bounds."""
    intervals = settings.widths.intervals
    if intervals is None or not intervals.variance or not settings.is_optimistic:
        return 0.0
    return settings.delta * (SET_SHARE if _has_likelihood(settings) else 1.0 / 8.0)


def spare_failure(settings: Settings) -> float:
    """What the good event leaves of delta: with intervals half of the shares of losses and of rows, and nothing with
    likelihood-ratio sets."""
    return 0.0 if _has_likelihood(settings) or settings.widths.intervals is None else settings.delta / 4.0


def _has_likelihood(settings: Settings) -> bool:
    return settings.widths.likelihood and settings.is_optimistic


def _likelihood_constants(settings: Settings, support: Support, known: PriorKnowledge) -> LikelihoodConstants:
    """The numbers that have a set: what is known has none, nor has a certain next state, and of two next states one
    is enough."""
    if not _has_likelihood(settings):
        return NO_LIKELIHOOD
    lengths = np.diff(support.next_start)
    rows = np.repeat(~known.row_known & (lengths > 1), lengths)
    rows[support.next_start[:-1][lengths == 2] + 1] = False
    losses = ~known.loss_known
    tracked = np.concatenate([losses, rows])
    of_pair = MOST_PAIR_BOUNDS // (int(lengths.max()) + 1)
    budget = max(1, min(MOST_VERTICES, of_pair, MOST_BOUNDS // len(tracked)))
    share = SET_SHARE * LIKELIHOOD_SHARE * settings.delta
    return LikelihoodConstants(
        on=True,
        loss_log=log(max(1, int(losses.sum())) / share),
        row_log=log(max(1, int(rows.sum())) / share),
        vertices=new_lattice(settings.context_size, budget),
        cells=new_lattice(settings.context_size, min(budget, MOST_CELLS)),
        tracked=set_readonly(tracked),
    )


def added_loss(support: Support, context_size: int, episodes: int) -> float:
    """epsilon = S (d^2 A / K)^(1/3) of the corollary, at most 1, with A = N / S.

    Departs from the paper: epsilon is *added* to the losses; their maximum with it would not be linear in the
    context. For K < S^3 d^2 A it is capped at 1 and the corollary's bound says nothing.
    """
    states, actions = support.states, support.pairs / support.states
    return min(1.0, float(states * np.cbrt(context_size**2 * actions / episodes)))
