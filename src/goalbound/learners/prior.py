"""What a user knows or guesses before the first episode, beyond the support: losses, rows, floors of single pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError
from goalbound.kernels.model_prior import ModelPrior
from goalbound.kernels.state import PriorArrays
from goalbound.learners.ties import UNTIED, Ties, ties_of, with_tied_losses, with_tied_rows
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.models.support import (
    SUPPORT_REMEDY,
)
from goalbound.models.support_match import match_support
from goalbound.models.validation import (
    as_numeric_array,
    check_array,
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

SUM_TOLERANCE = 1e-9
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
        noise_free: [N] whether the loss of the pair has no noise: it is a function of the context.
        tied_losses: [N] the number of the group of pairs whose losses are the same function of the context, or -1.
        tied_rows: [N] likewise of rows.
        tied_places: [M] which outcome of its group a next state is, or -1; empty if no row is tied.

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
    noise_free: NDArray[np.bool_]
    tied_losses: NDArray[np.int64]
    tied_rows: NDArray[np.int64]
    tied_places: NDArray[np.int64]

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
        return cls(
            support, context_size, none, no_losses, none, no_rows, zeros, none, zeros, no_losses, no_rows, none,
            *Ties.none(support),
        )  # fmt: skip

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
        for pair, loss in self._by_pair(losses, "losses"):
            table[pair] = self._components(loss, f"the loss of {self.support.pair_name(pair)}")
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
        known, table = self._rows_put_in(rows, self.row_known, self.rows)
        return replace(self, row_known=set_readonly(known), rows=set_readonly(table))

    def _rows_put_in(
        self, rows: Any, known: NDArray[np.bool_], before: NDArray[np.float64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """[N] which pairs have a row, and [M, d] the rows, after some more were given."""
        support = self.support
        if not isinstance(rows, Mapping):
            return np.ones(support.pairs, dtype=np.bool_), self._all_rows(rows)
        known = known.copy()
        table = before.copy() if len(before) else np.zeros((support.triples, self.context_size))
        for key, given in rows.items():
            pair = self._pair(key, "rows")
            name = f"the row of {support.pair_name(pair)}"
            row = self._row_by_state(given, name) if isinstance(given, Mapping) else _array(given, name)
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
        return known, table

    def _row_by_state(self, given: Mapping[Any, Any], name: str) -> NDArray[np.float64]:
        """[S + 1, d] a row from the probabilities of its next states, by number or name."""
        row = np.zeros((self.support.states + 1, self.context_size))
        seen: set[int] = set()
        for following, probability in given.items():
            try:
                place = self.support.state(following)
            except InputError as error:
                raise ArgumentError(f"{name}: {error}") from None
            if place in seen:
                raise ArgumentError(f"{name} has {self.support.state_name(place)} twice; give it once")
            seen.add(place)
            row[place] = self._components(probability, f"{name}, next state {short_repr(following)}")
        return row

    def _all_rows(self, rows: ArrayLike) -> NDArray[np.float64]:
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
        return table

    def with_floors(self, floors: Mapping[tuple[Any, Any], float] | ArrayLike) -> PriorKnowledge:
        """Lower bounds of mean losses, that hold under every context: of single pairs, or of all as [N]."""
        table = self.floors.copy()
        for pair, floor in self._by_pair(floors, "floors"):
            table[pair] = self._components(floor, f"the floor of {self.support.pair_name(pair)}").min()
        check_range(table, 0.0, 1.0, "floor", lambda at: f"the floor of {self.support.pair_name(int(at[0]))}")
        return replace(self, floors=set_readonly(table))

    def with_noise_free_losses(self, pairs: Iterable[tuple[Any, Any]] | None = None) -> PriorKnowledge:
        """The losses of these pairs, or of all, have no noise: each is a linear function of the context.

        Such a loss is exact after d independent contexts. A loss that contradicts those seen before is an error that
        names both, and is not recorded.

        >>> prices = PriorKnowledge.nothing(Support.full(2, 2), 3).with_noise_free_losses([(0, 1)])
        >>> prices.noise_free
        array([False,  True, False, False])
        """
        flags = self.noise_free.copy()
        if pairs is None:
            flags[:] = True
        else:
            for key in pairs:
                flags[self._pair(key, "noise-free losses")] = True
        return replace(self, noise_free=set_readonly(flags))

    def with_tied_losses(self, groups: Iterable[Sequence[tuple[Any, Any]]]) -> PriorKnowledge:
        """The losses of the pairs of each group are the same function of the context: what is seen of one is seen of
        all. A step east costs the same in every cell:

        >>> support = Support.full(3, 2)
        >>> PriorKnowledge.nothing(support, 2).with_tied_losses([[(0, 1), (1, 1), (2, 1)]]).tied_losses
        array([-1,  0, -1,  0, -1,  0])

        Widths with intervals use it: ``sharp()`` and ``likelihood()`` (:mod:`goalbound.kernels.ties` says why the sets
        still hold). An outcome that contradicts it shows as an :attr:`~goalbound.LRCSSP.alarm`.
        """
        return self._tied(with_tied_losses(self.support, self._ties, groups, self._pair))

    def with_tied_rows(
        self, groups: Iterable[Sequence[tuple[Any, Any]] | Mapping[tuple[Any, Any], Sequence[Any]]]
    ) -> PriorKnowledge:
        """The rows of the pairs of each group are the same function of the context, up to the names of their next
        states. These correspond in the order of the support; or in the order that is given, where a group is a mapping
        from pairs to next states: ahead first, then where it slips to.

        >>> support = Support.from_pairs([{0: [0, 1]}, {0: [1, 2]}])
        >>> tied = PriorKnowledge.nothing(support, 2).with_tied_rows([{(0, 0): [1, 0], (1, 0): ["goal", 1]}])
        >>> tied.tied_rows, tied.tied_places
        (array([0, 0]), array([1, 0, 1, 0]))
        """
        return self._tied(with_tied_rows(self.support, self._ties, groups, self._pair))

    def with_ties_of(self, model: LinearCSSP) -> PriorKnowledge:
        """All losses and rows that are equal in a model are tied, whatever their values are: a simulator that is wrong
        in its numbers may be right in its symmetries. The model has the support of this."""
        check_type(model, LinearCSSP, "model", "give a LinearCSSP")
        if model.support != self.support:
            raise ArgumentError(f"the model has another support, {model.support}; it has {self.support}")
        return self._tied(ties_of(model))

    @property
    def _ties(self) -> Ties:
        return Ties(self.tied_losses, self.tied_rows, self.tied_places)

    def _tied(self, ties: Ties) -> PriorKnowledge:
        return replace(self, tied_losses=ties.losses, tied_rows=ties.rows, tied_places=ties.places)

    @property
    def has_ties(self) -> bool:
        """Whether any pair is tied to another."""
        return bool((self.tied_losses != UNTIED).any() or (self.tied_rows != UNTIED).any())

    @property
    def structure(self) -> tuple[str, ...]:
        """The structure that was declared, in words."""
        free, losses, rows = int(self.noise_free.sum()), int(self.tied_losses.max()) + 1, int(self.tied_rows.max()) + 1
        return tuple(
            text
            for count, text in (
                (free, f"{free} losses without noise"),
                (losses, f"losses tied in {losses} groups"),
                (rows, f"rows tied in {rows} groups"),
            )
            if count
        )

    def check_ties(self) -> None:
        """An error where of tied pairs one is known, or free of noise, and another is not; or where a loss is known,
        and said to be free of noise too."""
        for groups, known, what, method in (
            (self.tied_losses, self.loss_known, "loss", "with_losses"),
            (self.tied_rows, self.row_known, "row", "with_rows"),
        ):
            both = np.flatnonzero((groups != UNTIED) & known)
            if len(both):
                raise ArgumentError(
                    f"the {what} of {self.support.pair_name(int(both[0]))} is known, and tied to others; say by "
                    f"{method} what those are too, and tie only what is not known"
                )
        for group in range(int(self.tied_losses.max()) + 1):
            members = np.flatnonzero(self.tied_losses == group)
            flags = self.noise_free[members]
            if flags.any() and not flags.all():
                one, other = members[np.argmax(flags)], members[np.argmin(flags)]
                raise ArgumentError(
                    f"the losses of {self.support.pair_name(int(one))} and {self.support.pair_name(int(other))} are "
                    "tied, and only the first is said to be free of noise; declare both, or none"
                )

    def with_model(
        self, model: LinearCSSP | SSP, *, strength: float | Mapping[tuple[Any, Any], float]
    ) -> PriorKnowledge:
        """A guess of all pairs of a model: what a colleague believes, free-flow times, last year's estimate.

        Args:
            model: losses and rows. An :class:`SSP` is taken as the same under every context. Its pairs are found in the
                support by their names, where both have names, and by numbers else; where they lead, the support allows.
            strength: how many visits the guess of a pair is worth, at each corner of the simplex (so of a one-hot
                context): one number; or ``{(state, action): number}``, and only these pairs are guessed.

        Estimates are by ridge regression *around* the model (:mod:`goalbound.kernels.model_prior`). A guess that is
        wrong costs time: it weighs as much as ``strength`` visits, and real ones outweigh it. It costs no validity:
        the confidence sets of LR-CSSP are made from the data alone, whatever the guess is.
        """
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
        losses[places.pairs] = problem.losses
        rows[places.triples] = problem.probabilities
        chosen = np.zeros(self.support.pairs, dtype=np.bool_)
        chosen[places.pairs] = True
        if isinstance(strength, Mapping):
            asked = np.zeros_like(chosen)
            asked[[self._pair(key, "strength") for key in strength]] = True
            chosen &= asked
        return self._guessing(chosen, losses, rows, strength)

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

        >>> support = Support.from_pairs([{0: [0, 2]}, {0: [0]}])  # 2 is the goal
        >>> roads = PriorKnowledge.nothing(support, 2).with_guesses({(1, 0): [0.3, 0.6]}, {}, strength=10)
        >>> roads.guess_losses[1], roads.guessed
        (array([0.3, 0.6]), array([False,  True]))
        """
        nothing = PriorKnowledge.nothing(self.support, self.context_size)
        given = nothing.with_losses(losses)
        guessed_rows, row_table = self._rows_put_in(rows, nothing.row_known, nothing.rows)
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
        of_triple = np.repeat(chosen, np.diff(self.support.next_start))
        strengths = self.strength.copy()
        if isinstance(strength, Mapping):
            for key, value in strength.items():
                pair = self._pair(key, "strength")
                if not chosen[pair]:
                    raise ArgumentError(f"strength: {self.support.pair_name(pair)} has no guess; give its loss and row")
                strengths[pair] = self._checked_strength(value, f"the strength of {self.support.pair_name(pair)}")
            missing = chosen.copy()
            missing[[self._pair(key, "strength") for key in strength]] = False
            if missing.any():
                name = self.support.pair_name(int(missing.argmax()))
                raise ArgumentError(f"strength has no number for {name}; give one for each pair that is guessed")
        else:
            strengths[chosen] = self._checked_strength(strength, "strength")
        before = self.guess_rows if len(self.guess_rows) else np.zeros((self.support.triples, self.context_size))
        return replace(
            self, guessed=set_readonly(self.guessed | chosen), strength=set_readonly(strengths),
            guess_losses=set_readonly(np.where(chosen[:, None], losses, self.guess_losses)),
            guess_rows=set_readonly(np.where(of_triple[:, None], rows, before)),
        )  # fmt: skip

    @staticmethod
    def _checked_strength(value: Any, name: str) -> float:
        strength = check_float(value, name, "how many visits a guess is worth, above 0")
        if not 0.0 < strength <= LARGEST_STRENGTH:
            raise ArgumentError(
                f"{name} is {short_repr(value)}; it is how many visits a guess is worth, above 0 and at most "
                f"{LARGEST_STRENGTH:g} (what is certain is declared by with_losses and with_rows)"
            )
        return strength

    def model_prior(self, *, on: bool) -> ModelPrior:
        """The guesses as kernels take them; ``on``: a learner begins with them."""
        return ModelPrior(
            on and bool(self.guessed.any()), self.guessed, self.strength, self.guess_losses, self.guess_rows
        )

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

    def __repr__(self) -> str:
        counts = (
            ("losses known", self.loss_known), ("rows known", self.row_known), ("floors", self.floors > 0.0),
            ("guesses", self.guessed), ("noise-free losses", self.noise_free),
            ("tied losses", self.tied_losses != UNTIED), ("tied rows", self.tied_rows != UNTIED),
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


_FIELDS = tuple(name for name in PriorKnowledge.__annotations__ if name != "support")


def _array(values: Any, name: str) -> NDArray[np.float64]:
    array = as_numeric_array(values, name, "numbers")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} is {short_repr(values)}, which are no numbers ({error})") from None


def _next_state_of(name: str) -> Callable[[tuple[int, ...]], str]:
    return lambda at: f"{name}, next state {at[0]}"
