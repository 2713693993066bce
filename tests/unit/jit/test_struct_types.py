"""What compiled code reads from structs, and how their types tell programs apart."""

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.jit.compile import Kernel
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct


class Part(Struct):
    weights: NDArray[np.float64]


class Whole(Struct):
    _static = ("mode",)

    mode: int
    scale: float
    on: bool
    count: int
    flags: NDArray[np.bool_]
    small: NDArray[np.int32]
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


def by_mode(one):
    """What numba cannot compile stands in a branch that mode 1 never takes."""
    if one.mode == 2:
        return one.nothing_of_this_name
    return one.scale


def test_compiled_code_reads_and_writes_every_kind_of_field_as_python_does() -> None:
    ours, theirs = whole(), whole()
    kernel = Kernel(read_all, {"_nrt": False})
    expected = kernel.python(theirs, 1)
    assert expected == (23.0 + 2.0 - 6.0 - 3.0) + 400.0 + 3.0
    assert kernel.compiled(ours, 1) == expected
    assert kernel.compiled(ours, 1) == expected
    assert (ours.totals["steps"], ours.totals["loss"], ours.part.weights[0]) == (2, 0.5, 2.5)


def test_read_only_arrays_need_no_program_of_their_own() -> None:
    fixed = np.arange(24.0).reshape(2, 3, 4)
    fixed.flags.writeable = False
    assert whole(cube=fixed)._kernel_type is whole()._kernel_type


def test_branches_on_static_fields_are_decided_before_anything_is_typed() -> None:
    kernel = Kernel(by_mode, {"_nrt": False})
    assert kernel.compiled(whole(1)) == 0.25
    assert not kernel.is_ready(whole(2))
    assert kernel.is_ready(whole(1, scale=3.0))
    with pytest.raises(Exception, match="nothing_of_this_name"):
        kernel._compile((whole(2),))


def test_the_type_is_that_of_the_class_the_fields_and_the_static_values() -> None:
    assert whole(1)._kernel_type is whole(1)._kernel_type
    assert whole(1)._kernel_type != whole(2)._kernel_type
    assert whole(1, small=np.zeros(2))._kernel_type != whole(1)._kernel_type
