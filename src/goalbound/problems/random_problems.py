"""Random problems: with one exit action in each state, or with every next state possible."""

from __future__ import annotations

import numpy as np

from goalbound.models import LinearCSSP
from goalbound.models.triples import from_triples
from goalbound.models.validation import generator_from_seed
from goalbound.problems.checks import check_entries, check_float, check_int

LOSS_FLOOR = 0.1
"""The smallest loss of a random problem."""


def random_cssp(
    states: int = 20,
    *,
    actions: int = 3,
    context_size: int = 3,
    successors: int = 4,
    exit_probability: float = 0.1,
    seed: int | np.random.Generator = 0,
) -> LinearCSSP:
    """Random losses and next states; in each state one action, drawn at random, may exit to the goal.

    Every pair has ``successors`` next states (fewer where a draw repeats), the same for all components, with
    weights that are uniform on the simplex and drawn separately for each component. Losses are uniform in [0.1, 1]. The
    exit action leads to the goal with a probability drawn in [e, min(1, 3 e)] for each component, where e is
    ``exit_probability``; no other action leads there.

    Proper for every context: the policy that always plays the exit action reaches the goal with probability at
    least e in each step under every component, and so under every mixture of them; it needs at most 1 / e steps on
    average. So no optimal loss is above 1 / e.

    >>> random_cssp(5, actions=2, context_size=2, seed=1).support.states
    5
    """
    states = check_int(states, "states", least=1)
    actions = check_int(actions, "actions", least=1)
    context_size = check_int(context_size, "context_size", least=1)
    successors = check_int(successors, "successors", least=1)
    floor = check_float(exit_probability, "exit_probability", least=1e-6, most=1.0)
    check_entries(states * actions * (successors + 1) * context_size, "states * actions * successors * context_size")
    rng = generator_from_seed(seed)

    pairs = states * actions
    targets = rng.integers(states, size=(pairs, successors))
    weights = rng.standard_exponential((pairs, successors, context_size))
    weights /= weights.sum(axis=1, keepdims=True)
    exit_pair = np.arange(states) * actions + rng.integers(actions, size=states)
    exits = rng.uniform(floor, min(1.0, 3.0 * floor), size=(states, context_size))
    weights[exit_pair] *= (1.0 - exits)[:, None, :]

    pair = np.concatenate((np.repeat(np.arange(pairs), successors), exit_pair))
    built = from_triples(
        pair // actions, pair % actions, np.concatenate((targets.ravel(), np.full(states, states))),
        np.concatenate((weights.reshape(-1, context_size), exits)), states=states,
    )  # fmt: skip
    losses = rng.uniform(LOSS_FLOOR, 1.0, size=(pairs, context_size))
    return LinearCSSP(built.support, losses, built.probabilities)


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
