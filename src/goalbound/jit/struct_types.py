"""How numba sees a struct: as the address of the table of its fields. See :mod:`goalbound.jit.struct`.

Tables never change while compiled code runs, and it is told so: what it reads from them may be kept in registers.
"""

from __future__ import annotations

from hashlib import blake2s
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

from goalbound.jit.struct import TABLE_ENTRIES, Struct

_TABLE_ENTRY = ir.IntType(64)
TABLE_SIZE = 8 * TABLE_ENTRIES
"""In bytes."""


class StructType(types.Type):
    """The type of a struct: its class and the types of its fields."""

    def __init__(self, cls: type[Struct], fields: tuple[tuple[str, types.Type], ...]) -> None:
        self.fields = dict(fields)
        described = f"{cls.__module__} {fields}".encode()
        # Short: the names of compiled functions spell out the types of their arguments.
        super().__init__(f"{cls.__qualname__}#{blake2s(described, digest_size=6).hexdigest()}")
        self.entries: dict[str, int] = {}
        """where the fields begin in the table"""
        size = 0
        for name, kind in fields:
            self.entries[name] = size
            size += 1 + (kind.ndim if isinstance(kind, types.Array) else 0)


_TYPES: dict[tuple[Any, ...], StructType] = {}


def struct_type(struct: Struct) -> StructType:
    """The type of a struct: one object for all structs of the same type."""
    fields = struct._asdict()
    key = (type(struct), *(_kind(value) for value in fields.values()))
    if key not in _TYPES:
        types_of_fields = ((name, _field_type(value, name in struct._indices)) for name, value in fields.items())
        _TYPES[key] = StructType(type(struct), tuple(types_of_fields))
    return _TYPES[key]


def _kind(value: Any) -> Any:
    """What the type of a field depends on."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim
    if isinstance(value, np.void):
        return value.dtype
    return value._kernel_type if isinstance(value, Struct) else type(value)


def _field_type(value: Any, is_index: bool) -> types.Type:
    if isinstance(value, np.ndarray):
        item = np.dtype(f"u{value.dtype.itemsize}") if is_index else value.dtype
        return types.Array(from_dtype(item), value.ndim, "C")
    if isinstance(value, np.void):
        return from_dtype(value.dtype)
    if isinstance(value, Struct):
        return value._kernel_type
    if isinstance(value, bool | np.bool_):
        return types.boolean
    return types.int64 if isinstance(value, int | np.integer) else types.float64


register_model(StructType)(models.OpaqueModel)


@typeof_impl.register(Struct)
def _typeof_struct(value: Struct, _context: Any) -> StructType:
    return value._kernel_type


@unbox(StructType)
def _unbox_struct(_typ: StructType, struct: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(struct, "_address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _StructAttributes(AttributeTemplate):
    key = StructType

    def generic_resolve(self, typ: StructType, name: str) -> types.Type | None:
        return typ.fields.get(name)


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, typ: StructType, table: Any, name: str) -> Any:
    entries = builder.bitcast(table, _TABLE_ENTRY.as_pointer())
    unchanging = builder.module.add_metadata([])

    def entry(offset: int, kind: Any = _TABLE_ENTRY) -> Any:
        place = builder.gep(entries, [ir.Constant(_TABLE_ENTRY, typ.entries[name] + offset)], inbounds=True)
        loaded = builder.load(builder.bitcast(place, kind.as_pointer()), align=8)
        loaded.set_metadata("invariant.load", unchanging)
        return loaded

    kind = typ.fields[name]
    native = context.get_value_type(kind)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, entry)
    if isinstance(kind, types.Boolean):
        return builder.trunc(entry(0), native)
    found = entry(0, native)
    if isinstance(kind, StructType):
        found.set_metadata("dereferenceable", builder.module.add_metadata([ir.Constant(_TABLE_ENTRY, TABLE_SIZE)]))
    return found


def _array(context: Any, builder: Any, kind: types.Array, entry: Any) -> Any:
    array = context.make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    shape = [entry(1 + axis) for axis in range(kind.ndim)]
    strides = [ir.Constant(_TABLE_ENTRY, item)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length, flags=["nsw"]))
    data = entry(0, context.get_data_type(kind.dtype).as_pointer())
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()
