"""Values of policies of one problem: a solver for their chains, and the evaluation of one policy after the other.

Chains are solved directly where they are small, by sweeps or a preconditioned Krylov method where not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Run
from goalbound.models.arrays import Rows
from goalbound.planning.checks import DIRECT_STATES
from goalbound.planning.kernels import bellman, graph
from goalbound.planning.kernels import chain as kernels
from goalbound.planning.kernels.chain import Chain, CoarseFactor, Evaluated

SWEEPS = 16
"""The most sweeps before the Krylov method is expected to be cheaper."""
SETTING_UP = 30_000
"""Setting up the Krylov method costs about as much as sweeping over this many states."""
NARROW_WORK = 100.0, 0.0
"""The most work of factoring a narrow chain as it is: this much for each entry, and this much more."""
COARSE_WORK = 30.0, 1e4
"""The most work of factoring its clusters."""
CLUSTER_STATES = 64
SHALLOW_CLUSTERS = 16
ROOM = 2
"""How much more room than needed a coarse factor gets."""
NO_CLUSTERS = CoarseFactor(np.empty(0, np.int32), np.empty(0, np.int64), np.zeros(1, np.int64), *np.empty((3, 0)))

ROUNDING = 2.0**-53
MOST_REFINEMENTS = 40
TRUSTED_RESIDUAL = 1e-4
"""Down to this residual, in units, the solver's own measure is trusted."""
SWEEP_RESIDUAL = 1e-2
"""In relative terms, a residual above this is first brought down by sweeps alone."""
SMOOTHING_SWEEPS = 50
"""Sweeps at a time."""
SMALLEST_UNIT = 1e-200

Floats = NDArray[np.float64]


