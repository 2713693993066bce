"""What an experiment can be made of: problems, learners, sources of contexts, laws of losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from goalbound.estimation import Widths, paper, printed, scaled
from goalbound.experiments.catalog import Catalog, Entry, meant
from goalbound.learners.context_blind import ContextBlind
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.reference_policies import Clairvoyant
from goalbound.learners.settings import added_loss
from goalbound.models import LinearCSSP, ModelError, Support
from goalbound.planning import ContextBounds, context_bounds
from goalbound.problems.catalog import CATALOG as FAMILIES
from goalbound.simulation.contexts import Adversary, Corners, Cyclic, Dirichlet, Drifting, Listed
from goalbound.simulation.world import LossLaw, ModelWorld, World, bernoulli, bounded, deterministic


@dataclass(frozen=True)
class Stage:
    """Where learners play: the problem that regret is measured against, and the world that answers."""

    problem: LinearCSSP
    world: Callable[..., World]
    """makes the world from ``rng=``"""


def stage_of(made: Any, losses: LossLaw, where: str) -> Stage:
    """What a problem's function made, as a stage: a problem is played as it is."""
    if isinstance(made, Stage):
        if losses.is_random:
            raise ModelError(f"{where}: this world draws its own losses; leave losses at deterministic")
        return made
    if not isinstance(made, LinearCSSP):
        raise ModelError(f"{where}: the function made a {type(made).__name__}; a problem is a LinearCSSP (or a Stage)")
    return Stage(made, partial(ModelWorld, made, losses=losses))


def frozen_lake(*, map_name: str = "4x4", rates: list[float] | None = None) -> Stage:
    """The real FrozenLake of Gymnasium; the context mixes environments of different success rates (1 and 1/3)."""
    import gymnasium

    chosen = [1.0, 1.0 / 3.0] if rates is None else rates
    return _real([gymnasium.make("FrozenLake-v1", map_name=map_name, success_rate=float(rate)) for rate in chosen])


def cliff_walking() -> Stage:
    """The real CliffWalking of Gymnasium; the context mixes the dry and the slippery cliff."""
    import gymnasium

    return _real([gymnasium.make("CliffWalking-v1", is_slippery=slippery) for slippery in (False, True)])


def taxi() -> Stage:
    """The real Taxi of Gymnasium; the context mixes dry and rainy weather."""
    import gymnasium

    return _real([gymnasium.make("Taxi-v4", is_rainy=rainy) for rainy in (False, True)])


def _real(environments: list[Any]) -> Stage:
    from goalbound.adapters.gymnasium import ContextualEnvironmentWorld, from_environments

    table = from_environments(environments)
    return Stage(table.problem, partial(ContextualEnvironmentWorld, table, environments))


PROBLEMS = Catalog(
    "problem",
    [
        *(Entry(entry.name, entry.summary, entry.family) for entry in FAMILIES.values()),
        Entry("frozen-lake", "Gymnasium's FrozenLake itself; contexts mix success rates", frozen_lake),
        Entry("cliff-walking", "Gymnasium's CliffWalking itself; contexts mix dry and slippery", cliff_walking),
        Entry("taxi", "Gymnasium's Taxi itself; contexts mix dry and rainy", taxi),
    ],
)
"""The problems that a spec may name."""


_REMEMBERED: dict[int, tuple[LinearCSSP, ContextBounds]] = {}


def certified_bounds(problem: LinearCSSP) -> ContextBounds:
    """B*, T* and the loss floor of a problem, to 10%; remembered for the last few problems."""
    found = _REMEMBERED.get(id(problem))
    if found is None or found[0] is not problem:
        if len(_REMEMBERED) >= 8:
            _REMEMBERED.clear()
        found = _REMEMBERED[id(problem)] = (problem, context_bounds(problem, tolerance=0.1))
    return found[1]


def lr_cssp(
    problem: LinearCSSP,
    *,
    episodes: int,
    delta: float = 0.1,
    widths: str = "paper",
    scale: float = 1.0,
    support: str = "true",
    loss_floor: str | float = "certified",
    loss_bound: str | float = "certified",
    regularization: float = 1.0,
    forget: bool = False,
    tolerance: float = 1e-3,
) -> LRCSSP:
    """The learner of the paper, told what an honest user could tell it."""
    return LRCSSP(
        _support(problem, support), problem.context_size,
        **_told(problem, problem.context_size, episodes, loss_floor, loss_bound),
        delta=delta, widths=_widths(widths, scale), regularization=regularization, forget=forget, tolerance=tolerance,
    )  # fmt: skip


def context_blind(
    problem: LinearCSSP,
    *,
    episodes: int,
    delta: float = 0.1,
    widths: str = "paper",
    scale: float = 1.0,
    support: str = "true",
    loss_floor: str | float = "certified",
    loss_bound: str | float = "certified",
    regularization: float = 1.0,
    tolerance: float = 1e-3,
) -> ContextBlind:
    """The same learner, never shown a context."""
    inner = LRCSSP(
        _support(problem, support), 1, **_told(problem, 1, episodes, loss_floor, loss_bound),
        delta=delta, widths=_widths(widths, scale), regularization=regularization, tolerance=tolerance,
    )  # fmt: skip
    return ContextBlind(inner)


