"""A stochastic shortest path problem: one context, everything known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import InputError, ModelError
from goalbound.models.support import GOAL, SUPPORT_REMEDY, Support
from goalbound.models.triples import from_triples, pair_losses
from goalbound.models.validation import (
    MOST_COUNTED,
    ROW_TOLERANCE,
    check_array,
    check_distribution,
    check_float,
    check_int,
    check_list,
    check_range,
    check_type,
    normalise_rows,
    readonly_copy,
    restore_readonly,
    set_readonly,
    share_frozen,
    short_repr,
)

Start = int | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SSP:
    """A stochastic shortest path problem over a support.

    Attributes:
        support: the pairs and where each may lead.
        losses: [N] expected loss of each pair, in [0, 1].
        probabilities: [M] of each next state; rows sum to 1 (checked to 1e-9, then divided by their sum).
        start: a state (number or name), or a distribution [S] over states.
        loss_scale: what a loss of 1 is in the user's own unit. Planning ignores it; reports use it.

    >>> drug = SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]])
    >>> drug
    SSP(1 states, 2 pairs, 3 next states)

    From arrays, for large problems: a walk along n states, one action each, that slips and stays with probability 0.1.

    >>> n = 100_000
    >>> stay_or_go = np.column_stack((np.arange(n), np.arange(1, n + 1))).ravel()  # the last goes to n, the goal
    >>> support = Support(np.arange(n + 1), np.zeros(n, dtype=int), np.arange(0, 2 * n + 1, 2), stay_or_go)
    >>> SSP(support, np.full(n, 0.01), np.tile([0.1, 0.9], n))
    SSP(100000 states, 100000 pairs, 200000 next states)
    """

    support: Support
    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    start: Start = 0
    loss_scale: float = 1.0

    def __post_init__(self) -> None:
        support = check_type(self.support, Support, "support", SUPPORT_REMEDY)
        losses = check_array(self.losses, "losses", (support.pairs,), f"shape [N] = ({support.pairs},), one per pair")
        check_range(losses, 0.0, 1.0, "loss", lambda at: support.pair_name(at[0]))
        shape = (support.triples,)
        rows = check_array(self.probabilities, "probabilities", shape, f"shape [M] = {shape}, one per next state")
        check_range(rows, 0.0, 1.0, "probability", lambda at: triple_name(support, at[0]), slack=ROW_TOLERANCE)
        rows = normalise_rows(rows, support.next_start, lambda at: support.pair_name(at[0]))
        object.__setattr__(self, "losses", readonly_copy(losses, np.float64))
        object.__setattr__(self, "probabilities", readonly_copy(rows, np.float64))
        object.__setattr__(self, "start", check_start(self.start, support))
        object.__setattr__(self, "loss_scale", check_scale(self.loss_scale))

    __setstate__ = restore_readonly
    __deepcopy__ = share_frozen

    @classmethod
    def _unchecked(cls, **fields: Any) -> SSP:
        """The problem of fields that this package made itself: neither checked nor copied."""
        problem = object.__new__(cls)
        vars(problem).update(fields)
        set_readonly(problem.losses)
        set_readonly(problem.probabilities)
        return problem

    @classmethod
    def dense(
        cls,
        losses: ArrayLike,
        transitions: ArrayLike,
        *,
        start: int | str | ArrayLike = 0,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        loss_scale: float = 1.0,
    ) -> SSP:
        """From tables: ``losses[S, A]`` and ``transitions[S, A, S + 1]``, the goal last.

        >>> SSP.dense([[0.1]], [[[0.0, 0.98]]])
        Traceback (most recent call last):
        ...
        goalbound.errors.ModelError: state 0, action 0: probabilities sum to 0.98, not 1; each row is ...
        """
        table = check_array(losses, "losses", (None, None), "shape [S, A]")
        states, actions = table.shape
        shape = (states, actions, states + 1)
        meaning = f"shape [S, A, S + 1] = {shape}, the goal last, as losses has shape [S, A]"
        rows = check_array(transitions, "transitions", shape, meaning)
        support, kept = dense_support((rows != 0.0), state_names, action_names)
        return cls(support, table.reshape(-1), rows[kept], check_start(start, support), loss_scale)

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[int | str, int | str, int | str, float, float]],
        *,
        start: int | str | ArrayLike = 0,
        loss_scale: float = 1.0,
    ) -> SSP:
        """From (state, action, next state, probability, loss) in any order.

        States and actions are all numbers or all names; names are numbered as they first appear. The goal is
        ``"goal"``, or the number after the last state. Repeated transitions are summed; the loss of a pair is the
        mean of the losses of its transitions, by probability.

        >>> SSP.from_transitions([("a", "go", "goal", 0.5, 0.1), ("a", "go", "a", 0.5, 0.3)]).losses
        array([0.2])
        """
        rows = check_list(transitions, "transitions", "a sequence of (state, action, next state, probability, loss)")
        for place, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str | bytes):
                raise ModelError(
                    f"transition {place} is {short_repr(row)}; it needs (state, action, next state, probability, loss)"
                )
            if len(row) != 5:
                raise ModelError(
                    f"transition {place} has {len(row)} parts; it needs (state, action, next state, probability, loss)"
                )
        states = KeyIndex("state", (row[0] for row in rows), reserved=GOAL)
        actions = KeyIndex("action", (row[1] for row in rows))
        following = [
            states.size if row[2] == GOAL or row[2] == states.size else states.index_of(row[2], place)
            for place, row in enumerate(rows)
        ]
        probability = check_array([row[3] for row in rows], "probabilities", (None,), "numbers")
        loss = check_array([row[4] for row in rows], "losses", (None,), "numbers")
        for what, part in (("probability", probability), ("loss", loss)):
            check_range(part, 0.0, 1.0, what, lambda at: f"transition {at[0]} {rows[at[0]][:3]}", slack=ROW_TOLERANCE)
        played = [states.index_of(row[0], place) for place, row in enumerate(rows)]
        chosen = [actions.index_of(row[1], place) for place, row in enumerate(rows)]
        names = states.names, actions.names
        built = from_triples(played, chosen, following, probability, states=states.size, names=names)
        losses = pair_losses(built.pair_of, built.support.pairs, probability, loss)
        return cls(built.support, losses, built.probabilities, check_start(start, built.support), loss_scale)

    @property
    def start_distribution(self) -> NDArray[np.float64]:
        """[S] where an episode begins."""
        return as_start_distribution(self.start, self.support.states)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to a ``.npz`` file, exactly and atomically; :func:`goalbound.load` reads it back."""
        from goalbound.models.files.npz import write_npz

        write_npz(self, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SSP):
            return NotImplemented
        return same_problem(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "SSP" + repr(self.support).removeprefix("Support")


class KeyIndex:
    """Indices of the keys of a list: the numbers given, or names in the order in which they first appear."""

    def __init__(self, kind: str, keys: Iterable[int | str], reserved: str | None = None) -> None:
        given = list(keys)
        self.kind = kind
        self.names: tuple[str, ...] | None = None
        self._index: dict[str, int] = {}
        if not given:
            raise ModelError("there are no transitions; a problem has at least one state with an action")
        if all(isinstance(key, str) for key in given):
            for key in given:
                if key == reserved:
                    raise ModelError(f'"{reserved}" is reserved: nothing can be done there; name that {kind} otherwise')
                self._index.setdefault(str(key), len(self._index))
            self.names = tuple(self._index)
            self.size = len(self.names)
        elif any(isinstance(key, str) for key in given):
            raise ModelError(f"{kind}s are partly numbers and partly names; use one or the other")
        else:
            self.size = max(check_int(key, f"transitions: {kind}", most=MOST_COUNTED) for key in given) + 1
            if kind == "state" and self.size > len(given):  # before anything so large is made
                lacking = next(n for n in range(self.size) if n not in set(given))
                raise ModelError(f"state {lacking} has no action; every state needs one, and they are 0, 1, 2, ...")

    def __contains__(self, key: object) -> bool:
        return key in self._index if self.names is not None else isinstance(key, int) and 0 <= key < self.size

    def index_of(self, key: int | str, place: int) -> int:
        """The index of a key; an error that names the place if it is unknown."""
        if self.names is None:
            if isinstance(key, str):
                raise ModelError(f'transition {place}: {self.kind} "{key}" is a name where the others are numbers')
            return check_int(key, f"transition {place}: {self.kind}", most=MOST_COUNTED)
        if key not in self._index:
            raise ModelError(f'transition {place}: {self.kind} "{key}" has no action; give it one, or lead to "{GOAL}"')
        return self._index[str(key)]


def dense_support(
    present: NDArray[np.bool_], state_names: Sequence[str] | None, action_names: Sequence[str] | None
) -> tuple[Support, NDArray[np.bool_]]:
    """The support of a dense table ``present[S, A, S + 1]``, and which entries of the table it keeps.

    A row with nothing present keeps its first entry, so that the row check can name it.
    """
    states, actions, _ = present.shape
    if not states or not actions:
        raise ModelError(f"a problem has at least one state and one action, not {states} and {actions}")
    kept = present.copy()
    kept[~kept.any(axis=2), 0] = True
    support = Support(
        set_readonly(np.arange(0, states * actions + 1, actions)),
        set_readonly(np.tile(np.arange(actions, dtype=np.int32), states)),
        set_readonly(np.concatenate(([0], np.cumsum(kept.sum(axis=2).reshape(-1))))),
        set_readonly(np.nonzero(kept)[2].astype(np.int32)),
        state_names,  # type: ignore[arg-type]
        action_names,  # type: ignore[arg-type]
    )
    return support, kept


def triple_name(support: Support, triple: int) -> str:
    """A triple for messages: ``state 3, action 1 -> state 4``."""
    pair = int(np.searchsorted(support.next_start, triple, side="right")) - 1
    return f"{support.pair_name(pair)} -> {support.state_name(int(support.next_state[triple]))}"


def check_start(start: Any, support: Support) -> Start:
    """A state, or a distribution [S]; checked."""
    if isinstance(start, int | np.integer | str):
        try:
            state = support.state(start)  # type: ignore[arg-type]
        except InputError as error:
            raise ModelError(f"start: {error}") from None
        if state == support.states:
            raise ModelError(f"start is the goal ({state}); an episode begins in one of the states 0 to {state - 1}")
        return state
    return readonly_copy(check_distribution(start, "start", support.states, "state"), np.float64)


def as_start_distribution(start: Start, states: int) -> NDArray[np.float64]:
    """[S] a start state as a distribution; a distribution is returned unchanged."""
    if isinstance(start, int):
        law = np.zeros(states)
        law[start] = 1.0
        return law
    return start


def check_scale(scale: float, name: str = "loss_scale") -> float:
    """A positive finite number."""
    meaning = "what a loss of 1 is in your own unit"
    if not 0.0 < (found := check_float(scale, name, meaning)) < np.inf:
        raise ModelError(f"{name} {scale} is not a positive number; it is {meaning}")
    return found


def same_problem(one: Any, other: Any) -> bool:
    """Equal to the bit: support, losses, probabilities, start, scale."""
    return (
        one.support == other.support
        and np.array_equal(one.losses, other.losses)
        and np.array_equal(one.probabilities, other.probabilities)
        and np.array_equal(one.start, other.start)
        and isinstance(one.start, int) == isinstance(other.start, int)
        and one.loss_scale == other.loss_scale
    )
