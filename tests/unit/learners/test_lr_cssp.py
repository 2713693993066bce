"""LR-CSSP: plans, data and bounds against arithmetic that fits on a page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import (
    Widths,
    confidence_set,
    likelihood,
    paper,
    printed,
    project,
    ridge_estimate,
    scaled,
    sharp,
)
from goalbound.errors import InputError, PlanningStopped, ProjectionFailed
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.plan import Plan
from goalbound.learners.ridge import GreedyRidge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import SSP, LinearCSSP, Step, Support
from goalbound.planning import solve
from goalbound.simulation import FromArray, play
from tests.support.driving import MODES, Clinic, learner_of, play_one, small_problem, written

ONE_STATE = Support.full(1, 2)
"""state 0 with two actions, each of which may stay or reach the goal"""

LOOP = Support.full(1, 1)
"""state 0 with one action"""

PROBLEM = small_problem()
NOTHING = scaled(paper(), by=1e-12)
"""widths that nobody sees"""


def test_three_steps_by_hand() -> None:
    # N = 2 pairs and 2 triples, so rho = rho of the losses = sqrt(2 log(16 (1 + tau) / delta)) + 1. With
    # delta = 16 e^-4.5 that is sqrt(9) + 1 = 4 at tau = 0, and sqrt(2 (4.5 + log 2)) + 1 = 4.2227774 at tau = 1;
    # times the scale 0.05: 0.2 and 0.21113887.
    learner = LRCSSP(
        ONE_STATE,
        2,
        delta=16.0 * math.exp(-4.5),
        loss_floor=0.1,
        widths=scaled(paper(), by=0.05),
        options=LearnerOptions(tolerance=1e-9),
    )
    episode = learner.begin([1.0, 0.0])

    # No data: both losses are 0 - 0.2, raised to the floor; both rows lead to the goal. A tie: the first action.
    assert episode.act(0) == 0
    assert episode.plan is not None
    np.testing.assert_allclose(episode.plan.values, [0.1, 0.0], rtol=1e-8)
    assert episode.plan.losses.tolist() == [0.1, 0.1]
    assert episode.plan.rows.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert not episode.plan.known.any()  # 10 * sqrt(log(4 / delta)) * 1 = 17.6 is not below 0.1
    episode.observe(Step(0, 0, 0.8, 0))

    # Pair 0 has V = diag(2, 1): L = (0.4, 0), P = (0.5, 0), w = sqrt(1 / 2). The ball of the loss, and of the row:
    # 0.21113887 * 0.70710678 = 0.14929773. Loss 0.25070227, q = 0.35070227. Pair 1 as before: 0.1, the better.
    assert episode.act(0) == 1
    assert episode.plan is not None
    np.testing.assert_allclose(episode.plan.losses, [0.25070227, 0.1], atol=1e-8)
    np.testing.assert_allclose(episode.plan.rows, [0.35070227, 0.64929773, 0.0, 1.0], atol=1e-8)
    episode.observe(Step(0, 1, 1.0, 1))

    # Context (1/2, 1/2). Both pairs: w = sqrt(1/4 * 1/2 + 1/4 * 1) = 0.61237244, ball 0.12929563.
    # Pair 0: L.c = 0.2, minus the ball 0.0707, raised to 0.1; q = 0.25 - 0.12929563 = 0.12070437;
    #         for ever: v = 0.1 / (1 - 0.12070437) = 0.11372739.
    # Pair 1: L.c = 0.25, minus the ball 0.12070437; q = 0. So pair 0 is the better.
    episode = learner.begin([0.5, 0.5])
    assert episode.act(0) == 0
    assert episode.plan is not None
    np.testing.assert_allclose(episode.plan.values, [0.11372739, 0.0], atol=1e-8)
    np.testing.assert_allclose(episode.plan.losses, [0.1, 0.12070437], atol=1e-8)
    np.testing.assert_allclose(episode.plan.rows, [0.12070437, 0.87929563, 0.0, 1.0], atol=1e-8)
    episode.observe(Step(0, 0, 0.0, 1))
    assert (learner.intervals, learner.loss_bound) == (3, 1.0)

    # Pair 0 now: V = diag(2, 1) + 1/4 everywhere, of determinant 45/16 - 1/16 = 11/4; V^-1 (1, 0) = (5, -1) / 11.
    # Losses: 0.8 of that, (4/11, -4/55). Ridge row: (5/11, -1/11); -1/11 is cut to 0, which pulls the first entry to
    # 5/11 - (V01 / V00) / 11 = 5/11 - 1/99 = 4/9.
    assert learner.statistics.visits.tolist() == [2, 1]
    np.testing.assert_allclose(learner.statistics.gram[0], [[2.25, 0.25], [0.25, 1.25]])
    np.testing.assert_allclose(learner.estimate.losses[0], [4 / 11, -4 / 55], atol=1e-15)
    np.testing.assert_allclose(learner.estimate.rows[:2], [[4 / 9, 0.0], [5 / 9, 1.0]], atol=1e-15)


@pytest.mark.parametrize(("widths", "root"), [(paper(), math.sqrt(3.0)), (printed(), 1.0)])
def test_the_ball_of_a_row_has_the_radius_of_its_rule(widths: Any, root: float) -> None:
    # Three states, full support: 3 next states other than the goal for each of 3 pairs, so log(8 * 9 / delta). After
    # n steps from 0 to 0 the centre is n / (1 + n), and the ball takes root * rho * sqrt(1 / (1 + n)) away.
    learner = LRCSSP(Support.full(3, 1), 1, delta=0.5, loss_floor=1.0, loss_bound=9.0, widths=scaled(widths, by=0.1))
    episode = learner.begin([1.0])
    for _ in range(9):
        episode.observe(Step(0, episode.act(0), 1.0, 0))
    rho = math.sqrt(math.log(8 * 9 * 10 / 0.5)) + 1.0
    row = learner.plan([1.0]).rows[:4]
    np.testing.assert_allclose(row[0], 0.9 - 0.1 * root * rho * math.sqrt(0.1), rtol=1e-12)
    np.testing.assert_allclose(row[1:], [0.0, 0.0, 1.0 - row[0]])


def test_ties_go_to_the_first_action_whatever_was_played_before() -> None:
    learner = LRCSSP(Support.full(1, 3), 2, loss_floor=0.1, loss_bound=5.0, widths=NOTHING)
    for best in (0, 1, 2):  # each is tried once under the first corner, and found to lose 1: L = (1/2, 0)
        episode = learner.begin([1.0, 0.0])
        assert episode.act(0) == best
        episode.observe(Step(0, best, 1.0, 1))
    for _ in range(2):
        assert learner.begin([1.0, 0.0]).act(0) == 0  # three times 1/2
        assert learner.begin([0.0, 1.0]).act(0) == 0  # three times the floor


def test_a_known_pair_keeps_the_plan_until_the_goal() -> None:
    # w = 1 / sqrt(1000), and the widths are nothing: 10 sqrt(log(4 / 0.5)) / sqrt(1000) = 0.456 < 0.5
    learner = LRCSSP(
        LOOP,
        1,
        delta=0.5,
        loss_floor=0.5,
        loss_bound=1.0,
        widths=NOTHING,
        options=LearnerOptions(regularization=1000.0),
    )
    episode = learner.begin([1.0])
    for _ in range(3):
        episode.act(0)
        assert episode.plan is not None
        assert episode.plan.known.all()
        episode.observe(Step(0, 0, 1.0, 0))
        assert (episode.interval, episode.unknown_steps) == (1, 0)
        assert episode.plan is not None  # still held
    episode.act(0)
    episode.observe(Step(0, 0, 1.0, 1))
    assert (learner.intervals, learner.begin([1.0]).interval) == (1, 2)


@pytest.mark.parametrize(("floor", "episodes", "loss"), [(1.0, None, 1.0), (0.0, 1, 0.0)])
@pytest.mark.parametrize("forget", [False, True])
def test_an_interval_that_loses_too_much_doubles_the_bound_and_ends(
    floor: float, episodes: int | None, loss: float, forget: bool
) -> None:
    # All is known: 10 sqrt(log 8) / sqrt(1e5) = 0.046 < 1. 48 * 1 * log(4 / 0.5) = 99.8, so the 100th loss of 1 is too
    # much; so is the 100th loss of 0 where eps = 1 is added to it.
    learner = LRCSSP(
        LOOP,
        1,
        delta=0.5,
        loss_floor=floor,
        options=LearnerOptions(episodes=episodes, regularization=1e5, forget=forget),
        widths=NOTHING,
    )
    episode = learner.begin([1.0])
    for count in range(1, 101):
        episode.act(0)
        assert episode.unknown_steps == 0
        episode.observe(Step(0, 0, loss, 0))
        assert (learner.loss_bound, episode.interval) == ((1.0, 1) if count < 100 else (2.0, 2))
    assert learner.doublings == 1
    # Forgetting takes the step along that was too much: data that began with it would be selected by its outcome.
    assert learner.statistics.visits.tolist() == [0 if forget else 100]


@pytest.mark.parametrize(
    ("forget", "bounds", "samples"), [(False, [1, 1, 2, 4], [0, 1, 2, 3]), (True, [1, 1, 2, 2], [0, 1, 0, 1])]
)
def test_a_plan_above_the_bound_doubles_it_until_it_fits(forget: bool, bounds: list[int], samples: list[int]) -> None:
    # Without widths, after n steps that stay at loss 1: L = P = n / (1 + n), so v = L / (1 - P) = n. It passes 1 at
    # n = 2 and 2 at n = 3. Forgetting at n = 2 leaves no data; at the third step there is one sample.
    learner = LRCSSP(
        LOOP, 1, delta=0.5, loss_floor=0.5, widths=NOTHING, options=LearnerOptions(forget=forget, tolerance=1e-6)
    )
    episode = learner.begin([1.0])
    planned, held = [], []
    for _ in range(4):
        episode.act(0)
        assert episode.plan is not None
        planned.append(episode.plan.loss_bound)
        held.append(int(learner.statistics.visits.sum()))
        episode.observe(Step(0, 0, 1.0, 0))
        assert learner.loss_bound == planned[-1]
    assert (planned, held) == (bounds, samples)


def test_a_bound_is_not_raised_by_looking() -> None:
    learner = LRCSSP(LOOP, 1, delta=0.5, loss_floor=0.5, widths=NOTHING)
    episode = learner.begin([1.0])
    for _ in range(5):
        episode.observe(Step(0, episode.act(0), 1.0, 0))
    assert learner.loss_bound == 4.0  # of the plan that was followed last, after 4 steps: v = 4
    assert learner.plan([1.0]).loss_bound == 8.0  # v = 5
    assert learner.loss_bound == 4.0
    episode.act(0)
    assert learner.loss_bound == 4.0
    episode.observe(Step(0, 0, 1.0, 0))
    assert learner.loss_bound == 8.0


def test_the_variant_for_zero_losses_adds_epsilon_to_the_clipped_loss() -> None:
    # eps = 1 * (1 * 2 / 2000)^(1/3) = 0.1. Without widths, pair 0 after a free step to the goal: 0 + 0.1; so is pair 1.
    learner = LRCSSP(ONE_STATE, 1, delta=0.5, loss_floor=0.0, options=LearnerOptions(episodes=2000), widths=NOTHING)
    assert learner.added_loss == pytest.approx(0.1)
    episode = learner.begin([1.0])
    episode.observe(Step(0, episode.act(0), 0.0, 1))
    np.testing.assert_allclose(learner.plan([1.0]).losses, [0.1, 0.1])
    # a loss of 1 to the goal: L = (0 + 1) / 3, so pair 0 is 1/3 + 0.1 and pair 1 is the better
    episode = learner.begin([1.0])
    assert episode.act(0) == 0
    episode.observe(Step(0, 0, 1.0, 1))
    plan = learner.plan([1.0])
    np.testing.assert_allclose(plan.losses, [1 / 3 + 0.1, 0.1])
    assert plan.policy.tolist() == [1]
    assert learner.statistics.loss_sums[0, 0] == 1.0  # epsilon is no data


@pytest.fixture(scope="module", params=MODES)
def taught(request: pytest.FixtureRequest) -> Clinic:
    """A learner that has seen 60 steps; an episode is open."""
    return play_one(PROBLEM, learner_of(PROBLEM, **MODES[request.param]), 60)


def known_by_hand(learner: LRCSSP, plan: Plan, interval: int) -> tuple[list[bool], list[float]]:
    """eq. (ineq-known) from the statistics, and how far it is from equality (relative)."""
    support, settings, statistics = learner.support, learner.settings, learner.statistics
    following = [int((support.next_state[support.row(i)] < support.states).sum()) for i in range(support.pairs)]
    flags, distances = [], []
    for i in range(support.pairs):
        inside = 8.0 * sum(following) * (1.0 + statistics.visits[i] / settings.regularization) / settings.delta
        rho = math.sqrt(settings.context_size * math.log(inside)) + math.sqrt(settings.regularization)
        beta = settings.widths.scale * max(following[i], 1) * rho
        width = math.sqrt(plan.context @ np.linalg.solve(statistics.gram[i], plan.context))
        known_width = 10.0 * plan.loss_bound * max(beta, math.sqrt(math.log(4.0 * interval / settings.delta))) * width
        floor = settings.loss_floor + learner.added_loss
        flags.append(known_width < floor)
        distances.append(abs(known_width / floor - 1.0))
    return flags, distances


def test_a_plan_is_what_it_says(taught: Clinic) -> None:
    learner, support = taught.learner, PROBLEM.support
    rng = np.random.default_rng(3)
    for context in [*np.eye(2), *rng.dirichlet(np.ones(2), 4)]:
        plan = learner.plan(context)
        assert plan.context.tobytes() == np.asarray(context).tobytes()
        shapes = [getattr(plan, name).shape for name in ("policy", "values", "upper", "losses", "rows", "known")]
        assert shapes == [(3,), (4,), (4,), (6,), (support.triples,), (6,)]
        assert (plan.values <= plan.upper).all()
        # relative to the loss floor, value iteration is exact to 1e-3: lower and upper are not further apart
        assert (plan.upper <= plan.values * (1.0 + 2.1e-3)).all()
        assert plan.values[-1] == plan.upper[-1] == 0.0
        floor = learner.settings.loss_floor + learner.added_loss
        assert (plan.losses >= floor).all()
        assert (plan.losses <= 1.0 + learner.added_loss).all()
        assert (plan.rows >= 0.0).all()
        assert (np.add.reduceat(plan.rows, support.next_start[:-1]) <= 1.0 + 1e-12).all()
        for state in range(3):
            support.pair(state, int(plan.policy[state]))  # such a pair exists
        flags, distances = known_by_hand(learner, plan, learner.intervals + 1)
        assert min(distances) > 1e-9
        assert plan.known.tolist() == flags
        assert not plan.values.flags.writeable
        with pytest.raises(AttributeError):
            plan.values = plan.upper  # type: ignore[misc]


def test_the_policy_of_a_plan_is_best_in_its_model(taught: Clinic) -> None:
    """With v the last values and r the residual, the model's own values lie between the bounds: (1 - x) v is below
    every backup of the sets, so of the model; and the model's rows attain the backup of v, which is below v + r."""
    for context in np.random.default_rng(4).dirichlet(np.ones(2), 3):
        plan = taught.learner.plan(context)
        truth = solve(plan.model())
        assert (truth.lower <= plan.upper).all()
        if plan.losses.max() <= 1.0:  # larger ones, which an added loss can make, are shown as 1
            assert (truth.upper >= plan.values).all()


