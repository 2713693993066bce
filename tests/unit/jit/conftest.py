"""A kernel, and something that stands in for the compiler of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest
from numba.core import event

from goalbound.jit import compile as compilation


@compilation.kernel
def tripled(x):
    return 3 * x


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
