"""Results in the user's unit of losses: what shows amounts says which of its fields they are, and how each is rounded.

Problems say with one number what a loss of 1 is (``loss_scale``); :func:`cap_of` and the functions beside it read,
write and show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.models.loss_scale import LossScale
from goalbound.models.validation import check_type, set_readonly
from goalbound.terminal import one_line

Problem = TypeVar("Problem")


def at_least(scale: LossScale, losses: ArrayLike) -> Any:
    """Return lower bounds in the unit: rounded down."""
    given = np.asarray(losses, dtype=np.float64)
    return _like(losses, np.where(np.isinf(given), given, np.nextafter(scale.to_unit(given), 0.0)))


def at_most(scale: LossScale, losses: ArrayLike) -> Any:
    """Return upper bounds in the unit: rounded up; no loss stays none."""
    given = np.asarray(losses, dtype=np.float64)
    return _like(losses, np.where(given == 0.0, 0.0, np.nextafter(scale.to_unit(given), np.inf)))


def nearest(scale: LossScale, losses: ArrayLike) -> Any:
    """Return estimates in the unit."""
    return _like(losses, np.asarray(scale.to_unit(losses)))


def interval(scale: LossScale, ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval in the unit: rounded outwards."""
    return at_least(scale, ends[0]), at_most(scale, ends[1])


def each(scale: LossScale, results: tuple[Amounts, ...]) -> tuple[Amounts, ...]:
    """Return each of several results in the unit."""
    return tuple(result.in_unit(scale) for result in results)


def _like(losses: ArrayLike, amounts: NDArray[np.float64]) -> Any:
    return set_readonly(amounts) if isinstance(losses, np.ndarray) else float(amounts)


@dataclass(frozen=True, eq=False, kw_only=True)
class HasUnit:
    """Losses that may be in a unit of the user's own.

    Attributes:
        loss_scale: the unit; None: losses of a step are in [0, 1].
    """

    loss_scale: LossScale | None = None

    @property
    def unit(self) -> str | None:
        """The name of the unit; None: losses of a step are in [0, 1]."""
        return None if self.loss_scale is None else self.loss_scale.unit

    @property
    def _cap(self) -> float:
        return 1.0 if self.loss_scale is None else self.loss_scale.cap

    def _with_unit(self, text: str) -> str:
        """Return the head of a column, or a label, with the unit of its numbers."""
        return text if self.unit is None else f"{text} ({one_line(self.unit)})"

    @property
    def _unit_text(self) -> str:
        """What follows a number."""
        return "" if self.unit is None else f" {one_line(self.unit)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Amounts(HasUnit):
    """A result whose losses, values and bounds are in its unit. A subclass says which of its fields are amounts, and
    how each is rounded."""

    _amounts: ClassVar[Mapping[str, Callable[[LossScale, Any], Any]]] = {}
    """By the names of the fields: :func:`at_least`, :func:`at_most`, :func:`nearest`, :func:`interval`, :func:`each`"""

    def in_unit(self, scale: LossScale) -> Self:
        """Return the same in a unit of the user's own; bounds are rounded outwards."""
        check_type(scale, LossScale, "scale", 'give a LossScale, such as LossScale("min", cap=60)')
        if self.loss_scale is not None:
            raise ArgumentError(f"scale: these numbers are in {self.unit} already; convert those of the learner inside")
        fields = {name: (getattr(self, name), convert) for name, convert in self._amounts.items()}
        amounts = {name: convert(scale, losses) for name, (losses, convert) in fields.items() if losses is not None}
        return replace(self, **amounts, loss_scale=scale)


# Problems.


def cap_of(problem: Any) -> float:
    """Return what a loss of 1 is in the unit of a problem."""
    return float(problem.loss_scale)


def with_cap(problem: Problem, cap: float, **others: Any) -> Problem:
    """Return a problem in which a loss of 1 is ``cap`` of the user's unit."""
    found: Problem = replace(problem, loss_scale=cap, **others)  # type: ignore[type-var]
    return found


def cap_entry(cap: float) -> dict[str, Any]:
    """Return what a file says of it."""
    return {"loss_scale": cap}


def cap_in(entries: Mapping[str, Any], place: str) -> float | None:
    """Return what a file says of it, checked; None if it says nothing."""
    cap = entries.get("loss_scale")
    if cap is not None and (type(cap) not in (int, float) or not 0.0 < cap < float("inf")):
        raise FileFormatError(f"loss_scale in {place} is {cap!r}, not a positive number")
    return None if cap is None else float(cap)


@dataclass(frozen=True, kw_only=True)
class Capped:
    """Losses in [0, 1] of a problem.

    Attributes:
        loss_scale: what a loss of 1 is in the user's unit.
    """

    loss_scale: float = 1.0

    @property
    def cap_sentence(self) -> str:
        """What a loss of 1 is; empty where it is 1."""
        return "" if self.loss_scale == 1.0 else f"A loss of 1 is {self.loss_scale:g} in the problem's unit."
