"""Six context-free learners as their definitions have them, to be read beside the papers. Slow and obvious.

Each has ``begin()``, ``act(state)`` (which makes the plan if one is due) and ``observe(state, action, loss,
next_state)``. ``data`` holds the counts, ``policy`` [S] the pair of each state under the present plan, ``intervals``
the number of plans that the open episode began to follow. Value iteration is cold and as exact as floats allow (EB-SSP
and ULCVI iterate as they are defined). The formulas stand in :mod:`tests.reference.tabular_sets`.
"""

from __future__ import annotations

import math

import numpy as np

from tests.reference.tabular_sets import (
    Bonused,
    Data,
    Declared,
    Floats,
    Optimum,
    Stage,
    attempt_lengths,
    bernstein_row,
    fewest_visits,
    hoeffding_radius,
    known_threshold,
    l1_rows,
    optimistic_loss,
    optimum,
    uc_radius,
    ulcvi_horizon,
    ulcvi_tables,
    visgo,
)


def optimistic_losses(given: Declared, data: Data) -> Floats:
    return np.array([optimistic_loss(given, data, pair) for pair in range(given.support.pairs)])


class NaiveUCSSP:
    """UC-SSP (Tarbouriech et al. 2020): attempts of bounded length, the first with losses, later ones with 1."""

    def __init__(self, given: Declared) -> None:
        self.given, self.data = given, Data()
        self.episode = self.steps = self.late_attempts = self.intervals = 0
        self.attempt = -1
        self.due = True
        self.plan: Optimum

    @property
    def policy(self) -> list[int]:
        return self.plan.policy

    def begin(self) -> None:
        self.episode += 1
        self.attempt, self.intervals, self.due = -1, 0, True

    def act(self, state: int) -> int:
        if self.due:
            self.start_attempt()
        return int(self.given.support.pair_action[self.policy[state]])

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        self.data.record(self.given.support.pair(state, action), loss, next_state)
        self.steps += 1
        self.made += 1
        self.due = self.made > self.length

    def start_attempt(self) -> None:
        self.attempt += 1
        self.intervals += 1
        self.late_attempts += self.attempt > 0
        self.made, self.due = 0, False
        self.plan = self.planned(late=self.attempt > 0)
        self.gamma = 1.0 / math.sqrt(self.late_attempts if self.attempt > 0 else self.episode)
        self.length = attempt_lengths(self.plan.rows[self.policy], self.gamma)[0]

    def planned(self, *, late: bool) -> Optimum:
        given, data = self.given, self.data
        losses = np.ones(given.support.pairs) if late else optimistic_losses(given, data)
        radii = [uc_radius(given, data.visits[pair], pair) for pair in range(given.support.pairs)]
        return optimum(given, losses, l1_rows(given, data, radii))

    @property
    def precision(self) -> float:
        """To which the definition iterates now, in phase 0."""
        return self.given.floor / (2.0 * (1 + self.steps))


class NaiveHoeffdingSSP:
    """Hoeffding-SSP (Rosenberg et al. 2020, Algorithm 1): plans anew before each step of an unknown pair."""

    def __init__(self, given: Declared, *, loss_bound: float) -> None:
        self.given, self.loss_bound, self.data = given, loss_bound, Data()
        self.intervals = self.unknown_steps = 0
        self.fresh, self.due = False, True
        self.plan: Optimum
        self.policy: list[int]

    def begin(self) -> None:
        self.intervals = self.unknown_steps = 0
        self.due = True

    def known(self, pair: int) -> bool:
        return self.data.visits[pair] > known_threshold(self.given, self.loss_bound, pair)

    def act(self, state: int) -> int:
        if self.due or (not self.fresh and not self.known(self.policy[state])):
            self.plan = self.planned()
            self.policy = self.plan.policy
            self.intervals += 1
            self.fresh, self.due = True, False
        return int(self.given.support.pair_action[self.policy[state]])

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        pair = self.given.support.pair(state, action)
        self.unknown_steps += not self.known(pair)
        self.data.record(pair, loss, next_state)
        self.fresh = False

    def planned(self) -> Optimum:
        given, data = self.given, self.data
        radii = [hoeffding_radius(given, data.visits[pair], pair) for pair in range(given.support.pairs)]
        return optimum(given, optimistic_losses(given, data), l1_rows(given, data, radii))


