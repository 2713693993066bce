"""The values of a policy, improved step by step to any accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.compile import Run
from goalbound.kernels.layout import Rows
from goalbound.kernels.planner import bellman
from goalbound.planning.chain import ChainSolver

ROUNDING = 2.0**-53
MOST_REFINEMENTS = 40
TRUSTED_RESIDUAL = 1e-4
"""Down to this residual, in units, the solver's own measure is trusted."""
SWEEP_RESIDUAL = 1e-2
"""In relative terms, a residual above this is first brought down by sweeps alone."""
SMOOTHING_SWEEPS = 50
"""Sweeps at a time."""
SMALLEST_UNIT = 1e-200


class PolicyEvaluator:
    """Evaluates policies one after the other, each from the values of the one before.

    The residual (loss + P v - v, self loops taken out) is measured in ``unit[S]``, the loss paid until the state is
    left plus ``floor``: if it is at most r everywhere, the values are off by at most r (v + floor * moves to the goal).
    Where float64 is too coarse for that, ``low`` holds the trailing part of the values; it is empty until then.
    With ``relative`` the unit is the loss plus half the variance of the next value over the value, and steps are taken
    in relative terms: for values so different in size that an absolute measure would not see the small ones.
    ``drift`` sums the spans of all changes so far (see ``kernels.bellman.improve``).
    """

    def __init__(self, rows: Rows, run: Run, solver: ChainSolver, values: NDArray[np.float64], floor: float) -> None:
        self.rows, self.run, self.solver = rows, run, solver
        self.values = values
        self.floor = floor
        self.low = np.empty(0)
        states = len(values) - 1
        self.unit = np.ones(states)
        self.smallest = float(np.min(rows.losses, initial=1.0))
        self.drift = 0.0
        self.relative = False
        self._residual = np.empty(states)
        self._policy = np.full(states, -1, dtype=np.int64)

    def set_policy(self, policy: NDArray[np.int64]) -> float:
        """Set the policy (pairs; -1 for states left out); returns the residual of the values under it."""
        self._policy = policy
        self.solver.set_policy(policy)
        return self.measure_residual()

    def measure_residual(self) -> float:
        """The largest residual, in units."""
        floor = 0.0 if self.relative else self.floor
        largest = self._residuals(floor, self.unit)
        if self.relative:
            self.run(bellman.add_value_variance)(self.rows, self._policy, self.values, self.unit)
            self.unit += SMALLEST_UNIT
            largest = float(np.max(np.abs(self._residual) / self.unit, initial=0.0))
        return largest

    def _residuals(self, floor: float, out_unit: NDArray[np.float64]) -> float:
        largest: float = self.run(bellman.policy_residual)(
            self.rows, self._policy, self.values, self.low, floor, self._residual, out_unit
        )
        return largest

    def evaluate(self, found: float, target: float) -> float:
        """Bring the residual from ``found`` down to ``target``, if it can be; returns what was reached."""
        if self.relative and found > SWEEP_RESIDUAL:
            found = self._sweep(found)
        for _ in range(MOST_REFINEMENTS):
            if found <= target:
                break
            before = found, self.values.copy(), self.low.copy()
            weights = np.maximum(self.values[:-1], SMALLEST_UNIT) if self.relative else None
            step, reached = self.solver.solve(self._residual, self.unit, 0.7 * target, weights=weights)
            as_asked = self._add(step)
            if as_asked and target > TRUSTED_RESIDUAL and reached <= target and not self.relative:
                return reached  # far from rounding the solver's own residual suffices
            found = self.measure_residual()
            if found > target and not len(self.low) and target < 16.0 * ROUNDING * self._largest():
                self.use_extended_precision()  # what is left is rounding of the values themselves
                found = self.measure_residual()
                continue
            if not found < before[0]:
                _, self.values, self.low = before
                return self.measure_residual()
            if found > 0.5 * before[0]:
                break
        return found

    def _sweep(self, found: float) -> float:
        """Sweeps of v = loss + weight v, which put right what was too small to be seen."""
        loss = np.empty_like(self.unit)
        self._residuals(0.0, loss)
        for _ in range(MOST_REFINEMENTS):
            swept = self.solver.sweep(loss, self.total[:-1], SMOOTHING_SWEEPS)
            self.drift += float(np.ptp(np.append(swept - self.values[:-1], 0.0)))
            self.values[:-1] = swept
            self.low[:] = 0.0
            found = self.measure_residual()
            if found <= SWEEP_RESIDUAL:  # until then a front may be moving through, at the same residual all the time
                break
        return found

    def use_extended_precision(self) -> None:
        """From now on carry the trailing part of the values, and measure residuals in twice the usual precision."""
        if not len(self.low):
            self.low = np.zeros_like(self.values)

    def use_relative_units(self) -> None:
        """From now on measure in relative terms."""
        self.relative = True

    def _largest(self) -> float:
        """The largest value, in units."""
        return float(np.max(self.values[:-1] / self.unit, initial=0.0))

    @property
    def total(self) -> NDArray[np.float64]:
        """[S + 1] the values, both parts added."""
        return self.values + self.low if len(self.low) else self.values

    def _add(self, step: NDArray[np.float64]) -> bool:
        """Add a step; whether all of it could be added: no value falls below a tenth of what it was."""
        self.drift += max(float(step.max(initial=0.0)), 0.0) - min(float(step.min(initial=0.0)), 0.0)
        values = self.values[:-1]
        least = 0.1 * values
        if not len(self.low):
            total = values + step
            np.maximum(total, least, out=values)
            return bool((total >= least).all())
        step = step + self.low[:-1]
        total = values + step  # Knuth's two-sum: total + low is values + step exactly
        shifted = total - values
        self.low[:-1] = (values - (total - shifted)) + (step - shifted)
        self.low[:-1][total < least] = 0.0
        np.maximum(total, least, out=values)
        return bool((total >= least).all())
