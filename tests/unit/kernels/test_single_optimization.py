"""Kernels that call kernels become one program that is optimised once."""

import numpy as np

from goalbound.kernels import regression
from goalbound.kernels.compile import Kernel
from goalbound.kernels.single_optimization import _Translated, whole


def test_a_kernel_that_kernels_call_is_translated_and_has_no_machine_code() -> None:
    arrays = np.eye(2), np.eye(2), np.array([0.5, 0.5]), 1.0, np.zeros(2), np.zeros(2)
    regression.solve_context.compiled(*arrays)
    (inner,) = regression.residual_of.inner.overloads.values()
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
