"""Policy iteration where there are too many states to eliminate.

Value iteration alone takes as many sweeps as a policy wanders: thousands, where little is known of a road network and
estimated rows lead anywhere. So where sweeps converge slowly, the policy is evaluated between them, by the Krylov
method of the planner (:mod:`goalbound.planning.kernels.chain`) and as exactly as pays before the policy changes.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Run, lean
from goalbound.jit.struct import Struct
from goalbound.models.arrays import Reverse, Rows
from goalbound.planning.kernels.chain import (
    KRYLOV_VECTORS,
    Chain,
    CoarseFactor,
    bicgstab,
    grow_clusters,
    new_chain,
    refactor_coarse,
)
from goalbound.planning.kernels.graph import backward_reach, reverse_edges
from goalbound.planning.kernels.value_iteration import ROUNDS, policy_row, repeat_where_rounded, sweep

KRYLOV_STEPS = 60
SLOW_SWEEPS = 16
"""A policy is evaluated where more sweeps than this would follow, as they converge now."""
LEFT = 0.01
"""An evaluation leaves this share of the residual."""
REFUSED = 0.5
"""One that leaves more than this share is not used: the policy may never arrive."""
CLUSTER_STATES = 16
COARSE_WORK = 30.0
"""The work of factoring the coarse matrix is at most this times the moves of a policy: as much as some sweeps."""


class SparseWorkspace(Struct):
    """Work arrays to evaluate policies of many states."""

    chain: Chain
    """with room for the longest row of each state"""
    coarse: CoarseFactor
    """with room for that of any policy"""
    residual: NDArray[np.float64]
    """[S] of the values, for the policy that is evaluated"""
    unit: NDArray[np.float64]
    """[S] 1"""
    step: NDArray[np.float64]
    """[S] what is added to the values"""
    krylov: NDArray[np.float64]
    """[KRYLOV_VECTORS, S]"""
    row: NDArray[np.float64]
    """of a pair; as long as the longest"""


def new_sparse_workspace(rows: Rows, pair_state: NDArray[np.int32], run: Run) -> SparseWorkspace:
    """Work arrays for all models on the support of ``rows``, whose losses and probabilities do not matter."""
    states = len(rows.pair_start) - 1
    chain = new_chain(rows)
    entries = int(chain.start[-1])
    cluster = np.empty(states, dtype=np.int32)
    run(grow_clusters)(rows, _from_goal(rows, pair_state, run), CLUSTER_STATES, cluster)
    while True:
        first = _envelope(rows, pair_state, cluster)
        widths = np.arange(len(first)) - first
        if len(first) == 1 or float(np.square(widths, dtype=np.float64).sum()) <= COARSE_WORK * entries:
            break
        cluster //= 2
    size = int(widths.sum())
    begin = np.zeros(len(first) + 1, dtype=np.int64)
    coarse = CoarseFactor(cluster, first, begin, np.zeros(size), np.zeros(size), np.zeros(len(first)))
    longest = int(np.diff(rows.next_start).max())
    return SparseWorkspace(
        chain=chain,
        coarse=coarse,
        residual=np.zeros(states),
        unit=np.ones(states),
        step=np.zeros(states),
        krylov=np.zeros((KRYLOV_VECTORS, states)),
        row=np.zeros(longest),
    )


def _from_goal(rows: Rows, pair_state: NDArray[np.int32], run: Run) -> NDArray[np.int32]:
    """[S] the states, nearest to the goal first; those that cannot reach it last."""
    states, pairs = len(rows.pair_start) - 1, len(pair_state)
    usable, choice = np.ones(pairs, dtype=np.bool_), np.full(states, -1, dtype=np.int64)
    reverse = Reverse(np.empty(states + 2, dtype=np.int64), np.empty(len(rows.next_state), dtype=np.int32))
    run(reverse_edges)(rows, usable, reverse.start, reverse.pair)
    order = np.empty(states + 1, dtype=np.int32)
    order[0] = states
    reached = run(backward_reach)(reverse, pair_state, usable, 1, choice, order)
    order[reached:] = np.flatnonzero(choice < 0)
    return order[1:]


def _envelope(rows: Rows, pair_state: NDArray[np.int32], cluster: NDArray[np.int32]) -> NDArray[np.int64]:
    """The envelope of the coarse matrix of all policies together: where row and column of each cluster begin."""
    first = np.arange(int(cluster.max()) + 1)
    inside = rows.next_state < len(cluster)
    one = cluster[np.repeat(pair_state, np.diff(rows.next_start))[inside]]
    other = cluster[rows.next_state[inside]]
    np.minimum.at(first, one, other)
    np.minimum.at(first, other, one)
    return first


@lean
def set_chain(sets, iteration, workspace):
    """The chain of the policy with its most optimistic rows, and the residual of the values; returns the largest, or -1
    if a state is never left. O(M) at most.

    A state whose backup is above the ceiling stays there: for the others it is as good as a goal (Newton's method for
    v = min(ceiling, backup)).
    """
    chain, row = workspace.chain, workspace.row
    largest = 0.0
    for s in range(len(iteration.policy)):
        pair = iteration.policy[s]
        first = sets.next_start[pair]
        moving, leaving = policy_row(sets, iteration, s, 0.0, row)
        if moving <= 0.0:
            return -1.0
        entry = np.int64(chain.start[s])
        worth = sets.losses[pair] / moving
        for k in range(sets.used[pair]):
            if row[k] > 0.0:
                t = sets.state[first + k]
                chain.column[entry] = t
                chain.weight[entry] = row[k] / moving
                worth += chain.weight[entry] * iteration.values[t]
                entry += 1
        chain.stop[s] = entry
        chain.exit[s] = leaving / moving
        if worth >= sets.ceiling:
            chain.stop[s] = chain.start[s]
            chain.exit[s] = 1.0
            worth = sets.ceiling
        workspace.residual[s] = worth - iteration.values[s]
        largest = max(largest, abs(workspace.residual[s]))
    return largest


@lean
def evaluate_sparse(sets, iteration, workspace, tolerance):
    """Bring the values near to what the policy is worth with its most optimistic rows against the values as they are.

    Returns False, and changes nothing, if that gets nowhere, as where the policy never arrives.
    """
    residual = set_chain(sets, iteration, workspace)
    if residual < 0.0 or not refactor_coarse(workspace.chain, workspace.coarse, np.inf, np.inf):
        return False
    for s in range(len(workspace.step)):
        workspace.step[s] = 0.0
    target = max(LEFT * residual, 0.1 * tolerance)
    residuals, unit, krylov, step = workspace.residual, workspace.unit, workspace.krylov, workspace.step
    left, _ = bicgstab(workspace.chain, workspace.coarse, residuals, unit, target, KRYLOV_STEPS, krylov, step)
    if not left <= REFUSED * residual:
        return False
    lowest = 0.0
    for s in range(len(workspace.step)):
        before = iteration.values[s]
        worth = min(max(before + workspace.step[s], 0.1 * before), sets.ceiling)
        lowest = min(lowest, worth - before)
        iteration.values[s] = worth
    iteration.progress["total_decrease"] -= lowest
    return True


@lean
def is_slow(before, residual, tolerance):
    """Whether many more sweeps would follow if each shrinks the residual as the last one did."""
    return residual >= before or log(residual / tolerance) > SLOW_SWEEPS * log(before / residual)


@lean
def sparse_policy_iteration(sets, iteration, tolerance, sweeps, workspace):
    """:func:`.value_iteration.value_iteration`, with policies evaluated where sweeps are slow."""
    before = np.inf
    rounds = 0
    made = 0
    while made < sweeps:
        residual = sweep(sets, iteration, made % 2 == 1)
        iteration.progress["residual"] = residual
        made += 1
        if residual <= tolerance:
            break
        if before < np.inf and rounds < ROUNDS and is_slow(before, residual, tolerance):
            rounds += 1
            evaluate_sparse(sets, iteration, workspace, tolerance)
            before = np.inf
        else:
            before = residual
    return repeat_where_rounded(sets, iteration, tolerance, sweeps, made)
