"""A context-free learner and its naive twin, fed with the same steps and compared at each of them.

The learner stops value iteration at a tolerance and starts it warm; the twin is cold and exact. So values may differ by
what the tolerance allows, and the learner may choose any pair whose exact backup is as close to the best. Where both
may rightly go different ways (a choice or the length of an attempt is that close) the twin follows the learner.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.baselines import TabularLearner
from goalbound.learners.episode import LearnerEpisode
from goalbound.models import SSP, Step
from tests.reference.tabular import (
    NaiveBernsteinSSP,
    NaiveEBSSP,
    NaiveHoeffdingSSP,
    NaivePSRLSSP,
    NaiveUCSSP,
    NaiveULCVI,
)
from tests.reference.tabular_sets import Bonused, Declared, Optimum, attempt_lengths, l1_rows, uc_radius

Naive = NaiveUCSSP | NaiveHoeffdingSSP | NaiveBernsteinSSP | NaiveEBSSP | NaiveULCVI | NaivePSRLSSP

ROUNDING = 1e-9
"""between two ways to sum the same numbers, relative to the largest value: very generous"""


class Allowance(NamedTuple):
    """What the tolerance allows, relative to the largest exact value."""

    values: float
    """how far shown values may be from the exact ones"""
    choice: float
    """how far the exact backup of a choice may be above the best"""


def room_of(naive: Naive, tolerance: float) -> Allowance:
    """For value iteration to a change r where no loss is below f: v* (f - r) / f <= v <= v* (f + r) / f. What is shown
    may be v f / (f + r), and the pair that is best against v is off by 2 |v - v*|, and r if found within a sweep.

    r / f is the tolerance; for UC-SSP it is 1 / (2 t).
    """
    share = naive.precision / naive.given.floor if isinstance(naive, NaiveUCSSP) else tolerance
    return Allowance(2.0 * share + ROUNDING, 4.0 * share + ROUNDING)


class Twins:
    """Both learners. ``seen`` counts what has happened."""

    def __init__(self, learner: TabularLearner, naive: Naive, *, tolerance: float) -> None:
        self.learner, self.naive, self.given = learner, naive, naive.given
        self.tolerance = tolerance
        self.seen: Counter[str] = Counter()
        self.followed = 0
        self.lengths = (0, 0)
        self.compared: object = None
        self.episode: LearnerEpisode

    @property
    def room(self) -> Allowance:
        return room_of(self.naive, self.tolerance)

    def begin(self) -> None:
        self.episode = self.learner.begin([1.0])
        self.naive.begin()
        self.followed = 0

    def act(self, state: int) -> int:
        action = self.episode.act(state)
        if isinstance(self.naive, NaiveUCSSP):
            self._follow(self.naive, began=self.episode.intervals > self.followed)
        self.naive.act(state)
        self.followed = self.episode.intervals
        assert self.followed == self.naive.intervals
        self._compare_plans()
        chosen = self.given.support.pair(state, action)
        fitting = self._fitting(state)
        assert chosen in fitting, (chosen, fitting)
        self.seen["clear choices" if len(fitting) == 1 else "close choices"] += len(self.given.pairs_of(state)) > 1
        return action

    def observe(self, step: Step) -> None:
        unknown = self.naive.unknown_steps if isinstance(self.naive, NaiveHoeffdingSSP) else 0
        self.episode.observe(step)
        self.naive.observe(*step)
        visits = [self.naive.data.visits[pair] for pair in range(self.given.support.pairs)]
        np.testing.assert_array_equal(self.learner.visits, visits)
        self.seen["steps"] += 1
        if isinstance(self.naive, NaiveHoeffdingSSP):
            assert self.episode.unknown_steps == self.naive.unknown_steps
            self.seen["unknown steps"] += self.naive.unknown_steps - unknown
        else:
            assert self.episode.unknown_steps == 0

    def _follow(self, naive: NaiveUCSSP, *, began: bool) -> None:
        """An attempt ends after more than H steps; H is compared wherever the exact values determine it."""
        if self.followed == 0:
            assert began
        elif naive.made > self.lengths[1]:
            assert began, (naive.made, self.lengths)
            self.seen["attempts that were too long"] += 1
        elif naive.made <= self.lengths[0]:
            assert not began, (naive.made, self.lengths)
        naive.due = began

    def _compare_plans(self) -> None:
        """When a plan was just made: then the plan shown is that plan, however one reads "looking"."""
        naive = self.naive
        plan = naive.stages if isinstance(naive, NaiveULCVI) else naive.plan
        if plan is self.compared:
            return
        self.compared = plan
        self.seen["plans"] += 1
        shown = self.learner.plan()
        if isinstance(naive, NaiveULCVI):
            assert naive.stages is not None
            self._compare_bonused(shown.values, naive.stages[0].low)
        elif isinstance(naive, NaiveEBSSP):
            assert self.learner.loss_bound == naive.loss_bound
            self._compare_bonused(shown.values, naive.plan)
            naive.policy = self._taken_over(shown.policy)
        elif isinstance(naive, NaiveUCSSP):
            self.lengths = possible_lengths(naive, self.room.choice)
            self.seen["lengths determined"] += self.lengths[0] == self.lengths[1]
            self.seen["long attempts"] += self.lengths[0] > 2
            self._compare_optima(shown.values, naive.planned(late=False))
        elif isinstance(naive, NaivePSRLSSP):
            self._compare_optima(shown.values, naive.mean_plan())
        else:
            self._compare_optima(shown.values, naive.plan)
            naive.policy = self._taken_over(shown.policy)

    def _compare_optima(self, shown: NDArray[np.float64], exact: Optimum) -> None:
        assert shown[-1] == 0.0
        assert (np.abs(shown - exact.values) <= self.room.values * exact.values).all(), (shown, exact.values)

    def _compare_bonused(self, shown: NDArray[np.float64], exact: Bonused) -> None:
        np.testing.assert_allclose(shown, exact.values, rtol=ROUNDING, atol=ROUNDING)
        self.seen["values above zero"] += exact.values.max() > 1e-3

    def _taken_over(self, actions: NDArray[np.int64]) -> list[int]:
        """The learner's policy, each choice of which was found to be as good as the tolerance asks."""
        pairs = [self.given.support.pair(state, int(action)) for state, action in enumerate(actions)]
        for state, pair in enumerate(pairs):
            assert pair in self._fitting(state), (state, pair)
        return pairs

    def _fitting(self, state: int) -> list[int]:
        """The pairs that may be played in a state under the present plan."""
        naive = self.naive
        if isinstance(naive, NaiveULCVI):
            assert naive.stages is not None
            stage = naive.stages[naive.stage]
            return close_to_least(self.given, stage.low, state, stage.policy[state])
        if isinstance(naive, NaiveEBSSP):
            return close_to_least(self.given, naive.plan, state, naive.policy[state])
        return close_to_best(self.given, naive.plan, state, self.room.choice)


