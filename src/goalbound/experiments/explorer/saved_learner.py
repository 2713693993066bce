"""A learner from a file for the explorer: its estimate as a problem, and what it would do."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound.adapters.covariates import CovariateLearner
from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.learner_views import LearnerCourse, describe, has_plan, learner_view
from goalbound.experiments.explorer.optimum import simplex_lattice
from goalbound.learners.border import without_unit
from goalbound.models import LinearCSSP
from goalbound.models.amounts import with_cap


def learner_model(learner: Any) -> LinearCSSP:
    """The estimate of a learner as a problem, with the names of its components and in its unit."""
    names, cap, inner = peeled(learner)
    estimate = getattr(inner, "estimate", None)
    if estimate is None:
        raise ArgumentError(
            f"{inner!r} has no estimate that depends on a context, so there is nothing to drag; give the problem that "
            "it plays with --truth"
        )
    model: LinearCSSP = estimate.model()
    return with_cap(model, cap, component_names=names or model.component_names)


def learner_course(learner: Any, problem: LinearCSSP, *, label: str, most: int) -> LearnerCourse:
    """What a saved learner would do, at up to ``most`` contexts of the problem's simplex."""
    _, _, inner = peeled(learner)
    if not has_plan(inner):
        raise ArgumentError(f"{inner!r} cannot say what it would do at a context")
    size = getattr(inner, "context_size", None)
    if size is not None and size not in (1, problem.context_size):
        raise ArgumentError(
            f"contexts of the learner have {size} components, those of the problem {problem.context_size}; give the "
            "problem that it plays"
        )
    contexts = simplex_lattice(problem.context_size, most=most, finest=20)
    shown = np.ones((len(contexts), 1)) if size == 1 else contexts
    view = learner_view(inner, problem.support, shown)
    caveats = [f"Not proven: {caveat}." for caveat in getattr(inner, "caveats", ())]
    return LearnerCourse(label, describe(inner), contexts, [view], caveats, "as it was saved")


def peeled(learner: Any) -> tuple[tuple[str, ...] | None, float, Any]:
    """The names of the components, what a loss of 1 is, and the learner below its map of covariates, in [0, 1]."""
    names: tuple[str, ...] | None = None
    while isinstance(learner, CovariateLearner):
        names = tuple(learner.map.names)
        learner = learner.inner
    plain, cap = without_unit(learner)
    return names, cap, plain
