"""Sub-simplices of contexts, and points in between."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

SLACK = Fraction(1, 10**13)  # mixing the context between the corners rounds it


def simplices(size: int) -> st.SearchStrategy[list[np.ndarray]]:
    """Corners of a sub-simplex of contexts, dyadic, so that they are exact."""
    dyadic = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(lambda w: sum(w) in (1, 2, 4, 8))
    return st.lists(dyadic.map(lambda w: np.array(w) / sum(w)), min_size=1, max_size=size)
