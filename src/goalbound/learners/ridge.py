"""Contextual learners to compare LR-CSSP with: they regress, project and plan with its core, and explore otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.kernels import algorithm as kernels
from goalbound.kernels.confidence import bonus_visits, optimistic_worth
from goalbound.kernels.state import GREEDY, LOCAL, POSTERIOR, RMAX, EpisodeState
from goalbound.learners.card import Card, exploration_card
from goalbound.learners.core import RidgeLearner
from goalbound.learners.explanation import Explanation
from goalbound.learners.exploration import Exploration, greedy, kwik_threshold, local, rmax, sampled
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Support

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
    card = Card(exploration_card)

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
            context_size, loss_floor=loss_floor, exploration=greedy(), options=options, replan_factor=DOUBLING
        )
        self._set_up(support, settings, prior, None)

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == GREEDY and exploration.explore == 0.0


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
    card = Card(exploration_card)

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
            context_size, loss_floor=loss_floor, exploration=greedy(explore=explore, fade=fade), options=options,
            replan_factor=DOUBLING,
        )  # fmt: skip
        self._set_up(support, settings, prior, rng)

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == GREEDY

    def _select(self, episode_state: EpisodeState, state: int) -> int:
        if self.settings.exploration.explore == 0.0:
            return super()._select(episode_state, state)
        # Not compiled: every call that hands a generator to compiled code takes longer than this, and loses 48 bytes.
        return int(kernels.select_pair.python(self._constants, episode_state, state, self._rng))

    def _select_among(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64]) -> int:
        exploration, number = self.settings.exploration, int(episode_state.progress["number"])
        if exploration.explore > 0.0 and self._rng.random() < exploration.explore * number**-exploration.fade:
            return int(allowed[int(self._rng.random() * len(allowed))])
        return super()._select_among(episode_state, state, allowed)

    def _described(self) -> list[str]:
        exploration = self.settings.exploration
        return [*super()._described(), f"explore {exploration.explore:.3g}", f"fade {exploration.fade:.3g}"]


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
    of losses within pairs over that between pairs, at most 16 (:mod:`goalbound.kernels.loss_shrinkage`).

    Where all actions of a state have the same next states, other states and not the goal, and as many as there are
    actions, nothing but experience tells the actions apart: streets at a crossing, without a map. Before its first
    visit such a pair, unless there is a guess of it, leads to the best of its next states; later what a context leaves
    open is filled by what was seen of the pair under all contexts (:mod:`goalbound.kernels.interchangeable`).

    Plans at each episode, after a step that was not the plan's, when the Gram determinant of a pair doubles, and when
    the visits of such a pair reach a power of two. Draws nothing. No guarantee is known. ``options``: lambda is 2
    unless they say otherwise.

    >>> from goalbound import LocalOptimism, Support
    >>> learner = LocalOptimism(Support.full(2, 2), 3, loss_floor=0.1)
    >>> learner.begin([0.2, 0.3, 0.5]).act(0)
    0
    """

    kind = "LocalOptimism"
    card = Card(exploration_card)

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
            context_size, loss_floor=loss_floor, exploration=local(bonus=bonus), replan_factor=DOUBLING,
            options=LearnerOptions(regularization=LOCAL_REGULARIZATION) if options is None else options,
        )  # fmt: skip
        self._set_up(support, settings, prior, None)

    def explain(self, context: ArrayLike, state: int | str) -> Explanation:
        """:meth:`RidgeLearner.explain`, with a note where actions that nothing tells apart were not played yet."""
        found = super().explain(context, state)
        first = int(self.support.pair_start[self.support.state(state)])
        interchangeable = self._constants.interchangeable.pairs[first : first + len(found.actions)]
        untried = [
            one.action for one, same in zip(found.actions, interchangeable, strict=True) if same and not one.visits
        ]
        visits = int(self._state.regression.visits.sum())
        if not untried or 0 < visits <= self._state.totals["logged"]:  # after a log they may lead anywhere
            return found
        note = (
            "Nothing but experience tells the actions of this state apart: the plan takes those that were never played "
            f"({', '.join(untried)}) to lead to the best of their next states."
        )
        return replace(found, notes=(*found.notes, note))

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == LOCAL

    def _select(self, episode_state: EpisodeState, state: int) -> int:
        run = self._effort.engine(0)(kernels.locally_optimistic_pair)
        return int(run(self._constants, episode_state, state))

    def _select_among(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64]) -> int:
        planned = int(episode_state.iteration.policy[state])
        if planned not in allowed:
            planned = super()._select_among(episode_state, state, allowed)
        engine = self._effort.engine(0)
        visits = engine(bonus_visits)(episode_state, planned)
        worth = [engine(optimistic_worth)(self._constants, episode_state, pair, visits) for pair in allowed]
        return planned if worth[list(allowed).index(planned)] == min(worth) else int(allowed[int(np.argmin(worth))])

    def _described(self) -> list[str]:
        return [*super()._described(), f"bonus {self.settings.exploration.spread:.3g} x the estimated deviation"]


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
    card = Card(exploration_card)

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
            context_size, loss_floor=loss_floor, options=options, replan_factor=DOUBLING,
            exploration=sampled(
                spread=spread, by_variance=by_variance, optimism=optimism, patience=patience, ceiling=ceiling
            ),
        )  # fmt: skip
        self._set_up(support, settings, prior, rng)

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == POSTERIOR

    def _draw(self, episode_state: EpisodeState) -> None:
        # As kernels.draw_noise, number for number: handing a generator to compiled code takes longer than the draws.
        optimism = self._constants.optimism
        episode_state.progress["optimistic"] = int(optimism > 0.0 and self._rng.random() < optimism)
        self._rng.standard_normal(out=episode_state.noise)
        episode_state.revision.fill(-1)
        episode_state.iteration.progress["residual"] = np.inf

    def _described(self) -> list[str]:
        exploration = self.settings.exploration
        times = " x the estimated deviation" if exploration.by_variance else ""
        described = [*super()._described(), f"spread {exploration.spread:.3g}{times}"]
        if exploration.optimism > 0.0:
            described.append(f"{exploration.optimism:.3g} of the plans optimistic")
        return described


class KwikRmax(RidgeLearner):
    """KWIK_LR-Rmax (Modi et al., 2018), adapted from a finite horizon: a pair is known under a context c where the sum
    of |V^-1 c| is at most a threshold; known pairs use the projected estimate, unknown ones lead to the goal.

    The threshold follows from ``accuracy`` and ``delta`` (:func:`goalbound.learners.exploration.kwik_threshold`), or is
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
    card = Card(exploration_card)

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
            context_size, loss_floor=loss_floor, delta=delta, exploration=rmax(threshold=threshold), options=options
        )
        self._set_up(support, settings, prior, None)

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == RMAX

    def _described(self) -> list[str]:
        return [*super()._described(), f"threshold {self.settings.exploration.threshold:.3g}"]
