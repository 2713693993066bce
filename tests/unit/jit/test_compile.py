"""The two forms of a kernel: which calls which, which one runs when, and what the user sees of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from goalbound.confidence import regression
from goalbound.jit import compile as compilation
from goalbound.planning.kernels import bellman, chain, graph


@compilation.kernel
def doubled(x):
    """Twice x."""
    return 2 * x


@compilation.kernel
def tripled(x):
    return doubled(x) + x


def test_a_kernel_keeps_the_name_and_the_words_of_its_function() -> None:
    assert (doubled.__name__, doubled.__doc__, doubled.__module__) == ("doubled", "Twice x.", __name__)
    assert repr(graph.components) == "<kernel goalbound.planning.kernels.graph.components>"


def test_the_python_form_calls_python_forms_and_the_function_itself_is_left_as_it_was() -> None:
    assert tripled.python(7) == 21
    assert tripled.python is tripled.python
    assert tripled.python.__globals__["doubled"] is doubled.python
    assert tripled.function.__globals__["doubled"] is doubled


CALLS = [
    (graph.proper_states, graph.backward_reach),
    (chain.sweep_until, chain.gauss_seidel),
    (bellman.improve, bellman.precise_advantage),
    (bellman.precise_advantage, bellman.precise_change),
    (bellman.precise_change, bellman.product_error),
    (chain.bicgstab, chain.precondition),
]


@pytest.mark.parametrize(("caller", "callee"), CALLS, ids=lambda one: one.__name__)
def test_each_form_calls_the_same_form_of_the_kernels_that_it_uses(
    caller: compilation.Kernel, callee: compilation.Kernel
) -> None:
    assert caller.python.__globals__[callee.__name__] is callee.python
    assert caller.dispatcher.py_func.__globals__[callee.__name__] is callee.inner
    assert caller.inner.py_func.__globals__[callee.__name__] is callee.inner


def test_the_name_of_a_program_changes_with_the_source_of_each_kernel_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba looks at the file of the outermost kernel only, and would go on using code of the others as they were."""
    edited: list[str] = []
    content = compilation._source_digest
    monkeypatch.setattr(compilation, "_source_digest", lambda file: content(file) + bytes(edited.count(file)))

    def name() -> str:
        return compilation.Kernel(regression.solve_context.function).digest

    before = name()
    edited.append(graph.components.function.__code__.co_filename)
    assert name() == before  # it calls none of these
    edited.append(regression.residual_of.function.__code__.co_filename)
    after = name()
    assert after != before
    edited.append(compilation.COMPILER_FILES[0])
    assert name() not in (before, after)


def test_no_kernel_compiles_with_relaxed_arithmetic() -> None:
    for kernel in (bellman.certify, chain.bicgstab, graph.dijkstra_policy):
        options = kernel.dispatcher.targetoptions
        assert not options.get("fastmath")
        assert not options.get("parallel")
        assert options["nogil"]
        assert options["error_model"] == "numpy"


def test_toy_work_runs_as_python_until_the_kernel_is_compiled(fresh: Callable) -> None:
    kernel, compiler = fresh()
    run = compilation.engine(compilation.TOY_WORK)
    assert run(kernel)(2) == 6
    assert compiler.asked == []
    assert kernel.compiled(2) == "compiled 2"
    assert run(kernel)(2) == "compiled 2"


def test_larger_work_compiles_the_kernel_once(fresh: Callable) -> None:
    kernel, compiler = fresh()
    run = compilation.engine(compilation.TOY_WORK + 1)
    assert [run(kernel)(2), run(kernel)(3)] == ["compiled 2", "compiled 3"]
    assert [[str(one) for one in types] for types in compiler.asked] == [["int64"]]
    assert kernel.is_compiled


def test_numba_is_not_imported_until_a_compiled_form_is_asked_for() -> None:
    code = """
import sys
from goalbound import SSP, evaluate, solve
from goalbound.planning.kernels import bellman
toy = SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]])
evaluate(toy, solve(toy).policy)
print("numba" in sys.modules)
bellman.product_error.dispatcher
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert done.stderr == ""


def test_of_two_processes_that_need_a_kernel_one_compiles_it_and_the_other_loads_it(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from goalbound.learners.audit import squared_norm\n"
        "assert squared_norm.compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5\n"
        "stats = squared_norm.dispatcher.stats\n"
        "print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))\n"
    )
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=settings, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    found = sorted(process.communicate(timeout=120)[0].split() for process in both)
    assert found == [["0", "1"], ["1", "0"]]
