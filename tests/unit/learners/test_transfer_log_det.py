"""Sums that came from another learner: bounds of their determinants, levels, the same bits in both forms."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import widths
from goalbound.confidence import Widths
from goalbound.confidence.sharp import TRUNCATION_LOG, VARIANCE_RIDGE
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.learners.transfer import log_det_bound
from goalbound.models import Support
from tests.support.behaviour import at_random, log_of
from tests.support.driving import small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels

PROBLEM = small_problem()


def learned(rule: Widths, seed: int = 1) -> LRCSSP:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=rule)
    learner.learn_log(log_of(PROBLEM, at_random, 60, seed=seed))
    return learner


@pytest.mark.parametrize("rule", [widths.paper(), widths.sharp(), widths.likelihood()], ids=str)
def test_compiled_and_as_python_it_gives_the_same_bits(rule: Widths) -> None:
    found = []
    for way in (PYTHON, COMPILED):
        one, other = learned(rule), learned(rule, seed=2)
        with kernels(way):
            one.merge(other)
            larger = one.extended(Support.full(4, 2))
            found.append(written(larger.with_settings(delta=0.2, options=LearnerOptions(regularization=0.3))))
    assert found[0] == found[1]


def test_levels_are_those_of_the_traces() -> None:
    """L = d / 2 log(1 + trace / (rho d)) + what the cut costs + log(16 M / delta), and a little for rounding."""
    learner = learned(widths.paper()).with_settings(widths=widths.sharp(), delta=0.2)
    traces = learner._state.sets.sharp.variance[:, [0, 2]].sum(axis=1)  # of lower triangles [m00, m10, m11]
    triples = PROBLEM.support.triples
    levels = np.log1p(traces / (2 * VARIANCE_RIDGE)) + 2 * TRUNCATION_LOG + np.log(16 * triples / 0.2)
    np.testing.assert_allclose(learner._state.sets.sharp.variance_log_det, levels, atol=2e-6)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("pooled", [1.0, 0.2, 5.0])
def test_the_determinant_of_a_gram_matrix_is_bounded_from_above(size: int, ridge: float, pooled: float) -> None:
    contexts = np.random.default_rng(size).dirichlet(np.ones(size), 500)
    prior = ridge * (np.eye(size) + (pooled - 1.0) / size)
    gram = prior + contexts.T @ contexts
    bound = log_det_bound.python(gram, ridge, ridge * pooled, np.zeros((size, size)))
    exact = np.linalg.slogdet(gram)[1] - np.linalg.slogdet(prior)[1]
    assert exact - 1e-13 <= bound <= exact + 1e-6


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_where_rounding_leaves_no_pivots_the_trace_bounds_the_determinant(ridge: float) -> None:
    """1e9 visits under (1/2, 1/2): eigenvalues ridge and 5e8 + ridge, so log det is log(1 + 5e8 / ridge)."""
    gram = np.full((2, 2), 2.5e8) + ridge * np.eye(2)
    bound = log_det_bound.python(gram, ridge, ridge, np.zeros((2, 2)))
    assert np.log1p(5e8 / ridge) <= bound <= 2.0 * np.log(5e8 / ridge)
