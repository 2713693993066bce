"""The values of a policy, improved step by step to any accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import bellman
from goalbound.kernels.jit import Run
from goalbound.kernels.layout import Rows
from goalbound.planning.chain import ChainSolver

ROUNDING = 2.0**-53
MOST_REFINEMENTS = 40


class PolicyValues:
    """Values of the policy taken last, kept from one policy to the next.

    The residual (loss + P v - v, self loops taken out) is measured in ``unit[S]``, the loss paid until the state is
    left plus ``floor``: if it is at most r everywhere, the values are off by at most r (v + floor * moves to the goal).
    Where float64 is too coarse for that, ``low`` holds the trailing part of the values; it is empty until then.
    """

    def __init__(self, rows: Rows, run: Run, solver: ChainSolver, values: NDArray[np.float64], floor: float) -> None:
        self.rows, self.run, self.solver = rows, run, solver
        self.values = values
        self.floor = floor
        self.low = np.empty(0)
        states = len(values) - 1
        self.unit = np.ones(states)
        self._residual = np.empty(states)
        self._policy = np.full(states, -1, dtype=np.int64)

    def take(self, policy: NDArray[np.int64]) -> float:
        """Take over a policy (pairs; -1 for states left out); returns the residual of the values under it."""
        self._policy = policy
        self.solver.take(policy)
        return self.measure()

    def measure(self) -> float:
        """The largest residual, in units."""
        self.run(bellman.policy_residual)(
            self.rows, self._policy, self.rows.losses, self.values, self.low, self._residual, self.unit
        )
        self.unit += self.floor
        return float(np.max(np.abs(self._residual) / self.unit, initial=0.0))

    def evaluate(self, found: float, target: float) -> float:
        """Bring the residual from ``found`` down to ``target``, if it can be; returns what was reached."""
        for _ in range(MOST_REFINEMENTS):
            if found <= target:
                break
            before = found, self.values.copy(), self.low.copy()
            step, _ = self.solver.solve(self._residual, self.unit, 0.7 * target)
            self._add(step)
            found = self.measure()
            if found > target and not len(self.low) and target < 16.0 * ROUNDING * self._largest():
                self.sharpen()  # what is left is rounding of the values themselves
                found = self.measure()
                continue
            if not found < before[0]:
                _, self.values, self.low = before
                return self.measure()
            if found > 0.5 * before[0]:
                break
        return found

    def sharpen(self) -> None:
        """From now on carry the trailing part of the values, and measure residuals in twice the usual precision."""
        if not len(self.low):
            self.low = np.zeros_like(self.values)

    def _largest(self) -> float:
        """The largest value, in units."""
        return float(np.max(self.values[:-1] / self.unit, initial=0.0))

    @property
    def total(self) -> NDArray[np.float64]:
        """[S + 1] the values, both parts added."""
        return self.values + self.low if len(self.low) else self.values

    def _add(self, step: NDArray[np.float64]) -> None:
        values = self.values[:-1]
        if not len(self.low):
            np.maximum(values + step, 0.0, out=values)  # an inexact step may overshoot where values are small
            return
        step = step + self.low[:-1]
        total = values + step  # Knuth's two-sum: total + low is values + step exactly
        shifted = total - values
        self.low[:-1] = (values - (total - shifted)) + (step - shifted)
        values[:] = total
        self.low[:-1][values <= 0.0] = 0.0
        np.maximum(values, 0.0, out=values)
