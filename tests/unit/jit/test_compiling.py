"""What surrounds a compilation: what the user sees of it, and the folder that keeps what was compiled."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from goalbound.jit import compile as compilation
from goalbound.jit import compiling
from goalbound.learners import audit

NOTICE = "goalbound: compiling "


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
    assert line.startswith(f"{NOTICE}tests.unit.jit.conftest.tripled, 0 s so far")
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
