"""What is read into the state of a room is what some visits imply; an error names the array that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import Widths, likelihood, paper, sharp
from goalbound.confidence.linearity import check_watch
from goalbound.confidence.pooling import least_weights
from goalbound.errors import FileFormatError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import Support
from tests.support.behaviour import at_random, log_of
from tests.support.driving import small_problem

PROBLEM = small_problem()


def learned(widths: Widths | None) -> Any:
    """A learner that has seen 80 steps; None: without sets."""
    support = PROBLEM.support
    learner = (
        GreedyRidge(support, 2, loss_floor=0.1) if widths is None else LRCSSP(support, 2, loss_floor=0.1, widths=widths)
    )
    learner.learn_log(log_of(PROBLEM, at_random, 80, seed=2))
    return learner


def check(learner: Any) -> None:
    """What a file of a learner is asked for, by its room and of its observer."""
    learner._assembly.room.check(learner)
    if learner._assembly.tests_linearity:
        check_watch(learner._state.watch, learner.support)


@pytest.mark.parametrize("widths", [None, paper(), sharp(), likelihood()], ids=str)
def test_what_was_learned_passes(widths: Widths | None) -> None:
    check(learned(widths))


def spoil(value: float, *path: str) -> Callable[[Any], None]:
    """Put a value at the beginning of an array of the state."""

    def change(state: Any) -> None:
        for name in path:
            state = getattr(state, name)
        state.flat[0] = value

    return change


@pytest.mark.parametrize(
    ("widths", "change", "message"),
    [
        (None, spoil(1e6, "sets", "losses"), r"state\.sets\.losses"),
        (None, spoil(-0.5, "sets", "rows"), r"state\.sets\.rows"),
        (None, spoil(np.nan, "sets", "rows"), r"state\.sets\.rows"),
        (paper(), spoil(-1e6, "sets", "losses"), r"state\.sets\.losses"),
        (paper(), spoil(-1.0, "sets", "loss_radius"), r"state\.sets\.loss_radius"),
        (paper(), spoil(np.nan, "sets", "next_radius"), r"state\.sets\.next_radius"),
        (paper(), spoil(-1e-9, "sets", "known_width"), r"state\.sets\.known_width"),
        (sharp(), spoil(1e3, "sets", "sharp", "variance"), "variance of state"),
        (sharp(), spoil(-1.0, "sets", "sharp", "variance_log_det"), "variance_log_det"),
        (sharp(), spoil(-1, "watch", "steps"), "linearity steps"),
        (sharp(), spoil(1e3, "watch", "losses"), "linearity losses"),
        (sharp(), spoil(-1e3, "watch", "rows"), "linearity rows"),
        (likelihood(), spoil(1e3, "sets", "sharp", "variance"), "variance of state"),
        (likelihood(), spoil(10**6, "sets", "visits"), "likelihood visits"),
        (likelihood(), spoil(10**6, "sets", "bounded"), "likelihood bounded"),
        (likelihood(), spoil(1.5, "sets", "high"), "likelihood high"),
        (likelihood(), spoil(np.nan, "sets", "log_loss"), "likelihood log_loss"),
        (likelihood(), spoil(1e6, "sets", "ones"), "likelihood ones"),
        (likelihood(), spoil(1e9, "sets", "shift"), "likelihood shift"),
        (likelihood(), spoil(99, "sets", "first"), "likelihood first"),
        (likelihood(), spoil(0.5, "sets", "rows"), "the likelihood row of cells without visits"),
        (likelihood(), spoil(1e-3, "sets", "contexts"), "likelihood contexts"),
    ],
)
def test_what_no_visits_lead_to_is_refused_and_named(
    widths: Widths | None, change: Callable[[Any], None], message: str
) -> None:
    learner = learned(widths)
    change(learner._state)
    with pytest.raises(FileFormatError, match=message):
        check(learner)


def test_two_pairs_cannot_have_the_same_room() -> None:
    learner = learned(likelihood())
    place = learner._state.sets.place
    place[np.flatnonzero(place == 2)] = 1
    with pytest.raises(FileFormatError, match="likelihood place"):
        check(learner)


def test_the_prior_of_a_pair_that_was_guessed_weighs_more_by_the_strength_of_the_guess() -> None:
    guess = PriorKnowledge.around(PROBLEM, strength=3.0)
    guessed = GreedyRidge(PROBLEM.support, 2, loss_floor=0.1, prior=guess)
    assert least_weights(guessed._constants).tolist() == [4.0] * 6  # the mean of two components begins with 2 / 2
    assert least_weights(GreedyRidge(Support.full(2, 1), 2, loss_floor=0.1)._constants).tolist() == [1.0] * 2
