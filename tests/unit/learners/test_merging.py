"""What can be merged, and what is said where that cannot be."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from goalbound import widths
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from tests.support.driving import reloaded, written
from tests.support.ridge import variances_of
from tests.support.seen_steps import RAGGED


def a_learner(rule: widths.Widths | None = None, **more: Any) -> LRCSSP:
    return LRCSSP(RAGGED, 2, loss_floor=0.1, widths=rule or widths.sharp(), **more)


def test_what_cannot_be_merged_is_said_and_changes_nothing() -> None:
    one = a_learner()
    one.learn([0.5, 0.5], Step(0, 0, 0.5, 1))
    before = written(one)
    busy = a_learner()
    episode = busy.begin([0.5, 0.5])
    assert episode.state is None
    forgetting = [LRCSSP(RAGGED, 2, loss_floor=0.1, options=LearnerOptions(forget=True)) for _ in range(2)]
    prior = PriorKnowledge.nothing(RAGGED, 2).with_floors({(0, 0): 0.2})
    for mine, other, error, message in (
        (one, one, ArgumentError, "with itself"),
        (one, GreedyRidge(RAGGED, 2, loss_floor=0.1), ArgumentError, "other is a GreedyRidge, and this is a LRCSSP"),
        (one, None, ArgumentError, "other is a NoneType"),
        (one, LRCSSP(Support.full(3, 2), 2, loss_floor=0.1, widths=widths.sharp()), ArgumentError, "another support"),
        (one, a_learner(widths.paper()), ArgumentError, "other settings"),
        (one, a_learner(prior=prior), ArgumentError, "other settings or prior knowledge"),
        (one, busy, LearnerError, r"1 open episodes.*abandon\(reason\) them"),
        (forgetting[0], forgetting[1], LearnerError, "forget=True"),
    ):
        with pytest.raises(error, match=message):
            mine.merge(other)  # type: ignore[arg-type]
    assert written(one) == before
    copied = copy.deepcopy(one)
    one.merge(copied)  # nothing tells a copy from a learner that saw the like
    assert one.statistics.visits.sum() == 2


def fed(seed: int, rule: widths.Widths) -> LRCSSP:
    rng = np.random.default_rng(seed)
    learner = a_learner(rule)
    for _ in range(60):
        learner.learn(rng.dirichlet([1.0, 1.0]), Step(0, 0, 0.5, 1 if rng.random() < 0.9 else 3))
    return learner


def quarters_of(learner: LRCSSP) -> np.ndarray:
    """[M, d, d] a quarter of each visit: the Gram matrices less their ridge, 1."""
    owner = np.repeat(np.arange(RAGGED.pairs), np.diff(RAGGED.next_start))
    return 0.25 * (learner.statistics.gram - np.eye(2))[owner]


def test_delta_pays_for_one_merge_of_sharp_sets_and_then_each_visit_counts_with_a_quarter() -> None:
    # The event of sharp sets takes 2 / 8 + 2 / 4 of delta, and the intervals of both fail with delta / 8 each: one
    # merge makes it delta.
    one, second, third = (fed(seed, widths.sharp()) for seed in range(3))
    sum_of_both = variances_of(one) + variances_of(second)
    one.merge(second)
    np.testing.assert_allclose(variances_of(one), sum_of_both, atol=1e-12)
    assert one._trusted == pytest.approx(2 * 0.1 / 8)
    assert reloaded(one)._trusted == one._trusted
    before = written(third)
    one.merge(third)
    np.testing.assert_allclose(variances_of(one), quarters_of(one), atol=1e-12)
    assert one._trusted == 0.0  # nothing comes from the sets of anyone any more
    assert written(third) == before


def test_merged_into_one_that_saw_nothing_it_stays_as_it_was() -> None:
    one, other = a_learner(), fed(0, widths.sharp())
    one.merge(other)
    assert one._trusted == 0.0
    np.testing.assert_array_equal(variances_of(one), variances_of(other))


def test_however_often_is_merged_what_is_trusted_stays_within_delta() -> None:
    for rule, spare in ((widths.sharp(), 0.1 / 4), (widths.likelihood(), 0.0), (widths.sharp(variance=False), 0.0)):
        one = fed(0, rule)
        for seed in range(1, 6):
            one.merge(fed(seed, rule))
            assert one._trusted <= spare * (1 + 1e-9)
        assert one.card.guarantee == "proven"


def test_sets_without_proof_ask_for_nothing() -> None:
    one, second, third = (fed(seed, widths.scaled(widths.sharp(), by=0.5)) for seed in range(3))
    expected = variances_of(one) + variances_of(second) + variances_of(third)
    one.merge(second)
    one.merge(third)
    np.testing.assert_allclose(variances_of(one), expected, atol=1e-12)