class ChainSolver:
    """Solves chains of policies of one problem, again and again, with work arrays that are kept between calls.

    Args:
        rows: the problem; S states, M triples.
        run: how to run kernels.
        order: [S] states nearest to the goal first, or None if their order does not matter (shallow problems).
            Inside, states are numbered by it, so that sweeps go along the paths and through memory.
    """

    def __init__(self, rows: Rows, run: Run, order: NDArray[np.int32] | None) -> None:
        self.rows, self.run = rows, run
        self.states = len(rows.pair_start) - 1
        self.order = self.rank = np.empty(0, dtype=np.int32)
        self.inside: Any = slice(None)  # of a vector over states, to that of the chain's numbers
        self._outside: Any = slice(None)  # and back
        if order is not None:
            self.order = self.inside = order
            self.rank = self._outside = np.empty_like(order)
            self.rank[order] = np.arange(self.states, dtype=np.int32)
        self._cluster: NDArray[np.int32] | None = None
        self._room: CoarseFactor | None = None
        self._narrow = order is not None  # until seen otherwise
        self.chain = kernels.new_chain(rows, order)
        self.known = np.full(self.states, -1, dtype=np.int64)
        self.chain_changed()

    def set_policy(self, policy: NDArray[np.int64]) -> None:
        """Set the chain to that of a policy (pairs, -1 for states that are left out); only changed rows are updated."""
        self.run(bellman.update_chain)(self.rows, policy, self.known, self.order, self.rank, self.chain)
        self.chain_changed()

    def chain_changed(self) -> None:
        """Forget what was computed for the chain before."""
        self._factored = False
        self._factors: tuple[Floats, Floats] | None = None
        self._sparse_lu: Any = None

    def reaches_goal(self) -> NDArray[np.bool_]:
        """[S] the states from which the chain reaches the goal."""
        out = self.chain.exit > 0.0
        self.run(graph.chain_reach)(self.chain, np.empty(self.states, dtype=np.int32), out)
        return out[self._outside]

    def solve(self, rhs: Floats, unit: Floats, target: float, *, weights: Floats | None = None) -> tuple[Floats, float]:
        """x with x = rhs + weight x, and the largest residual divided by ``unit[S]`` (aim: at most ``target``).

        The residual may miss the aim: rounding, or a chain that never ends. The caller sees it and decides. With
        ``weights[S]`` the iteration works on x / weights, so that small parts of x count as much as large ones.
        """
        rhs, unit = rhs[self.inside], unit[self.inside]
        if self.states <= DIRECT_STATES:
            x = self._eliminate(rhs)
            return x[self._outside], self._largest_residual(rhs, unit, x)
        if weights is None:
            x, reached = self._iterate(self.chain, rhs, unit, target, backwards=False)
        else:
            scale = weights[self.inside]
            chain = self.chain._replace(weight=np.empty_like(self.chain.weight), exit=np.empty(self.states))
            self.run(kernels.scale_chain)(self.chain, scale, chain.weight, chain.exit)
            self._factored = False
            # What is small far from the goal comes from losses further back: the scaled chain runs away from the goal.
            x, reached = self._iterate(chain, rhs / scale, unit / scale, target, backwards=True)
            self._factored = False
            x *= scale
        if reached > target and reached > kernels.STALLED_SHARE * float(np.max(np.abs(rhs) / unit)):
            reached = self._solve_directly(rhs, unit, reached, x)
        return x[self._outside], reached

    def take_step(
        self, state: Evaluated, policy: NDArray[np.int64], floor: float, target: float, *, trusted: bool
    ) -> tuple[bool, float, float, bool]:
        """One step towards the values of a policy whose chain this is, see ``kernels.chain.evaluate_step``.

        Returns whether the step was added, the residual that is left, the span of the step, and whether the residual is
        the solver's own. A step that was not added is in ``state.x``, and the residual its own.
        """
        sweeps = SWEEPS + SETTING_UP // self.states
        room, resumed = self._room or NO_CLUSTERS, False
        while True:
            work = NARROW_WORK if self._narrow else COARSE_WORK
            how, found, span, own = self.run(kernels.evaluate_step)(
                state, room, self._factored, resumed, policy, floor, float(target), trusted, sweeps, *work
            )
            if how != kernels.NO_FACTOR:
                break
            room, resumed = self._factor_coarse(self.chain), True
        if how == kernels.STALLED:
            found = self._solve_directly(state.rhs, state.scale, found, state.x)
        return how == kernels.SOLVED, float(found), float(span), own

    def sweep(self, rhs: Floats, x: Floats, sweeps: int) -> Floats:
        """x after some sweeps of x = rhs + weight x: nothing is subtracted, so small parts come out right first."""
        inside, rhs = x[self.inside].copy(), rhs[self.inside]
        if self.states <= DIRECT_STATES:
            return self._eliminate(rhs)[self._outside]
        for sweep in range(sweeps):
            self.run(kernels.gauss_seidel)(self.chain, rhs, np.ones(self.states), sweep % 2 == 1, inside)
        return inside[self._outside]

    def _iterate(
        self, chain: Chain, rhs: Floats, unit: Floats, target: float, *, backwards: bool
    ) -> tuple[Floats, float]:
        """Sweeps while they are quick, then the Krylov method."""
        x = np.zeros(self.states)
        most = SWEEPS + SETTING_UP // self.states
        reached, _ = self.run(kernels.sweep_until)(chain, rhs, unit, target, most, kernels.PATIENCE, backwards, x)
        if reached > target:
            room = self._room
            if room is None or not self._factored:
                room = self._factor_coarse(chain)
            work = np.empty((kernels.KRYLOV_VECTORS, self.states))
            reached, _ = self.run(kernels.bicgstab)(chain, room, rhs, unit, target, kernels.KRYLOV_STEPS, work, x)
        return x, reached

    def _largest_residual(self, rhs: Floats, unit: Floats, x: Floats) -> float:
        """The largest residual, in units."""
        left = np.empty(self.states)
        self.run(kernels.chain_residual)(self.chain, rhs, x, left)
        return float(np.max(np.abs(left) / unit, initial=0.0))

    def _factor_coarse(self, chain: Chain) -> CoarseFactor:
        """The coarse matrix of the chain, on as many clusters as can be factored in the time of a few sweeps.

        Chains that are narrow in their order (corridors) are factored as they are, which solves them.
        """
        entries = float((chain.stop - chain.start[:-1]).sum())
        if self._narrow:
            alone = np.arange(self.states, dtype=np.int32)
            first, work = self._envelope(alone)
            self._narrow = work <= NARROW_WORK[0] * entries + NARROW_WORK[1]
            if self._narrow:
                return self._factor(chain, alone, first)
        if self._cluster is None:
            self._cluster = self._clusters()
        while True:
            first, work = self._envelope(self._cluster)
            if len(first) == 1 or work <= COARSE_WORK[0] * entries + COARSE_WORK[1]:
                return self._factor(chain, self._cluster, first)
            self._cluster //= 2

    def _envelope(self, cluster: NDArray[np.int32]) -> tuple[NDArray[np.int64], float]:
        first = np.empty(int(cluster.max()) + 1, dtype=np.int64)
        return first, self.run(kernels.coarse_envelope)(self.chain, cluster, first)

    def _factor(self, chain: Chain, cluster: NDArray[np.int32], first: NDArray[np.int64]) -> CoarseFactor:
        start = np.zeros(len(first) + 1, dtype=np.int64)
        np.cumsum(np.arange(len(first)) - first, out=start[1:])
        room = ROOM * int(start[-1])  # for the policies to come, whose envelopes differ a little
        coarse = CoarseFactor(cluster, first, start, np.empty(room), np.empty(room), np.empty(len(first)))
        self.run(kernels.factor_coarse)(chain, coarse)
        self._room, self._factored = coarse, True
        return coarse

    def _clusters(self) -> NDArray[np.int32]:
        """[S] clusters of neighbours; where the problem is shallow one state is as near as another."""
        if not len(self.order):
            return (np.arange(self.states) // max(1, self.states // SHALLOW_CLUSTERS)).astype(np.int32)
        cluster = np.empty(self.states, dtype=np.int32)
        self.run(kernels.grow_clusters)(self.rows, self.order, CLUSTER_STATES, cluster)
        return cluster[self.inside]

    def _solve_directly(self, rhs: Floats, unit: Floats, reached: float, x: Floats) -> float:
        """Replace x by what sparse factors give if its residual is smaller than what was reached; the residual.

        The last resort, where the Krylov method stalls.
        """
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import splu

        if self._sparse_lu is None:
            row, column, weight = moves_of(self.chain)
            moves = csr_array((weight, (row, column)), shape=(self.states, self.states))
            try:
                self._sparse_lu = splu((eye_array(self.states) - moves).tocsc())
            except RuntimeError:  # a chain that never ends, up to rounding
                return reached
        direct: Floats = self._sparse_lu.solve(rhs)
        left = self._largest_residual(rhs, unit, direct)
        if not left < reached:
            return reached
        x[:] = direct
        return left

    def _eliminate(self, rhs: Floats) -> Floats:
        """State reduction (Grassmann, Taksar, Heyman): no subtraction, so tiny exits keep their relative accuracy.

        States are eliminated from the last. The matrix then holds the multipliers above the diagonal, and the moves
        that remain below it.
        """
        states = self.states
        if self._factors is None:
            matrix = np.zeros((states, states))
            row, column, weight = moves_of(self.chain)
            np.add.at(matrix, (row, column), weight)
            leaving = self.chain.exit.copy()
            pivot = np.empty(states)
            for k in range(states - 1, -1, -1):
                pivot[k] = matrix[k, :k].sum() + leaving[k]
                share = matrix[:k, k] / pivot[k] if pivot[k] > 0.0 else np.full(k, np.inf)
                matrix[:k, :k] += share[:, None] * matrix[k, :k]
                leaving[:k] += share * leaving[k]
                matrix[:k, k] = share
            self._factors = matrix, pivot
        matrix, pivot = self._factors
        x = rhs.copy()
        for k in range(states - 1, 0, -1):
            x[:k] += matrix[:k, k] * x[k]
        for k in range(states):
            x[k] = (x[k] + float((matrix[k, :k] * x[:k]).sum())) / pivot[k]
        return x


def moves_of(chain: Chain) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """Row, column and weight of every move between states of a chain."""
    lengths = chain.stop - chain.start[:-1]
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(row)) + np.repeat(chain.start[:-1] - (np.cumsum(lengths) - lengths), lengths)
    return row, chain.column[place], chain.weight[place]


