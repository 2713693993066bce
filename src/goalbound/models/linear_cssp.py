"""A linear contextual stochastic shortest path problem: the context mixes d component problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import InputError, ModelError
from goalbound.models.ssp import SSP, Start, check_scale, check_start, dense_support, same_problem, triple_name
from goalbound.models.support import SUPPORT_REMEDY, Support
from goalbound.models.triples import from_triples
from goalbound.models.validation import (
    ROW_TOLERANCE,
    as_numeric_array,
    check_array,
    check_distribution,
    check_int,
    check_list,
    check_names,
    check_range,
    check_type,
    normalise_rows,
    readonly_copy,
    restore_readonly,
    set_readonly,
    share_frozen,
    short_repr,
)

Context = ArrayLike | str | Mapping[str, float]
"""Weights, the name of a component for all weight on it, or weights by names."""
MAX_ROWS = 60
"""Pairs that a picture of the losses shows."""


@dataclass(frozen=True, eq=False, repr=False)
class LinearCSSP:
    """d component problems on one support; a context c of the simplex mixes their losses and probabilities.

    Attributes:
        support: the pairs, and where each may lead under any context.
        losses: [N, d] in [0, 1]; the loss of pair i under context c is ``losses[i] @ c``.
        probabilities: [M, d]; each component's rows sum to 1 (checked to 1e-9, then divided by their sum).
        start: a state, a distribution [S], or one per component [S, d] (mixed by the context too).
        component_names: d names, or None.
        loss_scale: what a loss of 1 is in the user's own unit.

    >>> drugs = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
    >>> drugs
    LinearCSSP(2 components, 1 states, 2 pairs, 3 next states)
    >>> drugs.at([0.5, 0.5]).probabilities
    array([1. , 0.5, 0.5])
    """

    support: Support
    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    start: Start = 0
    component_names: tuple[str, ...] | None = None
    loss_scale: float = 1.0

    def __post_init__(self) -> None:
        support = check_type(self.support, Support, "support", SUPPORT_REMEDY)
        losses = check_array(
            self.losses, "losses", (support.pairs, None), f"shape [N, d] = ({support.pairs}, d), one row per pair"
        )
        size = losses.shape[1]
        if size < 1:
            raise ModelError("losses have no component (d = 0); a context has at least one entry")
        shape = (support.triples, size)
        rows = check_array(
            self.probabilities, "probabilities", shape, f"shape [M, d] = {shape}, one row per next state"
        )
        names = check_names(self.component_names, size, "component_names", None)
        object.__setattr__(self, "component_names", names)

        def pair_name(at: tuple[int, ...]) -> str:
            return f"{self.component_name(at[1])}, {support.pair_name(at[0])}"

        def next_name(at: tuple[int, ...]) -> str:
            return f"{self.component_name(at[1])}, {triple_name(support, at[0])}"

        check_range(losses, 0.0, 1.0, "loss", pair_name)
        check_range(rows, 0.0, 1.0, "probability", next_name, slack=ROW_TOLERANCE)
        rows = normalise_rows(rows, support.next_start, pair_name)
        object.__setattr__(self, "losses", readonly_copy(losses, np.float64))
        object.__setattr__(self, "probabilities", readonly_copy(rows, np.float64))
        object.__setattr__(self, "start", _check_starts(self.start, support, size))
        object.__setattr__(self, "loss_scale", check_scale(self.loss_scale))

    __setstate__ = restore_readonly
    __deepcopy__ = share_frozen

    @classmethod
    def dense(
        cls,
        losses: ArrayLike,
        transitions: ArrayLike,
        *,
        start: int | str | ArrayLike = 0,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        component_names: Sequence[str] | None = None,
        loss_scale: float = 1.0,
    ) -> LinearCSSP:
        """From tables, one per component: ``losses[d, S, A]``, ``transitions[d, S, A, S + 1]`` (the goal last).

        ``start`` is a state, a distribution [S], or one per component [d, S].
        """
        table = check_array(losses, "losses", (None, None, None), "shape [d, S, A]")
        size, states, actions = table.shape
        if size < 1:
            raise ModelError("losses have no component (d = 0); a context has at least one entry")
        shape = (size, states, actions, states + 1)
        meaning = f"shape [d, S, A, S + 1] = {shape}, the goal last, as losses has shape [d, S, A]"
        rows = check_array(transitions, "transitions", shape, meaning)
        support, kept = dense_support((rows != 0.0).any(axis=0), state_names, action_names)
        return cls(
            support,
            table.reshape(size, -1).T,
            rows[:, kept].T,
            _transpose_start(start),
            component_names,  # type: ignore[arg-type]
            loss_scale,
        )

    @classmethod
    def mix(cls, problems: Sequence[SSP], *, component_names: Sequence[str] | None = None) -> LinearCSSP:
        """The problem whose components are the ones given: same states, same actions; next states may differ.

        Starts may differ too; they are then mixed by the context like everything else.
        """
        parts = check_list(problems, "problems", "a sequence of problems on the same pairs")
        if not parts:
            raise ModelError("problems is empty; mix needs at least one problem")
        for place, part in enumerate(parts):
            check_type(part, SSP, f"problems[{place}]", "give problems without context (SSP)")
        first = parts[0].support
        for place, part in enumerate(parts):
            if not first.same_pairs(part.support):
                raise ModelError(
                    f"problem {place} has other states or actions than problem 0 ({part} against {parts[0]}); "
                    "only problems on the same pairs can be mixed"
                )
            if part.loss_scale != parts[0].loss_scale:
                raise ModelError(
                    f"problem {place} has loss_scale {part.loss_scale:g}, problem 0 has {parts[0].loss_scale:g}; "
                    "bring the losses to one unit first"
                )
        names = _common_names(parts, "state"), _common_names(parts, "action")
        size = len(parts)
        lengths = [part.support.triples for part in parts]
        component = np.repeat(np.arange(size), lengths)
        values = np.zeros((sum(lengths), size))
        values[np.arange(len(values)), component] = np.concatenate([part.probabilities for part in parts])
        pair = np.concatenate([np.repeat(np.arange(first.pairs), np.diff(part.support.next_start)) for part in parts])
        following = np.concatenate([part.support.next_state for part in parts])
        built = from_triples(
            first.pair_state[pair], first.pair_action[pair], following, values, states=first.states, names=names
        )
        starts = [part.start for part in parts]
        start: Start = starts[0]
        if any(not np.array_equal(one, starts[0]) for one in starts):
            start = np.column_stack([part.start_distribution for part in parts])
        losses = np.column_stack([part.losses for part in parts])
        return cls(built.support, losses, built.probabilities, start, component_names, parts[0].loss_scale)  # type: ignore[arg-type]

    @property
    def context_size(self) -> int:
        """d, the number of components."""
        return int(self.losses.shape[1])

    def component_name(self, component: int) -> str:
        """A component for messages: ``component 1`` or ``component 1 ("rain")``."""
        named = f' ("{self.component_names[component]}")' if self.component_names else ""
        return f"component {component}{named}"

    def check_context(self, context: Context) -> NDArray[np.float64]:
        """[d] the context as a point of the simplex, or an error: weights, the name of a component for all weight on
        it, or a mapping from names to weights (0 for those that are not in it).

        >>> ages = LinearCSSP.mix([SSP.dense([[0.5]], [[[0.0, 1.0]]])] * 2, component_names=["young", "old"])
        >>> ages.check_context({"old": 0.1, "young": 0.9})
        array([0.9, 0.1])
        """
        if isinstance(context, Mapping):
            return self._context_by_name(context)
        if isinstance(context, str):
            try:
                return np.eye(self.context_size)[self._component(context)]
            except InputError as error:
                raise ModelError(f"context: {error}") from None
        return check_distribution(context, "context", self.context_size, "component")

    def _context_by_name(self, context: Mapping[str, float]) -> NDArray[np.float64]:
        weights: list[Any] = [0.0] * self.context_size
        for name, weight in context.items():
            if not isinstance(name, str):
                raise ModelError(f"context: {short_repr(name)} is not the name of a component, a text")
            try:
                weights[self._component(name)] = weight
            except InputError as error:
                raise ModelError(f"context: {error}") from None
        return check_distribution(weights, "context", self.context_size, "component")

    def at(self, context: Context) -> SSP:
        """The problem under one context: weights, the name of a component for all weight on it, or a mapping from names
        to weights, ``problem.at({"young": 0.9, "old": 0.1})``.

        O(M d); the support is shared, so entries may be zero.
        """
        weights = self.check_context(context)
        start = self.start
        if not isinstance(start, int) and start.ndim == 2:
            start = set_readonly(start @ weights)
        return SSP._unchecked(
            support=self.support,
            losses=_mix_components(self.losses, weights),
            probabilities=_mix_components(self.probabilities, weights),
            start=start,
            loss_scale=self.loss_scale,
        )

    def component(self, component: int | str) -> SSP:
        """The problem of one component, by number or name: the context that is all on it."""
        return self.at(np.eye(self.context_size)[self._component(component)])

    def _component(self, component: int | str) -> int:
        if isinstance(component, str):
            names = self.component_names or ()
            if component not in names:
                known = "; there are " + ", ".join(f'"{name}"' for name in names) if names else ": they have no names"
                raise ModelError(f'no component is called "{component}"{known}')
            return names.index(component)
        if not 0 <= check_int(component, "component") < self.context_size:
            raise ModelError(f"no component {short_repr(component)}; they are 0 to {self.context_size - 1}")
        return int(component)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to a ``.npz`` file, exactly and atomically; :meth:`load` reads it back."""
        from goalbound.models.files.npz import write_npz

        write_npz(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, limit: int | None = None) -> LinearCSSP:
        """Read a contextual problem from a ``.npz`` file written by :meth:`save`.

        ``limit`` is the most bytes that the file may have; 4 GiB if left out.
        """
        from goalbound.models.files.npz import read_npz

        problem = read_npz(path) if limit is None else read_npz(path, limit=limit)
        if not isinstance(problem, cls):
            raise ModelError(f"{path} holds a problem without context; read it with goalbound.load")
        return problem

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearCSSP):
            return NotImplemented
        return same_problem(self, other) and self.component_names == other.component_names

    __hash__ = None  # type: ignore[assignment]

    def _labels(self) -> tuple[list[str], list[str], list[str]]:
        """The names of all components, and the state and the action of each pair."""
        support = self.support
        components = self.component_names or [f"component {one}" for one in range(self.context_size)]
        states = [support.state_label(int(state)) for state in support.pair_state]
        return list(components), states, [support.action_label(int(action)) for action in support.pair_action]

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per component, pair and next state: component, state, action, next_state by name, probability, and
        the loss of the pair. A data frame of pandas, or a table of Arrow."""
        from goalbound.frames import data_frame

        components, states, actions = self._labels()
        support, size = self.support, self.context_size
        pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start)).tolist()
        return data_frame(
            {
                "component": [name for name in components for _ in pair],
                "state": [states[one] for one in pair] * size,
                "action": [actions[one] for one in pair] * size,
                "next_state": [support.state_label(int(state)) for state in support.next_state] * size,
                "probability": self.probabilities.T.ravel(),
                "loss": self.losses[pair].T.ravel(),
            },
            arrow=arrow,
        )

    def _repr_html_(self) -> str:
        from goalbound.notebook import html_lines, html_table

        components, states, actions = self._labels()
        losses = {f"loss, {name}": self.losses[:, one] for one, name in enumerate(components)}
        unit = [] if self.loss_scale == 1.0 else [f"a loss of 1 is {self.loss_scale:g}"]
        return html_lines([repr(self), *unit]) + html_table({"state": states, "action": actions, **losses})

    def plot(self, axes: Any = None) -> Any:
        """The loss of each pair in each component, as shades; the Matplotlib axes."""
        from goalbound.plotting import literal, new_axes

        components, states, actions = self._labels()
        shown = min(len(states), MAX_ROWS)
        names = [f"{state}: {action}" for state, action in zip(states[:shown], actions[:shown], strict=True)]
        axes = new_axes(axes, names=names)
        image = axes.imshow(self.losses[:shown], aspect="auto", vmin=0.0, interpolation="nearest")
        axes.set_xticks(range(len(components)), [literal(name) for name in components])
        axes.set_yticks(range(shown), [literal(name) for name in names])
        if shown < len(states):
            axes.set_xlabel(f"{len(states) - shown} more pairs are not shown")
        axes.figure.colorbar(image, ax=axes, label="loss")
        return axes

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")
        return f"LinearCSSP({self.context_size} components, {inside}"


def _common_names(parts: Sequence[SSP], kind: str) -> tuple[str, ...] | None:
    """The names that the problems agree on; None if none has any."""
    found: tuple[str, ...] | None = None
    for place, part in enumerate(parts):
        names = part.support.state_names if kind == "state" else part.support.action_names
        if found is not None and names is not None and names != found:
            raise ModelError(f"problem {place} has other {kind} names than the ones before it")
        found = found or names
    return found


def _mix_components(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n, d] mixed to [n], summed in the order of the components: the same bits on every machine and thread count."""
    out = values[:, 0] * weights[0]
    for component in range(1, len(weights)):
        out += values[:, component] * weights[component]
    return np.minimum(out, 1.0, out=out)  # a mixture of numbers up to 1 may round to just above 1


def _check_starts(start: Any, support: Support, size: int) -> Start:
    if (
        isinstance(start, int | np.integer | str)
        or as_numeric_array(start, "start", "a state or a distribution").ndim < 2
    ):
        return check_start(start, support)
    shape = (support.states, size)
    laws = check_array(start, "start", shape, f"a state, shape [S] = ({support.states},) or shape [S, d] = {shape}")
    columns = [check_distribution(laws[:, k], f"start of component {k}", support.states, "state") for k in range(size)]
    return readonly_copy(np.column_stack(columns), np.float64)


def _transpose_start(start: int | str | ArrayLike) -> Any:
    if isinstance(start, int | np.integer | str):
        return start
    laws = as_numeric_array(start, "start", "a state or a distribution")
    return start if laws.ndim < 2 else laws.T
