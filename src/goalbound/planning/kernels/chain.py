"""Linear equations of a policy's chain, x = rhs + weight x, self loops taken out, and the steps of policy iteration.

``gauss_seidel`` is right where the chain drifts to the goal and the states are numbered nearest first; ``bicgstab``,
preconditioned by a coarse solve over clusters of states and one sweep, where it wanders. The coarse matrix is
factored in its envelope: an M-matrix needs no pivoting.

Each step of policy iteration is one call from Python: on a thousand states the calls would cost as much as what they
do. What needs memory of a size that is not known before (clusters, their factors) is left to the caller.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import kernel, lean
from goalbound.jit.struct import Struct
from goalbound.models.arrays import Rows
from goalbound.planning.kernels.bellman import improve, policy_residual, update_chain

KRYLOV_VECTORS = 8
"""So many vectors of S numbers :func:`bicgstab` works with."""
PATIENCE = 4
"""Sweeps after which their rate of convergence is checked."""
KRYLOV_STEPS = 60
STALLED_SHARE = 0.1
"""Where this much of the residual is left, the Krylov method has stalled."""

SOLVED = 0
NO_FACTOR = 1
"""Sweeps are too slow, and the coarse factor has no room for this chain."""
STALLED = 2


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


def new_chain(rows: Rows, order: NDArray[np.int32] | None = None) -> Chain:
    """A chain with room for the longest row of each state, states in the order given (None: as they come)."""
    longest = np.maximum.reduceat(np.diff(rows.next_start), rows.pair_start[:-1])
    start = np.zeros(len(longest) + 1, dtype=np.int64)
    np.cumsum(longest if order is None else longest[order], out=start[1:])
    return Chain(start, start[:-1].copy(), np.empty(start[-1], np.int32), np.empty(start[-1]), np.ones(len(longest)))


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


class Evaluated(Struct):
    """A policy whose values are being found, and room to work in. S states."""

    rows: Rows
    chain: Chain
    """the policy's, numbered in the solver's order"""
    known: NDArray[np.int64]
    """[S] the policy that the chain belongs to"""
    order: NDArray[np.int32]
    """[S] state of each number of the chain; empty if the numbers are the same"""
    rank: NDArray[np.int32]
    """[S] its inverse, or empty"""
    values: NDArray[np.float64]
    """[S + 1]"""
    low: NDArray[np.float64]
    """[S + 1] their trailing part, or empty"""
    residual: NDArray[np.float64]
    """[S]"""
    unit: NDArray[np.float64]
    """[S]"""
    margin: NDArray[np.float64]
    """[S] room for improvements"""
    rhs: NDArray[np.float64]
    """[S] the residual in the solver's order"""
    scale: NDArray[np.float64]
    """[S] the unit in the solver's order"""
    x: NDArray[np.float64]
    """[S] a step of the values, in the solver's order"""


@lean
def set_policy(state, policy, floor):
    """Update the chain to the policy, and measure the residual of the values; returns the largest, in units."""
    update_chain(state.rows, policy, state.known, state.order, state.rank, state.chain)
    return policy_residual(state.rows, policy, state.values, state.low, floor, state.residual, state.unit)


@lean
def improve_policy(state, usable, share, drift, settled, policy, floor, last):
    """Improve the policy with a margin of ``share`` units, then :func:`set_policy`.

    Returns how many states switched and the largest residual. With ``last`` nothing more is done where none did.
    """
    for s in range(len(state.unit)):
        state.margin[s] = state.unit[s] * share
    switched = improve(state.rows, usable, state.values, state.low, state.margin, drift, settled, policy)
    if last and switched == 0:
        return switched, 0.0
    return switched, set_policy(state, policy, floor)


@kernel
def solve_step(state, coarse, factored, resumed, target, sweeps, work_factor, work_more):
    """Into ``state.x`` a solution of x = residual + weight x up to ``target`` units: sweeps, then the Krylov method.

    ``coarse`` has room for a factor, which is filled in unless it is ``factored``. NO_FACTOR asks the caller for one,
    to be called again as ``resumed`` with what the sweeps have reached. STALLED: the Krylov method has not got far.
    Returns one of these or SOLVED, and the largest residual divided by the unit.
    """
    states = len(state.x)
    renumbered = len(state.order) > 0
    if not resumed:
        for n in range(states):
            s = state.order[n] if renumbered else n
            state.rhs[n] = state.residual[s]
            state.scale[n] = state.unit[s]
            state.x[n] = 0.0
        reached, _ = sweep_until(state.chain, state.rhs, state.scale, target, sweeps, PATIENCE, False, state.x)
        if not reached > target:
            return SOLVED, reached
        if not factored and not refactor_coarse(state.chain, coarse, work_factor, work_more):
            return NO_FACTOR, reached
    room = np.empty((KRYLOV_VECTORS, states))
    reached, _ = bicgstab(state.chain, coarse, state.rhs, state.scale, target, KRYLOV_STEPS, room, state.x)
    if reached > target:
        largest = 0.0
        for n in range(states):
            size = abs(state.rhs[n]) / state.scale[n]
            if not size <= largest:
                largest = size if largest == largest else largest  # once not a number, it stays so
        if reached > STALLED_SHARE * largest:
            return STALLED, reached
    return SOLVED, reached


@lean
def add_step(state):
    """Add the step ``state.x`` to the values, but let none fall below a tenth of what it was.

    Returns the span of the step (its largest minus its smallest entry, the goal's 0 included) and whether all of it was
    added. With trailing parts values + low becomes values + low + step, rounded once (Knuth's two-sum).
    """
    two_parts = len(state.low) > 0
    renumbered = len(state.rank) > 0
    top = 0.0
    bottom = 0.0
    unknown = False
    whole = True
    for s in range(len(state.x)):
        step = state.x[state.rank[s]] if renumbered else state.x[s]
        if step > top:
            top = step
        elif step < bottom:
            bottom = step
        elif step != step:
            unknown = True
        before = state.values[s]
        least = 0.1 * before
        if two_parts:
            step += state.low[s]
        total = before + step
        if two_parts:
            shifted = total - before
            state.low[s] = 0.0 if total < least else (before - (total - shifted)) + (step - shifted)
        if total < least:
            state.values[s] = least
            whole = False
        else:
            state.values[s] = total
            whole = whole and total >= least
    return np.nan if unknown else top - bottom, whole


@kernel
def evaluate_step(state, coarse, factored, resumed, policy, floor, target, trusted, sweeps, work_factor, work_more):
    """One step towards the values of the policy: :func:`solve_step`, :func:`add_step`, and the residual that is left.

    The solver's own residual is taken for it if it is ``trusted``, at most ``target``, and all of the step was added.
    Returns what ``solve_step`` did (nothing was added unless it SOLVED), the residual, the span of the step, and
    whether that is the solver's.
    """
    how, reached = solve_step(state, coarse, factored, resumed, 0.7 * target, sweeps, work_factor, work_more)
    if how != SOLVED:
        return how, reached, 0.0, False
    span, whole = add_step(state)
    if whole and trusted and reached <= target:
        return how, reached, span, True
    found = policy_residual(state.rows, policy, state.values, state.low, floor, state.residual, state.unit)
    return how, found, span, False
