"""The arrays of a problem as kernels take them."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.struct import Struct


class Rows(Struct):
    """A problem with S states, N pairs, M triples. The goal is next state S."""

    _indices = ("pair_start", "next_start", "next_state")

    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1]"""
    next_state: NDArray[np.int32]
    """[M]"""
    losses: NDArray[np.float64]
    """[N]"""
    probabilities: NDArray[np.float64]
    """[M] rows sum to 1 up to rounding; an entry may be zero"""


class Reverse(Struct):
    """Who may come here: for each next state, the goal included, the pairs that lead there."""

    _indices = ("start", "pair")

    start: NDArray[np.int64]
    """[S + 2]"""
    pair: NDArray[np.int32]
    """[number of positive entries]"""
