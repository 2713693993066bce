"""Structs: what kernels share, by name. Frozen groups of arrays, numbers, records and other structs.

As Python a struct is an object with attributes. Compiled code gets the address of a table of its fields
(:mod:`goalbound.jit.struct_types`): passing a struct to a kernel costs one pointer, however many fields it has. A
NamedTuple would be passed field by field, some hundred numbers a call, which costs most of the time of the compiler.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from inspect import get_annotations
from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

TABLE_ENTRIES = 128
"""The length of the table of every struct: more than any needs. Compiled code may read all of it at any time."""
T = TypeVar("T")
_NUMBER, _BITS = struct.Struct("d"), struct.Struct("q")


class _Once(Generic[T]):
    """An attribute that is computed when it is first asked for, then kept: ``functools.cached_property`` without the
    lock of Python 3.11, which took longer than most of what is computed here. Of two threads that compute it both get
    what was kept first: an address is that of the table that stays."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Any, _type: type | None = None) -> T:
        kept: T = owner.__dict__.setdefault(self._name, self._compute(owner))
        return kept


@dataclass_transform(frozen_default=True, eq_default=False)
class Struct:
    """Base class of structs: annotated fields, given in order or by name. What arrays and records hold may change.

    Arrays are C-contiguous; compiled code relies on it and on nothing else, so that arrays that are read-only and
    arrays that are not need no programs of their own. Kernels write to no array that Python holds as read-only.

    >>> class Sums(Struct):
    ...     visits: NDArray[np.int64]
    ...     scale: float
    >>> sums = Sums(np.zeros(2, dtype=np.int64), scale=2.0)
    >>> sums.visits[1] += 3
    >>> sums._replace(scale=4.0)
    Sums(visits=array([0, 3]), scale=4.0)
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _indices: ClassVar[tuple[str, ...]] = ()
    """Fields that are arrays of indices and hold no negative number. Compiled code reads them as unsigned, so it does
    not ask at each access whether an index counts from the end of an array: half the time of a sparse sweep."""
    _unsaved: ClassVar[tuple[str, ...]] = ()
    """Fields that are in no file: scratch arrays, and arrays of the support."""

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *(name for name in get_annotations(cls) if not name.startswith("_")))

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        attributes = self.__dict__
        attributes.update(zip(fields, values, strict=False))
        attributes.update(named)
        if (
            len(attributes) != len(fields)
            or len(values) + len(named) != len(fields)
            or not all(name in attributes for name in fields)
        ):
            raise TypeError(f"{type(self).__name__} takes each of {', '.join(fields)} once")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; {name} cannot be replaced, only what it holds")

    def __iter__(self) -> Iterator[Any]:
        return (self.__dict__[name] for name in self._fields)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        """From the values of all fields, in order."""
        return cls(*values)

    def _asdict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: self.__dict__[name] for name in self._fields}

    def _replace(self, **changed: Any) -> Self:
        """A struct with some fields exchanged; the others are shared."""
        return type(self)(**(self._asdict() | changed))

    def __getstate__(self) -> dict[str, Any]:
        return self._asdict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

    @_Once
    def _table(self) -> NDArray[np.int64]:
        """The fields as compiled code reads them: for each array its address and its shape, for a record or a struct
        its address, for a number its bits."""
        entries: list[int] = []
        for name in self._fields:
            entries.extend(_entries(name, self.__dict__[name]))
        table = np.zeros(TABLE_ENTRIES, dtype=np.int64)
        table[: len(entries)] = entries
        table.setflags(write=False)
        return table

    @_Once
    def _address(self) -> int:
        """Of the table."""
        return int(self._table.ctypes.data)

    @_Once
    def _kernel_type(self) -> Any:
        from goalbound.jit.struct_types import struct_type

        return struct_type(self)

    @_Once
    def _type_id(self) -> int:
        """Two structs have the same if compiled code for one runs with the other."""
        return id(self._kernel_type)


def _entries(name: str, value: Any) -> list[int]:
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError(f"{name} is an array of strides {value.strides}; fields of structs are C-contiguous")
        return [value.ctypes.data, *value.shape]
    if isinstance(value, np.void):
        return [np.asarray(value).ctypes.data]
    if isinstance(value, Struct):
        return [value._address]
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return [int(value)]
    if isinstance(value, float | np.floating):
        return [_BITS.unpack(_NUMBER.pack(value))[0]]
    raise TypeError(f"{name} is a {type(value).__name__}; structs hold arrays, records, numbers and structs")
