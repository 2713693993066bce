"""Averages and products of maps, and the tables that they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.adapters.covariates import (
    Additive,
    Categories,
    Hats,
    Periodic,
    SoftClusters,
    Tensor,
)
from goalbound.errors import InputError

AGE, KIND = Hats([20, 50, 80], clamp=True), Categories(["A", "B"])


@given(age=st.floats(0, 100), kind=st.sampled_from(["A", "B", "C"]))
def test_a_tensor_is_the_product_and_an_average_the_average(age: float, kind: str) -> None:
    record = {"age": age, "kind": kind}
    product = np.outer(AGE(age), KIND(kind)).ravel()
    np.testing.assert_allclose(Tensor([AGE, KIND], ["age", "kind"])(record), product, atol=1e-15)
    average = np.concatenate((0.75 * AGE(age), 0.25 * KIND(kind)))
    np.testing.assert_allclose(Additive([AGE, KIND], ["age", "kind"], [0.75, 0.25])(record), average, atol=1e-15)


def test_sizes_add_and_multiply_and_names_say_the_column() -> None:
    additive, tensor = Additive([AGE, KIND], ["age", "kind"]), Tensor([AGE, KIND], ["age", "kind"])
    assert additive.context_size == 6
    assert tensor.context_size == 9
    assert additive.names == ("age: at 20", "age: at 50", "age: at 80", "kind: A", "kind: B", "kind: other")
    assert tensor.names[:4] == ("age: at 20, kind: A", "age: at 20, kind: B", "age: at 20, kind: other",
                                "age: at 50, kind: A")  # fmt: skip
    assert additive.column_names == tensor.column_names == ("age", "kind")


def test_joint_maps_may_stand_in_joint_maps() -> None:
    inner = Tensor([AGE, KIND], [0, 1])
    outer = Additive([inner, Periodic.even(24, count=3)], [("age", "kind"), "hour"])
    context = outer({"age": 50, "kind": "B", "hour": 8})
    assert context.tolist() == [0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0.5, 0]
    assert outer.column_names == ("age", "kind", "hour")


def test_two_maps_may_read_one_column_and_their_components_are_distinguished() -> None:
    both = Tensor([Hats([0, 48]), Periodic.even(24, count=2)], ["hour", "hour"])
    assert both.names[0] == "hour (1): at 0, hour (2): at 0"
    np.testing.assert_allclose(both({"hour": 12}), np.outer([0.75, 0.25], [0.0, 1.0]).ravel())


def test_the_weights_limit_what_a_column_can_change() -> None:
    map = Additive([AGE, KIND], ["age", "kind"], [0.9, 0.1])
    change = map({"age": 20, "kind": "A"}) - map({"age": 20, "kind": "B"})
    assert np.abs(change).sum() / 2 == pytest.approx(0.1)  # total variation


def test_an_error_names_the_row_the_column_and_the_value() -> None:
    strict = Additive([Hats([20, 80]), Categories(["A"], other=False)], ["age", "kind"])
    with pytest.raises(InputError, match=r"^row 1: age: 95.0 is outside 20 to 80"):
        strict.many([{"age": 30, "kind": "A"}, {"age": 95, "kind": "Z"}, {"age": 30, "kind": "Z"}])
    with pytest.raises(InputError, match=r"^kind: 'Z' is none of the categories 'A'"):
        strict({"age": 30, "kind": "Z"})
    with pytest.raises(InputError, match=r"^age: the value is missing \(None or NaN\)"):
        strict({"age": None, "kind": "A"})
    with pytest.raises(InputError, match=r"^age: row 0: 'thirty' is not a number"):
        strict({"age": "thirty", "kind": "A"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Additive([], []), "maps is empty"),
        (lambda: Additive([Hats], ["age"]), r"maps\[0\] is <class .*; it needs a map of covariates"),
        (lambda: Additive([AGE], ["age", "kind"]), "there are 2 columns for 1 maps"),
        (lambda: Additive([AGE, KIND], ["age", 1]), "it needs names only, or places in a row"),
        (lambda: Additive([AGE], [-1]), r"columns is \(-1,\)"),
        (lambda: Additive([AGE], "a"), "columns is 'a'; it needs a list"),
        (lambda: Additive([AGE, KIND], [0, 1], [0.5, 0.6]), "weights sums to 1.1, not 1"),
        (lambda: Additive([AGE], ["age"])({"Age": 30}), r"row 0 has no age \(by name\); there are Age"),
        (lambda: Additive([AGE], ["age"]).many({"sex": [1]}), r"the table has no age \(by name\); there are sex"),
        (lambda: Additive([AGE], [1])([30]), r"row 0 has no column 1 \(by place\): \[30\]"),
        (lambda: Additive([AGE], [0])(30), r"row 0 has no column 0 \(by place\): 30"),
        (lambda: Additive([AGE, KIND], ["a", "k"]).many({"a": [30, 40], "k": ["A"]}), r"columns have \[2, 1\] rows"),
        (lambda: Additive([SoftClusters([[0, 0]], 1.0)], [(0, 1, 2)])([1, 2, 3]), "row 0 has 3 values; .* 2 columns"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_says_why(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
