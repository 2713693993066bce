"""Counters by name."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from goalbound.jit.records import assign, field_arrays, mapped, named_arrays, new_record, record_type
from goalbound.jit.struct import Struct

KIND = record_type(integers=("visits", "plans"), reals=("loss",))


def same(record: np.void) -> np.void:
    return record


@pytest.mark.parametrize("made", [same, np.void.copy, copy.copy, copy.deepcopy])
def test_a_record_and_every_copy_of_it_takes_what_is_written(made: Callable[[np.void], np.void]) -> None:
    record = made(new_record(KIND))
    record["visits"] += 2
    record["loss"] = 0.5
    field_arrays(record)["plans"][0] = 7
    assert (record["visits"], record["loss"], record["plans"]) == (2, 0.5, 7)


def test_a_copy_is_another_record_and_assign_takes_all_fields() -> None:
    one, other = new_record(KIND), new_record(KIND)
    one["visits"] = 3
    kept = one.copy()
    one["visits"] = 4
    assert kept["visits"] == 3
    assign(other, one)
    assert other == one


class Inner(Struct):
    counts: np.void
    values: np.ndarray


class Outer(Struct):
    _unsaved = ("rows",)

    inner: Inner
    rows: np.ndarray
    again: np.ndarray
    scale: float


def test_named_arrays_are_views_under_their_paths_each_once_and_leave_out_what_is_in_no_file() -> None:
    values = np.zeros(2)
    outer = Outer(Inner(new_record(KIND), values), np.zeros((1, 2)), values, 1.0)
    found = dict(named_arrays("state", outer))
    assert sorted(found) == [
        "state.inner.counts.loss", "state.inner.counts.plans", "state.inner.counts.visits", "state.inner.values",
    ]  # fmt: skip
    found["state.inner.counts.plans"][...] = 9
    found["state.inner.values"][1] = 0.25
    assert outer.inner.counts["plans"] == 9
    assert outer.inner.values.tolist() == [0.0, 0.25]


def test_mapped_changes_every_part_once_and_keeps_what_is_one_object() -> None:
    values, counts = np.zeros(2), new_record(KIND)
    outer = Outer(Inner(counts, values), np.ones((1, 2)), values, 1.0)
    known: dict[int, object] = {}
    again = mapped(outer, lambda part: part.copy() if isinstance(part, np.ndarray | np.void) else part, known)
    assert type(again) is Outer
    assert again.again is again.inner.values
    assert again.again is not values
    assert again.inner.counts is not counts
    assert mapped(counts, lambda part: None, known) is again.inner.counts
    assert again.scale == 1.0
