"""LR-CSSP, the learner of the paper (Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goalbound.confidence import Widths, scaled
from goalbound.confidence.protocol import ConfidenceModel
from goalbound.confidence.widths import DEFAULT_RULE, FASTEST_RULE, RULES
from goalbound.learners.explore.optimistic import Optimistic
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.own_card import Card
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Support

if TYPE_CHECKING:
    from goalbound.learners.prior import PriorKnowledge


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
    card = Card("ridge_card")
    rules = (Optimistic,)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        loss_bound: float | None = None,
        widths: Widths | ConfidenceModel | None = None,
        delta: float = 0.1,
        prior: PriorKnowledge | None = None,
        options: LearnerOptions | None = None,
    ) -> None:
        settings = Settings.of(
            context_size,
            loss_floor=loss_floor,
            loss_bound=loss_bound,
            delta=delta,
            options=options,
            widths=DEFAULT_RULE() if widths is None else widths,
        )
        super().__init__(support, settings, prior=prior)

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
            support,
            context_size,
            loss_floor=loss_floor,
            loss_bound=loss_bound,
            widths=scaled(RULES[FASTEST_RULE](), by=scale),
            delta=delta,
            prior=prior,
            options=LearnerOptions(replan_factor=2.0, check_linearity=True, episodes=episodes),
        )