class PolicyEvaluator:
    """Evaluates policies one after the other, each from the values of the one before.

    The residual (loss + P v - v, self loops taken out) is measured in ``unit[S]``, the loss paid until the state is
    left plus ``floor``: if it is at most r everywhere, the values are off by at most r (v + floor * moves to the goal).
    Where float64 is too coarse for that, ``low`` holds the trailing part of the values; it is empty until then.
    With ``relative`` the unit is the loss plus half the variance of the next value over the value, and steps are taken
    in relative terms: for values so different in size that an absolute measure would not see the small ones.
    ``drift`` sums the spans of all changes so far (see ``kernels.bellman.improve``).
    """

    def __init__(self, solver: ChainSolver, values: Floats, floor: float) -> None:
        self.rows, self.run, self.solver = solver.rows, solver.run, solver
        self.values = values
        self.floor = self._unit_floor = floor
        self.low = np.empty(0)
        work = np.ones((6, solver.states))
        self._kept = Evaluated(
            solver.rows, solver.chain, solver.known, solver.order, solver.rank, values, self.low, *work
        )
        self.unit, self._residual = self._kept.unit, self._kept.residual
        self.smallest = float(np.min(solver.rows.losses, initial=1.0))
        self.drift = 0.0
        self.relative = False
        self._policy = np.full(solver.states, -1, dtype=np.int64)

    def set_policy(self, policy: NDArray[np.int64]) -> float:
        """Set the policy (pairs; -1 for states left out); returns the residual of the values under it."""
        self._policy = policy
        largest = self.run(kernels.set_policy)(self._kept, policy, self._unit_floor)
        self.solver.chain_changed()
        return self._in_units(largest)

    def improve_policy(
        self, usable: NDArray[np.bool_], share: float, settled: Floats, *, last: bool
    ) -> tuple[int, float]:
        """Let states of the policy switch to pairs that are better by more than ``share`` units, and set that policy.

        Returns how many did, and the residual of the values; with ``last``, nothing is set or measured if none did.
        """
        switched, largest = self.run(kernels.improve_policy)(
            self._kept, usable, float(share), self.drift, settled, self._policy, self._unit_floor, last
        )
        if last and not switched:
            return 0, 0.0
        self.solver.chain_changed()
        return switched, self._in_units(largest)

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

    def _residuals(self, floor: float, out_unit: Floats) -> float:
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
            if found > target and not len(self.low):
                largest = float(np.max(self.values[:-1] / self.unit, initial=0.0))
                if target < 16.0 * ROUNDING * largest:  # what is left is rounding of the values themselves
                    self.use_extended_precision()
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
            self._kept.x[:] = step[self.solver.inside]
        else:
            added, reached, span, own = self.solver.take_step(
                self._kept, self._policy, self._unit_floor, target, trusted=trusted
            )
            if added:
                self.drift += span
                return reached, own
        span, whole = self.run(kernels.add_step)(self._kept)
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
        self._unit_floor = 0.0

    @property
    def total(self) -> Floats:
        """[S + 1] the values, both parts added."""
        return self.values + self.low if len(self.low) else self.values
