"""The method and the settings of a context-free learner, checked once, and the constants that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.baselines.methods import ROOMS
from goalbound.baselines.protocol import Room
from goalbound.baselines.state import Constants
from goalbound.errors import ArgumentError
from goalbound.models import Support
from goalbound.models.validation import check_array, check_float, check_fraction, check_range, check_size, set_readonly
from goalbound.planning.kernels.elimination import MOST_ELIMINATED_STATES

LARGEST_TABLE = 50_000_000
"""The most entries of the table of ULCVI, H S."""

_KINDS = {"delta": float, "loss_floor": float, "added_loss": float, "tolerance": float, "losses_are_known": bool}
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
        if not isinstance(self.name, str) or self.name not in ROOMS:
            raise ArgumentError(f"no method is called {self.name!r}; there are {', '.join(ROOMS)}")
        why = "it multiplies every radius or bonus, and 1 is the paper's"
        object.__setattr__(self, "scale", _check_positive(self.scale, "scale", why))
        needs, defaults = self.room.needs, self.room.defaults
        for name, why in _WHY.items():
            value = getattr(self, name)
            if value is None:
                value = defaults.get(name)
                object.__setattr__(self, name, value)
            if value is None and name in needs:
                raise ArgumentError(f"{self.name} needs {name}; {why}")
            if value is not None and name not in (*needs, *defaults):
                raise ArgumentError(f"{self.name} has no {name}, and {value!r} was given; leave it out")
            if value is not None and name == "episodes":
                check_size(value, "episodes", f"{why}, at least 1", most=2**62)
            elif value is not None:
                least = 1.0 if name in ("loss_bound", "time_bound") else 0.0
                object.__setattr__(self, name, _check_positive(value, name, why, least=least))

        if self.time_bound is not None and not 8.0 * self.time_bound <= _LONGEST_HORIZON:
            raise ArgumentError(f"time_bound is {self.time_bound:g}; ULCVI plans over 8 times as many steps and more")

    @property
    def room(self) -> Room:
        """Its kernels, and what Python has to know of it."""
        return ROOMS[self.name]

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


@dataclass(frozen=True, eq=False)
class TabularOptions:
    """Options of context-free learners that seldom need to be changed.

    Attributes:
        delta: the guarantees hold with probability 1 - delta.
        added_loss: added to every loss inside the learner, for problems where losses may be zero.
        known_losses: [N] the mean losses, if they are known; else they are learned.
        tolerance: value iteration ends when no value changes by more than this share of the least loss (not in UC-SSP,
            EB-SSP and ULCVI, which say how far it goes).
    """

    delta: float = 0.1
    added_loss: float = 0.0
    known_losses: ArrayLike | None = None
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        check_fraction(self.delta, "delta", "the probability of failure allowed")
        for name, meaning in (("added_loss", "added to every loss"), ("tolerance", "relative to the least loss")):
            object.__setattr__(self, name, check_float(getattr(self, name), name, meaning))
        if not (np.isfinite(self.added_loss) and self.added_loss >= 0.0):
            raise ArgumentError(f"added_loss {self.added_loss} is not a number from 0 on; it is added to every loss")
        if not 0.0 < self.tolerance <= 0.4:
            raise ArgumentError(f"tolerance {self.tolerance} is not in (0, 0.4]; it is relative to the least loss")


@dataclass(frozen=True)
class TabularSettings:
    """The settings of a learner. ``__post_init__`` checks it; see
    :class:`goalbound.baselines.learner.TabularLearner`."""

    method: Method
    delta: float
    loss_floor: float
    added_loss: float
    tolerance: float
    losses_are_known: bool

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise ArgumentError(f'method is a {type(self.method).__name__}; give a Method, such as Method("eb-ssp")')
        options = TabularOptions(self.delta, self.added_loss, None, self.tolerance)
        object.__setattr__(self, "added_loss", options.added_loss)
        object.__setattr__(self, "tolerance", options.tolerance)
        floor = check_float(self.loss_floor, "loss_floor", "the least mean loss of a pair, in [0, 1]")
        object.__setattr__(self, "loss_floor", floor)
        if not 0.0 <= floor <= 1.0:
            raise ArgumentError(f"loss_floor {self.loss_floor} is not in [0, 1]; it is the least mean loss of a pair")
        if self.method.room.positive_losses and self.loss_floor + self.added_loss <= 0.0:
            raise ArgumentError(
                f"loss_floor and added_loss are 0, and {self.method.name} plans with losses above 0; give a "
                "loss_floor, or an added_loss where losses may be zero: options=TabularOptions(added_loss=...) "
                "(eb_ssp and ulcvi take 0)"
            )

    @property
    def context_size(self) -> int:
        """1: there is no context."""
        return 1

    @property
    def draws(self) -> bool:
        """Whether the learner draws numbers, so that a checkpoint has the state of its generator."""
        return self.method.room.draws

    def constants(self, support: Support, known_losses: NDArray[np.float64] | None) -> Constants:
        """The constants of the kernels."""
        method = self.method
        following = np.add.reduceat(support.next_state < support.states, support.next_start[:-1])
        width = np.maximum(following, 1).astype(np.float64)
        if method.horizon * support.states > LARGEST_TABLE:
            raise ArgumentError(
                f"H = {method.horizon} stages and {support.states} states make a table of more than {LARGEST_TABLE:,} "
                "entries; give a smaller time_bound, or take eb_ssp, which needs none"
            )
        floor = float(self.loss_floor + self.added_loss)
        known_after = np.full(support.pairs, -1.0)
        if method.room.known_after is not None:
            known_after = method.room.known_after(method, width, self.delta, floor)
        return Constants(
            pair_state=support.pair_state,
            pair_start=support.pair_start,
            next_start=support.next_start,
            next_state=support.next_state,
            width=set_readonly(width),
            known_after=set_readonly(known_after),
            known_losses=set_readonly(np.zeros(support.pairs) if known_losses is None else np.array(known_losses)),
            losses_are_known=known_losses is not None,
            actions=support.actions,
            delta=float(self.delta),
            scale=float(method.scale),
            loss_floor=float(self.loss_floor),
            added_loss=float(self.added_loss),
            floor=floor,
            tolerance=float(self.tolerance * floor),
            loss_bound=1.0 if method.loss_bound is None else float(method.loss_bound),
            doubling=method.loss_bound is None,
            horizon=method.horizon,
            prior=0.0 if method.prior is None else float(method.prior),
            policy_iteration=support.states <= MOST_ELIMINATED_STATES,
        )

    def as_json(self) -> dict[str, Any]:
        """For the header of a checkpoint, and for records of results."""
        return {"method": self.method.as_json()} | {name: kind(getattr(self, name)) for name, kind in _KINDS.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> TabularSettings:
        """What :meth:`as_json` gave; keys and types are checked."""
        if not isinstance(values, dict) or set(values) != {"method", *_KINDS}:
            raise ArgumentError(f"the settings are {values!r:.200}; they need {sorted(['method', *_KINDS])}")
        for name, kind in _KINDS.items():
            if type(values[name]) is not kind:
                raise ArgumentError(f"{name} is {values[name]!r}, of a wrong type")
        return cls(**{**values, "method": Method.from_json(values["method"])})


def checked_losses(losses: ArrayLike, support: Support, loss_floor: float) -> NDArray[np.float64]:
    """[N] losses in [loss_floor, 1]."""
    array = check_array(
        losses, "known_losses", (support.pairs,), f"{support.pairs} losses, one per pair of the support"
    )
    check_range(array, 0.0, 1.0, "loss", lambda at: f"known_losses[{at[0]}]")
    below = np.flatnonzero(array < loss_floor)
    if len(below):
        at = int(below[0])
        raise ArgumentError(
            f"known_losses[{at}] ({support.pair_name(at)}) is {array[at]}, below the loss_floor {loss_floor:g}; "
            "lower the floor"
        )
    return set_readonly(array.copy())
