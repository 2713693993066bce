"""Steps that anyone made, from whatever iterates over them to arrays, checked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, InputError
from goalbound.learners.visits import StepArrays
from goalbound.models import Step
from goalbound.models.support import GOAL
from goalbound.models.validation import short_repr

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

CHUNK = 4096
"""So many steps are read, checked and learned at a time."""
_STRAIGHT = 2.0**-53
"""A context whose entries sum to 1 within this, times d + 4, is left as it is by every order of summation."""
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class _UnusualError(Exception):
    """Something in a chunk is wrong, or only unusual: its steps are read one by one."""


class StepReader:
    """Reads steps for a learner. What is plain is converted many steps at a time, all else one by one."""

    def __init__(self, learner: LearnerBase) -> None:
        support = learner.support
        self._learner = learner
        self._support = support
        self._size = learner.context_size
        self._pair_keys = support.pair_state.astype(np.int64) * support.actions + support.pair_action
        pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
        self._place_keys = pair * (support.states + 1) + support.next_state
        self._states = _numbers(support.state_names) | dict.fromkeys((GOAL, support.goal_name), support.states)
        self._actions = _numbers(support.action_names)

    def chunks(self, log: Any) -> Iterator[tuple[StepArrays, Exception | None]]:
        """The steps of a log that are fine, some at a time, and what is wrong with the one after them, which ends it.
        An error of the log itself is one after the steps before it."""
        try:
            items = iter(log)
        except TypeError:
            raise ArgumentError(
                f"the log is of the type {type(log).__name__}; give something that iterates over (context, step)"
            ) from None
        ended = False
        while not ended:
            taken, failure = _take(items)
            steps, error = self._converted(taken)
            error = error or failure
            ended = len(taken) < CHUNK or error is not None
            yield steps, error

    def _converted(self, items: list[Any]) -> tuple[StepArrays, Exception | None]:
        try:
            return self._all_at_once(items), None
        except (_UnusualError, InputError, ValueError, OverflowError):
            return self._one_by_one(items)

    def _one_by_one(self, items: list[Any]) -> tuple[StepArrays, Exception | None]:
        fine = []
        error: Exception | None = None
        for item in items:
            try:
                if not isinstance(item, tuple | list) or len(item) != 2:
                    raise ArgumentError(f"it is {short_repr(item)}; give (context, Step(...))")
                fine.append(self._learner._checked_step(*item))
            except InputError as found:
                error = found
                break
        contexts, pairs, places, losses = zip(*fine, strict=True) if fine else ((), (), (), ())
        steps = StepArrays(
            np.array(contexts, dtype=np.float64).reshape(len(fine), self._size),
            np.array(pairs, dtype=np.int64),
            np.array(places, dtype=np.int64),
            np.array(losses, dtype=np.float64),
        )
        return steps, error

    def _all_at_once(self, items: list[Any]) -> StepArrays:
        _demand(_are_rows(items, 2))
        given, steps = zip(*items, strict=True)
        _demand(_are_rows(steps, 4))
        states, actions, losses, following = zip(*steps, strict=True)
        support = self._support
        contexts = self._contexts(given)
        state = _indices(states, self._states, support.states - 1)
        action = _indices(actions, self._actions, support.actions - 1)
        follows = _indices(following, self._states, support.states)
        _demand(_are_numbers(losses, int | float | np.floating | np.integer))
        paid: Floats = np.array(losses, dtype=np.float64)
        _demand(((paid >= 0.0) & (paid <= 1.0)).all())
        pairs = _places(self._pair_keys, state * support.actions + action)
        places = _places(self._place_keys, pairs * (support.states + 1) + follows)
        prior = self._learner.prior
        if prior is not None:
            for at in np.flatnonzero(prior.row_known[pairs]).tolist():
                prior.check_step(int(pairs[at]), int(places[at]), contexts[at])
        return StepArrays(contexts, pairs, places, paid)

    def _contexts(self, given: Sequence[Any]) -> Floats:
        """[n, d]"""
        table = np.array(given)
        _demand(table.dtype.kind in "fiu" and table.shape == (len(given), self._size))
        contexts = np.ascontiguousarray(table, dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(contexts.sum(axis=1) - 1.0)
            straight = (off <= _STRAIGHT * (self._size + 4)) & ((contexts >= 0.0) & (contexts <= 1.0)).all(axis=1)
        for at in np.flatnonzero(~straight).tolist():
            contexts[at] = self._learner._checked_context(contexts[at].copy())
        return contexts


def _take(items: Iterator[Any]) -> tuple[list[Any], Exception | None]:
    """The next steps, and what the log itself raised after them."""
    taken: list[Any] = []
    try:
        for item in items:
            taken.append(item)
            if len(taken) == CHUNK:
                break
    except Exception as error:  # whatever it is, the steps before it are good
        return taken, error
    return taken, None


def _demand(usual: Any) -> None:
    if not usual:
        raise _UnusualError


def _are_rows(rows: Sequence[Any], length: int) -> bool:
    return set(map(type, rows)) <= {tuple, list, Step} and set(map(len, rows)) == {length}


def _are_numbers(values: Sequence[Any], kinds: Any) -> bool:
    return all(issubclass(kind, kinds) and kind is not bool for kind in set(map(type, values)))


def _numbers(names: tuple[str, ...] | None) -> dict[str, int]:
    return {} if names is None else {name: number for number, name in enumerate(names)}


def _indices(keys: Sequence[Any], names: dict[str, int], last: int) -> Integers:
    """The numbers of states or actions, by numbers or names."""
    if all(issubclass(kind, str) for kind in set(map(type, keys))):
        keys = [names.get(key, -1) for key in keys]
    else:
        _demand(_are_numbers(keys, int | np.integer))
    numbers = np.array(keys, dtype=np.int64)
    _demand(((numbers >= 0) & (numbers <= last)).all())
    return numbers


def _places(keys: Integers, wanted: Integers) -> Integers:
    """Where the wanted keys stand among increasing ones."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    _demand((keys[places] == wanted).all())
    return places.astype(np.int64, copy=False)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Inside it Ctrl-C has no effect; it takes effect at the end, when what is learned fits together again."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
