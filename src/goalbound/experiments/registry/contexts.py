"""The context sources that an experiment may name. A factory takes the size of the context and the settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound.adapters.covariates.contexts import uniform_numbers
from goalbound.errors import ArgumentError
from goalbound.experiments.registry.catalog import Catalog, Entry
from goalbound.simulation.contexts import Adversary, Cyclic, Dirichlet, Drifting, FromArray, OneHot


def cyclic(size: int, *, contexts: list[Any] | None = None) -> Cyclic:
    """The given contexts in a cycle; the corners by default."""
    return Cyclic(np.eye(size) if contexts is None else contexts)  # type: ignore[arg-type]


def listed(size: int, *, contexts: list[Any] | None = None) -> FromArray:
    """The contexts given, one per episode."""
    if contexts is None:
        raise ArgumentError("listed needs contexts = [[...], ...], one per episode")
    return FromArray(contexts)  # type: ignore[arg-type]


def drifting(size: int, *, episodes: int, start: list[float] | None = None, end: list[float] | None = None,
             noise: float = 0.0) -> Drifting:  # fmt: skip
    """Moves from one context to another over the run; from the first corner to the last by default."""
    first, last = np.eye(size)[0] if start is None else start, np.eye(size)[-1] if end is None else end
    return Drifting(first, last, episodes=episodes, noise=noise)  # type: ignore[arg-type]


CONTEXTS = Catalog(
    "source of contexts",
    [
        Entry(
            "dirichlet",
            "independent Dirichlet draws; alpha 1 is uniform",
            Dirichlet.symmetric,
            also=("uniform", "simplex", "random"),
        ),
        Entry("corners", "one component at a time, at random", OneHot, also=("one-hot", "onehot", "pure")),
        Entry("cyclic", "a list, again and again (the corners if none is given)", cyclic),
        Entry("listed", "a list, once", listed),
        Entry("drifting", "from one context to another over the run", drifting),
        Entry("uniform-number", "a number x, uniform on [0, 1] (for treatment-curve)", uniform_numbers),
        Entry(
            "adversary",
            "picks the context with the largest confidence width",
            Adversary.anywhere,
            also=("adversarial",),
        ),
    ],
    group="contexts",
)
"""The sources of contexts that a spec may name."""
