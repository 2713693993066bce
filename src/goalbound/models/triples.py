"""From unsorted triples (state, action, next state) to the ragged layout: sorted, repeats summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ModelError
from goalbound.models.support import Support
from goalbound.models.validation import set_readonly


class SupportFromTriples(NamedTuple):
    """A support, its probabilities, and the pair of each triple that was given."""

    support: Support
    probabilities: NDArray[np.float64]
    """[M] or [M, d]"""
    pair_of: NDArray[np.int64]
    """[K] the pair of each given triple"""


def from_triples(
    state: ArrayLike,
    action: ArrayLike,
    next_state: ArrayLike,
    probability: NDArray[np.float64],
    *,
    states: int,
    names: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    keep_zeros: bool = False,
) -> SupportFromTriples:
    """K triples in any order as a support and its probabilities ([K] -> [M], or [K, d] -> [M, d]).

    Repeated triples are summed; triples of probability zero (in every component) are dropped unless ``keep_zeros``, or
    where their pair would be left without a next state. O(K log K).
    """
    s = _checked_indices(state, states - 1, "state")
    a = _checked_indices(action, np.iinfo(np.int32).max - 1, "action")
    t = _checked_indices(next_state, states, "next state")
    order = np.lexsort((t, a, s))
    s, a, t = s[order], a[order], t[order]
    new_pair = np.ones(len(order), dtype=bool)
    new_pair[1:] = (s[1:] != s[:-1]) | (a[1:] != a[:-1])
    new_triple = new_pair.copy()
    new_triple[1:] |= t[1:] != t[:-1]
    pair = np.cumsum(new_pair) - 1
    pair_of = np.empty(len(order), dtype=np.int64)
    pair_of[order] = pair

    first = np.flatnonzero(new_triple)
    summed = np.add.reduceat(probability[order], first, axis=0)
    present = (summed != 0.0).reshape(len(first), -1).any(axis=1) | keep_zeros  # a NaN stays, and is an error later
    row = pair[first]
    pairs = int(pair[-1]) + 1
    sizes = np.bincount(row[present], minlength=pairs)
    if (sizes == 0).any():  # a row of zeros: keep it, so that the row check can name it
        present |= (sizes == 0)[row]
        sizes = np.bincount(row[present], minlength=pairs)
    heads = np.flatnonzero(new_pair)
    arrays = (
        np.concatenate(([0], np.cumsum(np.bincount(s[heads], minlength=states)))),
        a[heads].astype(np.int32),
        np.concatenate(([0], np.cumsum(sizes))),
        t[first][present].astype(np.int32),
    )
    pair_start, pair_action, next_start, next_state = map(set_readonly, arrays)
    state_names, action_names = (None if given is None else tuple(given) for given in names)
    support = Support(pair_start, pair_action, next_start, next_state, state_names, action_names)
    return SupportFromTriples(support, summed[present], pair_of)


def pair_losses(
    pair_of: NDArray[np.int64], pairs: int, probability: NDArray[np.float64], loss: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The expected loss of each pair, [N] or [N, d], from the losses of its triples ([K] or [K, d]).

    Where the triples of a pair agree, the loss is theirs, to the bit; else it is their mean by probability.
    """
    low = np.full((pairs, *loss.shape[1:]), np.inf)
    high = np.full((pairs, *loss.shape[1:]), -np.inf)
    np.minimum.at(low, pair_of, loss)
    np.maximum.at(high, pair_of, loss)
    mass, weight = np.zeros_like(low), np.zeros_like(low)
    np.add.at(mass, pair_of, probability * loss)
    np.add.at(weight, pair_of, probability)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weight > 0.0, mass / weight, low)  # a row of zeros has no mean; the row check names it
        return np.asarray(np.where(low == high, low, mean))


def _checked_indices(values: ArrayLike, most: int, what: str) -> NDArray[np.int64]:
    array = np.asarray(values, dtype=np.int64)
    if not len(array):
        raise ModelError("there are no transitions; a problem has at least one state with an action")
    bad = np.flatnonzero((array < 0) | (array > most))
    if len(bad):
        raise ModelError(f"transition {bad[0]}: {what} {array[bad[0]]} is not in 0 to {most}")
    return array
