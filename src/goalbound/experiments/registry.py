"""The registry of problems, context sources and loss distributions. Learners: :mod:`.learners`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from goalbound.adapters.covariates.contexts import CovariateContexts, uniform_numbers
from goalbound.errors import ArgumentError
from goalbound.experiments.catalog import Catalog, Entry
from goalbound.models import LinearCSSP
from goalbound.models.loss_law import LossLaw, bernoulli, bounded, deterministic
from goalbound.models.validation import check_array
from goalbound.problems.catalog import CATALOG as FAMILIES
from goalbound.simulation.contexts import Adversary, Cyclic, Dirichlet, Drifting, FromArray, OneHot
from goalbound.simulation.environment import Environment, ModelEnvironment


@dataclass(frozen=True)
class ProblemInstance:
    """The problem that regret is measured against, and the environment that is simulated."""

    problem: LinearCSSP
    environment: Callable[..., Environment]
    """factory of the environment, called with ``rng=``"""


def problem_instance(made: Any, losses: LossLaw, where: str) -> ProblemInstance:
    """The result of a problem factory as a problem instance; a bare problem is simulated as it is."""
    if isinstance(made, ProblemInstance):
        if losses.is_random:
            raise ArgumentError(f"{where}: this environment draws its own losses; leave losses at deterministic")
        return made
    if not isinstance(made, LinearCSSP):
        raise ArgumentError(
            f"{where}: the function made a {type(made).__name__}; a problem is a LinearCSSP (or a ProblemInstance)"
        )
    return ProblemInstance(made, partial(ModelEnvironment, made, losses=losses))


def frozen_lake(*, map_name: str = "4x4", rates: list[float] | None = None) -> ProblemInstance:
    """FrozenLake of Gymnasium itself; the context mixes environments of different success rates (1 and 1/3)."""
    import gymnasium

    chosen = check_array(
        [1.0, 1.0 / 3.0] if rates is None else rates, "rates", (None,), "success rates, one per component"
    )
    return _from_gymnasium(
        [gymnasium.make("FrozenLake-v1", map_name=map_name, success_rate=float(rate)) for rate in chosen]
    )


def cliff_walking() -> ProblemInstance:
    """CliffWalking of Gymnasium itself; the context mixes the dry and the slippery cliff."""
    import gymnasium

    return _from_gymnasium([gymnasium.make("CliffWalking-v1", is_slippery=slippery) for slippery in (False, True)])


def taxi() -> ProblemInstance:
    """Taxi of Gymnasium itself; the context mixes dry and rainy weather."""
    import gymnasium

    return _from_gymnasium([gymnasium.make("Taxi-v4", is_rainy=rainy) for rainy in (False, True)])


def _from_gymnasium(environments: list[Any]) -> ProblemInstance:
    from goalbound.adapters.gymnasium import ContextualGymEnvironment, from_environments

    table = from_environments(environments)
    return ProblemInstance(table.problem, partial(ContextualGymEnvironment, table, environments))


PROBLEMS = Catalog(
    "problem",
    [
        *(Entry(entry.name, entry.summary, entry.family) for entry in FAMILIES.values()),
        Entry("frozen-lake", "Gymnasium's FrozenLake itself; contexts mix success rates", frozen_lake),
        Entry("cliff-walking", "Gymnasium's CliffWalking itself; contexts mix dry and slippery", cliff_walking),
        Entry("taxi", "Gymnasium's Taxi itself; contexts mix dry and rainy", taxi),
    ],
    group="problems",
)
"""The problems that a spec may name."""


def dirichlet(size: int, *, alpha: float = 1.0) -> Dirichlet:
    """Independent Dirichlet draws; alpha 1 is uniform on the simplex."""
    return Dirichlet.symmetric(size, alpha=alpha)


def corners(size: int) -> OneHot:
    """One component at a time, at random."""
    return OneHot(size)


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


def uniform_number(size: int) -> CovariateContexts:
    """A number, uniform on [0, 1], as hat functions of the problem's components."""
    return uniform_numbers(size)


def adversary(size: int) -> Adversary:
    """Inspects the learner's data and picks the context with the largest confidence width."""
    return Adversary.anywhere(size)


CONTEXTS = Catalog(
    "source of contexts",
    [
        Entry("dirichlet", "independent Dirichlet draws; alpha 1 is uniform", dirichlet),
        Entry("corners", "one component at a time, at random", corners),
        Entry("cyclic", "a list, again and again (the corners if none is given)", cyclic),
        Entry("listed", "a list, once", listed),
        Entry("drifting", "from one context to another over the run", drifting),
        Entry("uniform-number", "a number x, uniform on [0, 1] (for treatment-curve)", uniform_number),
        Entry("adversary", "picks the context with the largest confidence width", adversary),
    ],
    group="contexts",
)
"""The sources of contexts that a spec may name."""

LOSS_LAWS: Mapping[str, Callable[..., LossLaw]] = {
    "deterministic": deterministic,
    "bernoulli": bernoulli,
    "bounded": bounded,
}
"""Loss distributions of simulated environments."""
