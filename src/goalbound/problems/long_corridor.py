"""The long corridor: many steps to the goal, and a running start that slips."""

from __future__ import annotations

import numpy as np

from goalbound.models import LinearCSSP
from goalbound.models.triples import from_triples
from goalbound.problems.checks import check_float, check_int


def long_corridor(length: int = 50, *, stride: int = 4, step_loss: float = 0.1) -> LinearCSSP:
    """``length`` places in a row, the goal behind the last; the context says how wet the floor is.

    To walk goes one place on, under every context. To run goes ``stride`` places on where it is dry, and slips one
    place back where it is wet (the first place is as far back as it goes). Every step has the same loss, so the
    loss of an episode is ``step_loss`` times its steps.

    The optimal number of steps is ceil(length / stride) in the dry corner and ``length`` in the wet one. For the
    default stride and a corridor of 4 places or more, the average of both says run at the beginning; in the wet
    that policy stays at the first place for ever.

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
