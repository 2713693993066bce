"""Bounds of a number over its likelihood-ratio set, at the vertices of a lattice on the simplex of contexts.

The set is all p in [0, 1]^d with D(p) <= beta, for the D of :mod:`.sets`. D is convex: for every p0 with gradient g,
every s > 0 and r = c + g / s, all p of the set have

    c p  >=  c p0 - (beta - D(p0)) / s + sum over j of min(-r_j p0_j, r_j (1 - p0_j)).

Newton's method only proposes p0 and s, so that stopping early costs tightness and nothing else.
"""

from math import comb, log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.regression import EPS
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

FINEST = 12
"""The most steps of a lattice from corner to corner."""
MOST_STEPS = 20
"""Of Newton's method, for one bound."""
FIT_STEPS = 8
"""Of Newton's method, for the most likely coefficients."""
STRIDE = 1.5
"""The longest step, in the norm of the Hessian."""
CONVERGED = 1e-3
"""A step of this squared length would change nothing that can be seen."""
EDGE = 1e-9
"""Newton's method keeps p this far inside the box."""
ROUNDING = 1e-12
"""More than the relative error of D and beta, but for that of sums over many visits (:func:`sum_rounding`)."""
NEGLIGIBLE = 1e-200
"""Weights below it are left out: what they could add is far below :func:`sum_rounding`."""
NARROWING = 1e-3
"""A step towards the edge of the box leaves this share of the distance, for the most likely coefficients."""


class Lattice(Struct):
    """Points of the simplex whose entries are whole numbers of steps."""

    steps: int
    """from corner to corner"""
    vertices: NDArray[np.int64]
    """[K, d] in steps: each sums to ``steps``"""


class Located(Struct):
    """Where a context lies in a lattice, and scratch arrays to find it."""

    context: NDArray[np.float64]
    """[d] the context; negative: none yet"""
    index: NDArray[np.int64]
    """[d] the vertices around it"""
    share: NDArray[np.float64]
    """[d] the weight of each"""
    levels: NDArray[np.int64]
    """[d] scratch"""
    order: NDArray[np.int64]
    """[d] scratch"""
    weights: NDArray[np.float64]
    """[d] scratch"""


class BoundWorkspace(Struct):
    """Scratch arrays."""

    target: NDArray[np.float64]
    """[d] the vertex at which a number is bounded, with the sign of the bound"""
    point: NDArray[np.float64]
    """[d] p0"""
    gradient: NDArray[np.float64]
    """[d]"""
    step: NDArray[np.float64]
    """[d]"""
    across: NDArray[np.float64]
    """[d]"""
    trial: NDArray[np.float64]
    """[d]"""
    hessian: NDArray[np.float64]
    """[d, d]"""
    factor: NDArray[np.float64]
    """[d, d] of the Hessian"""
    free: NDArray[np.bool_]
    """[d]"""
    vertices: Located
    """the context of the last set, among the vertices"""
    cells: Located
    """the context of the last step, among the cells"""


def new_bound_workspace(size: int) -> BoundWorkspace:
    """Scratch arrays for d = ``size``."""
    vectors = {name: np.zeros(size) for name in ("target", "point", "gradient", "step", "across", "trial")}
    return BoundWorkspace(
        **vectors,
        hessian=np.zeros((size, size)),
        factor=np.zeros((size, size)),
        free=np.zeros(size, dtype=np.bool_),
        vertices=new_located(size),
        cells=new_located(size),
    )


def new_located(size: int) -> Located:
    """No context yet."""
    return Located(
        context=np.full(size, -1.0),
        index=np.zeros(size, dtype=np.int64),
        share=np.zeros(size),
        levels=np.zeros(size, dtype=np.int64),
        order=np.zeros(size, dtype=np.int64),
        weights=np.zeros(size),
    )


def new_lattice(size: int, most: int) -> Lattice:
    """The finest lattice of at most ``most`` vertices on the simplex of ``size`` corners; the corners at least.

    >>> new_lattice(3, 6)
    Lattice(steps=2, vertices=array([[0, 0, 2],
           [0, 1, 1],
           [0, 2, 0],
           [1, 0, 1],
           [1, 1, 0],
           [2, 0, 0]]))
    """
    steps = 1
    while size > 1 and steps < FINEST and comb(size + steps, size - 1) <= most:
        steps += 1
    vertices = np.array(_compositions(steps, size), dtype=np.int64).reshape(-1, size)
    vertices.setflags(write=False)
    return Lattice(steps, vertices)


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(total - first, parts - 1)]


