"""The report about contexts, and contexts that are drawn from raw covariates."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import Clairvoyant, play
from goalbound.adapters.covariates import (
    Additive,
    Categories,
    CovariateContexts,
    Hats,
    context_report,
    rows_at_random,
    rows_in_order,
    uniform_numbers,
)
from goalbound.errors import InputError
from goalbound.problems import random_cssp


def test_corners_used_alike_have_all_dimensions_and_condition_one() -> None:
    report = context_report(Categories(["A", "B", "C"], other=False), ["A", "B", "C"] * 4)
    assert report.effective_dimension == pytest.approx(3.0)
    assert report.condition == pytest.approx(1.0)
    assert report.mean_weights == pytest.approx([1 / 3] * 3)
    assert report.rare == ()


def test_contexts_that_are_all_alike_have_one_dimension() -> None:
    report = context_report(Hats([0, 1]), [0.5] * 9)
    assert report.effective_dimension == pytest.approx(1.0)
    assert report.condition == np.inf


def test_two_corners_of_unequal_frequency() -> None:
    # Eigenvalues 3/4 and 1/4: effective dimension 1 / (9/16 + 1/16) = 1.6, condition number 3.
    report = context_report(Hats([0, 1]), [0, 0, 0, 1])
    assert report.effective_dimension == pytest.approx(1.6)
    assert report.condition == pytest.approx(3.0)


def test_what_is_missing_outside_and_refused_is_counted_whatever_the_rules() -> None:
    map = Additive([Hats([0, 10], clamp=True), Categories(["A"], missing=[0, 1])], ["age", "kind"])
    report = context_report(map, {"age": [5, 12, None, 3], "kind": ["A", "Z", None, None]})
    assert (report.rows, report.rejected) == (4, 1)  # a missing age is refused, all else has a rule
    assert report.column_names == ("age", "kind")
    assert report.outside_share.tolist() == [0.25, 0.25]
    assert report.missing_share.tolist() == [0.25, 0.5]


def test_components_that_hardly_occur_are_named() -> None:
    report = context_report(Hats([0, 1, 2]), [*[0, 1] * 50, 2])
    assert report.rare == ("at 2",)  # 1 / 101 is below 1 / 30
    assert "at 2  0.0099  rare" in str(report)
    assert str(report).startswith("101 rows, 0 rejected; 3 components\neffective dimension")


def test_where_every_row_is_refused_there_is_nothing_to_report() -> None:
    with pytest.raises(InputError, match=r"no row is accepted by the map, .* \(row 0: 5.0 is outside 0 to 1"):
        context_report(Hats([0, 1]), [5, 6])
    with pytest.raises(InputError, match="the table is empty"):
        context_report(Hats([0, 1]), [])


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
