"""Learners by ridge regression without confidence sets, in NumPy, from their formulas. Slow and plain.

For each pair: V = V0 + sum c c^T, the losses V^-1 sum loss c, and a row V^-1 sum c for each next state but the
goal, projected on the stochastic matrices in the norm of V. How that looks under a context is what the learners differ
in: :func:`estimated`, :func:`drawn`, :func:`known_or_goal`. Mass that is missing in a row leads to the goal; where the
goal cannot follow by the support, rows sum to 1.

A plan is the best of *all* policies, each of them solved as a linear system. An interval ends at the goal, and when the
pair just played was unknown and its determinant has grown by the factor since the plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import Step, Support
from tests.reference.optimism import is_stochastic, next_states
from tests.reference.projection import on_the_simplex, on_the_sub_simplex, projected

Floats = NDArray[np.float64]


class Sample(NamedTuple):
    """One step: its context, pair, loss and next state."""

    context: Floats
    pair: int
    loss: float
    next_state: int


class Regression(NamedTuple):
    """What the data says of one pair."""

    gram: Floats
    """[d, d]"""
    losses: Floats
    """[d]"""
    rows: Floats
    """[m, d] by next state other than the goal"""


class Look(NamedTuple):
    """A pair under a context."""

    loss: float
    """not yet held to its bounds"""
    row: Floats
    """[m] by next state other than the goal"""
    known: bool
    interchangeable: bool = False
    free: float = 0.0
    """what of the row leads to the best next state"""


class Noise(NamedTuple):
    """Standard normal numbers of one plan, in the order in which they are drawn."""

    triples: Floats
    """[M] in the order of the support; those of the goal are drawn and not used"""
    pairs: Floats
    """[N]"""


Exploration = Callable[["NaiveRidge", int], Look]


class OutOfReach(Exception):
    """No policy of a model reaches the goal: nothing can be planned."""


def estimated(twin: NaiveRidge, pair: int) -> Look:
    """The estimate as it is."""
    regression = twin.regression(pair)
    return Look(float(regression.losses @ twin.context), regression.rows @ twin.context, False)


def drawn(spread: float, *, by_variance: bool = False) -> Exploration:
    """A draw: the row of a pair is N(P c, (spread w)^2 I) and its loss N(l c, (spread w)^2), w^2 = c V^-1 c.

    By the variance: the deviation of a number with the estimate q is spread w sqrt(q (1 - q) + w^2 + 0.04)."""

    def deviation(q: float, width: float) -> float:
        mean = min(max(q, 0.0), 1.0)
        return spread * width * (math.sqrt(mean * (1.0 - mean) + width**2 + 0.04) if by_variance else 1.0)

    def look(twin: NaiveRidge, pair: int) -> Look:
        regression = twin.regression(pair)
        width = math.sqrt(twin.context @ np.linalg.inv(regression.gram) @ twin.context)
        places = twin.support.row(pair)
        inside = twin.support.next_state[places] != twin.support.states
        means, loss = regression.rows @ twin.context, float(regression.losses @ twin.context)
        row = means + np.array([deviation(q, width) for q in means.tolist()]) * twin.noise.triples[places][inside]
        loss += deviation(loss, width) * float(twin.noise.pairs[pair])
        nearest = (
            on_the_simplex(row.tolist()) if is_stochastic(twin.support, pair) else on_the_sub_simplex(row.tolist())
        )
        return Look(loss, np.array(nearest), False)

    return look


def known_or_goal(threshold: float) -> Exploration:
    """The estimate where the sum of |V^-1 c| is at most the threshold; else straight to the goal, at the floor."""

    def look(twin: NaiveRidge, pair: int) -> Look:
        regression = twin.regression(pair)
        known_width = float(np.abs(np.linalg.solve(regression.gram, twin.context)).sum())
        twin.closest = min(twin.closest, abs(known_width / threshold - 1.0))
        if known_width <= threshold:
            return estimated(twin, pair)._replace(known=True)
        return Look(-math.inf, np.zeros(len(regression.rows)), False)

    return look


def shrinkage(losses: list[tuple[int, float]], *, most: float = 16.0) -> tuple[float, float]:
    """The mean of all losses, each with its pair, and how many visits the loss of a pair is drawn to it by: the
    variance within pairs over that between pairs, both by the moments of DerSimonian and Laird."""
    if not losses:
        return 0.0, most
    groups = [np.array([loss for one, loss in losses if one == pair]) for pair in {pair for pair, _ in losses}]
    count, mean = len(losses), float(np.mean([loss for _, loss in losses]))
    if len(groups) < 2 or count == len(groups):
        return mean, most
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (count - len(groups))
    heterogeneity = sum(len(group) * (float(group.mean()) - mean) ** 2 for group in groups)
    between = (heterogeneity - (len(groups) - 1) * within) / (count - sum(len(group) ** 2 for group in groups) / count)
    return mean, most if between <= 0.0 else min(most, within / between)


def dispersion(losses: list[tuple[int, float]]) -> float:
    """How much losses, each with its pair, vary within pairs, as a share of what they would if they were 0 or 1; it is
    1 where no pair has two."""
    groups = [np.array([loss for one, loss in losses if one == pair]) for pair in {pair for pair, _ in losses}]
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    most = sum(len(group) * float(group.mean()) * (1.0 - float(group.mean())) for group in groups)
    return within / most if len(losses) > len(groups) and most > 0.0 else 1.0


def are_interchangeable(support: Support, pair: int) -> bool:
    """Whether all pairs of the state have the same next states, other states and not the goal, and there are as many of
    the one as of the other, two or more."""
    state = int(support.pair_state[pair])
    pairs = range(support.pair_start[state], support.pair_start[state + 1])
    rows = {frozenset(support.next_state[support.row(one)].tolist()) for one in pairs}
    return (
        len(rows) == 1 and 2 <= len(pairs) == len(next(iter(rows))) and not {state, support.states} & next(iter(rows))
    )


def concentration(support: Support, data: list[Sample]) -> float:
    """How many visits a uniform row is worth, from how often two visits of a pair led to the same next state."""
    same = apart = uniform = 0.0
    for pair in range(support.pairs):
        count = len(next_states(support, pair))
        landed = [sample.next_state for sample in data if sample.pair == pair]
        if not is_stochastic(support, pair) or len(landed) < 2:
            continue
        meetings = list(itertools.permutations(landed, 2))
        share = sum(one == other for one, other in meetings) / len(meetings)
        same += (len(landed) - 1) * share
        apart += (len(landed) - 1) * (1.0 - share)
        uniform += (len(landed) - 1) / count
    return 2.0 if same - uniform <= 1e-12 else min(max(apart / (same - uniform), 0.02), 2.0)


def filled(twin: NaiveRidge, pair: int) -> Look:
    """The estimate of one of several interchangeable pairs: what the context leaves open is what was seen of the pair
    under all contexts, and a share leads to the best next state."""
    regression, context = twin.regression(pair), twin.context
    mine = [sample for sample in twin.data if sample.pair == pair]
    following = next_states(twin.support, pair)
    toward = np.linalg.solve(regression.gram, context)
    missing = min(max(float(np.ones(twin.size) @ twin.prior @ toward), 0.0), 1.0)
    draw = max(twin.drawn_by, 1.0)
    own = (sum(sample.loss for sample in mine) + draw * twin.drawn_to) / (len(mine) + draw)
    loss = float(regression.losses @ context) + missing * (1.0 - twin.own_share / 2.0) * own
    kappa, row = 1.0, np.zeros(len(following))
    if mine:
        visits = max(1.0 / float(context @ toward) - 1.0 / float(context @ np.linalg.solve(twin.prior, context)), 0.0)
        kappa = sum(twin.concentration / (twin.concentration + n) for n in (len(mine), visits)) / 2.0
        share = np.array([np.mean([sample.next_state == one for sample in mine]) for one in following])
        row = np.maximum(regression.rows @ context + missing * (share - 1.0 / len(following)), 0.0)
        row /= row.sum()
    free = twin.own_share * kappa
    return Look(loss, (1.0 - kappa) * row + (kappa - free) / len(following), False, interchangeable=True, free=free)


class NaiveRidge:
    """The learner, and its one open episode: ``begin``, then ``choices`` and ``observe`` by turns.

    ``explore`` and ``fade`` make it epsilon-greedy, ``bonus`` optimistic about the next step. Draws, all from
    ``rng``: for each new plan of :func:`drawn` a normal per triple and then one per pair; for each step that may
    explore a uniform, and one more if it does.
    """

    def __init__(
        self,
        support: Support,
        size: int,
        *,
        loss_floor: float,
        exploration: Exploration,
        factor: float = 2.0,
        ceiling: float = math.inf,
        regularization: float = 1.0,
        prior_visits: float | None = None,
        explore: float = 0.0,
        fade: float = 0.0,
        draws: bool = False,
        bonus: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.support, self.size, self.loss_floor, self.exploration = support, size, loss_floor, exploration
        self.factor, self.ceiling = factor, ceiling
        centre = np.full((size, size), 1.0 / size)
        pooled = regularization if prior_visits is None else prior_visits / size
        self.prior = regularization * (np.eye(size) - centre) + pooled * centre
        self.explore, self.fade, self.draws, self.bonus = explore, fade, draws, bonus
        self.rng = np.random.default_rng(0) if rng is None else rng
        self.data: list[Sample] = []
        self.logged = 0
        """how many of these others have chosen"""
        self.drawn_to, self.drawn_by, self.own_share, self.dispersion = 0.0, 0.0, 1.0, 1.0
        self.concentration = 2.0
        self.episodes = 0
        self.closest = math.inf
        """how close a pair came to the border of being known, relatively"""
        self.values = np.zeros(support.states + 1)
        self.noise = Noise(np.zeros(0), np.zeros(0))
        self.pair_models: list[Look] | None = None
        self._determinants: list[float] = []
        self._widths: list[float] = []
        self._regressions: dict[int, Regression] = {}

    def begin(self, context: ArrayLike) -> None:
        self.context = np.array(context, dtype=np.float64)
        self.episodes += 1
        self.pair_models = None
        self.own_share = 1.0 - self.logged / len(self.data) if self.data else 1.0
        self.drawn_to, visits = shrinkage([(sample.pair, sample.loss) for sample in self.data])
        self.dispersion = dispersion([(sample.pair, sample.loss) for sample in self.data])
        self.concentration = concentration(self.support, self.data)
        self.drawn_by = self.own_share * visits

    def learn(self, context: ArrayLike, step: Step) -> None:
        """From a step that others have chosen."""
        pair = self.support.pair(step.state, step.action)
        self.data.append(Sample(np.array(context, dtype=np.float64), pair, step.loss, step.next_state))
        self._regressions.pop(pair, None)
        self.logged += 1

    def choices(self, state: int, *, closer: float) -> list[int]:
        """The actions that may be played: one, or all whose worth is within ``closer`` of the best."""
        if self.pair_models is None:
            self._plan()
        first, last = (int(self.support.pair_start[s]) for s in (state, state + 1))
        if self.explore > 0.0 and self.rng.random() < self.explore * self.episodes**-self.fade:
            return [int(self.support.pair_action[first + math.floor(self.rng.random() * (last - first))])]
        worth = [self.worth(pair) for pair in range(first, last)]
        if self.bonus > 0.0:
            planned = [first + k for k, w in enumerate(worth) if w <= min(worth) + closer]
            return sorted({one for pair in planned for one in self._optimistic_choices(first, last, pair, closer)})
        return [int(self.support.pair_action[first + k]) for k, w in enumerate(worth) if w <= min(worth) + closer]

    def worth(self, pair: int) -> float:
        """The backup of a pair in the plan that is held."""
        assert self.pair_models is not None
        look, values = self.pair_models[pair], self.values[next_states(self.support, pair)]
        best = look.free * float(values.min()) if look.free > 0.0 else 0.0
        return self.loss(pair) + float(look.row @ values) + best

    def _optimistic_choices(self, first: int, last: int, planned: int, closer: float) -> list[int]:
        """The actions whose worth less the bonus may be the least, where the plan says ``planned``."""
        assert self.pair_models is not None
        visits = min(1.0 / self._widths[planned] ** 2, self.episodes)
        worth = []
        for pair in range(first, last):
            row, width, loss = self.pair_models[pair].row, self._widths[pair], self.loss(pair)
            values = self.values[next_states(self.support, pair)]
            if self.pair_models[pair].free > 0.0:
                row = row + self.pair_models[pair].free * (np.arange(len(values)) == np.argmin(values))
            variance = self.dispersion * loss * (1.0 - loss) + max(row @ values**2 - (row @ values) ** 2, 0.0)
            every = self.values[self.support.next_state[self.support.row(pair)]]  # the goal among them
            variance += (every.max() - every.min()) ** 2 * (width**2 + 0.01)
            reach = math.log(1.0 + visits * width**2)
            bonus = self.own_share * self.bonus * width * math.sqrt(reach * variance)
            worth.append(self.worth(pair) - bonus)
        return [int(self.support.pair_action[first + k]) for k, w in enumerate(worth) if w <= min(worth) + closer]

    def _left_plan(self, state: int, pair: int, *, closer: float = 1e-6) -> float | None:
        """Whether a step that is optimistic ends its interval: infinity if it is not the plan's, 1 where a tie leaves
        open what the plan's is, else None."""
        worth = [self.worth(one) for one in range(*(int(self.support.pair_start[s]) for s in (state, state + 1)))]
        if self.worth(pair) > min(worth) + closer:
            return math.inf
        return 1.0 if sum(w <= min(worth) + closer for w in worth) > 1 else None

    def loss(self, pair: int) -> float:
        """The loss of a pair in the plan that is held: in [floor, 1]; where there is a bonus it was shrunk before."""
        assert self.pair_models is not None
        weight = self.drawn_by * self._widths[pair] ** 2 if self.bonus > 0.0 else 0.0
        loss = self.pair_models[pair].loss
        if loss > self.drawn_to and not self.pair_models[pair].interchangeable:
            loss = (loss + weight * self.drawn_to) / (1.0 + weight)
        return max(self.loss_floor, min(1.0, loss))

    def observe(self, step: Step) -> float:
        """Learn. Returns how much the determinant of the pair has grown since the plan, relative to the factor, or
        infinity at the goal, or 0 for a known pair: from 1 on the interval ends."""
        assert self.pair_models is not None
        pair = self.support.pair(step.state, step.action)
        left = self._left_plan(step.state, pair) if self.bonus > 0.0 else None
        self.data.append(Sample(self.context, pair, step.loss, step.next_state))
        self._regressions.pop(pair, None)
        if step.next_state == self.support.states:
            return math.inf
        if left is not None:
            return left
        visits = sum(sample.pair == pair for sample in self.data)
        if self.pair_models[pair].interchangeable and visits in {2**k for k in range(30)}:
            return math.inf
        if self.pair_models[pair].known:
            return 0.0
        return float(np.linalg.det(self.regression(pair).gram)) / self._determinants[pair] / self.factor

    def end_interval(self) -> None:
        self.pair_models = None

    def regression(self, pair: int) -> Regression:
        """From all data of a pair; it is kept until there is more."""
        if pair not in self._regressions:
            mine = [sample for sample in self.data if sample.pair == pair]
            following = next_states(self.support, pair)
            contexts = np.array([sample.context for sample in mine]).reshape(len(mine), self.size)
            landed = np.array([following == sample.next_state for sample in mine]).reshape(len(mine), len(following))
            gram = self.prior + contexts.T @ contexts
            losses = np.linalg.solve(gram, contexts.T @ np.array([sample.loss for sample in mine]))
            rows = np.linalg.solve(gram, contexts.T @ landed).T
            nearest = projected(np.ascontiguousarray(rows), gram, stochastic=is_stochastic(self.support, pair))
            self._regressions[pair] = Regression(gram, losses, nearest)
        return self._regressions[pair]

    def _plan(self) -> None:
        pairs = range(self.support.pairs)
        if self.draws:
            self.noise = Noise(
                self.rng.standard_normal(self.support.triples), self.rng.standard_normal(self.support.pairs)
            )
        self.pair_models = [
            filled(self, pair)
            if self.bonus > 0.0 and are_interchangeable(self.support, pair)
            else self.exploration(self, pair)
            for pair in pairs
        ]
        inverses = [np.linalg.inv(self.regression(pair).gram) for pair in pairs]
        self._widths = [math.sqrt(self.context @ inverse @ self.context) for inverse in inverses]
        self._determinants = [float(np.linalg.det(self.regression(pair).gram)) for pair in pairs]
        # What leads to the best next state leads to any, by choice.
        rows = [self._rows(pair) for pair in pairs]
        self.values = best_of_all_policies(
            np.cumsum([0, *(len(one) for one in rows)])[self.support.pair_start],
            [self.loss(pair) for pair in pairs for _ in rows[pair]],
            [row for one in rows for row in one],
            ceiling=self.ceiling,
        )

    def _rows(self, pair: int) -> list[dict[int, float]]:
        """The rows that a pair may have, by next state."""
        assert self.pair_models is not None
        look, following = self.pair_models[pair], next_states(self.support, pair).tolist()
        if look.free == 0.0:
            return [dict(zip(following, look.row.tolist(), strict=True))]
        free = [look.row + look.free * (np.arange(len(following)) == k) for k in range(len(following))]
        return [dict(zip(following, row.tolist(), strict=True)) for row in free]


def best_of_all_policies(
    pair_start: NDArray[np.int64], losses: list[float], rows: list[dict[int, float]], *, ceiling: float = math.inf
) -> Floats:
    """[S + 1] the optimal values, 0 at the goal: the least of all policies, each of them solved as a linear system.

    A ceiling is one more choice in each state: pay it, and be at the goal. Without one, :class:`OutOfReach` where no
    policy leads from every state to the goal.
    """
    states = len(pair_start) - 1
    matrix = np.zeros((len(losses) + 1, states))  # the last row: the ceiling
    for pair, row in enumerate(rows):
        matrix[pair, list(row)] = list(row.values())
    worth = np.array([*losses, ceiling])
    stop = [len(losses)] if math.isfinite(ceiling) else []
    choices = [[*range(int(pair_start[s]), int(pair_start[s + 1])), *stop] for s in range(states)]
    policies = np.array(list(itertools.product(*choices)))
    chains = matrix[policies]
    proper = np.abs(np.linalg.eigvals(chains)).max(axis=1) < 1.0 - 1e-12
    if not proper.any():
        raise OutOfReach
    values = np.linalg.solve(np.eye(states) - chains[proper], worth[policies[proper]][..., None])[..., 0]
    return np.append(values.min(axis=0), 0.0)