def clairvoyant(problem: LinearCSSP) -> Clairvoyant:
    """Knows the problem and plays the best policy of each context."""
    return Clairvoyant(problem)


def _support(problem: LinearCSSP, word: str) -> Support:
    if word == "true":
        return problem.support
    if word == "full":
        support = problem.support
        if support.pairs != support.states * support.actions:
            raise ModelError('support = "full" needs every action in every state, which this problem does not have')
        return Support.full(support.states, support.actions)
    raise ModelError(f'support is {word!r}; it is "true" (where actions can lead is known) or "full" (nothing is)')


def _told(
    problem: LinearCSSP, size: int, episodes: int, loss_floor: str | float, loss_bound: str | float
) -> dict[str, Any]:
    """What the learner is told about losses. ``certified``: the bound is the upper end of a certified interval."""
    floor = _number("loss_floor", loss_floor, ("certified",))
    if floor is None:
        floor = float(certified_bounds(problem).loss_floor)
    bound = _number("loss_bound", loss_bound, ("certified", "doubling"))
    if bound is None and loss_bound == "certified":
        bounds = certified_bounds(problem)
        bound = max(1.0, float(bounds.loss_bound.upper))
        if floor == 0.0:  # the learner adds epsilon to every step, so its B grows by epsilon T*
            bound += added_loss(problem.support, size, episodes) * float(bounds.time_bound.upper)
        if not np.isfinite(bound):
            raise ModelError('loss_bound = "certified": no finite bound was found; give a number, or "doubling"')
    return {"loss_floor": floor, "loss_bound": bound, "episodes": episodes if floor == 0.0 else None}


def _number(name: str, value: str | float, words: tuple[str, ...]) -> float | None:
    if isinstance(value, bool) or (isinstance(value, str) and value not in words):
        raise ModelError(f"{name} is {value!r}; it is a number or one of {', '.join(words)}")
    return None if isinstance(value, str) else float(value)


def _widths(name: str, scale: float) -> Widths:
    rules: Mapping[str, Callable[[], Widths]] = {"paper": paper, "printed": printed}
    if name not in rules:
        raise ModelError(f'widths is "{name}"{meant(name, rules)}; there are {", ".join(rules)}')
    return rules[name]() if scale == 1.0 else scaled(rules[name](), by=scale)


LEARNERS = Catalog(
    "learner",
    [
        Entry("lr-cssp", "the learner of the paper, with its guarantees", lr_cssp),
        Entry("context-blind", "the same learner, never shown a context", context_blind),
        Entry("clairvoyant", "knows the problem: no regret", clairvoyant),
    ],
)
"""The learners that a spec may name."""


def dirichlet(size: int, *, alpha: float = 1.0) -> Dirichlet:
    """Independent Dirichlet draws; alpha 1 is uniform on the simplex."""
    return Dirichlet(np.full(size, float(alpha)))


def corners(size: int) -> Corners:
    """One component at a time, at random."""
    return Corners(size)


def cyclic(size: int, *, contexts: list[Any] | None = None) -> Cyclic:
    """The contexts given, again and again; the corners if none are given."""
    return Cyclic(np.eye(size) if contexts is None else np.array(contexts, dtype=np.float64))


def listed(size: int, *, contexts: list[Any] | None = None) -> Listed:
    """The contexts given, one per episode."""
    if contexts is None:
        raise ModelError("listed needs contexts = [[...], ...], one per episode")
    return Listed(np.array(contexts, dtype=np.float64))


def drifting(size: int, *, episodes: int, start: list[float] | None = None, end: list[float] | None = None,
             wobble: float = 0.0) -> Drifting:  # fmt: skip
    """From one context to another over the whole run; from the first corner to the last if none are given."""
    first = np.eye(size)[0] if start is None else np.array(start, dtype=np.float64)
    last = np.eye(size)[-1] if end is None else np.array(end, dtype=np.float64)
    return Drifting(first, last, episodes=episodes, wobble=wobble)


def adversary(size: int) -> Adversary:
    """Looks at the learner's data and picks the context that it knows least."""
    return Adversary.anywhere(size)


CONTEXTS = Catalog(
    "source of contexts",
    [
        Entry("dirichlet", "independent Dirichlet draws; alpha 1 is uniform", dirichlet),
        Entry("corners", "one component at a time, at random", corners),
        Entry("cyclic", "a list, again and again (the corners if none is given)", cyclic),
        Entry("listed", "a list, once", listed),
        Entry("drifting", "from one context to another over the run", drifting),
        Entry("adversary", "picks what the learner knows least", adversary),
    ],
)
"""The sources of contexts that a spec may name."""

LOSS_LAWS: Mapping[str, Callable[..., LossLaw]] = {
    "deterministic": deterministic,
    "bernoulli": bernoulli,
    "bounded": bounded,
}
"""How the losses of a simulated world are drawn."""
