"""LR-CSSP with likelihood-ratio sets: which numbers have one, what the sets hold, and how they are kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, ModelEnvironment, OneHot, Step, play, widths
from goalbound.errors import ArgumentError
from goalbound.learners.settings import LearnerOptions
from goalbound.models import IntervalSet, LinearCSSP
from goalbound.problems import dense_random, windy_grid
from goalbound.simulation import bernoulli
from goalbound.testing import check_learner
from tests.support.driving import reloaded, written

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)


def learner_of(problem: LinearCSSP = PROBLEM, **others: Any) -> LRCSSP:
    settings = {"loss_floor": 0.1, "loss_bound": 6.0, "widths": widths.likelihood(), **others}
    return LRCSSP(problem.support, problem.context_size, **settings)


def run(learner: LRCSSP, episodes: int, *, problem: LinearCSSP = PROBLEM, seed: int = 0, **options: Any) -> Any:
    return play(
        problem, learner, options.pop("contexts", Dirichlet.symmetric(problem.context_size)), episodes=episodes,
        seed=seed, environment=partial(ModelEnvironment, problem, losses=bernoulli()), **options,
    )  # fmt: skip


def random_log(problem: LinearCSSP, count: int) -> list[tuple[Any, Step]]:
    """Any action, in any state, under random contexts."""
    rng, support, log = np.random.default_rng(0), problem.support, []
    for _ in range(count):
        context, pair = rng.dirichlet(np.ones(problem.context_size)), int(rng.integers(support.pairs))
        chances = (problem.probabilities @ context)[support.row(pair)]
        following = int(rng.choice(support.next_state[support.row(pair)], p=chances / chances.sum()))
        loss = float(rng.random() < problem.losses[pair] @ context)
        log.append((context, Step(int(support.pair_state[pair]), int(support.pair_action[pair]), loss, following)))
    return log


def holds(sets: Any, problem: LinearCSSP, context: Any) -> bool:
    assert isinstance(sets, IntervalSet)
    losses, rows = problem.losses @ context, problem.probabilities @ context
    inside = (sets.loss_low <= losses + 1e-12) & (losses <= sets.loss_high + 1e-12)
    return bool(inside.all() and ((sets.low <= rows + 1e-12) & (rows <= sets.high + 1e-12)).all())


def test_the_learner_keeps_its_contract() -> None:
    check_learner(
        lambda problem: LRCSSP(problem.support, problem.context_size, loss_floor=0.1, widths=widths.likelihood())
    )


def test_sets_hold_the_truth_and_are_smaller_than_sharp_ones() -> None:
    context, lengths = np.array([0.3, 0.7]), {}
    log = random_log(PROBLEM, 1500)
    for rule in (widths.sharp(), widths.likelihood()):
        learner = learner_of(widths=rule)
        learner.learn_log(log)
        sets = learner.confidence_set(context)
        assert holds(sets, PROBLEM, context)
        lengths[str(rule)] = float((sets.high - sets.low).sum() + (sets.loss_high - sets.loss_low).sum())
    assert lengths["likelihood"] < 0.85 * lengths["sharp"]


@pytest.mark.parametrize("problem", [dense_random(4, actions=2, context_size=3, seed=1), windy_grid(2, 3)], ids=repr)
def test_whole_runs_keep_the_truth_in_all_sets(problem: LinearCSSP) -> None:
    """delta is 0.1: of 20 runs more than 5 failures have a chance of at most 0.011."""
    failed = 0
    for seed in range(20):
        source = OneHot(problem.context_size) if seed % 2 else Dirichlet.symmetric(problem.context_size)
        learner = learner_of(problem, loss_floor=float(problem.losses.min()), loss_bound=20.0)
        history = run(learner, 60, problem=problem, seed=seed, contexts=source, audit=True, step_limit=500)
        failed += not history.diagnostics.covered
    assert failed <= 5


@pytest.mark.parametrize(
    "settings",
    [{}, {"loss_bound": None}, {"loss_bound": None, "options": LearnerOptions(forget=True)},
     {"loss_floor": 0.0, "options": LearnerOptions(episodes=100)}],
    ids=["given", "doubling", "forgetting", "zero losses"],
)  # fmt: skip
def test_compiled_and_plain_runs_are_the_same_and_stops_change_nothing(settings: dict[str, Any]) -> None:
    one, two = learner_of(**settings), learner_of(**settings)
    first, second = run(one, 30, compiled=True), run(two, 30, compiled=False)
    np.testing.assert_array_equal(first.steps, second.steps)
    assert written(one) == written(two)

    again = reloaded(one)
    assert written(again) == written(one)
    for learner in (one, again):
        run(learner, 10, seed=5)
    assert written(again) == written(one)


def test_looking_changes_nothing() -> None:
    one, two = learner_of(), learner_of()
    for seed in range(4):
        run(one, 10, seed=seed)
        run(two, 10, seed=seed)
        two.plan([0.2, 0.8])
        two.policy_bounds([0.9, 0.1])
    assert written(one) == written(two)


def test_likelihoods_begin_with_the_change_where_there_were_none() -> None:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.sharp())
    log = [([0.5, 0.5], Step(0, k % 2, 0.5, k % 4)) for k in range(80)]
    learner.learn_log(log)
    changed = learner.with_settings(widths=widths.likelihood())

    assert changed.statistics.visits.sum() == 80
    assert changed._state.sets.visits.sum() == 0
    changed.learn_log(log)
    assert changed._state.sets.visits.sum() == 80


def test_likelihood_widths_have_no_scale() -> None:
    with pytest.raises(ArgumentError, match="no radius to multiply"):
        widths.scaled(widths.likelihood(), by=0.5)
    assert widths.Widths.from_json(widths.likelihood().as_json()) == widths.likelihood()
    with pytest.raises(ArgumentError, match="no rule is called 'paper' and has these settings"):
        widths.Widths.from_json(widths.paper().as_json() | {"likelihood": True})
