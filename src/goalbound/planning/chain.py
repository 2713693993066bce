"""Solving a policy's chain: directly where it is small, by sweeps or a preconditioned Krylov method where it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import bellman, graph
from goalbound.kernels import chain as kernels
from goalbound.kernels.chain import Chain, Coarse
from goalbound.kernels.jit import Run
from goalbound.kernels.layout import Rows

DIRECT_STATES = 300
"""Up to this many states a chain is eliminated directly."""

SWEEPS = 60
"""As many sweeps may be spent before the Krylov method is thought to be cheaper."""

KRYLOV_STEPS = 60


class ChainSolver:
    """Solves chains of policies of one problem, again and again, with room that is kept between calls.

    Args:
        rows: the problem; S states, M triples.
        run: how to run kernels.
        order: [S] states nearest to the goal first, or None if their order does not matter (shallow problems).
    """

    def __init__(self, rows: Rows, run: Run, order: NDArray[np.int32] | None) -> None:
        self.rows, self.run = rows, run
        self.states = len(rows.pair_start) - 1
        self.order = np.empty(0, dtype=np.int32) if order is None else order
        self.work = 0
        self._start = np.empty(self.states + 1, dtype=np.int64)
        self._exit = np.empty(self.states)
        self._column = np.empty(0, dtype=np.int32)
        self._weight = np.empty(0)
        self._cluster: NDArray[np.int32] | None = None
        self._coarse: Coarse | None = None
        self._factors: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self.chain = Chain(self._start, self._column, self._weight, self._exit, self.order)

    def take(self, policy: NDArray[np.int64]) -> None:
        """Take over the chain of a policy (pairs, -1 for states that are left out)."""
        most = int(_row_lengths(self.rows, policy).sum())
        if len(self._column) < most:
            self._column = np.empty(most, dtype=np.int32)
            self._weight = np.empty(most)
        self.run(bellman.chain_of_policy)(
            self.rows, policy, self._start, self._column, self._weight, self._exit
        )
        self.chain = Chain(self._start, self._column, self._weight, self._exit, self.order)
        self._coarse = None
        self._factors = None

    def reached(self) -> NDArray[np.bool_]:
        """[S] the states from which the chain reaches the goal."""
        out = self._exit > 0.0
        room = np.empty(self.states, dtype=np.int64)
        self.run(graph.policy_reach)(self._start, self._column, self.states, room, out)
        return out

    def solve(self, rhs: NDArray[np.float64], unit: NDArray[np.float64], target: float) -> tuple[NDArray, float]:  # type: ignore[type-arg]
        """x with x = rhs + weight x, and the largest residual divided by ``unit[S]`` (aim: at most ``target``).

        The residual may miss the aim: rounding, or a chain that never ends. The caller sees it and decides.
        """
        if self.states <= DIRECT_STATES:
            x = self._eliminate(rhs)
            out = np.empty(self.states)
            self.run(kernels.chain_residual)(self.chain, rhs, x, out)
            return x, float(np.max(np.abs(out) / unit, initial=0.0))
        x = np.zeros(self.states)
        change, sweeps = self.run(kernels.sweep_until)(self.chain, rhs, unit, target / 2.0, SWEEPS, 6, x)
        self.work += sweeps
        if change <= target / 2.0:
            return x, change
        if self._coarse is None:
            self._coarse = self._factored()
        reached, steps = self.run(kernels.bicgstab)(self.chain, self._coarse, rhs, unit, target, KRYLOV_STEPS, x)
        self.work += 4 * steps
        return x, reached

    def _factored(self) -> Coarse:
        """The coarse matrix of the chain, on as many clusters as can be factored in the time of a few sweeps."""
        allowed = 4.0 * len(self._weight) + 1e4
        if self._cluster is None:
            self._cluster, allowed_now = self._clusters(allowed)
        while True:
            first = np.empty(int(self._cluster.max()) + 1, dtype=np.int64)
            work = self.run(kernels.coarse_envelope)(self.chain, self._cluster, first)
            if work <= allowed or len(first) == 1:
                break
            self._cluster //= 2
        start = np.zeros(len(first) + 1, dtype=np.int64)
        np.cumsum(np.arange(len(first)) - first, out=start[1:])
        coarse = Coarse(
            self._cluster, first, start, np.empty(start[-1]), np.empty(start[-1]), np.empty(len(first))
        )
        self.run(kernels.factor_coarse)(self.chain, coarse)
        return coarse

    def _clusters(self, allowed: float) -> tuple[NDArray[np.int32], float]:
        cluster = np.empty(self.states, dtype=np.int32)
        if len(self.order):
            self.run(kernels.grow_clusters)(self.rows, self.order, 64, cluster)
        else:  # shallow: one state is as near as another
            np.floor_divide(np.arange(self.states), max(1, self.states // 16), out=cluster, casting="unsafe")
        return cluster, allowed

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
        entries = int(self._start[-1])
        row = np.repeat(np.arange(n), np.diff(self._start))
        np.add.at(matrix, (row, self._column[:entries]), self._weight[:entries])
        leaving = self._exit.copy()
        pivot = np.empty(n)
        for k in range(n - 1, -1, -1):
            pivot[k] = matrix[k, :k].sum() + leaving[k]
            share = matrix[:k, k] / pivot[k] if pivot[k] > 0.0 else np.full(k, np.inf)
            matrix[:k, :k] += share[:, None] * matrix[k, :k]
            leaving[:k] += share * leaving[k]
            matrix[:k, k] = share
        return matrix, pivot


def _row_lengths(rows: Rows, policy: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = policy[policy >= 0]
    return rows.next_start[pairs + 1] - rows.next_start[pairs]
