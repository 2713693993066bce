"""What a learner by ridge regression has seen, in another learner: on a larger support, or under other settings.

:func:`extended`, :func:`with_settings` and :func:`learn_data` are methods of
:class:`~goalbound.learners.core.RidgeLearner`. Proofs are in docs/explanation/steps_by_anyone.md.
"""

from __future__ import annotations

from dataclasses import fields, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from goalbound.errors import ArgumentError, LearnerError
from goalbound.estimation import Widths
from goalbound.learners.carry_over import carry_over
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import SupportMatch, match_support
from goalbound.models.validation import check_type, set_readonly

if TYPE_CHECKING:
    from goalbound.learners.core import RidgeLearner

R = TypeVar("R", bound="RidgeLearner")
MOST_NAMED = 8
"""Open episodes that an error names."""


def extended(learner: R, support: Support) -> R:
    """A new learner on a larger support, with all that this one has seen; this one stays as it is.

    The support may have new states, new actions, and new next states of old pairs; it has all that the old one has,
    by names where both have names, else by numbers. Settings, prior knowledge and :attr:`caveats` stay, and what
    depends on the size of the support is that of the new one: sets are a little wider, as more of them must hold. With
    ``widths.sharp()`` they are wider from the third extension on, where delta no longer pays for what bounds of
    variances trust. A ``loss_bound`` that was given must hold for the new states too.

    Next states that are new for a pair were followed by none of its steps so far. That is right if they were
    possible and never came. It is wrong if they could not come before (the world has changed), and if steps into
    them were refused: learn those right after this. docs/explanation/steps_by_anyone.md has the proof.

    >>> from goalbound import LRCSSP, Step, Support
    >>> learner = LRCSSP(Support.from_pairs([{0: [0, 1]}]), 2, loss_floor=0.1)
    >>> learner.learn([0.3, 0.7], Step(0, 0, 0.5, 1))
    >>> larger = learner.extended(Support.from_pairs([{0: [0, 1, 2], 1: [2]}, {0: [0, 2]}]))
    >>> larger.statistics.visits, larger.estimate.model().at([0.3, 0.7]).support.states
    (array([1, 0, 0]), 2)
    """
    _check_can_give(learner)
    check_type(support, Support, "support", SUPPORT_REMEDY)
    places = match_support(support, learner.support, name="the learner")
    target = learner._made_alike(support, learner.settings, _prior_in(learner.prior, support, places))
    carry_over(learner, learner._made_alike(learner.support, learner.settings, learner.prior), target, places)
    target._after_learning()
    return target


def with_settings(
    learner: R,
    *,
    loss_floor: float | EllipsisType = ...,
    loss_bound: float | EllipsisType | None = ...,
    widths: Widths | EllipsisType = ...,
    delta: float | EllipsisType = ...,
    prior: PriorKnowledge | EllipsisType | None = ...,
    options: LearnerOptions | EllipsisType = ...,
) -> R:
    """A new learner of the same class with all that this one has seen, under other settings; what is left out stays
    as it is, and so does this one.

    The sets are those of one that had these settings from the beginning, but for two things. Bounds of variances are
    kept where they are as sure as the new settings ask for, and are a quarter for each visit else. Likelihoods go on if
    there were any; from sharp or paper widths to ``widths.likelihood()`` they begin with the next step, as what was
    seen has no forecasts, and sets are wider than if the log were learned anew. So the guarantee holds if
    the settings do not depend on the outcomes: a ``delta``, a rule of the widths or a prior that was chosen because of
    what was seen is a selection, and nothing is proven of it then. Settings of learners with ``forget=True``, and
    ``forget`` itself, cannot be changed.

    >>> from goalbound import LRCSSP, Step, Support, widths
    >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
    >>> learner.learn([0.3, 0.7], Step(0, 1, 0.5, 1))
    >>> sharp = learner.with_settings(widths=widths.sharp(), delta=0.05)
    >>> print(sharp.settings.widths, sharp.settings.delta, sharp.statistics.visits)
    sharp 0.05 [0 1 0 0]
    """
    _check_can_give(learner)
    given = {"loss_floor": loss_floor, "loss_bound": loss_bound, "widths": widths, "delta": delta}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not ...}
    wrong = [name for name in ("loss_bound", "widths", "delta") if name in changes]
    if wrong and not learner.settings.is_optimistic:
        raise ArgumentError(f"{wrong[0]} is a setting of LRCSSP; a {type(learner).__name__} has none: leave it out")
    if options is not ...:
        changes |= _changed_options(options, learner.settings.replan_factor)
    known = learner.prior if prior is ... else prior
    target = learner._made_alike(learner.support, replace(learner.settings, **changes), known)
    carry_over(
        learner, learner._made_alike(learner.support, learner.settings, learner.prior), target,
        match_support(learner.support, learner.support, name="the learner"),
    )  # fmt: skip
    target._after_learning()
    return target


