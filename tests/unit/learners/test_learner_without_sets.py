"""Learners by ridge regression without confidence sets say so where they are asked for what is made from them."""

from __future__ import annotations

import pytest

from goalbound import LRCSSP, EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling, Support
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.errors import LearnerError


@pytest.mark.parametrize("kind", [GreedyRidge, EpsilonGreedy, PosteriorSampling, KwikRmax])
@pytest.mark.parametrize("name", ["policy_bounds", "robust_plan", "confidence_set"])
def test_what_needs_confidence_sets_is_an_error_that_names_lr_cssp(kind: type, name: str) -> None:
    learner = kind(Support.full(2, 2), 2, loss_floor=0.1)
    assert not learner.has_sets
    with pytest.raises(
        LearnerError, match=f"a {kind.__name__} has no confidence sets, and so no {name}; use an LRCSSP"
    ):
        getattr(learner, name)([0.5, 0.5])
    with pytest.raises(LearnerError, match="use an LRCSSP"):
        getattr(CovariateLearner(Hats([0, 1]), learner), name)(0.5)
    sure = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
    sure.merge(learner)  # what the error says helps
    assert getattr(sure, name)([0.5, 0.5]) is not None
