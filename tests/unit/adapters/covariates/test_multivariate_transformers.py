"""Maps that are transformers of scikit-learn, or anything like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from goalbound.adapters.covariates import (
    Additive,
    FromTransformer,
    Hats,
    map_digest,
    save_map,
)
from goalbound.errors import InputError


class Rows:
    """A fitted transformer as scikit-learn has them."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def transform(self, table: Any) -> Any:
        return self.rows


def test_a_transformer_whose_rows_are_contexts_is_a_map() -> None:
    rows = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    for gave in (rows, rows.tolist(), csr_array(rows)):
        assert FromTransformer(Rows(gave).transform, ["a", "b"]).many([[0], [1]]).tolist() == rows.tolist()
    third = np.array([[1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)  # sums to 1 in single precision only
    np.testing.assert_allclose(FromTransformer(Rows(third).transform, ["a", "b", "c"])([0]).sum(), 1.0, atol=1e-15)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], "^row 1: the transformer gave a row that sums to 0.9; .* include_bias=True"),
        ([[0.0, 0.0]], "sums to 0; .* unknown categories"),
        ([[1.2, -0.2]], "gave -0.2 in column 1; a context is not negative"),
        ([[np.nan, 1.0]], "gave nan in column 0"),
        ([[1.0]], r"gave has shape \(1, 1\); it needs \[K, d\] = \(K, 2\)"),
    ],
)
def test_a_transformer_whose_rows_are_no_contexts_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FromTransformer(Rows(rows).transform, ["a", "b"]).many([[0]])


def test_scikit_learns_splines_and_mixtures_are_maps() -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="scikit-learn is not installed")
    mixture = pytest.importorskip("sklearn.mixture")
    x = np.linspace(0.0, 1.0, 50)[:, None]
    splines = preprocessing.SplineTransformer(n_knots=4, extrapolation="constant").fit(x)
    names = [f"spline {n}" for n in range(6)]
    assert FromTransformer(splines.transform, names).many(3.0 * x - 1.0).shape == (50, 6)
    gaussians = mixture.GaussianMixture(3, random_state=0).fit(x)
    assert FromTransformer(gaussians.predict_proba, ["a", "b", "c"])(x[0]).shape == (3,)


def test_a_transformer_is_not_saved_and_has_a_digest_only_by_its_identity(tmp_path: Path) -> None:
    nameless = FromTransformer(Rows([[1.0]]).transform, ["a"])
    with pytest.raises(InputError, match="this FromTransformer has no identity; give identity="):
        map_digest(nameless)
    one, other = (FromTransformer(Rows([[1.0]]).transform, ["a"], identity=word) for word in ("v1", "v2"))
    assert map_digest(one) != map_digest(other)
    for map in (one, Additive([Hats([0, 1]), one], [0, 1])):
        with pytest.raises(InputError, match=r"which no file can hold; .* CovariateLearner.load\(path, map=...\)"):
            save_map(map, tmp_path / "map")
    assert not (tmp_path / "map").exists()


def test_a_transformer_needs_a_function_and_names() -> None:
    with pytest.raises(InputError, match=r"transform is a Rows; give its method, such as splines.transform"):
        FromTransformer(Rows([]), ["a"])
    with pytest.raises(InputError, match="names is empty"):
        FromTransformer(list, [])
