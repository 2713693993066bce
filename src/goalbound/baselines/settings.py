"""The settings of a context-free learner, checked once, and the constants that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.baselines.kernels.state import HOEFFDING, PSRL, Constants
from goalbound.baselines.method import Method
from goalbound.errors import ArgumentError
from goalbound.models import Support
from goalbound.models.validation import check_array, check_float, check_fraction, check_range, set_readonly
from goalbound.planning.kernels.elimination import MOST_ELIMINATED_STATES

LARGEST_TABLE = 50_000_000
"""The most entries of the table of ULCVI, H S."""

_KINDS = {"delta": float, "loss_floor": float, "added_loss": float, "tolerance": float, "losses_are_known": bool}


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
        if self.method.needs_positive_losses and self.loss_floor + self.added_loss <= 0.0:
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
        return self.method.code == PSRL

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
        return Constants(
            method=method.code,
            pair_state=support.pair_state,
            pair_start=support.pair_start,
            next_start=support.next_start,
            next_state=support.next_state,
            width=set_readonly(width),
            known_after=set_readonly(self._known_after(support, width, floor)),
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

    def _known_after(self, support: Support, width: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """[N] more visits make a pair known (Hoeffding-SSP)."""
        bound, never = self.method.loss_bound, np.full(support.pairs, np.inf)
        if self.method.code != HOEFFDING or bound is None:
            return never
        try:
            grown = np.log(1000.0 * bound * support.pairs / (self.delta * floor))
            return self.method.scale**2 * (5000.0 * bound**2 * width / floor**2) * grown
        except (OverflowError, ZeroDivisionError):  # more than any float
            return never

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
