"""Maps from data."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.adapters.covariates import (
    Additive,
    Categories,
    FromTransformer,
    Hats,
    SoftClusters,
    fill_missing,
    fit_categories,
    fit_clusters,
    fit_hats,
    map_digest,
)
from goalbound.errors import InputError


def test_knots_lie_at_quantiles_from_the_least_to_the_largest_value() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    assert fit_hats(values, 5).knots.tolist() == values.tolist()
    assert fit_hats(values, 3).knots.tolist() == [0.0, 2.0, 100.0]
    assert fit_hats([*values, None, np.nan], 3).knots.tolist() == [0.0, 2.0, 100.0]


def test_rare_categories_are_other_and_the_order_is_that_of_the_names() -> None:
    map = fit_categories(["c", "a", "b", "a", "c", None], min_count=2)
    assert map.values == ("a", "c")
    assert map("b").tolist() == [0, 0, 1]
    assert fit_categories(np.array([3.0, 1.0, np.nan]), other=False).values == (1, 3)


def blobs(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 800.0]])
    return np.concatenate([centre + [1.0, 100.0] * rng.normal(size=(60, 2)) * 0.3 for centre in centres])


def test_clusters_are_found_and_the_same_seed_finds_the_same() -> None:
    rows = blobs()
    map = fit_clusters(rows, 3, seed=1)
    np.testing.assert_allclose(map.centres, [[0, 800], [0, 0], [8, 0]], atol=30)  # by the first column: about 0, 0, 8
    assert map_digest(map) == map_digest(fit_clusters(rows, 3, seed=1))
    owner = map.many(rows).argmax(axis=1)
    assert all(len(set(owner[60 * k : 60 * k + 60])) == 1 for k in range(3))


def test_every_centre_is_the_mean_of_its_rows() -> None:
    rows = np.random.default_rng(3).normal(size=(200, 2))
    map = fit_clusters(rows, 5, seed=0)
    owner = (((rows[:, None] - map.centres) / map.scales) ** 2).sum(axis=2).argmin(axis=1)
    for k in range(5):
        np.testing.assert_allclose(map.centres[k], rows[owner == k].mean(axis=0), atol=1e-12)


def test_the_temperature_is_twice_the_variance_within_clusters() -> None:
    rows = np.random.default_rng(0).normal(size=(4000, 2)) * 0.1
    map = fit_clusters(rows, 1, seed=0)  # in units of the standard deviations: variance 1 in each column
    assert map.temperature == pytest.approx(2.0)
    assert fit_clusters(rows, 1, seed=0, temperature=7).temperature == 7.0


def test_a_constant_column_and_rows_with_gaps_do_no_harm() -> None:
    rows = [[0.0, 5.0], [1.0, 5.0], [None, 5.0], [10.0, 5.0]]
    assert np.sort(fit_clusters(rows, 2, seed=0).centres[:, 0]).tolist() == [0.5, 10.0]


def test_a_missing_value_gets_the_mean_context_of_the_data() -> None:
    map = fill_missing(Hats([0, 10]), [0, 5, 10, 10, None])
    np.testing.assert_allclose(map(None), [0.375, 0.625])  # means of (1, 0), (.5, .5), (0, 1), (0, 1)
    assert map_digest(map) != map_digest(Hats([0, 10]))


def test_every_part_of_a_joint_map_gets_the_mean_of_its_own_column() -> None:
    table = {"age": [0, 10, None, 10], "kind": ["A", None, "B", "B"]}
    map = fill_missing(Additive([Hats([0, 10]), Categories(["A", "B"], other=False)], ["age", "kind"]), table)
    np.testing.assert_allclose(map({"age": None, "kind": None}), np.array([1 / 3, 2 / 3, 1 / 3, 2 / 3]) / 2)
    np.testing.assert_allclose(map({"age": 10, "kind": None}), np.array([0, 1, 1 / 3, 2 / 3]) / 2)


def test_several_columns_with_one_gap_count_as_missing_together() -> None:
    map = fill_missing(SoftClusters([[0, 0], [100, 0], [0, 100]], 1.0), [[0, 0], [100, 0]])
    np.testing.assert_allclose(map([0.3, None]), [0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fit_hats([1, 1, 1, 2], 3), "3 quantiles of the values give only 2 different knots"),
        (lambda: fit_hats([None], 2), "there are 0 numbers to fit to"),
        (lambda: fit_hats([1, np.inf], 2), "all must be finite"),
        (lambda: fit_hats([1, 2], 1), "count is 1; there are at least 2 knots"),
        (lambda: fit_categories(["a", "b", "b"], min_count=2, other=False), "'a' occurs 1 times, and min_count"),
        (lambda: fit_categories([None]), "there are no values"),
        (lambda: fit_clusters([[1, 2], [1, 2]], 2, seed=0), "count is 2; it is from 1 to the number of different rows"),
        (lambda: fit_clusters([[1, 2], [3, 4]], 2, seed=0), "every row is a centre, .* give a temperature"),
        (lambda: fit_clusters([1, 2, 3], 2, seed=0), "clusters need rows of numbers"),
        (lambda: fill_missing(Hats([0, 1]), [None]), "every row has something missing"),
        (lambda: fill_missing(Hats([0, 1]), [0, 3]), "row 1: 3.0 is outside"),
        (lambda: fill_missing(FromTransformer(list, ["a"]), [0]), "a FromTransformer has no rule for missing values"),
    ],
)
def test_data_that_cannot_be_fitted_to_is_an_error_that_says_why(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
