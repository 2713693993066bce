"""Extended value iteration: the best policy in the most optimistic of the plausible models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound import models  # for models.SSP, which is loaded when it is asked for
from goalbound.errors import ArgumentError
from goalbound.models import BallSet, IntervalSet, Support
from goalbound.models.support import with_goal
from goalbound.models.validation import ROW_TOLERANCE, check_array, check_fraction, check_int, set_readonly, short_repr
from goalbound.planning.checks import EFFORT
from goalbound.planning.kernels import value_iteration as kernels
from goalbound.planning.kernels.stochastic_rows import NO_GOAL
from goalbound.planning.kernels.value_iteration import (
    INTERVAL_SET,
    L2_BALL,
    UncertaintySet,
    ValueIterationState,
    new_uncertainty_set,
    new_value_iteration_state,
)
from goalbound.planning.solution import Status

LARGEST = 2.0**400
"""Losses lie between its inverse and it, or are scaled: the squares of values stay far from the ends of the floats."""
MOST_SWEEPS = 2**62
"""Sweeps; a kernel takes no larger number."""


@dataclass(frozen=True, eq=False)
class OptimisticSolution:
    """The optimistic policy, the model in which it is best, and certified bounds of its values.

    Attributes:
        values: [S + 1] certified *lower* bounds of the exact optimistic values: optimism survives rounding.
        upper: [S + 1] certified upper bounds; infinite if the status is not CONVERGED.
        policy: [S] action of each state; proper in the optimistic model if the status is CONVERGED.
        losses: [N] the most optimistic losses.
        rows: [M] the most optimistic rows against the values, in the order of the support; the goal's entries hold what
            the others lack, and rows without the goal sum to 1.
        sweeps: how many times all states were updated.
        status: CONVERGED if ``upper - values <= 4 * tolerance * upper``; ROUNDING if the sweeps converged but values
            are so large beside the least loss that rounding may be more than the tolerance.
    """

    support: Support
    values: NDArray[np.float64]
    upper: NDArray[np.float64]
    policy: NDArray[np.int64]
    losses: NDArray[np.float64]
    rows: NDArray[np.float64]
    sweeps: int
    status: Status

    def model(self) -> models.SSP:
        """The optimistic model as a problem on the declared support."""
        return optimistic_model(self.support, self.losses, self.rows)


def extended_value_iteration(
    sets: BallSet | IntervalSet,
    *,
    tolerance: float = 1e-6,
    start: ArrayLike | None = None,
    sweeps: int = 1_000_000,
) -> OptimisticSolution:
    """The least values that a policy has in any of the plausible models (Algorithm 1, line 25).

    Value iteration in the augmented problem, in which an action is a pair with one of its plausible losses and rows.
    Rows are in balls or in intervals; the inner minimum is closed-form. With v the last values, r a bound of |T v - v|
    and l the least plausible loss: (1 - x) v <= v* with x = r / (r + l), and v* <= (1 + y) v with y = r / (l - r); so
    both hold from any ``start`` [S + 1], which may be the values of a neighbouring context. Stops when r <= tolerance *
    l. One sweep is O(M). Losses so small (or large) that the squares of values are no floats are scaled by a power of
    two first.

    >>> from goalbound.models import Support
    >>> plausible = BallSet(Support.full(1, 1), [0.2], [0.4], [0.5, 0.5], [0.1])
    >>> extended_value_iteration(plausible).values.round(4)  # 0.2 / (1 - (0.5 - 0.1))
    array([0.3333, 0.    ])
    """
    if not isinstance(sets, BallSet | IntervalSet):
        raise ArgumentError(
            f"sets is of the type {type(sets).__name__}; extended value iteration takes a BallSet (balls) or an "
            "IntervalSet: confidence_set(statistics, context) or learner.confidence_set(context) make them"
        )
    tolerance = check_fraction(tolerance, "tolerance", "relative to the least loss")
    if check_int(sweeps, "sweeps") < 1:
        raise ArgumentError(f"sweeps is {short_repr(sweeps)}; value iteration makes at least one")
    support = sets.support
    least = float(sets.loss_low.min())
    if least <= 0.0:
        pair = int(sets.loss_low.argmin())
        raise ArgumentError(
            f"{support.pair_name(pair)} may have loss 0; optimistic planning needs losses above 0: give a loss floor, "
            "or add a small loss to all pairs"
        )
    if isinstance(sets, IntervalSet):
        check_rows_fit(sets)
    losses, exponent = _scaled(sets.loss_low)
    floor = math.ldexp(least, exponent)
    arrays = uncertainty_arrays(sets)._replace(losses=losses)
    iteration = _initial_state(support, floor, start, exponent)
    run = EFFORT.engine(support.triples)
    made = int(run(kernels.value_iteration)(arrays, iteration, tolerance * floor, min(int(sweeps), MOST_SWEEPS)))
    residual = float(iteration.progress["residual"])
    lower, upper = scaled_back(*value_bounds(iteration.values, residual, floor), exponent)
    status = Status.CONVERGED
    if residual > tolerance * floor:
        status = Status.ITERATION_LIMIT
    elif np.isinf(upper).any() or (upper - lower > 4.0 * tolerance * upper).any():
        status = Status.ROUNDING
    return OptimisticSolution(
        support=support,
        values=lower,
        upper=upper,
        policy=support.pair_action[iteration.policy].astype(np.int64),
        losses=sets.loss_low,
        rows=optimistic_rows(support, arrays, iteration),
        sweeps=made,
        status=status,
    )


def check_rows_fit(sets: IntervalSet) -> None:
    """An error for the first pair whose intervals no distribution fits in."""
    first = sets.support.next_start[:-1]
    least, most = np.add.reduceat(sets.low, first), np.add.reduceat(sets.high, first)
    wrong = np.flatnonzero((least > 1.0 + ROW_TOLERANCE) | (most < 1.0 - ROW_TOLERANCE))
    if len(wrong):
        pair = int(wrong[0])
        raise ArgumentError(
            f"{sets.support.pair_name(pair)}: no distribution fits in its intervals, which sum to {least[pair]:.12g} "
            f"at least and {most[pair]:.12g} at most; widen them so that 1 lies between"
        )


def _scaled(losses: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Losses times two to the power of the exponent, which is returned: 0 unless the squares of values need it.

    Losses above LARGEST after that are taken to be LARGEST. Optimistic values below it stay what they are, and if one
    is not below, rounding leaves no upper bound (see :func:`value_bounds`).
    """
    least, largest = float(losses.min()), float(losses.max())
    if least >= 1.0 / LARGEST and largest <= LARGEST:
        return np.array(losses), 0
    exponent = -math.frexp(least)[1]
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(losses, exponent), LARGEST), exponent