@lean
def locate(lattice, at, context):
    """The vertices around a context and their weights into ``at.index`` and ``at.share``. O(K d^2); O(d) if it is
    the context of last time.

    The triangulation of Freudenthal: with u_j the sum of the entries from j on, in steps, the vertices are the floors
    of u, raised by one in the order of falling fractions.
    """
    size = len(context)
    same = True
    for j in range(size):
        same = same and at.context[j] == context[j]
        at.context[j] = context[j]
    if same:
        return
    total = 0.0
    for j in range(size - 1, 0, -1):  # at.share: fractions of u_1 to u_{d-1}; at.levels: floors
        total += context[j]
        u = min(total, 1.0) * lattice.steps
        whole = min(int(u), lattice.steps)
        at.levels[j] = whole
        at.share[j] = u - whole
    for j in range(size - 2, 0, -1):  # u may not rise: rounding of sums
        if at.levels[j] < at.levels[j + 1]:
            at.levels[j] = at.levels[j + 1]
            at.share[j] = 0.0
    for j in range(1, size):  # sorted by falling fractions; ties: the lower j first, which keeps u falling
        place = j - 1
        while place > 0 and at.share[at.order[place - 1]] < at.share[j]:
            at.order[place] = at.order[place - 1]
            place -= 1
        at.order[place] = j
    at.levels[0] = lattice.steps
    before = 1.0
    for k in range(size):
        following = at.share[at.order[k]] if k < size - 1 else 0.0
        at.index[k] = vertex_index(lattice, at.levels)
        at.weights[k] = max(before - following, 0.0)
        before = following
        if k < size - 1:
            at.levels[at.order[k]] += 1
    for k in range(size):
        at.share[k] = at.weights[k]


@lean
def vertex_index(lattice, levels):
    """The vertex whose entries from j on sum to ``levels[j]``, or -1."""
    size = len(levels)
    for k in range(len(lattice.vertices)):
        rest = lattice.steps
        found = True
        for j in range(size):
            if rest != levels[j]:
                found = False
                break
            rest -= lattice.vertices[k, j]
        if found:
            return k
    return -1


@lean
def nearest_vertex(at):
    """Of the vertices of :func:`locate` the one with the largest weight: the cell of the context."""
    best = 0
    for k in range(1, len(at.share)):
        if at.share[k] > at.share[best]:
            best = k
    return at.index[best]


@lean
def interpolate(at, values):
    """A number at the vertices [K], between the vertices of :func:`locate`."""
    total = 0.0
    for k in range(len(at.share)):
        if at.share[k] > 0.0:
            total += at.share[k] * values[at.index[k]]
    return total


@lean
def sum_rounding(state, pair):
    """What rounding may have changed in a log-loss: the sums of n visits have relative errors of at most n EPS / 2, and
    means of p c and of forecasts enter n logarithms."""
    count = float(state.visits[pair])
    return 4.0 * EPS * count * count


@lean
def add_cell(weight, contexts, point, sign, out_gradient, out_hessian):
    """- w log(q U / w) with q = p (``sign`` 1) or 1 - p (-1), w the weight of a cell and U [d] its contexts; what it
    adds to the gradient and to the Hessian in p. Infinity where q makes the outcomes impossible. O(d^2)."""
    size = len(point)
    mean = 0.0
    for j in range(size):
        mean += (point[j] if sign > 0.0 else 1.0 - point[j]) * contexts[j]
    if not mean > 0.0:
        return np.inf
    slope = weight / mean
    curve = slope / mean
    for j in range(size):
        out_gradient[j] -= sign * slope * contexts[j]
        for k in range(j + 1):
            out_hessian[j, k] += curve * contexts[j] * contexts[k]
    return -weight * log(mean / weight)


@lean
def evaluate(state, number, pair, point, out_gradient, out_hessian):
    """D at a point, not rounded up, its gradient and its Hessian; infinity where the outcomes are impossible.
    O(L d^2)."""
    size = len(point)
    value = 0.0
    sizes = 0.0
    out_gradient[:] = 0.0
    out_hessian[:] = 0.0
    for cell in range(state.outcome_rows.shape[2]):
        for side in range(2):
            row = state.outcome_rows[number, side, cell]
            weight = state.rows[row, size]
            if weight > NEGLIGIBLE:
                part = add_cell(weight, state.rows[row], point, 1.0 - 2.0 * side, out_gradient, out_hessian)
                value += part
                sizes += abs(part)
    return value - ROUNDING * sizes - sum_rounding(state, pair)


@lean
def certificate(work, value, beta, s, visits):
    """A lower bound of ``work.target`` times p over the set, from D and its gradient at ``work.point``, whose relative
    error is at most 2 ``visits`` EPS."""
    size = len(work.point)
    bound = -(beta - value) / s
    for j in range(size):
        p = work.point[j]
        bound += work.target[j] * p - 2.0 * EPS * visits * abs(work.gradient[j]) / s
        r = work.target[j] + work.gradient[j] / s
        bound += min(-r * p, r * (1.0 - p))
    return bound


