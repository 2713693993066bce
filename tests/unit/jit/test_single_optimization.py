"""Kernels that call kernels become one program that is optimised once."""

import numpy as np
import pytest

from goalbound.confidence import regression
from goalbound.jit.compile import Kernel, lean, short_loops
from goalbound.jit.single_optimization import _Translated, whole
from goalbound.jit.single_optimization import short_loops as short_loops_pipeline
from tests.support.checked_indices import with_checked_indices


def test_a_kernel_that_kernels_call_is_translated_and_has_no_machine_code() -> None:
    kernel = Kernel(regression.solve_context.function, {"_nrt": False})
    kernel._dispatcher = kernel._jitted(pipeline_class=whole, no_cfunc_wrapper=True)  # without the cache
    kernel.compiled(np.eye(2), np.eye(2), np.array([0.5, 0.5]), 1.0, np.zeros(2), np.zeros(2))
    translated = list(regression.residual_of.inner.overloads.values())
    assert translated
    for inner in translated:
        assert isinstance(inner.library, _Translated)
        assert inner.library.get_pointer_to_function(inner.fndesc.llvm_cpython_wrapper_name) == 0


def test_in_the_whole_program_only_the_kernel_itself_can_be_called_from_outside() -> None:
    kernel = Kernel(regression.solve_context.function, {"_nrt": False})
    kernel._dispatcher = kernel._jitted(pipeline_class=whole, no_cfunc_wrapper=True)  # without the cache
    arrays = np.eye(2), np.eye(2), np.array([0.5, 0.5]), 1.0, np.zeros(2), np.zeros(2)
    kernel.compiled(*arrays)
    (program,) = kernel.dispatcher.overloads.values()
    defined = [one for one in program.library._final_module.functions if not one.is_declaration]
    visible = [one.name for one in defined if str(one.linkage) != "Linkage.internal"]
    assert visible
    assert all("solve_context" in name for name in visible)


def test_literals_do_not_have_kernels_compiled_again() -> None:
    """``ridge`` is called with a literal 1 and with a number."""
    from numba import types

    inner = Kernel(regression.dot.function, {"_nrt": False}).inner
    array = types.Array(types.float64, 1, "C")
    inner.get_call_template((array, array), {})
    counted = Kernel(regression.ridge.function, {"_nrt": False}).inner
    matrix = types.Array(types.float64, 2, "C")
    for count in (types.literal(1), types.int64, types.literal(2)):
        counted.get_call_template((matrix, matrix, count, matrix), {})
    assert len(counted.overloads) == 1


@lean
def picked(array, table, where, out):
    """By a number in the source, by one from outside, and by one from an array, read and written."""
    out[where[0]] = array[-1] + table[where[1], -1]
    out[where[1]] += array[where[0]]
    for k in range(len(where)):
        out[k] += array[where[k]] + table[k, where[k]]


def test_kernels_read_and_write_where_python_does_if_no_index_is_negative() -> None:
    array, where = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 1])
    table = np.array([[0.0, 0.0, 16.0], [32.0, 0.0, 0.0], [0.0, 64.0, 0.0]])
    found = [np.zeros(3), np.zeros(3)]
    picked.python(array, table, where, found[0])
    picked.compiled(array, table, where, found[1])
    # array[-1] = 4 and table[0, -1] = 16 to place 2, array[2] = 4 to place 0, then 4 + 16, 1 + 32 and 2 + 64
    assert found[0].tolist() == found[1].tolist() == [24.0, 33.0, 86.0]


def test_kernels_do_not_look_for_negative_indices() -> None:
    programs = []
    for options in ({}, {"pipeline_class": whole}):
        kernel = Kernel(picked.function, {"_nrt": False})
        kernel._dispatcher = kernel._jitted(no_cfunc_wrapper=True, **options)  # without the cache
        kernel.compiled(np.zeros(3), np.zeros((3, 3)), np.arange(3), np.zeros(3))
        (text,) = kernel.dispatcher.inspect_llvm().values()
        programs.append(text)
    # Looking is to shift out the sign of an index and to add the length where it is set, or to compare and select.
    assert looks(programs[0]) >= 7
    assert looks(programs[1]) <= 1  # the loop runs while k is below the length


def looks(program: str) -> int:
    return program.count("ashr") + program.count("icmp slt")


def test_arrays_that_check_their_indices_find_negative_ones() -> None:
    @lean
    def last(array, table, k):
        return array[k - 1] + table[0, k]

    assert with_checked_indices(last)(np.ones(2), np.ones((1, 2)), 1) == 2.0
    with pytest.raises(IndexError, match="index -1"):
        with_checked_indices(last)(np.ones(2), np.ones((1, 2)), 0)


@short_loops
def summed(array):
    """One loop, over as many entries as there are."""
    total = 0.0
    for k in range(len(array)):
        total += array[k]
    return total


def test_short_loops_are_not_unrolled_and_sum_the_same_bits() -> None:
    array = np.random.default_rng(0).random(37)
    adds = []
    for pipeline in (whole, short_loops_pipeline):
        kernel = Kernel(summed.function, {"_nrt": False})
        kernel._dispatcher = kernel._jitted(pipeline_class=pipeline, no_cfunc_wrapper=True)  # without the cache
        assert kernel.compiled(array) == summed.python(array)
        (program,) = kernel.dispatcher.overloads.values()
        adds.append(str(program.library._final_module).count("fadd"))
    assert adds[1] == 1 < adds[0]
