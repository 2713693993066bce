"""LOCAL: pairs that nothing but experience tells apart, such as the streets that leave a crossing without a map.

If all actions of a state have the same next states, other states than this one and not the goal, and there are as many
actions as next states, then by symmetry each next state may be where one of the actions leads. A uniform row is a bad
guess there: with it an unexplored region is a random walk, and no way through it looks worth trying. So of such pairs

- the **row** is the ridge estimate, in which what the context leaves open is filled by where the pair led under all
  contexts; a share kappa of it leads to the best next state instead, all of it before the first visit. With n visits,
  of which n_c = 1 / w^2 less 1 / w^2 without data count under the context c, and the concentration a of rows,

      kappa = (a / (a + n) + a / (a + n_c)) / 2;

- the **loss** is the ridge estimate, in which one half of what the context leaves open is filled by the mean loss of
  the pair, drawn to that of all by k visits; the other half is 0, so that an unlucky first visit is not the last one. k
  is that of :mod:`.shrinkage`, at least 1.

What the context leaves open is the share of the prior, (mu / d) sum_j (V^-1 c)_j: ridge estimates of a row sum to 1
less it, since contexts sum to 1. With other steps than one's own the share of kappa that leads to the best next state
shrinks as the bonus does, and the rest of kappa is uniform; so does the half of the loss that is 0, and the rest is
filled.

The concentration is how many visits a uniform row is worth, if rows are draws of a Dirichlet law. Two visits of a pair
lead to the same of its m next states with the probability q = (1 + a / m) / (1 + a), which is counted, without bias,
over all pairs with two visits: a = (1 - q) / (q - 1 / m). It is near 0 where rows are nearly deterministic.
"""

from goalbound.confidence.pooling import share_of_prior, visits_of_prior
from goalbound.jit.compile import lean
from goalbound.learners.visits import visits_with_outcome
from goalbound.planning.kernels.stochastic_rows import TO_BEST, cannot_reach_goal

LEAST_CONCENTRATION, MOST_CONCENTRATION = 0.02, 2.0
"""The concentration is taken to be within these; it is the larger one where nothing is known of it."""
LEAST_DRAW = 1.0
"""The least k."""


@lean
def is_crossing(pair_start, next_start, next_state, state):
    """Whether a state has two actions or more, all with the same next states, as many as there are actions and neither
    the state itself nor the goal. O(A m) for A actions and m next states."""
    first = pair_start[state]
    actions = pair_start[state + 1] - first
    begin = next_start[first]
    if actions < 2 or next_state[next_start[first + 1] - 1] == len(pair_start) - 1:
        return False
    for pair in range(first, first + actions):
        start = next_start[pair]
        if next_start[pair + 1] - start != actions:
            return False
        for k in range(actions):
            if next_state[start + k] != next_state[begin + k] or next_state[start + k] == state:
                return False
    return True


@lean
def mark_interchangeable(pair_start, next_start, next_state, out_pairs):
    """Which pairs are interchangeable. O(M)."""
    for s in range(len(pair_start) - 1):
        found = is_crossing(pair_start, next_start, next_state, s)
        for pair in range(pair_start[s], pair_start[s + 1]):
            out_pairs[pair] = found


@lean
def times_followed(state, place):
    """How often the next state of a triple followed: contexts sum to 1. O(d)."""
    total = 0.0
    for j in range(state.regression.next_sums.shape[1]):
        total += state.regression.next_sums[place, j]
    return total


@lean
def row_concentration(constants, state):
    """The concentration of rows that cannot lead to the goal, interchangeable or not, and were not guessed. O(M d)."""
    same = 0.0
    uniform = 0.0
    weight = 0.0
    for pair in range(len(constants.explore.pairs)):
        visits = float(visits_with_outcome(state, pair))
        if visits < 2.0 or not cannot_reach_goal(constants, pair):
            continue
        if constants.declared.row_known[pair] or constants.model.guessed[pair]:
            continue
        squares = 0.0
        for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
            followed = times_followed(state, k)
            squares += followed * followed
        same += (squares - visits) / visits
        uniform += (visits - 1.0) / (constants.next_start[pair + 1] - constants.next_start[pair])
        weight += visits - 1.0
    if weight == 0.0 or same <= uniform:
        return MOST_CONCENTRATION
    return min(max((weight - same) / (same - uniform), LEAST_CONCENTRATION), MOST_CONCENTRATION)


@lean
def filled_loss(constants, state, view, pair, loss):
    """The loss of an interchangeable pair whose ridge estimate is ``loss``."""
    progress = view.explore.progress
    visits = float(visits_with_outcome(state, pair))
    draw = max(progress["shrinkage"], LEAST_DRAW)
    lost = 0.0
    for j in range(len(view.context)):
        lost += state.regression.loss_sums[pair, j]
    filled = share_of_prior(constants, pair, view.direction) * (1.0 - 0.5 * progress["own_share"])
    return loss + filled * (lost + draw * progress["mean_loss"]) / (visits + draw)


@lean
def fill_row(constants, state, view, pair):
    """The row of an interchangeable pair, whose estimate is the centre of its set: in place. O(m d)."""
    sets = view.sets
    norm = view.norm[pair]
    first = constants.next_start[pair]
    count = constants.next_start[pair + 1] - first
    visits = float(visits_with_outcome(state, pair))
    under_context = max(1.0 / (norm * norm) - visits_of_prior(constants, pair, view.context), 0.0)
    concentration = max(view.explore.progress["concentration"], LEAST_CONCENTRATION)
    kappa = 1.0
    total = 0.0
    if visits > 0.0:
        kappa = 0.5 * concentration * (1.0 / (concentration + visits) + 1.0 / (concentration + under_context))
        missing = share_of_prior(constants, pair, view.direction)
        for k in range(first, first + count):
            filled = sets.centre[k] + missing * (times_followed(state, k) / visits - 1.0 / count)
            sets.centre[k] = max(filled, 0.0)
            total += sets.centre[k]
    best = view.explore.progress["own_share"] * kappa
    if total <= 0.0:
        kappa = 1.0
        total = 1.0
    for k in range(first, first + count):
        sets.centre[k] = (1.0 - kappa) * sets.centre[k] / total + (kappa - best) / count
    sets.ball[pair] = best
    sets.mass[pair] = TO_BEST