@lean
def factorise(work):
    """The Cholesky factor of the Hessian over the free entries into ``work.factor``; a little is added where it is
    singular."""
    size = len(work.point)
    trace = 0.0
    for j in range(size):
        trace += work.hessian[j, j]
    ridge = 1e-12 * trace + 1e-9
    for j in range(size):
        if not work.free[j]:
            continue
        for k in range(j + 1):
            if not work.free[k]:
                continue
            total = work.hessian[j, k] + (ridge if j == k else 0.0)
            for i in range(k):
                if work.free[i]:
                    total -= work.factor[j, i] * work.factor[k, i]
            work.factor[j, k] = sqrt(max(total, ridge)) if j == k else total / work.factor[k, k]


@lean
def solve_free(work, right, out):
    """``out`` = H^-1 ``right`` over the free entries, 0 elsewhere; returns the squared norm of ``right`` in H^-1."""
    size = len(right)
    square = 0.0
    for j in range(size):
        out[j] = 0.0
        if work.free[j]:
            total = right[j]
            for i in range(j):
                if work.free[i]:
                    total -= work.factor[j, i] * out[i]
            out[j] = total / work.factor[j, j]
            square += out[j] * out[j]
    for j in range(size - 1, -1, -1):
        if work.free[j]:
            total = out[j]
            for i in range(j + 1, size):
                if work.free[i]:
                    total -= work.factor[i, j] * out[i]
            out[j] = total / work.factor[j, j]
    return square


@lean
def set_free(work, s):
    """Which entries may move: not those at an edge of the box that D + s target would leave."""
    for j in range(len(work.point)):
        slope = work.gradient[j] + s * work.target[j]
        work.free[j] = not ((work.point[j] <= EDGE and slope > 0.0) or (work.point[j] >= 1.0 - EDGE and slope < 0.0))


@lean
def least_value_from(state, number, pair, beta, value):
    """A lower bound of ``work.target`` times p over the set, by Newton's method from ``work.point``, which moves.

    ``value`` is D there, whose gradient and Hessian ``work`` holds; NaN where nothing is known of it yet. Returns the
    bound, and D where the point is then, likewise: the bounds at the next vertex begin there.

    For D + s target the step is - H^-1 (g + s target), and the quadratic model of D after it is
    D - g H^-1 g / 2 + s^2 target H^-1 target / 2: s is chosen so that this is beta. Steps are at most STRIDE long in
    the norm of H, which keeps them where the model is good.
    """
    work = state.work
    size = len(work.point)
    best = -np.inf
    s = 0.0
    if np.isnan(value):
        value = evaluate(state, number, pair, work.point, work.gradient, work.hessian)
    if not value < np.inf:
        return best, value  # a certificate needs a point at which D is a number
    for _ in range(MOST_STEPS):
        if s > 0.0:
            set_free(work, s)
        else:
            work.free[:] = True
        factorise(work)
        downhill = solve_free(work, work.gradient, work.step)
        reach = solve_free(work, work.target, work.across)
        if reach <= 0.0:
            break
        s = sqrt(2.0 * max(beta - value + 0.5 * downhill, 1e-3) / reach)
        best = max(best, certificate(work, value, beta, s, state.visits[pair]))
        square = downhill + s * s * reach
        for j in range(size):
            square += 2.0 * s * work.step[j] * work.target[j]
        if square < CONVERGED:
            break
        length = min(1.0, STRIDE / sqrt(max(square, 1e-300)))
        value = np.inf
        while not value < np.inf and length > 1e-6:
            for j in range(size):
                work.trial[j] = min(max(work.point[j] - length * (work.step[j] + s * work.across[j]), EDGE), 1.0 - EDGE)
            value = evaluate(state, number, pair, work.trial, work.gradient, work.hessian)
            length *= 0.5
        if not value < np.inf:
            return best, np.nan
        for j in range(size):
            work.point[j] = work.trial[j]
    return best, value


@lean
def fit_number(state, number, pair):
    """The most likely coefficients of a number, as if half a 1 and half a 0 had been seen at each corner, which keeps
    them inside the box; by Newton's method from those of before, within FIT_STEPS. O(L d^2 + d^3) a step."""
    work = state.work
    size = len(work.point)
    work.free[:] = True
    for j in range(size):
        work.point[j] = state.estimate[number, j]
    for _ in range(FIT_STEPS):
        value = evaluate(state, number, pair, work.point, work.gradient, work.hessian)
        if not value < np.inf:
            break
        for j in range(size):
            p = work.point[j]
            work.gradient[j] += 0.5 / (1.0 - p) - 0.5 / p
            work.hessian[j, j] += 0.5 / ((1.0 - p) * (1.0 - p)) + 0.5 / (p * p)
        factorise(work)
        square = solve_free(work, work.gradient, work.step)
        length = 1.0 / (1.0 + sqrt(square)) if square > 0.1 else 1.0
        for j in range(size):
            p = work.point[j]
            work.point[j] = min(max(p - length * work.step[j], NARROWING * p), 1.0 - NARROWING * (1.0 - p))
        if square < CONVERGED:
            break
    for j in range(size):
        state.estimate[number, j] = work.point[j]
