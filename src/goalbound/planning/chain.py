"""Solving a policy's chain: directly where it is small, by sweeps or a preconditioned Krylov method where not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import bellman, graph
from goalbound.kernels import chain as kernels
from goalbound.kernels.chain import Chain, Coarse
from goalbound.kernels.jit import Run
from goalbound.kernels.layout import Rows

DIRECT_STATES = 300
"""Up to this many states a chain is eliminated directly."""

SWEEPS = 16
"""As many sweeps may be spent before the Krylov method is thought to be cheaper."""
SETTING_UP = 30_000
"""Setting up the Krylov method takes about as long as sweeping over this many states."""
MIXTURE_VARIANCE = 4
"""Sweeps after which their rate is looked at."""
KRYLOV_STEPS = 60
CLUSTER_STATES = 64
SHALLOW_CLUSTERS = 16


class ChainSolver:
    """Solves chains of policies of one problem, again and again, with room that is kept between calls.

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
        self._coarse: Coarse | None = None
        self._factors: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._whole: Any = None
        self._narrow = order is not None  # until seen otherwise
        start = np.empty(self.states + 1, dtype=np.int64)
        run(bellman.chain_rows)(rows, self._order, start)
        room = int(start[-1])
        self.chain = Chain(
            start, start[:-1].copy(), np.empty(room, dtype=np.int32), np.empty(room), np.ones(self.states)
        )
        self._known = np.full(self.states, -1, dtype=np.int64)

    def take(self, policy: NDArray[np.int64]) -> None:
        """Take over the chain of a policy (pairs, -1 for states that are left out); only what changed is redone."""
        self.run(bellman.update_chain)(self.rows, policy, self._known, self._order, self._rank, self.chain)
        self._coarse = None
        self._factors = None
        self._whole = None

    def reached(self) -> NDArray[np.bool_]:
        """[S] the states from which the chain reaches the goal."""
        out = self.chain.exit > 0.0
        room = np.empty(self.states, dtype=np.int32)
        self.run(graph.chain_reach)(self.chain, room, out)
        return self._outside(out)

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
        rhs, unit = self._inside(rhs), self._inside(unit)
        if self.states <= DIRECT_STATES:
            x = self._eliminate(rhs)
            return self._outside(x), self._left(rhs, unit, x)
        if weights is None:
            x, reached = self._iterate(self.chain, rhs, unit, target, backwards=False)
        else:
            scale = self._inside(weights)
            chain = self.chain._replace(weight=np.empty_like(self.chain.weight), exit=np.empty(self.states))
            self.run(kernels.scale_chain)(self.chain, scale, chain.weight, chain.exit)
            self._coarse = None
            # What is small far from the goal comes from losses further back: the scaled chain runs away from the goal.
            x, reached = self._iterate(chain, rhs / scale, unit / scale, target, backwards=True)
            self._coarse = None
            x *= scale
        if reached > target and reached > 0.1 * float(np.max(np.abs(rhs) / unit)):
            direct = self._factored_whole(rhs)
            left = np.inf if direct is None else self._left(rhs, unit, direct)
            if direct is not None and left < reached:
                x, reached = direct, left
        return self._outside(x), reached

    def swept(self, rhs: NDArray[np.float64], x: NDArray[np.float64], sweeps: int) -> NDArray[np.float64]:
        """x after some sweeps of x = rhs + weight x: nothing is subtracted, so small parts come out right first."""
        inside, rhs = self._inside(x).copy(), self._inside(rhs)
        if self.states <= DIRECT_STATES:
            return self._outside(self._eliminate(rhs))
        for sweep in range(sweeps):
            self.run(kernels.gauss_seidel)(self.chain, rhs, np.ones(self.states), sweep % 2 == 1, inside)
        return self._outside(inside)

    def _iterate(
        self, chain: Chain, rhs: NDArray[np.float64], unit: NDArray[np.float64], target: float, *, backwards: bool
    ) -> tuple[NDArray[np.float64], float]:
        """Sweeps while they are quick, then the Krylov method."""
        x = np.zeros(self.states)
        most = SWEEPS + SETTING_UP // self.states
        reached, _ = self.run(kernels.sweep_until)(chain, rhs, unit, target, most, MIXTURE_VARIANCE, backwards, x)
        if reached > target:
            if self._coarse is None:
                self._coarse = self._factored(chain)
            reached, _ = self.run(kernels.bicgstab)(chain, self._coarse, rhs, unit, target, KRYLOV_STEPS, x)
        return x, reached

    def _left(self, rhs: NDArray[np.float64], unit: NDArray[np.float64], x: NDArray[np.float64]) -> float:
        """The largest residual, in units."""
        left = np.empty(self.states)
        self.run(kernels.chain_residual)(self.chain, rhs, x, left)
        return float(np.max(np.abs(left) / unit, initial=0.0))

    def _inside(self, vector: NDArray[Any]) -> NDArray[Any]:
        return vector[self._order] if len(self._order) else vector

    def _outside(self, vector: NDArray[Any]) -> NDArray[Any]:
        return vector[self._rank] if len(self._rank) else vector

    def _factored(self, chain: Chain) -> Coarse:
        """The coarse matrix of the chain, on as many clusters as can be factored in the time of a few sweeps.

        Chains that are narrow in their order (corridors) are factored as they are, which solves them.
        """
        entries = float((chain.stop - chain.start[:-1]).sum())
        if self._narrow:
            alone = np.arange(self.states, dtype=np.int32)
            first, work = self._envelope(alone)
            self._narrow = work <= 100.0 * entries
            if self._narrow:
                return self._factor(chain, alone, first)
        if self._cluster is None:
            self._cluster = self._clusters()
        while True:
            first, work = self._envelope(self._cluster)
            if len(first) == 1 or work <= 30.0 * entries + 1e4:
                return self._factor(chain, self._cluster, first)
            self._cluster //= 2

    def _envelope(self, cluster: NDArray[np.int32]) -> tuple[NDArray[np.int64], float]:
        first = np.empty(int(cluster.max()) + 1, dtype=np.int64)
        return first, self.run(kernels.coarse_envelope)(self.chain, cluster, first)

    def _factor(self, chain: Chain, cluster: NDArray[np.int32], first: NDArray[np.int64]) -> Coarse:
        start = np.zeros(len(first) + 1, dtype=np.int64)
        np.cumsum(np.arange(len(first)) - first, out=start[1:])
        coarse = Coarse(cluster, first, start, np.empty(start[-1]), np.empty(start[-1]), np.empty(len(first)))
        self.run(kernels.factor_coarse)(chain, coarse)
        return coarse

    def _factored_whole(self, rhs: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """By sparse factors of the whole chain: the last resort, where the Krylov method stalls. None if singular."""
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import splu

        if self._whole is None:
            row, column, weight = moves_of(self.chain)
            moves = csr_array((weight, (row, column)), shape=(self.states, self.states))
            try:
                self._whole = splu((eye_array(self.states) - moves).tocsc())
            except RuntimeError:  # a chain that never ends, up to rounding
                return None
        x: NDArray[np.float64] = self._whole.solve(rhs)
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
