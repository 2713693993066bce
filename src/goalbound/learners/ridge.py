"""Contextual learners to compare LR-CSSP with. They regress, project and plan with its machinery, and are of its class:
what differs is the attitude to what is not known."""

from __future__ import annotations

import numpy as np

from goalbound.learners.exploration import greedy, kwik_threshold, rmax, sampled
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support

DOUBLING = 2.0
"""Within an episode they plan anew when the Gram determinant of a pair has doubled."""


def greedy_ridge(
    support: Support, context_size: int, *, loss_floor: float, episodes: int | None = None, regularization: float = 1.0
) -> LRCSSP:
    """Plans in the ridge estimate as if it were the truth: no bonus, no exploration.

    No guarantee. What a pair never showed is 0 in the estimate, and its missing mass leads to the goal (where it cannot
    by the support, to all next states alike): the ridge shrinks towards optimism by lambda / (lambda + visits), which
    is all the exploring it does. Plans at each episode, and when the Gram determinant of a pair doubles, so that no
    loop lasts. Costs less than LR-CSSP per step.

    >>> from goalbound import Support
    >>> learner = greedy_ridge(Support.full(2, 2), 3, loss_floor=0.1)
    >>> learner.begin([0.2, 0.3, 0.5]).act(0)
    0
    """
    return LRCSSP(
        support, context_size, loss_floor=loss_floor, episodes=episodes, regularization=regularization,
        exploration=greedy(), replan_factor=DOUBLING,
    )  # fmt: skip


def epsilon_greedy(
    support: Support,
    context_size: int,
    *,
    loss_floor: float,
    explore: float = 1.0,
    fade: float = 1.0 / 3.0,
    episodes: int | None = None,
    regularization: float = 1.0,
    rng: np.random.Generator | None = None,
) -> LRCSSP:
    """:func:`greedy_ridge`, but in episode k a share explore * k^-fade of the steps plays any action of the state.

    No guarantee for shortest paths; fade 1/3 balances the two sources of regret in bandits. Where an early wrong step
    is costly (a lock, a cliff), undirected exploration takes exponentially long.

    >>> from goalbound import Support
    >>> learner = epsilon_greedy(Support.full(2, 2), 1, loss_floor=0.1, rng=np.random.default_rng(1))
    >>> learner.begin([1.0]).act(0) in (0, 1)
    True
    """
    return LRCSSP(
        support, context_size, loss_floor=loss_floor, episodes=episodes, regularization=regularization,
        exploration=greedy(explore=explore, fade=fade), replan_factor=DOUBLING, rng=rng,
    )  # fmt: skip


def ps_cssp(
    support: Support,
    context_size: int,
    *,
    loss_floor: float,
    spread: float = 0.5,
    ceiling: float = 1000.0,
    episodes: int | None = None,
    regularization: float = 1.0,
    rng: np.random.Generator | None = None,
) -> LRCSSP:
    """Thompson sampling: plans in a draw from the Gaussian ridge posterior.

    The coefficients of a row have posterior N(P^, spread^2 V^-1), independently; so under a context c the row itself
    is N(P^ c, (spread w)^2 I) with w the norm of c in V^-1. That is drawn, for every next state of the support, and
    projected on the sub-simplex, or on the simplex where the goal cannot follow; likewise the loss, clipped to
    [loss floor, 1]. A new draw at each episode, and when the Gram determinant of a pair doubles. No guarantee is known.
    A plan looks at all pairs: O(M d + N d^2), and O(M) for each sweep of value iteration.

    >>> from goalbound import Support
    >>> learner = ps_cssp(Support.full(2, 2), 2, loss_floor=0.1, rng=np.random.default_rng(1))
    >>> learner.begin([0.5, 0.5]).act(1) in (0, 1)
    True
    """
    return LRCSSP(
        support, context_size, loss_floor=loss_floor, episodes=episodes, regularization=regularization,
        exploration=sampled(spread=spread, ceiling=ceiling), replan_factor=DOUBLING, rng=rng,
    )  # fmt: skip


def kwik_rmax(
    support: Support,
    context_size: int,
    *,
    loss_floor: float,
    accuracy: float = 0.1,
    threshold: float | None = None,
    delta: float = 0.1,
    episodes: int | None = None,
    regularization: float = 1.0,
) -> LRCSSP:
    """KWIK_LR-Rmax (Modi et al., 2018), adapted from a finite horizon: a pair is known under a context c where the sum
    of |V^-1 c| is at most a threshold; known pairs use the projected estimate, unknown ones lead to the goal.

    The threshold follows from ``accuracy`` and ``delta`` (:func:`goalbound.learners.exploration.kwik_threshold`), or is
    given. The original bounds the number of episodes that are not nearly optimal, for a horizon and an accuracy fixed
    in advance; its regret is linear once all pairs are known to that accuracy and it stops looking further.

    Departs from the source: shortest paths have no horizon, so an unknown pair is worth the loss floor once, not the
    largest reward for ever; the estimate is the ridge one, projected, and goes on improving after a pair is known.

    >>> from goalbound import Support
    >>> learner = kwik_rmax(Support.full(2, 2), 2, loss_floor=0.1)
    >>> learner.begin([0.5, 0.5]).act(1)
    0
    """
    if threshold is None:
        threshold = kwik_threshold(context_size, accuracy=accuracy, delta=delta)
    return LRCSSP(
        support, context_size, loss_floor=loss_floor, delta=delta, episodes=episodes, regularization=regularization,
        exploration=rmax(threshold=threshold),
    )  # fmt: skip
