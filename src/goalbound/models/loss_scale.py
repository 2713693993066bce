"""Losses in a unit of the user's own, such as minutes, and in [0, 1]: converted once, at the borders.

A learner with a scale takes losses in the unit (:meth:`LossScale.plain_step`) and shows results in it
(:mod:`goalbound.models.amounts`). It computes in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.models.step import LogView, Step
from goalbound.models.validation import as_numeric_array, check_float, short_repr

LONGEST_UNIT = 40
"""The most characters of the name of a unit."""

_UNSAID = object()
Scalar = float | int | np.floating[Any] | np.integer[Any]


@dataclass(frozen=True)
class LossScale:
    """What a loss of 1 is, in the user's unit, and what becomes of losses beyond it.

    Attributes:
        unit: the name of the unit, for whatever is shown: "min", "EUR".
        cap: how many of the unit are a loss of 1; all losses of a step should be below it.
        beyond: "refuse": a loss above the cap is an error. "clip": it counts as the cap; whoever converts must count
            such losses (:meth:`beyond_cap`) and say so, because means of clipped losses are too small.

    >>> scale = LossScale("min", cap=60)
    >>> scale.from_unit(15), scale.to_unit([0.25, 1.5])
    (0.25, array([15., 90.]))
    >>> scale.from_unit(75)
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: a loss of 75 min is above the cap of 60 min; raise the cap, or ... beyond="clip"
    >>> LossScale("min", cap=60, beyond="clip").from_unit([15, 75])
    array([0.25, 1.  ])
    """

    unit: str
    cap: float
    beyond: Literal["refuse", "clip"] = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or not 0 < len(self.unit) <= LONGEST_UNIT or not self.unit.isprintable():
            raise ArgumentError(
                f"unit is {short_repr(self.unit)}; it is the name of a unit, a text of 1 to {LONGEST_UNIT} characters"
            )
        cap = check_float(self.cap, "cap", "how many of the unit are a loss of 1")
        if not 1e-100 <= cap <= 1e100:
            raise ArgumentError(f"cap is {short_repr(self.cap)}; it is how many of the unit are a loss of 1, above 0")
        object.__setattr__(self, "cap", cap)
        if not isinstance(self.beyond, str) or self.beyond not in ("refuse", "clip"):
            raise ArgumentError(f'beyond is {short_repr(self.beyond)}; it is "refuse" or "clip"')

    @overload
    def from_unit(self, amounts: Scalar) -> float: ...
    @overload
    def from_unit(self, amounts: ArrayLike) -> float | NDArray[np.float64]: ...
    def from_unit(self, amounts: ArrayLike) -> float | NDArray[np.float64]:
        """Losses in [0, 1], from amounts in the unit. One that is negative or no number is an error.

        They are those of single steps; sums over an episode are converted by :meth:`total_from_unit`.
        """
        given = _numbers(amounts, "amounts")
        wrong = ~((given >= 0.0) & (given < math.inf))
        if wrong.any():
            raise ArgumentError(f"amounts holds {given[wrong].flat[0]:g}; a loss is a finite number, not negative")
        high = self.beyond_cap(given)
        if self.beyond == "refuse" and high.any():
            raise ArgumentError(self.refusal(float(given[high].flat[0])))
        losses = np.minimum(given / self.cap, 1.0)
        return float(losses) if losses.ndim == 0 else losses

    @overload
    def total_from_unit(self, amounts: Scalar) -> float: ...
    @overload
    def total_from_unit(self, amounts: ArrayLike) -> float | NDArray[np.float64]: ...
    def total_from_unit(self, amounts: ArrayLike) -> float | NDArray[np.float64]:
        """Sums of losses over an episode, or differences of such sums, from amounts in the unit: no cap holds for them.

        >>> LossScale("min", cap=60).total_from_unit(120)
        2.0
        """
        given = _numbers(amounts, "amounts")
        if not np.isfinite(given).all():
            raise ArgumentError(f"amounts holds {given[~np.isfinite(given)].flat[0]:g}; a total is a finite number")
        totals = given / self.cap
        return float(totals) if totals.ndim == 0 else totals

    @overload
    def to_unit(self, losses: Scalar) -> float: ...
    @overload
    def to_unit(self, losses: ArrayLike) -> float | NDArray[np.float64]: ...
    def to_unit(self, losses: ArrayLike) -> float | NDArray[np.float64]:
        """Amounts in the unit, from losses, values or bounds: any numbers, infinity and sums above 1 too."""
        given = _numbers(losses, "losses")
        with np.errstate(over="ignore", under="ignore"):
            amounts = given * self.cap
        return float(amounts) if amounts.ndim == 0 else amounts

    def beyond_cap(self, amounts: ArrayLike) -> NDArray[np.bool_]:
        """Which amounts are above the cap; NaN is not."""
        return np.asarray(_numbers(amounts, "amounts") > self.cap)

    def refusal(self, amount: float) -> str:
        """The error of an amount above the cap."""
        return (
            f"a loss of {amount:g} {self.unit} is above the cap of {self.cap:g} {self.unit}; raise the cap, or count "
            'such losses as the cap with beyond="clip"'
        )

    def text(self, losses: float) -> str:
        """A loss, value or bound as people read it.

        >>> LossScale("min", cap=60).text(0.5)
        '30 min'
        """
        return f"{self.to_unit(losses):.4g} {self.unit}"

    def plain_step(self, step: Any) -> tuple[Any, bool]:
        """Return a step with its loss in [0, 1], and whether that was clipped. What is no step stays as it is.

        >>> LossScale("min", cap=60).plain_step(Step(0, 1, 12.0, 2))
        (Step(state=0, action=1, loss=0.2, next_state=2), False)
        """
        if not isinstance(step, tuple | list) or len(step) != 4:
            return step, False
        state, action, amount, following = step
        try:
            loss = self.from_unit(amount)
            is_clipped = bool(self.beyond_cap(amount).any())
        except ArgumentError as error:
            raise ArgumentError(f"the loss of the step: {error}") from None
        if not isinstance(loss, float):
            raise ArgumentError(f"the loss of the step is an array of shape {loss.shape}; it is one number")
        return Step(state, action, loss, following), is_clipped

    def plain_log(self, log: Any) -> tuple[Any, Callable[[int], int]]:
        """Return a log with losses in [0, 1], and a function that counts the clipped ones among its first steps.

        A log that was read with a scale is in [0, 1] already; it must have been this one.
        """
        said = getattr(log, "loss_scale", _UNSAID)
        if said is _UNSAID:
            flags: list[bool] = []

            def converted(context: Any, step: Any) -> tuple[Any, Any]:
                flags.append(False)  # also of a step that is an error
                step, flags[-1] = self.plain_step(step)
                return context, step

            return LogView(log, converted, loss_scale=self), lambda learned: sum(flags[:learned])
        if said != self:
            was = "no unit: its losses are in [0, 1]" if said is None else f"another scale: {said}"
            raise ArgumentError(
                f"the log was read with {was}, and the learner has {self}; read it with the learner's loss_scale"
            )
        return log, lambda learned: getattr(log, "clipped", 0)

    def as_json(self) -> dict[str, Any]:
        """All of it, for files."""
        return {"unit": self.unit, "cap": self.cap, "beyond": self.beyond}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> LossScale:
        """What :meth:`as_json` wrote, checked as if a person had typed it."""
        if not isinstance(values, Mapping) or set(values) != {"unit", "cap", "beyond"}:
            raise ArgumentError(f"values is {short_repr(values)}; a loss scale has unit, cap and beyond")
        return cls(values["unit"], values["cap"], values["beyond"])


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    if isinstance(values, bool | np.bool_):
        raise ArgumentError(f"{name} is {values}; it needs numbers")
    array = as_numeric_array(values, name, "numbers")
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind == "O" and all(
        isinstance(one, int | float | np.integer | np.floating) and not isinstance(one, bool) for one in array.flat
    ):
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise ArgumentError(f"{name} holds a number that is too large; it needs numbers up to 1e308") from None
    raise ArgumentError(f"{name} is {short_repr(values)}; it needs numbers")
