"""The constants of the kernels, by the settings of a learner."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Support
from tests.support.ridge import lr_cssp

SUPPORT = Support.full(2, 3)


def learner(context_size: Any = 2, **settings: Any) -> LRCSSP:
    return lr_cssp(SUPPORT, context_size, **{"loss_floor": 0.1, **settings})


def test_the_added_loss_is_that_of_the_corollary_and_at_most_one() -> None:
    # S (d^2 A / K)^(1/3) with S = 2, A = 3: 2 (4 * 3 / 12000)^(1/3) = 0.2
    assert learner(loss_floor=0.0, episodes=12000).added_loss == pytest.approx(0.2)
    assert learner(loss_floor=0.0, episodes=96).added_loss == pytest.approx(1.0)  # 2 (1 / 8)^(1/3)
    assert learner(loss_floor=0.0, episodes=1).added_loss == 1.0
    assert learner().added_loss == 0.0
    # A is the mean number of actions, N / S: 3 pairs in 2 states
    ragged = LRCSSP(
        Support.from_pairs([{0: [1]}, {0: [0, 2], 1: [2]}]), 1, loss_floor=0.0, options=LearnerOptions(episodes=12000)
    )
    assert ragged.added_loss == pytest.approx(2.0 * (1.5 / 12000) ** (1.0 / 3.0))


def test_the_rules_are_the_constants_of_the_paper() -> None:
    rules = learner(delta=0.05, regularization=2.0).settings.constants(SUPPORT)
    # 6 pairs that may each lead to 2 states and the goal: 12 triples without the goal
    assert rules.loss_log == pytest.approx(math.log(8 * 6 / 0.05))
    assert rules.next_log == pytest.approx(math.log(8 * 12 / 0.05))
    np.testing.assert_allclose(rules.next_factor, math.sqrt(2.0))
    np.testing.assert_allclose(rules.known_factor, 2.0)
    assert (rules.loss_factor, rules.loss_floor, rules.added_loss) == (1.0, 0.1, 0.0)
    assert rules.tolerance == pytest.approx(1e-3 * 0.1)
    assert (rules.doubling, rules.forget) == (True, False)
    assert not learner(loss_bound=2).settings.constants(SUPPORT).doubling
