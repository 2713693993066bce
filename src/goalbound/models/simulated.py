"""The environment, one drawn number at a time: where a step leads, what it loses, how far it is from optimal.

The plain loop calls these once per step, the compiled loop calls them inside; so both do the same arithmetic and, from
the same stream, give the same episodes to the bit.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.models.step import BERNOULLI, BOUNDED, DETERMINISTIC

VALUE_TOLERANCE = 1e-9
"""The relative error of the optimal values that regret is measured against."""


class Components(Struct):
    """A contextual problem with N pairs, M triples and d components. The goal is next state S."""

    next_start: NDArray[np.int64]
    """[N + 1]"""
    next_state: NDArray[np.int32]
    """[M]"""
    losses: NDArray[np.float64]
    """[N, d]"""
    probabilities: NDArray[np.float64]
    """[M, d]"""


class EpisodeResults(Struct):
    """The results of K episodes, one entry each. A row is written when its episode has ended, ``steps`` last.

    So a row with ``steps`` 0 is an episode that was not played to its end.
    """

    loss: NDArray[np.float64]
    expected_regret: NDArray[np.float64]
    start: NDArray[np.int64]
    intervals: NDArray[np.int64]
    unknown_steps: NDArray[np.int64]
    abandoned: NDArray[np.bool_]
    steps: NDArray[np.int64]


RESULT_TYPES: dict[str, type[np.generic]] = dict.fromkeys(EpisodeResults._fields, np.int64) | {
    "loss": np.float64,
    "expected_regret": np.float64,
    "abandoned": np.bool_,
}
"""The type of the entries of each column of :class:`EpisodeResults`."""


class EnvironmentArrays(Struct):
    """The environment that is played in."""

    components: Components
    start: int
    """the first state, or -1: drawn"""
    start_law: NDArray[np.float64]
    """[S, d] or [S, 1]"""
    loss_code: int
    loss_spread: float
    gap_tolerance: float
    """the relative error of the optimal values"""


@lean
def mixed(values, row, context):
    """One row of [n, d] mixed by the context, in the order of the components, as ``LinearCSSP.at`` does it."""
    total = values[row, 0] * context[0]
    for component in range(1, values.shape[1]):
        total += values[row, component] * context[component]
    if total > 1.0:  # a mixture of numbers up to 1 may round to just above 1
        total = 1.0
    return total


@lean
def draw_next(next_start, next_state, probabilities, pair, context, u):
    """The next state of a pair for a uniform u of [0, 1): the first whose cumulative probability is above u.

    Where rounding leaves u beyond the sum, it is the last that has a positive probability.
    """
    last = next_state[next_start[pair]]
    total = 0.0
    for k in range(next_start[pair], next_start[pair + 1]):
        p = mixed(probabilities, k, context)
        if p > 0.0:
            total += p
            last = next_state[k]
            if u < total:
                break
    return last


@lean
def draw_start(start_law, context, u):
    """The first state for a uniform u of [0, 1), by the rule of :func:`draw_next`.

    ``start_law`` [S, d] is mixed by the context; one of a single column, [S, 1], holds under every context.
    """
    last = 0
    total = 0.0
    for state in range(start_law.shape[0]):
        p = start_law[state, 0]
        if start_law.shape[1] > 1:
            p = mixed(start_law, state, context)
        if p > 0.0:
            total += p
            last = state
            if u < total:
                break
    return last


@lean
def loss_of(code, spread, mean, u):
    """The loss of a step whose mean is in [0, 1], for a uniform u of [0, 1); it is in [0, 1] too.

    DETERMINISTIC: the mean itself. BERNOULLI: 1 with probability mean, else 0. BOUNDED: uniform on
    mean +- spread * min(mean, 1 - mean), with spread in (0, 1].
    """
    if code == BERNOULLI:
        return 1.0 if u < mean else 0.0
    if code == BOUNDED:
        # Inside [0, 1] without a clip: 1 - mean is exact from 1/2 on, and below it the room is the mean.
        return mean + spread * min(mean, 1.0 - mean) * (2.0 * u - 1.0)
    return mean


@lean
def suboptimality_gap(components, pair, state, context, values, tolerance):
    """loss + P v - v(state) of a pair under a context, for optimal values [S + 1] of relative error ``tolerance``.

    It is not negative but for the error of the values and rounding. With size = loss + P v + v(state), those come to
    at most (2 tolerance + 4 (n + d + 8) 2^-52) size for a row of n next states: a negative number down to there is
    given as 0, and anything below as NaN: such values are not the optimal ones.
    """
    loss = mixed(components.losses, pair, context)
    here = values[state]
    change = 0.0
    size = loss + here
    first = components.next_start[pair]
    end = components.next_start[pair + 1]
    for k in range(first, end):
        p = mixed(components.probabilities, k, context)
        if p > 0.0:
            ahead = values[components.next_state[k]]
            change += p * (ahead - here)
            size += p * ahead
    return checked_gap(loss + change, size, end - first + len(context), tolerance)


@lean
def checked_gap(gap, size, terms, tolerance):
    """A gap as :func:`suboptimality_gap` gives it, from the number itself; ``terms`` is n + d."""
    if gap < 0.0:
        rounding = 4.0 * (terms + 8.0) * 2.0**-52
        return 0.0 if -gap <= (2.0 * tolerance + rounding) * size else np.nan
    return gap


@lean
def uniform_pair(pair_start, state, u):
    """A pair of a state for a uniform u of [0, 1), each as likely as the others."""
    return pair_start[state] + int(u * (pair_start[state + 1] - pair_start[state]))


@lean
def greedy_pair(components, pair_start, state, context, values):
    """The pair of a state with the least loss + P v under a context; ties go to the lowest."""
    best = np.inf
    chosen = pair_start[state]
    for pair in range(pair_start[state], pair_start[state + 1]):
        worth = mixed(components.losses, pair, context)
        for k in range(components.next_start[pair], components.next_start[pair + 1]):
            worth += mixed(components.probabilities, k, context) * values[components.next_state[k]]
        if worth < best:
            best = worth
            chosen = pair
    return chosen


@lean
def env_step(env, pair, state, context, optimal, rng):
    """Play a pair in a state: where it leads, what it loses, and its gap against the optimal values [S + 1].

    Draws one number for the next state, then one for the loss if its law is random. It is :func:`draw_next` and
    :func:`suboptimality_gap`, to the bit, in one pass over the row.
    """
    rows = env.components
    u = rng.random()
    mean = mixed(rows.losses, pair, context)
    here = optimal[state]
    change = 0.0
    size = mean + here
    first = rows.next_start[pair]
    end = rows.next_start[pair + 1]
    following = rows.next_state[first]
    total = 0.0
    for k in range(first, end):
        p = mixed(rows.probabilities, k, context)
        if p > 0.0:
            if not u < total:  # what came before did not reach u
                following = rows.next_state[k]
            total += p
            ahead = optimal[rows.next_state[k]]
            change += p * (ahead - here)
            size += p * ahead
    loss = mean
    if env.loss_code != DETERMINISTIC:
        loss = loss_of(env.loss_code, env.loss_spread, mean, rng.random())
    return following, loss, checked_gap(mean + change, size, end - first + len(context), env.gap_tolerance)


@lean
def write_results(out, k, total, regret, start, intervals, unknown_steps, abandoned, steps):
    """The results of episode k; ``steps`` last, so that an episode counts once all is written."""
    out.loss[k] = total
    out.expected_regret[k] = regret
    out.start[k] = start
    out.intervals[k] = intervals
    out.unknown_steps[k] = unknown_steps
    out.abandoned[k] = abandoned
    out.steps[k] = steps


@lean
def first_state(env, context, rng):
    """Where an episode begins; draws one number if that is random."""
    if env.start >= 0:
        return env.start
    return draw_start(env.start_law, context, rng.random())
