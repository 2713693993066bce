"""The constants that follow from the settings of a learner by ridge regression, as its kernels take them.

:func:`constants` and :func:`groups` are methods of :class:`~goalbound.learners.settings.Settings`.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.kernels.elimination import MOST_ELIMINATED_STATES
from goalbound.kernels.interchangeable import InterchangeablePairs, mark_interchangeable
from goalbound.kernels.lattice import Lattice, new_lattice
from goalbound.kernels.likelihood import MOST_CELLS, MOST_PAIR_BOUNDS, MOST_VERTICES, LikelihoodConstants
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.model_prior import ModelPrior
from goalbound.kernels.noise_free import NoiseFreeConstants
from goalbound.kernels.state import LOCAL, Constants, IntervalConstants, PriorArrays
from goalbound.kernels.ties import NOTHING, TieConstants
from goalbound.learners.linearity import FALSE_ALARM, MOST_SUMS
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ties import Groups
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
NO_INDICES = set_readonly(np.zeros(0, dtype=np.int64))
NO_TIES = TieConstants(False, NO_INDICES, NO_INDICES, NO_INDICES, NO_INDICES, NO_INDICES, NOTHING)


def _added_loss(settings: Settings, support: Support) -> float:
    """epsilon, or 0 if there is a loss floor."""
    if settings.loss_floor > 0.0 or settings.episodes is None:
        return 0.0
    return added_loss(support, settings.context_size, settings.episodes)


def constants(settings: Settings, support: Support, prior: PriorKnowledge | None = None) -> Constants:
    """The constants of the kernels."""
    known = PriorKnowledge.nothing(support, settings.context_size) if prior is None else prior
    known.check_ties()
    tied = groups(settings, support, known)
    if settings.is_optimistic:
        settings.widths.check(
            support, settings.context_size, delta=settings.delta, regularization=settings.regularization
        )
    radii = settings.widths.radii(support, delta=settings.delta)
    added = _added_loss(settings, support)
    floor = settings.loss_floor + added
    intervals = _interval_constants(settings, support, known)
    likelihood = _likelihood_constants(settings, support, known)
    found = Constants(
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
        noise_free=NoiseFreeConstants(bool(known.noise_free.any()), known.noise_free),
        ties=NO_TIES,
        model=known.model_prior(on=not settings.is_optimistic),
        interchangeable=_interchangeable(settings, support, known),
        policy_iteration=(intervals.on or not settings.is_optimistic) and support.states <= MOST_ELIMINATED_STATES,
        tests_linearity=intervals.on and _tests_linearity(settings, support),
        alarm_log=log(2 * PARTS * settings.context_size * (support.pairs + support.triples) / FALSE_ALARM),
    )
    return found if tied is None else found._replace(ties=_tie_constants(settings, tied, known, found))


def _interchangeable(settings: Settings, support: Support, known: PriorKnowledge) -> InterchangeablePairs:
    """Pairs without a guess, of which nothing is known for sure, that nothing tells apart; for LOCAL."""
    pairs = np.zeros(support.pairs, dtype=np.bool_)
    if settings.exploration.code == LOCAL:
        run = engine(support.triples)
        run(mark_interchangeable)(support.pair_start, support.next_start, support.next_state, pairs)
        pairs &= ~(known.guessed | known.row_known | known.loss_known)
    return InterchangeablePairs(bool(pairs.any()), set_readonly(pairs))


def groups(settings: Settings, support: Support, prior: PriorKnowledge | None) -> Groups | None:
    """The groups of what is tied; None: nothing is."""
    if prior is None or not prior.has_ties:
        return None
    if settings.widths.intervals is None or not settings.is_optimistic:
        uses = f"{settings.widths} widths" if settings.is_optimistic else f"a learner that is {settings.exploration}"
        raise ArgumentError(
            f"the prior has ties, and {uses} cannot use them; ties go with LRCSSP and likelihood() or sharp() "
            "widths: take one of these, or leave the ties out"
        )
    return Groups.of(support, prior._ties)


def _tie_constants(settings: Settings, groups: Groups, known: PriorKnowledge, constants: Constants) -> TieConstants:
    """Groups are pairs of a support of their own; what of them is not there is known."""
    support, size = groups.support, settings.context_size
    is_loss = np.arange(support.pairs) < groups.losses
    noise_free = np.zeros(support.pairs, dtype=np.bool_)
    noise_free[groups.of_loss[known.noise_free & (groups.of_loss >= 0)]] = True
    rows = np.repeat(~is_loss & (np.diff(support.next_start) > 1), np.diff(support.next_start))
    rows[support.next_start[:-1][np.diff(support.next_start) == 2] + 1] = False
    tracked = (
        np.concatenate([is_loss & ~noise_free, rows]) if _has_likelihood(settings) else np.zeros(0, dtype=np.bool_)
    )
    one, none = set_readonly(np.ones(support.pairs)), set_readonly(np.zeros(support.pairs, dtype=np.bool_))
    zeros, no_rows = set_readonly(np.zeros((support.pairs, size))), set_readonly(np.zeros((0, size)))
    zero = set_readonly(np.zeros(support.pairs))
    return TieConstants(
        True, groups.of_loss, groups.of_row, groups.place, *groups.members,
        constants._replace(
            pair_state=support.pair_state, pair_start=support.pair_start, next_start=support.next_start,
            next_state=support.next_state, next_factor=one, known_factor=one, width_factor=one, added_loss=0.0,
            likelihood=constants.likelihood._replace(tracked=set_readonly(tracked)),
            prior=PriorArrays(zero, set_readonly(~is_loss), zeros, none, no_rows),
            noise_free=NoiseFreeConstants(bool(noise_free.any()), set_readonly(noise_free)),
            model=ModelPrior(False, none, zero, zeros, no_rows),
            interchangeable=InterchangeablePairs(False, none), tests_linearity=False,
        ),
    )  # fmt: skip


def _tests_linearity(settings: Settings, support: Support) -> bool:
    """As asked for; if nothing was said, where the sums for it are not too many."""
    sums = PARTS * settings.context_size * 2 * (support.pairs + support.triples)
    return sums <= MOST_SUMS if settings.check_linearity is None else settings.check_linearity


def _interval_constants(settings: Settings, support: Support, known: PriorKnowledge) -> IntervalConstants:
    """What is known needs no share of the failure probability, and what is tied one for all."""
    intervals, scale = settings.widths.intervals, settings.widths.scale
    if intervals is None or not settings.is_optimistic:
        return IntervalConstants(*[False] * 5, *[0.0] * 5)
    unknown = np.repeat(_first_of(known.tied_rows, ~known.row_known), np.diff(support.next_start))
    if not intervals.goal:
        unknown &= support.next_state < support.states
    rows = max(1, int(unknown.sum()))
    losses = max(1, int(_first_of(known.tied_losses, ~known.loss_known & ~known.noise_free).sum()))
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
    unknown = ~known.row_known & (lengths > 1)
    rows, counted = (
        np.repeat(flags, lengths) for flags in (unknown & (known.tied_rows < 0), _first_of(known.tied_rows, unknown))
    )
    for flags in (rows, counted):
        flags[support.next_start[:-1][lengths == 2] + 1] = False
    noisy = ~known.loss_known & ~known.noise_free
    tracked = np.concatenate([noisy & (known.tied_losses < 0), rows])
    of_pair = MOST_PAIR_BOUNDS // (int(lengths.max()) + 1)
    budget = max(1, min(MOST_VERTICES, of_pair, MOST_BOUNDS // len(tracked)))
    share = SET_SHARE * LIKELIHOOD_SHARE * settings.delta
    return LikelihoodConstants(
        on=True,
        loss_log=log(max(1, int(_first_of(known.tied_losses, noisy).sum())) / share),
        row_log=log(max(1, int(counted.sum())) / share),
        vertices=new_lattice(settings.context_size, budget),
        cells=new_lattice(settings.context_size, min(budget, MOST_CELLS)),
        tracked=set_readonly(tracked),
    )


def _first_of(groups: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[N] the flags of what is not tied, and of the first pair of each group."""
    first = np.zeros(len(groups), dtype=np.bool_)
    first[np.unique(groups, return_index=True)[1]] = True
    return flags & ((groups < 0) | first)


def added_loss(support: Support, context_size: int, episodes: int) -> float:
    """epsilon = S (d^2 A / K)^(1/3) of the corollary, at most 1, with A = N / S.

    Departs from the paper: epsilon is *added* to the losses; their maximum with it would not be linear in the
    context. For K < S^3 d^2 A it is capped at 1 and the corollary's bound says nothing.
    """
    states, actions = support.states, support.pairs / support.states
    return min(1.0, float(states * np.cbrt(context_size**2 * actions / episodes)))
