"""Evaluation of a given policy: its expected loss and its expected steps to the goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Run
from goalbound.models import SSP
from goalbound.models.arrays import Rows
from goalbound.models.validation import check_fraction
from goalbound.planning.chain import ChainSolver, moves_of
from goalbound.planning.checks import DIRECT_STATES, Policy, engine_for, pairs_of, require_ssp
from goalbound.planning.kernels import bellman, graph, iteration
from goalbound.planning.kernels.chain import Chain
from goalbound.planning.properness import moving_policy
from goalbound.planning.reduction import rows_of
from goalbound.planning.solution import Status

SMALLEST_AIM = 1e-30
SMALLEST_NORMAL = 2.0**-1022
"""Below it floats are multiples of 2^-1074: fewer digits the smaller they are."""
LARGE_ENOUGH = 2.0**-400
"""Where no loss is larger, all are scaled up: what is small beside them would be lost."""
ROUNDING = 2.0**-53
MOST_REFINEMENTS = 40
TRUSTED_RESIDUAL = 1e-4
"""Down to this residual, in units, the solver's own measure is trusted."""
SWEEP_RESIDUAL = 1e-2
"""In relative terms, a residual above this is first brought down by sweeps alone."""
SMOOTHING_SWEEPS = 50
"""Sweeps at a time."""
SMALLEST_UNIT = 1e-200


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values and hitting times of a policy.

    Attributes:
        values: [S + 1] expected loss until the goal, or forever; infinite where the policy may pay forever.
        hitting_times: [S + 1] expected steps to the goal; infinite where it is not reached with probability one.
        error: a bound of the largest relative error of a finite number, from its residual and the rounding in it;
            numbers without any accuracy are NaN, and the error is then 1 or more.
        status: CONVERGED if the error is at most the tolerance.
    """

    values: NDArray[np.float64]
    hitting_times: NDArray[np.float64]
    error: float
    status: Status

    @property
    def proper(self) -> bool:
        """Whether the policy reaches the goal with probability one from every state."""
        return not np.isinf(self.hitting_times).any()  # NaN: it ends, but the time is not known accurately


def evaluate(ssp: SSP, policy: Policy, *, tolerance: float = 1e-10) -> Evaluation:
    """The expected loss and steps of a policy that plays ``policy[s]`` in state s, proper or not.

    The policy has an action for each state: numbers [S], names, or a mapping from states to actions by number or name.
    A policy that loops forever at no loss has finite values and infinite hitting times. An action of -1 stands
    for a state that is left out: both are infinite there and wherever it may be reached.

    >>> walk = SSP.dense([[0.5, 0.0]], [[[0.5, 0.5], [1.0, 0.0]]])
    >>> evaluate(walk, [0]).values[0], evaluate(walk, [1]).values[0]
    (np.float64(1.0), np.float64(0.0))
    >>> evaluate(walk, [1]).hitting_times
    array([inf,  0.])
    """
    check_fraction(tolerance, "tolerance", "a relative error")
    rows, run = rows_of(require_ssp(ssp)), engine_for(ssp)
    policy_graph = _PolicyGraph.of(ssp, pairs_of(ssp, policy), rows, run)
    steps, steps_error = _solved(
        rows._replace(losses=_ones(rows)), policy_graph, ~policy_graph.improper, run, tolerance
    )
    paying = policy_graph.reaching(
        (policy_graph.pairs >= 0) & (rows.losses[np.maximum(policy_graph.pairs, 0)] > 0.0), run
    )
    values, values_error = _solved(rows, policy_graph, paying & ~policy_graph.infinite_loss, run, tolerance)
    values[:-1][policy_graph.infinite_loss] = np.inf
    steps[:-1][policy_graph.improper] = np.inf
    error = float(max(values_error.max(), steps_error.max()))
    return Evaluation(values, steps, error, Status.CONVERGED if error <= tolerance else Status.ROUNDING)


def hitting_times(ssp: SSP, policy: Policy, *, tolerance: float = 1e-10) -> NDArray[np.float64]:
    """[S + 1] expected steps of a policy to the goal; infinite where it is not reached with probability one.

    The policy is given as to :func:`evaluate`. Relative errors are at most the tolerance; a number that cannot be
    computed that accurately is NaN.
    """
    check_fraction(tolerance, "tolerance", "a relative error")
    rows, run = rows_of(require_ssp(ssp)), engine_for(ssp)
    policy_graph = _PolicyGraph.of(ssp, pairs_of(ssp, policy), rows, run)
    steps, errors = _solved(rows._replace(losses=_ones(rows)), policy_graph, ~policy_graph.improper, run, tolerance)
    steps[errors > tolerance] = np.nan
    steps[:-1][policy_graph.improper] = np.inf
    return steps


class _PolicyGraph(NamedTuple):
    """A policy's pairs, its chain, and the properties of its graph."""

    pairs: NDArray[np.int64]
    """[S] the pair of each state, -1 if none"""
    chain: Chain
    order: NDArray[np.int32]
    """[S] the states, those nearest to the goal first"""
    improper: NDArray[np.bool_]
    """[S] the goal is not reached with probability one"""
    infinite_loss: NDArray[np.bool_]
    """[S] the policy may pay forever, or come to a state that is left out"""

    @classmethod
    def of(cls, ssp: SSP, pairs: NDArray[np.int64], rows: Rows, run: Run) -> _PolicyGraph:
        states = ssp.support.states
        solver = ChainSolver(rows, run, None)
        moving = np.where(pairs >= 0, moving_policy(ssp, np.maximum(pairs, 0)), -1)
        solver.set_policy(moving)
        exits = (moving >= 0) & (solver.chain.exit > 0.0)
        ending = exits.copy()
        order = np.empty(states, dtype=np.int32)
        reached = run(graph.chain_reach)(solver.chain, order, ending)
        order[reached:] = np.flatnonzero(~ending)
        empty = np.empty(0, dtype=bool)
        policy_graph = cls(pairs, solver.chain, order, empty, empty)
        usable = np.zeros(ssp.support.pairs, dtype=bool)
        usable[moving[moving >= 0]] = True
        component = np.empty(states, dtype=np.int64)
        run(graph.components)(rows, usable, component)
        leaves = np.zeros(states, dtype=bool)  # by component: is there a way out of it?
        row, column, _ = moves_of(solver.chain)
        leaves[component[row[component[row] != component[column]]]] = True
        leaves[component[exits]] = True
        pays = np.zeros(states, dtype=bool)
        pays[component[(pairs < 0) | (rows.losses[np.maximum(pairs, 0)] > 0.0)]] = True
        return policy_graph._replace(
            improper=policy_graph.reaching(~ending, run),
            infinite_loss=policy_graph.reaching((pays & ~leaves)[component], run),
        )

    def reaching(self, targets: NDArray[np.bool_], run: Run) -> NDArray[np.bool_]:
        """[S] the states from which the targets are reached with positive probability."""
        out = targets.copy()
        run(graph.chain_reach)(self.chain, np.empty(len(out), dtype=np.int32), out)
        return out


