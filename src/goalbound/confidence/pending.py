"""Visits whose outcome was not reported yet, or never will be.

A visit counts in the Gram matrix as soon as an outcome of a later visit of the same pair is learned from, in the order
in which the pair was played. Which outcomes are reported early may depend on the outcomes, so those still missing are
taken to be anything in [0, 1]. With x = V^-1 c, contexts c_i >= 0 and y_i in [0, 1] they would have moved an estimate
by sum y_i x c_i: between x- C and x+ C, where C is the sum of the c_i and x-, x+ are the negative and positive entries
of x; and the estimate of a whole pair, in the norm of V, by at most the sum of the norms of the c_i in V^-1.

Sums are kept as whole numbers of :data:`UNIT`, rounded up: they come back to exactly 0 when all outcomes are known.
"""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

UNIT = 2.0**-32
"""Contexts and norms of pending visits are rounded up to whole numbers of it."""


class Pending(Struct):
    """What was played and not reported, by pair."""

    visits: NDArray[np.int64]
    """[N]"""
    contexts: NDArray[np.int64]
    """[N, d] sum of their contexts, in UNITs"""
    norms: NDArray[np.int64]
    """[N] sum of the norms of their contexts in V^-1 when they began to count, in UNITs; they are no larger now, as
    no visit leaves V"""


def new_pending(pairs: int, size: int) -> Pending:
    """All outcomes are known."""
    return Pending(
        visits=np.zeros(pairs, dtype=np.int64),
        contexts=np.zeros((pairs, size), dtype=np.int64),
        norms=np.zeros(pairs, dtype=np.int64),
    )


@lean
def in_units(number):
    """The least whole number of UNITs that is not below ``number``."""
    return ceil(number / UNIT)


@lean
def add_pending(pending, pair, context, norm, sign):
    """One more pending visit (``sign`` 1), or one less (-1). ``norm`` is in UNITs."""
    pending.visits[pair] += sign
    pending.norms[pair] += sign * norm
    for j in range(len(context)):
        pending.contexts[pair, j] += sign * in_units(context[j])


@lean
def pending_norm(pending, pair):
    """By how much the outcomes that are missing may have moved the estimate of a pair, in the norm of V."""
    return UNIT * pending.norms[pair]


@lean
def pending_interval(pending, pair, direction):
    """The least and the most that the outcomes that are missing may add to the estimate of one number."""
    least = 0.0
    most = 0.0
    if pending.visits[pair] > 0:
        for j in range(len(direction)):
            weight = UNIT * pending.contexts[pair, j]
            least += min(direction[j], 0.0) * weight
            most += max(direction[j], 0.0) * weight
    return least, most
