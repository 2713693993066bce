"""An initial proper policy and its values, by Dijkstra's algorithm."""

import numpy as np

from goalbound.jit.compile import kernel


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
