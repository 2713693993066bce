"""The support: which state-action pairs exist, and which next states each may lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, ModelError
from goalbound.models.validation import (
    MOST_COUNTED,
    check_int,
    check_int_array,
    check_list,
    check_memory,
    check_names,
    check_size,
    readonly_copy,
    restore_readonly,
    share_frozen,
    short_repr,
)

GOAL = "goal"
"""The name of the goal. It is reserved: no state may bear it."""
SUPPORT_REMEDY = "give a Support, such as problem.support or Support.full(states, actions)"
"""The remedy in errors where something else was given."""


@dataclass(frozen=True, eq=False, repr=False)
class Support:
    """Which pairs exist and where each may lead, ragged over states and pairs.

    S states, N pairs, M (pair, next state) triples. The goal is the next state with index S; it has no pairs.

    Attributes:
        pair_start: [S + 1] the pairs of state s are ``pair_start[s]:pair_start[s + 1]``; at least one each.
        pair_action: [N] the action of each pair, increasing within a state.
        next_start: [N + 1] the next states of pair i are ``next_start[i]:next_start[i + 1]``; at least one each.
        next_state: [M] next states, increasing within a pair; S is the goal.
        state_names: S names, or None.
        action_names: names of the actions 0, 1, ..., or None.
        goal_name: what people call the goal; ``"goal"`` is understood too. Supports that differ in it alone are equal.

    Arrays that are writable are copied; the copies are read-only.

    >>> support = Support.from_pairs([[(0, [0, 1])], [(0, [2]), (1, [0, 2])]])
    >>> support
    Support(2 states, 3 pairs, 5 next states)
    >>> support.next_state[support.row(2)]
    array([0, 2], dtype=int32)
    """

    pair_start: NDArray[np.int64]
    pair_action: NDArray[np.int32]
    next_start: NDArray[np.int64]
    next_state: NDArray[np.int32]
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    goal_name: str = GOAL

    def __post_init__(self) -> None:
        for name, dtype in (
            ("pair_start", np.int64),
            ("pair_action", np.int32),
            ("next_start", np.int64),
            ("next_state", np.int32),
        ):
            object.__setattr__(self, name, readonly_copy(check_int_array(getattr(self, name), name, dtype), dtype))
        _check_starts(self.pair_start, len(self.pair_action), "pair_start", "pair_action")
        states = len(self.pair_start) - 1
        object.__setattr__(self, "state_names", check_names(self.state_names, states, "state_names", GOAL))
        if not isinstance(self.goal_name, str) or not self.goal_name or self.goal_name in (self.state_names or ()):
            raise ArgumentError(
                f"goal_name is {short_repr(self.goal_name)}; it is what people call the goal, a text that is the name "
                "of no state"
            )
        _check_no_empty(self.pair_start, lambda s: f"{self.state_name(s)} has no action; every state needs one")
        if self.pairs and self.pair_action.min() < 0:
            raise ModelError(f"pair_action holds {self.pair_action.min()}; actions are numbered from 0")
        _check_increasing(
            self.pair_action, self.pair_start, lambda s: f"the actions of {self.state_name(s)} are not increasing"
        )
        if self.action_names is not None:
            called = check_list(self.action_names, "action_names", "a sequence of strings")
            actions = max(int(self.pair_action.max()) + 1, len(called))
            object.__setattr__(self, "action_names", check_names(called, actions, "action_names", None))
        _check_starts(self.next_start, len(self.next_state), "next_start", "next_state")
        if len(self.next_start) - 1 != self.pairs:
            raise ModelError(
                f"next_start has {len(self.next_start)} entries for {self.pairs} pairs; it needs pairs + 1"
            )
        _check_no_empty(self.next_start, lambda i: f"{self.pair_name(i)} has no next state; every pair needs one")
        bad = np.flatnonzero((self.next_state < 0) | (self.next_state > states))
        if len(bad):
            pair = int(np.searchsorted(self.next_start, bad[0], side="right")) - 1
            raise ModelError(
                f"{self.pair_name(pair)} leads to {self.next_state[bad[0]]}; "
                f"next states are 0 to {states}, where {states} is the goal"
            )
        _check_increasing(
            self.next_state, self.next_start, lambda i: f"the next states of {self.pair_name(i)} are not increasing"
        )

    __setstate__ = restore_readonly
    __deepcopy__ = share_frozen

    @classmethod
    def full(cls, states: int, actions: int) -> Support:
        """Every action in every state, and every pair may lead everywhere (the goal included)."""
        if check_int(states, "states") < 1 or check_int(actions, "actions") < 1:
            raise ModelError(
                f"a support needs a state and an action, not {short_repr(states)} states and "
                f"{short_repr(actions)} actions"
            )
        states, actions = check_size(states, "states", ""), check_size(actions, "actions", "")
        pairs = states * actions
        check_memory(pairs * (states + 1), f"a full support of {states} states and {actions} actions")
        return cls(
            np.arange(0, pairs + 1, actions),
            np.tile(np.arange(actions), states),
            np.arange(0, pairs * (states + 1) + 1, states + 1),
            np.tile(np.arange(states + 1), pairs),
        )

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[Iterable[tuple[int, Iterable[int]]] | Mapping[int, Iterable[int]]],
        *,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        goal_name: str = GOAL,
    ) -> Support:
        """From, for each state, its actions with the next states of each (in any order, repeats allowed).

        >>> Support.from_pairs([{0: [1]}, {0: [0, 2], 1: [2]}]).pairs
        3
        """
        pair_start, next_start = [0], [0]
        pair_action: list[int] = []
        next_state: list[int] = []
        if isinstance(pairs, Mapping):
            raise ModelError(
                f"pairs is a mapping, {short_repr(pairs)}; give a sequence with, for each state, its actions and their "
                "next states by number: [{0: [1]}, ...]. Supports with names are made by Support.from_names"
            )
        for state, of_state in enumerate(check_list(pairs, "pairs", "a sequence, with the actions of each state")):
            for action, successors in _sorted_actions(of_state, state):
                if len(pair_action) > pair_start[-1] and pair_action[-1] == action:
                    raise ModelError(f"state {state} lists action {action} twice; give each action once")
                pair_action.append(action)
                where = f"pairs: state {state}, action {action}: next state"
                found = {
                    check_int(t, where, least=0, most=MOST_COUNTED)
                    for t in check_list(successors, f"{where}s", "a sequence")
                }
                next_state.extend(sorted(found))
                next_start.append(len(next_state))
            pair_start.append(len(pair_action))
        if not pair_action:
            raise ModelError("pairs lists no action; a problem has at least one state with an action")
        parts = {
            "pair_start": pair_start,
            "pair_action": pair_action,
            "next_start": next_start,
            "next_state": next_state,
        }
        arrays: dict[str, Any] = {name: np.array(part, dtype=np.int64) for name, part in parts.items()}
        return cls(**arrays, state_names=state_names, action_names=action_names, goal_name=goal_name)  # type: ignore[arg-type]

    @classmethod
    def from_names(cls, pairs: Mapping[str, Mapping[str, Iterable[str]]], *, goal: str = GOAL) -> Support:
        """From states with their actions and the next states of each, all by name; ``"goal"`` is the goal.

        States and actions are numbered in the order in which they come first. A next state that has no actions of its
        own is an error. ``goal`` is another name of the goal among the next states, that of a log, for example; it
        is kept as ``goal_name``.

        >>> support = Support.from_names({
        ...     "new": {"answer": ["waiting", "closed"], "ask": ["waiting"]},
        ...     "waiting": {"answer": ["waiting", "closed"]},
        ... }, goal="closed")
        >>> support, support.pair("new", "ask"), support.next_state[support.row(0)]
        (Support(2 states, 3 pairs, 5 next states), 1, array([1, 2], dtype=int32))
        """
        if not isinstance(goal, str) or not goal:
            raise ArgumentError(f"goal is {short_repr(goal)}; it is the name of the goal, a text")
        named = {state: _named_actions(of_state, state) for state, of_state in _items_by_name(pairs, "pairs", "state")}
        for name in dict.fromkeys((goal, GOAL)):
            if name in named:
                raise ModelError(f'pairs: "{name}" is the goal, where nothing is done; name that state otherwise')
        states = {state: number for number, state in enumerate(named)}
        names = tuple(dict.fromkeys(action for actions in named.values() for action in actions))
        actions = {action: number for number, action in enumerate(names)}
        places = {**states, goal: len(states), GOAL: len(states)}
        numbered = [
            {
                actions[action]: [_next_place(places, name, f'pairs: "{state}", "{action}"') for name in following]
                for action, following in of_state.items()
            }
            for state, of_state in named.items()
        ]
        return cls.from_pairs(numbered, state_names=tuple(states), action_names=names, goal_name=goal)

    @cached_property
    def states(self) -> int:
        """S, the number of states, the goal not counted. It is also the index of the goal."""
        return len(self.pair_start) - 1

    @cached_property
    def actions(self) -> int:
        """The number of different actions."""
        most = int(self.pair_action.max()) + 1
        return most if self.action_names is None else max(most, len(self.action_names))

    @cached_property
    def pairs(self) -> int:
        """N, the number of state-action pairs."""
        return len(self.pair_action)

    @cached_property
    def triples(self) -> int:
        """M, the number of (pair, next state) triples."""
        return len(self.next_state)

    @cached_property
    def pair_state(self) -> NDArray[np.int32]:
        """[N] the state of each pair."""
        return readonly_copy(np.repeat(np.arange(self.states, dtype=np.int32), np.diff(self.pair_start)), np.int32)

    def row(self, pair: int) -> slice:
        """The slice of the M triples that holds the next states of a pair."""
        return slice(int(self.next_start[pair]), int(self.next_start[pair + 1]))

    def pair(self, state: int | str, action: int | str) -> int:
        """The index of a pair, by numbers or names."""
        s = _index(state, self.states, self.state_names, "state", self.goal_name)
        a = _index(action, self.actions - 1, self.action_names, "action", None)
        if s == self.states:
            raise ModelError(f"the goal ({s}) has no actions: an episode ends there")
        first, last = self.pair_start[s], self.pair_start[s + 1]
        found = int(first + self.pair_action[first:last].searchsorted(a))
        if found == last or self.pair_action[found] != a:
            has = ", ".join(self.action_name(int(b)) for b in self.pair_action[first:last])
            raise ModelError(f"{self.state_name(s)} has no {self.action_name(a)}; it has {has}")
        return found

    def state(self, state: int | str) -> int:
        """The index of a state, by number or name; "goal" and ``goal_name`` are S."""
        return _index(state, self.states, self.state_names, "state", self.goal_name)

    def action(self, action: int | str) -> int:
        """The index of an action, by number or name."""
        return _index(action, self.actions - 1, self.action_names, "action", None)

    def state_name(self, state: int) -> str:
        """A state for messages: ``state 3`` or ``state 3 ("sick")``."""
        if state == self.states:
            return GOAL if self.goal_name == GOAL else f'goal ("{self.goal_name}")'
        return f"state {state}" + (f' ("{self.state_names[state]}")' if self.state_names else "")

    def action_name(self, action: int) -> str:
        """An action for messages: ``action 1`` or ``action 1 ("drug A")``."""
        return f"action {action}" + (f' ("{self.action_names[action]}")' if self.action_names else "")

    def state_label(self, state: int) -> str:
        """A state in tables and data frames: its name, or ``state 3`` where there are none."""
        if state == self.states:
            return self.goal_name
        return self.state_names[state] if self.state_names else f"state {state}"

    def action_label(self, action: int) -> str:
        """An action in tables and data frames: its name, or ``action 1`` where there are none."""
        return self.action_names[action] if self.action_names else f"action {action}"

    def pair_name(self, pair: int) -> str:
        """A pair for messages: ``state 3 ("sick"), action 1 ("drug A")``."""
        state = int(np.searchsorted(self.pair_start, pair, side="right")) - 1
        return f"{self.state_name(state)}, {self.action_name(int(self.pair_action[pair]))}"

    @cached_property
    def leads_to_goal(self) -> NDArray[np.bool_]:
        """[N] whether the goal is among the next states of each pair; rows of the others sum to 1 without it."""
        return readonly_copy(self.next_state[self.next_start[1:] - 1] == self.states, np.bool_)

    def same_pairs(self, other: Support) -> bool:
        """Whether both have the same states and the same actions in each."""
        return np.array_equal(self.pair_start, other.pair_start) and np.array_equal(self.pair_action, other.pair_action)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Support):
            return NotImplemented
        return (
            self.same_pairs(other)
            and np.array_equal(self.next_start, other.next_start)
            and np.array_equal(self.next_state, other.next_state)
            and self.state_names == other.state_names
            and self.action_names == other.action_names
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Support({self.states} states, {self.pairs} pairs, {self.triples} next states)"


def with_goal(support: Support, pairs: NDArray[np.bool_] | None = None) -> tuple[Support, NDArray[np.bool_]]:
    """The support in which every pair may lead to the goal too, and which of its triples [M] were there before.

    With ``pairs`` [N], only those pairs.

    >>> with_goal(Support.from_pairs([{0: [0]}, {0: [0, 2]}]))
    (Support(2 states, 2 pairs, 4 next states), array([ True, False,  True,  True]))
    """
    lacking = ~support.leads_to_goal if pairs is None else pairs & ~support.leads_to_goal
    if not lacking.any():
        return support, np.ones(support.triples, dtype=np.bool_)
    next_start = support.next_start + np.concatenate(([0], np.cumsum(lacking)))
    next_state = np.full(next_start[-1], support.states, dtype=np.int32)
    kept = np.ones(next_start[-1], dtype=np.bool_)
    kept[next_start[1:][lacking] - 1] = False
    next_state[kept] = support.next_state
    return replace(support, next_start=next_start, next_state=next_state), kept


def _sorted_actions(of_state: Any, state: int) -> list[tuple[int, Any]]:
    """The actions of a state with their next states, by number."""
    items = of_state.items() if isinstance(of_state, Mapping) else of_state
    pairs = []
    for item in check_list(items, f"pairs[{state}]", "a mapping from actions to next states, or pairs of them"):
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise ModelError(f"pairs[{state}] holds {short_repr(item)}; it holds an action with its next states")
        action = check_int(item[0], f"pairs: state {state}: action", least=0, most=MOST_COUNTED)
        pairs.append((action, item[1]))
    return sorted(pairs, key=lambda pair: pair[0])


def _items_by_name(given: Any, where: str, kind: str) -> list[tuple[str, Any]]:
    """The entries of a mapping from names."""
    if not isinstance(given, Mapping) or not given:
        raise ArgumentError(f"{where} is {short_repr(given)}; it is a mapping with the name of at least one {kind}")
    for name in given:
        if not isinstance(name, str):
            raise ArgumentError(f"{where} has the {kind} {short_repr(name)}; it is a name, a text")
    return list(given.items())


def _named_actions(of_state: Any, state: str) -> dict[str, list[str]]:
    """The actions of a state with their next states."""
    found = {}
    for action, following in _items_by_name(of_state, f'pairs: "{state}"', "action"):
        where = f'pairs: "{state}", "{action}"'
        found[action] = check_list(following, where, 'the list of its next states, by name, such as ["waiting"]')
        if not found[action]:
            raise ModelError(f"{where} has no next state; every pair needs one")
    return found


def _next_place(places: Mapping[str, int], name: Any, where: str) -> int:
    """The number of a next state."""
    if not isinstance(name, str):
        raise ArgumentError(f"{where} leads to {short_repr(name)}; a next state is a name, a text")
    if name not in places:
        raise ModelError(
            f'{where} leads to "{name}", which has no actions; there are {_quoted_names(tuple(places))}. Declare its '
            "actions, or correct the name"
        )
    return places[name]


def _index(key: int | str, last: int, names: tuple[str, ...] | None, kind: str, extra: str | None) -> int:
    if type(key) is int and 0 <= key <= last:  # what is on the way of every step
        return key
    if isinstance(key, str):
        if extra is not None and key in (extra, GOAL):
            return last
        if names is None:
            raise ModelError(f'no {kind} is called "{key}": this problem has no {kind} names; use a number')
        if key not in names:
            also = "" if extra is None else f', and the goal is "{extra}"'
            raise ModelError(f'no {kind} is called "{key}"; there are {_quoted_names(names)}{also}')
        return names.index(key)
    number = check_int(key, kind)
    if not 0 <= number <= last:
        raise ModelError(f"no {kind} {short_repr(number)}; they are 0 to {last}")
    return number


def _quoted_names(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _check_starts(starts: NDArray[np.int64], size: int, name: str, of: str) -> None:
    if len(starts) < 2:
        raise ModelError(f"{name} has {len(starts)} entries; a problem has at least one state with an action")
    if starts[0] != 0 or starts[-1] != size:
        raise ModelError(f"{name} runs from {starts[0]} to {starts[-1]}; it must run from 0 to len({of}) = {size}")
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if len(falls):
        raise ModelError(f"{name}[{falls[0] + 1}] = {starts[falls[0] + 1]} is below the entry before it")


def _check_no_empty(starts: NDArray[np.int64], message: Callable[[int], str]) -> None:
    empty = np.flatnonzero(starts[1:] == starts[:-1])
    if len(empty):
        others = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise ModelError(message(int(empty[0])) + others)


def _check_increasing(array: NDArray[np.int32], starts: NDArray[np.int64], message: Callable[[int], str]) -> None:
    fine = array[1:] > array[:-1]
    fine[starts[1:-1] - 1] = True
    if not fine.all():
        place = int(np.flatnonzero(~fine)[0])
        segment = int(np.searchsorted(starts, place, side="right")) - 1
        raise ModelError(message(segment) + "; sort them and give each once")