class NaiveBernsteinSSP:
    """Bernstein-SSP (Rosenberg et al. 2020, Algorithm 2): a new epoch when the visits of a pair have doubled."""

    def __init__(self, given: Declared) -> None:
        self.given, self.data = given, Data()
        self.intervals, self.due = 0, True
        self.plan: Optimum
        self.policy: list[int]

    def begin(self) -> None:
        self.intervals = 0

    def act(self, state: int) -> int:
        if self.due or self.intervals == 0:
            self.intervals += 1
        if self.due:
            self.plan = self.planned()
            self.policy = self.plan.policy
            self.before = self.data.visits.copy()
            self.due = False
        return int(self.given.support.pair_action[self.policy[state]])

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        pair = self.given.support.pair(state, action)
        self.data.record(pair, loss, next_state)
        if self.data.visits[pair] - self.before[pair] >= max(1, self.before[pair]):
            self.due = True

    def planned(self) -> Optimum:
        rows = np.array([bernstein_row(self.given, self.data, pair) for pair in range(self.given.support.pairs)])
        return optimum(self.given, optimistic_losses(self.given, self.data), lambda _: rows)


class NaiveEBSSP:
    """EB-SSP (Tarbouriech et al. 2021): VISGO each time the visits of a pair reach a power of two."""

    def __init__(self, given: Declared, *, loss_bound: float | None = None) -> None:
        self.given, self.data = given, Data()
        self.doubling, self.loss_bound = loss_bound is None, 1.0 if loss_bound is None else loss_bound
        self.held: dict[int, Data] = {}
        self.triggers = self.intervals = 0
        self.due = True
        self.plan: Bonused
        self.policy: list[int]

    def begin(self) -> None:
        self.intervals = 0

    def act(self, state: int) -> int:
        if self.due or self.intervals == 0:
            self.intervals += 1
        if self.due:
            self.plan = self.planned()
            pairs_of = self.given.pairs_of
            self.policy = [
                fewest_visits(pairs_of(s), self.plan.backups, self.data) for s in range(self.given.support.states)
            ]
            self.due = False
        return int(self.given.support.pair_action[self.policy[state]])

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        pair = self.given.support.pair(state, action)
        self.data.record(pair, loss, next_state)
        if math.log2(self.data.visits[pair]).is_integer():
            self.held[pair] = self.data.of_pair(pair)
            self.triggers += 1
            self.due = True

    @property
    def precision(self) -> float:
        return max(2.0**-self.triggers / self.given.support.pairs, 1e-9 * self.loss_bound)

    def planned(self) -> Bonused:
        plan = visgo(self.given, self.held, self.loss_bound, self.precision)
        while self.doubling and plan.values.max() > self.loss_bound:
            while self.loss_bound < plan.values.max():
                self.loss_bound *= 2.0
            plan = visgo(self.given, self.held, self.loss_bound, self.precision)
        return plan


class NaiveULCVI:
    """ULCVI (Cohen et al. 2021): intervals of H steps, with lower and upper values for each stage."""

    def __init__(self, given: Declared, *, loss_bound: float, time_bound: float, episodes: int) -> None:
        self.given, self.data, self.loss_bound = given, Data(), loss_bound
        self.horizon = ulcvi_horizon(time_bound, episodes)
        self.intervals, self.stage = 0, self.horizon
        self.stages: list[Stage] | None = None

    @property
    def policy(self) -> list[int]:
        """Of the present stage."""
        assert self.stages is not None
        return self.stages[self.stage].policy

    def begin(self) -> None:
        self.intervals, self.stage = 0, self.horizon

    def act(self, state: int) -> int:
        if self.stage == self.horizon:
            self.stage = 0
            self.intervals += 1
            if self.stages is None or self.outdated():
                self.stages = ulcvi_tables(self.given, self.data, self.loss_bound, self.horizon)
                self.planned_with = self.data.visits.copy()
        return int(self.given.support.pair_action[self.policy[state]])

    def outdated(self) -> bool:
        return any(n >= max(1, 2 * self.planned_with[pair]) for pair, n in self.data.visits.items())

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        self.data.record(self.given.support.pair(state, action), loss, next_state)
        self.stage += 1


