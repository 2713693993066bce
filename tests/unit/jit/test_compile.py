"""The two forms of a kernel: which calls which, which one runs when, and what the user sees of it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core import event

from goalbound.confidence import regression
from goalbound.jit import compile as compilation
from goalbound.jit import compiling
from goalbound.learners import audit
from goalbound.planning.kernels import bellman, chain, graph

NOTICE = "goalbound: compiling "


@compilation.kernel
def doubled(x):
    """Twice x."""
    return 2 * x


@compilation.kernel
def tripled(x):
    return doubled(x) + x


class Compiler:
    """Stands in for numba's dispatcher of ``tripled``: says what was asked, takes as long as it is told.

    What is not in the cache is compiled, and numba tells its listeners so; what it loads, it does not tell.
    """

    def __init__(self, seconds: float = 0.0, *, cached: bool = False) -> None:
        self.seconds, self.cached, self.asked = seconds, cached, []

    def compile(self, types: tuple) -> Compiler:
        with nullcontext() if self.cached else event.trigger_event("numba:compile"):
            time.sleep(self.seconds)
        self.asked.append(types)
        return self

    def __call__(self, x: float) -> str:
        return f"compiled {x}"


@pytest.fixture
def fresh() -> Iterator[Callable[..., tuple[compilation.Kernel, Compiler]]]:
    """A kernel not yet compiled, with a compiler that takes so many seconds."""

    def make(seconds: float = 0.0, *, cached: bool = False) -> tuple[compilation.Kernel, Compiler]:
        made, compiler = compilation.Kernel(tripled.function), Compiler(seconds, cached=cached)
        made._dispatchers[compilation.Compiler.way(), False] = compiler
        return made, compiler

    return make


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


def test_a_cache_that_cannot_be_read_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first = compilation.Kernel(audit.squared_norm.function)
    assert first.compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(index.read_bytes()[:-20])
    again = compilation.Kernel(audit.squared_norm.function)
    assert again.compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_the_cache_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", full_disk)
    monkeypatch.setattr(compiling._Warned, "once", False)
    kernel = compilation.Kernel(audit.squared_norm.function)
    with pytest.warns(UserWarning, match=r"No space left on device\), so every .* set NUMBA_CACHE_DIR") as heard:
        assert kernel.compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5
    assert kernel.dispatcher(np.eye(2, dtype=np.float32), np.array([0.5, 0.5])) == 0.5  # another form, compiled too
    assert len(heard) == 1


def test_machine_code_that_is_damaged_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling._Warned, "once", False)
    compilation.Kernel(audit.squared_norm.function).compiled(np.eye(2), np.array([0.5, 0.5]))
    (code,) = tmp_path.rglob("*.nbc")
    code.write_bytes(code.read_bytes()[:50])
    with pytest.warns(UserWarning, match="compiled kernels cannot be kept on disk"):
        assert compilation.Kernel(audit.squared_norm.function).compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5


def test_where_nothing_can_be_written_kernels_are_compiled_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(blocked / "folder"))
    locators = [numba.core.caching.UserProvidedCacheLocator]  # as where neither the package nor the home is writable
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", locators)
    monkeypatch.setattr(compiling._Warned, "once", False)
    with pytest.warns(UserWarning, match="cannot be kept on disk .*no locator available"):
        assert compilation.Kernel(audit.squared_norm.function).compiled(np.eye(2), np.array([0.5, 0.5])) == 0.5


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


@pytest.fixture
def quick_timer(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Timers go off fifty times as early; the list says for how long they were asked to wait."""
    asked: list[float] = []

    def timer(seconds: float, function: Callable[[], None]) -> threading.Timer:
        asked.append(seconds)
        return threading.Timer(seconds / 50.0, function)

    monkeypatch.setattr(compiling, "threading", SimpleNamespace(Timer=timer))
    monkeypatch.setattr(compiling.CompilationNotice, "next_at", 1.0)
    monkeypatch.setattr(compiling.CompilationNotice, "spent", 0.0)
    monkeypatch.setattr(compiling.CompilationNotice, "compiling", 0.0)
    return asked


def test_a_slow_compiler_is_announced_with_what_it_compiles_and_how_long_so_far(
    fresh: Callable, quick_timer: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        kernel, _ = fresh(seconds=0.1)
        kernel.compiled(1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{NOTICE}{__name__}.tripled, 0 s so far")
    assert quick_timer[0] == 1.0
    assert 9.0 < quick_timer[1] <= 10.0  # the next line, if it takes that long
    assert quick_timer[2] < 10.0  # what the first took is counted


def test_a_compiler_that_takes_long_is_announced_again(
    fresh: Callable, quick_timer: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, _ = fresh(seconds=0.5)
    kernel.compiled(1)
    assert capsys.readouterr().err.count(NOTICE) >= 2


def test_what_the_cache_has_is_loaded_without_a_word_however_long_it_takes(
    fresh: Callable, quick_timer: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, _ = fresh(seconds=0.1, cached=True)  # five times what the timer would have waited
    before = compiling.seconds_compiling()
    kernel.compiled(1)
    assert quick_timer == []
    assert capsys.readouterr() == ("", "")
    assert compiling.seconds_compiling() - before >= 0.1  # time that says nothing about the speed of a run


def test_numba_tells_of_what_it_compiles_and_not_of_what_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_timer: list[float]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compilation.Kernel(audit.squared_norm.function).compiled(np.eye(2), np.array([0.5, 0.5]))
    asked = list(quick_timer)
    assert asked[0] == 1.0
    compilation.Kernel(audit.squared_norm.function).compiled(np.eye(2), np.array([0.5, 0.5]))
    assert quick_timer == asked


def test_a_quick_compiler_is_not_announced(
    fresh: Callable, quick_timer: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, _ = fresh()
    kernel.compiled(1)
    time.sleep(0.05)  # two and a half times what the timer would have waited
    assert quick_timer == [1.0]
    assert capsys.readouterr() == ("", "")


def test_a_compiler_that_fails_does_not_leave_a_timer_behind(
    quick_timer: list[float], fresh: Callable, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, compiler = fresh()
    compiler.compile = lambda types: 1 / 0
    monkeypatch.setattr(compilation.Compiler, "_way", compilation.Way.DOCUMENTED)
    kernel._dispatchers[compilation.Way.DOCUMENTED, False] = compiler
    with pytest.warns(compilation.NotCompiledWarning, match="ZeroDivisionError"):
        assert kernel.compiled(1) == 3
    assert not kernel.is_compiled
    time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


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
