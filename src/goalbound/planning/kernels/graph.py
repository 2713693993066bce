"""Graphs of a problem: reachability, proper choices, end components. Cost O(M) unless said otherwise.

An edge is an entry with positive probability; entries that are zero do not count.
"""

import numpy as np

from goalbound.jit.compile import kernel, lean


@lean
def reverse_edges(rows, usable, out_start, out_pair):
    """The usable pairs that lead to each next state, as a compressed list; returns the number of edges.

    ``out_start[S + 2]`` and ``out_pair[M]``.
    """
    states = len(rows.pair_start) - 1
    pairs = len(rows.next_start) - 1
    for t in range(states + 2):
        out_start[t] = 0
    for i in range(pairs):
        if usable[i]:
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                if rows.probabilities[k] > 0.0:
                    out_start[rows.next_state[k] + 1] += 1
    for t in range(states + 1):
        out_start[t + 1] += out_start[t]
    edges = out_start[states + 1]
    # Fill from the back of each list; the starts move and come to rest one place early, which the loop below mends.
    for i in range(pairs - 1, -1, -1):
        if usable[i]:
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                if rows.probabilities[k] > 0.0:
                    t = rows.next_state[k]
                    out_start[t + 1] -= 1
                    out_pair[out_start[t + 1]] = i
    for t in range(states + 1):
        out_start[t] = out_start[t + 1]
    out_start[states + 1] = edges
    return edges


@lean
def moving_pairs(rows, out_usable):
    """Mark the pairs that may leave their state; returns the smallest loss of those."""
    states = len(rows.pair_start) - 1
    smallest = np.inf
    for s in range(states):
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            out_usable[i] = False
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                if rows.next_state[k] != s and rows.probabilities[k] > 0.0:
                    out_usable[i] = True
                    smallest = min(smallest, rows.losses[i])
                    break
    return smallest


@lean
def sweep_reach(rows, usable, backwards, least, out_choice, out_chance):
    """One pass over the states that marks those seen to reach the goal; returns how many it newly marked.

    ``out_choice[s]`` is -1 (not marked) or a usable pair that leads to a state marked before, ``out_chance[s]`` the
    probability of going that way straight to the goal, times 0.9 for every step but the last. Only ways with a
    chance of at least ``least`` are taken.
    """
    states = len(rows.pair_start) - 1
    found = 0
    for n in range(states):
        s = states - 1 - n if backwards else n
        if out_choice[s] >= 0:
            continue
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if not usable[i]:
                continue
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                t = rows.next_state[k]
                p = rows.probabilities[k]
                if p > 0.0 and (t == states or out_choice[t] >= 0):
                    chance = p if t == states else 0.9 * p * out_chance[t]
                    if chance >= least:
                        out_choice[s] = i
                        out_chance[s] = chance
                        found += 1
                        break
            if out_choice[s] >= 0:
                break
    return found


@lean
def backward_reach(reverse, pair_state, usable, reached, out_choice, out_order):
    """Breadth-first against usable pairs from the states that ``out_order[:reached]`` lists (S is the goal).

    Adds every state from which they can be reached, nearest first, and returns how many the list then holds;
    ``out_choice[s]``, -1 on entry for states not listed, becomes the pair by which s was reached first.
    """
    head = 0
    while head < reached:
        t = out_order[head]
        head += 1
        for k in range(reverse.start[t], reverse.start[t + 1]):
            i = reverse.pair[k]
            s = pair_state[i]
            if usable[i] and out_choice[s] < 0:
                out_choice[s] = i
                out_order[reached] = s
                reached += 1
    return reached


@kernel
def proper_states(reverse, pair_state, usable, out_choice, out_order):
    """The states from which usable pairs reach the goal with probability one; returns how many.

    Repeats: reach the goal backwards; a state not reached is lost; a pair that may lead to a lost state is not
    usable any more (``usable`` is changed), and a state without usable pairs is lost at once. What remains reaches the
    goal with probability one by following ``out_choice[S]`` (-1 at lost states). A round costs O(M) and happens only if
    the one before took a pair from a state that is not lost. ``out_order[S + 1]`` is a work array.
    """
    states = len(out_choice)
    lost = np.zeros(states, dtype=np.bool_)
    left = np.zeros(states, dtype=np.int64)
    queue = np.empty(states, dtype=np.int64)
    for i in range(len(pair_state)):
        if usable[i]:
            left[pair_state[i]] += 1
    while True:
        for s in range(states):
            out_choice[s] = -1
        out_order[0] = states
        reached = backward_reach(reverse, pair_state, usable, 1, out_choice, out_order) - 1
        tail = 0
        for s in range(states):
            if out_choice[s] < 0 and not lost[s]:
                lost[s] = True
                queue[tail] = s
                tail += 1
        changed = False
        head = 0
        while head < tail:
            t = queue[head]
            head += 1
            for k in range(reverse.start[t], reverse.start[t + 1]):
                i = reverse.pair[k]
                if usable[i]:
                    usable[i] = False
                    s = pair_state[i]
                    left[s] -= 1
                    if not lost[s]:
                        changed = True
                        if left[s] == 0:
                            lost[s] = True
                            queue[tail] = s
                            tail += 1
        if not changed:
            return reached


