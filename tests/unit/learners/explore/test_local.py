"""Local optimism: the choice of a step by hand, after a log, and where little was tried."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge, LocalOptimism
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from goalbound.problems import routing_grid
from goalbound.simulation import Dirichlet, ModelEnvironment, bernoulli, play
from tests.reference.ridge_baselines import dispersion, shrinkage
from tests.support.driving import play_own, played_losses, small_problem

ONE_VISIT = LearnerOptions(regularization=1.0, prior_visits=1.0)


def taught_two_actions(**settings: Any) -> LocalOptimism:
    """Both actions end at once. The first lost 1 three times of six, the second twice of two, with a prior of one
    visit: 3 / 7 and 2 / 3. Losses within actions have the variance 0.25, between them 1 / 24: the second is drawn to
    the mean, 5 / 8, by 6 visits, to (2/3 + 6/3 5/8) / (1 + 6/3) = 0.6389."""
    learner = LocalOptimism(Support.from_pairs([{0: [1], 1: [1]}]), 1, loss_floor=0.1, options=ONE_VISIT, **settings)
    steps = [Step(0, 0, 1.0, 1), Step(0, 0, 0.0, 1)] * 3 + [Step(0, 1, 1.0, 1)] * 2
    play_own(learner, [([1.0], step) for step in steps])
    return learner


@pytest.mark.parametrize(("bonus", "action"), [(1.38, 0), (1.45, 1)])
def test_the_bonus_decides_when_what_seems_worse_is_tried_again(bonus: float, action: int) -> None:
    # w^2 is 1/7 and 1/3, and n is 7. Only the goal follows, so values have no range. The first: 0.4286 less bonus
    # sqrt(1/7 log(1 + 7/7) 0.2449) = 0.1557 bonus; the second: 0.6389 less bonus sqrt(1/3 log(1 + 7/3) 0.2307) = 0.3043
    # bonus. They are equal at a bonus of 1.415.
    learner = taught_two_actions(bonus=bonus)
    assert learner.plan([1.0]).policy.tolist() == [0]
    assert learner.begin([1.0]).act(0) == action


def test_what_is_known_has_no_bonus_and_only_allowed_actions_are_tried() -> None:
    assert taught_two_actions(bonus=5.0).begin([1.0]).act(0, allowed=[0]) == 0
    assert taught_two_actions(bonus=5.0).begin([1.0]).act(0, allowed=[0, 1]) == 1
    support = Support.from_pairs([{0: [1], 1: [1]}])
    known = PriorKnowledge.nothing(support, 1).with_losses({(0, 0): 0.4, (0, 1): 0.5}).with_rows(
        {(0, 0): {1: 1.0}, (0, 1): {1: 1.0}}
    )  # fmt: skip
    learner = LocalOptimism(support, 1, loss_floor=0.1, bonus=50.0, prior=known)
    assert learner.begin([1.0]).act(0) == 0


def test_a_step_that_is_not_the_plans_ends_the_plan() -> None:
    # lambda is 2. The first: loss 20 / 102, and 50 / 102 of the steps stay: it is worth 0.385, less a bonus of 0.05;
    # the second 3 / 5, less 3 sqrt(1/5 log(1 + 102/5) 0.385^2 (0.2 + 0.01)) = 0.414. The losses have no noise.
    learner = LocalOptimism(Support.full(1, 2), 1, loss_floor=0.1, bonus=3.0)
    seen = [Step(0, 0, 0.2, 0), Step(0, 0, 0.2, 1)] * 50 + [Step(0, 1, 1.0, 1)] * 3
    play_own(learner, [([1.0], step) for step in seen])
    episode = learner.begin([1.0])
    assert learner.plan([1.0]).policy.tolist() == [0]
    assert episode.act(0) == 1
    episode.observe(Step(0, 1, 1.0, 0))
    assert episode.plan is None


def test_each_step_is_that_of_the_least_worth_less_its_bonus() -> None:
    problem = small_problem(2)
    support = problem.support
    learner = LocalOptimism(support, 2, loss_floor=0.1, bonus=1.0)
    played = played_losses(problem, learner, 12, 2)
    mean, drawn_by = shrinkage(played)
    noisy = dispersion(played)
    differ = 0
    for context in np.random.default_rng(1).dirichlet([1.0, 1.0], size=20):
        plan = learner.plan(context)
        number = learner._state.totals["episodes"] + 1
        model = learner.estimate
        norms = np.sqrt(np.einsum("i,nij,j->n", context, np.linalg.inv(model.gram), context))
        weight = drawn_by * norms**2
        found = model.losses @ context
        losses = np.clip(np.minimum(found, (found + weight * mean) / (1.0 + weight)), 0.1, 1.0)
        for state in range(support.states):
            pairs = range(support.pair_start[state], support.pair_start[state + 1])
            planned = next(pair for pair in pairs if support.pair_action[pair] == plan.policy[state])
            visits = min(1.0 / norms[planned] ** 2, number)
            worth = []
            for pair in pairs:
                places = slice(support.next_start[pair], support.next_start[pair + 1])
                following = plan.values[support.next_state[places]]
                row = model.rows[places] @ context
                variance = noisy * losses[pair] * (1.0 - losses[pair]) + row @ following**2 - (row @ following) ** 2
                variance += np.ptp(following) ** 2 * (norms[pair] ** 2 + 0.01)
                bonus = np.sqrt(np.log(1.0 + visits * norms[pair] ** 2) * variance) * norms[pair]
                worth.append(losses[pair] + row @ following - bonus)
            chosen = learner.begin(context).act(state)
            assert chosen == support.pair_action[pairs[int(np.argmin(worth))]]
            differ += chosen != plan.policy[state]
            learner._state.totals["episodes"] -= 1
    assert differ > 0


def test_what_was_hardly_tried_looks_cheap_and_not_average() -> None:
    # Where losses below the mean were drawn up to it, this grid had seven times the regret of greedy.
    problem = routing_grid(seed=5)
    environment = partial(ModelEnvironment, problem, losses=bernoulli())
    greedy, local = (
        play(
            problem, cls(problem.support, 3, loss_floor=0.1), Dirichlet.symmetric(3), episodes=2000, seed=0,
            environment=environment, step_limit=2000,
        ).expected_regret.sum()
        for cls in (GreedyRidge, LocalOptimism)
    )  # fmt: skip
    assert local < 1.5 * greedy


def test_after_a_log_nothing_is_tried_again_at_first() -> None:
    # The same steps, of a log and of one's own. Losses are 25 / 102 and 3 / 7; the second has w^2 = 1/7, and is drawn
    # to the mean, 28 / 105, by 4.7 visits, so of one's own steps 0.363 - 0.5 sqrt(1/7 log(1 + 102/7) 0.231) = 0.213 is
    # less than the 0.227 of the first.
    losses = [(0, float(n % 4 == 0)) for n in range(100)] + [(1, float(n < 3)) for n in range(5)]
    seen = [([1.0], Step(0, action, loss, 1)) for action, loss in losses]
    own, other = (LocalOptimism(Support.from_pairs([{0: [1], 1: [1]}]), 1, loss_floor=0.1, bonus=0.5) for _ in range(2))
    play_own(own, seen)
    other.learn_log(seen)
    assert [own.begin([1.0]).act(0), other.begin([1.0]).act(0)] == [1, 0]
    play_own(other, seen[:100] * 9)
    assert other.begin([1.0]).act(0) == 1


def test_losses_without_noise_are_not_tried_again() -> None:
    # 0.3 and 0.5, always: after some visits of both, the second is never played again. Were they 0 or 1, it would be.
    support = Support.from_pairs([{0: [1], 1: [1]}])
    taken = []
    for noise in (False, True):
        learner = LocalOptimism(support, 1, loss_floor=0.1, bonus=1.0)
        actions, rng = [], np.random.default_rng(0)
        for _ in range(300):
            episode = learner.begin([1.0])
            action = episode.act(0)
            mean = (0.3, 0.5)[action]
            episode.observe(Step(0, action, float(rng.random() < mean) if noise else mean, 1))
            actions.append(action)
        taken.append(sum(actions[60:]))
    assert taken[0] == 0
    assert taken[1] > 3