def learn_data(learner: RidgeLearner, other: RidgeLearner) -> None:
    """Take over all that another learner by ridge regression has seen, of whatever class and settings; this one has
    seen nothing yet, and its support has all of the other's.

    So a log is learned once and used by many: LR-CSSP, greedy, posterior sampling. What holds of :meth:`extended`
    and :meth:`with_settings` holds of this, and the other's :attr:`caveats` are added. The data of a learner without
    likelihood-ratio sets (greedy, posterior sampling, sharp widths) has no forecasts: an LR-CSSP with the default
    widths has sharp sets of it only, until more is seen. Learners without confidence sets
    do not count visits whose outcome was lost (``abandon``, ``moved_to``); sets that are made from their data hold if
    none was, or if outcomes were missing at random.

    >>> from goalbound import LRCSSP, GreedyRidge, Step, Support
    >>> learner, greedy = (kind(Support.full(2, 2), 2, loss_floor=0.1) for kind in (LRCSSP, GreedyRidge))
    >>> learner.learn([0.3, 0.7], Step(0, 1, 0.5, 1))
    >>> greedy.learn_data(learner)
    >>> greedy.statistics.visits
    array([0, 1, 0, 0])
    """
    from goalbound.learners.core import RidgeLearner

    check_type(other, RidgeLearner, "other", "a learner by ridge regression, such as an LRCSSP")
    if other.context_size != learner.context_size:
        raise ArgumentError(f"other knows contexts of {other.context_size} entries, this one of {learner.context_size}")
    if learner._steps or learner.open_episodes or learner.settings.forget:
        raise LearnerError(
            "this learner has seen steps, has open episodes or forgets; take over the data of other with a new one"
        )
    _check_can_give(other)
    empty = other._made_alike(other.support, other.settings, other.prior)
    carry_over(other, empty, learner, match_support(learner.support, other.support, name="other"))
    learner._after_learning()


def _prior_in(prior: PriorKnowledge | None, larger: Support, places: SupportMatch) -> PriorKnowledge | None:
    """Prior knowledge on a larger support: the same of the same pairs, nothing of new ones.

    A row that is known stays as it is: next states that were added to it have probability 0.
    """
    if prior is None:
        return None
    nothing = PriorKnowledge.nothing(larger, prior.context_size)
    found: dict[str, Any] = {}
    for one in fields(PriorKnowledge):
        array = getattr(prior, one.name)
        if not isinstance(array, np.ndarray) or not len(array):
            continue
        of_triples = one.name in ("rows", "guess_rows")
        table = np.zeros((larger.triples if of_triples else larger.pairs, *array.shape[1:]), array.dtype)
        table[places.triples if of_triples else places.pairs] = array
        found[one.name] = set_readonly(table)
    return replace(nothing, **found)


def _check_can_give(source: RidgeLearner) -> None:
    """An error unless the data of a learner can be carried over."""
    waiting = source.open_episodes
    if waiting:
        names = ", ".join(f"number {one.number}" if one.id is None else repr(one.id) for one in waiting[:MOST_NAMED])
        more = f" and {len(waiting) - MOST_NAMED} more" if len(waiting) > MOST_NAMED else ""
        raise LearnerError(
            f"the learner has open episodes ({names}{more}), which cannot go on elsewhere; let them end, or "
            "abandon(reason) them first"
        )
    if source.settings.forget:
        raise LearnerError("with forget=True data is dropped as the loss bound doubles, and cannot be carried over")


def _changed_options(options: LearnerOptions, replan_factor: float) -> dict[str, Any]:
    """The settings that options stand for; ``replan_factor`` is that of the learner, where they leave it open."""
    check_type(options, LearnerOptions, "options", "give LearnerOptions(...), or leave it out")
    if options.forget:
        raise ArgumentError("options has forget=True; data that was not to be forgotten cannot be from now on")
    found = {one.name: getattr(options, one.name) for one in fields(LearnerOptions)}
    return found | {"replan_factor": replan_factor if options.replan_factor is None else options.replan_factor}
