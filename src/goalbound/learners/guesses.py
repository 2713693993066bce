"""Guesses of losses and rows, as prior knowledge holds them: what they are, and how many visits each is worth.

:func:`with_model` and :func:`with_guesses` are methods of :class:`~goalbound.learners.prior.PriorKnowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.learners.pair_values import pair_number, rows_put_in
from goalbound.models import SSP, LinearCSSP
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_float, check_type, set_readonly, short_repr

if TYPE_CHECKING:
    from goalbound.learners.prior import PriorKnowledge

LARGEST_STRENGTH = 1e12
"""Visits that a guess may be worth; what is meant to be stronger is known."""


def with_model(
    prior: PriorKnowledge, model: LinearCSSP | SSP, *, strength: float | Mapping[tuple[Any, Any], float]
) -> PriorKnowledge:
    """A guess of all pairs of a model: what a colleague believes, free-flow times, last year's estimate.

    Args:
        model: losses and rows. An :class:`SSP` is taken as the same under every context. Its pairs are found in the
            support by their names, where both have names, and by numbers else; where they lead, the support allows.
        strength: how many visits the guess of a pair is worth, at each corner of the simplex (so of a one-hot
            context): one number; or ``{(state, action): number}``, and only these pairs are guessed.

    Estimates are by ridge regression *around* the model (:mod:`goalbound.confidence.declared`). A guess that is
    wrong costs time: it weighs as much as ``strength`` visits, and real ones outweigh it. It costs no validity:
    the confidence sets of LR-CSSP are made from the data alone, whatever the guess is.
    """
    problem = LinearCSSP.mix([model] * prior.context_size) if isinstance(model, SSP) else model
    check_type(problem, LinearCSSP, "model", "give a LinearCSSP or an SSP")
    if problem.context_size != prior.context_size:
        raise ArgumentError(
            f"model has {problem.context_size} components, contexts have {prior.context_size}; give a model of the "
            "same components, or an SSP that is the same under every context"
        )
    places = match_support(prior.support, problem.support, name="model")
    losses = np.zeros((prior.support.pairs, prior.context_size))
    rows = np.zeros((prior.support.triples, prior.context_size))
    losses[places.pairs] = problem.losses
    rows[places.triples] = problem.probabilities
    chosen = np.zeros(prior.support.pairs, dtype=np.bool_)
    chosen[places.pairs] = True
    if isinstance(strength, Mapping):
        asked = np.zeros_like(chosen)
        asked[[pair_number(prior.support, key, "strength") for key in strength]] = True
        chosen &= asked
    return _guessing(prior, chosen, losses, rows, strength)


def with_guesses(
    prior: PriorKnowledge,
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
    nothing = type(prior).nothing(prior.support, prior.context_size)
    given = nothing.with_losses(losses)
    guessed_rows, row_table = rows_put_in(prior.support, prior.context_size, rows, nothing.row_known, nothing.rows)
    chosen = given.loss_known | guessed_rows
    certain = np.diff(prior.support.next_start) == 1
    row_table[np.repeat(certain, np.diff(prior.support.next_start))] = 1.0
    loss_table = given.losses.copy()
    for pair in np.flatnonzero(chosen & ~given.loss_known).tolist():
        if not prior.loss_known[pair]:
            raise ArgumentError(_incomplete(prior, pair, "row", "loss", "with_losses"))
        loss_table[pair] = prior.losses[pair]
    for pair in np.flatnonzero(chosen & ~guessed_rows & ~certain).tolist():
        if not prior.row_known[pair]:
            raise ArgumentError(_incomplete(prior, pair, "loss", "row", "with_rows"))
        row_table[prior.support.row(pair)] = prior.rows[prior.support.row(pair)]
    return _guessing(prior, chosen, loss_table, row_table, strength)


def _incomplete(prior: PriorKnowledge, pair: int, has: str, lacks: str, method: str) -> str:
    return (
        f"{prior.support.pair_name(pair)} has a guess of its {has} and none of its {lacks}; guess both, or say by "
        f"{method} what is known, before"
    )


def _guessing(
    prior: PriorKnowledge,
    chosen: NDArray[np.bool_],
    losses: NDArray[np.float64],
    rows: NDArray[np.float64],
    strength: Any,
) -> PriorKnowledge:
    """With the guesses of the pairs ``chosen``; those made before of other pairs stay."""
    of_triple = np.repeat(chosen, np.diff(prior.support.next_start))
    strengths = prior.strength.copy()
    if isinstance(strength, Mapping):
        for key, value in strength.items():
            pair = pair_number(prior.support, key, "strength")
            if not chosen[pair]:
                raise ArgumentError(f"strength: {prior.support.pair_name(pair)} has no guess; give its loss and row")
            strengths[pair] = _checked_strength(value, f"the strength of {prior.support.pair_name(pair)}")
        missing = chosen.copy()
        missing[[pair_number(prior.support, key, "strength") for key in strength]] = False
        if missing.any():
            name = prior.support.pair_name(int(missing.argmax()))
            raise ArgumentError(f"strength has no number for {name}; give one for each pair that is guessed")
    else:
        strengths[chosen] = _checked_strength(strength, "strength")
    before = prior.guess_rows if len(prior.guess_rows) else np.zeros((prior.support.triples, prior.context_size))
    return replace(
        prior, guessed=set_readonly(prior.guessed | chosen), strength=set_readonly(strengths),
        guess_losses=set_readonly(np.where(chosen[:, None], losses, prior.guess_losses)),
        guess_rows=set_readonly(np.where(of_triple[:, None], rows, before)),
    )  # fmt: skip


def _checked_strength(value: Any, name: str) -> float:
    strength = check_float(value, name, "how many visits a guess is worth, above 0")
    if not 0.0 < strength <= LARGEST_STRENGTH:
        raise ArgumentError(
            f"{name} is {short_repr(value)}; it is how many visits a guess is worth, above 0 and at most "
            f"{LARGEST_STRENGTH:g} (what is certain is declared by with_losses and with_rows)"
        )
    return strength
