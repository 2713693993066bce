"""Storm's answer, for those who have stormpy. Import it only behind ``pytest.importorskip("stormpy")``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from stormpy import environments, logic, model_checking
from stormpy.datastructures import SparseMatrixBuilder
from stormpy.models import SparseMdp, SparseModelComponents, SparseRewardModel, StateLabeling

from goalbound.models import SSP


def optimal_values(ssp: SSP) -> NDArray[np.float64]:
    """[S + 1] least expected loss to the goal by sound value iteration (relative 1e-6); inf where Storm says so.

    Storm's least expected reward is over policies that reach the goal surely, as ours is.
    """
    support = ssp.support
    goal = support.states
    builder = SparseMatrixBuilder[float](
        rows=support.pairs + 1, columns=goal + 1, entries=support.triples + 1,
        has_custom_row_grouping=True, row_groups=goal + 1,
    )  # fmt: skip
    for state in range(goal):
        builder.new_row_group(int(support.pair_start[state]))
        for pair in range(support.pair_start[state], support.pair_start[state + 1]):
            for triple in range(support.next_start[pair], support.next_start[pair + 1]):
                if ssp.probabilities[triple] > 0.0:
                    builder.add_next_value(int(pair), int(support.next_state[triple]), float(ssp.probabilities[triple]))
    builder.new_row_group(support.pairs)
    builder.add_next_value(support.pairs, goal, 1.0)
    labels = StateLabeling(goal + 1)
    for label, state in (("init", 0), ("goal", goal)):
        labels.add_label(label)
        labels.add_label_to_state(label, state)
    losses = SparseRewardModel[float](optional_state_action_reward_vector=[*ssp.losses.tolist(), 0.0])
    parts = SparseModelComponents[float](builder.build(), labels, {"loss": losses})
    asked = logic.parse_property('R{"loss"}min=? [F "goal"]')
    result = model_checking(SparseMdp[float](parts), asked, environment=environments.sound())
    return np.array(result.get_value_vector())
