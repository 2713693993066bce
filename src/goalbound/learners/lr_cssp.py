"""LR-CSSP, the learner of the paper (Algorithm 1)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.estimation import Estimate, Widths, likelihood, project, ridge_estimate, scaled, sharp
from goalbound.kernels.all_pairs import all_pair_sets
from goalbound.kernels.state import OPTIMISTIC
from goalbound.learners.card import PROVEN, Card, learner_card, lr_cssp_card
from goalbound.learners.caveats import united_caveats
from goalbound.learners.core import RidgeLearner
from goalbound.learners.explanation import Evidence
from goalbound.learners.exploration import Exploration
from goalbound.learners.linearity import ModelViolation, model_violation
from goalbound.learners.plan import in_support_order
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import BallSet, IntervalSet, Support
from goalbound.models.confidence_set import tighten_intervals
from goalbound.models.validation import check_distribution
from goalbound.planning import PolicyBounds, robust_plan
from goalbound.planning import policy_bounds as bounds_of_policy
from goalbound.planning.policy_bounds import UNPROVEN_WIDTHS

LIKELIHOOD_WORK = 50
"""How many times more a step costs as Python with likelihood-ratio sets: 60 ms against 1 ms on a treatment ladder."""
CONTRADICTED = "what was seen contradicts the model or what was declared, see alarm"
"""Why the bounds of a learner with an alarm are not proven."""


class LRCSSP(RidgeLearner):
    """Learns to reach the goal at least loss when every episode comes with its own context.

    Ridge regression for each pair, projected on the stochastic matrices; confidence sets; the best policy of the most
    optimistic plausible model; a new plan whenever a pair was played that is not yet *known* for the context.

    Args:
        support: the pairs and where each may lead; :meth:`Support.full` if nothing is known.
        context_size: d, the entries of a context.
        loss_floor: l_min, a lower bound of all mean losses. 0 if losses may be zero; then give ``options`` the number
            of ``episodes``.
        loss_bound: B, at least the largest optimal loss, and 1. None: found by doubling, from 1 on.
        widths: the rule of the confidence sets. :func:`goalbound.widths.likelihood` if left out, the smallest that are
            proven; the constants of the paper are ``widths=goalbound.widths.paper()``.
        delta: the guarantees hold with probability 1 - delta.
        prior: losses, rows and loss floors of single pairs that are known. An observation that a known row excludes
            is an error, and is not recorded.
        options: what seldom needs to be changed, :class:`~goalbound.learners.settings.LearnerOptions`.

    One plan costs O(M) per sweep of value iteration, and only pairs visited since the last one are looked at again; a
    new context O(M d + N d^2); learning from a step O(m d^2) for the m next states seen of its pair. Memory is
    O(M d + N d^2) and O(M) for each open episode. A learner is for one thread at a time.

    >>> from goalbound import LRCSSP, Step, Support
    >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
    >>> episode = learner.begin([0.3, 0.7])
    >>> action = episode.act(0)
    >>> episode.observe(Step(0, action, 0.5, 2))
    >>> episode.ended, learner.statistics.visits.sum()
    (True, np.int64(1))
    """

    kind = "LRCSSP"
    card = Card(lr_cssp_card)
    _warned = False

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        loss_bound: float | None = None,
        widths: Widths | None = None,
        delta: float = 0.1,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        settings = Settings.of(
            context_size, loss_floor=loss_floor, loss_bound=loss_bound, delta=delta, options=options,
            widths=likelihood() if widths is None else widths,
        )  # fmt: skip
        self._set_up(support, settings, prior, None)

    @classmethod
    def scaled(
        cls,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        loss_bound: float | None = None,
        prior: PriorKnowledge | None = None,
        scale: float = 0.5,
        delta: float = 0.1,
        episodes: int | None = None,
    ) -> LRCSSP:
        """LR-CSSP with sharp intervals whose noise is scaled, fewer plans, and the linear model tested.

        *Nothing is promised below a scale of 1*: the truth may lie outside the intervals, and a learner that is too
        little optimistic may settle for a bad plan and never find out. At 0.5 the regret was 0.36 to 0.57 of that of
        the proven intervals on the problems that we measured, and none of 200 runs of the hardest was stuck with a bad
        plan; at 0.1 nearly one in four was (docs/how_to/width_scale.md). Where no proof is asked for,
        :class:`~goalbound.LocalOptimism` does better on most problems (docs/how_to/which_learner.md).

        Args:
            support: the pairs and where each may lead; a narrow one helps, and costs no guarantee.
            context_size: d.
            loss_floor: a number that no mean loss is below; 0 if losses may be zero, then give ``episodes``.
            loss_bound: at least the largest optimal loss, and 1; None: found by doubling.
            prior: what else is known of single pairs.
            scale: what the noise part of the intervals is multiplied by. The bias of the ridge is never scaled.
            delta: what the proofs allow to fail, at a scale of 1.
            episodes: how many are to come; only for ``loss_floor=0``.

        An :attr:`alarm` may be false below a scale of 1.

        >>> from goalbound import LRCSSP, Support
        >>> learner = LRCSSP.scaled(Support.full(2, 2), 2, loss_floor=0.1)
        >>> print(learner.settings.widths, learner.settings.widths.proven)
        0.5 x sharp False
        """
        return cls(
            support, context_size, loss_floor=loss_floor, loss_bound=loss_bound, widths=scaled(sharp(), by=scale),
            delta=delta, prior=prior,
            options=LearnerOptions(replan_factor=2.0, check_linearity=True, episodes=episodes),
        )  # fmt: skip

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        return exploration.code == OPTIMISTIC

    @property
    def _work_of_step(self) -> int:
        return super()._work_of_step * (LIKELIHOOD_WORK if self._constants.likelihood.on else 1)

    def confidence_set(self, context: ArrayLike) -> BallSet | IntervalSet:
        """The losses and rows that are plausible under a context, as plans take them: balls, or intervals.

        Balls are those of :func:`goalbound.widths.paper` and its scales. Intervals are those of ``sharp()``; both ends
        of an interval are those of rows that sum to 1: what the others leave is cut off. Plans need not do so, as their
        rows sum to 1 anyway. Nothing is changed by this.

        :func:`goalbound.extended_value_iteration` plans in either.
        """
        arrays = self._new_episode_state()
        arrays.context[:] = check_distribution(context, "context", self.settings.context_size, "component")
        self._effort.engine(self.support.triples)(all_pair_sets)(self._constants, self._state, arrays)
        if self._constants.intervals.on:
            low, high = tighten_intervals(self.support, arrays.sets.low, arrays.sets.high)
            return IntervalSet(self.support, arrays.sets.losses, arrays.loss_high, low, high)
        sets = in_support_order(self.support, arrays.sets)
        prior, added = self._constants.prior, self._constants.added_loss
        high = self._state.losses @ arrays.context + self._state.loss_radius * arrays.norm
        high = np.where(prior.loss_known, sets.losses, np.maximum(np.clip(high, 0.0, 1.0) + added, sets.losses))
        return BallSet(self.support, sets.losses, high, np.clip(sets.centre, 0.0, 1.0), np.sqrt(sets.ball))

    def policy_bounds(self, context: ArrayLike, policy: ArrayLike | Mapping[Any, Any] | None = None) -> PolicyBounds:
        """What a policy loses under a context: at least, by the estimate, and at most. Nothing is changed by this.

        Args:
            context: [d].
            policy: an action for each state, by numbers or names (:func:`goalbound.policy_bounds`); None: that of
                :meth:`plan`, whose episodes may change it as they learn.

        ``lower`` and ``upper`` are the least and the largest loss in the models of :meth:`confidence_set`. With
        probability 1 - delta the sets of all pairs hold the truth at all times and under all contexts at once; then all
        bounds of all policies hold, however the policy and the context were chosen, the data included. Where the widths
        are not proven, what was seen contradicts the model (:attr:`alarm`), or the data cannot prove anything
        (:attr:`caveats`), ``proven`` is false. What the zero-loss variant adds to losses is not in these numbers.
        ``estimate`` is the value in the projected estimate, with what is known beforehand put in; nothing is promised
        of it.
        """
        weights = self._checked_context(context)
        chosen = self.plan(weights).policy if policy is None else policy
        return self._completed(bounds_of_policy(self._plausible(weights), chosen), weights)

    def robust_plan(self, context: ArrayLike) -> PolicyBounds:
        """The policy that loses least in the worst plausible model of a context, and its bounds as in
        :meth:`policy_bounds`. Nothing is changed by this, and episodes do not play it: they plan optimistically.

        States from which no policy arrives surely in all plausible models are in ``may_never_arrive``; their upper
        bounds are infinite (:func:`goalbound.planning.robust_plan`).
        """
        weights = self._checked_context(context)
        return self._completed(robust_plan(self._plausible(weights)), weights)

    def _evidence(self, context: NDArray[np.float64]) -> Evidence:
        found, sets = super()._evidence(context), self._plausible(context)
        return replace(found, sets=sets, bounds=self._completed(bounds_of_policy(sets, found.policy), context))

    def _plausible(self, context: NDArray[np.float64]) -> BallSet | IntervalSet:
        """:meth:`confidence_set` without what the zero-loss variant adds to the losses."""
        sets, added = self.confidence_set(context), self.added_loss
        if added == 0.0:
            return sets
        low = np.maximum(sets.loss_low - added * (1.0 + 1e-15), 0.0)
        return replace(sets, loss_low=low, loss_high=np.maximum(sets.loss_high - added * (1.0 - 1e-15), low))

    def _completed(self, bounds: PolicyBounds, context: NDArray[np.float64]) -> PolicyBounds:
        """The bounds with the estimate, with what the learner's card says of the sets, and why they are not proven."""
        card = learner_card(self)
        return replace(
            bounds, estimate=self._estimated_values(self._estimated(context), bounds.policy),
            proven=card.guarantee == PROVEN and self.alarm is None, delta=card.delta, caveats=self._not_proven(),
        )  # fmt: skip

    def _not_proven(self) -> tuple[str, ...]:
        """All reasons why the bounds are not proven."""
        widths = () if self.settings.widths.proven else (UNPROVEN_WIDTHS,)
        contradicted = () if self.alarm is None else (CONTRADICTED,)
        return united_caveats(widths, contradicted, self.caveats)

    @property
    def estimate(self) -> Estimate:
        """The projected estimate; ``estimate.model()`` is a problem. It is around the model of the prior, if there is
        one; confidence sets are not (:mod:`goalbound.kernels.model_prior`)."""
        around = None if self.prior is None or not self.prior.guessed.any() else self.prior.model_prior(on=True)
        if around is not None or self._constants.intervals.on:  # intervals need no projection, so none is kept
            return project(ridge_estimate(self.statistics, around=around))
        return super().estimate

    @property
    def loss_bound(self) -> float:
        """B: as given, or as far as doubling has come."""
        return float(self._state.totals["loss_bound"])

    @property
    def alarm(self) -> ModelViolation | None:
        """What first contradicted the linear model, or what was declared; None while nothing has."""
        declared = self.settings.loss_floor, self.prior
        return model_violation(self._state.linearity, self.support, self.settings.context_size, *declared)

    @property
    def doublings(self) -> int:
        """How often B was raised."""
        return int(self._state.totals["doublings"])

    def _ceiling(self) -> float:
        """No optimal value is above the loss bound, where one was given; intervals do not know it by themselves."""
        bound = self.settings.loss_bound
        return float(bound) if self._constants.intervals.on and bound is not None else super()._ceiling()

    def _after_learning(self) -> None:
        """Warn, the first time that outcomes contradict the model."""
        super()._after_learning()
        if not self._warned and self._state.linearity.violation["found"] and (alarm := self.alarm) is not None:
            self._warned = True
            warnings.warn(str(alarm), alarm.cause.warning, stacklevel=3)

    def _described(self) -> list[str]:
        return [*super()._described(), f"{self.settings.widths} widths"]
