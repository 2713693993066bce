"""What a learner would do at some contexts and how sure it is, at one time or along a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, LearnerError, PlanningStopped
from goalbound.experiments.explorer.numbers import Number, about, at_least, at_most
from goalbound.learners.card import learner_card
from goalbound.learners.plan import Plan
from goalbound.models import Support
from goalbound.planning import PolicyBounds, evaluate

Report = Callable[[], object]


@dataclass(frozen=True)
class LearnerView:
    """What a learner would do at one time, by context; entries are None where it has no plan, or no such numbers.

    Attributes:
        episodes: how many were played by then; None: not known.
        policy: [K][S] the action of each state.
        lower: [K][S] what this policy loses at least, by the confidence sets.
        estimate: [K][S] ... in the estimated model (learners without contexts: the values of their plan).
        upper: [K][S] ... at most; None within a row: a plausible model may never arrive.
        known: [K] a text of N characters, 1 for pairs that are known.
    """

    episodes: int | None
    policy: Sequence[list[int] | None]
    lower: Sequence[list[Number] | None]
    estimate: Sequence[list[Number] | None]
    upper: Sequence[list[Number] | None]
    known: Sequence[str | None]

    def as_json(self) -> dict[str, Any]:
        """What the page reads."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class LearnerCourse:
    """A learner and its views along the episodes.

    Attributes:
        label: its name on the page.
        about: what it is and guarantees, in words.
        contexts: [K, d] at which it was looked at.
        views: at one time or more, in order.
        notes: what the reader should know, such as why nothing is proven.
        source: where this is from, in words.
    """

    label: str
    about: str
    contexts: NDArray[np.float64]
    views: Sequence[LearnerView]
    notes: Sequence[str] = field(default_factory=tuple)
    source: str = ""

    def as_json(self) -> dict[str, Any]:
        """What the page reads."""
        return {
            "label": self.label, "about": self.about, "contexts": np.asarray(self.contexts).tolist(),
            "views": [view.as_json() for view in self.views], "notes": list(self.notes), "source": self.source,
        }  # fmt: skip


def has_plan(learner: Any) -> bool:
    """Whether a learner can say what it would do."""
    return callable(getattr(learner, "plan", None))


def describe(learner: Any) -> str:
    """What a learner is, by its card."""
    return learner_card(learner).description


def learner_view(
    learner: Any, support: Support, contexts: NDArray[np.float64], *, episodes: int | None = None,
    report: Report = lambda: None,
) -> LearnerView:  # fmt: skip
    """Look at a learner. Nothing is changed by looking.

    Args:
        learner: it has ``plan``; with ``policy_bounds`` it says how sure it is.
        support: the pairs of the problem that it is shown beside; those of the learner are the same.
        contexts: [K, d].
        episodes: how many it has played.
        report: called after each context.
    """
    own = getattr(learner, "support", None)
    if isinstance(own, Support) and not own.same_pairs(support):
        raise ArgumentError(
            f"the learner knows {own}, with other states or actions than the problem ({support}); give its own problem"
        )
    rows = []
    for context in contexts:
        rows.append(_at(learner, support, context))
        report()
    return LearnerView(episodes, *map(list, zip(*rows, strict=True)))


_Row = tuple[
    list[int] | None, list[Number] | None, list[Number] | None, list[Number] | None, str | None
]  # fmt: skip


def _at(learner: Any, support: Support, context: NDArray[np.float64]) -> _Row:
    try:
        plan: Plan = learner.plan(context)
    except PlanningStopped:
        return None, None, None, None, None
    policy = np.asarray(plan.policy, dtype=np.int64).tolist()
    known = getattr(plan, "known", None)
    marks = None if known is None or not _tests_known(learner) else "".join("01"[int(one)] for one in known)
    bounds = _bounds(learner, context, plan)
    if bounds is None:
        return policy, None, _estimate(learner, context, plan), None, marks
    estimate = None if bounds.estimate is None else about(bounds.estimate[:-1])
    return policy, at_least(bounds.lower[:-1]), estimate, at_most(bounds.upper[:-1]), marks


def _tests_known(learner: Any) -> bool:
    return bool(learner_card(learner).has_known_test)


def _bounds(learner: Any, context: NDArray[np.float64], plan: Plan) -> PolicyBounds | None:
    """What the plan loses at least and at most; None for learners without confidence sets."""
    try:
        found: PolicyBounds = learner.policy_bounds(context, plan.policy)
    except (AttributeError, LearnerError):
        return None
    return found


def _estimate(learner: Any, context: NDArray[np.float64], plan: Plan) -> list[Number] | None:
    """The values of a plan without bounds: in the estimated model, or those of the plan itself."""
    estimate = getattr(learner, "estimate", None)
    if estimate is None or estimate.losses.shape[1] != len(context):
        return about(plan.values[:-1]) if plan.values is not None else None
    found = evaluate(estimate.model().at(context), plan.policy)
    return about(np.where(np.isinf(found.hitting_times), np.inf, found.values)[:-1])
