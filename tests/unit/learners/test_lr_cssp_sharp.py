"""LR-CSSP with sharp widths: by hand, in both loops, stopped and loaded, looked at, watched, with fewer plans."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    BallSet,
    Dirichlet,
    IntervalSet,
    ModelEnvironment,
    context_bounds,
    extended_value_iteration,
    play,
)
from goalbound.confidence import Widths, likelihood, paper, project, ridge_estimate, scaled, sharp
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Step, Support
from goalbound.problems import dense_random
from goalbound.simulation import bernoulli
from goalbound.simulation.diagnostics import AuditOptions, LearnerAudit
from goalbound.simulation.history import PER_EPISODE, History
from tests.support.driving import Clinic, play_one, reloaded, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import lr_cssp

PROBLEM = small_problem()
NARROW = scaled(sharp(), by=0.05)
"""so narrow that plans depend on data from the first steps on, and the truth is lost now and then"""


def known_row() -> PriorKnowledge:
    """The first row of the problem, as it is."""
    support = PROBLEM.support
    row = np.zeros((support.states + 1, 2))
    row[support.next_state[support.row(0)]] = PROBLEM.probabilities[support.row(0)]
    pair = int(support.pair_state[0]), int(support.pair_action[0])
    return PriorKnowledge.nothing(support, 2).with_rows({pair: row}).with_floors(np.full(support.pairs, 0.1))


MODES: dict[str, dict[str, Any]] = {
    "as proven": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": sharp()},
    "likelihood": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": likelihood()},
    "likelihood, forgetting": {"loss_floor": 0.1, "widths": likelihood(), "forget": True},
    "narrow": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": NARROW},
    "few pieces": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": scaled(sharp(goal=False, variance=False), by=0.05)},
    "doubling": {"loss_floor": 0.1, "widths": NARROW, "regularization": 0.1},
    "forgetting": {"loss_floor": 0.1, "widths": NARROW, "regularization": 0.1, "forget": True},
    "zero losses": {"loss_floor": 0.0, "episodes": 5000, "widths": NARROW},
    "fewer plans": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": NARROW, "replan_factor": 2.0},
    "untested": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": NARROW, "check_linearity": False},
    "knowing": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": NARROW, "prior": known_row()},
}


def learner_of(mode: str) -> LRCSSP:
    return lr_cssp(PROBLEM.support, 2, **MODES[mode])


def run(learner: Any, *, problem: LinearCSSP = PROBLEM, episodes: int = 40, **options: Any) -> History:
    environment = partial(ModelEnvironment, problem, losses=bernoulli())
    return play(
        problem, learner, Dirichlet.symmetric(problem.context_size), episodes=episodes, seed=3, environment=environment,
        **options,
    )  # fmt: skip


def test_three_steps_by_hand() -> None:
    # One state, one action, d = 1; two of three steps stay, losses 0.6 each. V = 1 + 3 = 4, x = 1/4, w = 1/2.
    # Noise of a row, at a scale of 0.1: 0.1 * 1/2 * 1/2 sqrt(log 4 + 2 log(8 * 2 / 0.1)) = 0.084914. Of the loss, with
    # log(8 * 1 / 0.1): 0.1 * 1/4 sqrt(1.386294 + 8.764053) = 0.079649. Bias: from 0 to 1/4.
    learner = LRCSSP(
        Support.full(1, 1), 1, loss_floor=0.1, loss_bound=5.0, options=LearnerOptions(tolerance=1e-9),
        widths=scaled(sharp(variance=False), by=0.1),
    )  # fmt: skip
    episode = learner.begin([1.0])
    for following in (0, 0, 1):
        episode.observe(Step(0, episode.act(0), 0.6, following))
    row, loss = 0.025 * math.sqrt(math.log(4.0) + 2.0 * math.log(160.0)), 0.0796488
    found = learner.confidence_set([1.0])
    np.testing.assert_allclose(found.low, [0.5 - row, 0.25 - row], rtol=1e-12)
    np.testing.assert_allclose(found.high, [0.75 + row, 0.5 + row], rtol=1e-12)
    np.testing.assert_allclose([found.loss_low[0], found.loss_high[0]], [0.45 - loss, 0.7 + loss], atol=1e-6)
    # The optimistic row gives the goal all it may, 0.584914, and the state the rest, which it may have.
    plan = learner.plan([1.0])
    np.testing.assert_allclose(plan.rows, [0.5 - row, 0.5 + row], rtol=1e-12)
    assert plan.values[0] == pytest.approx((0.45 - loss) / (0.5 + row), rel=1e-5)
    assert plan.values[1] == 0.0


def test_without_data_the_learner_hopes_for_the_goal_at_the_loss_floor() -> None:
    plan = learner_of("as proven").plan([0.3, 0.7])
    can_arrive = {int(PROBLEM.support.pair_state[i]) for i in range(PROBLEM.support.pairs)
                  if PROBLEM.support.states in PROBLEM.support.next_state[PROBLEM.support.row(i)]}  # fmt: skip
    for state in can_arrive:
        assert plan.values[state] == pytest.approx(0.1, rel=1e-2)


@pytest.mark.parametrize("mode", MODES)
def test_the_compiled_loop_plays_what_the_plain_one_plays_to_the_bit(mode: str) -> None:
    plain = learner_of(mode)
    history = run(plain, compiled=False)
    for way in (PYTHON, COMPILED):
        looped = learner_of(mode)
        with kernels(way):
            again = run(looped)
        for name in PER_EPISODE:
            assert getattr(again, name).tobytes() == getattr(history, name).tobytes(), name
        assert written(looped) == written(plain)


@pytest.mark.parametrize("mode", MODES)
def test_a_stop_in_the_middle_of_several_episodes_cannot_be_seen(mode: str) -> None:
    straight = Clinic(PROBLEM, learner_of(mode), beds=3).run(240)
    stopped = Clinic(PROBLEM, learner_of(mode), beds=3)
    for ticks in (1, 2, 37, 100, 100):
        stopped.run(ticks)
        stopped.stop()
    assert stopped.actions == straight.actions
    assert written(stopped.learner) == written(straight.learner)
    assert stopped.learner.settings == straight.learner.settings
    assert stopped.learner.prior == straight.learner.prior


def test_what_one_episode_observes_the_others_know() -> None:
    learner = learner_of("narrow")
    first, second = learner.begin([0.5, 0.5]), learner.begin([0.5, 0.5])
    before = learner.confidence_set([0.5, 0.5])
    action = first.act(0)
    first.observe(Step(0, action, 0.9, int(PROBLEM.support.next_state[PROBLEM.support.row(action)][0])))
    pair = PROBLEM.support.pair(0, action)
    assert before.loss_low[pair] == 0.1
    second.act(0)
    assert second.plan is not None
    assert second.plan.losses[pair] == learner.confidence_set([0.5, 0.5]).loss_low[pair] > 0.1


@pytest.mark.parametrize("mode", ["narrow", "doubling", "zero losses", "knowing"])
def test_looking_changes_nothing(mode: str) -> None:
    clinic = Clinic(PROBLEM, learner_of(mode), beds=2).run(150)
    learner, before = clinic.learner, written(clinic.learner)
    for context in ([1.0, 0.0], [0.5, 0.5]):
        learner.plan(context)
        found = learner.confidence_set(context)
        assert not found.low.flags.writeable
    _ = learner.estimate
    assert written(learner) == before


def test_the_plan_stays_within_the_intervals() -> None:
    learner = play_one(PROBLEM, learner_of("as proven"), 300).learner
    for weight in np.linspace(0.0, 1.0, 5):
        context = [weight, 1.0 - weight]
        found, plan = learner.confidence_set(context), learner.plan(context)
        assert (plan.rows >= found.low - 1e-12).all()
        assert (plan.rows <= found.high + 1e-12).all()
        np.testing.assert_array_equal(plan.losses, found.loss_low)
        assert found.contains(PROBLEM.at(context))


def test_the_estimate_is_the_projected_one_of_all_data() -> None:
    learner = play_one(PROBLEM, learner_of("as proven"), 200).learner
    expected = project(ridge_estimate(learner.statistics))
    np.testing.assert_array_equal(learner.estimate.rows, expected.rows)
    np.testing.assert_array_equal(learner.estimate.losses, expected.losses)
    assert learner.estimate.projected


@pytest.mark.parametrize("widths", [paper(), scaled(paper(), by=0.1), sharp(), scaled(sharp(), by=0.5)])
def test_extended_value_iteration_plans_in_the_sets_of_a_learner_as_the_learner_does(widths: Widths) -> None:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, loss_bound=5.0, widths=widths)
    run(learner, episodes=30)
    for context in ([0.5, 0.5], [1.0, 0.0], [0.2, 0.8]):
        sets, plan = learner.confidence_set(context), learner.plan(context)
        assert isinstance(sets, IntervalSet if widths.intervals is not None else BallSet)
        found = extended_value_iteration(sets)
        # Both are within their tolerances of the exact optimistic values: 1e-3 of the loss floor, and 1e-6.
        np.testing.assert_allclose(found.values, plan.values, rtol=5e-3)
        assert (found.values <= plan.upper + 1e-9).all()
        assert (plan.values <= found.upper + 1e-9).all()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_the_five_terms_sum_to_the_realised_regret(mode: str, compiled: bool) -> None:
    history = run(learner_of(mode), audit=AuditOptions(loss_bound=6.0), compiled=compiled, episodes=30)
    report = history.diagnostics
    assert report is not None
    assert abs(report.regret - history.total_regret) <= 1e-9 * history.loss.sum()
    assert (report.episodes, report.steps) == (history.episodes, history.steps.sum())
    assert report.intervals == history.intervals.sum()


@pytest.mark.parametrize("mode", ["narrow", "zero losses", "knowing"])
def test_the_audit_tells_of_every_plan_whether_the_truth_is_in_the_intervals(mode: str) -> None:
    # With 1/20 of the widths both happens. The truth of the audit has the losses that the learner sees: those of
    # the problem and what is added. They may be above 1, so the intervals are compared here number by number.
    audit = LearnerAudit(learner_of(mode), PROBLEM, AuditOptions(loss_bound=6.0))
    environment = ModelEnvironment(PROBLEM, losses=bernoulli(), rng=np.random.default_rng(1))
    rng, learner, inside = np.random.default_rng(2), audit.learner, []
    for _ in range(25):
        context = rng.dirichlet(np.ones(2))
        truth = PROBLEM.at(context)
        state, episode, begun = environment.begin(context), audit.begin(context), 0
        while not episode.ended:
            found = learner.confidence_set(context)
            step = environment.step(episode.act(state))
            if episode.intervals > begun:
                begun = episode.intervals
                losses = truth.losses + learner.added_loss
                inside.append(
                    bool((found.low <= truth.probabilities).all() and (truth.probabilities <= found.high).all()
                         and (found.loss_low <= losses).all() and (losses <= found.loss_high).all())
                )  # fmt: skip
            episode.observe(step)
            state = step.next_state
    report = audit.report()
    assert report.intervals == len(inside)
    assert report.covered_intervals == sum(inside)
    assert 0 < sum(inside) < len(inside)


def test_a_bound_of_the_regret_that_needs_only_the_widths_as_they_were() -> None:
    report = run(learner_of("as proven"), audit=AuditOptions(loss_bound=5.0), episodes=300).diagnostics
    assert report is not None
    assert report.good_event
    assert report.regret <= report.own_bound <= report.measured_bound
    assert report.lemma_bound == math.inf  # the width of a box is no function of the visits alone


def test_planning_when_a_determinant_has_doubled_makes_a_fifth_of_the_plans_for_a_tenth_of_the_regret_more() -> None:
    problem = dense_random(4, actions=2, context_size=2, seed=1)
    bounds = context_bounds(problem, tolerance=0.1)
    plans, regrets = [], []
    for factor in (1.0, 2.0):
        learner = LRCSSP(
            problem.support, 2, loss_floor=bounds.loss_floor, loss_bound=bounds.loss_bound.upper, widths=sharp(),
            options=LearnerOptions(replan_factor=factor),
        )  # fmt: skip
        history = run(learner, problem=problem, episodes=4000)
        plans.append(int((history.intervals - 1).sum()))  # every episode has a first plan, whatever the factor
        regrets.append(history.total_expected_regret)
    assert 5 * plans[1] <= plans[0]
    assert regrets[1] <= 1.1 * regrets[0]


def test_a_checkpoint_keeps_the_pieces(tmp_path: Any) -> None:
    for widths in (sharp(), sharp(goal=False), NARROW):
        learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, loss_bound=5.0, widths=widths)
        again = reloaded(learner)
        assert again.settings.widths == widths
        learner.save(tmp_path / "learner", overwrite=True)
        assert learner.restored(tmp_path / "learner").settings == learner.settings
