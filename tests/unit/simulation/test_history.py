"""Histories: sums, growth, joining, and how they read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.simulation.history import History


def history(expected: np.ndarray | list[float], **changed: object) -> History:
    count = len(expected)
    made = History(
        loss=np.full(count, 2.0), optimal_loss=np.full(count, 1.5), expected_regret=np.asarray(expected),
        steps=np.full(count, 4), intervals=np.full(count, 1), unknown_steps=np.full(count, 1),
        abandoned=np.zeros(count, dtype=bool), start=np.zeros(count, dtype=int),
        contexts=np.tile([0.25, 0.75], (count, 1)), seed=3, step_limit=100, has_known_test=True,
    )  # fmt: skip
    return replace(made, **changed)  # type: ignore[arg-type]


def test_sums_and_shares() -> None:
    three = history([0.5, 0.0, 1.0])
    assert three.episodes == 3
    assert three.regret.tolist() == [0.5, 0.5, 0.5]
    assert three.cumulative_regret.tolist() == [0.5, 1.0, 1.5]
    assert three.cumulative_expected_regret.tolist() == [0.5, 0.5, 1.5]
    assert (three.total_regret, three.total_expected_regret) == (1.5, 1.5)
    assert three.known_share.tolist() == [0.75, 0.75, 0.75]


@pytest.mark.parametrize("exponent", [0.5, 2.0 / 3.0, 1.0])
def test_the_growth_exponent_of_a_power_is_the_power(exponent: float) -> None:
    episode = np.arange(1, 5001)
    powers = history(np.diff(episode**exponent, prepend=0.0))
    assert powers.growth_exponent() == pytest.approx(exponent, abs=1e-9)
    assert powers.growth_exponent(decades=2.0) == pytest.approx(exponent, abs=1e-9)


def test_a_growth_that_has_no_logarithm_is_an_error() -> None:
    with pytest.raises(InputError, match="regret of the first 10 episodes is 0; only a positive one"):
        history(np.r_[np.zeros(50), np.ones(50)]).growth_exponent()
    with pytest.raises(InputError, match="needs at least 10 episodes; there are 3"):
        history([1.0, 1.0, 1.0]).growth_exponent()
    with pytest.raises(InputError, match="decades is 0"):
        history([1.0] * 20).growth_exponent(decades=0.0)


def test_parts_are_joined_in_order_and_the_last_says_how_it_ended() -> None:
    joined = History.concatenate([history([1.0, 2.0]), history([]), history([3.0], interrupted=True)])
    assert joined.expected_regret.tolist() == [1.0, 2.0, 3.0]
    assert joined.contexts.shape == (3, 2)
    assert joined.interrupted
    assert (joined.seed, joined.step_limit) == (3, 100)
    assert joined.abandoned.dtype == np.bool_


def test_a_history_is_checked_and_read_only() -> None:
    with pytest.raises(InputError, match=r"steps has shape \(2,\); it needs \[1\]"):
        history([1.0], steps=np.array([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        history([1.0]).loss[0] = 0.0


def test_a_history_reads_like_a_summary() -> None:
    abandoned = np.zeros(20, dtype=bool)
    abandoned[3] = True
    lines = str(history(np.r_[np.full(10, 0.5), np.full(10, 0.25)], abandoned=abandoned, interrupted=True)).splitlines()
    assert lines[0] == "interrupted after 20 episodes, 80 steps; 1 abandoned at 100 steps: the true regret is larger"
    assert lines[1].split() == ["loss", "40", "optimal", "30"]
    assert lines[2].split() == ["regret", "10", "expected", "7.5"]
    assert lines[3] == "expected per episode: 0.5 in the first tenth, 0.25 in the last"
    assert lines[4].split() == ["intervals", "20", "known", "steps", "75.0%"]
    assert str(history([])) == "0 episodes"
