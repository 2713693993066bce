"""Nearness to centres, against arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.adapters.covariates import SoftClusters
from goalbound.errors import InputError


def test_clusters_share_by_the_softmax_of_minus_the_squared_distance() -> None:
    rng = np.random.default_rng(0)
    centres, rows = rng.normal(size=(5, 3)), rng.normal(size=(50, 3))
    scales = np.array([1.0, 0.5, 2.0])
    squared = (((rows[:, None] - centres) / scales) ** 2).sum(axis=2)
    naive = np.exp(-squared / 0.7)
    naive /= naive.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(SoftClusters(centres, 0.7, scales).many(rows), naive, rtol=1e-12, atol=1e-300)


def test_far_from_the_origin_clusters_are_as_exact_as_near_it() -> None:
    near = SoftClusters([[0.0, 0.0], [1.0, 1.0]], 1.0)
    far = SoftClusters([[1e6, 1e6], [1e6 + 1, 1e6 + 1]], 1.0)
    np.testing.assert_allclose(far([1e6 + 0.25, 1e6]), near([0.25, 0.0]), rtol=1e-9)


def test_far_from_all_centres_the_nearest_takes_all() -> None:
    map = SoftClusters([[0, 0], [10, 0], [0, 10]], 1.0)
    assert map([1e200, 1]).tolist() == [0.0, 1.0, 0.0]
    assert map([-1e308, -1e308]).tolist() == [1.0, 0.0, 0.0]


def test_infinity_is_near_to_no_centre() -> None:
    with pytest.raises(InputError, match=r"^row 1: column 1 is inf; it needs a finite number"):
        SoftClusters([[0, 0], [1, 1]], 1.0).many([[0, 0], [0, np.inf]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SoftClusters([[0, 0], [0, 0]], 1.0), "two rows of centres are the same"),
        (lambda: SoftClusters([[0, 0]], 0.0), "temperature is 0.0; it needs a positive number"),
        (lambda: SoftClusters([[0, 0]], 1.0, scales=[1, -1]), r"scales\[1\] is -1.0"),
        (lambda: SoftClusters([[0, np.inf]], 1.0), r"centres\[0\]\[1\] is inf"),
        (lambda: SoftClusters([0, 1], 1.0), r"centres has shape \(2,\); it needs shape \[d, n\]"),
        (lambda: SoftClusters([[0, 0]], 1.0)([1, 2, 3]), "row 0 has 3 values; the map takes 2 columns"),
        (lambda: SoftClusters([[0, 0]], 1.0)([1, "x"]), "'x' is not a number"),
    ],
)
def test_what_is_no_map_or_no_row_is_an_error_that_says_why(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
