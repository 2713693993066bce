"""Each context-free learner for a few steps, every number worked out by hand. No other code is asked what is right.

The problem has two states. In state 0 there is one action (pair 0), which stays or goes on to state 1; in state 1,
action 0 (pair 1) goes back or to the goal and action 1 (pair 2) stays or goes to the goal. So N = 3 pairs, A = 2
actions, and other than the goal there are m = 2, 1, 1 next states. delta = 0.1 throughout, so N / delta = 30.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner, TabularOptions
from goalbound.learners.episode import LearnerEpisode
from goalbound.models import Step, Support

WAY = Support.from_pairs([{0: [0, 1]}, {0: [0, 2], 1: [1, 2]}])
GOAL = 2
EXACT = 1e-9
PRECISE = TabularOptions(tolerance=1e-9)


def took(episode: LearnerEpisode, state: int, *, action: int, loss: float, to: int) -> None:
    """The learner chooses the action, and this comes of it."""
    assert episode.act(state) == action
    episode.observe(Step(state, action, loss, to))


def shown(learner: TabularLearner) -> list[float]:
    values = learner.plan().values
    assert values[GOAL] == 0.0
    return [float(value) for value in values[:GOAL]]


def loss_radius(n: int, scale: float) -> float:
    """sqrt(ln(4 N n^2 / delta) / (2 n)), where 4 N / delta = 120."""
    return scale * sqrt(log(120.0 * n**2) / (2.0 * n))


def test_uc_ssp_by_hand() -> None:
    scale = 0.05
    learner = TabularLearner(WAY, Method("uc-ssp", scale=scale), loss_floor=0.1)

    # Episode 1, attempt 0. Nothing was visited: each pair goes to the goal for the floor; action 0 is the first of two.
    # H = min{h > 1 : |Q^(h-1)| <= 1 / sqrt(1)} = 2, so 3 steps may be made.
    first = learner.begin([1.0])
    assert first.act(0) == 0
    assert shown(learner) == pytest.approx([0.1, 0.1], rel=EXACT)
    took(first, 0, action=0, loss=0.4, to=1)
    took(first, 1, action=0, loss=0.6, to=0)
    took(first, 0, action=0, loss=0.2, to=1)
    assert first.intervals == 1
    # Attempt 1: all losses are 1. Pair 1 would be worth 1 + ..., pair 2 without a visit is worth 1.
    took(first, 1, action=1, loss=0.5, to=GOAL)
    assert first.intervals == 2

    # Episode 2, t = 5. Each pair was seen to lead to one next state; beta / 2 of that goes to the goal.
    # beta = sqrt(8 m ln(2 A n / delta) / n), 2 A / delta = 40.
    second = learner.begin([1.0])
    assert second.act(0) == 0
    to_1 = 1.0 - 0.5 * scale * sqrt(8 * 2 * log(40.0 * 2) / 2)  # n = 2: 0.8520
    to_0 = 1.0 - 0.5 * scale * sqrt(8 * 1 * log(40.0 * 1) / 1)  # n = 1: 0.8642
    loss_0 = 0.3 - loss_radius(2, scale)  # (0.4 + 0.2) / 2 less 0.0621
    loss_1 = 0.6 - loss_radius(1, scale)
    loss_2 = 0.5 - loss_radius(1, scale)
    v1 = loss_2  # pair 2 was seen to reach the goal: nothing is left to be paid
    v0 = loss_0 + to_1 * v1
    assert loss_1 + to_0 * v0 > v1 + 0.5
    # The precision is 0.1 / (2 t) = 0.01 only; but the chain has no loop, so the sweep after the last large change is
    # exact: v1 moves by 0.3, then v0 with it, then nothing.
    assert shown(learner) == pytest.approx([v0, v1], rel=EXACT)
    assert learner.plan().policy.tolist() == [0, 1]

    # The chain is 0 -> 1 with 0.852, then the goal: |Q| = 0.852 > 1 / sqrt(2), |Q^2| = 0. So H = 3, and 4 steps.
    assert to_1 > 1.0 / sqrt(2.0)
    for made in range(1, 5):
        took(second, 0, action=0, loss=0.3, to=0)
        assert second.intervals == 1, made
    took(second, 0, action=0, loss=0.3, to=1)
    assert second.intervals == 2
    assert learner.visits.tolist() == [7, 1, 1]


def test_hoeffding_ssp_by_hand() -> None:
    scale, floor = 0.003, 0.5
    learner = TabularLearner(
        WAY, Method("hoeffding-ssp", loss_bound=1.0, scale=scale), loss_floor=floor, options=PRECISE
    )
    # known: n > scale^2 (5000 / floor^2) m ln(1000 N / (delta floor)) = 9e-6 * 20000 * m * ln(60000) = 1.98 m:
    # after 2 visits, and pair 0 (m = 2) after 4
    assert 1.0 < scale**2 * 5000.0 / floor**2 * log(1000.0 * 30.0 / floor) < 2.0
    first = learner.begin([1.0])
    assert first.act(0) == 0
    assert shown(learner) == pytest.approx([0.5, 0.5], rel=EXACT)
    took(first, 0, action=0, loss=0.9, to=1)

    # radius 5 sqrt(m ln(N n / delta) / n), half of it to the goal
    assert first.act(1) == 0  # neither was visited: the first
    to_1 = 1.0 - 2.5 * scale * sqrt(2 * log(30.0))  # 0.9804
    loss_0 = 0.9 - loss_radius(1, scale)
    assert shown(learner) == pytest.approx([loss_0 + to_1 * 0.5, 0.5], rel=1e-8)
    took(first, 1, action=0, loss=0.8, to=0)

    took(first, 0, action=0, loss=0.7, to=1)
    assert first.act(1) == 1  # worth the floor, not having been visited
    to_1 = 1.0 - 2.5 * scale * sqrt(2 * log(60.0) / 2)  # n = 2
    loss_0 = 0.8 - loss_radius(2, scale)
    assert shown(learner) == pytest.approx([loss_0 + to_1 * 0.5, 0.5], rel=1e-8)
    took(first, 1, action=1, loss=0.6, to=1)

    # Pair 2 has stayed: worth l / (radius / 2) = 43.1; pair 1 leads back, and the round is worth 54.9.
    assert first.act(1) == 1
    stays = 1.0 - 2.5 * scale * sqrt(log(30.0))
    goes_back = stays  # the same n and m
    loss_1, loss_2 = 0.8 - loss_radius(1, scale), 0.6 - loss_radius(1, scale)
    by_2 = loss_2 / (1.0 - stays)
    assert by_2 + 10.0 < (loss_1 + goes_back * loss_0) / (1.0 - goes_back * to_1)
    assert shown(learner) == pytest.approx([loss_0 + to_1 * by_2, by_2], rel=1e-8)
    first.observe(Step(1, 1, 0.6, 1))
    assert (first.intervals, first.unknown_steps) == (5, 5)

    # Now pair 2 has 2 visits and is known: the plan is kept, and kept again.
    took(first, 1, action=1, loss=0.6, to=1)
    took(first, 1, action=1, loss=0.6, to=GOAL)
    assert (first.intervals, first.unknown_steps) == (5, 5)


def test_bernstein_ssp_by_hand() -> None:
    scale = 0.005
    learner = TabularLearner(WAY, Method("bernstein-ssp", scale=scale), loss_floor=0.1, options=PRECISE)

    def left(n: int) -> float:
        """p^ = 1 after n visits: a = ln(N n / delta) / n, and 28 a + 4 sqrt(p^ a) goes to the goal."""
        a = log(30.0 * n) / n
        return 1.0 - scale * (28.0 * a + 4.0 * sqrt(a))

    first = learner.begin([1.0])
    assert first.act(0) == 0
    assert shown(learner) == pytest.approx([0.1, 0.1], rel=EXACT)
    took(first, 0, action=0, loss=0.4, to=1)

    assert first.act(1) == 0  # each first visit ends an epoch
    v0 = 0.4 - loss_radius(1, scale) + left(1) * 0.1  # 0.3923 + 0.4869 * 0.1
    assert shown(learner) == pytest.approx([v0, 0.1], rel=1e-8)
    took(first, 1, action=0, loss=0.6, to=0)

    assert first.act(0) == 0
    assert shown(learner) == pytest.approx([v0, 0.1], rel=1e-8)  # state 1 now hopes for pair 2
    assert learner.plan().policy.tolist() == [0, 1]
    took(first, 0, action=0, loss=0.2, to=1)  # as many visits in the epoch as before it: 1

    assert first.act(1) == 1
    assert shown(learner) == pytest.approx([0.3 - loss_radius(2, scale) + left(2) * 0.1, 0.1], rel=1e-8)
    took(first, 1, action=1, loss=0.5, to=1)
    assert first.intervals == 4

    # Pair 2 has stayed: l / (1 - 0.4869) = 0.96; pair 1, by way of state 0: 0.59 + 0.4869 (0.29 + 0.7 * 0.96) = 1.05
    assert first.act(1) == 1
    v1 = (0.5 - loss_radius(1, scale)) / (1.0 - left(1))
    v0 = 0.3 - loss_radius(2, scale) + left(2) * v1
    assert 0.6 - loss_radius(1, scale) + left(1) * v0 > v1 + 0.05
    assert shown(learner) == pytest.approx([v0, v1], rel=1e-8)
    took(first, 1, action=1, loss=0.5, to=GOAL)
    assert first.intervals == 5

    # Pair 2 had 1 visit before that epoch and 1 in it: so a new one, in which pair 0 has to be visited twice.
    second = learner.begin([1.0])
    took(second, 0, action=0, loss=0.3, to=0)
    took(second, 0, action=0, loss=0.3, to=0)
    assert second.intervals == 1
    took(second, 0, action=0, loss=0.3, to=1)
    assert second.intervals == 2
    assert learner.visits.tolist() == [5, 1, 2]


def test_eb_ssp_by_hand() -> None:
    scale = 0.001
    learner = TabularLearner(WAY, Method("eb-ssp", loss_bound=1.0, scale=scale), loss_floor=0.0)

    def bonus(n: int, m: int, loss: float, variance: float = 0.0) -> float:
        iota = log(12 * 30.0 * (m + 1) * n**2)
        spread = max(6 * sqrt(variance * iota / n), 36 * iota / n)
        return scale * (spread + 2 * sqrt(2) * sqrt(loss * iota / n) + 2 * sqrt(2) * sqrt((m + 1) * iota) / n)

    first = learner.begin([1.0])
    assert first.act(0) == 0
    assert shown(learner) == [0.0, 0.0]
    took(first, 0, action=0, loss=0.9, to=1)

    assert first.act(1) == 0  # both are worth 0 and unvisited: the first
    assert shown(learner) == pytest.approx([0.9 - bonus(1, 2, 0.9), 0.0], rel=EXACT)  # 0.9 - 0.2713
    took(first, 1, action=0, loss=0.8, to=0)

    assert first.act(0) == 0
    assert shown(learner) == pytest.approx([0.9 - bonus(1, 2, 0.9), 0.0], rel=EXACT)
    assert learner.plan().policy.tolist() == [0, 1]  # the pair without a visit is worth 0
    took(first, 0, action=0, loss=0.7, to=1)

    assert first.act(1) == 1
    assert shown(learner) == pytest.approx([0.8 - bonus(2, 2, 0.8), 0.0], rel=EXACT)
    took(first, 1, action=1, loss=0.6, to=GOAL)
    assert first.intervals == 4

    # The skewed kernel of pair 0 has 2/3 on state 1: variance 2/3 v^2 - (2/3 v)^2. That of pair 1 has 1/2 on state 0.
    second = learner.begin([1.0])
    assert second.act(0) == 0
    v1 = 0.6 - bonus(1, 1, 0.6)
    v0 = 0.8 + 2.0 / 3.0 * v1 - bonus(2, 2, 0.8, 2.0 / 9.0 * v1**2)
    assert 0.8 + 0.5 * v0 - bonus(1, 1, 0.8, 0.25 * v0**2) > v1 + 0.1
    assert shown(learner) == pytest.approx([v0, v1], rel=EXACT)
    took(second, 0, action=0, loss=0.1, to=0)
    assert second.act(0) == 0  # 3 visits are no power of two: the data and the plan stay
    assert second.intervals == 1
    second.observe(Step(0, 0, 0.1, 1))
    assert second.act(1) == 1  # 4 are
    assert second.intervals == 2
    # p^ = 3/4 on state 1 and 1/4 on state 0, times 4/5; l^ = 1.8 / 4. Its own value stands on both sides: all are
    # iterated from 0 until no change exceeds 2^-5 / 3, for the fifth trigger.
    v0, then, change = 0.0, 0.0, 1.0
    while change > 2.0**-5 / 3.0:
        mean, square = 0.6 * then + 0.2 * v0, 0.6 * then**2 + 0.2 * v0**2
        before, v0, then = v0, 0.45 + mean - bonus(4, 2, 0.45, square - mean**2), v1
        change = abs(v0 - before)
    assert change > 1e-3  # it did stop early
    assert shown(learner) == pytest.approx([v0, v1], rel=EXACT)


def test_ulcvi_by_hand() -> None:
    scale = 1e-7
    horizon = 17  # ceil(8 * 1 * ln(8 * 1)) = ceil(16.64)
    learner = TabularLearner(
        WAY, Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=1, scale=scale), loss_floor=0.0
    )

    def bonuses(n: int, m: int, variance: float) -> tuple[float, float]:
        """b_l, and b_p without the part of the upper values, where V_low has no variance."""
        inside = log(12 * 30.0 * horizon * (m + 1) * n**2)
        return (
            scale * (sqrt(2 * variance * inside / n) + 5 * inside / n),
            scale * 62 * horizon**3 * m * inside / n,
        )

    first = learner.begin([1.0])
    assert first.act(0) == 0
    assert shown(learner) == [0.0, 0.0]
    took(first, 0, action=0, loss=0.9, to=1)
    took(first, 1, action=0, loss=0.8, to=GOAL)
    assert first.intervals == 1  # the plan stays for the interval, whatever is learned

    # State 1 plays pair 2, which is worth between 0 and the cap: at h = 2, (17 - 2 + 1) + 8 = 24.
    second = learner.begin([1.0])
    assert second.act(0) == 0
    of_loss, of_next = bonuses(1, 2, 0.0)  # 5e-6 and 0.598
    v0 = 0.9 - of_loss + 0.0 - of_next - (24.0 - 0.0) / (16 * horizon)
    assert v0 > 0.1
    assert shown(learner) == pytest.approx([v0, 0.0], rel=EXACT)
    assert learner.plan().policy.tolist() == [0, 1]
    took(second, 0, action=0, loss=0.7, to=1)
    took(second, 1, action=1, loss=0.5, to=GOAL)

    # Pairs 1 and 2 went to the goal: 0.8 and 0.5 less or more the same bonus, at each h. Pair 0 lost 0.9 and 0.7.
    third = learner.begin([1.0])
    assert third.act(0) == 0
    of_loss, of_next = bonuses(1, 1, 0.0)
    v1, above = 0.5 - of_loss - of_next, 0.5 + of_loss + of_next
    of_loss, of_next = bonuses(2, 2, 0.01)  # the mean of squares 0.65 less 0.8^2
    v0 = 0.8 - of_loss + v1 - of_next - (above - v1) / (16 * horizon)
    assert v1 > 0.1
    assert shown(learner) == pytest.approx([v0, v1], rel=EXACT)
    assert learner.plan().policy.tolist() == [0, 1]

    # The interval has 17 steps; then another one starts.
    for _ in range(horizon):
        took(third, 0, action=0, loss=0.8, to=0)
        assert third.intervals == 1
    assert third.act(0) == 0
    assert third.intervals == 2
    assert learner.visits.tolist() == [19, 1, 1]


def test_psrl_ssp_by_hand() -> None:
    learner = TabularLearner(
        WAY, Method("psrl-ssp", prior=1.0), loss_floor=0.1, options=PRECISE, rng=np.random.default_rng(11)
    )
    rng = np.random.default_rng(11)

    def drawn(means: list[float], visits: list[int], parameters: list[list[float]]) -> tuple[list[float], list[float]]:
        """A draw: the losses, and the share of the first of the two next states of each pair."""
        losses, shares = [], []
        for pair in range(3):
            loss = means[pair] + 0.5 / sqrt(max(1, visits[pair])) * rng.standard_normal()
            losses.append(min(1.0, max(0.1, loss)))
            first, second = (rng.standard_gamma(parameter) for parameter in parameters[pair])
            shares.append(first / (first + second))
        return losses, shares

    def best_action(losses: list[float], shares: list[float]) -> int:
        """In state 1: pair 2 is worth l / (1 - stay); pair 1 goes back with probability b, from where it costs
        l0 / (1 - stay0) to return."""
        stays, back, stays_too = shares
        by_1 = (losses[1] + back * losses[0] / (1.0 - stays)) / (1.0 - back)
        by_2 = losses[2] / (1.0 - stays_too)
        assert abs(by_1 - by_2) > 1e-6
        return 0 if by_1 < by_2 else 1

    # The posterior mean without data: all losses 1/2, all rows (1/2, 1/2). Pair 2: 0.5 / 0.5 = 1, and state 0 is worth
    # 0.5 / 0.5 + 1 = 2; pair 1 would be worth 0.5 + 0.5 * 2 = 1.5.
    assert shown(learner) == pytest.approx([2.0, 1.0], rel=1e-8)
    assert learner.plan().policy.tolist() == [0, 1]

    # Epoch 1. Looking drew nothing.
    first = learner.begin([1.0])
    means, visits, parameters = [0.5] * 3, [0] * 3, [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    best_action(*drawn(means, visits, parameters))
    assert first.act(0) == 0
    assert first.act(0) == 0  # asked again: nothing is drawn
    first.observe(Step(0, 0, 0.3, 1))

    # Epoch 2, in state 1: pair 0 has parameters (1, 2), its mean loss is 0.3.
    means[0], visits[0], parameters[0] = 0.3, 1, [1.0, 2.0]
    action = best_action(*drawn(means, visits, parameters))
    took(first, 1, action=action, loss=0.6, to=GOAL)

    # The posterior mean: state 0 costs 0.3 / (2/3) until state 1; the pair that was played there reached the goal.
    means[1 + action], visits[1 + action], parameters[1 + action] = 0.6, 1, [1.0, 2.0]
    back, stays = parameters[1][0] / sum(parameters[1]), parameters[2][0] / sum(parameters[2])
    v1 = min((means[1] + back * 0.45) / (1.0 - back), means[2] / (1.0 - stays))
    assert shown(learner) == pytest.approx([0.45 + v1, v1], rel=1e-8)

    # Epoch 3 (a count reached 1, and the goal was reached: once is more than never), over two episodes.
    second = learner.begin([1.0])
    action = best_action(*drawn(means, visits, parameters))
    took(second, 0, action=0, loss=0.5, to=0)  # the second visit, twice as many: epoch 4
    means[0], visits[0], parameters[0] = 0.4, 2, [2.0, 2.0]
    best_action(*drawn(means, visits, parameters))
    took(second, 0, action=0, loss=0.5, to=0)  # 3 of 2: the epoch goes on
    assert second.intervals == 2
    took(second, 0, action=0, loss=0.4, to=1)  # 4 of 2: epoch 5
    means[0], visits[0], parameters[0] = 1.7 / 4.0, 4, [3.0, 3.0]
    assert second.act(1) == best_action(*drawn(means, visits, parameters))
    assert second.intervals == 3