def test_looking_changes_nothing(taught: Clinic) -> None:
    before = written(taught.learner)
    for context in np.random.default_rng(5).dirichlet(np.ones(2), 5):
        str(taught.learner.plan(context))
        repr(taught.learner)
        taught.learner.estimate.model()
        assert taught.learner.statistics.visits.sum() <= 60
    for episode in taught.learner.open_episodes:
        str(episode.plan)
    assert written(taught.learner) == before


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "forgetting"])
def test_a_plan_is_what_an_episode_would_do(mode: str) -> None:
    learner = play_one(PROBLEM, learner_of(PROBLEM, **MODES[mode]), 60).learner
    for context in np.random.default_rng(6).dirichlet(np.ones(2), 5):
        plan = learner.plan(context)
        episodes = [learner.begin(context) for _ in range(3)]
        assert [episodes[state].act(state) for state in range(3)] == plan.policy.tolist()
        held = episodes[0].plan
        assert held is not None
        for name in ("policy", "values", "upper", "losses", "rows"):
            assert getattr(held, name).tobytes() == getattr(plan, name).tobytes()
        assert held.loss_bound == plan.loss_bound


def test_the_estimate_is_the_projected_ridge_regression(taught: Clinic) -> None:
    learner = taught.learner
    estimate = learner.estimate
    again = project(ridge_estimate(learner.statistics))
    np.testing.assert_allclose(estimate.losses, again.losses, atol=1e-12)
    np.testing.assert_allclose(estimate.rows, again.rows, atol=1e-12)
    assert estimate.projected
    model = estimate.model()
    assert (model.context_size, model.support.pairs) == (2, 6)
    assert not estimate.losses.flags.writeable


