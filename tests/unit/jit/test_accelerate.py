"""Kernels that call kernels become one program that is optimised once."""

import re
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest

from goalbound.confidence import regression
from goalbound.jit import accelerate
from goalbound.jit import compile as compilation
from goalbound.jit.compile import Compiler, Kernel, Way, lean
from tests.support.checked_indices import with_checked_indices


@pytest.fixture(autouse=True)
def accelerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another way was chosen, programs of this module are accelerated all the same."""
    monkeypatch.setattr(Compiler, "_way", Way.ACCELERATED)


def uncached(function: object, **options: bool) -> Kernel:
    """A kernel of the function that is compiled anew, and not kept."""
    kernel = Kernel(function, is_lean=True, **options)
    kernel._dispatchers[Way.ACCELERATED, False] = kernel._jitted(is_inner=False)
    return kernel


def test_a_kernel_that_kernels_call_is_translated_and_has_no_machine_code() -> None:
    kernel = uncached(regression.solve_context.function)
    kernel.compiled(np.eye(2), np.eye(2), np.array([0.5, 0.5]), 1.0, np.zeros(2), np.zeros(2))
    translated = list(regression.residual_of.inner.overloads.values())
    assert translated
    for inner in translated:
        assert isinstance(inner.library, accelerate._Translated)
        assert inner.library.get_pointer_to_function(inner.fndesc.llvm_cpython_wrapper_name) == 0


def test_in_the_whole_program_only_the_kernel_itself_can_be_called_from_outside() -> None:
    kernel = uncached(regression.solve_context.function)
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

    inner = Kernel(regression.dot.function, is_lean=True).inner
    array = types.Array(types.float64, 1, "C")
    inner.get_call_template((array, array), {})
    counted = Kernel(regression.ridge.function, is_lean=True).inner
    matrix = types.Array(types.float64, 2, "C")
    for count in (types.literal(1), types.int64, types.literal(2)):
        counted.get_call_template((matrix, matrix, count, matrix), {})
    assert len(counted.overloads) == 1


def test_arrays_that_check_their_indices_find_negative_ones() -> None:
    @lean
    def last(array, table, k):
        return array[k - 1] + table[0, k]

    assert with_checked_indices(last)(np.ones(2), np.ones((1, 2)), 1) == 2.0
    with pytest.raises(IndexError, match="index -1"):
        with_checked_indices(last)(np.ones(2), np.ones((1, 2)), 0)


def summed(array):
    """One loop, over as many entries as there are."""
    total = 0.0
    for k in range(len(array)):
        total += array[k]
    return total


def test_short_loops_are_not_unrolled_and_sum_the_same_bits() -> None:
    array = np.random.default_rng(0).random(37)
    adds = []
    for short in (False, True):
        kernel = uncached(summed, short_loops=short)
        assert kernel.compiled(array) == kernel.python(array)
        (program,) = kernel.dispatcher.overloads.values()
        adds.append(str(program.library._final_module).count("fadd"))
    assert adds[1] == 1 < adds[0]


def test_the_versions_that_were_tested_are_those_that_the_package_declares() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    (declared,) = [one for one in project["project"]["dependencies"] if one.startswith("numba")]
    versions = [tuple(int(part) for part in one.split(".")) for one in re.findall(r"[\d.]+", declared)]
    assert versions == [accelerate.FIRST_TESTED, accelerate.FIRST_UNTESTED]


@pytest.mark.parametrize("version", ["0.60.1", "0.69.0", "1.0"])
def test_a_version_that_was_not_tested_compiles_without_the_accelerator(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba, "__version__", version)
    monkeypatch.setattr(Compiler, "_way", None)
    monkeypatch.delenv("GOALBOUND_ACCELERATE", raising=False)
    with pytest.warns(compilation.NotCompiledWarning, match=rf"numba {version} was not tested\); the results"):
        assert Compiler.way() is Way.PLAIN
