"""The result of a planner, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from goalbound.models import SSP


class Status(Enum):
    """How a computation ended. Only CONVERGED guarantees the tolerance."""

    CONVERGED = "converged"
    ROUNDING = "stopped by rounding: the bounds are valid but wider than the tolerance"
    ITERATION_LIMIT = "stopped by the iteration limit: the bounds are valid but wider than the tolerance"


@dataclass(frozen=True, eq=False)
class Solution:
    """The best proper policy, its values, and certified bounds of the optimal ones.

    Attributes:
        values: [S + 1] value of each state, 0 at the goal; infinite where no proper policy exists.
        policy: [S] action of each state (its number, not the pair's); -1 where no proper policy exists.
        lower: [S + 1] certified: no proper policy has a smaller value.
        upper: [S + 1] certified: the policy's value, so the optimal value too, is not larger.
        iterations: how many policies were tried.
        status: CONVERGED if ``upper - lower <= tolerance * upper`` everywhere.
    """

    values: NDArray[np.float64]
    policy: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    iterations: int
    status: Status
    problem: SSP = field(repr=False)

    def __str__(self) -> str:
        support = self.problem.support
        shown = range(min(support.states, 12))
        names = [support.state_name(s) for s in shown]
        width = max(len(name) for name in names)
        lines = [self._headline]
        for s, name in zip(shown, names, strict=True):
            action = "no proper policy" if self.policy[s] < 0 else support.action_name(int(self.policy[s]))
            lines.append(f"{name:{width}}  {self.values[s]:<12.6g}  {action}")
        if support.states > 12:
            lines.append(f"and {support.states - 12} more states")
        return "\n".join(lines)

    @property
    def _headline(self) -> str:
        return f"{self.status.value}; bounds within {self.width:.1e}; value at the start {self.start_value:.6g}"

    def _columns(self) -> dict[str, Any]:
        support = self.problem.support
        return {
            "state": [support.state_label(state) for state in range(support.states)],
            "action": [None if action < 0 else support.action_label(int(action)) for action in self.policy],
            "value": self.values[:-1],
            "lower": self.lower[:-1],
            "upper": self.upper[:-1],
        }

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per state: state and action by name (no action where no proper policy exists), value, lower, upper,
        expected_steps. A data frame of pandas, or a table of Arrow."""
        from goalbound.frames import data_frame

        return data_frame({**self._columns(), "expected_steps": self.hitting_times[:-1]}, arrow=arrow)

    def _repr_html_(self) -> str:
        from goalbound.notebook import html_lines, html_table

        return html_lines([self._headline]) + html_table(self._columns())

    def plot(self, axes: Any = None) -> Any:
        """The value of each state with its certified bounds, and the action at the right; the Matplotlib axes."""
        from goalbound.plotting import Rows, draw_rows

        columns = self._columns()
        values = np.where(np.isfinite(self.values[:-1]), self.values[:-1], np.nan)
        actions = [action or "no proper policy" for action in columns["action"]]
        rows = Rows(columns["state"], columns["lower"], columns["upper"], values, actions)
        return draw_rows(rows, label="expected loss until the goal", axes=axes)

    @property
    def width(self) -> float:
        """The largest relative distance between the bounds, over the states with a proper policy."""
        if np.isinf(self.upper[:-1][self.policy >= 0]).any():
            return np.inf
        solved = np.isfinite(self.upper) & (self.upper > 0.0)
        return float(np.max((self.upper[solved] - self.lower[solved]) / self.upper[solved], initial=0.0))

    @cached_property
    def hitting_times(self) -> NDArray[np.float64]:
        """[S + 1] expected steps of the policy to the goal; infinite where no proper policy exists."""
        from goalbound.planning.evaluation import hitting_times

        return hitting_times(self.problem, self.policy)

    @property
    def start_value(self) -> float:
        """The value at the start: of the start state, or the mean over the start law."""
        law = self.problem.start_distribution
        return float(law[law > 0.0] @ self.values[:-1][law > 0.0])
