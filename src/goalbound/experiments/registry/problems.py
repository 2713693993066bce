"""The problems and the loss laws that an experiment may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.registry.catalog import Catalog, Entry, hint
from goalbound.models import SSP, LinearCSSP
from goalbound.models.files import load
from goalbound.models.step import LossLaw, bernoulli, bounded, deterministic
from goalbound.models.validation import check_array
from goalbound.problems.catalog import CATALOG as FAMILIES
from goalbound.simulation.environment import Environment, ModelEnvironment


@dataclass(frozen=True)
class ProblemInstance:
    """The problem that regret is measured against, and the environment that is simulated."""

    problem: LinearCSSP
    environment: Callable[..., Environment]
    """factory of the environment, called with ``rng=``"""


def problem_instance(made: Any, losses: LossLaw, where: str) -> ProblemInstance:
    """The result of a problem factory as a problem instance; a bare problem is simulated by itself."""
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


FILES = (".npz", ".umb", ".drn")
"""How the names of files end that may be problems."""


def problem_file(name: str, where: str, plugins: Plugins) -> Entry | None:
    """A problem that was saved, by the name of its file, which is relative to the folder of the spec."""
    if not name.lower().endswith(FILES):
        return None
    if Path(name).is_absolute():
        raise ArgumentError(
            f'{where}.use: "{name}" is not relative; name a file by its way from that of the experiment'
        )
    path = Path(plugins.folder or ".") / name
    if not path.is_file():
        raise ArgumentError(
            f'{where}.use: there is no file "{name}" in {path.parent}, beside the file of the experiment'
        )

    def read(*, loss: str | None = None, goal: str | None = None) -> LinearCSSP:
        problem = load(path, loss=loss, goal=goal)
        return LinearCSSP.mix([problem]) if isinstance(problem, SSP) else problem

    return Entry(name, "a problem in a file", read, is_file=True)


ENVIRONMENTS = (
    Entry("frozen-lake", "Gymnasium's FrozenLake itself; contexts mix success rates", frozen_lake),
    Entry("cliff-walking", "Gymnasium's CliffWalking itself; contexts mix dry and slippery", cliff_walking),
    Entry("taxi", "Gymnasium's Taxi itself; contexts mix dry and rainy", taxi),
)
"""Those that need Gymnasium."""

PROBLEMS = Catalog(
    "problem",
    [
        *(Entry(entry.name, entry.summary, entry.family) for entry in FAMILIES.values()),
        *ENVIRONMENTS,
    ],
    group="problems",
    from_file=problem_file,
)
"""The problems that a spec may name."""

LOSS_LAWS: Mapping[str, Callable[..., LossLaw]] = {
    "deterministic": deterministic,
    "bernoulli": bernoulli,
    "bounded": bounded,
}
"""Loss distributions of simulated environments."""


def loss_law(losses: str | Mapping[str, Any]) -> LossLaw:
    """The law that ``losses`` names: a word, or a table ``{ law = "bounded", spread = 0.5 }``."""
    settings = {"law": losses} if isinstance(losses, str) else dict(losses)
    law = settings.pop("law", None)
    if not isinstance(law, str) or law not in LOSS_LAWS:
        guess = hint(law, LOSS_LAWS) if isinstance(law, str) else ""
        raise ArgumentError(f"losses: there is no law {law!r}{guess}; there are {', '.join(LOSS_LAWS)}")
    try:
        return LOSS_LAWS[law](**settings)
    except TypeError:
        raise ArgumentError(
            f"losses: {law} does not take {settings}; bounded takes a spread, the others nothing"
        ) from None
