"""Copies and pickles of learners and of their episodes.

A learner knows its open episodes weakly, and its constants are read-only. :mod:`copy` and :mod:`pickle` keep neither by
themselves: the copy would share the episodes of the original, and its constants would be writable. A class gets both
right with three lines::

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

A copy owns all that changes: arrays, streams, open episodes. What never changes (supports, constants) may be shared.
"""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.records import mapped
from goalbound.models.validation import is_writable

_OPEN, _HELD, _VERSION = "_open", "_loaded", "goalbound version"


def deep_copy(thing: Any) -> Any:
    """``__copy__``: there is no shallow copy of what learns, as two learners on the same arrays are of no use.

    >>> from goalbound import LRCSSP, Support
    >>> learner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1)
    >>> episode = learner.begin([1.0])
    >>> other = copy.copy(learner)
    >>> other.open_episodes[0] is episode, other.open_episodes[0].learner is other
    (False, True)
    """
    return copy.deepcopy(thing)


def copied_state(thing: Any) -> dict[str, Any]:
    """``__getstate__``: all attributes, with a list in place of the weak set of open episodes."""
    known: dict[int, Any] = {}
    state = {name: mapped(value, _packed, known) for name, value in vars(thing).items()}
    if _OPEN in state:
        state[_OPEN], state[_HELD] = list(thing.open_episodes), []
    state[_VERSION] = package_version()
    return state


def restore_state(thing: Any, state: dict[str, Any]) -> None:
    """``__setstate__``: the open episodes are held by the copy until they end, as those of a file are.

    They may not have their own state yet (where an episode was copied, its learner is restored first), so nothing here
    looks into them.
    """
    found = dict(state)
    version = found.pop(_VERSION, "another version")
    if version != package_version():
        raise ArgumentError(
            f"this {type(thing).__name__} was pickled by goalbound {version}, and this is {package_version()}; "
            "pickles are for one version: write files with save(path), and read them with load(path)"
        )
    known: dict[int, Any] = {}
    vars(thing).update({name: mapped(value, _unpacked, known) for name, value in found.items()})
    if _OPEN in found:
        vars(thing).update({_OPEN: WeakSet(found[_OPEN]), _HELD: list(found[_OPEN])})


def package_version() -> str:
    """The version of goalbound."""
    return str(import_module("goalbound").__version__)  # by name: the package itself stands above all layers


class _ReadOnly:
    """An array that is not to be written to. Copies share it, and what was pickled is read-only again."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __deepcopy__(self, memo: dict[int, Any]) -> _ReadOnly:
        return _ReadOnly(self.array.copy()) if is_writable(self.array) else self


class _Record:
    """A record of counters, as the array [1] that it is a view of: what pickles make of a record drops all writes."""

    def __init__(self, record: np.void) -> None:
        self.array = np.array([record])


def _packed(value: Any) -> Any:
    """Read-only arrays, marked as such, and records as arrays; everything else as it is."""
    if isinstance(value, np.void):
        return _Record(value)
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return _ReadOnly(value)
    return value


def _unpacked(value: Any) -> Any:
    """:func:`_packed` undone."""
    if isinstance(value, _Record):
        return np.array(value.array)[0]
    if isinstance(value, _ReadOnly):
        value.array.flags.writeable = False
        return value.array
    if isinstance(value, np.ndarray) and (type(value) is not np.ndarray or not value.flags.writeable):
        return np.array(value)  # a pool of workers puts large arrays into files that can only be read
    return value
