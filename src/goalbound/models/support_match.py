"""Where the pairs and next states of one support stand in another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.models.support import Support


class SupportMatch(NamedTuple):
    """The places of all that a support has in a larger one."""

    states: NDArray[np.int64]
    """[S' + 1] the state of each state, the goal last"""
    pairs: NDArray[np.int64]
    """[N'] the pair of each pair"""
    triples: NDArray[np.int64]
    """[M'] the place of each next state among the M triples"""


def match_support(support: Support, smaller: Support, *, name: str) -> SupportMatch:
    """Where the pairs and next states of ``smaller`` stand in ``support``. O((N' + M') log M).

    States are found by their names if both have names, else by numbers, and the goal is the goal; actions likewise.
    What is not there is an error, in which ``smaller`` is called ``name``.

    >>> match_support(Support.full(2, 3), Support.from_pairs([{2: [1]}, {0: [0, 2]}]), name="model").pairs
    array([2, 3])
    """
    states = np.append(
        _numbers(support.state_names, smaller.state_names, support.states, smaller.states, f"{name}: state"),
        support.states,
    )
    actions = _numbers(support.action_names, smaller.action_names, support.actions, smaller.actions, f"{name}: action")
    wanted = states[smaller.pair_state] * support.actions + actions[smaller.pair_action]
    pairs = _find(support.pair_state.astype(np.int64) * support.actions + support.pair_action, wanted)
    if (pairs < 0).any():
        missing = smaller.pair_name(int((pairs < 0).argmax()))
        raise ArgumentError(f"{name}: {missing} is not in the support; declare it there, or leave it out here")
    width = support.states + 1
    keys = np.repeat(np.arange(support.pairs), np.diff(support.next_start)) * width + support.next_state
    owners = np.repeat(np.arange(smaller.pairs), np.diff(smaller.next_start))
    triples = _find(keys, pairs[owners] * width + states[smaller.next_state])
    if (triples < 0).any():
        place = int((triples < 0).argmax())
        raise ArgumentError(
            f"{name}: {smaller.pair_name(int(owners[place]))} may lead to "
            f"{smaller.state_name(int(smaller.next_state[place]))}, which the support does not allow; declare it there "
            "too"
        )
    return SupportMatch(states, pairs, triples)


def pairs_difference(support: Support, other: Support) -> str | None:
    """How the states, actions and pairs of ``other`` differ from those of ``support``, or None; next states may differ.

    >>> first, second = (Support.from_names(dict.fromkeys(names, {"go": ["goal"]})) for names in ("ab", "ba"))
    >>> pairs_difference(first, second)
    'the states are in another order: b, a instead of a, b'
    """
    for what, count, names, theirs in (
        ("state", (support.states, other.states), support.state_names, other.state_names),
        ("action", (support.actions, other.actions), support.action_names, other.action_names),
    ):
        found = _names_difference(what, count, names, theirs)
        if found is not None:
            return found
    mine, given = (set(zip(one.pair_state.tolist(), one.pair_action.tolist(), strict=True)) for one in (support, other))
    for verb, wrong in (("lacks", mine - given), ("has, and should not,", given - mine)):
        if wrong:
            state, action = min(wrong)
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            return f"it {verb} the pair {support.state_name(state)}, {support.action_name(action)}{more}"
    return None


def _names_difference(
    what: str, count: tuple[int, int], names: tuple[str, ...] | None, theirs: tuple[str, ...] | None
) -> str | None:
    if names == theirs:
        return None if count[0] == count[1] else f"it has {count[1]} {what}s instead of {count[0]}"
    if names is None or theirs is None:
        return f"its {what}s have {'names' if names is None else 'no names'}"
    for verb, wrong in (("lacks", set(names) - set(theirs)), ("has, and should not,", set(theirs) - set(names))):
        if wrong:
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            return f'it {verb} the {what} "{min(wrong)}"{more}'
    return f"the {what}s are in another order: {_shown(theirs)} instead of {_shown(names)}"


def _shown(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _numbers(
    names: tuple[str, ...] | None, theirs: tuple[str, ...] | None, count: int, their_count: int, what: str
) -> NDArray[np.int64]:
    """The number of each of their states or actions."""
    if names is None or theirs is None:
        if their_count > count:
            raise ArgumentError(
                f"{what} {their_count - 1} is not in the support, whose last is {count - 1}; without names, numbers "
                "must be the same"
            )
        return np.arange(their_count)
    known = {name: number for number, name in enumerate(names)}
    for one in theirs:
        if one not in known:
            raise ArgumentError(f'{what} "{one}" is not in the support; declare it there, or leave it out here')
    return np.array([known[one] for one in theirs], dtype=np.int64)


def _find(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the wanted keys stand among increasing ones, or -1."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, -1).astype(np.int64)
