"""Linear equations of a policy's chain: x = rhs + weight x, self loops taken out.

``gauss_seidel`` is right where the chain drifts to the goal and the states are numbered nearest first; ``bicgstab``,
preconditioned by a coarse solve over clusters of states and one sweep, where it wanders. The coarse matrix is
factored in its envelope: an M-matrix needs no pivoting.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import kernel, lean
from goalbound.jit.struct import Struct

KRYLOV_VECTORS = 8
"""So many vectors of S numbers :func:`bicgstab` works with."""


class Chain(Struct):
    """A policy's moves between states; a row and its exit sum to 1."""

    _indices = ("start", "stop", "column")

    start: NDArray[np.int64]
    """[S + 1]"""
    stop: NDArray[np.int64]
    """[S] where each row ends; there may be unused entries after it"""
    column: NDArray[np.int32]
    weight: NDArray[np.float64]
    exit: NDArray[np.float64]
    """[S] weight of the goal"""


class CoarseFactor(Struct):
    """A factored coarse matrix over clusters. Row and column i reach from first[i] to i.

    ``lower`` and ``upper`` may have room for more.
    """

    _indices = ("cluster",)

    cluster: NDArray[np.int32]
    """[S]"""
    first: NDArray[np.int64]
    """[clusters]"""
    start: NDArray[np.int64]
    """[clusters + 1] where row i of ``lower`` and column i of ``upper`` begin"""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    diagonal: NDArray[np.float64]


@lean
def scale_chain(chain, scale, out_weight, out_exit):
    """The chain for x / scale instead of x: weights times scale[t] / scale[s], exits what is left (not below 0)."""
    for s in range(len(scale)):
        left = 1.0
        for k in range(chain.start[s], chain.stop[s]):
            out_weight[k] = chain.weight[k] * (scale[chain.column[k]] / scale[s])
            left -= out_weight[k]
        out_exit[s] = max(left, 0.0)


@lean
def gauss_seidel(chain, rhs, unit, backwards, x):
    """One sweep in place; returns the largest change divided by ``unit[S]``. O(entries)."""
    states = len(rhs)
    largest = 0.0
    for n in range(states):
        s = states - 1 - n if backwards else n
        new = rhs[s]
        for k in range(chain.start[s], chain.stop[s]):
            new += chain.weight[k] * x[chain.column[k]]
        change = abs(new - x[s])
        if change > largest * unit[s]:
            largest = change / unit[s]
        x[s] = new
    return largest


@lean
def sweep_until(chain, rhs, unit, target, most, patience, backwards, x):
    """Sweep until the change is at most ``target``; give up after ``most`` sweeps, or once it looks too slow.

    After ``patience`` sweeps (at least 3) the rate over the last half of them is extrapolated: if the target is further
    away than the sweeps that are left, stop. Returns the last change and the number of sweeps.
    """
    first = 0.0
    change = np.inf
    for n in range(most):
        change = gauss_seidel(chain, rhs, unit, backwards, x)
        if change <= target:
            return change, n + 1
        if n == patience // 2:
            first = change
        if n > patience // 2 and n % patience == patience - 1:
            steps = patience - 1 - patience // 2
            if change >= first:
                return change, n + 1
            rate = np.log(first / change) / steps
            if np.log(change / target) / rate > most - n:
                return change, n + 1
        if n >= patience and n % patience == patience // 2:
            first = change
    return change, most


@lean
def chain_residual(chain, rhs, x, out):
    """rhs + weight x - x."""
    for s in range(len(rhs)):
        value = rhs[s] - x[s]
        for k in range(chain.start[s], chain.stop[s]):
            value += chain.weight[k] * x[chain.column[k]]
        out[s] = value


