"""Confidence sets, bonuses and optimistic values of the context-free learners, formula by formula, in NumPy.

n is the number of visits of a pair, m the number of its next states other than the goal, N the number of pairs, A the
number of actions, S the number of states; the goal is next state S and its value is 0. ``scale`` multiplies each radius
and each bonus. Sources: Tarbouriech et al. 2020 (UC-SSP), Rosenberg et al. 2020 (Hoeffding- and Bernstein-SSP),
Tarbouriech et al. 2021 (EB-SSP), Cohen et al. 2021 (ULCVI).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from goalbound.models import Support

Floats = NDArray[np.float64]
Rows = Callable[[Floats], Floats]
"""From values [S + 1] to the most optimistic rows [N, S] against them; what a row lacks to 1 goes to the goal."""


@dataclass(frozen=True)
class Declared:
    """What a learner is told."""

    support: Support
    delta: float = 0.1
    loss_floor: float = 0.0
    added_loss: float = 0.0
    scale: float = 1.0
    known_losses: tuple[float, ...] | None = None

    @property
    def floor(self) -> float:
        """The least loss of any step, the added loss included."""
        return self.loss_floor + self.added_loss

    def others(self, pair: int) -> list[int]:
        """The next states of a pair other than the goal."""
        row = self.support.next_state[self.support.row(pair)]
        return [int(state) for state in row if state != self.support.states]

    def m1(self, pair: int) -> int:
        """m, and 1 where it is 0."""
        return max(1, len(self.others(pair)))

    def pairs_of(self, state: int) -> range:
        """The pairs of a state."""
        return range(int(self.support.pair_start[state]), int(self.support.pair_start[state + 1]))


class Data:
    """All steps so far, counted by pair."""

    def __init__(self) -> None:
        self.visits: Counter[int] = Counter()
        self.losses: defaultdict[int, float] = defaultdict(float)
        self.squares: defaultdict[int, float] = defaultdict(float)
        self.following: Counter[tuple[int, int]] = Counter()

    def record(self, pair: int, loss: float, next_state: int) -> None:
        self.visits[pair] += 1
        self.losses[pair] += loss
        self.squares[pair] += loss * loss
        self.following[pair, next_state] += 1

    def mean_loss(self, pair: int) -> float:
        """l^, 0 without visits."""
        return self.losses[pair] / max(1, self.visits[pair])

    def loss_variance(self, pair: int) -> float:
        mean_square = self.squares[pair] / max(1, self.visits[pair])
        return max(0.0, mean_square - self.mean_loss(pair) ** 2)

    def share(self, pair: int, next_state: int) -> float:
        """p^, 0 without visits."""
        return self.following[pair, next_state] / max(1, self.visits[pair])

    def of_pair(self, pair: int) -> Data:
        """A copy that knows this pair only."""
        copy = Data()
        copy.visits[pair] = self.visits[pair]
        copy.losses[pair], copy.squares[pair] = self.losses[pair], self.squares[pair]
        copy.following.update({key: count for key, count in self.following.items() if key[0] == pair})
        return copy


def optimistic_loss(given: Declared, data: Data, pair: int) -> float:
    """l~ of UC-SSP, Hoeffding-SSP and Bernstein-SSP, the added loss included."""
    if given.known_losses is not None:
        return given.known_losses[pair] + given.added_loss
    n = data.visits[pair]
    if n == 0:
        return given.floor
    radius = given.scale * math.sqrt(math.log(4 * given.support.pairs * n**2 / given.delta) / (2 * n))
    return max(given.floor, min(1.0, data.mean_loss(pair) - radius) + given.added_loss)


def uc_radius(given: Declared, visits: int, pair: int) -> float:
    """UC-SSP: of the L1 ball around p^."""
    n1 = max(1, visits)
    return given.scale * math.sqrt(8 * given.m1(pair) * math.log(2 * given.support.actions * n1 / given.delta) / n1)


def hoeffding_radius(given: Declared, visits: int, pair: int) -> float:
    """Hoeffding-SSP: of the L1 ball around p^."""
    n1 = max(1, visits)
    return 5 * given.scale * math.sqrt(given.m1(pair) * math.log(given.support.pairs * n1 / given.delta) / n1)


def known_threshold(given: Declared, loss_bound: float, pair: int) -> float:
    """Hoeffding-SSP: a pair is known with more visits than this."""
    inside = 1000 * loss_bound * given.support.pairs / (given.delta * given.floor)
    return given.scale**2 * 5000 * loss_bound**2 * given.m1(pair) / given.floor**2 * math.log(inside)


def optimistic_l1_row(row: Sequence[float], radius: float, values: Sequence[float]) -> list[float]:
    """[S] the row of the L1 ball around ``row`` [S + 1] with the least value: half of the radius goes to the goal.

    It is taken from the next states with the largest values; of equal ones, from the lowest.

    >>> optimistic_l1_row([0.25, 0.5, 0.25], 0.75, [1.0, 2.0, 0.0])
    [0.25, 0.125]
    """
    states = len(row) - 1
    best = [float(p) for p in row[:states]]
    left = min(radius / 2.0, 1.0 - row[states])
    for state in sorted(range(states), key=lambda s: -values[s]):
        taken = min(left, best[state])
        best[state] -= taken
        left -= taken
    return best


def l1_minimum_by_lp(row: Sequence[float], radius: float, values: Sequence[float]) -> float:
    """The least value of a distribution q with |q - row|_1 <= radius, as a linear program in (q, |q - row|)."""
    size = len(row)
    one, none = np.eye(size), np.zeros(size)
    bounds_of_distance = np.block([[one, -one], [-one, -one], [none, np.ones(size)]])
    answer = linprog(
        np.concatenate((values, none)),
        A_ub=bounds_of_distance, b_ub=np.concatenate((row, np.negative(row), [radius])),
        A_eq=[np.concatenate((np.ones(size), none))], b_eq=[1.0],
    )  # fmt: skip
    assert answer.status == 0, answer.message
    return float(answer.fun)


def l1_rows(given: Declared, data: Data, radii: Sequence[float]) -> Rows:
    """The rows of :func:`optimistic_l1_row`, for all pairs; a pair without visits goes straight to the goal."""
    states, pairs = given.support.states, range(given.support.pairs)
    centres = [[data.share(pair, following) for following in range(states + 1)] for pair in pairs]

    def rows(values: Floats) -> Floats:
        best = np.zeros((len(pairs), states))
        for pair in pairs:
            if data.visits[pair]:
                best[pair] = optimistic_l1_row(centres[pair], radii[pair], values.tolist())
        return best

    return rows


def bernstein_row(given: Declared, data: Data, pair: int) -> list[float]:
    """[S] Bernstein-SSP: the least of each plausible probability; the same against all values."""
    n1 = max(1, data.visits[pair])
    a = math.log(given.support.pairs * n1 / given.delta) / n1
    shares = [data.share(pair, following) for following in range(given.support.states)]
    return [max(0.0, p - given.scale * (28 * a + 4 * math.sqrt(p * a))) for p in shares]


class Optimum(NamedTuple):
    """The fixed point of extended value iteration."""

    values: Floats
    """[S + 1]"""
    backups: Floats
    """[N] the backup of each pair against the values"""
    rows: Floats
    """[N, S] the most optimistic rows against the values"""
    policy: list[int]
    """[S] the best pair of each state, the lowest one if equal"""


def optimum(given: Declared, losses: Floats, rows: Rows, *, cap: float = math.inf) -> Optimum:
    """Value iteration from 0: v(s) = min(cap, the least of loss + row . v over the pairs of s), to 1e-12 of the floor.

    Every tenth sweep guesses the end: the values of the chain that is best now. There is but one fixed point, as each
    step pays at least the floor; so a guess that a sweep leaves as it is, is it.
    """
    states = given.support.states
    values = np.zeros(states + 1)
    for sweep in range(200_000):
        now = _backed_up(given, losses, rows, values, cap)
        if sweep % 10 == 9:
            now = _guess(given, losses, rows, now, cap)
        settled = np.abs(now.values - values).max() <= 1e-12 * given.floor + 1e-15 * now.values.max()
        values = now.values
        if settled:
            return now
    raise AssertionError(f"value iteration did not settle; the largest value is {values.max()}")


def _backed_up(given: Declared, losses: Floats, rows: Rows, values: Floats, cap: float) -> Optimum:
    best_rows = rows(values)
    backups = losses + best_rows @ values[:-1]
    policy = [min(given.pairs_of(s), key=lambda pair: backups[pair]) for s in range(given.support.states)]
    return Optimum(np.append(np.minimum(cap, backups[policy]), 0.0), backups, best_rows, policy)


def _guess(given: Declared, losses: Floats, rows: Rows, now: Optimum, cap: float) -> Optimum:
    chain = np.eye(len(now.policy)) - now.rows[now.policy]
    if abs(np.linalg.det(chain)) < 1e-12:
        return now
    guess = np.append(np.linalg.solve(chain, losses[now.policy]), 0.0)
    if not 0.0 <= guess.min() <= guess.max() <= cap:
        return now
    then = _backed_up(given, losses, rows, guess, cap)
    return then if np.abs(then.values - guess).max() <= 1e-13 * guess.max() else now


def attempt_lengths(rows: Floats, gamma: float, *, slack: float = 0.0) -> tuple[int, int]:
    """UC-SSP: H = min{h > 1 : |Q^(h-1)|_inf <= gamma} of the chain ``rows`` [S, S], with gamma more and less slack.

    >>> attempt_lengths(np.array([[0.5]]), 0.2)  # 0.5^3 <= 0.2 < 0.5^2
    (4, 4)
    """

    def length(most: float) -> int:
        left, h = rows @ np.ones(len(rows)), 2
        while left.max() > most:
            left, h = rows @ left, h + 1
            assert h < 1_000_000, "the chain hardly ever ends"
        return h

    return length(gamma + slack), length(gamma - slack)


class Bonused(NamedTuple):
    """Values with a bonus: EB-SSP's, or one stage of ULCVI's."""

    values: Floats
    """[S + 1]"""
    backups: Floats
    """[N]"""
    raw: Floats
    """[N] the backups before they were cut at 0; -inf without visits"""


def visgo_backup(given: Declared, data: Data, pair: int, values: Floats, loss_bound: float) -> float:
    """EB-SSP: l^ + e + P~ v - b(v) of a pair with data, not cut at 0 (VISGO's inner line)."""
    n, m1 = data.visits[pair], given.m1(pair)
    iota = math.log(12 * given.support.pairs * (m1 + 1) * n**2 / given.delta)
    skewed = [n / (n + 1) * data.share(pair, following) for following in range(given.support.states)]
    mean = sum(p * v for p, v in zip(skewed, values[:-1], strict=True))
    variance = max(0.0, sum(p * v * v for p, v in zip(skewed, values[:-1], strict=True)) - mean**2)
    loss = data.mean_loss(pair) if given.known_losses is None else given.known_losses[pair]
    of_loss = 2 * math.sqrt(2) * math.sqrt(loss * iota / n) if given.known_losses is None else 0.0
    bonus = given.scale * (
        max(6 * math.sqrt(variance * iota / n), 36 * loss_bound * iota / n)
        + of_loss
        + 2 * math.sqrt(2) * loss_bound * math.sqrt((m1 + 1) * iota) / n
    )
    return loss + given.added_loss + mean - bonus


def visgo(given: Declared, held: dict[int, Data], loss_bound: float, precision: float) -> Bonused:
    """EB-SSP: the values v = min max(0, l^ + e + P~ v - b(v)), iterated from 0 until no change exceeds the precision.

    ``held`` has the data of each visited pair, as it was when it was last refreshed.
    """
    values = np.zeros(given.support.states + 1)
    while True:
        raw = np.full(given.support.pairs, -np.inf)
        for pair, data in held.items():
            raw[pair] = visgo_backup(given, data, pair, values, loss_bound)
        backups = np.maximum(0.0, raw)
        better = np.append([min(backups[pair] for pair in given.pairs_of(s)) for s in range(len(values) - 1)], 0.0)
        change = float(np.abs(better - values).max())
        values = better
        if change <= precision:
            return Bonused(values, backups, raw)


class Stage(NamedTuple):
    """One stage h of ULCVI's tables."""

    low: Bonused
    up: Floats
    """[S + 1] values of the upper bound"""
    policy: list[int]
    """[S] the pair to play at this stage"""


def ulcvi_horizon(time_bound: float, episodes: int) -> int:
    """H = ceil(8 T* ln(8 K))."""
    return math.ceil(8 * time_bound * math.log(8 * episodes))


def ulcvi_tables(given: Declared, data: Data, loss_bound: float, horizon: int) -> list[Stage]:
    """ULCVI: the stages h = 1 to H, from the last to the first."""
    states = given.support.states
    low = up = np.append(np.full(states, 8.0 * loss_bound), 0.0)
    stages: list[Stage] = []
    for h in range(horizon, 0, -1):
        cap = (horizon - h + 1) * (1.0 + given.added_loss) + 8.0 * loss_bound
        raw, q_up = np.full(given.support.pairs, -np.inf), np.full(given.support.pairs, cap)
        for pair in range(given.support.pairs):
            if data.visits[pair]:
                raw[pair], above = _ulcvi_bounds(given, data, pair, (low, up), horizon)
                q_up[pair] = min(cap, above)
        backups = np.maximum(0.0, raw)
        policy = [fewest_visits(given.pairs_of(s), backups, data) for s in range(states)]
        low, up = np.append(backups[policy], 0.0), np.append(q_up[policy], 0.0)
        stages.insert(0, Stage(Bonused(low, backups, raw), up, policy))
    return stages


def _ulcvi_bounds(
    given: Declared, data: Data, pair: int, bounds: tuple[Floats, Floats], horizon: int
) -> tuple[float, float]:
    low, up = bounds
    n, m1 = data.visits[pair], given.m1(pair)
    log = math.log(12 * given.support.pairs * horizon * (m1 + 1) * n**2 / given.delta)
    shares = np.array([data.share(pair, following) for following in range(given.support.states + 1)])
    variance = max(0.0, float(shares @ low**2) - float(shares @ low) ** 2)
    loss = data.mean_loss(pair) if given.known_losses is None else given.known_losses[pair]
    of_loss = 0.0
    if given.known_losses is None:
        of_loss = given.scale * (math.sqrt(2 * data.loss_variance(pair) * log / n) + 5 * log / n)
    of_next = given.scale * (math.sqrt(2 * variance * log / n) + 62 * horizon**3 * m1 * log / n)
    of_next += float(shares @ (up - low)) / (16 * horizon)
    loss += given.added_loss
    return loss - of_loss + float(shares @ low) - of_next, loss + of_loss + float(shares @ up) + of_next


def fewest_visits(pairs: range, backups: Floats, data: Data) -> int:
    """The pair with the least backup; of equal ones that with the fewest visits, then the lowest."""
    return min(pairs, key=lambda pair: (backups[pair], data.visits[pair], pair))
