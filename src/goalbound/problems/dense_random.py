"""Random problems in which every action may lead everywhere: small, and learned soon enough to see the theorem."""

from __future__ import annotations

import numpy as np

from goalbound.models import LinearCSSP
from goalbound.models.validation import generator_from_seed
from goalbound.problems.checks import check_entries, check_int
from goalbound.problems.random_cssp import LOSS_FLOOR


def dense_random(
    states: int = 4, *, actions: int = 2, context_size: int = 2, seed: int | np.random.Generator = 0
) -> LinearCSSP:
    """Every pair leads to every state and to the goal, by rows drawn uniformly from the simplex for each component.

    Losses are uniform in [0.1, 1]. Next states are mixed within a few steps and the goal is never far, so every pair
    is played often whatever the policy: the family on which regret takes the shape that the theory gives it first.

    Proper for every context: every row has a positive probability of the goal under every component, so every policy
    reaches it with probability one. (A probability of zero has probability zero.)

    >>> dense_random(3, actions=2, context_size=2).support.triples  # 3 states, 2 actions, 3 + 1 next states
    24
    """
    states = check_int(states, "states", least=1)
    actions = check_int(actions, "actions", least=1)
    size = check_int(context_size, "context_size", least=1)
    check_entries(states * actions * (states + 1) * size, "states * actions * states * context_size")
    rng = generator_from_seed(seed)
    rows = rng.standard_exponential((size, states, actions, states + 1))
    losses = rng.uniform(LOSS_FLOOR, 1.0, size=(size, states, actions))
    return LinearCSSP.dense(losses, rows / rows.sum(axis=-1, keepdims=True))
