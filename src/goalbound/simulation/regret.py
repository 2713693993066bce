"""The expected regret of a step: how much worse the pair played is than the best one.

With the optimal values v* of the episode's context (0 at the goal), the gap of a pair is

    gap(s, a) = loss(s, a) + sum over s' of P(s' | s, a) v*(s') - v*(s) >= 0,

which is 0 for optimal pairs. The expected regret of an episode is the sum of the gaps of the pairs played. It has the
mean of the realised regret, the losses paid minus v*(first state), without the noise of losses and next states:

Let the episode play (s_0, a_0), ..., with losses l_t, and end at the goal after T steps, T finite with probability
one. Given all that happened up to the choice of a_t, the mean of l_t + v*(s_{t+1}) - v*(s_t) is gap(s_t, a_t), however
a_t was chosen. Sum over the steps before min(T, n); v* telescopes:

    E sum gap = E sum l_t + E v*(s_min(T, n)) - E v*(s_0).

Let n grow. Gaps and losses are not negative, so both sums converge to those of the whole episode. v* is bounded and 0
at the goal, so E v*(s_min(T, n)) <= max v* P(T > n) -> 0. What remains is E sum gap = E (sum l_t - v*(s_0)).

Where a step limit ends the episode in state s, the same sum without the last step says: the mean of the gaps is that of
the losses so far plus v*(s), the least that is still to pay, minus v*(s_0). The realised regret leaves v*(s) out.

Optimal values are certified to a relative error of 1e-9, so a computed gap of an optimal pair may be just below 0.
Down to a stated bound (:func:`goalbound.models.simulated.suboptimality_gap`) it counts as 0; below, it is an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.models import LinearCSSP
from goalbound.models.simulated import VALUE_TOLERANCE, suboptimality_gap
from goalbound.models.validation import check_array
from goalbound.simulation.environment import components_of


def step_regret(
    problem: LinearCSSP, state: int, action: int, *, context: ArrayLike, optimal_values: NDArray[np.float64]
) -> float:
    """The gap of a pair under a context, given the optimal values [S + 1] there.

    >>> problem = LinearCSSP.dense([[[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])
    >>> step_regret(problem, 0, 1, context=[1.0], optimal_values=[0.5, 0.0])  # 0.2 + 0.9 * 0.5 - 0.5
    0.15...
    """
    support = problem.support
    values = check_array(
        optimal_values, "optimal_values", (support.states + 1,), "one value per state, then the goal's 0"
    )
    weights = problem.check_context(context)
    pair = support.pair(state, action)
    gap = float(
        engine(support.triples)(suboptimality_gap)(
            components_of(problem), pair, support.state(state), weights, values, VALUE_TOLERANCE
        )
    )
    if np.isnan(gap):
        raise ArgumentError(f"{support.pair_name(pair)} is better than optimal: {not_optimal()}")
    return gap


def not_optimal() -> str:
    """The explanation of a gap below 0."""
    return "the values are not the optimal ones of this problem under this context"
