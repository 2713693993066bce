"""Naive twins of the kernels: what their docstrings say, by sets, fractions and dense matrices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models.arrays import Rows
from goalbound.planning.kernels.chain import Chain

Floats = NDArray[np.float64]
Exact = dict[int, Fraction]
"""an exact value for each state and the goal"""


class Pair(NamedTuple):
    """One pair as it is stored: a next state may have probability zero, or stand twice."""

    number: int
    state: int
    loss: Fraction
    entries: list[tuple[int, Fraction]]

    @property
    def edges(self) -> set[int]:
        """The next states that it can really lead to."""
        return {t for t, p in self.entries if p > 0}

    @property
    def total(self) -> Fraction:
        return sum((p for _, p in self.entries), Fraction(0))

    @property
    def moving(self) -> Fraction:
        return sum((p for t, p in self.entries if t != self.state), Fraction(0))


def states_of(rows: Rows) -> int:
    return len(rows.pair_start) - 1


def pairs_of(rows: Rows, usable: Sequence[bool] | NDArray[np.bool_] | None = None) -> list[Pair]:
    """All pairs, or the usable ones, each number an exact fraction."""
    found = []
    for state in range(states_of(rows)):
        for i in range(rows.pair_start[state], rows.pair_start[state + 1]):
            if usable is None or usable[i]:
                places = range(rows.next_start[i], rows.next_start[i + 1])
                entries = [(int(rows.next_state[k]), Fraction(float(rows.probabilities[k]))) for k in places]
                found.append(Pair(i, state, Fraction(float(rows.losses[i])), entries))
    return found


def exactly(values: Floats, low: Floats | None = None) -> Exact:
    """values + low without rounding; ``low`` may be empty."""
    trailing = np.zeros(len(values)) if low is None or not len(low) else low
    return {s: Fraction(float(v)) + Fraction(float(w)) for s, (v, w) in enumerate(zip(values, trailing, strict=True))}


# Graphs


def can_reach(pairs: list[Pair], targets: set[int]) -> dict[int, int]:
    """The states from which some way leads to the targets, with the fewest steps it takes."""
    steps = dict.fromkeys(targets, 0)
    for distance in itertools.count(1):
        near = {pair.state for pair in pairs if pair.edges & steps.keys()} - steps.keys()
        if not near:
            return steps
        steps |= dict.fromkeys(near, distance)
    raise AssertionError


def surely_reach(pairs: list[Pair], goal: int) -> set[int]:
    """The states with a way to the goal by pairs that never leave the set of such states."""
    fine = set(range(goal + 1))
    while True:
        inside = [pair for pair in pairs if pair.edges <= fine]
        smaller = set(can_reach(inside, {goal}))
        if smaller == fine:
            return fine - {goal}
        fine = smaller


def follows_surely(pairs: list[Pair], goal: int) -> set[int]:
    """The states from which these pairs, one for each state, reach the goal with probability one: whatever they can
    come to can come to the goal."""
    reaching = set(can_reach(pairs, {goal}))
    hopeless = set(range(goal)) - reaching
    return set(range(goal)) - can_reach(pairs, hopeless).keys()


def without_dead_ends(pairs: list[Pair], goal: int) -> set[int]:
    """The pairs left once none leads to a state without pairs; the goal is no dead end."""
    left = list(pairs)
    while True:
        alive = {pair.state for pair in left} | {goal}
        kept = [pair for pair in left if pair.edges <= alive]
        if len(kept) == len(left):
            return {pair.number for pair in left}
        left = kept


def quotient(
    pairs: list[Pair], class_of: Sequence[int], goal: int
) -> list[tuple[int, int, list[tuple[int, Fraction]]]]:
    """(class, pair, entries) of the pairs that may leave their class, zeros left out. ``class_of[S]`` is the goal's."""
    found = []
    for pair in pairs:
        own = class_of[pair.state]
        entries = [(int(class_of[t]), p) for t, p in pair.entries if p > 0]
        if own != goal and own >= 0 and any(t != own for t, _ in entries):
            found.append((int(own), pair.number, entries))
    return sorted(found, key=lambda one: one[:2])


# Backups


def change(pair: Pair, v: Exact) -> Fraction:
    """sum over t != s of p(t) (v(t) - v(s))."""
    return sum((p * (v[t] - v[pair.state]) for t, p in pair.entries), Fraction(0))


def gain(pair: Pair, v: Exact) -> Fraction:
    """The advantage times the chance to move: negative where the pair is better than v promises."""
    return pair.total * pair.loss + change(pair, v)


def advantage(pair: Pair, v: Exact) -> Fraction:
    return gain(pair, v) / pair.moving


def size(pair: Pair, v: Exact) -> Fraction:
    """What rounding errors of a gain are relative to."""
    return pair.total * pair.loss + sum((p * abs(v[t] - v[pair.state]) for t, p in pair.entries), Fraction(0))


def next_value(pair: Pair, v: Exact) -> tuple[Fraction, Fraction]:
    """Mean and variance of the value at the next other state."""
    moves = [(p / pair.moving, v[t]) for t, p in pair.entries if t != pair.state]
    mean = sum((p * value for p, value in moves), Fraction(0))
    return mean, sum((p * (value - mean) ** 2 for p, value in moves), Fraction(0))


def moves_of(rows: Rows, policy: Sequence[int] | NDArray[np.int64]) -> tuple[Floats, Floats]:
    """weight[S, S] and exit[S] of a policy's chain without self loops; a state with -1 exits at once."""
    states = states_of(rows)
    weight, leave = np.zeros((states, states)), np.ones(states)
    pairs = pairs_of(rows)
    for s, i in enumerate(policy):
        if i >= 0:
            row = [Fraction(0)] * (states + 1)
            for t, p in pairs[i].entries:
                if t != s:
                    row[t] += p / pairs[i].moving
            weight[s], leave[s] = row[:-1], row[-1]
    return weight, leave


# Chains


def dense(chain: Chain) -> Floats:
    """weight[S, S]."""
    states = len(chain.stop)
    weight = np.zeros((states, states))
    for s in range(states):
        for k in range(chain.start[s], chain.stop[s]):
            weight[s, chain.column[k]] += chain.weight[k]
    return weight


def swept(weight: Floats, rhs: Floats, x: Floats, *, backwards: bool) -> Floats:
    """One sweep of x = rhs + weight x as a triangular system: what came before is new, what comes after is old."""
    old = np.triu(weight) if not backwards else np.tril(weight)
    return np.linalg.solve(np.eye(len(rhs)) - (weight - old), rhs + old @ x)


# Ways


def shortest(pairs: list[Pair], goal: int, floor: float) -> Floats:
    """[S + 1] Bellman-Ford: a step by a pair to t is (loss + floor) / probability(t) long."""
    distance = np.append(np.full(goal, np.inf), 0.0)
    for _ in range(goal):
        for pair in pairs:
            for t in pair.edges - {pair.state}:
                probability = float(sum(p for u, p in pair.entries if u == t))
                length = (float(pair.loss) + floor) / probability
                distance[pair.state] = min(distance[pair.state], distance[t] + length)
    return distance
