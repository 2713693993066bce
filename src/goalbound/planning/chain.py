"""Solving a policy's chain: directly where it is small, by sweeps or a preconditioned Krylov method where not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Run
from goalbound.models.arrays import Rows
from goalbound.planning.checks import DIRECT_STATES
from goalbound.planning.kernels import bellman, graph, iteration
from goalbound.planning.kernels import chain as kernels
from goalbound.planning.kernels.chain import Chain, CoarseFactor
from goalbound.planning.kernels.iteration import Evaluated

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
NO_CLUSTERS = CoarseFactor(
    np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64),
    np.empty(0), np.empty(0), np.empty(0),
)  # fmt: skip


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
        self._order = np.empty(0, dtype=np.int32)
        self._rank = self._order
        if order is not None:
            self._order = order
            self._rank = np.empty_like(order)
            self._rank[order] = np.arange(self.states, dtype=np.int32)
        self._cluster: NDArray[np.int32] | None = None
        self._room: CoarseFactor | None = None
        self._factored = False
        self._factors: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._sparse_lu: Any = None
        self._narrow = order is not None  # until seen otherwise
        start = np.empty(self.states + 1, dtype=np.int64)
        run(bellman.chain_rows)(rows, self._order, start)
        capacity = int(start[-1])
        self.chain = Chain(
            start, start[:-1].copy(), np.empty(capacity, dtype=np.int32), np.empty(capacity), np.ones(self.states)
        )
        self._chain_policy = np.full(self.states, -1, dtype=np.int64)

    def evaluated(self, values: NDArray[np.float64], low: NDArray[np.float64]) -> Evaluated:
        """The chain, values [S + 1] of its policy, and room for the kernels that find them."""
        work = np.ones((6, self.states))
        return Evaluated(self.rows, self.chain, self._chain_policy, self._order, self._rank, values, low, *work)

    def set_policy(self, policy: NDArray[np.int64]) -> None:
        """Set the chain to that of a policy (pairs, -1 for states that are left out); only changed rows are updated."""
        self.run(bellman.update_chain)(self.rows, policy, self._chain_policy, self._order, self._rank, self.chain)
        self.chain_changed()

    def chain_changed(self) -> None:
        """Forget what was computed for the chain before."""
        self._factored = False
        self._factors = None
        self._sparse_lu = None

    def reaches_goal(self) -> NDArray[np.bool_]:
        """[S] the states from which the chain reaches the goal."""
        out = self.chain.exit > 0.0
        scratch = np.empty(self.states, dtype=np.int32)
        self.run(graph.chain_reach)(self.chain, scratch, out)
        return self._to_state_order(out)

    def solve(
        self,
        rhs: NDArray[np.float64],
        unit: NDArray[np.float64],
        target: float,
        *,
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], float]:
        """x with x = rhs + weight x, and the largest residual divided by ``unit[S]`` (aim: at most ``target``).

        The residual may miss the aim: rounding, or a chain that never ends. The caller sees it and decides. With
        ``weights[S]`` the iteration works on x / weights, so that small parts of x count as much as large ones.
        """
        rhs, unit = self.to_solver_order(rhs), self.to_solver_order(unit)
        if self.states <= DIRECT_STATES:
            x = self._eliminate(rhs)
            return self._to_state_order(x), self._largest_residual(rhs, unit, x)
        if weights is None:
            x, reached = self._iterate(self.chain, rhs, unit, target, backwards=False)
        else:
            scale = self.to_solver_order(weights)
            chain = self.chain._replace(weight=np.empty_like(self.chain.weight), exit=np.empty(self.states))
            self.run(kernels.scale_chain)(self.chain, scale, chain.weight, chain.exit)
            self._factored = False
            # What is small far from the goal comes from losses further back: the scaled chain runs away from the goal.
            x, reached = self._iterate(chain, rhs / scale, unit / scale, target, backwards=True)
            self._factored = False
            x *= scale
        if reached > target and reached > iteration.STALLED_SHARE * float(np.max(np.abs(rhs) / unit)):
            reached = self._solve_directly(rhs, unit, reached, x)
        return self._to_state_order(x), reached

    def take_step(
        self, state: Evaluated, policy: NDArray[np.int64], floor: float, target: float, *, trusted: bool
    ) -> tuple[bool, float, float, bool]:
        """One step towards the values of a policy whose chain this is, see ``kernels.iteration.evaluate_step``.

        Returns whether the step was added, the residual that is left, the span of the step, and whether the residual is
        the solver's own. A step that was not added is in ``state.x``, and the residual its own.
        """
        sweeps = SWEEPS + SETTING_UP // self.states
        room, resumed = self._room or NO_CLUSTERS, False
        while True:
            how, found, span, own = self.run(iteration.evaluate_step)(
                state, room, self._factored, resumed, policy, floor, float(target), trusted, sweeps,
                *(NARROW_WORK if self._narrow else COARSE_WORK),
            )  # fmt: skip
            if how != iteration.NO_FACTOR:
                break
            room, resumed = self._factor_coarse(self.chain), True
        if how == iteration.STALLED:
            found = self._solve_directly(state.rhs, state.scale, found, state.x)
        return how == iteration.SOLVED, float(found), float(span), own

    def sweep(self, rhs: NDArray[np.float64], x: NDArray[np.float64], sweeps: int) -> NDArray[np.float64]:
        """x after some sweeps of x = rhs + weight x: nothing is subtracted, so small parts come out right first."""
        inside, rhs = self.to_solver_order(x).copy(), self.to_solver_order(rhs)
        if self.states <= DIRECT_STATES:
            return self._to_state_order(self._eliminate(rhs))
        for sweep in range(sweeps):
            self.run(kernels.gauss_seidel)(self.chain, rhs, np.ones(self.states), sweep % 2 == 1, inside)
        return self._to_state_order(inside)

    def _iterate(
        self, chain: Chain, rhs: NDArray[np.float64], unit: NDArray[np.float64], target: float, *, backwards: bool
    ) -> tuple[NDArray[np.float64], float]:
        """Sweeps while they are quick, then the Krylov method."""
        x = np.zeros(self.states)
        most = SWEEPS + SETTING_UP // self.states
        reached, _ = self.run(kernels.sweep_until)(chain, rhs, unit, target, most, iteration.PATIENCE, backwards, x)
        if reached > target:
            room = self._room
            if room is None or not self._factored:
                room = self._factor_coarse(chain)
            work = np.empty((kernels.KRYLOV_VECTORS, self.states))
            reached, _ = self.run(kernels.bicgstab)(chain, room, rhs, unit, target, iteration.KRYLOV_STEPS, work, x)
        return x, reached

    def _largest_residual(self, rhs: NDArray[np.float64], unit: NDArray[np.float64], x: NDArray[np.float64]) -> float:
        """The largest residual, in units."""
        left = np.empty(self.states)
        self.run(kernels.chain_residual)(self.chain, rhs, x, left)
        return float(np.max(np.abs(left) / unit, initial=0.0))

    def to_solver_order(self, vector: NDArray[Any]) -> NDArray[Any]:
        """[S] a vector over states as the chain numbers them."""
        return vector[self._order] if len(self._order) else vector

    def _to_state_order(self, vector: NDArray[Any]) -> NDArray[Any]:
        return vector[self._rank] if len(self._rank) else vector

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

    def _solve_directly(
        self, rhs: NDArray[np.float64], unit: NDArray[np.float64], reached: float, x: NDArray[np.float64]
    ) -> float:
        """Replace x by what sparse factors give if its residual is smaller than what was reached; the residual."""
        direct = self._solve_by_sparse_lu(rhs)
        left = np.inf if direct is None else self._largest_residual(rhs, unit, direct)
        if direct is None or not left < reached:
            return reached
        x[:] = direct
        return left

    def _solve_by_sparse_lu(self, rhs: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """By sparse factors of the whole chain: the last resort, where the Krylov method stalls. None if singular."""
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import splu

        if self._sparse_lu is None:
            row, column, weight = moves_of(self.chain)
            moves = csr_array((weight, (row, column)), shape=(self.states, self.states))
            try:
                self._sparse_lu = splu((eye_array(self.states) - moves).tocsc())
            except RuntimeError:  # a chain that never ends, up to rounding
                return None
        x: NDArray[np.float64] = self._sparse_lu.solve(rhs)
        return x

    def _clusters(self) -> NDArray[np.int32]:
        """[S] clusters of neighbours; where the problem is shallow one state is as near as another."""
        if not len(self._order):
            return (np.arange(self.states) // max(1, self.states // SHALLOW_CLUSTERS)).astype(np.int32)
        cluster = np.empty(self.states, dtype=np.int32)
        self.run(kernels.grow_clusters)(self.rows, self._order, CLUSTER_STATES, cluster)
        return cluster[self._order]

    def _eliminate(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """State reduction (Grassmann, Taksar, Heyman): no subtraction, so tiny exits keep their relative accuracy."""
        if self._factors is None:
            self._factors = self._reduce()
        matrix, pivot = self._factors
        x = rhs.copy()
        for k in range(self.states - 1, 0, -1):
            x[:k] += matrix[:k, k] * x[k]
        for k in range(self.states):
            x[k] = (x[k] + float((matrix[k, :k] * x[:k]).sum())) / pivot[k]
        return x

    def _reduce(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eliminate states from the last: above the diagonal the multipliers, below it the moves that remain."""
        n = self.states
        matrix = np.zeros((n, n))
        row, column, weight = moves_of(self.chain)
        np.add.at(matrix, (row, column), weight)
        leaving = self.chain.exit.copy()
        pivot = np.empty(n)
        for k in range(n - 1, -1, -1):
            pivot[k] = matrix[k, :k].sum() + leaving[k]
            share = matrix[:k, k] / pivot[k] if pivot[k] > 0.0 else np.full(k, np.inf)
            matrix[:k, :k] += share[:, None] * matrix[k, :k]
            leaving[:k] += share * leaving[k]
            matrix[:k, k] = share
        return matrix, pivot


def moves_of(chain: Chain) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row, column and weight of every move between states of a chain."""
    lengths = chain.stop - chain.start[:-1]
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(row)) + np.repeat(chain.start[:-1] - (np.cumsum(lengths) - lengths), lengths)
    return row, chain.column[place], chain.weight[place]
