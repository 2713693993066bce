"""Greedy, exploring, sampling and Rmax learners: by hand, through the contract, over stops, and in the long run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explore.kwik import kwik_threshold
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, LocalOptimism, PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Step, Support
from goalbound.simulation import Dirichlet, ModelEnvironment, bernoulli, play
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.testing import check_learner
from tests.support.driving import Clinic, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import LEARNERS

BOTH = Support.full(2, 2)
"""two states, two actions; all lead anywhere"""
ONE_VISIT = LearnerOptions(regularization=1.0, prior_visits=1.0)


def steps(episode: LearnerEpisode, *seen: tuple[int, int, float, int]) -> None:
    """Play (state, action, loss, next state), where the action is what the learner must choose."""
    for state, action, loss, following in seen:
        assert episode.act(state) == action
        episode.observe(Step(state, action, loss, following))


def assert_values(learner: RidgeLearner, context: list[float], values: list[float], policy: list[int]) -> None:
    plan = learner.plan(context)
    assert plan.values.tolist() == pytest.approx([*values, 0.0], rel=1e-3)  # the tolerance of value iteration
    assert plan.policy.tolist() == policy


def test_greedy_by_hand() -> None:
    # One component and a prior of one visit: an estimate is a sum of what was seen, divided by 1 + visits.
    learner = GreedyRidge(BOTH, 1, loss_floor=0.1, options=ONE_VISIT)
    episode = learner.begin([1.0])
    # Nothing was seen: every pair leads to the goal at the floor, and ties go to the first.
    assert_values(learner, [1.0], [0.1, 0.1], [0, 0])
    steps(episode, (0, 0, 0.5, 1))
    # (0, 0): loss 0.5 / 2, to state 1 with 1 / 2: 0.25 + 0.5 * 0.1 = 0.3. V went from 1 to 2, so it plans again.
    assert episode.intervals == 2
    assert_values(learner, [1.0], [0.1, 0.1], [1, 0])
    steps(episode, (1, 0, 0.8, 0))
    # (1, 0): 0.4 + 0.5 * 0.1 = 0.45, so state 1 goes over to its other action too.
    assert_values(learner, [1.0], [0.1, 0.1], [1, 1])
    steps(episode, (0, 1, 1.0, 2))
    # (0, 1): loss 1 / 2, nowhere but to the goal. (0, 0) is worth 0.25 + 0.5 * 0.1 = 0.3.
    assert_values(learner, [1.0], [0.3, 0.1], [0, 1])
    assert episode.ended
    assert episode.unknown_steps == 3  # nothing is ever known for sure


def test_epsilon_greedy_by_hand() -> None:
    # In episode k a share 0.5 / k of the steps explores: one number decides, and one more is the action.
    numbers = np.random.default_rng(1).random(6)
    assert numbers.round(3).tolist() == [0.512, 0.950, 0.144, 0.949, 0.312, 0.423]
    learner = EpsilonGreedy(
        BOTH, 1, loss_floor=0.1, explore=0.5, fade=1.0, rng=np.random.default_rng(1), options=ONE_VISIT
    )
    episode = learner.begin([1.0])
    # 0.512 and 0.950 are not below 0.5: as planned. After the first, (0, 0) is worth 0.25 + 0.5 v.
    steps(episode, (0, 0, 0.5, 0), (0, 1, 1.0, 0))
    # Now v = 0.25 / (1 - 0.5) = 0.5, by action 0; action 1 is worth 0.5 + 0.5 * 0.5. But 0.144 explores, and 0.949
    # of two actions is the second.
    assert_values(learner, [1.0], [0.5, 0.1], [0, 0])
    steps(episode, (0, 1, 1.0, 2))
    # In episode 2 the share is 0.25: 0.312 and 0.423 do not explore.
    steps(learner.begin([1.0]), (0, 0, 0.5, 0), (0, 0, 0.5, 2))


def test_posterior_sampling_by_hand() -> None:
    # Action 0 of state 0 goes to 1 or to the goal, action 1 to the goal; state 1 waits or arrives. Five triples, three
    # pairs: eight numbers for a plan, of which those of the goal (the second, third and fifth) are not used.
    support = Support.from_pairs([{0: [1, 2], 1: [2]}, {0: [1, 2]}])
    numbers = np.random.default_rng(0).standard_normal((3, 8)).round(3).tolist()
    assert numbers == [
        [0.126, -0.132, 0.640, 0.105, -0.536, 0.362, 1.304, 0.947],
        [-0.704, -1.265, -0.623, 0.041, -2.325, -0.219, -1.246, -0.732],
        [-0.544, -0.316, 0.412, 1.043, -0.129, 1.366, -0.665, 0.352],
    ]
    learner = plain_draws(support)
    episode = learner.begin([1.0])
    steps(episode, (0, 0, 0.6, 1))
    # Without data all is half of the noise. (1, 0): 0.474 / (1 - 0.053) = 0.500. (0, 0): 0.181 + 0.063 * 0.500 = 0.213
    # is less than the 0.652 of (0, 1).
    assert episode.intervals == 2  # V of (0, 0) has doubled: loss 0.3, row 0.5, noise now 0.5 / sqrt(2) = 0.354 wide
    assert episode.act(1) == 0
    row, other = 0.5 - 0.354 * 0.704, 0.5 * 0.041
    assert_drawn(episode, losses=[0.3 - 0.354 * 0.219, 0.1, 0.1], rows=[row, 1.0 - row, 1.0, other, 1.0 - other])
    steps(episode, (1, 0, 1.0, 2))
    # A new episode is a new draw: (1, 0) has loss 0.5 + 0.354 * 0.352 now, and no row but noise; (0, 1) has the floor.
    episode = learner.begin([1.0])
    assert episode.act(0) == 1
    row, other = 0.5 - 0.354 * 0.544, 0.354 * 1.043
    assert_drawn(
        episode, losses=[0.3 + 0.354 * 1.366, 0.1, 0.6245], rows=[row, 1.0 - row, 1.0, other, 1.0 - other]
    )  # fmt: skip
    plan = episode.plan
    assert plan is not None
    # 0.6245 / (1 - 0.3688) = 0.9893; 0.783 + 0.308 * 0.9893 is more than 0.1.
    assert plan.values.tolist() == pytest.approx([0.1, 0.9893, 0.0], abs=1e-3)


def plain_draws(support: Support) -> PosteriorSampling:
    return PosteriorSampling(
        support, 1, loss_floor=0.1, spread=0.5, by_variance=False, optimism=0.0, patience=np.inf,
        rng=np.random.default_rng(0),
    )  # fmt: skip


def test_a_draw_where_the_goal_cannot_follow_sums_to_one() -> None:
    # State 0 stays or goes on to 1. Nothing was seen: 1/2 each, and half of the noise, 0.126 and -0.132. That sums to
    # 0.997; the two share what is missing. Three triples and two pairs: five numbers.
    support = Support.from_pairs([{0: [0, 1]}, {0: [2]}])
    numbers = np.random.default_rng(0).standard_normal(5)
    assert numbers.round(3).tolist() == [0.126, -0.132, 0.640, 0.105, -0.536]
    episode = plain_draws(support).begin([1.0])
    episode.act(0)
    stays = 0.5 + 0.25 * float(numbers[0] - numbers[1])
    assert_drawn(episode, losses=[0.1, 0.1], rows=[stays, 1.0 - stays, 1.0])


def assert_drawn(episode: LearnerEpisode, *, losses: list[float], rows: list[float]) -> None:
    plan = episode.plan
    assert plan is not None
    assert plan.losses.tolist() == pytest.approx(losses, abs=1e-3)
    assert plan.rows.tolist() == pytest.approx(rows, abs=1e-3)


def test_kwik_rmax_by_hand() -> None:
    # c = (1/2, 1/2), so c.c = 1/2 and V^-1 c = c / (1 + n/2) after n visits: the sum of its entries is 1, 2/3, 1/2.
    learner, context = KwikRmax(BOTH, 2, loss_floor=0.1, threshold=0.55), [0.5, 0.5]
    episode = learner.begin(context)
    steps(episode, (0, 0, 0.6, 0))
    assert not learner.plan(context).known.any()  # 2/3 > 0.55
    steps(episode, (0, 0, 0.6, 0))
    # Known: c V^-1 c = 1/4, so loss (0.6 + 0.6) / 4 = 0.3 and row 2 / 4. 0.3 + 0.5 v is more than the unknown's 0.1.
    assert learner.plan(context).known.tolist() == [True, False, False, False]
    steps(episode, (0, 1, 1.0, 2))
    assert_values(learner, context, [0.1, 0.1], [1, 0])
    episode = learner.begin(context)
    steps(episode, (0, 1, 1.0, 2))
    # (0, 1): loss 2 / 4 and the goal. (0, 0): 0.3 + 0.5 * 0.5 = 0.55.
    assert_values(learner, context, [0.5, 0.1], [1, 0])
    assert learner.plan(context).known.tolist() == [True, True, False, False]
    episode = learner.begin(context)
    steps(episode, (0, 1, 1.0, 0))
    assert (episode.unknown_steps, episode.intervals) == (0, 1)  # a step of a known pair ends no interval
    # Under (1, 0) less is known of the same pairs: V = I + n/4 [[1, 1], [1, 1]], and V^-1 (1, 0) for n = 2 is
    # (3/4, -1/4), whose absolute values sum to 1.
    assert not learner.plan([1.0, 0.0]).known.any()


def make_for(name: str) -> Callable[..., RidgeLearner]:
    """As a contract check or an experiment makes the learner."""

    def make(problem: LinearCSSP, *, rng: np.random.Generator) -> LRCSSP:
        return LEARNERS[name](problem.support, problem.context_size, rng)

    return make


@pytest.mark.parametrize("name", LEARNERS)
def test_the_contract_is_kept(name: str) -> None:
    check_learner(make_for(name))


PROBLEM = small_problem(2)


def history(learner: Any, *, episodes: int = 60, compiled: bool = True, seed: int = 3) -> History:
    return play(
        PROBLEM, learner, Dirichlet.symmetric(2), episodes=episodes, seed=seed, step_limit=500, compiled=compiled,
        environment=partial(ModelEnvironment, PROBLEM, losses=bernoulli()),
    )  # fmt: skip


@pytest.mark.parametrize("name", LEARNERS)
def test_the_compiled_loop_plays_the_same_run_to_the_bit(name: str) -> None:
    made = [LEARNERS[name](PROBLEM.support, 2, np.random.default_rng(4)) for _ in range(3)]
    plain = history(made[0], compiled=False)
    for learner, way in zip(made[1:], (PYTHON, COMPILED), strict=True):
        with kernels(way):
            looped = history(learner)
        for column in PER_EPISODE:
            assert getattr(looped, column).tobytes() == getattr(plain, column).tobytes(), column
        assert written(learner) == written(made[0])  # the stream is part of it


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("beds", [1, 3])
def test_a_stop_anywhere_is_not_seen_in_what_follows(name: str, beds: int) -> None:
    def clinic() -> Clinic:
        return Clinic(PROBLEM, LEARNERS[name](PROBLEM.support, 2, np.random.default_rng(9)), beds=beds, seed=1)

    whole = clinic().run(120)
    for stop in (1, 40, 77):
        parted = clinic().run(stop)
        parted.stop()
        parted.run(120 - stop)
        assert parted.actions == whole.actions
        assert written(parted.learner) == written(whole.learner)


def test_two_streams_are_two_runs_and_no_stream_is_fresh_entropy() -> None:
    for name in ("epsilon", "ps"):
        runs = [
            history(LEARNERS[name](PROBLEM.support, 2, np.random.default_rng(seed))).steps.tolist()
            for seed in (1, 1, 2)
        ]
        assert runs[0] == runs[1] != runs[2]
    one, other = (history(PosteriorSampling(PROBLEM.support, 2, loss_floor=0.1)).steps.tolist() for _ in range(2))
    assert one != other


def test_looking_draws_nothing() -> None:
    one, other = (PosteriorSampling(PROBLEM.support, 2, loss_floor=0.1, rng=np.random.default_rng(1)) for _ in range(2))
    history(one, episodes=20)
    history(other, episodes=20)
    for _ in range(3):
        other.plan([0.5, 0.5])
    assert written(one) == written(other)
    assert history(one, seed=8).steps.tolist() == history(other, seed=8).steps.tolist()


@pytest.mark.parametrize("name", ["greedy", "epsilon", "ps", "kwik"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_regret_grows_ever_more_slowly(name: str, seed: int) -> None:
    # Deterministic, given the seeds: the second 2000 episodes lose 0 to 0.53 of what the first 2000 do. Exploring with
    # share k^-1/3 would give 2^(2/3) - 1 = 0.59 by itself.
    problem = small_problem(seed)
    run = play(
        problem, partial(make_for(name), problem), Dirichlet.symmetric(2), episodes=4000, seed=5, step_limit=10_000,
        environment=partial(ModelEnvironment, problem, losses=bernoulli()),
    )  # fmt: skip
    first, second = run.expected_regret.reshape(2, 2000).sum(axis=1)
    assert first > 1.0
    assert second < 0.65 * first
    if name == "ps":
        assert run.expected_regret[-1000:].mean() < 0.1 * run.expected_regret[:100].mean()
    assert not run.abandoned.any()


def test_each_is_reported_what_its_name_says() -> None:
    rng = np.random.default_rng(0)
    made = [GreedyRidge(BOTH, 2, loss_floor=0.2), EpsilonGreedy(BOTH, 2, loss_floor=0.2, rng=rng),
            PosteriorSampling(BOTH, 2, loss_floor=0.2, rng=rng), KwikRmax(BOTH, 2, loss_floor=0.2)]  # fmt: skip
    given = [learner.settings for learner in made]
    assert [one.exploration.name for one in given] == ["greedy", "epsilon", "sampled", "rmax"]
    assert [one.replan_factor for one in given] == [2.0, 2.0, 2.0, 1.0]
    assert [one.exploration.draws for one in given] == [False, True, True, False]
    assert (given[1].exploration.explore, given[1].exploration.fade) == (1.0, 1.0 / 3.0)
    assert (given[2].exploration.spread, given[2].exploration.ceiling) == (0.15, 1000.0)
    assert (given[2].exploration.optimism, given[2].exploration.patience) == (0.03, 1.0)
    assert given[2].exploration.by_variance
    assert given[3].exploration.threshold == kwik_threshold(2, accuracy=0.1, delta=0.1)
    assert [repr(one) for one in made] == [
        "GreedyRidge(2 states, 4 pairs, 12 next states, 2 components, 0 steps)",
        "EpsilonGreedy(2 states, 4 pairs, 12 next states, 2 components, explore 1, fade 0.333, 0 steps)",
        "PosteriorSampling(2 states, 4 pairs, 12 next states, 2 components, spread 0.15 x the estimated deviation, "
        "0.03 of the plans optimistic, 0 steps)",
        "KwikRmax(2 states, 4 pairs, 12 next states, 2 components, threshold 0.00214, 0 steps)",
    ]


@pytest.mark.parametrize("name", ["greedy", "epsilon", "local", "ps", "kwik"])
def test_each_is_of_its_own_class_and_comes_back_as_it(name: str, tmp_path: Path) -> None:
    learner = LEARNERS[name](BOTH, 2, np.random.default_rng(1))
    learner.save(tmp_path / "learner")
    again = type(learner).load(tmp_path / "learner")
    assert (type(again), again.settings) == (type(learner), learner.settings)
    other = GreedyRidge if name != "greedy" else KwikRmax
    for cls in (LRCSSP, other):
        with pytest.raises(FileFormatError, match=f"the kind is '{learner.kind}', and '{cls.kind}' is needed"):
            cls.load(tmp_path / "learner")
    assert not isinstance(learner, LRCSSP)


def test_a_file_whose_settings_are_those_of_another_class_is_refused(tmp_path: Path) -> None:
    learner: Any = EpsilonGreedy(BOTH, 2, loss_floor=0.2)
    learner.kind = "GreedyRidge"
    learner.save(tmp_path / "other")
    with pytest.raises(FileFormatError, match=r"the exploration is .*'explore': 1.0.* not that of a GreedyRidge"):
        GreedyRidge.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(GreedyRidge, loss_floor=1.5), r"loss_floor 1\.5 is not in \[0, 1\]"),
        (partial(GreedyRidge, loss_floor=0.0), r"loss_floor is 0 and episodes is not given.*LearnerOptions\(episodes="),
        (partial(EpsilonGreedy, loss_floor=0.1, explore=1.5), r"explore is 1\.5; it is the share .* in \[0, 1\]"),
        (partial(EpsilonGreedy, loss_floor=0.1, fade=-1.0), r"fade is -1\.0; it is how fast .* from 0 on"),
        (partial(LocalOptimism, loss_floor=0.1, bonus=-0.5), r"bonus is -0\.5; it is the factor .* from 0 on"),
        (partial(LocalOptimism, loss_floor=0.1, bonus=np.inf), r"bonus is inf; it is the factor .* from 0 on"),
        (partial(PosteriorSampling, loss_floor=0.1, spread=-0.5), r"spread is -0\.5; .* a finite number"),
        (partial(PosteriorSampling, loss_floor=0.1, ceiling=0.5), r"ceiling is 0\.5; it is what .* from 1 on"),
        (partial(KwikRmax, loss_floor=0.1, accuracy=0.0), r"accuracy 0\.0 is not in \(0, 1\]"),
        (partial(KwikRmax, loss_floor=0.1, threshold=-1.0), r"threshold is -1\.0; it is .* a finite number from 0 on"),
        (lambda *_: LearnerOptions(regularization=0.0), "regularization"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_name_and_value(make: Callable[..., RidgeLearner], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(BOTH, 2)


@pytest.mark.parametrize("make", [GreedyRidge, partial(KwikRmax, threshold=0.5)])
def test_an_estimate_that_never_arrives_is_planned_in_all_the_same(
    make: Callable[..., RidgeLearner], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under (0, 1) the only pair arrived 20 times of 20, under (1/2, 1/2) never: the line through both is at 2 under
    # (1, 0), and the projection makes it 1. A problem that leaves with probability 1/2 everywhere may show this.
    monkeypatch.setattr("goalbound.learners.base.LearnerBase.MOST_SWEEPS", 20_000)  # a million take seconds
    learner = make(Support.full(1, 1), 2, loss_floor=0.1)
    for context, following in [*[([0.0, 1.0], 1)] * 20, *[([0.5, 0.5], 0)] * 6]:
        steps(learner.begin(context), (0, 0, 0.5, following))
    assert learner.begin([1.0, 0.0]).act(0) == 0