@kernel
def grow_clusters(rows, order, limit, out_cluster):
    """Clusters of at most ``limit`` neighbouring states, grown from the first state left in ``order``.

    Returns their number. O(M).
    """
    states = len(rows.pair_start) - 1
    queue = np.empty(limit, dtype=np.int64)
    for s in range(states):
        out_cluster[s] = -1
    clusters = 0
    for n in range(states):
        seed = order[n]
        if out_cluster[seed] >= 0:
            continue
        out_cluster[seed] = clusters
        queue[0] = seed
        head = 0
        tail = 1
        while head < tail and tail < limit:
            s = queue[head]
            head += 1
            for k in range(rows.next_start[rows.pair_start[s]], rows.next_start[rows.pair_start[s + 1]]):
                t = rows.next_state[k]
                if t < states and out_cluster[t] < 0 and tail < limit:
                    out_cluster[t] = clusters
                    queue[tail] = t
                    tail += 1
        clusters += 1
    return clusters


@lean
def coarse_envelope(chain, cluster, out_first):
    """The envelope of the coarse matrix; returns the work of factoring it, sum of squared widths. O(entries)."""
    for c in range(len(out_first)):
        out_first[c] = c
    for s in range(len(cluster)):
        c = cluster[s]
        for k in range(chain.start[s], chain.stop[s]):
            e = cluster[chain.column[k]]
            if e < out_first[c]:
                out_first[c] = e
            if c < out_first[e]:
                out_first[e] = c
    work = 0.0
    for c in range(len(out_first)):
        work += float(c - out_first[c]) ** 2
    return work


@lean
def factor_coarse(chain, coarse):
    """Sum the chain's matrix I - weight over clusters and factor it as lower * diagonal-upper in its envelope."""
    clusters = len(coarse.first)
    for k in range(coarse.start[clusters]):
        coarse.lower[k] = 0.0
        coarse.upper[k] = 0.0
    for c in range(clusters):
        coarse.diagonal[c] = 0.0
    for s in range(len(coarse.cluster)):
        c = coarse.cluster[s]
        coarse.diagonal[c] += chain.exit[s]  # 1 - what stays inside = exit + what goes to other clusters
        for k in range(chain.start[s], chain.stop[s]):
            e = coarse.cluster[chain.column[k]]
            w = chain.weight[k]
            if e < c:
                coarse.lower[coarse.start[c] + e - coarse.first[c]] -= w
                coarse.diagonal[c] += w
            elif e > c:
                coarse.upper[coarse.start[e] + c - coarse.first[e]] -= w
                coarse.diagonal[c] += w
    for i in range(clusters):
        begin = coarse.start[i] - coarse.first[i]  # entry (i, j) of lower and (j, i) of upper stand at begin + j
        full = coarse.diagonal[i]
        for j in range(coarse.first[i], i):
            other = coarse.start[j] - coarse.first[j]
            low = coarse.lower[begin + j]
            up = coarse.upper[begin + j]
            for m in range(max(coarse.first[i], coarse.first[j]), j):
                low -= coarse.lower[begin + m] * coarse.upper[other + m]
                up -= coarse.lower[other + m] * coarse.upper[begin + m]
            coarse.upper[begin + j] = up
            coarse.lower[begin + j] = low / coarse.diagonal[j]
        for j in range(coarse.first[i], i):
            coarse.diagonal[i] -= coarse.lower[begin + j] * coarse.upper[begin + j]
        if (
            not coarse.diagonal[i] > 1e-15 * full
        ):  # lost to cancellation; as a preconditioner, anything positive will do
            coarse.diagonal[i] = 1e-15 * full if full > 0.0 else 1.0


@lean
def refactor_coarse(chain, coarse, work_factor, work_more):
    """Factor the coarse matrix of another chain over the same clusters, in the room of the one before.

    False, and nothing is factored, if there are no clusters, too little room, or if the work is above ``work_more`` and
    ``work_factor`` times the entries of the chain.
    """
    clusters = len(coarse.first)
    if clusters == 0:
        return False
    entries = 0
    for s in range(len(chain.stop)):
        entries += chain.stop[s] - chain.start[s]
    work = coarse_envelope(chain, coarse.cluster, coarse.first)
    if clusters > 1 and work > work_factor * entries + work_more:
        return False
    coarse.start[0] = 0
    for c in range(clusters):
        coarse.start[c + 1] = coarse.start[c] + c - coarse.first[c]
    if coarse.start[clusters] > len(coarse.lower):
        return False
    factor_coarse(chain, coarse)
    return True