def scaled_back(
    lower: NDArray[np.float64], upper: NDArray[np.float64], exponent: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds divided by two to the power of the exponent: what is not exact is rounded outwards."""
    if exponent == 0:
        return lower, upper
    with np.errstate(over="ignore"):
        low, high = np.ldexp(lower, -exponent), np.ldexp(upper, -exponent)
        low = np.where(np.ldexp(low, exponent) > lower, np.nextafter(low, 0.0), low)
        high = np.where(np.ldexp(high, exponent) < upper, np.nextafter(high, np.inf), high)
    low = np.where(np.isinf(lower), lower, np.minimum(low, np.finfo(np.float64).max))
    return set_readonly(low), set_readonly(high)


def value_bounds(
    values: NDArray[np.float64], residual: float, floor: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Certified lower and upper bounds of the optimistic values (see :func:`extended_value_iteration`).

    Where losses are so small that the squares of values vanish, backups are only bounds from below: no upper bound.
    """
    error = residual + kernels.ROUNDING * float(values.max()) + kernels.UNDERFLOW
    lower = values * (1.0 - error / (error + floor))
    if error >= floor or floor < 1.0 / LARGEST:
        upper = np.full_like(values, np.inf)
        upper[-1] = 0.0
    else:
        upper = values * (1.0 + error / (floor - error))
    return set_readonly(lower), set_readonly(upper)


def uncertainty_arrays(sets: BallSet | IntervalSet) -> UncertaintySet:
    """The set as kernels take it. The goal stands last in a row, so leaving it out of balls moves nothing."""
    support = sets.support
    shape = INTERVAL_SET if isinstance(sets, IntervalSet) else L2_BALL
    arrays = new_uncertainty_set(support.pair_start, support.next_start, ceiling=np.inf, shape=shape)
    arrays.state[:] = support.next_state
    arrays.losses[:] = sets.loss_low
    if isinstance(sets, IntervalSet):
        arrays.used[:] = np.diff(support.next_start)
        arrays.low[:], arrays.high[:] = sets.low, sets.high
        return arrays
    first = support.next_start[:-1]
    arrays.used[:] = np.add.reduceat(sets.to_state, first)
    arrays.centre[:] = sets.rows
    arrays.ball[:] = np.minimum(sets.radii, 2.0) ** 2
    mass = np.add.reduceat(np.where(sets.to_state, sets.rows * sets.rows, 0.0), first)
    arrays.mass[:] = np.where(support.leads_to_goal, mass, NO_GOAL)
    return arrays


def optimistic_rows(support: Support, sets: UncertaintySet, iteration: ValueIterationState) -> NDArray[np.float64]:
    """[M] the most optimistic row of every pair against the values, for entries in the order of the support."""
    rows = np.zeros(support.triples)
    EFFORT.engine(support.triples)(kernels.optimistic_rows)(sets, iteration, rows)
    to_goal = np.flatnonzero(support.next_state == support.states)
    pair_of = np.searchsorted(support.next_start, to_goal, side="right") - 1
    rows[to_goal] = 0.0
    rows[to_goal] = np.maximum(1.0 - np.add.reduceat(rows, support.next_start[:-1])[pair_of], 0.0)
    return set_readonly(rows)


def optimistic_model(support: Support, losses: NDArray[np.float64], rows: NDArray[np.float64]) -> models.SSP:
    """Losses [N] and rows [M], which may lack mass, as a problem: what they lack goes to the goal.

    Of pairs that cannot lead there by the support, those may that lack mass: Rmax sends what it does not know there.
    """
    lacking = np.add.reduceat(rows, support.next_start[:-1]) < 1.0 - ROW_TOLERANCE
    full, kept = with_goal(support, lacking)
    entries = np.zeros(full.triples)
    entries[kept] = rows
    to_goal = full.next_state == full.states
    entries[to_goal] = 0.0
    entries[to_goal] = np.maximum(1.0 - np.add.reduceat(entries, full.next_start[:-1])[full.leads_to_goal], 0.0)
    return models.SSP(full, np.minimum(losses, 1.0), entries)


def _initial_state(support: Support, floor: float, start: ArrayLike | None, exponent: int) -> ValueIterationState:
    iteration = new_value_iteration_state(support.states, support.pairs)
    iteration.policy[:] = support.pair_start[:-1]
    if start is None:
        iteration.values[:-1] = floor
    else:
        values = check_array(start, "start", (support.states + 1,), f"shape [S + 1] = ({support.states + 1},)")
        if not np.isfinite(values).all():
            state = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ArgumentError(f"start[{state}] is {values[state]}; values to start from are finite")
        with np.errstate(over="ignore"):
            scaled = np.ldexp(values[:-1], exponent)
        iteration.values[:-1] = np.clip(scaled, floor, LARGEST)  # any start will do; from nearer it is shorter
    return iteration


def in_support_order(support: Support, sets: UncertaintySet) -> UncertaintySet:
    """From seen indices to the order of the support; 0 where a next state has none. Intervals stand in it already."""
    if sets.shape == INTERVAL_SET:
        return sets
    width = support.states + 1
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    index = np.arange(support.triples) - support.next_start[pair]
    taken = index < sets.used[pair]
    centres = np.zeros(support.triples)
    keys = pair * width + support.next_state
    centres[np.searchsorted(keys, pair[taken] * width + sets.state[taken])] = sets.centre[taken]
    return sets._replace(
        used=np.diff(support.next_start) - (support.next_state[support.next_start[1:] - 1] == support.states),
        state=np.array(support.next_state),
        centre=centres,
    )
