"""Evaluation of a given policy: its expected loss, its expected steps to the goal, and whether it is proper."""

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
from goalbound.planning.chain import ChainSolver, PolicyEvaluator, moves_of
from goalbound.planning.checks import Policy, engine_for, pairs_of, require_ssp
from goalbound.planning.kernels import bellman, graph
from goalbound.planning.kernels.chain import Chain
from goalbound.planning.reduction import entries_of, rows_of
from goalbound.planning.solution import Status

SMALLEST_AIM = 1e-30
SMALLEST_NORMAL = 2.0**-1022
"""Below it floats are multiples of 2^-1074: fewer digits the smaller they are."""
LARGE_ENOUGH = 2.0**-400
"""Where no loss is larger, all are scaled up: what is small beside them would be lost."""


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
    graph_of = _PolicyGraph.of(require_ssp(ssp), pairs_of(ssp, policy))
    steps, steps_error = graph_of.steps(tolerance)
    values, values_error = graph_of.values(tolerance)
    error = float(max(values_error.max(), steps_error.max()))
    return Evaluation(values, steps, error, Status.CONVERGED if error <= tolerance else Status.ROUNDING)


def hitting_times(ssp: SSP, policy: Policy, *, tolerance: float = 1e-10) -> NDArray[np.float64]:
    """[S + 1] expected steps of a policy to the goal; infinite where it is not reached with probability one.

    The policy is given as to :func:`evaluate`. Relative errors are at most the tolerance; a number that cannot be
    computed that accurately is NaN.
    """
    check_fraction(tolerance, "tolerance", "a relative error")
    steps, errors = _PolicyGraph.of(require_ssp(ssp), pairs_of(ssp, policy)).steps(tolerance)
    return np.where(errors > tolerance, np.nan, steps)


def is_proper(ssp: SSP, policy: Policy) -> bool:
    """Whether a policy (an action for each state, by number or name) reaches the goal with probability one from every
    state. O(M).

    >>> walk = SSP.dense([[0.1, 0.0]], [[[0.5, 0.5], [1.0, 0.0]]])
    >>> is_proper(walk, [0]), is_proper(walk, [1])
    (True, False)
    """
    pairs = pairs_of(require_ssp(ssp), policy)
    moving = _moving_policy(ssp, pairs) if (pairs >= 0).all() else pairs
    if (moving < 0).any():
        return False
    solver = ChainSolver(rows_of(ssp), engine_for(ssp), None)
    solver.set_policy(moving)
    return bool(solver.reaches_goal().all())


def _moving_policy(ssp: SSP, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The policy with -1 where its pair never leaves the state."""
    support = ssp.support
    entry, lengths = entries_of(support.next_start, pairs)
    state = np.repeat(np.arange(support.states), lengths)
    moves = (support.next_state[entry] != state) & (ssp.probabilities[entry] > 0.0)
    out = pairs.copy()
    out[np.bincount(state[moves], minlength=support.states) == 0] = -1
    return out


class _PolicyGraph(NamedTuple):
    """A policy's pairs, its chain, and the properties of its graph."""

    rows: Rows
    run: Run
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
    def of(cls, ssp: SSP, pairs: NDArray[np.int64]) -> _PolicyGraph:
        rows, run, states = rows_of(ssp), engine_for(ssp), ssp.support.states
        solver = ChainSolver(rows, run, None)
        moving = np.where(pairs >= 0, _moving_policy(ssp, np.maximum(pairs, 0)), -1)
        solver.set_policy(moving)
        exits = (moving >= 0) & (solver.chain.exit > 0.0)
        ending = exits.copy()
        order = np.empty(states, dtype=np.int32)
        reached = run(graph.chain_reach)(solver.chain, order, ending)
        order[reached:] = np.flatnonzero(~ending)
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
        policy_graph = cls(rows, run, pairs, solver.chain, order, ~ending, (pays & ~leaves)[component])
        return policy_graph._replace(
            improper=policy_graph.reaching(policy_graph.improper),
            infinite_loss=policy_graph.reaching(policy_graph.infinite_loss),
        )

    def reaching(self, targets: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[S] the states from which the targets are reached with positive probability."""
        out = targets.copy()
        self.run(graph.chain_reach)(self.chain, np.empty(len(out), dtype=np.int32), out)
        return out

    def steps(self, tolerance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[S + 1] the expected steps to the goal, and [S + 1] bounds of their relative errors."""
        ones = np.ones(len(self.rows.losses))
        ones.flags.writeable = False
        steps, errors = _solved(self._replace(rows=self.rows._replace(losses=ones)), ~self.improper, tolerance)
        steps[:-1][self.improper] = np.inf
        return steps, errors

    def values(self, tolerance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[S + 1] the expected losses, and [S + 1] bounds of their relative errors."""
        paying = self.reaching((self.pairs >= 0) & (self.rows.losses[np.maximum(self.pairs, 0)] > 0.0))
        values, errors = _solved(self, paying & ~self.infinite_loss, tolerance)
        values[:-1][self.infinite_loss] = np.inf
        return values, errors


def _solved(
    policy_graph: _PolicyGraph, wanted: NDArray[np.bool_], tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[S + 1] values over the wanted states (0 elsewhere), and [S + 1] bounds of their relative errors.

    Losses that are all tiny are first multiplied by a power of two: near the smallest floats rounding is no longer
    relative to the numbers. Numbers without any accuracy are NaN.
    """
    values, errors = np.zeros(len(wanted) + 1), np.zeros(len(wanted) + 1)
    if not wanted.any():
        return values, errors
    policy = np.where(wanted, policy_graph.pairs, -1)
    rows, exponent = _enlarged(policy_graph.rows, policy[wanted])
    floor = 1e-3 * float(rows.losses[policy[wanted]].mean())
    state = PolicyEvaluator(ChainSolver(rows, policy_graph.run, policy_graph.order), values, floor)
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
