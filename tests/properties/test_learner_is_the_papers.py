"""The learner against Algorithm 1 as it is printed, written down without one thought for speed.

Both are fed the same steps, those of the learner's own actions: where two actions are equally good each may have its
own. Data is drawn without a model behind it (any next state of the support, any loss), so nothing about the truth is
taken for granted.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import paper, printed, scaled
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from tests.reference.lr_cssp import NaiveLRCSSP, Sample
from tests.reference.optimism import next_states
from tests.support.strategies import contexts, examples, ssps

TOLERANCE = 1e-9
"""of value iteration, relative to the loss floor: both are within 3 of it of the exact values"""


@dataclass(frozen=True)
class Declared:
    """What both learners are told."""

    loss_floor: float = 0.1
    loss_bound: float | None = None
    delta: float = 0.1
    widths: Literal["paper", "printed"] = "paper"
    scale: float = 1.0
    regularization: float = 1.0
    episodes: int | None = None
    forget: bool = False

    def learner(self, support: Support, size: int) -> LRCSSP:
        rule = paper() if self.widths == "paper" else printed()
        return LRCSSP(
            support, size, delta=self.delta, loss_floor=self.loss_floor, loss_bound=self.loss_bound,
            widths=scaled(rule, by=self.scale),
            options=LearnerOptions(
                regularization=self.regularization, episodes=self.episodes, forget=self.forget, tolerance=TOLERANCE,
            ),
        )  # fmt: skip

    def naive(self, support: Support, size: int) -> NaiveLRCSSP:
        return NaiveLRCSSP(
            support, size, delta=self.delta, loss_floor=self.loss_floor, loss_bound=self.loss_bound,
            widths=self.widths, scale=self.scale, regularization=self.regularization, episodes=self.episodes,
            keep=not self.forget, tolerance=TOLERANCE,
        )  # fmt: skip


AS_PROVEN = Declared(loss_bound=2.0)
NARROW = Declared(loss_bound=2.0, scale=0.05)
DOUBLING = Declared(loss_floor=0.3, scale=0.01, regularization=0.5)
KNOWN = Declared(loss_floor=0.95, loss_bound=1.0, scale=1e-3, regularization=500.0, delta=0.9)
SETTINGS = {
    "as proven": AS_PROVEN,
    "as printed": replace(AS_PROVEN, widths="printed", scale=0.05),
    "narrow": NARROW,
    "narrower": replace(NARROW, scale=0.01, regularization=0.5),
    "doubling": DOUBLING,
    "forgetting": replace(DOUBLING, forget=True),
    "zero losses": Declared(loss_floor=0.0, scale=0.01, episodes=20_000),
    "known": KNOWN,
}


class Twins:
    """The learner and its naive twin, compared at every step. ``seen`` counts what has happened."""

    def __init__(self, given: Declared, support: Support, size: int) -> None:
        self.support = support
        self.learner, self.naive = given.learner(support, size), given.naive(support, size)
        self.seen: Counter[str] = Counter()
        self.episode: LearnerEpisode

    def begin(self, context: NDArray[np.float64]) -> None:
        self.episode = self.learner.begin(context)
        self.naive.begin(context)

    def act(self, state: int) -> int | None:
        """The action, or None where a comparison is closer than the values are precise: from there on both may
        rightly go different ways."""
        before, data = self.naive.loss_bound, len(self.naive.data)
        action = self.episode.act(state)
        self.naive.act(state)
        plan = self.episode.plan
        assert plan is not None
        if self._close_to_a_doubling():
            return None
        np.testing.assert_allclose(plan.values, self.naive.values, rtol=1e-8)
        assert self.episode.interval == self.naive.interval
        assert plan.loss_bound == self.naive.loss_bound
        if self.naive.loss_bound > before:
            self.seen["plans above the bound"] += 1
            self.seen["steps forgotten"] += data - len(self.naive.data)
        for pair in range(self.support.pairs):
            if abs(self._known_width(pair) - 1.0) < 1e-9:
                return None
            assert bool(plan.known[pair]) == self.naive.known(pair)
        return action

    def observe(self, step: Step) -> None:
        pair = self.support.pair(step.state, step.action)
        self.seen["known steps" if self.naive.known(pair) else "unknown steps"] += 1
        before = self.naive.loss_bound
        self.episode.observe(step)
        self.naive.observe(step)
        assert self.learner.loss_bound == self.naive.loss_bound
        self.seen["intervals that lost too much"] += int(self.naive.loss_bound > before)
        if step.next_state != self.support.states:
            assert self.episode.interval == self.naive.interval
        self._compare_estimates(pair)

    def _compare_estimates(self, pair: int) -> None:
        estimate, theirs = self.learner.estimate, self.naive.estimate(pair)
        count = len(next_states(self.support, pair))  # the goal stands last in a row
        assert self.learner.statistics.visits[pair] == theirs.visits
        np.testing.assert_allclose(estimate.gram[pair], theirs.gram, rtol=1e-12)
        np.testing.assert_allclose(estimate.losses[pair], theirs.losses, atol=1e-10)
        np.testing.assert_allclose(estimate.rows[self.support.row(pair)][:count], theirs.rows, atol=1e-10)

    def _known_width(self, pair: int) -> float:
        """Both sides of eq. (ineq-known), divided."""
        plan, naive = self.naive._plan, self.naive
        assert plan is not None
        needed = max(plan.betas[pair], math.sqrt(math.log(4.0 * naive.interval / naive.delta)))
        return 10.0 * naive.loss_bound * needed * plan.widths[pair] / naive.loss_floor

    def _close_to_a_doubling(self) -> bool:
        largest = float(self.naive.values.max())
        return self.naive.doubling and abs(largest / 2.0 ** round(math.log2(largest)) - 1.0) < 1e-7


def run(twins: Twins, steps: int, seed: int, *, losses: tuple[float, float] = (0.0, 1.0)) -> Twins:
    """So many steps with drawn contexts, next states and losses; corners, and losses of 0 and 1, are frequent."""
    rng, support = np.random.default_rng(seed), twins.support
    state = support.states
    for _ in range(steps):
        if state == support.states:
            size = twins.naive.size
            context = rng.dirichlet(np.ones(size)) if rng.random() < 0.7 else np.eye(size)[rng.integers(size)]
            twins.begin(context)
            state = int(rng.integers(support.states))
        action = twins.act(state)
        if action is None:
            twins.seen["close calls"] += 1
            return twins
        row = support.next_state[support.row(support.pair(state, action))]
        loss = float(np.clip(rng.uniform(losses[0] - 0.2, losses[1] + 0.2), *losses))
        step = Step(state, action, loss, int(rng.choice(row)))
        twins.observe(step)
        state = step.next_state
    return twins


supports = ssps(proper=True, most_states=4, most_actions=2).map(lambda ssp: ssp.support)


@pytest.mark.parametrize("name", SETTINGS)
@examples(8)
@given(support=supports, size=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_the_learner_is_algorithm_one(name: str, support: Support, size: int, seed: int) -> None:
    run(Twins(SETTINGS[name], support, size), 25, seed)


@examples(15)
@given(st.data())
def test_the_learner_is_algorithm_one_for_data_drawn_with_ties(data: st.DataObject) -> None:
    """Quarters for contexts and losses: equal estimates, equal values and projections on edges are frequent."""
    support, size = data.draw(supports), data.draw(st.integers(1, 3))
    twins = Twins(SETTINGS[data.draw(st.sampled_from(sorted(SETTINGS)))], support, size)
    state = support.states
    for _ in range(data.draw(st.integers(5, 20))):
        if state == support.states:
            twins.begin(data.draw(contexts(size)))
            state = data.draw(st.integers(0, support.states - 1))
        action = twins.act(state)
        if action is None:
            return
        row = support.next_state[support.row(support.pair(state, action))]
        step = Step(
            state, action, data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])), data.draw(st.sampled_from([*row]))
        )
        twins.observe(step._replace(next_state=int(step.next_state)))
        state = int(step.next_state)


# State 0 may stay, state 1 too; both may go over to the other one and to the goal.
WAY = Support.full(2, 2)
# Two states that lead to one another, and to the goal if luck has it.
ROUND = Support.from_pairs([{0: [1]}, {0: [0, 2]}])


def test_plans_above_the_bound_double_it_alike() -> None:
    twins = run(Twins(DOUBLING, WAY, 2), 120, 3)
    assert twins.seen["plans above the bound"] >= 1
    assert twins.learner.loss_bound >= 2.0
    assert twins.seen["steps forgotten"] == twins.seen["close calls"] == 0


def test_plans_above_the_bound_make_both_forget() -> None:
    twins = run(Twins(replace(DOUBLING, forget=True), WAY, 2), 120, 3)
    assert twins.seen["plans above the bound"] >= 1
    assert twins.seen["steps forgotten"] >= 10
    assert twins.learner.statistics.visits.sum() == 120 - twins.seen["steps forgotten"]
    assert twins.seen["close calls"] == 0


def test_intervals_that_lose_too_much_double_it_alike() -> None:
    # All is known: 10 B sqrt(log(4 m / 0.5)) / sqrt(1e5) < 0.3 for B = 1, 2 and 4. 48 log(8) = 99.8: the first time
    # at step 100.
    given = Declared(loss_floor=0.9, scale=1e-6, regularization=1e5, delta=0.5)
    # Both may lead to the goal, and 1e5 zeros of the ridge say that they do: no plan is above the bound.
    twins = Twins(given, Support.from_pairs([{0: [1, 2]}, {0: [0, 2]}]), 1)
    twins.begin(np.array([1.0]))
    for count in range(400):
        state = count % 2
        assert twins.act(state) == 0
        twins.observe(Step(state, 0, 1.0, 1 - state))
    # then 96 log(16) = 266.2 in the second interval: at step 100 + 267
    assert twins.seen["intervals that lost too much"] == 2
    assert (twins.learner.loss_bound, twins.learner.doublings, twins.learner.intervals) == (4.0, 2, 3)
    assert twins.seen["known steps"] == 400


def test_pairs_become_known_and_unknown_alike() -> None:
    """Data makes pairs known; the number of the interval, which stands in the test, makes them unknown again."""
    twins = run(Twins(KNOWN, ROUND, 2), 250, 1, losses=(0.9, 1.0))
    assert twins.seen["known steps"] >= 50
    assert twins.seen["unknown steps"] >= 50
    assert twins.seen["close calls"] == 0
    assert 50 < twins.learner.intervals < 250


def test_the_variant_for_zero_losses_agrees_where_it_matters() -> None:
    # eps = 2 (4 * 2 / 20000)^(1/3) = 0.147361
    twins = run(Twins(SETTINGS["zero losses"], WAY, 2), 120, 5)
    assert [twins.learner.added_loss, twins.naive.extra_loss] == pytest.approx([0.147361, 0.147361], abs=1e-6)
    assert twins.naive.values.max() > 2.0 * twins.learner.added_loss
    assert twins.seen["plans above the bound"] + twins.seen["unknown steps"] >= 120


def test_a_long_run_does_not_drift_apart() -> None:
    """1100 visits of one pair, whose inverse is brought up to date by each and computed anew now and then."""
    support = Support.from_pairs([{0: [0, 1]}])
    learner, naive = NARROW.learner(support, 3), NARROW.naive(support, 3)
    rng = np.random.default_rng(2)
    for _ in range(1100):
        context, loss, following = rng.dirichlet(np.ones(3)), float(rng.random()), int(rng.integers(2))
        episode = learner.begin(context)
        episode.observe(Step(0, episode.act(0), loss, following))
        naive.data.append(Sample(context, 0, loss, following))
    np.testing.assert_allclose(learner.estimate.losses[0], naive.estimate(0).losses, atol=1e-10)
    np.testing.assert_allclose(learner.estimate.rows[:1], naive.estimate(0).rows, atol=1e-10)
    np.testing.assert_allclose(learner.statistics.inverse_gram[0] @ naive.estimate(0).gram, np.eye(3), atol=1e-10)
