"""Numbers and curves of one record."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.metrics import cumulative_at, curve_episodes, growth_exponent
from goalbound.experiments.records import kept_episodes
from goalbound.simulation.history import History
from tests.support.synthetic import power, record, run_spec


@pytest.mark.parametrize("exponent", [0.5, 2.0 / 3.0, 1.0])
@pytest.mark.parametrize("episodes", [10, 1000, 50_000])
def test_exact_powers_have_their_exponent(exponent, episodes):
    assert growth_exponent(record(run_spec(episodes=episodes), power(7.0, exponent)))[0] == pytest.approx(
        exponent, abs=1e-12
    )


def test_where_all_rows_are_kept_the_exponent_is_that_of_the_history():
    rng = np.random.default_rng(3)
    each = rng.exponential(size=1500) / np.sqrt(np.arange(1, 1501))
    ones = np.ones(1500)
    history = History(
        loss=each + 1.0, optimal_loss=ones, expected_regret=each, steps=ones, intervals=ones, unknown_steps=ones,
        abandoned=0 * ones, start=0 * ones, contexts=np.ones((1500, 1)), seed=0, step_limit=10,
    )  # fmt: skip
    made = record(run_spec(episodes=1500), lambda episode: np.cumsum(each))
    assert growth_exponent(made)[0] == pytest.approx(history.growth_exponent(), abs=1e-12)


def test_curves_stand_on_kept_rows_and_are_straight_between_them():
    kept = kept_episodes(50_000)
    assert set(curve_episodes(kept)) <= set(kept)
    assert curve_episodes(kept)[0] == 1
    assert curve_episodes(kept)[-1] == 50_000
    assert curve_episodes(kept_episodes(1)).tolist() == [1]
    squares = record(run_spec(episodes=3000), power(1.0, 2.0))
    assert 257 not in squares.table["episode"]
    # Between 256 and 258: (256^2 + 258^2) / 2, not 257^2.
    assert cumulative_at(squares, "expected_regret", np.array([256, 257])).tolist() == [65536.0, 66050.0]
