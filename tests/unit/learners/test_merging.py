"""What can be merged, and what is said where that cannot be."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from goalbound import widths
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from tests.support.driving import written
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