@lean
def precondition(chain, coarse, rhs, work, out):
    """A coarse solve, then one sweep: an approximate solution of out = rhs + weight out."""
    states = len(rhs)
    clusters = len(coarse.first)
    for c in range(clusters):
        work[c] = 0.0
    for s in range(states):
        work[coarse.cluster[s]] += rhs[s]
    for i in range(clusters):
        begin = coarse.start[i] - coarse.first[i]
        for j in range(coarse.first[i], i):
            work[i] -= coarse.lower[begin + j] * work[j]
    for i in range(clusters - 1, -1, -1):
        work[i] /= coarse.diagonal[i]
        begin = coarse.start[i] - coarse.first[i]
        for j in range(coarse.first[i], i):
            work[j] -= coarse.upper[begin + j] * work[i]
    for s in range(states):
        out[s] = work[coarse.cluster[s]]
    for s in range(states):
        value = rhs[s]
        for k in range(chain.start[s], chain.stop[s]):
            value += chain.weight[k] * out[chain.column[k]]
        out[s] = value


@lean
def bicgstab(chain, coarse, rhs, unit, target, most, room, x):
    """Solve x = rhs + weight x from the x given until the residual is at most ``target * unit``.

    Returns the largest residual divided by unit that was reached, and the number of steps; x is the best seen.
    ``room`` [KRYLOV_VECTORS, S] is a work array.
    """
    states = len(rhs)
    residual, shadow, direction, image = room[0], room[1], room[2], room[3]
    smooth, smooth_image, best, work = room[4], room[5], room[6], room[7]
    chain_residual(chain, rhs, x, residual)
    reached = 0.0
    for s in range(states):
        direction[s] = 0.0
        image[s] = 0.0
        best[s] = x[s]
        shadow[s] = residual[s]
        reached = max(reached, abs(residual[s]) / unit[s])
    rho = alpha = omega = 1.0
    for n in range(most):
        if reached <= target:
            return reached, n
        rho_next = 0.0
        for s in range(states):
            rho_next += shadow[s] * residual[s]
        beta = rho_next / rho * (alpha / omega)
        rho = rho_next
        for s in range(states):
            direction[s] = residual[s] + beta * (direction[s] - omega * image[s])
        precondition(chain, coarse, direction, work, smooth)
        overlap = 0.0
        for s in range(states):
            value = smooth[s]
            for k in range(chain.start[s], chain.stop[s]):
                value -= chain.weight[k] * smooth[chain.column[k]]
            image[s] = value
            overlap += shadow[s] * value
        if overlap == 0.0 or not np.isfinite(overlap):
            break
        alpha = rho / overlap
        if not np.isfinite(alpha):
            break
        for s in range(states):
            x[s] += alpha * smooth[s]
            residual[s] -= alpha * image[s]
        precondition(chain, coarse, residual, work, smooth)
        top = 0.0
        bottom = 0.0
        for s in range(states):
            value = smooth[s]
            for k in range(chain.start[s], chain.stop[s]):
                value -= chain.weight[k] * smooth[chain.column[k]]
            smooth_image[s] = value
            top += value * residual[s]
            bottom += value * value
        if not np.isfinite(bottom):  # a chain that never ends: what is no number must not reach x, nor look small
            break
        omega = top / bottom if bottom > 0.0 else 0.0
        size = 0.0
        for s in range(states):
            x[s] += omega * smooth[s]
            residual[s] -= omega * smooth_image[s]
            size = max(size, abs(residual[s]) / unit[s])
        if not np.isfinite(size):
            break
        if size < reached:
            reached = size
            for s in range(states):
                best[s] = x[s]
        if omega == 0.0 or rho == 0.0:
            break
    for s in range(states):
        x[s] = best[s]
    return reached, most
