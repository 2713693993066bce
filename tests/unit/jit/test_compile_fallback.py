"""Without a numba that fits, kernels run as Python: one warning, the same results, no error in the middle of a run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goalbound.jit import compile as compilation

JIT = Path(compilation.__file__).parent
PLAYED = """
import os, sys, warnings
import numpy as np
from goalbound import LRCSSP, play, widths
from goalbound.errors import NotCompiledWarning
from goalbound.jit import compile as compilation
from goalbound.problems import treatment_ladder
from goalbound.simulation import Dirichlet

problem = treatment_ladder(2, markers=2)

def regret():
    learner = LRCSSP(problem.support, problem.context_size, loss_floor=0.1, widths=widths.paper())
    contexts = Dirichlet.symmetric(problem.context_size)
    return play(problem, learner, contexts, episodes=12, seed=3, step_limit=30).expected_regret.tobytes()

expected = regret()  # the run of a toy: Python
compilation.TOY_WORK = 200  # reached in the middle of the run
"""
WORKED = """
import os, sys, warnings
import numpy as np
from goalbound.confidence.regression import solve_context
from goalbound.errors import NotCompiledWarning
from goalbound.jit import compile as compilation
from goalbound.planning.kernels.chain import Chain, gauss_seidel

def worked(form):
    direction, values = np.zeros(2), np.array([1.0, 2.0])
    chain = Chain(np.array([0, 1]), np.array([1, 1]), np.array([1], dtype=np.int32), np.array([0.3]), np.ones(2))
    found = getattr(solve_context, form)(np.eye(2), np.eye(2), np.array([0.3, 0.7]), 1.0, direction, np.zeros(2))
    change = getattr(gauss_seidel, form)(chain, np.ones(2), np.ones(3), False, values)
    return *found, change, *direction, *values

expected = worked("python")
"""
"""Kernels with arrays, and with a struct."""
EACH_NAME = (
    WORKED
    + """
import importlib, numba

failed = []
for word in sys.argv[1:]:
    module, _, name = word.partition(":")
    child = os.fork()
    if not child:
        code = 1
        try:
            delattr(importlib.import_module(module), name)
            if f"{module}.{name}" in sys.modules:
                sys.modules[f"{module}.{name}"] = None  # a module: importing it fails
            gone = module != "numba" or not os.path.exists(os.path.join(numba.__path__[0], name))  # else imported anew
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                same = worked("compiled") == expected
            told = [str(one.message) for one in caught if one.category is NotCompiledWarning]
            warned = gone and word != "numba.core:event"  # without events no line tells of compiling, that is all
            code = 0 if same and len(told) == warned and all("pip install 'numba" in one for one in told) else 2
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        failed.append(word)
print(failed)
"""
)


def printed_by(program: str, *words: str, **environment: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, env={**os.environ, **environment},
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def names_of_numba() -> list[str]:
    """What our modules import from numba and llvmlite, as "module:name"."""
    found = set()
    for file in JIT.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("numba", "llvmlite"):
                found.update(f"{node.module}:{alias.name}" for alias in node.names)
    return sorted(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each name is deleted in a process of its own")
def test_a_name_that_numba_no_longer_has_costs_speed_and_nothing_else():
    names = names_of_numba()
    assert "numba:_dynfunc" in names  # of the accelerator
    assert printed_by(EACH_NAME, *names, GOALBOUND_ACCELERATE="1") == "[]"


def test_a_compiler_that_fails_costs_speed_and_nothing_else(monkeypatch):
    def failing(self, arguments):
        raise RuntimeError("a pass has another name\nand more lines")

    monkeypatch.setattr(compilation.Compiler, "_way", compilation.Way.ACCELERATED)
    monkeypatch.setattr(compilation.Kernel, "_compile", failing)

    def doubled(x):
        return 2 * x

    kernel = compilation.kernel(doubled)
    reason = r"RuntimeError at <kernel [a-z_.]*doubled>: a pass has another name\); "
    with pytest.warns(compilation.NotCompiledWarning, match=reason) as heard:
        assert kernel.compiled(3) == 6
    effects = [str(one.message).partition("); ")[2].partition(".")[0] for one in heard]
    assert [one.partition(",")[0] for one in effects] == ["the results are the same", "kernels run as Python"]
    assert kernel.compiled(4) == 8  # no second warning: it would be an error here
    assert not kernel.is_ready(4)


def test_options_that_numba_does_not_document_are_dropped_where_it_refuses_them(monkeypatch):
    jitted = compilation.Kernel._jitted

    def strict(self, **how):
        if compilation.Compiler.way() is not compilation.Way.DOCUMENTED:
            raise KeyError("unrecognized options")
        return jitted(self, **how)

    monkeypatch.setattr(compilation.Compiler, "_way", compilation.Way.PLAIN)
    monkeypatch.setattr(compilation.Kernel, "_jitted", strict)
    kernel = compilation.lean(lambda x: 2 * x)
    assert kernel.compiled(3) == 6  # without a warning: it would be an error here
    assert compilation.Compiler.way() is compilation.Way.DOCUMENTED
    assert list(kernel._dispatchers) == [(compilation.Way.DOCUMENTED, False)]


@pytest.mark.parametrize("way", ["PLAIN", "DOCUMENTED"])
def test_every_way_to_compile_gives_the_same_bits_without_a_warning(way):
    program = WORKED + (
        f"compilation.Compiler._way = compilation.Way.{way}\n"
        "warnings.simplefilter('error')\n"
        "print(worked('compiled') == expected, compilation.Compiler.way().name)"
    )
    assert printed_by(program) == f"True {way}"


def test_the_accelerator_can_be_turned_off():
    program = "from goalbound.jit.compile import Compiler; print(Compiler.way().name)"
    assert printed_by(program, GOALBOUND_ACCELERATE="0") == "PLAIN"


def test_numba_can_be_told_not_to_compile():
    program = PLAYED + "warnings.simplefilter('error'); print(regret() == expected, compilation.Compiler.works())"
    assert printed_by(program, NUMBA_DISABLE_JIT="1") == "True False"
