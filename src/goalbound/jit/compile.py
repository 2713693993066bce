"""Kernels: plain Python functions over arrays that numba compiles when, and only when, it pays.

A kernel has two forms with the same bits out: ``python`` runs at once and is right for toy problems, ``compiled``
waits for numba (seconds the first time ever, then cached on disk). :func:`engine` picks one by the size of the work.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dis import get_instructions
from enum import Enum
from functools import cache, update_wrapper
from hashlib import blake2s
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np

from goalbound.errors import NotCompiledWarning
from goalbound.jit.struct import Struct

TOY_WORK = 40_000
"""Up to this many (pair, next state) triples a kernel not yet compiled runs as Python: faster than the compiler."""

COMPILER_FILES = tuple(
    str(Path(__file__).with_name(name)) for name in ("compile.py", "accelerate.py", "struct.py", "struct_types.py")
)
"""The files that say how kernels are compiled: where one changes, nothing that is cached can be used."""


class SlotError(RuntimeError):
    """A slot that nobody filled was reached, or filled with what calls it again."""


class Slot:
    """A callee that a generic kernel names and a room fills when a program is made (:meth:`Kernel.filled`).

    Where nobody fills it, the ``default`` is called, if it has one.

    >>> width = Slot("width")
    >>> width(1.0)
    Traceback (most recent call last):
    goalbound.jit.compile.SlotError: the slot width is not filled; run kernel.filled({width: ...}) instead of the kernel
    >>> def double(x): return 2.0 * x
    >>> half_width = Slot("half_width", default=Kernel(double))
    >>> def ends(x): return x + half_width(x)
    >>> Kernel(ends).python(1.0)
    3.0
    """

    def __init__(self, name: str, default: Kernel | None = None) -> None:
        self.name = name
        self.default = default

    def __call__(self, *arguments: Any) -> Any:
        """Raise: nobody filled the slot."""
        raise SlotError(
            f"the slot {self.name} is not filled; run kernel.filled({{{self.name}: ...}}) instead of the kernel"
        )

    def __repr__(self) -> str:
        return f"<slot {self.name}>"


class Kernel:
    """A function that works on arrays. Kernels may call kernels; they hold no state and raise nothing.

    Arrays of indices that are read in hot loops are unsigned, so that compiled code need not ask at each access whether
    an index counts from the end of its array.
    """

    __name__: str

    def __init__(
        self,
        function: FunctionType,
        *,
        is_lean: bool = False,
        short_loops: bool = False,
        slots: Mapping[Slot, Kernel] | None = None,
        tag: str = "",
    ) -> None:
        self.function = function
        self._is_lean = is_lean
        self._short_loops = short_loops
        self._slots: Mapping[Slot, Kernel] = slots or {}
        self._filled: dict[frozenset[tuple[Slot, Kernel]], Kernel] = {}
        self.tag = tag
        update_wrapper(cast(Any, self), function)
        self._python: Callable[..., Any] | None = None
        self._dispatchers: dict[tuple[Way, bool], Any] = {}  # by how numba compiles, and whether kernels call it
        self._digest: str | None = None
        self._programs: dict[tuple[Any, ...], Callable[..., Any]] = {}  # by the types of the arguments

    def filled(self, slots: Mapping[Slot, Kernel], tag: str = "") -> Kernel:
        """This kernel with its slots filled, and those of all kernels below it. The same kernel for the same slots.

        Slots that were filled before stay as they are, so a kernel around another one may be filled with the inner one
        first. ``tag`` names the program where it is compiled.

        >>> width = Slot("width")
        >>> def ends(x): return x + width(x)
        >>> def double(x): return 2.0 * x
        >>> Kernel(ends, slots={width: Kernel(double)}).python(1.0)
        3.0
        """
        added = {slot: slots[slot] for slot in self._reached(slots)}
        if not added:
            return self
        key = frozenset(added.items())
        if key not in self._filled:
            self._filled[key] = Kernel(
                self.function,
                is_lean=self._is_lean,
                short_loops=self._short_loops,
                slots={**added, **self._slots},
                tag=tag,
            )
        return self._filled[key]

    def _reached(self, slots: Mapping[Slot, Kernel], path: tuple[Kernel, ...] = ()) -> set[Slot]:
        """Which of ``slots`` this kernel, or one below it, would be filled with."""
        if self in path:
            raise SlotError(f"{path[-1]!r} fills a slot that it calls itself, by {self!r}; fill it from around")
        known, found = {**slots, **self._slots}, set()
        for _, callee in _called(self.function):
            if isinstance(callee, Slot):
                if callee.default is None or callee in known:
                    found.add(callee)
                callee = self._filling(callee, known)
            found |= callee._reached(known, (*path, self))
        return {slot for slot in found if slot not in self._slots}

    def _below(self) -> list[Kernel]:
        """This kernel and all that it calls."""
        found, left = [self], [self]
        while left:
            for one in left.pop()._callees().values():
                if one not in found:
                    found.append(one)
                    left.append(one)
        return found

    def _callees(self) -> dict[str, Kernel]:
        """The kernels that the function calls, by the names that it calls them by."""
        found = {}
        for name, callee in _called(self.function):
            one = self._filling(callee, self._slots) if isinstance(callee, Slot) else callee
            found[name] = one.filled(self._slots)
        return found

    def _filling(self, slot: Slot, slots: Mapping[Slot, Kernel]) -> Kernel:
        filling = slots.get(slot, slot.default)
        if filling is None:
            raise SlotError(f"the slot {slot.name} of {self!r} is not filled; filled({{{slot.name}: ...}})")
        return filling

    @property
    def python(self) -> Callable[..., Any]:
        """The kernel as Python; the kernels that it calls run as Python too."""
        if self._python is None:
            self._python = _with_globals(self.function, {name: k.python for name, k in self._callees().items()})
        return self._python

    @property
    def dispatcher(self) -> Any:
        """The compiled form as Python calls it, kept on disk."""
        key = Compiler.way(), False
        if key not in self._dispatchers:
            from goalbound.jit.compiling import tolerate_errors, warn_no_cache

            try:
                self._dispatchers[key] = self._jitted(is_inner=False, cache=True)
            except (RuntimeError, OSError) as error:  # no folder that numba knows can be written to
                warn_no_cache(error)
                self._dispatchers[key] = self._jitted(is_inner=False)
            else:
                tolerate_errors(self._dispatchers[key])
        return self._dispatchers[key]

    @property
    def inner(self) -> Any:
        """The compiled form as other kernels call it."""
        key = Compiler.way(), True
        if key not in self._dispatchers:
            self._dispatchers[key] = self._jitted(is_inner=True)
        return self._dispatchers[key]

    def _jitted(self, *, is_inner: bool, cache: bool = False) -> Any:
        from numba import njit

        way = Compiler.way()
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": cache}
        if way is not Way.DOCUMENTED:
            options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": is_inner, "_nrt": not self._is_lean}
        if way is Way.ACCELERATED:
            from goalbound.jit import accelerate

            outer = accelerate.short_loops if self._short_loops else accelerate.whole
            options["pipeline_class"] = accelerate.inner if is_inner else outer
        function = _with_globals(self.function, {name: k.inner for name, k in self._callees().items()})
        function.__qualname__ = f"{self.function.__qualname__}__{self.digest}{way.value}"
        compile_to: Any = njit
        dispatcher = compile_to(function, **options)
        if way is Way.ACCELERATED and is_inner:
            accelerate.take_any_number(dispatcher)
        return dispatcher

    @property
    def digest(self) -> str:
        """Of the source files of all kernels of the program, and of what fills its slots. It is part of the name of
        compiled code: numba looks only at the file of the outermost function, and would go on using machine code with
        an old version of a kernel that it calls."""
        if self._digest is None:
            below = self._below()
            files = sorted({one.function.__code__.co_filename for one in below} | set(COMPILER_FILES))
            parts = [f"{one.__module__}.{one.function.__qualname__}" for one in below]
            found = blake2s("\n".join(parts).encode(), digest_size=8)
            for file in files:
                found.update(_source_digest(file))
            self._digest = found.hexdigest()
        return self._digest

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled form is ready in this process, for arguments of some types."""
        return bool(self._programs)

    def is_ready(self, *arguments: Any) -> bool:
        """Whether the compiled form is ready for arguments of these types."""
        return self.is_compiled and Compiler.works() and _kinds(arguments) in self._programs

    def compiled(self, *arguments: Any) -> Any:
        """Run the compiled form; the first time, compile it or load it from the cache. Where numba does not compile
        (:class:`Compiler`), run Python."""
        try:
            program = self._programs[_kinds(arguments)]
        except Exception:  # these types are new, or numba is not there
            program = self._program_for(arguments)
        return program(*arguments)

    def _program_for(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Compile for arguments of these types; Python where numba cannot."""
        while Compiler.works():
            try:
                program = self._programs[_kinds(arguments)] = self._compile(arguments)
            except Exception as error:  # an untested numba may raise anything; Python gives the same results
                Compiler.step_down(error, self)
            else:
                return program
        return self.python

    def _compile(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The program for arguments of these types. Calling it costs a fifth of what numba's dispatcher costs."""
        from numba import typeof

        from goalbound.jit.compiling import CompilationNotice, no_garbage_collection, one_process_at_a_time

        name = f"{self.__module__.removeprefix('goalbound.')}.{self.__name__}"
        with CompilationNotice(name), no_garbage_collection(), one_process_at_a_time(self.dispatcher):
            program: Callable[..., Any] = self.dispatcher.compile(tuple(typeof(argument) for argument in arguments))
        return program

    def ready(self, *arguments: Any) -> Any:
        """Run the compiled form if it is ready for arguments of these types, else Python."""
        return (self._programs[_kinds(arguments)] if self.is_ready(*arguments) else self.python)(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__name__}{f' ({self.tag})' if self.tag else ''}>"


def kernel(function: Any) -> Any:
    """Mark a function as a :class:`Kernel`; typed Any, so that kernels may call kernels."""
    return Kernel(function)


def lean(function: Any) -> Any:
    """A kernel that makes no arrays: it is compiled without numba's reference counts."""
    return Kernel(function, is_lean=True)


def short_loops(function: Any) -> Any:
    """A lean kernel most of whose loops, and of those that it calls, run a few times: they are not unrolled."""
    return Kernel(function, is_lean=True, short_loops=True)


class Way(Enum):
    """How numba compiles kernels. The results are the same to the bit."""

    ACCELERATED = ""
    """each program is optimised once, as a whole (:mod:`goalbound.jit.accelerate`)"""
    PLAIN = "_plain"
    """numba's own code generator, without reference counts and wrappers that nobody uses"""
    DOCUMENTED = "_documented"
    """the same with the options that numba documents, and no others"""
    PYTHON = "_python"
    """not at all: kernels run as Python"""


NOT_COMPILED = "numba cannot compile goalbound", "kernels run as Python, with the same results and much slower"
NOT_ACCELERATED = (
    "goalbound cannot accelerate this numba",
    "the results are the same, but kernels take about three times as long to compile and twice as long to run",
)


class Compiler:
    """How kernels are compiled in this process: accelerated, unless the environment says ``GOALBOUND_ACCELERATE=0``.
    Where that fails, in the next simpler way from then on, with a warning; nothing ends in the middle of a run."""

    _way: Way | None = None

    @classmethod
    def way(cls) -> Way:
        """The way of now."""
        if cls._way is None:
            cls._way = cls._first_way()
        return cls._way

    @classmethod
    def works(cls) -> bool:
        """Whether kernels can be compiled: numba can be imported, works, and nobody has turned it off."""
        return cls.way() is not Way.PYTHON

    @classmethod
    def _first_way(cls) -> Way:
        try:
            from numba import config, njit, typeof  # noqa: F401 - all that is needed below is there

            from goalbound.jit import struct_types  # noqa: F401 - registers structs with numba
        except Exception as error:
            _warn(error, *NOT_COMPILED)
            return Way.PYTHON
        settings: Any = config
        if settings.DISABLE_JIT:
            return Way.PYTHON
        if os.environ.get("GOALBOUND_ACCELERATE") == "0":
            return Way.PLAIN
        try:
            from goalbound.jit import accelerate

            accelerate.check_version()
        except Exception as error:
            return cls._without_accelerator(error)
        return Way.ACCELERATED

    @classmethod
    def step_down(cls, error: Exception, kernel: Kernel) -> None:
        """Compile in the next simpler way from now on: a kernel could not be compiled."""
        if cls.way() is Way.ACCELERATED:
            cls._way = cls._without_accelerator(error, kernel)
        elif cls.way() is Way.PLAIN:
            cls._way = Way.DOCUMENTED
        else:
            _warn(error, *NOT_COMPILED, kernel)
            cls._way = Way.PYTHON

    @classmethod
    def _without_accelerator(cls, error: Exception, kernel: Kernel | None = None) -> Way:
        _warn(error, *NOT_ACCELERATED, kernel)
        return Way.PLAIN


def _warn(error: Exception, event: str, effect: str, kernel: Kernel | None = None) -> None:
    reason = (str(error).strip().splitlines() or [""])[0]
    at = "" if kernel is None else f" at {kernel!r}"
    warnings.warn(
        f"{event} ({type(error).__name__}{at}: {reason}); {effect}. Install a version that was tested: "
        f"pip install '{_tested_numba()}'. If the kernel is yours, it may be what numba cannot compile",
        NotCompiledWarning,
        stacklevel=4,
    )


def _tested_numba() -> str:
    """The requirement that the package declares."""
    try:
        return next(one for one in requires("goalbound") or () if one.startswith("numba"))
    except (PackageNotFoundError, StopIteration):  # sources that nobody installed
        return "numba"


Run = Callable[[Kernel], Callable[..., Any]]


def engine(work: int) -> Run:
    """How to run kernels on a problem of this many triples: ``run(some_kernel)(arrays...)``.

    The results do not depend on the choice: both forms do the same float64 operations in the same order.
    """
    if work > TOY_WORK or _Ahead.on:
        return _compiled
    return _ready


class _Ahead:
    on = False
    """Whether all kernels are compiled before their first run, however little they have to do."""


@contextmanager
def compiled_ahead() -> Iterator[None]:
    """Inside it every kernel that runs is compiled, or loaded from the cache, however little it has to do."""
    before, _Ahead.on = _Ahead.on, True
    try:
        yield
    finally:
        _Ahead.on = before


class Effort:
    """The work of many calls, summed: kernels are compiled once that pays.

    >>> effort = Effort()
    >>> [effort.engine(TOY_WORK // 2) is engine(0) for call in range(3)]
    [True, True, False]
    """

    def __init__(self, spent: int = 0) -> None:
        self.spent = spent
        self.settled: dict[Kernel | Slot, Callable[..., Any]] = {}
        """How to run each kernel from now on, where that cannot change any more."""

    def __reduce__(self) -> tuple[type[Effort], tuple[int]]:
        """A copy settles again."""
        return type(self), (self.spent,)

    def engine(self, work: int) -> Run:
        """How to run kernels for this much more work."""
        self.spent += work
        return engine(self.spent)

    def settle(self, asked: Kernel | Slot, kernel: Kernel, work: int) -> Callable[..., Any]:
        """How to run a kernel for this much more work; kept in ``settled`` by what was ``asked`` for once it stays."""
        form = self.engine(work)(kernel)
        if self.spent > TOY_WORK:
            self.settled[asked] = form
        return form


def _compiled(kernel: Kernel) -> Callable[..., Any]:
    return kernel.compiled if Compiler.works() else kernel.python


def _ready(kernel: Kernel) -> Callable[..., Any]:
    return kernel.ready if kernel.is_compiled else kernel.python


def _kinds(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the program for these arguments depends on."""
    found: list[Any] = []
    for one in arguments:
        if isinstance(one, Struct):
            found.append(one._type_id)
        elif isinstance(one, np.ndarray):
            found.append((one.dtype.char, one.ndim, one.flags.num | 4))  # 4: owning its memory makes no difference
        else:
            found.append(type(one))
    return tuple(found)


def _called(function: FunctionType) -> list[tuple[str, Kernel | Slot]]:
    """The kernels and slots that a function names."""
    named = ((name, function.__globals__.get(name)) for name in _global_names(function.__code__))
    return [(name, value) for name, value in named if isinstance(value, Kernel | Slot)]


@cache
def _global_names(code: CodeType) -> tuple[str, ...]:
    """The globals that a function reads. ``co_names`` has its attributes too, which may be called as a kernel is."""
    return tuple(dict.fromkeys(one.argval for one in get_instructions(code) if one.opname == "LOAD_GLOBAL"))


@cache
def _source_digest(file: str) -> bytes:
    """Of the content of a source file; of nothing where it is none, as in a zip."""
    try:
        return blake2s(Path(file).read_bytes()).digest()
    except OSError:
        return b""


def _with_globals(function: FunctionType, changed: dict[str, Any]) -> FunctionType:
    copy = FunctionType(
        function.__code__, {**function.__globals__, **changed}, function.__name__, function.__defaults__
    )
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    return copy
