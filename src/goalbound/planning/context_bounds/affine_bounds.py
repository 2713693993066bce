"""Bounds over a sub-simplex of contexts that are affine in the context: an error of second order in its size.

Let c = sum of w_k c_k (w_k >= 0, sum 1) be a context of the sub-simplex with corners c_1 ... c_K, and let V_c be the
affine function sum of w_k V_k of vectors V_k[S + 1], 0 at the goal. For a pair of state s,

    loss_c + P_c V_c - V_c(s) = sum over j, k of w_j w_k E_jk,
    E_jk = (loss_j + loss_k) / 2 + (P_j V_k - V_k(s) + P_k V_j - V_j(s)) / 2,

because everything is linear in c and the weights sum to 1. So if every E_jk <= 0 (or >= 0), the left side is <= 0
(or >= 0) at every context of the sub-simplex: finitely many numbers prove an inequality at all contexts.

- *Falls*: if for the pairs of a policy every -E_jk, with losses left out, is >= f > 0 for a shape H >= 0, then H_c
  falls by f on average with each step, so at every context the policy is proper and takes at most H_c / f steps.
- *Upper*: if moreover V + y H has E_jk <= 0 for those pairs, it is at least the policy's value, hence v*, everywhere.
- *Lower*: if V - x H has E_jk >= 0 for all pairs, it is at most the value of every proper policy, everywhere.

With V_k the values of one policy at c_k, E_kk = 0 and E_jk = (P_j - P_k)(V_k - V_j) / 2, the product of two small
differences. Rounding is counted against us: each E_jk comes with a bound of its error, which also covers the mixing
of the components and the division of each row by its exact sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import Support
from goalbound.planning.context_bounds.context_point import CornerPoints

ROUNDING = 2.0**-53
Floats = NDArray[np.float64]


class PairSubset(NamedTuple):
    """Some pairs (n, in increasing order) of a support and their triples (m)."""

    pairs: NDArray[np.int64]
    """[n]"""
    state: NDArray[np.int64]
    """[n] the state of each pair"""
    first: NDArray[np.int64]
    """[n] where the triples of each pair begin among the m"""
    triples: NDArray[np.int64]
    """[m] their numbers in the support"""
    source: NDArray[np.int64]
    """[m] the state of each triple"""
    target: NDArray[np.int32]
    """[m] its next state"""

    @classmethod
    def of(cls, support: Support, pairs: NDArray[np.int64]) -> PairSubset:
        """The subset of these pairs."""
        lengths = support.next_start[pairs + 1] - support.next_start[pairs]
        first = np.cumsum(lengths) - lengths
        triples = np.repeat(support.next_start[pairs] - first, lengths) + np.arange(int(lengths.sum()))
        state = support.pair_state[pairs].astype(np.int64)
        return cls(pairs, state, first, triples, np.repeat(state, lengths), support.next_state[triples])


class CornerModels(NamedTuple):
    """The losses and probabilities of a subset at the K corners of a sub-simplex."""

    subset: PairSubset
    losses: Floats
    """[K, n]"""
    probabilities: Floats
    """[K, m]"""
    margin: Floats
    """[n] relative error of a sum over the triples of a pair"""

    @classmethod
    def at(cls, subset: PairSubset, corners: CornerPoints) -> CornerModels:
        """The subset at these corners."""
        lengths = np.diff(np.append(subset.first, len(subset.triples)))
        # The sum itself, a row that misses 1 by (length + 4) roundings of 2^-52, and that row's division by its sum; d
        # for the mixing at each corner.
        margin = (4.0 * lengths + 2.0 * len(corners[0].context) + 32.0) * ROUNDING
        losses = np.stack([corner.ssp.losses[subset.pairs] for corner in corners])
        return cls(subset, losses, np.stack([corner.ssp.probabilities[subset.triples] for corner in corners]), margin)

    def with_unit_losses(self) -> CornerModels:
        """The same with loss 1 everywhere: values are then expected steps."""
        return self._replace(losses=np.ones_like(self.losses))

    def change(self, values: Floats) -> tuple[Floats, Floats]:
        """[K, K, n] (P_j V_k - V_k(s) + P_k V_j - V_j(s)) / 2 for V = values[K, S + 1], and a bound of its error."""
        moves = values[:, self.subset.target] - values[:, self.subset.source]
        terms = self.probabilities[:, None, :] * moves[None, :, :]
        change = np.add.reduceat(terms, self.subset.first, axis=2)
        size = np.add.reduceat(np.abs(terms, out=terms), self.subset.first, axis=2)
        underflow = 1e-300 if values.any() else 0.0
        return _symmetric(change), self.margin * _symmetric(size) + underflow

    def excess(self, values: Floats) -> tuple[Floats, Floats]:
        """[K, K, n] E_jk of the module's docstring, and a bound of its error."""
        change, error = self.change(values)
        loss = 0.5 * (self.losses[:, None, :] + self.losses[None, :, :])
        return loss + change, error + self.margin * loss


def _symmetric(values: Floats) -> Floats:
    return 0.5 * (values + values.transpose(1, 0, 2))


def least_decrease(models: CornerModels, shape: Floats) -> float:
    """By how much ``shape[K, S + 1]`` falls at least with each step, at every context; at most 0 if it may not fall."""
    change, error = models.change(shape)
    return float(np.min(-change - error))


def upper_values(models: CornerModels, values: Floats, shape: Floats) -> Floats | None:
    """[K, S + 1] the least ``values + y shape`` (y >= 0) bounding the policy of the subset, None if none is found."""
    change, error = models.change(shape)
    falls = -change - error
    if not (falls > 0.0).all():
        return None
    excess, error = models.excess(values)
    with np.errstate(over="ignore"):
        needed = float(np.max((excess + error) / falls, initial=0.0)) * (1.0 + 8.0 * ROUNDING)
        if not np.isfinite(needed):
            return None
        out = values + needed * shape
        out = out + 4.0 * ROUNDING * (np.abs(values) + needed * np.abs(shape))
    return out if np.isfinite(out).all() else None


def lower_values(models: CornerModels, values: Floats, shape: Floats) -> Floats | None:
    """[K, S + 1] the largest ``values - x shape`` (x >= 0) below the proper policies of the subset, None if none is."""
    change, error = models.change(shape)
    falls = -change - error
    excess, error = models.excess(values)
    excess = excess - error
    short = excess < 0.0
    if (short & (falls <= 0.0)).any():
        return None
    rising = ~short & (falls < 0.0)
    with np.errstate(over="ignore"):
        least = float(np.max(-excess[short] / falls[short], initial=0.0)) * (1.0 + 8.0 * ROUNDING)
        greatest = float(np.min(excess[rising] / -falls[rising], initial=np.inf)) * (1.0 - 8.0 * ROUNDING)
        if not np.isfinite(least) or least > greatest:
            return None
        out = values - least * shape
        out = out - 4.0 * ROUNDING * (np.abs(values) + least * np.abs(shape))
    return out if np.isfinite(out).all() else None
