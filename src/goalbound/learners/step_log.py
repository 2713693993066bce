"""Steps that anyone made, from whatever iterates over them to arrays, checked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, InputError
from goalbound.learners.steps import StepArrays
from goalbound.models import Step
from goalbound.models.support import GOAL
from goalbound.models.validation import short_repr

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

CHUNK = 4096
"""So many steps are read, checked and learned at a time."""
_STRAIGHT = 2.0**-53
"""A context whose entries sum to 1 within this, times d + 4, is left as it is by every order of summation."""


class Chunk(NamedTuple):
    """Steps of a log that are fine, and what is wrong with the one after them.

    Attributes:
        steps: the steps before the first wrong one.
        error: what is wrong with that one; None: nothing is.
        ended: whether the log ends here.
    """

    steps: StepArrays
    error: Exception | None
    ended: bool


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

    def chunks(self, log: Any) -> Iterator[Chunk]:
        """All of a log, up to the first wrong step. An error of the log itself is one after the steps before it."""
        try:
            items = iter(log)
        except TypeError:
            raise ArgumentError(
                f"the log is of the type {type(log).__name__}; give something that iterates over (context, step)"
            ) from None
        ended = False
        while not ended:
            taken, error = _take(items)
            ended = len(taken) < CHUNK or error is not None
            chunk = self._converted(taken)
            if chunk.error is None:
                chunk = chunk._replace(error=error)
            ended = ended or chunk.error is not None
            yield chunk._replace(ended=ended)

    def _converted(self, items: list[Any]) -> Chunk:
        steps = self._all_at_once(items)
        return self._one_by_one(items) if steps is None else Chunk(steps, None, ended=False)

    def _one_by_one(self, items: list[Any]) -> Chunk:
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
        return Chunk(steps, error, ended=False)

    def _all_at_once(self, items: list[Any]) -> StepArrays | None:
        """None where anything is wrong, or only unusual."""
        if not items or not _are_rows(items, 2):
            return None
        given, steps = zip(*items, strict=True)
        if not _are_rows(steps, 4):
            return None
        states, actions, losses, following = zip(*steps, strict=True)
        support = self._support
        contexts = self._contexts(given)
        state = _indices(states, self._states, support.states - 1)
        action = _indices(actions, self._actions, support.actions - 1)
        follows = _indices(following, self._states, support.states)
        paid = _losses(losses)
        if contexts is None or state is None or action is None or follows is None or paid is None:
            return None
        pairs = _places(self._pair_keys, state * support.actions + action)
        if pairs is None:
            return None
        places = _places(self._place_keys, pairs * (support.states + 1) + follows)
        if places is None:
            return None
        declared = self._learner._pairs_with_declared_rows()
        if declared is not None:
            try:
                for at in np.flatnonzero(declared[pairs]).tolist():
                    self._learner._check_possible(int(pairs[at]), int(places[at]), contexts[at])
            except InputError:
                return None
        return StepArrays(contexts, pairs, places, paid)

    def _contexts(self, given: Sequence[Any]) -> NDArray[np.float64] | None:
        """[n, d]"""
        try:
            table = np.array(given)
        except ValueError:  # not of one length
            return None
        if table.dtype.kind not in "fiu" or table.shape != (len(given), self._size):
            return None
        contexts = np.ascontiguousarray(table, dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(contexts.sum(axis=1) - 1.0)
            straight = (off <= _STRAIGHT * (self._size + 4)) & ((contexts >= 0.0) & (contexts <= 1.0)).all(axis=1)
        try:
            for at in np.flatnonzero(~straight).tolist():
                contexts[at] = self._learner._checked_context(contexts[at].copy())
        except InputError:
            return None
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


def _are_rows(rows: Sequence[Any], length: int) -> bool:
    return set(map(type, rows)) <= {tuple, list, Step} and set(map(len, rows)) == {length}


def _numbers(names: tuple[str, ...] | None) -> dict[str, int]:
    return {} if names is None else {name: number for number, name in enumerate(names)}


def _indices(keys: Sequence[Any], names: dict[str, int], last: int) -> NDArray[np.int64] | None:
    """The numbers of states or actions, by numbers or names."""
    kinds = set(map(type, keys))
    if all(issubclass(kind, str) for kind in kinds):
        keys = [names.get(key, -1) for key in keys]
    elif not all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return None
    try:
        numbers = np.array(keys, dtype=np.int64)
    except OverflowError:
        return None
    return numbers if ((numbers >= 0) & (numbers <= last)).all() else None


def _losses(losses: Sequence[Any]) -> NDArray[np.float64] | None:
    if not all(
        issubclass(kind, int | float | np.floating | np.integer) and kind is not bool for kind in set(map(type, losses))
    ):
        return None
    try:
        paid = np.array(losses, dtype=np.float64)
    except OverflowError:
        return None
    return paid if ((paid >= 0.0) & (paid <= 1.0)).all() else None


def _places(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Where the wanted keys stand among increasing ones."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places.astype(np.int64, copy=False) if (keys[places] == wanted).all() else None


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
