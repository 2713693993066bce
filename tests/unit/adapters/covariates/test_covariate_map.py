"""What holds for every map: points of the simplex, the same bits alone and among others, in a file and out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.adapters.covariates import (
    CovariateMap,
    load_map,
    map_as_json,
    map_digest,
    map_from_json,
    save_map,
)
from goalbound.errors import InputError
from goalbound.models.validation import check_distribution
from tests.support.covariate_maps import MAPS


@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
def test_contexts_are_points_of_the_simplex_wherever_the_covariates_are(name: str, data: st.DataObject) -> None:
    map, values = MAPS[name]
    table = data.draw(st.lists(values, min_size=1, max_size=8))
    rows = map.many(table)
    assert rows.shape == (len(table), map.context_size)
    assert (rows >= 0.0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=(map.context_size + 4) * 2.0**-52)
    for row in rows:  # every learner accepts them as they are, without dividing again
        assert check_distribution(row, "context", map.context_size, "component") is row or row.max() > 1.0


@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
def test_one_row_gives_the_same_bits_alone_and_among_others(name: str, data: st.DataObject) -> None:
    map, values = MAPS[name]
    table = data.draw(st.lists(values, min_size=1, max_size=8))
    rows = map.many(table)
    for row, covariates in zip(rows, table, strict=True):
        assert map(covariates).tobytes() == row.tobytes()


@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
def test_a_map_read_back_from_json_gives_the_same_bits(name: str, data: st.DataObject) -> None:
    map, values = MAPS[name]
    again = map_from_json(map_as_json(map))
    table = data.draw(st.lists(values, min_size=1, max_size=4))
    assert again.many(table).tobytes() == map.many(table).tobytes()
    assert map_digest(again) == map_digest(map)


@pytest.mark.parametrize("name", MAPS)
def test_a_saved_map_is_the_same_map(name: str, tmp_path: Path) -> None:
    map = MAPS[name][0]
    save_map(map, tmp_path / "map")
    again = load_map(tmp_path / "map")
    assert type(again) is type(map)
    assert map_as_json(again) == map_as_json(map)
    save_map(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "map").read_bytes()


@pytest.mark.parametrize("name", MAPS)
def test_components_and_columns_have_names_that_differ(name: str) -> None:
    map = MAPS[name][0]
    assert len(set(map.names)) == map.context_size
    assert len(map.column_names) >= 1


@pytest.mark.parametrize("name", MAPS)
def test_no_rows_give_no_contexts(name: str) -> None:
    map = MAPS[name][0]
    assert map.many([]).shape == (0, map.context_size)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("gap", [None, float("nan"), np.float64("nan")], ids=["None", "nan", "numpy nan"])
def test_a_gap_is_refused_unless_there_is_a_rule_for_it(name: str, gap: Any) -> None:
    map: CovariateMap = MAPS[name][0]
    covariates = gap
    if name == "nested":
        covariates = {"a": gap, "b": 1.0, "c": 1.0}
    elif len(map.column_names) > 1:
        covariates = [gap] * len(map.column_names)
    with pytest.raises(InputError, match=r"missing \(None or NaN\); give the map a context for missing values"):
        map(covariates)


def test_every_map_has_its_own_digest() -> None:
    digests = {map_digest(map) for map, _ in MAPS.values()}
    assert len(digests) == len(MAPS)
    assert all(len(digest) == 64 for digest in digests)