class NaivePSRLSSP:
    """PSRL-SSP (Jafarnia-Jahromi et al. 2021): plays the best policy of a draw from the posterior."""

    def __init__(
        self, given: Declared, rng: np.random.Generator, *, prior: float = 0.1, value_cap: float = 1000.0
    ) -> None:
        self.given, self.rng, self.prior, self.value_cap, self.data = given, rng, prior, value_cap, Data()
        self.intervals, self.due = 0, True
        self.goals_now = self.goals_before = 0
        self.plan: Optimum
        self.policy: list[int]

    def begin(self) -> None:
        self.intervals = 0

    def act(self, state: int) -> int:
        if self.due or self.intervals == 0:
            self.intervals += 1
        if self.due:
            self.losses, self.rows = self.drawn()
            self.plan = optimum(self.given, self.losses, lambda _: self.rows, cap=self.value_cap)
            self.policy = self.plan.policy
            self.before = self.data.visits.copy()
            self.due = False
        return int(self.given.support.pair_action[self.policy[state]])

    def observe(self, state: int, action: int, loss: float, next_state: int) -> None:
        pair = self.given.support.pair(state, action)
        self.data.record(pair, loss, next_state)
        self.goals_now += next_state == self.given.support.states
        if self.data.visits[pair] >= max(1, 2 * self.before[pair]) or self.goals_now > self.goals_before:
            self.due = True
            self.goals_now, self.goals_before = 0, self.goals_now

    def posterior(self, pair: int) -> tuple[list[int], list[float]]:
        """(the next states of a pair, their Dirichlet parameters)."""
        row = [int(following) for following in self.given.support.next_state[self.given.support.row(pair)]]
        return row, [self.prior + self.data.following[pair, following] for following in row]

    def drawn(self) -> tuple[Floats, Floats]:
        """(losses [N], rows [N, S]) of one draw, in the order of the definition."""
        pairs, states = self.given.support.pairs, self.given.support.states
        losses, rows = np.empty(pairs), np.zeros((pairs, states + 1))
        for pair in range(pairs):
            losses[pair] = self._loss(pair)
            row, parameters = self.posterior(pair)
            weights = [self.rng.standard_gamma(parameter) for parameter in parameters]
            if sum(weights) == 0.0:
                weights[-1] = 1.0
            rows[pair, row] = np.array(weights) / sum(weights)
        return losses, rows[:, :-1]

    def _loss(self, pair: int) -> float:
        given, n = self.given, self.data.visits[pair]
        if given.known_losses is not None:
            return given.known_losses[pair] + given.added_loss
        mean = self.data.mean_loss(pair) if n else 0.5
        drawn = mean + given.scale / 2.0 / math.sqrt(max(1, n)) * self.rng.standard_normal()
        return min(1.0, max(given.loss_floor, drawn)) + given.added_loss

    def mean_plan(self) -> Optimum:
        """The plan of the posterior mean."""
        given = self.given
        rows, losses = np.zeros((given.support.pairs, given.support.states + 1)), np.empty(given.support.pairs)
        for pair in range(given.support.pairs):
            row, parameters = self.posterior(pair)
            rows[pair, row] = np.array(parameters) / sum(parameters)
            mean = self.data.mean_loss(pair) if self.data.visits[pair] else 0.5
            losses[pair] = min(1.0, max(given.loss_floor, mean)) + given.added_loss
        if given.known_losses is not None:
            losses = np.array(given.known_losses) + given.added_loss
        return optimum(given, losses, lambda _: rows[:, :-1], cap=self.value_cap)
