"""Losses that were said to be free of noise, and are not: the error that names what contradicts what."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.kernels.noise_free import NoiseFreeState
from goalbound.learners.ties import Groups
from goalbound.models import Support

MOST_NAMED = 3
"""Losses seen before that an error names."""


def contradicted_loss(support: Support, groups: Groups | None, state: NoiseFreeState) -> ArgumentError:
    """The error for the contradiction that the state holds."""
    found = state.contradiction
    pair = int(found["pair"])
    tied = groups is not None and groups.of_loss[pair] >= 0
    number = int(groups.of_loss[pair]) if groups is not None and tied else pair
    count = int(state.count[number])
    seen = [f"{state.losses[number, k]:.6g} under {_text(state.contexts[number, k])}" for k in range(count)]
    more = f" and {count - MOST_NAMED} more" if count > MOST_NAMED else ""
    low, high = float(found["low"]), float(found["high"])
    said = f"{low:.6g}" if high - low < 1e-6 else f"from {low:.6g} to {high:.6g}"
    whose = "it and the losses it is tied to were" if tied else "it was"
    return ArgumentError(
        f"the loss of {support.pair_name(pair)} was {float(found['loss']):.6g} under {_text(state.context)}, and is "
        f"said to be free of noise: {whose} {', '.join(seen[:MOST_NAMED])}{more}, so that it can only be {said}. The "
        "step was not recorded. Correct the loss, or leave this pair out of with_noise_free_losses"
        + (" or with_tied_losses" if tied else "")
    )


def _text(context: NDArray[np.float64]) -> str:
    return "[" + ", ".join(f"{weight:.4g}" for weight in context.tolist()) + "]"
