"""What compiled code reads from structs, and how their types tell programs apart."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Kernel
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct


class Part(Struct):
    weights: NDArray[np.float64]


class Whole(Struct):
    _indices = ("places",)

    mode: int
    scale: float
    on: bool
    count: int
    flags: NDArray[np.bool_]
    small: NDArray[np.int32]
    places: NDArray[np.int64]
    cube: NDArray[np.float64]
    part: Part
    totals: np.void


def whole(mode: int = 1, **changes: object) -> Whole:
    values = {
        "mode": mode,
        "scale": 0.25,
        "on": True,
        "count": -3,
        "flags": np.array([True, False]),
        "small": np.array([5, -6], dtype=np.int32),
        "places": np.array([1, 0]),
        "cube": np.arange(24.0).reshape(2, 3, 4),
        "part": Part(np.array([0.5, 2.0])),
        "totals": new_record(record_type(reals=("loss",), integers=("steps",))),
    }
    return Whole(**(values | changes))


def read_all(one, row):
    """Every kind of field, read and written."""
    one.totals["steps"] += 1
    one.totals["loss"] += one.scale
    one.part.weights[0] += 1.0
    total = one.cube[row, 2, 3] + one.part.weights[1] + one.small[1] + one.count
    if one.on and one.flags[0] and not one.flags[1]:
        total += one.cube.shape[2] * 100.0
    return total + len(one.cube[row])


def placed(one):
    """Through the array of indices, read and written."""
    total = 0.0
    for k in range(len(one.places)):
        total += one.part.weights[one.places[k]] * (k + 1.0)
    one.places[0], one.places[1] = one.places[1], one.places[0]
    return total


def test_compiled_code_reads_and_writes_every_kind_of_field_as_python_does() -> None:
    ours, theirs = whole(), whole()
    kernel = Kernel(read_all, is_lean=True)
    expected = kernel.python(theirs, 1)
    assert expected == (23.0 + 2.0 - 6.0 - 3.0) + 400.0 + 3.0
    assert kernel.compiled(ours, 1) == expected
    assert kernel.compiled(ours, 1) == expected
    assert (ours.totals["steps"], ours.totals["loss"], ours.part.weights[0]) == (2, 0.5, 2.5)


def test_read_only_arrays_need_no_program_of_their_own() -> None:
    fixed = np.arange(24.0).reshape(2, 3, 4)
    fixed.flags.writeable = False
    assert whole(cube=fixed)._kernel_type is whole()._kernel_type


def test_arrays_of_indices_are_unsigned_in_compiled_code_and_lead_where_they_do_in_python() -> None:
    ours, theirs = whole(), whole()
    kernel = Kernel(placed, is_lean=True)
    assert kernel.compiled(ours) == kernel.python(theirs) == 2.0 * 1.0 + 0.5 * 2.0
    assert ours.places.tolist() == theirs.places.tolist() == [0, 1]
    kinds = whole()._kernel_type.fields
    assert (str(kinds["places"].dtype), str(kinds["small"].dtype)) == ("uint64", "int32")


def test_the_type_is_that_of_the_class_and_the_fields() -> None:
    assert whole(1)._kernel_type is whole(2)._kernel_type
    assert whole(small=np.zeros(2))._kernel_type != whole()._kernel_type
