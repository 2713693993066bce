"""The report about contexts, and contexts that are drawn from raw covariates."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.adapters.covariates import (
    Additive,
    Categories,
    Hats,
    context_report,
)
from goalbound.errors import InputError


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