def close_to_best(given: Declared, plan: Optimum, state: int, room: float) -> list[int]:
    """The pairs of a state whose backup is within the room of the best; pairs whose backup does not depend on the
    values (no mass stays) are exact, so of these only the first of the best is fitting."""
    pairs = given.pairs_of(state)
    best = min(plan.backups[pair] for pair in pairs)
    close = [pair for pair in pairs if plan.backups[pair] <= best + room * plan.values.max()]
    if not plan.rows[close].any():
        return [min(close, key=lambda pair: plan.backups[pair])]
    return close


def close_to_least(given: Declared, plan: Bonused, state: int, chosen: int) -> list[int]:
    """The pairs of a state whose backup is the least up to rounding. Backups that were cut at 0 are equal without
    rounding, so of these the rule for ties (``chosen``) decides."""
    room = ROUNDING * (1.0 + plan.values.max())
    pairs = given.pairs_of(state)
    best = min(plan.backups[pair] for pair in pairs)
    close = [pair for pair in pairs if plan.backups[pair] <= best + room]
    return [chosen] if all(plan.raw[pair] < -room for pair in close) else close


def possible_lengths(naive: NaiveUCSSP, room: float) -> tuple[int, int]:
    """The least and the largest H of UC-SSP that a plan within the tolerance may have: states whose values are close
    may lose mass in either order, and choices that are close may be made."""
    given, plan = naive.given, naive.plan
    apart = room * plan.values.max()
    policies = list(product(*(close_to_best(given, plan, s, room) for s in range(given.support.states))))
    radii = [uc_radius(given, naive.data.visits[pair], pair) for pair in range(given.support.pairs)]
    found: list[int] = []
    for order in permutations(range(given.support.states)):
        falling = [plan.values[state] for state in order]
        if any(later > earlier + apart for i, earlier in enumerate(falling) for later in falling[i + 1 :]):
            continue
        ranks = np.zeros(given.support.states + 1)
        ranks[list(order)] = np.arange(given.support.states, 0, -1)
        rows = l1_rows(given, naive.data, radii)(ranks)
        for policy in policies:
            found.extend(attempt_lengths(rows[list(policy)], naive.gamma, slack=1e-12))
    return min(found), max(found)


def run(twins: Twins, truth: SSP, steps: int, seed: int) -> Twins:
    """So many steps of the truth, with losses spread around its losses; an episode starts in any state."""
    rng, support = np.random.default_rng(seed), truth.support
    state = support.states
    for _ in range(steps):
        if state == support.states:
            twins.begin()
            state = int(rng.integers(support.states))
        step = drawn_step(truth, state, twins.act(state), rng)
        twins.observe(step)
        state = step.next_state
    return twins


def drawn_step(truth: SSP, state: int, action: int, rng: np.random.Generator) -> Step:
    """The loss is 1 with a probability, 0 without, or anything between with the same mean."""
    pair = truth.support.pair(state, action)
    row = truth.support.row(pair)
    mean = float(truth.losses[pair])
    even = mean + rng.uniform(-1.0, 1.0) * min(mean, 1.0 - mean)
    loss = even if rng.random() < 0.5 else float(rng.random() < mean)
    return Step(state, action, loss, int(rng.choice(truth.support.next_state[row], p=truth.probabilities[row])))
