"""Contextual learners to compare LR-CSSP with: they regress, project and plan with its core, and explore otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound.jit.compile import Run, lean
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.kwik import Kwik, kwik_threshold
from goalbound.learners.explore.local import Local
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.own_card import Card
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Support
from goalbound.models.arrays import Rows
from goalbound.planning.kernels.sparse_policy_iteration import (
    SparseWorkspace,
    new_sparse_workspace,
    sparse_policy_iteration,
)

DOUBLING = 2.0
"""Within an episode they plan anew when the Gram determinant of a pair has doubled."""
LOCAL_REGULARIZATION = 2.0
"""lambda of :class:`LocalOptimism` by default: rows and losses that were hardly seen are pulled to 0 longer."""
LOCAL_BONUS = 0.2
"""The bonus of :class:`LocalOptimism` by default."""
OPTIMISM = 0.03
"""The share of optimistic plans of posterior sampling, where nothing was guessed."""


class GreedyRidge(RidgeLearner):
    """Plans in the ridge estimate as if it were the truth: no bonus, no exploration.

    No guarantee. What a pair never showed is 0 in the estimate, and its missing mass leads to the goal (where it cannot
    by the support, to all next states alike): the ridge shrinks towards optimism by lambda / (lambda + visits), which
    is all the exploring it does. Plans at each episode, and when the Gram determinant of a pair doubles, so that no
    loop lasts. Costs less than LR-CSSP per step.

    >>> from goalbound import GreedyRidge, Support
    >>> learner = GreedyRidge(Support.full(2, 2), 3, loss_floor=0.1)
    >>> learner.begin([0.2, 0.3, 0.5]).act(0)
    0
    """

    kind = "GreedyRidge"
    card = Card("ridge_card")
    rules = (Greedy,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        settings = Settings.of(
            context_size, loss_floor=loss_floor, exploration=Greedy(), options=options, replan_factor=DOUBLING
        )
        super().__init__(support, settings, prior=prior)


class EpsilonGreedy(RidgeLearner):
    """:class:`GreedyRidge`, but in episode k a share explore * k^-fade of the steps plays any action of the state.

    No guarantee for shortest paths; fade 1/3 balances the two sources of regret in bandits. Where an early wrong step
    is costly (a lock, a cliff), undirected exploration takes exponentially long.

    >>> from goalbound import EpsilonGreedy, Support
    >>> learner = EpsilonGreedy(Support.full(2, 2), 1, loss_floor=0.1, rng=np.random.default_rng(1))
    >>> learner.begin([1.0]).act(0) in (0, 1)
    True
    """

    kind = "EpsilonGreedy"
    card = Card("ridge_card")
    rules = (Epsilon,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        explore: float = 1.0,
        fade: float = 1.0 / 3.0,
        rng: np.random.Generator | None = None,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        settings = Settings.of(
            context_size,
            loss_floor=loss_floor,
            exploration=Epsilon(explore, fade),
            options=options,
            replan_factor=DOUBLING,
        )
        super().__init__(support, settings, prior=prior, rng=rng)


class LocalOptimism(RidgeLearner):
    """Plans in the ridge estimate, as :class:`GreedyRidge` does, and is optimistic about the next step only. Our choice
    where no proof is asked for (docs/how_to/which_learner.md).

    In a state it plays the action of the least ``Q - bonus o w sqrt(log(1 + n w^2) (v + r^2 (w^2 + 0.01)))``: Q is the
    loss of the action plus the values of the plan after it, w the norm of the context in its inverse Gram matrix, v the
    estimated variance of the loss (none where losses have shown no noise) and of the value of the next state, and r the
    range of the values of the states that may follow by the support. n is 1 / w^2 for the action of the plan, and no
    more than there were episodes; o is the share of one's own steps among all that were learned from. So what seems
    worse than the plan is tried again at a logarithmic rate, where it is cheap or uncertain, and not where it makes no
    difference which state follows; and not after a log, until there are as many steps of one's own. Only the
    uncertainty of one step counts, where optimism in the whole model, or noise in it, adds it up along the way.

    A loss above the mean of all steps is drawn to it, unless there is a guess of it or the next paragraph is about it,
    so that a few unlucky ones do not decide: as by k visits more that cost just the mean, k being o times the variance
    of losses within pairs over that between pairs, at most 16 (:mod:`goalbound.learners.explore.shrinkage`).

    Where all actions of a state have the same next states, other states and not the goal, and as many as there are
    actions, nothing but experience tells the actions apart: streets at a crossing, without a map. Before its first
    visit such a pair, unless there is a guess of it, leads to the best of its next states; later what a context leaves
    open is filled by what was seen of the pair under all contexts (:mod:`goalbound.learners.explore.crossings`).

    Plans at each episode, after a step that was not the plan's, when the Gram determinant of a pair doubles, and when
    the visits of such a pair reach a power of two. Draws nothing. No guarantee is known. ``options``: lambda is 2
    unless they say otherwise.

    >>> from goalbound import LocalOptimism, Support
    >>> learner = LocalOptimism(Support.full(2, 2), 3, loss_floor=0.1)
    >>> learner.begin([0.2, 0.3, 0.5]).act(0)
    0
    """

    kind = "LocalOptimism"
    card = Card("ridge_card")
    rules = (Local,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        bonus: float = LOCAL_BONUS,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        settings = Settings.of(
            context_size,
            loss_floor=loss_floor,
            exploration=Local(bonus),
            replan_factor=DOUBLING,
            options=LearnerOptions(regularization=LOCAL_REGULARIZATION) if options is None else options,
        )
        super().__init__(support, settings, prior=prior)


class PosteriorSampling(RidgeLearner):
    """Thompson sampling (PS-CSSP): plans in a draw around the ridge estimate.

    The coefficients of a row have posterior N(P^, spread^2 V^-1), independently; so under a context c the row itself
    is N(P^ c, (spread w)^2 I) with w the norm of c in V^-1. That is drawn, for every next state of the support, and
    projected on the sub-simplex, or on the simplex where the goal cannot follow; likewise the loss, clipped to
    [loss floor, 1]. ``by_variance``: for an estimate q the deviation is spread w sqrt(q (1 - q) + w^2 + 0.04), so that
    what is nearly certain is explored less.

    Small noise alone may settle for a bad plan for ever: where the first losses of a pair were unlucky, and where it
    was played under contexts that say nothing about others. So a share ``optimism`` of the plans is optimistic instead:
    losses are lowered by 1.5 of these deviations (with spread 1), and rows may be anything within 0.7 w^2 of their
    estimate, in the Euclidean norm. None: 0.03, or 0 where ``prior`` has guesses, which say where to look.

    A new draw at each episode, when the Gram determinant of a pair doubles, and when more was lost under a plan than
    ``patience`` times 1 plus what it expected: a draw may be a plan that never arrives. No guarantee is known. A plan
    looks at all pairs: O(M d + N d^2), and O(M) for each sweep of value iteration.

    >>> from goalbound import PosteriorSampling, Support
    >>> learner = PosteriorSampling(Support.full(2, 2), 2, loss_floor=0.1, rng=np.random.default_rng(1))
    >>> learner.begin([0.5, 0.5]).act(1) in (0, 1)
    True
    """

    kind = "PosteriorSampling"
    card = Card("ridge_card")
    rules = (Posterior,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        spread: float = 0.15,
        by_variance: bool = True,
        optimism: float | None = None,
        patience: float = 1.0,
        ceiling: float = 1000.0,
        rng: np.random.Generator | None = None,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        if optimism is None:
            optimism = 0.0 if prior is not None and prior.guessed.any() else OPTIMISM
        settings = Settings.of(
            context_size,
            loss_floor=loss_floor,
            options=options,
            replan_factor=DOUBLING,
            exploration=Posterior(
                spread=spread, by_variance=by_variance, optimism=optimism, patience=patience, ceiling=ceiling
            ),
        )
        super().__init__(support, settings, prior=prior, rng=rng)


class KwikRmax(RidgeLearner):
    """KWIK_LR-Rmax (Modi et al., 2018), adapted from a finite horizon: a pair is known under a context c where the sum
    of |V^-1 c| is at most a threshold; known pairs use the projected estimate, unknown ones lead to the goal.

    The threshold follows from ``accuracy`` and ``delta`` (:func:`.explore.kwik.kwik_threshold`), or is
    given. The original bounds the number of episodes that are not nearly optimal, for a horizon and an accuracy fixed
    in advance; its regret is linear once all pairs are known to that accuracy and it stops looking further.

    Departs from the source: shortest paths have no horizon, so an unknown pair is worth the loss floor once, not the
    largest reward for ever; the estimate is the ridge one, projected, and goes on improving after a pair is known.

    >>> from goalbound import KwikRmax, Support
    >>> learner = KwikRmax(Support.full(2, 2), 2, loss_floor=0.1)
    >>> learner.begin([0.5, 0.5]).act(1)
    0
    """

    kind = "KwikRmax"
    card = Card("ridge_card")
    rules = (Kwik,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        accuracy: float = 0.1,
        threshold: float | None = None,
        delta: float = 0.1,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        if threshold is None:
            threshold = kwik_threshold(context_size, accuracy=accuracy, delta=delta)
        settings = Settings.of(
            context_size, loss_floor=loss_floor, delta=delta, exploration=Kwik(threshold), options=options
        )
        super().__init__(support, settings, prior=prior)


@lean
def improve_by_krylov(constants: Any, view: Any, workspace: Any, sweeps: Any) -> Any:
    """Value iteration in a point estimate of many states: policies are evaluated by the Krylov method where sweeps
    converge slowly."""
    sparse_policy_iteration(view.sets, view.iteration, 0.5 * constants.tolerance, sweeps, workspace)


def new_krylov_workspace(support: Support, run: Run) -> SparseWorkspace:
    """Room for all models on a support."""
    rows = Rows(support.pair_start, support.next_start, support.next_state, np.empty(0), np.ones(support.triples))
    return new_sparse_workspace(rows, support.pair_state, run)
