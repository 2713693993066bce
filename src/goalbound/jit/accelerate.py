"""The accelerator: numba translates each kernel, and LLVM optimises the whole program once.

Left to itself numba optimises every function, generates its machine code, and does both again inside each of its
callers. For the loop of a learner, a hundred kernels that call each other, that takes three times as long, and the
program is half as fast. This module needs private parts of numba, so it is for tested versions only; everything works
without it (:class:`goalbound.jit.compile.Compiler`).
"""

from __future__ import annotations

import re
from typing import Any

import numba
from llvmlite import binding
from numba import _dynfunc, types
from numba.core import cgutils, config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from goalbound.jit.struct_types import TABLE_SIZE

FIRST_TESTED, FIRST_UNTESTED = (0, 61), (0, 69)
"""The versions of numba that this module was tried with. pyproject.toml names the same."""


def check_version() -> None:
    """An ImportError unless this numba was tested."""
    version = tuple(int(part) for part in re.findall(r"\d+", numba.__version__)[:2])
    if not FIRST_TESTED <= version < FIRST_UNTESTED:
        raise ImportError(f"numba {numba.__version__} was not tested")


class _Translated(JITCodeLibrary):
    """The code of a kernel that others call, as numba wrote it in LLVM's language. It is never run by itself."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        return self._final_module  # linked once into each program, so its functions may keep their linkage


class _Whole(JITCodeLibrary):
    """The code of a kernel that Python calls, and of all kernels below it."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._exported: set[str] = set()

    def add_llvm_module(self, ll_module: Any) -> None:
        self._exported.update(function.name for function in ll_module.functions if not function.is_declaration)
        super().add_llvm_module(ll_module)

    def finalize(self) -> None:
        # Functions of numba's own libraries are linked only where they are referred to, so they come last.
        self._linking_libraries.sort(key=lambda library: not isinstance(library, _Translated))
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._exported:
                function.linkage = "internal"  # nobody else calls it, so it may be changed to suit its callers
        self._optimize()

    def _optimize(self) -> None:
        super()._optimize_final_module()

    def add_linking_library(self, library: Any) -> None:
        if library not in self._linking_libraries:
            super().add_linking_library(library)
            if isinstance(library, _Translated):
                for below in library._linking_libraries:
                    self.add_linking_library(below)


class _ShortLoops(_Whole):
    """The same for kernels whose loops run a few times: they are neither unrolled nor vectorised. Of a loop that was,
    eight steps at once and the rest one by one, only the rest would ever run."""

    def _optimize(self) -> None:
        options = binding.create_pipeline_tuning_options(speed_level=config.OPT)
        options.loop_vectorization = False
        options.slp_vectorization = config.SLP_VECTORIZE
        options.loop_unrolling = False
        passes = binding.create_pass_builder(self._codegen._tm, options)
        passes.getModulePassManager().run(self._final_module, passes)


class _Lower(Lower):
    """Tells LLVM that the tables of structs can be read at any time, so that reading them may leave loops."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        for argument in self.function.args:
            if argument.name.startswith("arg.") and argument.type == cgutils.voidptr_t:
                argument.attributes.dereferenceable = TABLE_SIZE


class _LowerWhole(NativeLowering):
    lowering_class = _Lower
    library_class: type[JITCodeLibrary] = _Whole

    def run_pass(self, state: Any) -> bool:
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class _LowerShortLoops(_LowerWhole):
    library_class = _ShortLoops


class _LowerInner(NativeLowering):
    lowering_class = _Lower

    def run_pass(self, state: Any) -> bool:
        state.library = _Translated(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        result = state["cr"]
        name = result.fndesc.qualname
        nothing = _dynfunc.make_function(result.fndesc.lookup_module(), name, name, 0, result.env, (state.library,))
        state.targetctx.insert_user_function(nothing, result.fndesc, [state.library])
        state["cr"] = result._replace(cfunc=nothing)
        return True


def _compiler(lowering: type[NativeLowering]) -> type[CompilerBase]:
    lowering._name = f"goalbound{lowering.__name__}"
    register_pass(mutates_CFG=True, analysis_only=False)(lowering)

    class Compiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            manager.add_pass_after(lowering, NativeLowering)
            manager.passes = [entry for entry in manager.passes if entry[0] is not NativeLowering]
            manager.finalize()
            return [manager]

    return Compiler


whole = _compiler(_LowerWhole)
"""The compiler of kernels that Python calls."""
short_loops = _compiler(_LowerShortLoops)
"""The same for kernels whose loops are short."""
inner = _compiler(_LowerInner)
"""The compiler of kernels that kernels call."""


def take_any_number(dispatcher: Any) -> None:
    """Let a kernel that kernels call be compiled for whole numbers, not once more for each literal."""
    template = dispatcher.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        return template([types.unliteral(argument) for argument in arguments], named)

    dispatcher.get_call_template = get_call_template
