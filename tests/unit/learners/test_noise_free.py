"""LR-CSSP and its relatives with losses that are said to be free of noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, GreedyRidge, ModelEnvironment, PriorKnowledge, Step, Support, play, widths
from goalbound.errors import ArgumentError
from goalbound.problems import dense_random
from goalbound.simulation import bernoulli, deterministic
from tests.support.driving import reloaded, written

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)
PRIOR = PriorKnowledge.nothing(PROBLEM.support, 2).with_noise_free_losses()


def learner_of(kind: Any = LRCSSP, prior: PriorKnowledge | None = PRIOR, **others: Any) -> Any:
    settings = {"loss_bound": 6.0, "widths": widths.likelihood(), **others} if kind is LRCSSP else others
    return kind(PROBLEM.support, 2, loss_floor=0.1, prior=prior, **settings)


def run(learner: Any, episodes: int, law: Any = None, **options: Any) -> Any:
    """Play; audited, which changes nothing of what is played: so published experiments do, and the compiled program is
    theirs. A program takes some 15 seconds to compile."""
    law = deterministic() if law is None else law
    environment = partial(ModelEnvironment, PROBLEM, losses=law)
    contexts = Dirichlet.symmetric(2)
    return play(PROBLEM, learner, contexts, episodes=episodes, environment=environment, audit=True, **options)


@pytest.mark.parametrize("rule", [widths.likelihood(), widths.sharp()], ids=str)
def test_losses_are_exact_where_they_were_seen_and_rows_are_as_before(rule: Any) -> None:
    learner = learner_of(widths=rule)
    compiled = rule == widths.likelihood()  # nothing else would run a program for sharp widths
    run(learner, 200 if compiled else 30, step_limit=500, compiled=compiled)
    context = np.array([0.3, 0.7])
    sets, losses = learner.confidence_set(context), PROBLEM.losses @ context
    often = learner.statistics.visits >= 3
    assert often.any()
    assert (sets.loss_high - sets.loss_low)[often].max() < 1e-6
    assert (sets.loss_low <= losses + 1e-9).all()
    assert (losses <= sets.loss_high + 1e-9).all()
    np.testing.assert_allclose(learner._estimated(context).losses[often], losses[often], atol=1e-6)


@pytest.mark.parametrize("kind", [LRCSSP, GreedyRidge])
def test_a_loss_that_contradicts_others_is_an_error_that_names_both(kind: Any) -> None:
    learner = learner_of(kind)
    for context, loss in (([1.0, 0.0], 0.25), ([0.5, 0.5], 0.5)):
        learner.learn(context, Step(0, 0, loss, 1))
    episode = learner.begin([0.0, 1.0])
    action = episode.act(0)
    with pytest.raises(
        ArgumentError, match=r"was 0\.3 under \[0, 1\].*0\.25 under \[1, 0\], 0\.5 under \[0\.5, 0\.5\].*only be 0\.75"
    ):
        learner.learn([0.0, 1.0], Step(0, 0, 0.3, 1))
    assert learner.statistics.visits.sum() == 2
    if action == 0:
        with pytest.raises(ArgumentError, match=r"only be 0\.75"):
            episode.observe(Step(0, action, 0.3, 1))
        assert not episode.ended
        episode.observe(Step(0, action, 0.75, 1))
    learner.learn([0.0, 1.0], Step(0, 0, 0.75, 1))


def test_a_log_is_learned_up_to_the_contradiction() -> None:
    learner = learner_of()
    log = [([1.0, 0.0], Step(0, 0, 0.25, 1)), ([0.0, 1.0], Step(0, 0, 0.5, 1)), ([0.5, 0.5], Step(0, 0, 0.5, 1))]
    said = r"^step 2 of the log, from 0 on: .*only be 0\.375.*\(the steps before it were learned\)$"
    with pytest.raises(ArgumentError, match=said):
        learner.learn_log(log)
    assert learner.statistics.visits.sum() == 2
    learner.learn([0.5, 0.5], Step(0, 0, 0.375, 1))


def test_the_number_of_a_contradiction_is_that_in_the_log_however_long_it_is() -> None:
    fine, wrong = ([1.0, 0.0], Step(0, 0, 0.25, 1)), ([1.0, 0.0], Step(0, 0, 0.5, 1))
    learner = learner_of(GreedyRidge)
    with pytest.raises(ArgumentError, match=r"^step 5000 of the log, from 0 on: "):
        learner.learn_log([*[fine] * 5000, wrong, fine])
    assert learner.statistics.visits.sum() == 5000


@pytest.mark.parametrize("compiled", [True, False])
def test_noise_where_none_was_declared_stops_a_run(compiled: bool) -> None:
    with pytest.raises(ArgumentError, match="said to be free of noise"):
        run(learner_of(), 100, bernoulli(), compiled=compiled, step_limit=500)


def test_both_loops_and_a_checkpoint_give_the_same_run() -> None:
    one, other = learner_of(), learner_of()
    run(one, 60, step_limit=500)
    run(other, 60, step_limit=500, compiled=False)
    assert written(one) == written(other)
    assert written(reloaded(one)) == written(one)


def test_what_is_not_declared_is_learned_as_before() -> None:
    some = learner_of(prior=PriorKnowledge.nothing(PROBLEM.support, 2).with_noise_free_losses([(0, 0)]))
    some.learn([0.5, 0.5], Step(0, 1, 0.0, 1))
    some.learn([0.5, 0.5], Step(0, 1, 1.0, 1))
    assert some.card.declared == ("1 losses without noise",)
    assert "declared: 1 losses without noise" in str(some.card)
    assert type(some.card).from_json(some.card.as_json()) == some.card


def test_equations_go_on_under_other_settings_and_in_merged_learners() -> None:
    learner, other = learner_of(), learner_of()
    learner.learn([1.0, 0.0], Step(0, 0, 0.25, 1))
    other.learn([0.0, 1.0], Step(0, 0, 0.5, 1))
    changed = learner.with_settings(delta=0.05)
    for one in (learner, changed):
        one_set = one.confidence_set([1.0, 0.0])
        assert (one_set.loss_low[0], one_set.loss_high[0]) == pytest.approx((0.25, 0.25), abs=1e-6)
    learner.merge(other)
    merged = learner.confidence_set([0.5, 0.5])
    assert (merged.loss_low[0], merged.loss_high[0]) == pytest.approx((0.375, 0.375), abs=1e-6)


def test_the_share_of_what_is_certain_goes_to_the_others() -> None:
    """Of 6 losses one is noisy: log(1 / failure) falls by log(6)."""
    pairs = [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    some = PriorKnowledge.nothing(PROBLEM.support, 2).with_noise_free_losses(pairs)
    all_noisy, one_noisy = (learner_of(prior=prior)._constants for prior in (None, some))
    assert all_noisy.likelihood.loss_log - one_noisy.likelihood.loss_log == pytest.approx(np.log(6.0))
    assert all_noisy.intervals.loss_log - one_noisy.intervals.loss_log == pytest.approx(np.log(6.0))


def test_pairs_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="keys are pairs"):
        PriorKnowledge.nothing(Support.full(2, 2), 2).with_noise_free_losses([3])  # type: ignore[list-item]
