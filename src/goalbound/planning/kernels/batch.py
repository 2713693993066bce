"""The optimal values of a contextual problem under many contexts, one after the other. For small S.

Policy iteration for each context from the best policy of the last one nearby, then a certificate. Neighbouring contexts
mostly share their best policy, so most of them take one elimination and one sweep.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import kernel, short_loops
from goalbound.jit.struct import Struct
from goalbound.planning.kernels.elimination import evaluate_pairs

ROUNDS = 60
"""The most policies tried from one start; more are cycles due to rounding."""
TIE = 2.0**-44
"""Pairs tie if their backups differ by less, relative to the values in them: some hundred roundings."""
UNKNOWN = -1
"""A start that has not been computed yet."""
NONE = -2
"""A start that does not exist: the component has no proper policy."""
SLOTS, SLOT_LEVELS = 1024, 16
"""So many policies are kept, each of contexts whose entries are the same up to 1 / SLOT_LEVELS."""


class Components(Struct):
    """What the context mixes: d components, N pairs, M triples."""

    losses: NDArray[np.float64]
    """[d, N]"""
    probabilities: NDArray[np.float64]
    """[d, M]"""


@kernel
def mix(components, context, out_mixed):
    """``components[d, n]`` mixed by ``context[d]``, in the order of the components: the bits of ``LinearCSSP.at``."""
    for k in range(len(out_mixed)):
        total = components[0, k] * context[0]
        for j in range(1, len(context)):
            total += components[j, k] * context[j]
        out_mixed[k] = min(total, 1.0)


@kernel
def improve_and_bound(rows, values, policy):
    """Let each state take its best pair, and bound the optimal values v* by those of the policy, ``values[S + 1]``.

    Of pairs that tie the lowest is taken. Returns how many states switched, x and y, where

    - (1 - x) v <= v* if x < 1: with L the loss of a pair and C = P v - v(s), every pair has L + (1 - x) C >= 0, so
      (1 - x) v is below all its own backups, and hence below the value of every proper policy (apply that along the
      policy: what is left of v dies out because the policy ends);
    - v* <= (1 + y) v if the policy, as it was given, is proper: its pairs have L + (1 + y) C <= 0.

    A backup that misses v by r at a loss of L > r asks for x = r / (L + r), or y = r / (L - r); where the policy has
    free steps, there may be none (infinity). Rounding is counted against us: a sum over n next states, and what is
    done with it, rounds at most n + 8 times, each time relative to a sum of absolute values; underflow takes less than
    1e-300. Rows are meant divided by their exact sum, so L is taken times that sum.
    """
    switched = 0
    x = 0.0
    y = 0.0
    for s in range(len(policy)):
        here = values[s]
        best = np.inf
        best_pair = policy[s]
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            total = 0.0
            change = 0.0
            size = 0.0
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                p = rows.probabilities[k]
                lead = values[rows.next_state[k]] - here
                total += p
                change += p * lead
                size += p * abs(lead)
            loss = total * rows.losses[i]
            gain = loss + change
            error = (rows.next_start[i + 1] - rows.next_start[i] + 8.0) * 2.0**-53 * (loss + size) + 1e-300
            fall = -change - error
            if not gain - error >= 0.0:
                x = max(x, (error - gain) / fall * (1.0 + 2.0**-50) if fall > 0.0 else np.inf)
            if i == policy[s] and not gain + error <= 0.0:
                y = max(y, (error + gain) / fall * (1.0 + 2.0**-50) if fall > 0.0 else np.inf)
            if gain < best - TIE * (here + size):
                best = gain
                best_pair = i
        if best_pair != policy[s]:
            policy[s] = best_pair
            switched += 1
    return switched, x, y


@kernel
def value_iteration(rows, tolerance, workspace, policy):
    """Policy iteration from ``policy[S]`` (pairs); whether ``workspace.values`` end up certified to the tolerance.

    False if it does not converge in ROUNDS policies, meets one that is not proper, or if the bounds of
    :func:`improve_and_bound` are further apart.
    """
    for _ in range(ROUNDS):
        if not evaluate_pairs(
            rows, policy, workspace.matrix, workspace.leaving, workspace.pivot, workspace.values, workspace.steps, False
        ):
            return False
        switched, x, y = improve_and_bound(rows, workspace.values, policy)
        if switched == 0:
            return x + y <= tolerance
    return False


@kernel
def slot_of(context):
    """Where the policy of contexts near this one is kept: 0 to SLOTS - 1. Some that are not near share it."""
    slot = 0
    for j in range(len(context)):
        slot = (31 * slot + int(SLOT_LEVELS * context[j])) % SLOTS
    return slot


@short_loops
def solve_batch(components, contexts, first, tolerance, starts, rows, workspace, policies, policy, out_values):
    """``out_values[K, S + 1]`` under ``contexts[K, d]``, from number ``first`` on, until one cannot be solved.

    ``policies[SLOTS, S]`` are those of contexts nearby, where the search starts, or where there is none ``policy[S]``,
    that of the last context; UNKNOWN if there is none yet. Where it fails, the policy ``starts[d, S]`` of the heaviest
    component is tried: proper there, it is proper under every context that gives the component any weight. The losses
    and probabilities of ``rows`` are overwritten.

    Returns the number of the context that was not solved (K: all were) and the component whose start was UNKNOWN (-1
    if that was not the reason).
    """
    for n in range(first, len(contexts)):
        context = contexts[n]
        mix(components.losses, context, rows.losses)
        mix(components.probabilities, context, rows.probabilities)
        found = policies[slot_of(context)]
        if found[0] < 0:
            for s in range(len(policy)):
                found[s] = policy[s]
        settled = found[0] >= 0 and value_iteration(rows, tolerance, workspace, found)
        if not settled:
            heaviest = 0
            for j in range(1, len(context)):
                if context[j] > context[heaviest]:
                    heaviest = j
            found[0] = UNKNOWN
            if starts[heaviest, 0] == UNKNOWN:
                return n, heaviest
            if starts[heaviest, 0] != NONE:
                for s in range(len(policy)):
                    found[s] = starts[heaviest, s]
                settled = value_iteration(rows, tolerance, workspace, found)
        if not settled:
            found[0] = UNKNOWN
            return n, -1
        for s in range(len(policy)):
            policy[s] = found[s]
        for s in range(len(workspace.values)):
            out_values[n, s] = workspace.values[s]
    return len(contexts), -1
