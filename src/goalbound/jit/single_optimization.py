"""How numba compiles a kernel with all kernels that it calls: each is translated by itself, the whole optimised once.

Left to itself numba optimises every function, generates its machine code, and does both again inside each of its
callers. For the loop of a learner, a hundred kernels that call each other, that takes several times as long.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba import _dynfunc
from numba.core import cgutils, config, ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.consts import ConstantInference
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import IRProcessing

from goalbound.jit.struct_types import TABLE_SIZE, StructType


class _Translated(JITCodeLibrary):
    """The code of a kernel that others call: LLVM's language, as numba wrote it. It is never run by itself."""

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
    """The same for kernels whose loops run a few times, as those over the entries of a context do. Loops are not
    unrolled: of those that were, eight times and the rest one by one, only the rest would ever run."""

    def _optimize(self) -> None:
        options = binding.create_pipeline_tuning_options(speed_level=config.OPT)
        options.loop_vectorization = config.LOOP_VECTORIZE
        options.slp_vectorization = config.SLP_VECTORIZE
        options.loop_unrolling = False
        passes = binding.create_pass_builder(self._codegen._tm, options)
        passes.getModulePassManager().run(self._final_module, passes)


class _Lower(Lower):
    """Tells LLVM that the tables of structs can be read at any time, so that reading them may leave loops.

    Uses indices as they are. numba adds the length to those below 0, as Python does: a comparison at every access,
    which no kernel needs and which costs the loops of the planner half of their time, those of learners a quarter.
    """

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        for argument in self.function.args:
            if argument.name.startswith("arg.") and argument.type == cgutils.voidptr_t:
                argument.attributes.dereferenceable = TABLE_SIZE

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        return super().lower_getitem(resty, expr, value, index, self._straight(index, signature))

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        return super().lower_setitem(target_var, index_var, value_var, self._straight(index_var, signature))

    def _straight(self, index: Any, signature: Any) -> Any:
        """The signature with indices that have no sign, where they are numbers that are not written in the kernel."""
        array, kind, *rest = signature.args
        if not isinstance(array, types.Array):
            return signature
        return signature.replace(args=(array, _without_sign(kind, self.typeof(index.name)), *rest))


def _without_sign(kind: Any, written: Any) -> Any:
    """The type of an index, or of several, for code that does not look whether they are negative. ``written`` is the
    type in the kernel, which tells numbers that are written there."""
    if isinstance(written, types.UniTuple | types.Tuple):
        return types.Tuple([_without_sign(*both) for both in zip(kind.types, written.types, strict=True)])
    computed = isinstance(kind, types.Integer) and not isinstance(written, types.Literal)
    return types.uintp if computed and kind.signed else kind


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(NativeLowering):
    _name = "goalbound_lower_whole"
    lowering_class = _Lower
    library_class = _Whole

    def run_pass(self, state: Any) -> bool:
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerShortLoops(_LowerWhole):
    _name = "goalbound_lower_short_loops"
    library_class = _ShortLoops


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerInner(NativeLowering):
    _name = "goalbound_lower_inner"
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


@register_pass(mutates_CFG=True, analysis_only=False)
class _FillStaticFields(FunctionPass):
    """Static fields of arguments become constants, so that branches on them are decided before anything is typed."""

    _name = "goalbound_fill_static_fields"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                value = assignment.value
                if isinstance(value, ir.Expr) and value.op == "getattr":
                    owner = _struct_of(state, value.value)
                    if owner is not None and value.attr in owner.static:
                        assignment.value = ir.Const(owner.static[value.attr], assignment.loc)
                        changed = True
        if changed:
            state.func_ir._definitions = build_definitions(state.func_ir.blocks)
            state.func_ir._consts = ConstantInference(state.func_ir)
        return changed


def _struct_of(state: Any, variable: ir.Var) -> StructType | None:
    """The struct that a variable holds, if it is an argument or a field of one."""
    definition = guard(get_definition, state.func_ir, variable)
    found = None
    if isinstance(definition, ir.Arg):
        found = state.args[definition.index]
    elif isinstance(definition, ir.Expr) and definition.op == "getattr":
        owner = _struct_of(state, definition.value)
        found = None if owner is None else owner.fields.get(definition.attr)
    return found if isinstance(found, StructType) else None


def _pipeline(lowering: type[NativeLowering]) -> type[CompilerBase]:
    class Pipeline(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            manager.add_pass_after(_FillStaticFields, IRProcessing)
            manager.add_pass_after(lowering, NativeLowering)
            manager.passes = [one for one in manager.passes if one[0] is not NativeLowering]
            manager.finalize()
            return [manager]

    return Pipeline


whole = _pipeline(_LowerWhole)
"""The compiler of kernels that Python calls."""
short_loops = _pipeline(_LowerShortLoops)
"""The same for kernels whose loops are short."""
inner = _pipeline(_LowerInner)
"""The compiler of kernels that kernels call."""
