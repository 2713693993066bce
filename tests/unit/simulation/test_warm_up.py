"""Compiling ahead of time."""

import numpy as np
import pytest

from goalbound import LRCSSP, ContextBlind, Support, warm_up, widths
from goalbound.errors import ArgumentError
from goalbound.learners import episode_loop, visits
from goalbound.learners import loop as algorithm

SUPPORT = Support.full(2, 2)


def make() -> LRCSSP:
    return LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.sharp())


def test_afterwards_the_loop_and_the_single_steps_of_the_learner_are_compiled() -> None:
    learner = make()
    assert warm_up(learner) > 0.0
    state = learner._new_episode_state()
    program = learner._program
    assert program[algorithm.begin].is_ready(learner._constants, learner._state, state, np.array([0.5, 0.5]))
    assert learner._assembly.unwatched[episode_loop.play].is_compiled
    assert all(program[kernel].is_compiled for kernel in (visits.learn_steps, algorithm.leave_plan))
    assert algorithm.best_pair.is_compiled


def test_the_learner_itself_learns_nothing() -> None:
    learner = make()
    warm_up(learner)
    assert learner.statistics.visits.sum() == 0
    assert (learner.intervals, learner.open_episodes) == (0, ())


def test_a_wrapper_warms_up_what_is_inside() -> None:
    inner = LRCSSP(SUPPORT, 1, loss_floor=0.1, widths=widths.sharp())
    assert warm_up(ContextBlind(inner)) > 0.0
    assert inner._assembly.unwatched[episode_loop.play].is_compiled


def test_what_is_not_a_learner_is_an_error_that_says_so() -> None:
    with pytest.raises(ArgumentError, match=r"has no support and context_size.*such as LRCSSP"):
        warm_up("lr-cssp")  # type: ignore[arg-type]
