"""Bellman backups with self loops taken out, written with differences of values.

A pair that stays with probability p(s) is played until it moves. Its *advantage* over a value v(s) is
(sum * loss + sum over t != s of p(t) (v(t) - v(s))) / (sum over t != s of p(t)), where sum is the sum of the row:
negative where the pair is better than v(s) promises. Rows are normalised by their own sum without touching them, a
tiny probability to move loses nothing to cancellation, and since neighbouring values are close, the rounding error
is relative to their differences, not to the values. One sweep costs O(M).
"""

import numpy as np

from goalbound.jit.compile import kernel, lean


@lean
def product_error(a, b, product):
    """a * b - product, exactly (Dekker): what rounding took from the product."""
    big = 134217729.0 * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = 134217729.0 * b
    b_high = big - (big - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@lean
def precise_change(rows, state, pair, values, low):
    """sum over t != s of p(t) (v(t) - v(s)) for v = values + low, in twice the usual precision.

    Returns the sum and a bound of its error.
    """
    here = values[state]
    total = 0.0
    rest = 0.0
    size = 0.0
    small = 0.0
    for k in range(rows.next_start[pair], rows.next_start[pair + 1]):
        t = rows.next_state[k]
        if t == state:
            continue
        p = rows.probabilities[k]
        lead = values[t] - here
        shifted = lead - values[t]
        trail = (values[t] - (lead - shifted)) - (here + shifted)  # what rounding took from lead, exactly
        trail += low[t] - low[state]
        term = p * lead
        after = total + term
        shifted = after - total
        rest += (total - (after - shifted)) + (term - shifted)
        rest += product_error(p, lead, term) + p * trail
        total = after
        size += abs(term)
        small += p * (abs(trail) + abs(low[t]) + abs(low[state]))
    length = rows.next_start[pair + 1] - rows.next_start[pair]
    change = total + rest
    # rest sums at most 4 length terms, in all below small plus (length + 1) roundings of size, and each is rounded.
    error = (4.0 * length + 8.0) * 2.0**-52 * (small + (length + 4.0) * 2.0**-52 * size) + 2.0**-52 * abs(change)
    return change, error


@lean
def plain_advantage(rows, state, pair, values):
    """The advantage of a moving pair over ``values[S + 1]``, 0 at the goal."""
    here = values[state]
    moving = 0.0
    staying = 0.0
    change = 0.0
    for k in range(rows.next_start[pair], rows.next_start[pair + 1]):
        t = rows.next_state[k]
        p = rows.probabilities[k]
        if t == state:
            staying += p
        else:
            moving += p
            change += p * (values[t] - here)
    return ((moving + staying) * rows.losses[pair] + change) / moving


@lean
def precise_advantage(rows, state, pair, values, low):
    """The advantage of a moving pair over ``values + low``."""
    moving = 0.0
    staying = 0.0
    for k in range(rows.next_start[pair], rows.next_start[pair + 1]):
        if rows.next_state[k] == state:
            staying += rows.probabilities[k]
        else:
            moving += rows.probabilities[k]
    change, _ = precise_change(rows, state, pair, values, low)
    return ((moving + staying) * rows.losses[pair] + change) / moving


@lean
def advantage(rows, state, pair, values, low):
    """The advantage of a moving pair over ``values + low``, where ``low`` may be empty."""
    if len(low) > 0:
        return precise_advantage(rows, state, pair, values, low)
    return plain_advantage(rows, state, pair, values)


@lean
def improve(rows, usable, values, low, margin, drift, settled, policy):
    """Let each state switch to its best usable pair if that is better by more than ``margin[s]`` (empty: by anything).

    ``policy[S]`` holds pairs and is changed; a state with -1 is left out. Ties go to the lowest pair. Returns the
    number of states that switched.

    ``drift`` is how much the values have changed in all so far, a sum of spans (largest minus smallest change): the
    distance between two advantages of a state cannot change by more. So a state whose pair led by a gap is left
    alone until the drift reaches ``settled[S]`` = drift when it was last checked + gap, which is kept up to date here.
    """
    two_parts = len(low) > 0
    demanding = len(margin) > 0
    switched = 0
    for s in range(len(rows.pair_start) - 1):
        if policy[s] < 0 or drift < settled[s]:
            continue
        best = np.inf
        second = np.inf
        best_pair = policy[s]
        current = np.inf
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if not usable[i]:
                continue
            # Not by advantage(): called a million times, only the plain one is small enough to be inlined.
            gain = precise_advantage(rows, s, i, values, low) if two_parts else plain_advantage(rows, s, i, values)
            if i == policy[s]:
                current = gain
            if gain < best:
                second = best
                best = gain
                best_pair = i
            elif gain < second:
                second = gain
        settled[s] = drift + (second - best)
        if best_pair != policy[s]:
            if best < current - (margin[s] if demanding else 0.0):
                policy[s] = best_pair
                switched += 1
            else:
                settled[s] = drift
    return switched


@lean
def lowest_ties(rows, usable, values, low, drift, settled, policy, out_policy):
    """The lowest pair of each state that ties with its policy's up to rounding; returns how many differ from it.

    ``drift`` and ``settled`` as in :func:`improve`: a state whose pair still leads by far has no ties.
    """
    states = len(rows.pair_start) - 1
    changed = 0
    for s in range(states):
        out_policy[s] = policy[s]
        if policy[s] < 0 or drift + 2.0**-20 * values[s] < settled[s]:
            continue
        current = advantage(rows, s, policy[s], values, low)
        margin = 2.0 * abs(current) + 2.0**-46 * rows.losses[policy[s]]
        for i in range(rows.pair_start[s], policy[s]):
            if usable[i] and advantage(rows, s, i, values, low) <= current + margin:
                out_policy[s] = i
                changed += 1
                break
    return changed


@lean
def update_chain(rows, policy, known, order, rank, chain):
    """Bring the rows of a chain up to date where ``policy`` differs from ``known``, which then equals it.

    Self loops are taken out and states renumbered: row n, from ``start[n]`` to ``stop[n]``, is state ``order[n]``
    (``order`` and its inverse ``rank`` are empty to keep the numbers). A row holds the moves to other states; it and
    its exit, the weight of the goal, sum to 1. A state with policy -1 exits at once.
    """
    states = len(rows.pair_start) - 1
    renumbered = len(order) > 0
    for s in range(states):
        i = policy[s]
        if i == known[s]:
            continue
        known[s] = i
        n = rank[s] if renumbered else s
        first = np.int64(chain.start[n])
        stop = first
        chain.exit[n] = 1.0
        if i >= 0:
            moving = 0.0
            leaving = 0.0
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                t = rows.next_state[k]
                p = rows.probabilities[k]
                if t == s or p <= 0.0:
                    continue
                moving += p
                if t == states:
                    leaving += p
                else:
                    chain.column[stop] = rank[t] if renumbered else t
                    chain.weight[stop] = p
                    stop += 1
            for k in range(first, stop):
                chain.weight[k] /= moving
            chain.exit[n] = leaving / moving
        chain.stop[n] = stop


@lean
def pair_change(rows, s, i, values):
    """What a pair of state s does in one step: the probabilities of moving and of staying, the sum of p (v(t) - v(s)),
    and that of its absolute terms."""
    moving = 0.0
    staying = 0.0
    change = 0.0
    size = 0.0
    for k in range(rows.next_start[i], rows.next_start[i + 1]):
        t = rows.next_state[k]
        p = rows.probabilities[k]
        if t == s:
            staying += p
        else:
            moving += p
            change += p * (values[t] - values[s])
            size += p * abs(values[t] - values[s])
    return moving, staying, change, size


@lean
def policy_residual(rows, policy, values, low, floor, out_residual, out_unit):
    """How far ``values + low`` is from the values of a policy: loss + weight v - v, per state.

    ``low[S + 1]`` is the trailing part of the values, or empty. ``out_unit[S]`` is the loss until the pair moves plus
    ``floor``, the natural unit of the residual. Returns the largest residual in units.
    """
    two_parts = len(low) > 0
    largest = 0.0
    for s in range(len(rows.pair_start) - 1):
        out_residual[s] = 0.0
        out_unit[s] = floor
        i = policy[s]
        if i < 0:
            continue
        moving, staying, change, _ = pair_change(rows, s, i, values)
        if two_parts:
            change, _ = precise_change(rows, s, i, values, low)
        loss = (moving + staying) * rows.losses[i]
        out_residual[s] = (loss + change) / moving
        out_unit[s] = loss / moving + floor
        if not abs(out_residual[s]) <= largest * out_unit[s]:
            largest = abs(out_residual[s]) / out_unit[s]
            if not largest >= 0.0:  # not a number: nothing is known
                largest = np.inf
    return largest


@lean
def residual_rounding(rows, policy, values, low, unit):
    """A bound of the rounding error of :func:`policy_residual` for the same arguments, the largest in units.

    A sum over n next states, and what is done with it, rounds at most n + 8 times, each time relative to a sum of
    absolute values. Near the smallest floats rounding is absolute instead: each product then misses up to 2^-1075, and
    the parts of a product in twice the usual precision some dozen times that.
    """
    two_parts = len(low) > 0
    largest = 0.0
    for s in range(len(rows.pair_start) - 1):
        i = policy[s]
        if i < 0:
            continue
        length = rows.next_start[i + 1] - rows.next_start[i]
        moving, staying, change, size = pair_change(rows, s, i, values)
        loss = (moving + staying) * rows.losses[i]
        error = (length + 8.0) * 2.0**-53 * (loss + size)
        if two_parts:
            change, slip = precise_change(rows, s, i, values, low)
            error = (length + 8.0) * 2.0**-53 * (loss + abs(loss + change)) + slip
        error = (error + 16.0 * (length + 8.0) * 5e-324) / moving  # 5e-324 is 2^-1074, the smallest float
        if not error <= largest * unit[s]:
            largest = error / unit[s]
            if not largest >= 0.0:  # not a number: nothing is known
                largest = np.inf
    return largest


@lean
def add_value_variance(rows, policy, values, unit):
    """Add to ``unit[S]``, the loss until a state is left, half the variance of the next value over the value."""
    states = len(rows.pair_start) - 1
    for s in range(states):
        i = policy[s]
        if i < 0:
            continue
        moving = 0.0
        mean = 0.0
        for k in range(rows.next_start[i], rows.next_start[i + 1]):
            if rows.next_state[k] != s:
                moving += rows.probabilities[k]
                mean += rows.probabilities[k] * values[rows.next_state[k]]
        mean /= moving
        square = 0.0
        for k in range(rows.next_start[i], rows.next_start[i + 1]):
            if rows.next_state[k] != s:
                square += rows.probabilities[k] * (values[rows.next_state[k]] - mean) ** 2
        if mean > 0.0:
            unit[s] += 0.5 * square / (moving * (mean + unit[s]))


@kernel
def certify(rows, usable, policy, values, low, shape, cut):
    """How much of ``shape`` must be taken from, and added to, ``values + low`` to bound the optimal values.

    With v = values + low exactly and h = shape[S + 1] > 0 (0 at the goal):

    - v - x h is below the value of every proper policy if no usable pair has an advantage over it below zero;
    - v + y h is above the value of the (proper) policy if its own pairs have no advantage over it above zero;
    - max(v - x h - cut, 0) is below as well if the first holds in the states where v > cut (elsewhere it is 0).

    Both are linear in x and y for each pair, so one sweep gives the smallest x and y, every rounding error counted
    against us. Returns the least and greatest x, the least and greatest y, and the number of infeasible pairs.
    """
    unit = 2.0**-53
    two_parts = len(low) > 0
    nothing = np.zeros(len(low))
    least_x = 0.0
    greatest_x = np.inf
    least_y = 0.0
    greatest_y = np.inf
    infeasible = 0
    for s in range(len(rows.pair_start) - 1):
        if policy[s] < 0:
            continue
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if not usable[i]:
                continue
            moving = 0.0
            staying = 0.0
            change = 0.0
            size = 0.0
            fall = 0.0
            fall_size = 0.0
            uneven = False
            falling = False
            length = rows.next_start[i + 1] - rows.next_start[i]
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                t = rows.next_state[k]
                p = rows.probabilities[k]
                if t == s:
                    staying += p
                else:
                    lead = values[t] - values[s]
                    drop = shape[s] - shape[t]
                    uneven = uneven or lead != 0.0 or (two_parts and low[t] != low[s])
                    falling = falling or drop != 0.0
                    moving += p
                    change += p * lead
                    size += p * abs(lead)
                    fall += p * drop
                    fall_size += p * abs(drop)
            loss = (moving + staying) * rows.losses[i]
            # Every sum above has at most length + 4 roundings, each relative to a partial sum of absolute values.
            # Equal values at no loss have no error at all; else underflow may have taken up to 1e-300.
            error = (length + 8.0) * unit * (loss + size)
            fall_least = fall - (length + 8.0) * unit * fall_size
            if two_parts:
                rise, slip = precise_change(rows, s, i, shape, nothing)
                fall_least = -rise - slip
                change, slip = precise_change(rows, s, i, values, low)
                error = (length + 8.0) * unit * loss + 4.0 * unit * abs(loss + change) + slip
            if uneven or rows.losses[i] > 0.0:
                error += 1e-300
            if falling:
                fall_least -= 1e-300
            gain = loss + change
            if not (abs(gain) + error < np.inf and abs(fall_least) < np.inf):  # overflow
                infeasible += 1
                if i == policy[s]:
                    least_y = np.inf
                continue
            if values[s] * (1.0 + 2.0**-50) <= cut:
                pass
            elif gain - error >= 0.0:
                if fall_least < 0.0:
                    greatest_x = min(greatest_x, (gain - error) / -fall_least * (1.0 - 8.0 * unit))
            elif fall_least > 0.0:
                least_x = max(least_x, (error - gain) / fall_least * (1.0 + 8.0 * unit))
            else:
                infeasible += 1
            if i == policy[s]:
                if gain + error > 0.0:
                    if fall_least > 0.0:
                        least_y = max(least_y, (gain + error) / fall_least * (1.0 + 8.0 * unit))
                    else:
                        least_y = np.inf
                elif fall_least < 0.0:
                    greatest_y = min(greatest_y, (gain + error) / fall_least * (1.0 - 8.0 * unit))
    return least_x, greatest_x, least_y, greatest_y, infeasible


@lean
def raise_ties(rows, usable, policy, values, low, shape, least_fall):
    """Switch states to a pair that ties with their own but makes ``shape`` fall by less than ``least_fall``.

    Of several the one with the least fall. Returns the number of switches.
    """
    states = len(rows.pair_start) - 1
    switched = 0
    for s in range(states):
        if policy[s] < 0:
            continue
        smallest = least_fall
        chosen = policy[s]
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if not usable[i] or advantage(rows, s, i, values, low) > 2.0**-30 * rows.losses[i] + 2.0**-44 * values[s]:
                continue
            moving = 0.0
            fall = 0.0
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                if rows.next_state[k] != s:
                    moving += rows.probabilities[k]
                    fall += rows.probabilities[k] * (shape[s] - shape[rows.next_state[k]])
            if fall / moving < smallest:
                smallest = fall / moving
                chosen = i
        if chosen != policy[s]:
            policy[s] = chosen
            switched += 1
    return switched
