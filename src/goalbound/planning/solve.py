"""The exact planner: policy iteration over proper policies, with a certificate.

Algorithm: reduce the problem (:mod:`goalbound.planning.reduction`), start from a proper policy, then evaluate
inexactly and improve until nothing is better by more than the tolerance allows, then certify. The certificate does not
trust anything that came before it: see :mod:`goalbound.planning.certificate`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import bellman, shortest
from goalbound.kernels.jit import Run, engine
from goalbound.models import SSP, ModelError
from goalbound.planning.certificate import Certificate, certify
from goalbound.planning.chain import ChainSolver
from goalbound.planning.properness import NoProperPolicy
from goalbound.planning.reduction import (
    Reduction,
    expand_policy,
    expand_values,
    reach_by_sweeps,
    reduce,
    reverse_of,
    states_of,
)
from goalbound.planning.solution import Solution, Status

ITERATIONS = 1000
SHALLOW = 16
"""Problems with no way to the goal longer than this are solved in the order in which they come."""
FORCING = 0.1
"""Each evaluation brings the residual down to this share of what it found."""
UNIT = 2.0**-53


def solve(ssp: SSP, *, tolerance: float = 1e-9, unreachable: str = "refuse") -> Solution:
    """The best proper policy of a problem, with certified bounds of the optimal values.

    Guarantee: ``lower <= v* <= upper`` in exact arithmetic for the problem as stored (each row divided by its exact
    sum), where v* is the smallest value of any proper policy; status CONVERGED means that
    ``upper - lower <= tolerance * upper`` in every state. The policy is proper and its value is at most ``upper``.
    Ties go to the lowest action. The answer does not depend on threads.

    Args:
        ssp: the problem. Losses may be zero, anywhere.
        tolerance: largest relative width of the bounds.
        unreachable: what to do if some state has no proper policy: "refuse" raises :class:`NoProperPolicy`, which
            names them; "exclude" solves the rest, with value infinity and action -1 there.

    Cost: O(M) for the graph, then O(M) for each of usually 5 to 20 policies plus the solution of its chain.

    >>> solve(SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]])).values
    array([0.4, 0. ])
    """
    if not 0.0 < tolerance < 1.0:
        raise ModelError(f"tolerance {tolerance} is not between 0 and 1; it is a relative width")
    if unreachable not in ("refuse", "exclude"):
        raise ModelError(f'unreachable is "{unreachable}"; it is "refuse" or "exclude"')
    run = engine(ssp.support.triples)
    reduction = reduce(ssp, run)
    if reduction.lost.any() and unreachable == "refuse":
        raise NoProperPolicy(ssp, np.flatnonzero(reduction.lost))
    search = _Search(reduction, run, tolerance)
    certificate, status = search.run_to_end()
    pairs = expand_policy(ssp, reduction, search.policy, run)
    policy = np.where(pairs >= 0, ssp.support.pair_action[np.maximum(pairs, 0)], -1).astype(np.int64)
    values, lower, upper = (
        expand_values(reduction, part) for part in (search.values + search.low_part, certificate.lower, certificate.upper)
    )
    return Solution(values, policy, lower, upper, search.iterations, status, ssp)


class _Search:
    """Policy iteration on a reduced problem, from a proper policy to a certificate."""

    def __init__(self, reduction: Reduction, run: Run, tolerance: float) -> None:
        self.rows, self.usable, self.run = reduction.rows, reduction.usable, run
        self.tolerance = tolerance
        self.states = reduction.states
        self.iterations = 0
        self.low = np.empty(0)
        self._residual = np.empty(self.states)
        self.unit = np.ones(self.states)
        losses = self.rows.losses[self.usable]
        self.floor = 1e-3 * float(losses.mean()) if len(losses) else 1.0
        self.policy, self.values, order = self._first(reduction)
        self.solver = ChainSolver(self.rows, run, order)

    @property
    def low_part(self) -> NDArray[np.float64]:
        """[Q + 1] the trailing part of the values."""
        return self.low if len(self.low) else np.zeros(self.states + 1)

    def run_to_end(self) -> tuple[Certificate, Status]:
        """Improve, certify, and go on with a smaller aim until the bounds are as close as they should be."""
        aim = self.tolerance / 6.0
        best: Certificate | None = None
        while True:
            finished = self._improve_to(aim)
            self._prefer_lowest(aim)
            certificate = certify(
                self.rows, self.usable, self.policy, (self.values, self.low), self.floor, self.tolerance, self.solver
            )
            if best is None or certificate.width < best.width:
                best = certificate
            if best.width <= self.tolerance:
                return best, Status.CONVERGED
            if not finished and self.iterations >= ITERATIONS:
                return best, Status.ITERATION_LIMIT
            aim = min(aim / 8.0, aim * self.tolerance / certificate.width)
            if not finished or aim < 1e-18:
                return best, Status.ROUNDING

    def _first(self, reduction: Reduction) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32] | None]:
        """A proper policy, values to start from, and the order of the sweeps (None: as they come)."""
        values = np.zeros(self.states + 1)
        if not self.states:
            return np.empty(0, dtype=np.int64), values, None
        active = reduction.active
        choice, depth = reach_by_sweeps(self.rows, self.usable, self.run)
        if (choice >= 0)[active].all() and depth.max() <= SHALLOW:
            choice[~active] = -1
            return choice, values, None
        reverse = reverse_of(self.rows, self.run)
        self.run(shortest.shortest_ways)(self.rows, reverse, states_of(self.rows), self.usable, choice, values)
        values[:-1][~active] = 0.0
        return choice, values, np.argsort(values[:-1], kind="stable").astype(np.int32)

    def _improve_to(self, aim: float) -> bool:
        """Policy iteration until the residual is at most ``aim`` and no pair is better by more; False if it stalls."""
        target = 1.0
        proper = self.policy.copy()
        while self.iterations < ITERATIONS:
            self.iterations += 1
            self.solver.take(self.policy)
            found = self._measure()
            target = max(aim, min(target, FORCING * found))
            stalled = not self._evaluate(found, target)
            if stalled and self._mend(proper):
                continue
            proper[:] = self.policy
            margin = self.unit * (max(aim, 0.1 * target) / 4.0)
            switched = self.run(bellman.improve)(self.rows, self.usable, self.values, self.low, margin, self.policy)
            if not switched and (target <= aim or stalled):
                return not stalled
            if not switched:
                target = aim
        return False

    def _measure(self) -> float:
        """The largest residual of the policy's values, in units of its losses."""
        self.run(bellman.policy_residual)(
            self.rows, self.policy, self.rows.losses, self.values, self.low, self._residual, self.unit
        )
        self.unit += self.floor
        return float(np.max(np.abs(self._residual) / self.unit, initial=0.0))

    def _evaluate(self, found: float, target: float) -> bool:
        """Bring the residual from ``found`` down to ``target``; False if it does not get there."""
        if not len(self.low) and target < 16.0 * UNIT * float(np.max(self.values[:-1] / self.unit, initial=0.0)):
            self.low = np.zeros(self.states + 1)
        while found > target:
            step, _ = self.solver.solve(self._residual, self.unit, 0.5 * target)
            before = found, self.values.copy(), self.low.copy()
            self._add(step)
            found = self._measure()
            if not found < 0.5 * before[0]:
                if not found < before[0]:
                    self.values, self.low = before[1], before[2]
                    self._measure()
                return found <= target
        return True

    def _add(self, step: NDArray[np.float64]) -> None:
        values = self.values[:-1]
        if not len(self.low):
            values += step
            return
        step = step + self.low[:-1]
        total = values + step
        shifted = total - values
        self.low[:-1] = (values - (total - shifted)) + (step - shifted)
        values[:] = total

    def _mend(self, proper: NDArray[np.int64]) -> bool:
        """Give states that no longer reach the goal the pair of the last proper policy; whether there were any."""
        stuck = ~self.solver.reached()
        self.policy[stuck] = proper[stuck]
        return bool(stuck.any())

    def _prefer_lowest(self, aim: float) -> None:
        """Move to the lowest tied pairs if the policy stays proper and its values stay the same."""
        lowest = np.empty_like(self.policy)
        if not self.run(bellman.lowest_ties)(self.rows, self.usable, self.values, self.low, self.policy, lowest):
            return
        kept = self.policy
        self.policy = lowest
        self.solver.take(self.policy)
        if not self.solver.reached().all() or self._measure() > 4.0 * aim:
            self.policy = kept
            self.solver.take(self.policy)
            self._measure()
