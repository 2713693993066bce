"""What a user knows or guesses before the first episode, beyond the support: losses, rows, floors of single pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.declared import Declared, ModelPrior
from goalbound.errors import ArgumentError
from goalbound.models import Support
from goalbound.models.files.ranges import matching, within
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.validation import (
    check_float,
    check_memory,
    check_range,
    check_size,
    check_type,
    restore_readonly,
    set_readonly,
    share_frozen,
    short_repr,
)

if TYPE_CHECKING:
    from goalbound.models import SSP, LinearCSSP

LARGEST_STRENGTH = 1e12
"""Visits that a guess may be worth; what is meant to be stronger is known."""


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
        loss_scale: what a loss of 1 is in the unit of the models that were guessed; None: they had none.

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
    loss_scale: float | None = None

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
        loss_scale: float | None = None,
    ) -> PriorKnowledge:
        """Nothing is known, and this is a guess of all: :meth:`with_model` on the support of the model.

        ``context_size``, d, is needed for an :class:`SSP`, which is taken as the same under every context;
        ``loss_scale`` where a loss of 1 is another amount for the learner than for the model.

        >>> from goalbound.problems import treatment_ladder
        >>> prior = PriorKnowledge.around(treatment_ladder(3), strength=5)
        >>> prior.guessed.all(), prior.row_known.any(), prior.strength[0]
        (np.True_, np.False_, np.float64(5.0))
        """
        from goalbound.models import SSP, LinearCSSP

        if isinstance(model, SSP) and context_size is None:
            raise ArgumentError("context_size is missing: model is an SSP, the same under every context; give d")
        if not isinstance(model, SSP):
            check_type(model, LinearCSSP, "model", "give a LinearCSSP or an SSP")
            context_size = model.context_size if context_size is None else context_size
        nothing = cls.nothing(model.support, cast(int, context_size))
        return nothing.with_model(model, strength=strength, loss_scale=loss_scale)

    def with_losses(self, losses: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike) -> PriorKnowledge:
        """Mean losses that are known: of single pairs ``{(state, action): loss}``, or of all pairs as [N] or [N, d].

        A loss is one number, the same under every context, or one for each component.
        """
        from goalbound.learners.pair_values import components_of, values_by_pair

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
        from goalbound.learners.pair_values import rows_put_in

        known, table = rows_put_in(self.support, self.context_size, rows, self.row_known, self.rows)
        return replace(self, row_known=set_readonly(known), rows=set_readonly(table))

    def with_floors(self, floors: Mapping[tuple[Any, Any], float] | ArrayLike) -> PriorKnowledge:
        """Lower bounds of mean losses, that hold under every context: of single pairs, or of all as [N]."""
        from goalbound.learners.pair_values import components_of, values_by_pair

        table = self.floors.copy()
        for pair, floor in values_by_pair(self.support, self.context_size, floors, "floors"):
            table[pair] = components_of(self.context_size, floor, f"the floor of {self.support.pair_name(pair)}").min()
        check_range(table, 0.0, 1.0, "floor", lambda at: f"the floor of {self.support.pair_name(int(at[0]))}")
        return replace(self, floors=set_readonly(table))

    def with_model(
        self,
        model: LinearCSSP | SSP,
        *,
        strength: float | Mapping[tuple[Any, Any], float],
        loss_scale: float | None = None,
    ) -> PriorKnowledge:
        """A guess of all pairs of a model: what a colleague believes, free-flow times, last year's estimate.

        Args:
            model: losses and rows. An :class:`SSP` is taken as the same under every context. Its pairs are found in the
                support by their names, where both have names, and by numbers else; where they lead, the support allows.
            strength: how many visits the guess of a pair is worth, at each corner of the simplex (so of a one-hot
                context): one number, where the model knows something of every state; or ``{(state, action): number}``,
                and only these pairs are guessed.
            loss_scale: what a loss of 1 is for the learner, in the unit of the model, whose losses are converted. None:
                what it is for the model, or for the one that was guessed before. A learner or a problem with another
                scale refuses the prior.

        Estimates are by ridge regression *around* the model (:mod:`goalbound.confidence.declared`). A guess that is
        wrong costs time: it weighs as much as ``strength`` visits, and real ones outweigh it. It costs no validity:
        the confidence sets of LR-CSSP are made from the data alone, whatever the guess is.
        """
        from goalbound.learners.pair_values import pair_number
        from goalbound.models import SSP, LinearCSSP
        from goalbound.models.support_match import match_support

        problem = LinearCSSP.mix([model] * self.context_size) if isinstance(model, SSP) else model
        check_type(problem, LinearCSSP, "model", "give a LinearCSSP or an SSP")
        if problem.context_size != self.context_size:
            raise ArgumentError(
                f"model has {problem.context_size} components, contexts have {self.context_size}; give a model of the "
                "same components, or an SSP that is the same under every context"
            )
        places = match_support(self.support, problem.support, name="model")
        losses = np.zeros((self.support.pairs, self.context_size))
        rows = np.zeros((self.support.triples, self.context_size))
        losses[places.pairs], scale = self._scaled(problem, loss_scale)
        rows[places.triples] = problem.probabilities
        chosen = np.zeros(self.support.pairs, dtype=np.bool_)
        chosen[places.pairs] = True
        if isinstance(strength, Mapping):
            asked = np.zeros_like(chosen)
            asked[[pair_number(self.support, key, "strength") for key in strength]] = True
            chosen &= asked
        else:
            self._check_covers(problem, chosen)
        return replace(self._guessing(chosen, losses, rows, strength), loss_scale=scale)

    def _scaled(self, model: LinearCSSP, loss_scale: float | None) -> tuple[NDArray[np.float64], float | None]:
        """The losses [N', d] of a model where a loss of 1 is what it is for the learner, and what that is."""
        from goalbound.models.ssp import check_scale

        if loss_scale is None:
            wanted = self.loss_scale if self.loss_scale is not None or model.loss_scale == 1.0 else model.loss_scale
        else:
            wanted = check_scale(loss_scale)
        if wanted is None or wanted == model.loss_scale or (loss_scale is None and model.loss_scale == 1.0):
            return model.losses, wanted
        losses = model.losses * (model.loss_scale / wanted)
        if losses.max() > 1.0:
            pair = int(losses.max(axis=1).argmax())
            raise ArgumentError(
                f"model: {model.support.pair_name(pair)} has a loss of {losses[pair].max() * wanted:g}, above the "
                f"{wanted:g} that a loss of 1 is; cut the losses of the model to it"
            )
        return losses, wanted

    def _check_covers(self, model: LinearCSSP, chosen: NDArray[np.bool_]) -> None:
        """An error if there are states of which a model says nothing: there no loss would be the guess."""
        lacking = np.flatnonzero(~np.logical_or.reduceat(chosen | self._known, self.support.pair_start[:-1]))
        if len(lacking):
            named = self.support.state_names is not None and model.support.state_names is not None
            raise ArgumentError(
                f"model has {model.support.states} states, found by {'name' if named else 'number'}, and nothing of "
                f"{self.support.state_name(int(lacking[0]))}: next to guesses, pairs without one look free. Give a "
                "model of all states, or say by strength={(state, action): number} which pairs are guessed"
            )

    @property
    def _known(self) -> NDArray[np.bool_]:
        """[N] the pairs of which there is a guess, or all is known."""
        return self.guessed | (self.loss_known & self.row_known)

    def check_scale(self, scale: float, name: str) -> None:
        """An error if a loss of 1 is another amount for what is called ``name`` than for the guesses; 1: no unit."""
        if scale != 1.0 and self.loss_scale not in (None, scale):
            raise ArgumentError(
                f"a loss of 1 is {scale:g} for {name}, and {self.loss_scale:g} in the model that was guessed; give "
                f"with_model(..., loss_scale={scale:g}), which converts it"
            )

    def with_guesses(
        self,
        losses: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike,
        rows: Mapping[tuple[Any, Any], ArrayLike] | ArrayLike,
        *,
        strength: float | Mapping[tuple[Any, Any], float],
    ) -> PriorKnowledge:
        """Guesses of single pairs, or of all: losses as in :meth:`with_losses`, rows as in :meth:`with_rows`, and their
        ``strength`` as in :meth:`with_model`.

        A guess has a loss and a row, since both are weighed against the same visits. One of them may be left out where
        it is known, or where only one next state can follow.

        >>> from goalbound import PriorKnowledge, Support
        >>> support = Support.from_pairs([{0: [0, 2]}, {0: [0]}])  # 2 is the goal
        >>> roads = PriorKnowledge.nothing(support, 2).with_guesses({(1, 0): [0.3, 0.6]}, {}, strength=10)
        >>> roads.guess_losses[1], roads.guessed
        (array([0.3, 0.6]), array([False,  True]))
        """
        from goalbound.learners.pair_values import rows_put_in

        nothing = type(self).nothing(self.support, self.context_size)
        given = nothing.with_losses(losses)
        guessed_rows, row_table = rows_put_in(self.support, self.context_size, rows, nothing.row_known, nothing.rows)
        chosen = given.loss_known | guessed_rows
        certain = np.diff(self.support.next_start) == 1
        row_table[np.repeat(certain, np.diff(self.support.next_start))] = 1.0
        loss_table = given.losses.copy()
        for pair in np.flatnonzero(chosen & ~given.loss_known).tolist():
            if not self.loss_known[pair]:
                raise ArgumentError(self._incomplete(pair, "row", "loss", "with_losses"))
            loss_table[pair] = self.losses[pair]
        for pair in np.flatnonzero(chosen & ~guessed_rows & ~certain).tolist():
            if not self.row_known[pair]:
                raise ArgumentError(self._incomplete(pair, "loss", "row", "with_rows"))
            row_table[self.support.row(pair)] = self.rows[self.support.row(pair)]
        return self._guessing(chosen, loss_table, row_table, strength)

    def _incomplete(self, pair: int, has: str, lacks: str, method: str) -> str:
        return (
            f"{self.support.pair_name(pair)} has a guess of its {has} and none of its {lacks}; guess both, or say by "
            f"{method} what is known, before"
        )

    def _guessing(
        self, chosen: NDArray[np.bool_], losses: NDArray[np.float64], rows: NDArray[np.float64], strength: Any
    ) -> PriorKnowledge:
        """With the guesses of the pairs ``chosen``; those made before of other pairs stay."""
        strengths = np.where(chosen, np.nan, self.strength)
        if isinstance(strength, Mapping):
            from goalbound.learners.pair_values import pair_number

            for key, value in strength.items():
                pair = pair_number(self.support, key, "strength")
                if not chosen[pair]:
                    raise ArgumentError(f"strength: {self.support.pair_name(pair)} has no guess; give its loss and row")
                strengths[pair] = _checked_strength(value, f"the strength of {self.support.pair_name(pair)}")
        else:
            strengths[chosen] = _checked_strength(strength, "strength")
        if np.isnan(strengths).any():
            name = self.support.pair_name(int(np.isnan(strengths).argmax()))
            raise ArgumentError(f"strength has no number for {name}; give one for each pair that is guessed")
        of_triple = np.repeat(chosen, np.diff(self.support.next_start))[:, None]
        before = self.guess_rows if len(self.guess_rows) else np.zeros((self.support.triples, self.context_size))
        return replace(
            self,
            guessed=set_readonly(self.guessed | chosen),
            strength=set_readonly(strengths),
            guess_losses=set_readonly(np.where(chosen[:, None], losses, self.guess_losses)),
            guess_rows=set_readonly(np.where(of_triple, rows, before)),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that are arrays, by their names in the file of a learner."""
        return {f"{_PREFIX}{name}": value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], support: Support, size: int) -> PriorKnowledge | None:
        """The prior knowledge of a file, checked as if it were given now; None: it has none."""
        if not any(name.startswith(_PREFIX) for name in arrays):
            return None
        nothing = cls.nothing(support, size)
        found: dict[str, Any] = {}
        for path, like in nothing.arrays().items():
            name = path.removeprefix(_PREFIX)
            shape, flag = like.shape, _ROWS_OF.get(name)  # the flags come before the rows
            if flag is not None and found[flag].any():
                shape = (support.triples, size)
            table = matching(arrays, path, shape, like.dtype)
            if flag is not None and len(table):
                sums = np.add.reduceat(table, support.next_start[:-1], axis=0)[found[flag]]
                within(f"a row of {path}", sums, 1.0 - 1e-9, 1.0 + 1e-9)
            if table.dtype == np.float64:
                within(path, table, 0.0, LARGEST_STRENGTH if name == "strength" else 1.0)
            found[name] = set_readonly(table.copy())
        return replace(nothing, **found)

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
        self.check_scale(problem.loss_scale, "the problem")
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


_FIELDS = tuple(name for name in PriorKnowledge.__annotations__ if name not in ("support", "loss_scale"))
_PREFIX = "prior."
_ROWS_OF = {"rows": "row_known", "guess_rows": "guessed"}
"""Rows that are empty where no pair has one, and the pairs that have."""


def _checked_strength(value: Any, name: str) -> float:
    strength = check_float(value, name, "how many visits a guess is worth, above 0")
    if not 0.0 < strength <= LARGEST_STRENGTH:
        raise ArgumentError(
            f"{name} is {short_repr(value)}; it is how many visits a guess is worth, above 0 and at most "
            f"{LARGEST_STRENGTH:g} (what is certain is declared by with_losses and with_rows)"
        )
    return strength
