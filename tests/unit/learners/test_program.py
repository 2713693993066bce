"""What a learner is made of: its constants, by its settings, and the program of its rooms."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import likelihood, paper, sharp
from goalbound.jit.compile import lean
from goalbound.learners.episode_loop import play, watch_step
from goalbound.learners.loop import improve_by_elimination, improve_by_sweeps, improve_plan, observe
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.program import Assembly
from goalbound.learners.ridge import GreedyRidge, improve_by_krylov
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Support
from goalbound.planning.kernels.elimination import MOST_ELIMINATED_STATES
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
    constants = Assembly(learner(delta=0.05, regularization=2.0).settings, SUPPORT, None).constants
    # 6 pairs that may each lead to 2 states and the goal: 12 triples without the goal
    assert constants.sets.loss_log == pytest.approx(math.log(8 * 6 / 0.05))
    assert constants.sets.next_log == pytest.approx(math.log(8 * 12 / 0.05))
    np.testing.assert_allclose(constants.sets.next_factor, math.sqrt(2.0))
    np.testing.assert_allclose(constants.sets.known_factor, 2.0)
    assert (constants.sets.loss_factor, constants.loss_floor, constants.added_loss) == (1.0, 0.1, 0.0)
    assert constants.tolerance == pytest.approx(1e-3 * 0.1)


def test_the_bound_is_doubled_where_none_is_given_and_sets_need_one() -> None:
    assert learner()._assembly.doubles
    assert not learner(loss_bound=2)._assembly.doubles
    assert not GreedyRidge(SUPPORT, 2, loss_floor=0.1)._assembly.doubles


def test_learners_with_the_same_rooms_run_the_same_program() -> None:
    one, other = learner(), learner(loss_floor=0.3, delta=0.01, regularization=7.0)
    assert one._program is other._program
    assert one._program[observe] is other._program[observe]
    different = [learner(loss_bound=2), learner(widths=sharp()), learner(widths=likelihood())]
    different.append(learner(prior=PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): 0.5})))
    assert len({one._program, *(each._program for each in different)}) == 5


def test_a_program_that_is_watched_is_another_one_and_leaves_the_first_as_it_was() -> None:
    @lean
    def step_of(constants, state, view, context, s, pair, following, loss):
        """Stands for what an audit does."""

    plain = learner()._assembly.unwatched
    watched = plain.watched_by({watch_step: step_of})
    assert watched[play] is not plain[play]
    assert watched[observe] is plain[observe]  # nothing in it is watched


def test_few_states_are_eliminated_and_point_estimates_of_many_take_the_krylov_method() -> None:
    few, many = Support.full(3, 1), Support.full(MOST_ELIMINATED_STATES + 1, 1)
    for support, kind, planner in (
        (few, GreedyRidge, improve_by_elimination),
        (many, GreedyRidge, improve_by_krylov),
        (few, partial(LRCSSP, widths=sharp()), improve_by_elimination),
        (many, partial(LRCSSP, widths=sharp()), improve_by_sweeps),
        (few, partial(LRCSSP, widths=paper()), improve_by_sweeps),
    ):
        assembly = Assembly(kind(support, 1, loss_floor=0.1).settings, support, None)
        assert assembly.program._filling[improve_plan] is planner
