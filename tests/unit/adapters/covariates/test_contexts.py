"""Contexts of a run that come from raw covariates."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import Clairvoyant, play
from goalbound.adapters.covariates import (
    Additive,
    Categories,
    CovariateContexts,
    Hats,
    rows_at_random,
    rows_in_order,
    uniform_numbers,
)
from goalbound.errors import InputError
from goalbound.problems import random_cssp


def test_drawn_covariates_are_the_same_however_they_are_cut() -> None:
    map = Hats([0.0, 0.5, 1.0])
    for draw in (lambda rng, first, count: rng.random(count), rows_at_random(np.linspace(0, 1, 9))):
        source = CovariateContexts(map, draw)
        whole = source.draw(np.random.default_rng(1), 0, 10)
        rng = np.random.default_rng(1)
        assert np.array_equal(np.concatenate((source.draw(rng, 0, 4), source.draw(rng, 4, 6))), whole)


def test_uniform_numbers_are_those_of_the_stream() -> None:
    contexts = uniform_numbers(5).draw(np.random.default_rng(3), 0, 20)
    np.testing.assert_allclose(contexts @ np.linspace(0, 1, 5), np.random.default_rng(3).random(20), atol=1e-15)


def test_rows_come_in_order_and_run_out() -> None:
    source = CovariateContexts(Hats([0, 10]), rows_in_order([0, 5, 10]))
    assert source.draw(np.random.default_rng(0), 1, 2).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    with pytest.raises(
        InputError, match="there is no row for episode 3: the table has 3; give more, or draw them again"
    ):
        source.draw(np.random.default_rng(0), 2, 2)


def test_tables_of_columns_are_drawn_as_records() -> None:
    map = Additive([Hats([0, 10]), Categories(["A", "B"])], ["age", "kind"])
    table = {"age": np.array([0, 10]), "kind": ["A", "B"]}
    contexts = CovariateContexts(map, rows_in_order(table)).draw(np.random.default_rng(0), 0, 2)
    assert np.array_equal(contexts, map.many(table))


def test_a_run_may_take_its_contexts_from_covariates() -> None:
    problem = random_cssp(3, actions=2, context_size=3, seed=1)
    source = CovariateContexts(Hats([20, 40, 80]), lambda rng, first, count: rng.uniform(20, 80, count))
    history = play(problem, Clairvoyant(problem), source, episodes=50)
    assert history.contexts.shape == (50, 3)
    assert history.total_expected_regret == pytest.approx(0.0, abs=1e-6)


def test_something_that_cannot_draw_is_refused() -> None:
    with pytest.raises(InputError, match=r"draw_rows is a list; it needs a function .* rows_in_order\(table\)"):
        CovariateContexts(Hats([0, 1]), [0.5])
    with pytest.raises(InputError, match="the table is empty"):
        rows_in_order([])