def test_statistics_show_what_is_learned_as_it_is_learned() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    statistics = learner.statistics
    play_one(PROBLEM, learner, 10)
    assert statistics.visits.sum() == 10
    with pytest.raises(ValueError, match="read-only"):
        statistics.visits[0] = 5


def test_a_plan_without_end_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = play_one(PROBLEM, learner_of(PROBLEM, **{**MODES["narrow"], "tolerance": 1e-9}), 60).learner
    monkeypatch.setattr("goalbound.learners.base.LearnerBase.MOST_SWEEPS", 1)
    with pytest.raises(PlanningStopped, match="raise loss_floor or tolerance"):
        learner.plan([0.5, 0.5])
    episode = learner.begin([0.5, 0.5])
    with pytest.raises(PlanningStopped, match="did not settle in 1 sweeps"):
        episode.act(0)
    assert episode.plan is None  # nothing that looks like one
    monkeypatch.setattr("goalbound.learners.base.LearnerBase.MOST_SWEEPS", 1_000_000)
    episode.act(0)
    assert episode.plan is not None


def test_a_problem_that_does_not_fit_is_refused() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    with pytest.raises(InputError, match="other states or actions"):
        learner.check_fits(small_problem(states=2), 2)
    with pytest.raises(InputError, match="contexts have 3 entries, the learner knows 2"):
        learner.check_fits(PROBLEM, 3)
    narrow = LRCSSP(Support.from_pairs([{0: [3], 1: [3]}] * 3), 2, loss_floor=0.1)
    with pytest.raises(InputError, match=r"may lead to state \d in the problem, but not in the learner's support"):
        narrow.check_fits(PROBLEM, 2)
    LRCSSP(Support.full(3, 2), 2, loss_floor=0.1).check_fits(PROBLEM, 2)


