"""The data of a learner in one of another kind: as if that one had learned from the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.core import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from tests.support.driving import written
from tests.support.seen_steps import RAGGED, Seen, some_steps

SHARP = widths.sharp()


def a_learner(**more: Any) -> LRCSSP:
    return LRCSSP(RAGGED, 2, **{"loss_floor": 0.1, **more})


def learned(seen: Seen, **more: Any) -> LRCSSP:
    learner = a_learner(**more)
    learner.learn_log(seen)
    return learner


KINDS: dict[str, Any] = {
    "greedy": lambda: GreedyRidge(RAGGED, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "ps": lambda: PosteriorSampling(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "kwik": lambda: KwikRmax(RAGGED, 2, loss_floor=0.1, options=LearnerOptions(regularization=0.5)),
    "paper": lambda: a_learner(),
    "sharp": lambda: a_learner(widths=SHARP),
}


@given(some_steps, st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS)))
def test_the_data_of_any_learner_serves_any_other(seen: Seen, of: str, to: str) -> None:
    source, target, twin = KINDS[of](), KINDS[to](), KINDS[to]()
    source.learn_log(seen)
    before = written(source)
    target.learn_data(source)
    assert written(source) == before
    twin.learn_log(seen)
    for name in ("visits", "gram", "loss_sums", "next_sums"):
        mine, theirs = getattr(target.statistics, name), getattr(twin.statistics, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-15, atol=1e-300, err_msg=name)
    np.testing.assert_allclose(target.estimate.rows, twin.estimate.rows, atol=1e-8)
    np.testing.assert_allclose(target.estimate.losses, twin.estimate.losses, atol=1e-12)
    if to != "sharp":  # of which variances may be a quarter
        np.testing.assert_allclose(target.plan([0.3, 0.7]).values, twin.plan([0.3, 0.7]).values, atol=0.01)


def test_a_guess_is_not_taken_for_data() -> None:
    """Learners without sets regress around a guess; their data is what they saw."""
    guess = PriorKnowledge.nothing(RAGGED, 2).with_guesses(
        {("a", "x"): 0.4}, {("a", "x"): [0.0, 0.5, 0.0, 0.5]}, strength=5
    )
    seen = [(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1)), (np.array([0.25, 0.75]), Step(0, 2, 0.5, 0))]
    guessing = GreedyRidge(RAGGED, 2, loss_floor=0.1, prior=guess)
    guessing.learn_log(seen)
    plain, twin = a_learner(), learned(seen)
    plain.learn_data(guessing)
    for name in ("gram", "loss_sums", "next_sums"):
        mine, theirs = getattr(plain.statistics, name), getattr(twin.statistics, name)
        np.testing.assert_allclose(mine, theirs, atol=1e-15, err_msg=name)
    again, also = (GreedyRidge(RAGGED, 2, loss_floor=0.1, prior=guess) for _ in range(2))
    again.learn_data(plain)
    also.learn_log(seen)
    np.testing.assert_allclose(again.estimate.rows, also.estimate.rows, atol=1e-12)


def test_the_data_of_a_learner_serves_one_of_a_larger_support() -> None:
    source = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1))])
    larger = GreedyRidge(Support.full(4, 3), 2, loss_floor=0.1)
    larger.learn_data(source)
    assert larger.statistics.visits.nonzero()[0].tolist() == [0]


def test_data_goes_only_into_a_learner_that_has_none() -> None:
    source, target = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1))]), a_learner()
    for wrong, said in (
        ("learner", "other is"),
        (LRCSSP(RAGGED, 3, loss_floor=0.1), "contexts of 3 entries"),
        (LRCSSP(Support.full(4, 3), 2, loss_floor=0.1), "other: state 3 is not in the support"),
    ):
        with pytest.raises(ArgumentError, match=said):
            target.learn_data(wrong)  # type: ignore[arg-type]
    target.learn_data(source)
    with pytest.raises(LearnerError, match="has seen steps"):
        target.learn_data(source)
    forgetting = a_learner(options=LearnerOptions(forget=True))
    with pytest.raises(LearnerError, match="forgets"):
        forgetting.learn_data(source)
    with pytest.raises(LearnerError, match="forget=True"):
        forgetting.with_settings(delta=0.2)
    held = source.begin([0.5, 0.5], id="case 17")
    for call in (lambda: a_learner().learn_data(source), lambda: source.with_settings(delta=0.2)):
        with pytest.raises(LearnerError, match="'case 17'"):
            call()
    held.abandon()
    assert isinstance(source.with_settings(delta=0.2), RidgeLearner)
