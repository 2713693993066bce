"""Prior knowledge of single pairs, around any confidence model or point estimate.

**Declared** losses and rows are put in the place of the sets of their pair; all else is the inner model's. They need no
share of the failure probability (:class:`.protocol.Counted`). The loop puts declared floors in, for all pairs.

**Guesses** are what the ridge regression of a pair is around, instead of 0. A guess of strength s is worth s visits at
each corner of the simplex, with the outcomes that the model expects there: s I is added to the Gram matrix, and s times
the coefficients to the sums. The ridge itself, lambda I, is put around the guess too, so that without data the estimate
*is* the guess:

    V = (lambda + s) I + sum of c c^T,    b = (lambda + s) p0 + sum of c y,    V^-1 b = p0 where there is no data.

Learners without confidence sets begin with these sums. Confidence sets are made from the data alone: an interval whose
bias is bounded entry by entry, for coefficients p in [0, 1], does not depend on p0 at all. With x = V^-1 c

    p c  =  x b - x S + (lambda + s) x (p - p0)  =  x (b - (lambda + s) p0) - x S + (lambda + s) x p,

which is the interval of the data with a larger ridge, and so with a larger bias. A model that need not be right cannot
make a set smaller that holds whatever the truth is.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import SetSlots
from goalbound.confidence.regression import dot
from goalbound.jit.compile import Slot, lean
from goalbound.jit.struct import Struct
from goalbound.models.validation import set_readonly
from goalbound.planning.kernels.stochastic_rows import NO_GOAL, cannot_reach_goal
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

inner_loss_set = Slot("inner_loss_set")
inner_row_set = Slot("inner_row_set")
inner_known_width = Slot("inner_known_width")
inner_loss_width = Slot("inner_loss_width")
inner_is_known = Slot("inner_is_known")


class Declared(Struct):
    """What was declared of single pairs: ``constants.declared``."""

    floor: NDArray[np.float64]
    """[N] a lower bound of the mean loss, what is added included"""
    loss_known: NDArray[np.bool_]
    """[N]"""
    losses: NDArray[np.float64]
    """[N, d] where known"""
    row_known: NDArray[np.bool_]
    """[N]"""
    rows: NDArray[np.float64]
    """[M, d] where known; empty if no row is"""


class ModelPrior(Struct):
    """Guesses of losses and rows, with their strengths: ``constants.model``."""

    guessed: NDArray[np.bool_]
    """[N] the pairs whose sums begin with a guess"""
    strength: NDArray[np.float64]
    """[N] in visits at each corner of the simplex"""
    losses: NDArray[np.float64]
    """[N, d] where guessed"""
    rows: NDArray[np.float64]
    """[M, d] where guessed, in the order of the support; empty if nothing is"""


def nothing_declared(pairs: int, size: int, floor: float) -> tuple[Declared, ModelPrior]:
    """Nothing is known of single pairs but the floor of all losses, and nothing is guessed."""
    none, zeros = set_readonly(np.zeros(pairs, dtype=np.bool_)), set_readonly(np.zeros(pairs))
    losses, rows = set_readonly(np.zeros((pairs, size))), set_readonly(np.zeros((0, size)))
    declared = Declared(set_readonly(np.full(pairs, floor)), none, losses, none, rows)
    return declared, ModelPrior(none, zeros, losses, rows)


@lean
def known_row(constants, view, pair):
    """Write a known row, in the order of the support: intervals of no length, or a point."""
    sets = view.sets
    goal = len(constants.pair_start) - 1
    first = constants.next_start[pair]
    used = 0
    mass = 0.0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal and sets.shape != INTERVAL_SET:
            continue
        q = dot(constants.declared.rows[place], view.context)
        sets.state[first + used] = constants.next_state[place]
        if sets.shape == INTERVAL_SET:
            sets.low[first + used] = q
            sets.high[first + used] = q
        else:
            sets.centre[first + used] = q
            mass += q * q
        used += 1
    sets.used[pair] = used
    sets.mass[pair] = NO_GOAL if cannot_reach_goal(constants, pair) else mass
    sets.ball[pair] = 0.0


@lean
def declared_loss_set(constants, state, view, pair):
    """The known loss, or the inner set."""
    if constants.declared.loss_known[pair]:
        loss = min(dot(constants.declared.losses[pair], view.context), 1.0)
        return loss, loss
    return inner_loss_set(constants, state, view, pair)


@lean
def declared_row_set(constants, state, view, pair):
    """The known row, or the inner set."""
    if constants.declared.row_known[pair]:
        known_row(constants, view, pair)
        return 0.0
    return inner_row_set(constants, state, view, pair)


@lean
def declared_known_width(constants, state, view, pair, low, high, width):
    """Nothing where all is known; the width of the losses where the row is."""
    if constants.declared.row_known[pair]:
        if constants.declared.loss_known[pair]:
            return 0.0
        return inner_loss_width(constants, state, view, pair, low, high, width)
    return inner_known_width(constants, state, view, pair, low, high, width)


@lean
def declared_is_known(constants, state, view, pair):
    """A pair is known where its loss and its row are."""
    if constants.declared.row_known[pair] and constants.declared.loss_known[pair]:
        return True
    return inner_is_known(constants, state, view, pair)


@cache
def around(inner: SetSlots) -> SetSlots:
    """The kernels of a confidence model with what is declared put in."""
    filling = {
        inner_loss_set: inner.loss_set,
        inner_row_set: inner.row_set,
        inner_known_width: inner.known_width,
        inner_loss_width: inner.loss_width,
        inner_is_known: inner.is_known,
    }
    return inner._replace(
        loss_set=declared_loss_set.filled(filling),
        row_set=declared_row_set.filled(filling),
        known_width=declared_known_width.filled(filling),
        is_known=declared_is_known.filled(filling),
    )


@lean
def begin_sums_with_models(constants, regression):
    """Without data: the sums of all pairs that were guessed are those of their guesses."""
    for pair in range(len(constants.model.guessed)):
        if constants.model.guessed[pair]:
            begin_sums_with_model(constants, regression, pair)


@lean
def begin_sums_with_model(constants, regression, pair):
    """The sums of a pair are those of its guess; all its next states have indices, in the order of the support.
    O(m d + d^2) for m next states."""
    model = constants.model
    goal = len(constants.pair_start) - 1
    size = regression.gram.shape[1]
    weight = constants.regularization + model.strength[pair]
    for j in range(size):
        regression.gram[pair, j, j] = weight
        regression.inverse[pair, j, j] = 1.0 / weight
        regression.loss_sums[pair, j] = weight * model.losses[pair, j]
    first = constants.next_start[pair]
    count = 0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal:
            for j in range(size):
                regression.goal_sums[pair, j] = weight * model.rows[place, j]
            continue
        regression.seen_index[place] = count
        regression.seen_state[first + count] = constants.next_state[place]
        for j in range(size):
            regression.next_sums[first + count, j] = weight * model.rows[place, j]
        count += 1
    regression.seen[pair] = count
