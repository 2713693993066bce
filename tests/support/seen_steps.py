"""Steps that a ragged support allows, and their statistics."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from goalbound.confidence import Statistics
from goalbound.models import Step, Support
from tests.support.strategies import contexts

RAGGED = Support.from_pairs(
    [{0: [1, 3], 2: [0, 1, 2, 3]}, {1: [3]}, {0: [2, 0]}], state_names=["a", "b", "c"], action_names=["x", "y", "z"]
)
"""Three states; pairs (0, 0) -> 1, goal; (0, 2) -> everywhere; (1, 1) -> goal; (2, 0) -> 0, 2."""


def steps_of(support: Support) -> st.SearchStrategy[Step]:
    """Steps that the support allows; losses are quarters."""
    possible = [
        (int(support.pair_state[pair]), int(support.pair_action[pair]), int(following))
        for pair in range(support.pairs)
        for following in support.next_state[support.row(pair)]
    ]
    return st.builds(
        lambda where, loss: Step(where[0], where[1], loss / 4.0, where[2]), st.sampled_from(possible), st.integers(0, 4)
    )


Seen = list[tuple[np.ndarray, Step]]


def statistics_of(support: Support, size: int, seen: Seen, ridge: float = 1.0) -> Statistics:
    statistics = Statistics(support, size, regularization=ridge)
    for context, step in seen:
        statistics.record(context, step)
    return statistics


some_steps = st.lists(st.tuples(contexts(2), steps_of(RAGGED)), max_size=25)
