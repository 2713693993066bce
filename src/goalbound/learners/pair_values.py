"""What is said of single pairs, as prior knowledge is given it: losses and rows by name, by number, or as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError
from goalbound.models import Support
from goalbound.models.validation import as_numeric_array, check_array, check_range, short_repr

SUM_TOLERANCE = 1e-9


def pair_number(support: Support, key: Any, what: str) -> int:
    """The number of the pair ``(state, action)``."""
    if not (isinstance(key, tuple) and len(key) == 2):
        raise ArgumentError(f"{what} has the key {short_repr(key)}; keys are pairs: (state, action)")
    return support.pair(*key)


def values_by_pair(support: Support, size: int, given: Any, what: str) -> list[tuple[int, Any]]:
    """The number of each pair that something is said of, and what: from a mapping, or from [N] or [N, d]."""
    if isinstance(given, Mapping):
        return [(pair_number(support, key, what), value) for key, value in given.items()]
    table = _array(given, what)
    if table.shape not in ((support.pairs,), (support.pairs, size)):
        raise ArgumentError(
            f"{what} has shape {table.shape}; give [N] = ({support.pairs},) or [N, d], or a mapping from "
            "(state, action)"
        )
    return list(enumerate(table))


def components_of(size: int, value: ArrayLike, name: str) -> NDArray[np.float64]:
    """[d] one number for all components, or one each."""
    array = _array(value, name)
    if array.shape not in ((), (size,)):
        raise ArgumentError(f"{name} is {short_repr(value)}; it is one number, or one for each of {size} components")
    return np.broadcast_to(array, (size,))


def rows_put_in(
    support: Support, size: int, rows: Any, known: NDArray[np.bool_], before: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """[N] which pairs have a row, and [M, d] the rows, after some more were given; ``size`` is d."""
    if not isinstance(rows, Mapping):
        return np.ones(support.pairs, dtype=np.bool_), _all_rows(support, size, rows)
    known = known.copy()
    table = before.copy() if len(before) else np.zeros((support.triples, size))
    for key, given in rows.items():
        pair = pair_number(support, key, "rows")
        name = f"the row of {support.pair_name(pair)}"
        row = _row_by_state(support, size, given, name) if isinstance(given, Mapping) else _array(given, name)
        if row.ndim == 1:
            row = np.repeat(row[:, None], size, axis=1)
        row = check_array(row, name, (support.states + 1, size), "[S + 1] or [S + 1, d], the goal last")
        check_range(row, 0.0, 1.0, "probability", _next_state_of(name))
        sums = row.sum(axis=0)
        if np.abs(sums - 1.0).max() > SUM_TOLERANCE:
            worst = sums[np.abs(sums - 1.0).argmax()]
            raise ArgumentError(f"{name} sums to {worst:g}, not 1; it is a distribution over the S + 1 next states")
        places = support.next_state[support.row(pair)]
        outside = np.setdiff1d(np.flatnonzero(row.any(axis=1)), places)
        if len(outside):
            following = support.state_name(int(outside[0]))
            raise ArgumentError(f"{name} leads to {following}, which the support does not allow; declare it there too")
        table[support.row(pair)] = row[places] / sums
        known[pair] = True
    return known, table


def _row_by_state(support: Support, size: int, given: Mapping[Any, Any], name: str) -> NDArray[np.float64]:
    """[S + 1, d] a row from the probabilities of its next states, by number or name."""
    row = np.zeros((support.states + 1, size))
    seen: set[int] = set()
    for following, probability in given.items():
        try:
            place = support.state(following)
        except InputError as error:
            raise ArgumentError(f"{name}: {error}") from None
        if place in seen:
            raise ArgumentError(f"{name} has {support.state_name(place)} twice; give it once")
        seen.add(place)
        row[place] = components_of(size, probability, f"{name}, next state {short_repr(following)}")
    return row


def _all_rows(support: Support, size: int, rows: ArrayLike) -> NDArray[np.float64]:
    table = _array(rows, "rows")
    if table.shape not in ((support.triples,), (support.triples, size)):
        raise ArgumentError(
            f"rows has shape {table.shape}; give [M] = ({support.triples},) or [M, d] in the order of the support, "
            "or a mapping from (state, action) to a row"
        )
    table = np.repeat(table[:, None], size, axis=1) if table.ndim == 1 else table.copy()

    def name_of(pair: int) -> str:
        return f"the row of {support.pair_name(pair)}"

    def place(at: tuple[int, ...]) -> str:
        pair = int(np.searchsorted(support.next_start, at[0], side="right")) - 1
        return f"{name_of(pair)}, next state {int(support.next_state[at[0]])}"

    check_range(table, 0.0, 1.0, "probability", place)
    sums = np.add.reduceat(table, support.next_start[:-1], axis=0)
    wrong = np.argwhere(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(wrong):
        pair, component = (int(one) for one in wrong[0])
        raise ArgumentError(
            f"{name_of(pair)} sums to {sums[pair, component]:g}, not 1; it is a distribution over its next states"
        )
    table /= np.repeat(sums, np.diff(support.next_start), axis=0)
    return table


def _array(values: Any, name: str) -> NDArray[np.float64]:
    array = as_numeric_array(values, name, "numbers")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} is {short_repr(values)}, which are no numbers ({error})") from None


def _next_state_of(name: str) -> Callable[[tuple[int, ...]], str]:
    return lambda at: f"{name}, next state {at[0]}"
