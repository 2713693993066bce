"""Structs: frozen groups of named fields, and the table that compiled code reads."""

import copy
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import TABLE_ENTRIES, Struct


class Inner(Struct):
    weights: NDArray[np.float64]


class Outer(Struct):
    mode: int
    scale: float
    on: bool
    counts: NDArray[np.int64]
    inner: Inner
    totals: np.void


def outer(**changes: object) -> Outer:
    values = {
        "mode": 2,
        "scale": 0.5,
        "on": True,
        "counts": np.arange(6).reshape(2, 3),
        "inner": Inner(np.ones(4)),
        "totals": new_record(record_type(reals=("loss",))),
    }
    return Outer(**(values | changes))


def test_fields_stand_in_the_order_of_the_class() -> None:
    assert Outer._fields == ("mode", "scale", "on", "counts", "inner", "totals")
    made = outer()
    assert list(made)[:3] == [2, 0.5, True]
    assert Outer._make(made)._asdict() == made._asdict()


@pytest.mark.parametrize(
    "wrong", [((), {}), ((np.ones(1), np.ones(1)), {}), ((), {"weight": 1}), ((1,), {"weights": 2})]
)
def test_each_field_is_given_once(wrong: tuple[tuple[object, ...], dict[str, object]]) -> None:
    with pytest.raises(TypeError, match="Inner takes each of weights once"):
        Inner(*wrong[0], **wrong[1])


def test_a_field_cannot_be_replaced_but_what_it_holds_can_change() -> None:
    made = outer()
    with pytest.raises(AttributeError, match="Outer is frozen; scale cannot be replaced"):
        made.scale = 1.0  # type: ignore[misc]
    made.counts[0, 0] = 7
    other = made._replace(scale=2.0)
    assert (made.scale, other.scale) == (0.5, 2.0)
    assert other.counts is made.counts


@pytest.mark.parametrize("way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_arrays_and_a_table_of_their_own(way) -> None:
    made = outer()
    assert made._address
    other = way(made)
    other.counts[0, 0] = 9
    assert made.counts[0, 0] == 0
    assert other._address != made._address


def test_the_table_has_addresses_and_shapes_of_arrays_addresses_of_structs_and_the_bits_of_numbers() -> None:
    made = outer()
    bits = int(np.float64(0.5).view(np.int64))
    record = np.asarray(made.totals).ctypes.data
    expected = [2, bits, 1, made.counts.ctypes.data, 2, 3, made.inner._address, record]
    assert made._table[: len(expected)].tolist() == expected
    assert made._address == made._table.ctypes.data
    assert len(made._table) == TABLE_ENTRIES


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.ones((2, 4))[:, ::2], "weights is an array of strides"), ([1.0], "weights is a list; structs hold arrays")],
)
def test_what_compiled_code_could_not_read_is_an_error(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Inner(value)._table  # noqa: B018
