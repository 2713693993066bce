"""KWIK-Rmax: what is known, where the unknown leads, and the threshold by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.learners.explore.kwik import Kwik, kwik_threshold, l1_width
from goalbound.learners.ridge import KwikRmax
from goalbound.models import Step, Support
from tests.support.ridge import exploring
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def arguments(exploration: Any, **options: Any) -> Arguments:
    return arguments_of(exploring(exploration, SUPPORT, 2, **options), CONTEXT)


def test_the_width_of_rmax_is_the_sum_of_the_entries_without_their_signs() -> None:
    # V^-1 c = (2 / 4 - 3 / 4, -1 / 4 + 3 / 4) = (-1 / 4, 1 / 2)
    assert l1_width.python(np.array([[2.0, -1.0], [-1.0, 1.0]]), np.array(CONTEXT)) == 0.75


def test_rmax_sends_what_it_does_not_know_straight_to_the_goal_for_the_floor() -> None:
    # Without data V^-1 = I, and the sum of |c| is 1.
    for threshold, row, loss in ((1.0, {1: 0.2}, 0.5), (0.99, {}, 0.1)):
        case = arguments(Kwik(threshold=threshold))
        case.estimate(0, {1: [0.5, 0.1]}, [0.8, 0.4])
        case.look_at(0)
        assert case.row(0) == pytest.approx(row)
        assert case.episode.sets.losses[0] == pytest.approx(loss)
        assert case.episode.known_width[0] == 1.0


def test_a_pair_is_known_where_its_width_is_at_most_the_threshold() -> None:
    case = arguments(Kwik(threshold=0.25))
    case.episode.known_width[:2] = [0.25, 0.2501]
    assert [case.is_known(0), case.is_known(1)] == [True, False]


def test_rmax_does_not_go_round_for_ever_with_pairs_that_it_knows() -> None:
    case = arguments(Kwik(threshold=99.0), replan_factor=1.0)
    case.plan()
    assert case.is_known(0)
    assert not case.observe(0, 1)  # 1 + 5 / 8 < 2
    assert case.observe(0, 1)


def test_an_episode_of_known_pairs_that_go_round_comes_to_its_end() -> None:
    # Action 0 stays, at 0.01; action 1 arrives, at 1. After 19 visits each both are known, and the ridge says that
    # action 0 arrives with 1 / 20: 0.01 * 20 = 0.2 is less than 0.95. 100 visits later it says 1.2, but nobody asks.
    learner = KwikRmax(Support.full(1, 2), 1, loss_floor=0.01, threshold=0.051)
    for _ in range(30):
        episode, played = learner.begin([1.0]), 0
        while not episode.ended and played < 2000:
            action = episode.act(0)
            episode.observe(Step(0, action, [0.01, 1.0][action], action))
            played += 1
        assert played < 2000


def test_the_threshold_of_kwik_by_hand() -> None:
    # d = 4, a = 1/2, delta = 0.1: 0.25 / 8 = 0.03125; 0.25 / (2 log 40) = 0.03389; 0.5 / 4 = 0.125.
    assert kwik_threshold(4, accuracy=0.5, delta=0.1) == 0.03125
    # delta = 0.01: 0.25 / (2 log 400) = 0.020863
    assert kwik_threshold(4, accuracy=0.5, delta=0.01) == pytest.approx(0.125 / math.log(400.0), rel=1e-15)
    # d = 1: 1, 1 / log(e / 0.9) = 0.905, 1/2
    assert kwik_threshold(1, accuracy=1.0, delta=0.9) == 0.5
    # d = 2, a = 0.1, delta = 0.1: 0.01 / (sqrt(2) log(10 e)) = 0.002141
    assert kwik_threshold(2, accuracy=0.1, delta=0.1) == pytest.approx(0.002141, rel=1e-3)


@pytest.mark.parametrize("accuracy", [0.0, -1.0, 1.5, math.nan])
def test_an_accuracy_is_a_probability(accuracy: float) -> None:
    with pytest.raises(InputError, match=rf"accuracy {accuracy} is not in \(0, 1\]"):
        kwik_threshold(2, accuracy=accuracy, delta=0.1)


@pytest.mark.parametrize(("size", "delta"), [(2, 0.0), (0, 0.1)])
def test_the_threshold_of_kwik_names_what_is_wrong(size: int, delta: float) -> None:
    with pytest.raises(InputError, match=r"delta 0\.0 is not between 0 and 1|context_size is 0"):
        kwik_threshold(size, accuracy=0.1, delta=delta)
