"""Whole episodes in one call against a loop of single steps, number by number; and where a next state stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from goalbound.learners.episode_loop import Batch, play, play_fixed, successor_index
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.kwik import Kwik
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.learner import RidgeLearner
from goalbound.models import LinearCSSP
from goalbound.models.simulated import EpisodeResults, greedy_pair, suboptimality_gap, uniform_pair
from goalbound.models.step import bernoulli
from goalbound.planning.optimal_values import optimal_values
from goalbound.simulation import ModelEnvironment
from goalbound.simulation.history import EpisodeBuffer
from tests.support.checked_indices import with_checked_indices
from tests.support.driving import MODES, explorer_of, learner_of, small_problem, written
from tests.support.strategies import examples, ssps

EPISODES, LIMIT = 25, 1000
PROBLEM = small_problem()

LEARNERS: dict[str, Any] = {
    **{name: lambda settings=settings: learner_of(PROBLEM, **settings) for name, settings in MODES.items()},
    "epsilon": lambda: explorer_of(Epsilon(explore=0.5, fade=0.3), PROBLEM, rng=np.random.default_rng(3)),
    "posterior": lambda: explorer_of(Posterior(spread=0.5), PROBLEM, rng=np.random.default_rng(3)),
    "rmax": lambda: explorer_of(Kwik(threshold=0.5), PROBLEM),
}


def contexts_of(problem: LinearCSSP) -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(problem.context_size), EPISODES)


def environment_of(problem: LinearCSSP) -> ModelEnvironment:
    return ModelEnvironment(problem, losses=bernoulli(), rng=np.random.default_rng(2))


def batch_of(problem: LinearCSSP, *, step_limit: int = LIMIT) -> Batch:
    contexts = contexts_of(problem)
    results = EpisodeBuffer.empty(EPISODES, problem.context_size).results
    values = optimal_values(problem, contexts)
    return Batch.of(environment_of(problem), contexts, values, step_limit=step_limit, results=results)


def bits(results: EpisodeResults) -> dict[str, bytes]:
    return {name: column.tobytes() for name, column in results._asdict().items()}


def played(learner: RidgeLearner, *, form: str = "python", step_limit: int = LIMIT) -> tuple[int, EpisodeResults]:
    batch = batch_of(PROBLEM, step_limit=step_limit)
    learner._before_playing(batch)
    return learner._play(getattr(learner._assembly.unwatched[play], form), batch), batch.results


@pytest.mark.parametrize("mode", LEARNERS)
def test_no_index_of_an_array_is_negative(mode: str) -> None:
    """Compiled code takes indices as they are."""
    learner, batch = LEARNERS[mode](), batch_of(PROBLEM, step_limit=20)
    learner._before_playing(batch)
    assert learner._play(with_checked_indices(learner._assembly.unwatched[play]), batch) == EPISODES


def step_by_step(learner: RidgeLearner) -> EpisodeResults:
    """The plain loop: what anybody would write."""
    batch = batch_of(PROBLEM)
    environment, out, support = environment_of(PROBLEM), batch.results, PROBLEM.support
    for k, context in enumerate(batch.contexts):
        state = out.start[k] = environment.begin(context)
        episode = learner.begin(context)
        while state != support.states:
            step = environment.step(episode.act(state))
            episode.observe(step)
            pair = support.pair(step.state, step.action)
            out.loss[k] += step.loss
            out.expected_regret[k] += suboptimality_gap.python(
                environment.components, pair, step.state, context, batch.values[k], batch.environment.gap_tolerance
            )
            out.steps[k] += 1
            state = step.next_state
        out.intervals[k], out.unknown_steps[k] = episode.intervals, episode.unknown_steps
    return out


@pytest.mark.parametrize("name", LEARNERS)
def test_the_loop_plays_what_single_steps_play(name: str) -> None:
    whole, single = LEARNERS[name](), LEARNERS[name]()
    ended, results = played(whole)
    assert ended == EPISODES
    assert bits(results) == bits(step_by_step(single))
    assert written(whole) == written(single)


@pytest.mark.parametrize("name", ["doubling", "posterior"])
def test_both_forms_of_the_loop_play_the_same(name: str) -> None:
    one, other = LEARNERS[name](), LEARNERS[name]()
    (_, mine), (_, theirs) = played(one), played(other, form="compiled")
    assert bits(mine) == bits(theirs)
    assert written(one) == written(other)


def test_episodes_at_the_step_limit_are_broken_off() -> None:
    free, limited = (played(LEARNERS["narrow"](), step_limit=limit)[1] for limit in (LIMIT, 2))
    assert limited.steps.max() == 2
    assert limited.abandoned.any()
    assert not limited.abandoned.all()
    # until the first that is broken off both have played the same
    first = int(np.argmax(limited.abandoned))
    assert (free.steps[:first] <= 2).all()
    assert free.loss[:first].tobytes() == limited.loss[:first].tobytes()
    assert not limited.abandoned[limited.steps == 1].any()


def test_the_loop_stops_where_a_plan_does_not_come_to_its_end() -> None:
    learner = LEARNERS["narrow"]()
    learner.MOST_SWEEPS = 3
    ended, results = played(learner)
    assert 0 < ended < EPISODES
    assert results.steps[:ended].all()
    assert not results.steps[ended:].any()  # nothing is written of an episode that did not end


def test_the_loop_stops_at_a_projection_that_failed() -> None:
    learner = LEARNERS["narrow"]()
    learner._state.totals["failed_projections"] = 1
    assert played(learner)[0] == 0


def test_the_learner_sees_what_it_is_shown_and_not_the_contexts() -> None:
    shown = np.tile([0.5, 0.5], (EPISODES, 1))
    blind, informed = LEARNERS["narrow"](), LEARNERS["narrow"]()
    batch = batch_of(PROBLEM)._replace(seen=shown)
    blind._before_playing(batch)
    assert blind._play(blind._assembly.unwatched[play].python, batch) == EPISODES
    played(informed)
    # every visit of the blind one has the outer product of (1/2, 1/2), which is 1/4 four times
    grams = blind._state.regression.gram - np.eye(2)
    np.testing.assert_allclose(grams, blind._state.regression.visits[:, None, None] * np.full((2, 2), 0.25))
    assert not np.allclose(informed._state.regression.gram - np.eye(2), grams)


@pytest.mark.parametrize("form", ["python", "compiled"])
@pytest.mark.parametrize("at_random", [False, True])
def test_a_fixed_policy_plays_the_best_pair_or_any(at_random: bool, form: str) -> None:
    support, batch, own = PROBLEM.support, batch_of(PROBLEM), np.random.default_rng(9)
    run = getattr(play_fixed, form)
    run(
        support.pair_start,
        batch.environment,
        batch.contexts,
        batch.values,
        batch.rng,
        own,
        at_random,
        LIMIT,
        batch.results,
    )
    environment, own = environment_of(PROBLEM), np.random.default_rng(9)
    for k, context in enumerate(batch.contexts):
        state, steps, loss = environment.begin(context), 0, 0.0
        assert batch.results.start[k] == state
        while state != support.states:
            if at_random:
                pair = int(uniform_pair.python(support.pair_start, state, own.random()))
            else:
                pair = int(
                    greedy_pair.python(environment.components, support.pair_start, state, context, batch.values[k])
                )
            step = environment.step(int(support.pair_action[pair]))
            state, steps, loss = step.next_state, steps + 1, loss + step.loss
        assert (batch.results.steps[k], batch.results.loss[k]) == (steps, loss)
    assert (batch.results.expected_regret.sum() > 0.1) == at_random  # the best pairs have no gap


@examples(60)
@given(ssps(proper=False, most_states=8))
def test_a_next_state_is_found_where_it_stands_in_its_row(ssp: Any) -> None:
    support = ssp.support
    for pair in range(support.pairs):
        row = support.row(pair)
        for following in range(support.states + 1):
            inside = int(np.searchsorted(support.next_state[row], following))
            is_there = inside < row.stop - row.start and support.next_state[row][inside] == following
            wanted = row.start + inside if is_there else -1
            assert successor_index.python(support.next_start, support.next_state, pair, following) == wanted


def test_a_next_state_of_the_row_behind_is_not_found() -> None:
    next_start, next_state = np.array([0, 1, 3, 6]), np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    found = [
        [int(form(next_start, next_state, pair, following)) for following in range(3)]
        for form in (successor_index.python, successor_index.compiled)
        for pair in range(3)
    ]
    assert found == 2 * [[0, -1, -1], [-1, 1, 2], [3, 4, 5]]
