"""The slots that a method fills in the loop of the context-free learners, and what its room says to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from goalbound.jit.compile import Kernel, Slot
from goalbound.planning.kernels.value_iteration import L2_BALL

update_pair = Slot("update_pair")
"""``(constants, learner, pair)`` bring what plans use of a pair up to its data."""
note_visit = Slot("note_visit")
"""``(constants, learner, pair, arrived)`` what one more visit of a pair changes for the plans to come."""
plan_holds = Slot("plan_holds")
"""``(constants, learner, episode, state) -> bool`` whether the episode takes one step more by its plan."""
begin_plan = Slot("begin_plan")
"""``(constants, learner, episode, sweeps) -> bool`` follow a plan that holds now; whether planning came to its end."""
make_plan = Slot("make_plan")
"""``(constants, learner, sweeps) -> bool`` make the plan of all episodes; whether it came to its end."""
chosen_pair = Slot("chosen_pair")
"""``(constants, learner, episode, state) -> pair`` the pair to play."""
backup = Slot("backup")
"""``(constants, learner, episode, pair) -> value`` what a pair is worth to the plan that the episode follows."""
draw_model = Slot("draw_model")
"""``(constants, learner, rng)`` draw the model of the next plan, where it is drawn."""


@dataclass(frozen=True)
class Room:
    """A method: its kernels, and what Python has to know of it.

    Attributes:
        filling: kernels by slot; those of :data:`goalbound.baselines.loop.DEFAULTS` for the others.
        quantity: what ``scale`` multiplies.
        source: the paper with its theorem.
        needs: constants that have to be given.
        defaults: constants that may be left out, and what they are then.
        shape: of the sets of plausible rows.
        positive_losses: whether the loss floor and the added loss together must be above 0.
        draws: whether the learner draws numbers.
        known_after: ``(method, width, delta, floor)`` [N] more visits make a pair known; None: all are known.
        mean_model: plans that are only looked at are made in this model; None: in that of the next episode.
        looks_again: whether a plan that is only looked at is made anew even if none is due.
    """

    filling: Mapping[Slot, Kernel]
    quantity: str
    source: str
    needs: tuple[str, ...] = ()
    defaults: Mapping[str, float | None] = field(default_factory=dict)
    shape: int = L2_BALL
    positive_losses: bool = True
    draws: bool = False
    known_after: Callable[..., np.ndarray[Any, Any]] | None = None
    mean_model: Kernel | None = None
    looks_again: bool = False


@cache
def kernel_of(kernel: Kernel, name: str) -> Kernel:
    """A kernel with its slots filled by the room of a method."""
    from goalbound.baselines.loop import DEFAULTS
    from goalbound.baselines.methods import ROOMS

    return kernel.filled({**DEFAULTS, **ROOMS[name].filling}, name)