@kernel
def drop_dead_ends(rows, reverse, pair_state, usable):
    """Make unusable every pair that may lead to a state without usable pairs, until there is none. O(M)."""
    states = len(rows.pair_start) - 1
    left = np.zeros(states, dtype=np.int64)
    queue = np.empty(states, dtype=np.int64)
    tail = 0
    for s in range(states):
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if usable[i]:
                left[s] += 1
        if left[s] == 0:
            queue[tail] = s
            tail += 1
    head = 0
    while head < tail:
        t = queue[head]
        head += 1
        for k in range(reverse.start[t], reverse.start[t + 1]):
            i = reverse.pair[k]
            if usable[i]:
                usable[i] = False
                s = pair_state[i]
                left[s] -= 1
                if left[s] == 0:
                    queue[tail] = s
                    tail += 1


@kernel
def chain_reach(chain, out_order, out_reached):
    """Which states of a policy's chain reach those that ``out_reached`` marks on entry; returns how many.

    ``out_order`` lists them, nearest first.
    """
    states = len(out_reached)
    incoming = np.zeros(states + 1, dtype=np.int64)
    for s in range(states):
        for k in range(chain.start[s], chain.stop[s]):
            incoming[chain.column[k] + 1] += 1
    for s in range(states):
        incoming[s + 1] += incoming[s]
    source = np.empty(incoming[states], dtype=np.int32)
    fill = incoming.copy()
    for s in range(states):
        for k in range(chain.start[s], chain.stop[s]):
            t = chain.column[k]
            source[fill[t]] = s
            fill[t] += 1
    reached = 0
    for s in range(states):
        if out_reached[s]:
            out_order[reached] = s
            reached += 1
    head = 0
    while head < reached:
        t = out_order[head]
        head += 1
        for k in range(incoming[t], incoming[t + 1]):
            s = source[k]
            if not out_reached[s]:
                out_reached[s] = True
                out_order[reached] = s
                reached += 1
    return reached


@kernel
def components(rows, usable, out_component):
    """Strongly connected components of the graph of usable pairs (Tarjan, without recursion); returns their number.

    ``out_component[s]`` numbers them so that an edge never leads to a higher number. The goal is left out.
    """
    states = len(rows.pair_start) - 1
    index = np.full(states, -1, dtype=np.int64)
    low = np.zeros(states, dtype=np.int64)
    on_stack = np.zeros(states, dtype=np.bool_)
    stack = np.empty(states, dtype=np.int64)
    path = np.empty(states, dtype=np.int64)  # the call stack: the state, its pair and its place in that pair's row
    path_pair = np.empty(states, dtype=np.int64)
    path_place = np.empty(states, dtype=np.int64)
    height = 0
    clock = 0
    found = 0
    for root in range(states):
        if index[root] >= 0:
            continue
        depth = 0
        path[0] = root
        path_pair[0] = rows.pair_start[root]
        path_place[0] = rows.next_start[path_pair[0]]
        index[root] = low[root] = clock
        clock += 1
        stack[height] = root
        height += 1
        on_stack[root] = True
        while depth >= 0:
            s = path[depth]
            i = path_pair[depth]
            k = path_place[depth]
            went_deeper = False
            while i < rows.pair_start[s + 1]:
                if usable[i]:
                    last = np.int64(rows.next_start[i + 1])
                    while k < last:
                        t = rows.next_state[k]
                        k += 1
                        if t == states or rows.probabilities[k - 1] <= 0.0:
                            continue
                        if index[t] < 0:
                            path_pair[depth] = i
                            path_place[depth] = k
                            depth += 1
                            path[depth] = t
                            path_pair[depth] = rows.pair_start[t]
                            path_place[depth] = rows.next_start[path_pair[depth]]
                            index[t] = low[t] = clock
                            clock += 1
                            stack[height] = t
                            height += 1
                            on_stack[t] = True
                            went_deeper = True
                            break
                        if on_stack[t] and index[t] < low[s]:
                            low[s] = index[t]
                if went_deeper:
                    break
                i += 1
                k = np.int64(rows.next_start[i])
            if went_deeper:
                continue
            if low[s] == index[s]:
                while True:
                    height -= 1
                    t = stack[height]
                    on_stack[t] = False
                    out_component[t] = found
                    if t == s:
                        break
                found += 1
            depth -= 1
            if depth >= 0 and low[s] < low[path[depth]]:
                low[path[depth]] = low[s]
    return found


