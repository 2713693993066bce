"""Build a problem pair by pair, with names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ModelError
from goalbound.models.linear_cssp import LinearCSSP
from goalbound.models.ssp import SSP, KeyIndex
from goalbound.models.support import GOAL
from goalbound.models.triples import from_triples
from goalbound.models.validation import as_numeric_array, check_array, check_list, check_names, check_size, check_type

Numbers = float | Sequence[float]


class Builder:
    """Collects pairs by name and builds the problem.

    >>> plan = Builder()
    >>> plan.add("sick", "drug A", loss=0.2, to={"goal": 0.6, "sick": 0.4})
    >>> plan.add("sick", "drug B", loss=0.3, to={"goal": 0.9, "sick": 0.1})
    >>> plan.ssp(start="sick")
    SSP(1 states, 2 pairs, 4 next states)

    With ``components``, every number may be one number for all components or a sequence of one per component:

    >>> plan = Builder(components=["young", "old"])
    >>> plan.add("sick", "drug A", loss=0.2, to={"goal": [0.6, 0.3], "sick": [0.4, 0.7]})
    >>> plan.linear_cssp(start="sick").at([0.5, 0.5]).probabilities
    array([0.55, 0.45])
    """

    def __init__(self, components: Sequence[str] | int | None = None) -> None:
        self._names: tuple[str, ...] | None = None
        self._size: int | None = None
        if isinstance(components, bool | int | np.integer):
            self._size = check_size(components, "components", "a contextual problem has at least one")
        elif components is not None:
            named = check_list(components, "components", "a number, or a sequence of names")
            self._size = check_size(len(named), "the number of components", "a contextual problem has at least one")
            self._names = check_names(named, self._size, "components", None)
        self._pairs: dict[tuple[str, str], tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]] = {}

    def add(self, state: str, action: str, *, loss: Numbers, to: Mapping[str, Numbers]) -> None:
        """One pair: its loss, and where it leads with which probability. ``"goal"`` is the goal."""
        for name, value in (("state", state), ("action", action)):
            check_type(value, str, name, "it is a name, a text")
        if not isinstance(to, Mapping):
            raise ModelError(f"to is of the type {type(to).__name__}; it maps next states to probabilities")
        if state == GOAL:
            raise ModelError(f'"{GOAL}" is reserved: nothing can be done there; name that state otherwise')
        if (state, action) in self._pairs:
            raise ModelError(f'"{action}" in "{state}" was added before; add each pair once')
        if not to:
            raise ModelError(f'"{action}" in "{state}" leads nowhere; give at least one next state in to=')
        where = f'"{action}" in "{state}"'
        self._pairs[state, action] = (
            self._check_numbers(loss, f"the loss of {where}"),
            {
                check_type(name, str, "a next state in to", "it is a name, a text"): self._check_numbers(
                    p, f'the probability of "{name}" after {where}'
                )
                for name, p in to.items()
            },
        )

    def ssp(self, *, start: str | ArrayLike | None = None, loss_scale: float = 1.0) -> SSP:
        """The problem. The start is the first state added unless another (or a distribution) is given."""
        if self._size is not None:
            raise ModelError("this builder has components; build it with linear_cssp()")
        problem = self._linear(start, 1, loss_scale)
        return SSP(problem.support, problem.losses[:, 0], problem.probabilities[:, 0], problem.start, loss_scale)

    def linear_cssp(self, *, start: str | ArrayLike | None = None, loss_scale: float = 1.0) -> LinearCSSP:
        """The contextual problem, one component for each of ``components``."""
        if self._size is None:
            raise ModelError("this builder has no components; say Builder(components=[...]) or build it with ssp()")
        return self._linear(start, self._size, loss_scale)

    def _check_numbers(self, value: Numbers, what: str) -> NDArray[np.float64]:
        size = 1 if self._size is None else self._size
        if as_numeric_array(value, what, "a number").ndim == 0:
            return np.full(size, check_array(value, what, (), "a number"))
        if self._size is None:
            raise ModelError(f"{what} has several numbers, but this builder has no components")
        return check_array(value, what, (size,), f"one number, or {size}: one per component")

    def _linear(self, start: str | ArrayLike | None, size: int, loss_scale: float) -> LinearCSSP:
        states = KeyIndex("state", (state for state, _ in self._pairs), reserved=GOAL)
        actions = KeyIndex("action", (action for _, action in self._pairs))
        triples = [
            (
                states.index_of(state, place),
                actions.index_of(action, place),
                self._next_state_index(states, state, action, name),
                probability,
            )
            for place, ((state, action), (_, to)) in enumerate(self._pairs.items())
            for name, probability in to.items()
        ]
        played, chosen, following, probabilities = zip(*triples, strict=True)
        table = np.array(probabilities).reshape(len(triples), size)
        names = states.names, actions.names
        built = from_triples(played, chosen, following, table, states=states.size, names=names)
        losses = np.empty((built.support.pairs, size))
        first = np.cumsum([0] + [len(to) for _, to in self._pairs.values()])[:-1]
        losses[built.pair_of[first]] = [loss for loss, _ in self._pairs.values()]
        begin = 0 if start is None else start
        return LinearCSSP(built.support, losses, built.probabilities, begin, self._names, loss_scale)  # type: ignore[arg-type]

    def _next_state_index(self, states: KeyIndex, state: str, action: str, name: str) -> int:
        if name == GOAL:
            return states.size
        if name not in states:
            near = difflib.get_close_matches(name, [*(states.names or ()), GOAL], n=1)
            meant = f'; did you mean "{near[0]}"?' if near else ""
            raise ModelError(f'"{action}" in "{state}" leads to "{name}", which has no action; add one{meant}')
        return states.index_of(name, 0)
