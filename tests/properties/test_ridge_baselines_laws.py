"""The baselines by ridge regression against their naive twins, and laws that tie them to one another.

Both are fed the same steps, those of the learner's own actions; the data has no model behind it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.kwik import Kwik
from goalbound.learners.explore.local import Local
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.plan import Plan
from goalbound.models import Step, Support
from tests.reference import ridge_baselines as naive
from tests.reference.optimism import next_states
from tests.reference.ridge_baselines import NaiveRidge, OutOfReach
from tests.support.ridge import exploring
from tests.support.strategies import examples, ssps

FLOOR = 0.1
TOLERANCE = 1e-9
"""of value iteration, relative to the loss floor: values are within 3 of it of the exact ones, relatively"""
CLOSE = 1e-6
"""Two actions whose worth differs by less are a tie, and each learner may have its own."""

THRESHOLD, CEILING = 0.45, 30.0


@dataclass(frozen=True)
class Kind:
    """A learner, and how its twin looks at a pair."""

    exploration: ExplorationRule
    look: naive.Exploration
    factor: float = 2.0
    visits: float | None = None
    """of the prior; None: lambda I"""

    def learner(self, support: Support, size: int, seed: int) -> RidgeLearner:
        return exploring(
            self.exploration, support, size, loss_floor=FLOOR, tolerance=TOLERANCE, replan_factor=self.factor,
            prior_visits=self.visits,
            rng=np.random.default_rng(seed),
        )  # fmt: skip

    def twin(self, support: Support, size: int, seed: int) -> NaiveRidge:
        given = self.exploration
        return NaiveRidge(
            support, size, loss_floor=FLOOR, exploration=self.look, factor=self.factor, ceiling=given.ceiling,
            explore=getattr(given, "explore", 0.0), fade=getattr(given, "fade", 0.0), draws=given.name == "sampled",
            bonus=getattr(given, "bonus", 0.0), prior_visits=self.visits, rng=np.random.default_rng(seed),
        )  # fmt: skip


KINDS = {
    "greedy": Kind(Greedy(), naive.estimated),
    "greedy, at every step": Kind(Greedy(), naive.estimated, factor=1.0),
    "epsilon": Kind(Epsilon(explore=0.8, fade=0.3), naive.estimated),
    "sampled": Kind(Posterior(spread=0.5, ceiling=CEILING), naive.drawn(0.5)),
    "sampled by the variance": Kind(
        Posterior(spread=0.5, by_variance=True, ceiling=CEILING), naive.drawn(0.5, by_variance=True)
    ),
    "sampled widely, planning rarely": Kind(Posterior(spread=2.0, ceiling=CEILING), naive.drawn(2.0), factor=5.0),
    "local": Kind(Local(bonus=0.7), naive.estimated),
    "local, with a large bonus, at every step": Kind(Local(bonus=3.0), naive.estimated, factor=1.0),
    "greedy, pooled": Kind(Greedy(), naive.estimated, visits=0.5),
    "sampled by the variance, pooled": Kind(
        Posterior(spread=0.5, by_variance=True, ceiling=CEILING), naive.drawn(0.5, by_variance=True), visits=1.0
    ),
    "local, pooled": Kind(Local(bonus=0.7), naive.estimated, visits=1.0),
    "rmax": Kind(Kwik(threshold=THRESHOLD), naive.known_or_goal(THRESHOLD), factor=1.0),
}


class Twins:
    """A learner and its naive twin, compared at every step. ``seen`` counts what has happened."""

    def __init__(self, kind: Kind, support: Support, size: int, seed: int) -> None:
        self.support = support
        self.learner, self.twin = kind.learner(support, size, seed), kind.twin(support, size, seed)
        self.seen: Counter[str] = Counter()
        self.episode: LearnerEpisode

    def learn(self, context: NDArray[np.float64], step: Step) -> None:
        self.learner.learn(context, step)
        self.twin.learn(context, step)

    def begin(self, context: NDArray[np.float64]) -> None:
        self.episode = self.learner.begin(context)
        self.twin.begin(context)

    def act(self, state: int) -> int | None:
        """The action, or None where a pair is so close to being known that rounding decides, and where the estimate
        has no way to the goal."""
        try:
            choices = self.twin.choices(state, closer=CLOSE)
        except OutOfReach:
            return None
        action = self.episode.act(state)
        plan = self.episode.plan
        assert plan is not None
        if self.twin.closest < 1e-9:
            return None
        np.testing.assert_allclose(plan.values, self.twin.values, rtol=5e-9)
        self._compare_plan(plan)
        assert action in choices
        self.seen["clear choices" if len(choices) == 1 else "ties"] += 1
        return action

    def _compare_plan(self, plan: Plan) -> None:
        assert self.twin.pair_models is not None
        for pair, look in enumerate(self.twin.pair_models):
            assert plan.losses[pair] == pytest.approx(self.twin.loss(pair), abs=1e-9)
            count = len(next_states(self.support, pair))  # the goal stands last in a row
            more = plan.rows[self.support.row(pair)][:count] - look.row
            values = plan.values[next_states(self.support, pair)]
            if look.free > 0.0:  # it may lead to any of those that are best
                assert more.sum() == pytest.approx(look.free, abs=1e-9)
                more[values <= values.min() + CLOSE] = 0.0
            np.testing.assert_allclose(more, 0.0, atol=1e-9)
            assert bool(plan.known[pair]) == look.known

    def observe(self, step: Step) -> None:
        self.episode.observe(step)
        grown = self.twin.observe(step)
        ended = self.episode.plan is None
        if abs(grown - 1.0) > 1e-9:
            assert ended == (grown > 1.0)
            self.seen["intervals ended" if ended else "intervals kept"] += 1
        else:
            self.seen["determinants at the border"] += 1
        if ended:
            self.twin.end_interval()


def drawn_context(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Any, and a corner in three of ten."""
    return rng.dirichlet(np.ones(size)) if rng.random() < 0.7 else np.eye(size)[rng.integers(size)]