@lean
def may_leave(rows, pair, number, own):
    """Whether a pair may lead to the goal, or to a state of another ``number`` [S] than its ``own``."""
    for k in range(rows.next_start[pair], rows.next_start[pair + 1]):
        t = rows.next_state[k]
        if rows.probabilities[k] > 0.0 and (t == len(number) or number[t] != own):
            return True
    return False


@lean
def leaving_pairs(rows, component, usable):
    """Make unusable the pairs that may leave their component; returns how many were."""
    changed = 0
    for s in range(len(component)):
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if usable[i] and may_leave(rows, i, component, component[s]):
                usable[i] = False
                changed += 1
    return changed


@lean
def fill_quotient(rows, usable, members, class_of, goal, out_rows, out_origin):
    """The problem in which each class of states is one state: the usable pairs of its members that may leave it.

    ``members`` lists the states by class; ``class_of[s]`` is ``goal``, the number of classes, for states as good as the
    goal. ``out_rows`` has room for all pairs and triples; ``out_origin`` is the original pair of each new pair. A next
    state may stand twice in a row. Returns the number of triples.
    """
    pair = 0
    place = 0
    out_rows.pair_start[0] = 0
    out_rows.next_start[0] = 0
    for n in range(len(members)):
        s = members[n]
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            if not usable[i] or not may_leave(rows, i, class_of, class_of[s]):
                continue
            for k in range(rows.next_start[i], rows.next_start[i + 1]):
                t = rows.next_state[k]
                if rows.probabilities[k] > 0.0:
                    out_rows.next_state[place] = goal if t == len(class_of) else class_of[t]
                    out_rows.probabilities[place] = rows.probabilities[k]
                    place += 1
            out_rows.losses[pair] = rows.losses[i]
            out_origin[pair] = i
            pair += 1
            out_rows.next_start[pair] = place
        out_rows.pair_start[class_of[s] + 1] = pair
    return place


@kernel
def dijkstra_policy(rows, reverse, pair_state, usable, floor, out_policy, out_distance):
    """Dijkstra from the goal, where the step by pair i to t has length (loss(i) + floor) / probability(t).

    That is the loss of trying the pair until it leads to t, were every failure to lead back; ``floor`` keeps unlikely
    ways long where they cost nothing. Each state is given the
    pair of its shortest way (-1 if there is none), which leads with positive probability to a state settled before
    it: following the pairs is proper if every state is settled. ``out_distance[S + 1]``. O(M log S).
    """
    states = len(out_policy)
    done = np.zeros(states + 1, dtype=np.bool_)
    heap = np.empty(states + 1, dtype=np.int64)
    place = np.full(states + 1, -1, dtype=np.int64)
    for s in range(states):
        out_distance[s] = np.inf
        out_policy[s] = -1
    out_distance[states] = 0.0
    heap[0] = states
    place[states] = 0
    size = 1
    while size > 0:
        t = heap[0]
        done[t] = True
        size -= 1
        if size > 0:
            moved = heap[size]
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= size:
                    break
                if child + 1 < size and out_distance[heap[child + 1]] < out_distance[heap[child]]:
                    child += 1
                if out_distance[heap[child]] >= out_distance[moved]:
                    break
                heap[hole] = heap[child]
                place[heap[hole]] = hole
                hole = child
            heap[hole] = moved
            place[moved] = hole
        for k in range(reverse.start[t], reverse.start[t + 1]):
            i = reverse.pair[k]
            s = pair_state[i]
            if done[s] or not usable[i]:
                continue
            probability = 0.0
            for m in range(rows.next_start[i], rows.next_start[i + 1]):
                if rows.next_state[m] == t:
                    probability += rows.probabilities[m]
            distance = out_distance[t] + (rows.losses[i] + floor) / probability
            if distance < out_distance[s]:
                out_distance[s] = distance
                out_policy[s] = i
                if place[s] < 0:
                    place[s] = size
                    size += 1
                hole = place[s]
                while hole > 0:
                    parent = (hole - 1) // 2
                    if out_distance[heap[parent]] <= distance:
                        break
                    heap[hole] = heap[parent]
                    place[heap[hole]] = hole
                    hole = parent
                heap[hole] = s
                place[s] = hole
