"""What a user knows or guesses before the first episode, beyond the support: losses, rows, floors of single pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.declared import Declared, ModelPrior
from goalbound.errors import ArgumentError
from goalbound.learners.guesses import with_guesses, with_model
from goalbound.learners.pair_values import components_of, rows_put_in, values_by_pair
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.validation import (
    check_memory,
    check_range,
    check_size,
    check_type,
    restore_readonly,
    set_readonly,
    share_frozen,
)


@dataclass(frozen=True, eq=False, repr=False)
class PriorKnowledge:
    """Facts about single pairs, taken as true, and guesses, which need not be. Begin with :meth:`nothing`, or with
    :meth:`around` a model, and add what is known.

    Attributes:
        support: the pairs and where each may lead; itself the most useful thing to know.
        context_size: d.
        loss_known: [N]
        losses: [N, d] mean losses of the components, where known.
        row_known: [N]
        rows: [M, d] next-state probabilities of the components, where known.
        floors: [N] lower bounds of mean losses; 0 where nothing is known.
        guessed: [N] whether there is a guess of the pair.
        strength: [N] how many visits it is worth, at each corner of the simplex.
        guess_losses: [N, d] where guessed.
        guess_rows: [M, d] where guessed.

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
    guessed: NDArray[np.bool_]
    strength: NDArray[np.float64]
    guess_losses: NDArray[np.float64]
    guess_rows: NDArray[np.float64]

    __setstate__ = restore_readonly
    __deepcopy__ = share_frozen

    @classmethod
    def nothing(cls, support: Support, context_size: int) -> PriorKnowledge:
        """Nothing but the support."""
        check_type(support, Support, "support", SUPPORT_REMEDY)
        context_size = check_size(context_size, "context_size", "a context has at least one entry")
        check_memory(support.pairs * context_size, f"context_size {context_size}")
        none = set_readonly(np.zeros(support.pairs, dtype=np.bool_))
        zeros, no_losses = set_readonly(np.zeros(support.pairs)), set_readonly(np.zeros((support.pairs, context_size)))
        no_rows = set_readonly(np.zeros((0, context_size)))
        return cls(support, context_size, none, no_losses, none, no_rows, zeros, none, zeros, no_losses, no_rows)

    @classmethod
    def around(
        cls,
        model: LinearCSSP | SSP,
        *,
        strength: float | Mapping[tuple[Any, Any], float],
        context_size: int | None = None,
    ) -> PriorKnowledge:
        """Nothing is known, and this is a guess of all: :meth:`with_model` on the support of the model.

        ``context_size``, d, is needed for an :class:`SSP`, which is taken as the same under every context.

        >>> from goalbound.problems import treatment_ladder
        >>> prior = PriorKnowledge.around(treatment_ladder(3), strength=5)
        >>> prior.guessed.all(), prior.row_known.any(), prior.strength[0]
        (np.True_, np.False_, np.float64(5.0))
        """
        if isinstance(model, SSP):
            if context_size is None:
                raise ArgumentError("context_size is missing: model is an SSP, the same under every context; give d")
            return cls.nothing(model.support, context_size).with_model(model, strength=strength)
        check_type(model, LinearCSSP, "model", "give a LinearCSSP or an SSP")
        size = model.context_size if context_size is None else context_size
        return cls.nothing(model.support, size).with_model(model, strength=strength)

    def with_losses(self, losses: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike) -> PriorKnowledge:
        """Mean losses that are known: of single pairs ``{(state, action): loss}``, or of all pairs as [N] or [N, d].

        A loss is one number, the same under every context, or one for each component.
        """
        known, table = self.loss_known.copy(), self.losses.copy()
        for pair, loss in values_by_pair(self.support, self.context_size, losses, "losses"):
            table[pair] = components_of(self.context_size, loss, f"the loss of {self.support.pair_name(pair)}")
            known[pair] = True
        check_range(table, 0.0, 1.0, "loss", lambda at: f"the loss of {self.support.pair_name(int(at[0]))}")
        return replace(self, loss_known=set_readonly(known), losses=set_readonly(table))

    def with_rows(self, rows: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike) -> PriorKnowledge:
        """Rows that are known: ``{(state, action): [S + 1] or [S + 1, d]}``, the goal last, or by next states, as
        ``{"waiting": 0.9, "goal": 0.1}``, the others having none; or the rows of all pairs in the order of the support,
        [M] or [M, d], such as ``problem.probabilities``.

        A row is the same under every context, or has a column for each component. One that is certain to lead to a
        single state is the row of a deterministic action.
        """
        known, table = rows_put_in(self.support, self.context_size, rows, self.row_known, self.rows)
        return replace(self, row_known=set_readonly(known), rows=set_readonly(table))

    def with_floors(self, floors: Mapping[tuple[Any, Any], float] | ArrayLike) -> PriorKnowledge:
        """Lower bounds of mean losses, that hold under every context: of single pairs, or of all as [N]."""
        table = self.floors.copy()
        for pair, floor in values_by_pair(self.support, self.context_size, floors, "floors"):
            table[pair] = components_of(self.context_size, floor, f"the floor of {self.support.pair_name(pair)}").min()
        check_range(table, 0.0, 1.0, "floor", lambda at: f"the floor of {self.support.pair_name(int(at[0]))}")
        return replace(self, floors=set_readonly(table))

    with_model = with_model
    with_guesses = with_guesses

    def model_prior(self) -> ModelPrior:
        """The guesses as kernels take them."""
        return ModelPrior(self.guessed, self.strength, self.guess_losses, self.guess_rows)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """[M] which next states may follow under some context: of known rows those with a probability above zero."""
        unknown = np.repeat(~self.row_known, np.diff(self.support.next_start))
        return unknown | self.rows.any(axis=1) if len(self.rows) else unknown

    def declared(self, loss_floor: float, added_loss: float) -> Declared:
        """As kernels take it; an error where a known loss is below what is said to be a floor."""
        floor = np.maximum(self.floors, loss_floor)
        below = np.flatnonzero(self.loss_known & (self.losses.min(axis=1) < floor))
        if len(below):
            pair = int(below[0])
            raise ArgumentError(
                f"the loss of {self.support.pair_name(pair)} is said to be {self.losses[pair].min():g}, below its "
                f"floor {floor[pair]:g}; lower the loss_floor (or the floor of the pair), or correct the loss"
            )
        return Declared(set_readonly(floor + added_loss), self.loss_known, self.losses, self.row_known, self.rows)

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

    def __repr__(self) -> str:
        counts = (
            ("losses known", self.loss_known), ("rows known", self.row_known), ("floors", self.floors > 0.0),
            ("guesses", self.guessed),
        )  # fmt: skip
        held = ", ".join(f"{what}: {int(flags.sum())}" for what, flags in counts if flags.any())
        return f"PriorKnowledge({self.support!r}, {self.context_size} components, {held or 'nothing known'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PriorKnowledge):
            return NotImplemented
        return self.support == other.support and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _FIELDS
        )

    __hash__ = None  # type: ignore[assignment]


_FIELDS = tuple(name for name in PriorKnowledge.__annotations__ if name != "support")
