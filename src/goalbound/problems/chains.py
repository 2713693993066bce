"""Chains of states, one step after the other to the goal: a combination lock that deceives, and a long corridor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.models import LinearCSSP
from goalbound.models.triples import from_triples
from goalbound.models.validation import generator_from_seed
from goalbound.problems.checks import check_entries, check_float, check_int

TURN_LOSS, DECOY_LOSS = 0.2, 0.02


def deceptive_lock(
    length: int = 5, *, actions: int = 4, context_size: int = 2, seed: int | np.random.Generator = 0
) -> LinearCSSP:
    """A lock of ``length`` digits; each component has a combination of its own, drawn at random.

    At each digit the action that a component's combination asks for moves on to the next digit (after the last: the
    goal) with probability 0.95 under the first component, falling to 0.9 under the last, and else stays. An action
    that only other components ask for jams: it stays. Both have a loss of 0.2. All other actions are decoys: a loss
    of 0.02, and back to the first digit. At the first digit the combinations all differ.

    Deceptive: the policy of smallest losses plays decoys, and never ends under any context. Turning at random needs
    at least (1 + actions - context_size) ** length steps on average under any component: at each digit that many of
    the turns which do not jam lead back for one that leads on.

    The average of all components favours the first digit of the first combination; under the other components that
    action jams forever.

    Proper for every context c: at each digit play what the component of the largest weight asks for. It moves on
    with probability at least 0.9 max(c) >= 0.9 / d and else stays: at most length * d / 0.9 steps on average.

    >>> deceptive_lock(3, actions=3)
    LinearCSSP(2 components, 3 states, 9 pairs, 15 next states)
    """
    length = check_int(length, "length", least=1)
    context_size = check_int(context_size, "context_size", least=1)
    actions = check_int(actions, "actions", least=context_size + 1)
    check_entries(3 * length * actions * context_size, "length * actions * context_size")
    asked = _combinations(length, actions, context_size, generator_from_seed(seed))

    digit, action = np.divmod(np.arange(length * actions), actions)
    asks = action[:, None] == asked[:, digit].T  # [N, d]
    advances = np.where(asks, np.linspace(0.95, 0.9, context_size), 0.0)
    decoy = ~asks.any(axis=1)
    stays = np.where(decoy[:, None], 0.0, 1.0 - advances)
    resets = np.repeat(decoy[:, None], context_size, axis=1).astype(np.float64)
    built = from_triples(
        np.tile(digit, 3), np.tile(action, 3), np.concatenate((digit + 1, digit, np.zeros_like(digit))),
        np.concatenate((advances, stays, resets)), states=length,
        names=([f"digit {n + 1}" for n in range(length)], [f"turn {a}" for a in range(actions)]),
    )  # fmt: skip
    losses = np.repeat(np.where(decoy, DECOY_LOSS, TURN_LOSS)[:, None], context_size, axis=1)
    names = tuple(f"combination {k + 1}" for k in range(context_size))
    return LinearCSSP(built.support, losses, built.probabilities, 0, names)


def _combinations(length: int, actions: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[d, length] the action that each combination asks for at each digit; all different at the first."""
    asked = rng.integers(actions, size=(size, length))
    asked[:, 0] = rng.permutation(actions)[:size]
    return asked


def long_corridor(length: int = 50, *, stride: int = 4, step_loss: float = 0.1) -> LinearCSSP:
    """``length`` places in a row, the goal behind the last; the context says how wet the floor is.

    To walk goes one place on, under every context. To run goes ``stride`` places on where it is dry, and slips one
    place back where it is wet (the first place is as far back as it goes). Every step has the same loss, so the
    loss of an episode is ``step_loss`` times its steps.

    The optimal number of steps is ceil(length / stride) in the dry corner and ``length`` in the wet one. For the
    default stride and a corridor of 4 places or more, the average of both says run at the beginning; in the wet
    that policy stays at the first place forever.

    Proper for every context: walking needs exactly ``length`` steps.

    >>> long_corridor(3).component_names
    ('dry', 'wet')
    """
    length = check_int(length, "length", least=1)
    stride = check_int(stride, "stride", least=1)
    step_loss = check_float(step_loss, "step_loss", least=0.0, most=1.0)
    place = np.arange(length)
    walk, run = np.zeros_like(place), np.ones_like(place)
    always, dry, wet = (np.tile(column, (length, 1)) for column in ([1.0, 1.0], [1.0, 0.0], [0.0, 1.0]))
    built = from_triples(
        np.tile(place, 3), np.concatenate((walk, run, run)),
        np.concatenate((place + 1, np.minimum(place + stride, length), np.maximum(place - 1, 0))),
        np.concatenate((always, dry, wet)), states=length,
        names=([f"place {n + 1}" for n in range(length)], ["walk", "run"]),
    )  # fmt: skip
    losses = np.full((built.support.pairs, 2), step_loss)
    return LinearCSSP(built.support, losses, built.probabilities, 0, ("dry", "wet"))