def _ones(rows: Rows) -> NDArray[np.float64]:
    ones = np.ones(len(rows.losses))
    ones.flags.writeable = False
    return ones


def _solved(
    rows: Rows, policy_graph: _PolicyGraph, wanted: NDArray[np.bool_], run: Run, tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[S + 1] values over the wanted states (0 elsewhere), and [S + 1] bounds of their relative errors.

    Losses that are all tiny are first multiplied by a power of two: near the smallest floats rounding is no longer
    relative to the numbers. Numbers without any accuracy are NaN.
    """
    values, errors = np.zeros(len(wanted) + 1), np.zeros(len(wanted) + 1)
    if not wanted.any():
        return values, errors
    policy = np.where(wanted, policy_graph.pairs, -1)
    rows, exponent = _enlarged(rows, policy[wanted])
    floor = 1e-3 * float(rows.losses[policy[wanted]].mean())
    state = PolicyEvaluator(rows, run, ChainSolver(rows, run, policy_graph.order), values, floor)
    aim = tolerance / 8.0
    while True:
        with np.errstate(all="ignore"):  # near the limits of float64; the error bound covers it
            residual = state.evaluate(state.set_policy(policy), aim)
            total, errors[:-1][wanted] = _with_errors(state, residual, policy, wanted, exponent)
        worst = float(errors.max())
        if worst <= tolerance or aim < SMALLEST_AIM or (residual > aim and len(state.low)):
            return np.where(errors < 1.0, np.ldexp(total, -exponent), np.nan), errors
        aim *= min(1.0 / 8.0, max(1.0 / 1024.0, 0.5 * tolerance / worst))
        state.use_extended_precision()


def _enlarged(rows: Rows, pairs: NDArray[np.int64]) -> tuple[Rows, int]:
    """The rows with the losses of these pairs times two to the power of the exponent, which is returned."""
    largest = float(rows.losses[pairs].max())
    if largest >= LARGE_ENOUGH:
        return rows, 0
    exponent = -math.frexp(largest)[1]
    losses = np.zeros(len(rows.losses))
    losses[pairs] = np.ldexp(rows.losses[pairs], exponent)
    losses.flags.writeable = False
    return rows._replace(losses=losses), exponent


def _with_errors(
    state: PolicyEvaluator, residual: float, policy: NDArray[np.int64], wanted: NDArray[np.bool_], exponent: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[S + 1] the values, and for the wanted states a bound of their relative errors once they are scaled back.

    The error solves the chain with the residual on the right, so it is below residual * (v + floor * moves).
    """
    ones = np.ones(len(wanted))
    moves, missed = state.solver.solve(ones, ones, 0.1)
    moves = moves / (1.0 - missed) if missed < 1.0 else np.full(len(wanted), np.inf)
    rounding = state.run(bellman.residual_rounding)(state.rows, policy, state.values, state.low, state.unit)
    total = state.total
    found = total[:-1][wanted]
    error = 2.0 * (residual + rounding + 2.0**-50) * (1.0 + state.floor * moves[wanted] / found)
    small = found < np.ldexp(SMALLEST_NORMAL, exponent)  # scaled back they are rounded to a multiple of 2^-1074
    error[small] += np.ldexp(1.0, exponent - 1075) / found[small] * (1.0 + error[small])
    return total, np.where(np.isnan(error), np.inf, error)


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
        self._kept = solver.evaluated(values, self.low)
        self.unit, self._residual = self._kept.unit, self._kept.residual
        self.smallest = float(np.min(rows.losses, initial=1.0))
        self.drift = 0.0
        self.relative = False
        self._policy = np.full(solver.states, -1, dtype=np.int64)

    def set_policy(self, policy: NDArray[np.int64]) -> float:
        """Set the policy (pairs; -1 for states left out); returns the residual of the values under it."""
        self._policy = policy
        largest = self.run(iteration.set_policy)(self._kept, policy, self._unit_floor)
        self.solver.chain_changed()
        return self._in_units(largest)

    def improve_policy(
        self, usable: NDArray[np.bool_], share: float, settled: NDArray[np.float64], *, last: bool
    ) -> tuple[int, float]:
        """Let states of the policy switch to pairs that are better by more than ``share`` units, and set that policy.

        Returns how many did, and the residual of the values; with ``last``, nothing is set or measured if none did.
        """
        switched, largest = self.run(iteration.improve_policy)(
            self._kept, usable, float(share), self.drift, settled, self._policy, self._unit_floor, last
        )
        if last and not switched:
            return 0, 0.0
        self.solver.chain_changed()
        return switched, self._in_units(largest)

    @property
    def _unit_floor(self) -> float:
        return 0.0 if self.relative else self.floor

    def measure_residual(self) -> float:
        """The largest residual, in units."""
        return self._in_units(self._residuals(self._unit_floor, self.unit))

    def _in_units(self, largest: float) -> float:
        """The largest residual, once the unit is complete."""
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
            found, trusted = self._step(target)
            if trusted:
                return found
            if found > target and not len(self.low) and target < 16.0 * ROUNDING * self._largest():
                self.use_extended_precision()  # what is left is rounding of the values themselves
                found = self.measure_residual()
                continue
            if not found < before[0]:
                self.values[:], self.low[:] = before[1:]
                return self.measure_residual()
            if found > 0.5 * before[0]:
                break
        return found

    def _step(self, target: float) -> tuple[float, bool]:
        """Solve for a step and add it; the residual, and whether it is the solver's own and suffices.

        Far from rounding it does, if all of the step could be added.
        """
        trusted = target > TRUSTED_RESIDUAL and not self.relative
        if self.relative or self.solver.states <= DIRECT_STATES:
            weights = np.maximum(self.values[:-1], SMALLEST_UNIT) if self.relative else None
            step, reached = self.solver.solve(self._residual, self.unit, 0.7 * target, weights=weights)
            self._kept.x[:] = self.solver.to_solver_order(step)
        else:
            added, reached, span, own = self.solver.take_step(
                self._kept, self._policy, self._unit_floor, target, trusted=trusted
            )
            if added:
                self.drift += span
                return reached, own
        span, whole = self.run(iteration.add_step)(self._kept)
        self.drift += float(span)
        if whole and trusted and reached <= target:
            return reached, True
        return self.measure_residual(), False

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
            self._kept = self._kept._replace(low=self.low)

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
