"""What follows from sums that were carried over is the same compiled and as Python."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import widths
from goalbound.estimation import Widths
from goalbound.kernels.intervals import TRUNCATION_LOG, VARIANCE_RIDGE
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Support
from tests.support.behaviour import at_random, log_of
from tests.support.driving import small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels

PROBLEM = small_problem()


def learned(rule: Widths) -> LRCSSP:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=rule)
    learner.learn_log(log_of(PROBLEM, at_random, 60, seed=1))
    return learner


@pytest.mark.parametrize("rule", [widths.paper(), widths.sharp(), widths.likelihood()], ids=str)
def test_compiled_and_as_python_it_gives_the_same_bits(rule: Widths) -> None:
    source, found = learned(rule), []
    for way in (PYTHON, COMPILED):
        with kernels(way):
            larger = source.extended(Support.full(4, 2))
            found.append(written(larger.with_settings(delta=0.2, options=LearnerOptions(regularization=0.3))))
    assert found[0] == found[1]


def test_levels_are_those_of_the_traces() -> None:
    """L = d / 2 log(1 + trace / (rho d)) + what the cut costs + log(16 M / delta), and a little for rounding."""
    learner = learned(widths.paper()).with_settings(widths=widths.sharp(), delta=0.2)
    traces = learner._state.variance[:, [0, 2]].sum(axis=1)  # of lower triangles [m00, m10, m11]
    triples = PROBLEM.support.triples
    levels = np.log1p(traces / (2 * VARIANCE_RIDGE)) + 2 * TRUNCATION_LOG + np.log(16 * triples / 0.2)
    np.testing.assert_allclose(learner._state.variance_log_det, levels, atol=2e-6)
