"""The steps of policy iteration, each one call from Python: on a thousand states the calls would cost as much as what
they do. What needs memory of a size that is not known before (clusters, their factors) is left to the caller.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import kernel, lean
from goalbound.jit.struct import Struct
from goalbound.models.arrays import Rows
from goalbound.planning.kernels.bellman import improve, policy_residual, update_chain
from goalbound.planning.kernels.chain import KRYLOV_VECTORS, Chain, bicgstab, refactor_coarse, sweep_until

PATIENCE = 4
"""Sweeps after which their rate of convergence is checked."""
KRYLOV_STEPS = 60
STALLED_SHARE = 0.1
"""Where this much of the residual is left, the Krylov method has stalled."""

SOLVED = 0
NO_FACTOR = 1
"""Sweeps are too slow, and the coarse factor has no room for this chain."""
STALLED = 2


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
