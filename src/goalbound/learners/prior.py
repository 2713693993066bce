"""What a user knows before the first episode, beyond the support: losses, rows, floors of single pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.kernels.state import PriorArrays
from goalbound.models import LinearCSSP, Support
from goalbound.models.support import (
    SUPPORT_REMEDY,
)
from goalbound.models.validation import (
    as_numeric_array,
    check_array,
    check_memory,
    check_range,
    check_size,
    check_type,
    restore_readonly,
    set_readonly,
    share_frozen,
    short_repr,
)

SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PriorKnowledge:
    """Facts about single pairs, taken as true. Begin with :meth:`nothing` and add what is known.

    Attributes:
        support: the pairs and where each may lead; itself the most useful thing to know.
        context_size: d.
        loss_known: [N]
        losses: [N, d] mean losses of the components, where known.
        row_known: [N]
        rows: [M, d] next-state probabilities of the components, where known.
        floors: [N] lower bounds of mean losses; 0 where nothing is known.

    A road has a known way and an unknown time; a test has a known price:

    >>> support = Support.full(2, 2)
    >>> known = PriorKnowledge.nothing(support, 3).with_rows({(0, 1): [0.0, 1.0, 0.0]}).with_losses({(1, 0): 0.2})
    >>> known.row_known, known.losses[2]
    (array([False,  True, False, False]), array([0.2, 0.2, 0.2]))
    """

    support: Support
    context_size: int
    loss_known: NDArray[np.bool_]
    losses: NDArray[np.float64]
    row_known: NDArray[np.bool_]
    rows: NDArray[np.float64]
    floors: NDArray[np.float64]

    __setstate__ = restore_readonly
    __deepcopy__ = share_frozen

    @classmethod
    def nothing(cls, support: Support, context_size: int) -> PriorKnowledge:
        """Nothing but the support."""
        check_type(support, Support, "support", SUPPORT_REMEDY)
        context_size = check_size(context_size, "context_size", "a context has at least one entry")
        check_memory(support.pairs * context_size, f"context_size {context_size}")
        none = set_readonly(np.zeros(support.pairs, dtype=np.bool_))
        return cls(
            support, context_size, none, set_readonly(np.zeros((support.pairs, context_size))), none,
            set_readonly(np.zeros((0, context_size))), set_readonly(np.zeros(support.pairs)),
        )  # fmt: skip

    def with_losses(self, losses: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike) -> PriorKnowledge:
        """Mean losses that are known: of single pairs ``{(state, action): loss}``, or of all pairs as [N] or [N, d].

        A loss is one number, the same under every context, or one for each component.
        """
        known, table = self.loss_known.copy(), self.losses.copy()
        for pair, loss in self._by_pair(losses, "losses"):
            table[pair] = self._components(loss, f"the loss of {self.support.pair_name(pair)}")
            known[pair] = True
        check_range(table, 0.0, 1.0, "loss", lambda at: f"the loss of {self.support.pair_name(int(at[0]))}")
        return replace(self, loss_known=set_readonly(known), losses=set_readonly(table))

    def with_rows(self, rows: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike) -> PriorKnowledge:
        """Rows that are known: ``{(state, action): [S + 1] or [S + 1, d]}``, the goal last; or the rows of all pairs in
        the order of the support, [M] or [M, d], such as ``problem.probabilities``.

        A row is the same under every context, or has a column for each component. One that is certain to lead to a
        single state is the row of a deterministic action.
        """
        support = self.support
        if not isinstance(rows, Mapping):
            return self._with_all_rows(rows)
        known = self.row_known.copy()
        table = self.rows.copy() if len(self.rows) else np.zeros((support.triples, self.context_size))
        for key, given in rows.items():
            pair = self._pair(key, "rows")
            name = f"the row of {support.pair_name(pair)}"
            row = _array(given, name)
            if row.ndim == 1:
                row = np.repeat(row[:, None], self.context_size, axis=1)
            row = check_array(
                row, name, (support.states + 1, self.context_size), "[S + 1] or [S + 1, d], the goal last"
            )
            check_range(row, 0.0, 1.0, "probability", _next_state_of(name))
            sums = row.sum(axis=0)
            if np.abs(sums - 1.0).max() > SUM_TOLERANCE:
                worst = sums[np.abs(sums - 1.0).argmax()]
                raise ArgumentError(f"{name} sums to {worst:g}, not 1; it is a distribution over the S + 1 next states")
            places = support.next_state[support.row(pair)]
            outside = np.setdiff1d(np.flatnonzero(row.any(axis=1)), places)
            if len(outside):
                following = support.state_name(int(outside[0]))
                raise ArgumentError(
                    f"{name} leads to {following}, which the support does not allow; declare it there too"
                )
            table[support.row(pair)] = row[places] / sums
            known[pair] = True
        return replace(self, row_known=set_readonly(known), rows=set_readonly(table))

    def _with_all_rows(self, rows: ArrayLike) -> PriorKnowledge:
        support = self.support
        table = _array(rows, "rows")
        if table.shape not in ((support.triples,), (support.triples, self.context_size)):
            raise ArgumentError(
                f"rows has shape {table.shape}; give [M] = ({support.triples},) or [M, d] in the order of the support, "
                "or a mapping from (state, action) to a row"
            )
        table = np.repeat(table[:, None], self.context_size, axis=1) if table.ndim == 1 else table.copy()

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
        every = set_readonly(np.ones(support.pairs, dtype=np.bool_))
        return replace(self, row_known=every, rows=set_readonly(table))

    def with_floors(self, floors: Mapping[tuple[Any, Any], float] | ArrayLike) -> PriorKnowledge:
        """Lower bounds of mean losses, that hold under every context: of single pairs, or of all as [N]."""
        table = self.floors.copy()
        for pair, floor in self._by_pair(floors, "floors"):
            table[pair] = self._components(floor, f"the floor of {self.support.pair_name(pair)}").min()
        check_range(table, 0.0, 1.0, "floor", lambda at: f"the floor of {self.support.pair_name(int(at[0]))}")
        return replace(self, floors=set_readonly(table))

    @property
    def possible(self) -> NDArray[np.bool_]:
        """[M] which next states may follow under some context: of known rows those with a probability above zero."""
        unknown = np.repeat(~self.row_known, np.diff(self.support.next_start))
        return unknown | self.rows.any(axis=1) if len(self.rows) else unknown

    def arrays(self, loss_floor: float, added_loss: float) -> PriorArrays:
        """As kernels take it; an error where a known loss is below what is said to be a floor."""
        floor = np.maximum(self.floors, loss_floor)
        below = np.flatnonzero(self.loss_known & (self.losses.min(axis=1) < floor))
        if len(below):
            pair = int(below[0])
            raise ArgumentError(
                f"the loss of {self.support.pair_name(pair)} is said to be {self.losses[pair].min():g}, below its "
                f"floor {floor[pair]:g}; lower the loss_floor (or the floor of the pair), or correct the loss"
            )
        return PriorArrays(set_readonly(floor + added_loss), self.loss_known, self.losses, self.row_known, self.rows)

    def check_step(self, pair: int, place: int, context: NDArray[np.float64]) -> None:
        """An error if a known row says that this next state cannot come under this context."""
        if self.row_known[pair] and not (self.rows[place] * context).any():
            following = self.support.state_name(int(self.support.next_state[place]))
            raise ArgumentError(
                f"{self.support.pair_name(pair)} led to {following}, which the row that it was said to have excludes; "
                "nothing was recorded. Declare the row as it is, or leave it to be learned"
            )

    def check_problem(self, problem: LinearCSSP) -> None:
        """An error if a problem may lead where a known row says that it cannot; it has the same pairs."""
        mine, theirs = self.support, problem.support
        for pair in np.flatnonzero(self.row_known).tolist():
            row, true = mine.row(pair), theirs.row(pair)
            possible = theirs.next_state[true][(problem.probabilities[true] > 0.0).any(axis=1)]
            excluded = np.setdiff1d(possible, mine.next_state[row][self.rows[row].any(axis=1)])
            if len(excluded):
                raise ArgumentError(
                    f"{mine.pair_name(pair)} may lead to {mine.state_name(int(excluded[0]))} in the problem, which the "
                    "row that it was said to have excludes; declare the row as it is, or leave it to be learned"
                )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PriorKnowledge):
            return NotImplemented
        return self.support == other.support and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("context_size", "loss_known", "losses", "row_known", "rows", "floors")
        )

    __hash__ = None  # type: ignore[assignment]

    def _pair(self, key: Any, what: str) -> int:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ArgumentError(f"{what} has the key {short_repr(key)}; keys are pairs: (state, action)")
        return self.support.pair(*key)

    def _by_pair(self, given: Any, what: str) -> list[tuple[int, Any]]:
        if isinstance(given, Mapping):
            return [(self._pair(key, what), value) for key, value in given.items()]
        table = _array(given, what)
        if table.shape not in ((self.support.pairs,), (self.support.pairs, self.context_size)):
            raise ArgumentError(
                f"{what} has shape {table.shape}; give [N] = ({self.support.pairs},) or [N, d], or a mapping from "
                "(state, action)"
            )
        return list(enumerate(table))

    def _components(self, value: ArrayLike, name: str) -> NDArray[np.float64]:
        """[d] one number for all components, or one each."""
        array = _array(value, name)
        if array.shape not in ((), (self.context_size,)):
            raise ArgumentError(
                f"{name} is {short_repr(value)}; it is one number, or one for each of {self.context_size} components"
            )
        return np.broadcast_to(array, (self.context_size,))


def _array(values: Any, name: str) -> NDArray[np.float64]:
    array = as_numeric_array(values, name, "numbers")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} is {short_repr(values)}, which are no numbers ({error})") from None


def _next_state_of(name: str) -> Callable[[tuple[int, ...]], str]:
    return lambda at: f"{name}, next state {at[0]}"
