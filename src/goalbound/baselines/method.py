"""Which method a context-free learner follows, with its constants."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil, isfinite, log
from typing import Any

from goalbound.baselines.kernels.state import BERNSTEIN, EB, HOEFFDING, PSRL, UC, ULCVI
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_float, check_size

CODES = {
    "uc-ssp": UC, "hoeffding-ssp": HOEFFDING, "bernstein-ssp": BERNSTEIN,
    "eb-ssp": EB, "ulcvi": ULCVI, "psrl-ssp": PSRL,
}  # fmt: skip
_NEEDS = {
    "uc-ssp": (), "hoeffding-ssp": ("loss_bound",), "bernstein-ssp": (), "eb-ssp": (),
    "ulcvi": ("loss_bound", "time_bound", "episodes"), "psrl-ssp": (),
}  # fmt: skip
_DEFAULTS: dict[str, dict[str, float | None]] = {
    "eb-ssp": {"loss_bound": None},
    "psrl-ssp": {"prior": 0.1, "value_cap": 1000.0},
}
_LONGEST_HORIZON = 2**53
_WHY = {
    "loss_bound": "it bounds the optimal loss from every state",
    "time_bound": "it bounds the expected steps of the optimal policy from every state",
    "episodes": "it is the number of episodes to come",
    "prior": "it is the Dirichlet parameter of each possible next state",
    "value_cap": "no value of a sampled model is taken to be above it",
}


@dataclass(frozen=True)
class Method:
    """A method with its constants. What it does is said by the function that makes its learner, in
    :mod:`goalbound.baselines.factories`.

    Attributes:
        name: what it is called where results are recorded.
        scale: what every radius or bonus is multiplied by.
        loss_bound, time_bound, episodes, prior, value_cap: the constants of single methods, None for the others.

    >>> print(Method("eb-ssp", scale=0.1))
    0.1 x eb-ssp
    """

    name: str
    scale: float = 1.0
    loss_bound: float | None = None
    time_bound: float | None = None
    episodes: int | None = None
    prior: float | None = None
    value_cap: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in CODES:
            raise ArgumentError(f"no method is called {self.name!r}; there are {', '.join(CODES)}")
        why = "it multiplies every radius or bonus, and 1 is the paper's"
        object.__setattr__(self, "scale", _check_positive(self.scale, "scale", why))
        defaults = _DEFAULTS.get(self.name, {})
        for name, why in _WHY.items():
            value = getattr(self, name)
            if value is None:
                value = defaults.get(name)
                object.__setattr__(self, name, value)
            if value is None and name in _NEEDS[self.name]:
                raise ArgumentError(f"{self.name} needs {name}; {why}")
            if value is not None and name not in (*_NEEDS[self.name], *defaults):
                raise ArgumentError(f"{self.name} has no {name}, and {value!r} was given; leave it out")
            if value is not None and name == "episodes":
                check_size(value, "episodes", f"{why}, at least 1", most=2**62)
            elif value is not None:
                least = 1.0 if name in ("loss_bound", "time_bound") else 0.0
                object.__setattr__(self, name, _check_positive(value, name, why, least=least))

        if self.time_bound is not None and not 8.0 * self.time_bound <= _LONGEST_HORIZON:
            raise ArgumentError(f"time_bound is {self.time_bound:g}; ULCVI plans over 8 times as many steps and more")

    @property
    def code(self) -> int:
        """The method as kernels know it."""
        return CODES[self.name]

    @property
    def needs_positive_losses(self) -> bool:
        """Whether the loss floor and the added loss together must be above 0."""
        return self.code not in (EB, ULCVI)

    @property
    def horizon(self) -> int:
        """H of ULCVI, the steps of an interval; 0 for the others."""
        if self.time_bound is None or self.episodes is None:
            return 0
        return ceil(8.0 * self.time_bound * log(8.0 * self.episodes))

    def as_json(self) -> dict[str, Any]:
        """For checkpoints and for records of results."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Method:
        """What :meth:`as_json` gave; keys and types are checked."""
        names = [field.name for field in fields(cls)]
        if not isinstance(values, dict) or set(values) != set(names):
            raise ArgumentError(f"a method is {values!r}; it needs {sorted(names)}")
        kinds: dict[str, tuple[type, ...]] = {"name": (str,), "scale": (float,), "episodes": (int, type(None))}
        for name, value in values.items():
            if type(value) not in kinds.get(name, (float, type(None))):
                raise ArgumentError(f"{name} of a method is {value!r}, of a wrong type")
        return cls(**values)

    def __str__(self) -> str:
        return self.name if self.scale == 1.0 else f"{self.scale:g} x {self.name}"


def _check_positive(value: object, name: str, why: str, *, least: float = 0.0) -> float:
    found = check_float(value, name, why)
    if not (isfinite(found) and (found >= least if least else found > 0.0)):
        raise ArgumentError(f"{name} is {value!r}; {why}, a number {f'from {least:g} on' if least else 'above 0'}")
    return found