def drawn_step(rng: np.random.Generator, support: Support, state: int, action: int) -> Step:
    """Losses of 0 and 1 are frequent, and the goal follows half of the time where it can: else an estimate may have no
    way there at all."""
    row = support.next_state[support.row(support.pair(state, action))]
    following = support.states if support.states in row and rng.random() < 0.5 else int(rng.choice(row))
    return Step(state, action, float(np.clip(rng.uniform(-0.2, 1.2), 0.0, 1.0)), following)


def run(twins: Twins, steps: int, seed: int, *, logged: int = 0) -> Twins:
    """So many steps, after a log of some."""
    rng, support, size = np.random.default_rng(seed), twins.support, twins.twin.size
    for _ in range(logged):
        pair = int(rng.integers(support.pairs))
        step = drawn_step(rng, support, int(support.pair_state[pair]), int(support.pair_action[pair]))
        twins.learn(drawn_context(rng, size), step)
    state = support.states
    for _ in range(steps):
        if state == support.states:
            twins.begin(drawn_context(rng, size))
            state = int(rng.integers(support.states))
        action = twins.act(state)
        if action is None:
            return twins
        step = drawn_step(rng, support, state, action)
        twins.observe(step)
        state = step.next_state
    return twins


supports = ssps(proper=True, most_states=3, most_actions=3).map(lambda ssp: ssp.support)


@pytest.mark.parametrize("name", KINDS)
def test_a_long_run_of_both_is_the_same_and_most_choices_are_clear(name: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(2):
        seen += run(Twins(KINDS[name], Support.full(2, 2), 2, seed), 60, seed).seen
    assert seen["clear choices"] + seen["ties"] == 120
    assert seen["clear choices"] >= 80
    assert seen["intervals ended"] >= 20


@pytest.mark.parametrize("name", KINDS)
@examples(6)
@given(support=supports, size=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_a_learner_plays_what_its_formulas_say(name: str, support: Support, size: int, seed: int) -> None:
    run(Twins(KINDS[name], support, size, seed), 20, seed)


def test_after_a_log_local_optimism_plays_what_its_formulas_say() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3):
        kind = KINDS["local, with a large bonus, at every step"]
        twins = run(Twins(kind, Support.full(2, 2), 2, seed), 40, seed, logged=30)
        assert 0.2 < twins.twin.own_share < 0.8
        seen += twins.seen
    assert seen["clear choices"] >= 80


@pytest.mark.parametrize("logged", [0, 15])
def test_interchangeable_pairs_are_played_as_their_formulas_say(logged: int) -> None:
    # Two states whose two actions lead to either, and one from which the goal can be reached.
    support = Support.from_pairs([{0: [1, 2], 1: [1, 2]}, {0: [0, 2], 1: [0, 2]}, {0: [0, 3], 1: [1, 3]}])
    seen: Counter[str] = Counter()
    for seed in range(4):
        for name in ("local", "local, with a large bonus, at every step"):
            seen += run(Twins(KINDS[name], support, 2, seed), 40, seed, logged=logged).seen
    assert [naive.are_interchangeable(support, pair) for pair in range(6)] == [True] * 4 + [False] * 2
    assert seen["clear choices"] >= 160
    assert seen["intervals kept"] >= 10


def test_both_draw_the_same_numbers_and_no_others() -> None:
    for name in ("epsilon", "sampled"):
        twins = run(Twins(KINDS[name], Support.full(2, 3), 2, 7), 40, 8)
        assert twins.learner._rng.bit_generator.state == twins.twin.rng.bit_generator.state
