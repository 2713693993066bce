"""When a visit enters its sums, kernel by kernel, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goalbound.confidence.regression import UNIT, count_visit
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.learners.visits import count_without_outcome, mark_changed
from goalbound.models import Support
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]


def arguments(**settings: Any) -> Arguments:
    given = {"loss_floor": 0.5, "loss_bound": 1.0, "delta": 0.5} | settings
    return arguments_of(lr_cssp(SUPPORT, 2, **given), CONTEXT)


def test_a_visit_returns_the_norm_of_its_context_before_and_adds_up_the_log_determinant() -> None:
    case, contexts = arguments(), np.random.default_rng(3).dirichlet(np.ones(2), 12)
    gram = np.eye(2)
    for context in contexts:
        norm = count_visit.python(case.constants, case.learner, case.scratch, 2, context)
        assert norm == pytest.approx(math.sqrt(context @ np.linalg.solve(gram, context)), rel=1e-12)
        gram += np.outer(context, context)
    np.testing.assert_allclose(case.learner.regression.gram[2], gram, rtol=1e-14)
    exact = float(np.linalg.slogdet(gram)[1])
    assert exact <= case.learner.log_det[2] <= exact + 1e-9
    assert case.learner.regression.visits.tolist() == [0, 0, 12, 0]


def test_the_log_of_changes_is_a_ring() -> None:
    case = arguments()
    start = int(case.learner.totals["changes"])
    for pair in [3] * CHANGE_LOG_SIZE + [2, 1]:
        mark_changed.python(case.learner, pair)
    assert case.learner.totals["changes"] == start + CHANGE_LOG_SIZE + 2
    ring = np.roll(case.learner.change_log, -(start % CHANGE_LOG_SIZE))
    assert ring[:3].tolist() == [2, 1, 3]


def test_a_visit_without_its_outcome_counts_as_one_that_may_have_been_anything() -> None:
    case = arguments()
    case.plan()
    before = float(case.learner.sets.loss_radius[0])
    case.python(count_without_outcome)(case.constants, case.learner, case.episode, case.scratch, 0)
    norm = math.sqrt(0.625)  # |c| in V = I, squared: 1/16 + 9/16
    assert case.learner.regression.visits[0] == case.learner.pending.visits[0] == 1
    assert case.learner.pending.norms[0] * UNIT == pytest.approx(norm, abs=2 * UNIT)
    # log(1 + 1 / 1) more under the root, and the norm
    grown = math.sqrt(2 * math.log(8 * 4 / 0.5 * 2)) + 1.0
    assert case.learner.sets.loss_radius[0] == pytest.approx(grown + norm, rel=1e-9)
    assert case.learner.sets.loss_radius[0] > before
    # when its outcome comes after all, nothing is missing and nothing is counted twice
    case.observe(0, 1, 0.5)
    assert case.learner.regression.visits[0] == 1
    assert case.learner.pending.norms[0] == case.learner.pending.visits[0] == 0
    assert case.learner.sets.loss_radius[0] == pytest.approx(grown, rel=1e-14)
