"""Losses against a declared floor: an exact capital, few false alarms, and floors that are far too high are found."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from goalbound import LossScale
from goalbound.errors import InputError
from goalbound.logs import read_log
from goalbound.logs.loss_floor import BETS, pairs_below_floor


def log_of(losses: dict[str, list[float]], **how):
    """Cases of one step, each action with its losses, in turns."""
    steps = [(action, loss) for action, values in losses.items() for loss in values]
    count = len(steps)
    table = {
        "case": range(count), "time": range(count), "state": ["new"] * count, "action": [one for one, _ in steps],
        "loss": [loss for _, loss in steps], "next_state": ["goal"] * count,
    }  # fmt: skip
    return read_log(table, **how)


def test_a_floor_far_above_a_mean_loss_is_contradicted_by_47_steps():
    rng = np.random.default_rng(0)
    amounts = {"ask": rng.uniform(2.0, 8.0, 47).tolist(), "answer": rng.uniform(30.0, 50.0, 60).tolist()}
    (found,) = pairs_below_floor(log_of(amounts, loss_scale=LossScale("EUR", cap=60)), 30 / 60)
    assert (found.state, found.action, found.visits, found.contradicts) == ("new", "ask", 47, True)
    assert found.mean_loss == pytest.approx(np.mean(amounts["ask"]))
    assert str(found).startswith("ask in new: ")
    assert str(found).endswith(" EUR in 47 steps")


def test_a_mean_that_is_low_by_chance_is_listed_and_contradicts_nothing():
    found = pairs_below_floor(log_of({"ask": [0.1, 0.2], "answer": [0.6] * 5}), 0.3)
    assert [(one.action, one.contradicts) for one in found] == [("ask", False)]


def test_means_at_the_floor_or_above_are_not_listed():
    assert pairs_below_floor(log_of({"ask": [0.3] * 100, "answer": [0.4] * 100}), 0.3) == ()
    assert pairs_below_floor(log_of({"ask": [0.0] * 100}), 0.0) == ()
    assert pairs_below_floor(log_of({"ask": [1.0] * 100}), 1.0) == ()
    assert pairs_below_floor(log_of({"ask": [1.0] * 99 + [0.9]}), 1.0)[0].contradicts  # no mean of 1 allows a 0.9


def test_those_that_contradict_come_first():
    found = pairs_below_floor(log_of({"a": [0.2], "b": [0.0] * 80, "c": [0.1] * 3}), 0.3)
    assert [one.contradicts for one in found] == [True, False, False]
    assert found[0].action == "b"


@pytest.mark.parametrize("count", range(10, 60, 5))
def test_the_capital_is_that_of_exact_fractions(count):
    """The average of 16 products, by fractions; a pair contradicts if it is at least N / delta, here 2 / 0.05."""
    rng = np.random.default_rng(count)
    losses = (rng.integers(0, 4, count) / 16).tolist()
    floor, total = Fraction(1, 4), Fraction(0)
    for place in range(16):
        bet, capital = (1 / (1 - floor)) / 2**place, Fraction(1)
        for loss in losses:
            capital *= 1 + bet * (floor - Fraction(loss))
        total += capital / 16
    (found,) = pairs_below_floor(log_of({"ask": losses, "answer": [0.5]}), 0.25)
    assert BETS == 16
    assert abs(log(total) - log(40)) > 1e-6  # none of these is a tie
    assert found.contradicts == (total >= 40)


def test_a_floor_that_holds_is_seldom_contradicted():
    """400 logs whose mean losses are exactly the floor, with losses of 0 and 1, the hardest case: at most 5% of them
    may be contradicted. More than 36 of 400 would have probability below 0.001 at a rate of 5% (binomial)."""
    alarms, floor = 0, 0.2
    for seed in range(400):
        rng = np.random.default_rng(seed)
        losses = {name: (rng.random(60) < floor).astype(float).tolist() for name in ("ask", "answer")}
        alarms += any(one.contradicts for one in pairs_below_floor(log_of(losses), floor))
    assert alarms <= 36


@pytest.mark.parametrize(
    ("log", "floor", "delta", "said"),
    [
        (None, 0.1, 0.05, "log is "), ("log", -0.1, 0.05, "loss_floor is -0.1; it is in"),
        ("log", 30.0, 0.05, "loss_floor is 30; it is in .*from_unit"), ("log", "low", 0.05, "loss_floor is 'low'"),
        ("log", float("nan"), 0.05, "loss_floor"), ("log", 0.1, 0.0, "delta"), ("log", 0.1, 2, "delta"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(log, floor, delta, said):
    given = log_of({"ask": [0.1]}) if log == "log" else log
    with pytest.raises(InputError, match=said):
        pairs_below_floor(given, floor, delta=delta)