def test_after_a_projection_that_failed_nothing_is_planned_but_the_learner_can_be_saved(tmp_path: Path) -> None:
    learner = GreedyRidge(Support.full(1, 1), 1, loss_floor=0.5)
    episode = learner.begin([1.0])
    action = episode.act(0)
    learner._state.totals["failed_projections"] = 1  # no data at hand makes one fail
    with pytest.raises(ProjectionFailed, match="Raise the regularization"):
        episode.observe(Step(0, action, 0.5, 1))
    assert episode.ended
    learner.save(tmp_path / "learner.npz")
    for one in (learner, GreedyRidge.load(tmp_path / "learner.npz")):
        with pytest.raises(ProjectionFailed):
            one.plan([1.0])
        assert one.statistics.visits[0] == 1


@pytest.mark.parametrize("spoiled", [-1.0, np.nan])
def test_a_learner_with_confidence_sets_bears_with_an_inverse_that_is_wrong(spoiled: float, tmp_path: Path) -> None:
    """A projection of nonsense makes the set of its pair larger; the learner goes on, and the truth stays inside."""
    truth = SSP.dense([[0.5]], [[[0.5, 0.5]]])
    learner = LRCSSP(Support.full(1, 1), 2, loss_floor=0.5, widths=paper())
    rng = np.random.default_rng(0)
    for context in rng.dirichlet([1.0, 1.0], size=5):
        learner._state.regression.inverse[0] *= spoiled
        episode = learner.begin(context)
        episode.act(0)
        episode.observe(Step(0, 0, 0.5, 1))
        for probe in ([1.0, 0.0], [0.4, 0.6]):
            found = confidence_set(learner.statistics, probe, estimate=learner.estimate)
            assert found.contains(truth, slack=0.0)
            assert learner.plan(probe).values[0] <= 1.0  # 0.5 for each of two steps on average
    learner.save(tmp_path / "learner.npz")


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
@pytest.mark.parametrize("regularization", [1e-6, 1e-5])
def test_a_million_visits_under_one_context_leave_the_truth_inside(widths: Widths, regularization: float) -> None:
    """With a small regularization the Gram matrix of equal contexts has condition number 10^12. In version 0.2.0 the
    truth was outside from 775,599 visits on, or the projection failed."""
    truth = SSP.dense([[0.5]], [[[0.5, 0.5]]])
    problem = LinearCSSP.mix([truth, truth])
    learner = LRCSSP(
        problem.support, 2, loss_floor=0.25, widths=widths, options=LearnerOptions(regularization=regularization)
    )
    context = [0.3, 0.7]
    for seed in range(4):
        play(problem, learner, FromArray([context] * 125_000), episodes=125_000, seed=seed)
        for probe in (context, [1.0, 0.0], [0.31, 0.69]):
            if widths.intervals is None:
                found = confidence_set(learner.statistics, probe, estimate=learner.estimate)
                assert found.contains(truth, slack=0.0)
            else:
                assert learner.confidence_set(probe).contains(truth, tolerance=0.0)
    # and the set of the context played is as small as it should be: 6 standard deviations are 0.003
    if widths.intervals is not None:
        seen = learner.confidence_set(context)
        assert seen.high[1] - seen.low[1] < 0.02
    assert learner.statistics.visits[0] > 900_000
