"""The solution under one context in the user's unit, ready for output."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.planning import Solution


@dataclass(frozen=True, eq=False)
class ContextResult:
    """The result for one context.

    Attributes:
        name: the display name of the context; None for a problem without context.
        context: its weights [d], or None.
        solution: what the planner found.
        averaged_steps: [S + 1] expected steps of the averaged model's policy under this context, if it was asked for;
            infinite where that policy may never arrive.
    """

    name: str | None
    context: list[float] | None
    solution: Solution
    averaged_steps: NDArray[np.float64] | None = None

    @property
    def values(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit."""
        return self.solution.values * self._scale

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit, still a lower bound after rounding."""
        return _scaled(self.solution.lower, self._scale, 0.0)

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit, still an upper bound after rounding."""
        return _scaled(self.solution.upper, self._scale, np.inf)

    @cached_property
    def start(self) -> dict[str, float]:
        """Value, bounds and expected steps at the start: of the start state, or the mean over the start law."""
        rounding = 0.0 if isinstance(self.solution.problem.start, int) else 2.0**-50
        return {
            "value": self._mean(self.values),
            "lower": self._mean(self.lower) * (1.0 - rounding),
            "upper": self._mean(self.upper) * (1.0 + rounding),
            "steps": self._mean(self.solution.hitting_times),
        }

    @property
    def width(self) -> float:
        """The largest relative distance between the bounds; infinite if a state with an action has no upper bound."""
        unbounded = np.isinf(self.solution.upper[:-1]) & (self.solution.policy >= 0)
        return math.inf if unbounded.any() else self.solution.width

    @property
    def status(self) -> str:
        """The status in lower case."""
        return self.solution.status.name.lower()

    @property
    def improper_states(self) -> list[int]:
        """The states from which the averaged model's policy may never arrive under this context."""
        steps = self.averaged_steps
        return [] if steps is None else [int(state) for state in np.flatnonzero(np.isinf(steps))]

    def action_name(self, state: int) -> str | None:
        """The name of the action to take, None where there is none (or none with a name)."""
        action, names = int(self.solution.policy[state]), self.solution.problem.support.action_names
        return names[action] if names is not None and action >= 0 else None

    def states(self) -> Iterator[dict[str, Any]]:
        """One record per state, with exact numbers."""
        solution = self.solution
        names = solution.problem.support.state_names
        columns = (solution.policy, self.values[:-1], self.lower[:-1], self.upper[:-1], solution.hitting_times[:-1])
        for state, (action, *numbers) in enumerate(zip(*(part.tolist() for part in columns), strict=True)):
            yield {
                "state": state,
                "name": None if names is None else names[state],
                "action": None if action < 0 else action,
                "action_name": self.action_name(state),
                **dict(zip(("value", "lower", "upper", "steps"), map(json_number, numbers), strict=True)),
            }

    def summary(self) -> dict[str, Any]:
        """All but the states."""
        found: dict[str, Any] = {
            "name": self.name,
            "context": self.context,
            "status": self.status,
            "policies_tried": self.solution.iterations,
            "width": json_number(self.width),
            "start": {name: json_number(value) for name, value in self.start.items()},
        }
        if self.averaged_steps is not None:
            found["averaged_policy"] = {
                "proper": not self.improper_states,
                "may_never_arrive_from": self.improper_states,
                "steps_from_start": json_number(self._mean(self.averaged_steps)),
            }
        return found

    def json_parts(self) -> Iterator[str]:
        """The JSON text of this result, one line for each state, in pieces."""
        head = json.dumps(self.summary(), allow_nan=False)
        yield head[:-1] + ', "states": [\n'
        for place, state in enumerate(self.states()):
            yield (",\n" if place else "") + json.dumps(state, allow_nan=False)
        yield "\n]}"

    @property
    def _scale(self) -> float:
        return self.solution.problem.loss_scale

    def _mean(self, values: NDArray[np.float64]) -> float:
        law = self.solution.problem.start_distribution
        return math.fsum((law[law > 0.0] * values[:-1][law > 0.0]).tolist())


def json_number(value: float) -> float | str:
    """A number for strict JSON: as it is, or the string "Infinity" or "NaN", which ``float`` reads.

    >>> json_number(0.1), json_number(float("inf"))
    (0.1, 'Infinity')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0.0 else "-Infinity"
    return value


def _scaled(bound: NDArray[np.float64], scale: float, away: float) -> NDArray[np.float64]:
    """A bound times the scale, rounded away from the value unless the product is exact anyway."""
    product = bound * scale
    if math.frexp(scale)[0] == 0.5:
        return product
    return np.where((bound > 0.0) & np.isfinite(bound), np.nextafter(product, away), product)
