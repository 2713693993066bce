"""The tables that maps read: records, rows, whole columns, data frames."""

from __future__ import annotations

import re

import numpy as np
import pytest

from goalbound.adapters.covariates import (
    Additive,
    Categories,
    Hats,
    SoftClusters,
    Tensor,
    fill_missing,
)
from goalbound.errors import InputError

AGE, KIND = Hats([20, 50, 80], clamp=True), Categories(["A", "B"])


def test_a_table_may_be_records_rows_columns_or_a_structured_array() -> None:
    ages, kinds = [35.0, 65.0], ["A", "C"]
    by_name, by_place = Additive([AGE, KIND], ["age", "kind"]), Additive([AGE, KIND], [0, 1])
    want = by_name.many({"age": ages, "kind": kinds})
    structured = np.array(list(zip(ages, kinds, strict=True)), dtype=[("age", float), ("kind", "U1")])
    for table in ([{"age": a, "kind": k} for a, k in zip(ages, kinds, strict=True)], structured,
                  {"age": np.array(ages), "kind": np.array(kinds), "not read": [0, 0]}):  # fmt: skip
        assert np.array_equal(by_name.many(table), want)
    for rows in (list(zip(ages, kinds, strict=True)), np.array([[35.0, "A"], [65.0, "C"]], dtype=object)):
        assert np.array_equal(by_place.many(rows), want)


class Frame:
    """A data frame that has columns, and no keys()."""

    def __init__(self, data: dict[str, list]) -> None:
        self.columns, self.data = list(data), data

    def __getitem__(self, name: str) -> list:
        return self.data[name]


def test_a_record_for_a_map_of_places_is_read_by_places_or_is_an_error() -> None:
    near = SoftClusters([[0, 0], [10, 0]], temperature=20)
    assert near({1: 3, 0: 4}).tolist() == near([4, 3]).tolist()
    with pytest.raises(InputError, match=r"row 0 is a record, .*have no names: give 2 values .*\('x', 'y'\)\]\)"):
        near({"x": 4, "y": 3})


def test_a_map_of_one_column_reads_the_only_column_of_a_table_and_never_its_name() -> None:
    pandas = pytest.importorskip("pandas")
    for table in (pandas.DataFrame({"kind": ["A", "B"]}), {"kind": ["A", "B"]}):
        assert KIND.many(table).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(InputError, match=r"the table has the columns \['A', 'B'\]; .*Tensor\(\[map\], \['A'\]\)"):
        KIND.many({"A": ["A"], "B": ["B"]})


def test_data_frames_are_tables() -> None:
    map = Additive([AGE, KIND], ["age", "kind"])
    data = {"age": [35.0, None], "kind": ["A", "C"]}
    filled = fill_missing(map, Frame(data))
    assert np.array_equal(filled.many(Frame(data)), filled.many(data))
    with pytest.raises(InputError, match=r"the table has no age \(by name\); there are kind"):
        map.many(Frame({"kind": ["A"]}))
    with pytest.raises(InputError, match=r"the table has no column 0 \(by place\); there are age, kind"):
        Additive([AGE], [0]).many(Frame(data))


class NAType:
    """As pandas marks gaps in columns of whole numbers."""

    def __ne__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def test_the_gaps_of_pandas_are_gaps() -> None:
    map = Additive([Hats([0, 10], missing=[0.5, 0.5]), Categories([1], missing=[0, 1])], ["age", "kind"])
    assert map({"age": NAType(), "kind": NAType()}).tolist() == [0.25, 0.25, 0.0, 0.5]


def test_a_map_of_several_columns_reads_a_tuple_of_them() -> None:
    where = SoftClusters([[0, 0], [3, 4]], 5.0)
    both = Additive([where, AGE], [("east", "north"), "age"])
    record = {"east": 1.0, "north": 2.0, "age": 20}
    np.testing.assert_allclose(both(record), np.concatenate((where([1, 2]), [1, 0, 0])) / 2)
    assert both.column_names == ("east", "north", "age")
    assert both.names[0] == "east, north: near (0, 0)"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["61"], "row 0: '61' is not a number; a missing one is None or NaN, and words are for Categories"),
        ([1, [2, 3]], r"row 1: \[2, 3\] is not a number"),
        (np.ones((2, 2)), r"the values have shape \(2, 2\); give one number for each row"),
        (np.array(["a"]), "row 0: 'a' is not a number"),
    ],
)
def test_what_is_no_number_is_an_error_that_names_it(values, message) -> None:
    with pytest.raises(InputError, match=message):
        Hats([0, 100]).many(values)


def test_numbers_may_come_as_lists_arrays_columns_or_masked_arrays() -> None:
    map = Hats([0, 10], missing=[0.5, 0.5])
    want = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    masked = np.ma.array([0, 3, 10], mask=[False, True, False])
    for values in ([0, None, 10.0], np.array([0, np.nan, 10]), np.array([[0], [5], [10]]), masked, (False, 5, 10)):
        assert map.many(values).tolist() == want


@pytest.mark.parametrize(("map", "value"), [(AGE, 35), (KIND, "A")])
def test_a_record_for_a_map_of_one_column_is_told_to_be_the_value(map, value) -> None:
    itself = re.escape(f"give the value itself, {value!r}; or name the column: Tensor([map], ['age'])")
    with pytest.raises(InputError, match=f"row 0 is a record, .*{itself}"):
        map({"age": value})
    with pytest.raises(InputError, match="row 1 is a record"):
        map.many([value, {"age": value}])
    named = Tensor([map], ["age"])  # what the error says helps
    assert np.array_equal(named({"age": value}), map(value))
