"""Likelihood-ratio sets hold the truth as often as delta asks for, also against an adversary that knows the truth."""

from __future__ import annotations

from math import exp, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, LinearCSSP, ModelEnvironment, Step
from goalbound.models import IntervalSet
from goalbound.simulation import bernoulli
from guarantees.likelihood import QUICK, RULES, SOURCES, likelihood_sets, upper_limit
from guarantees.settings import certified, dense
from guarantees.truth_adversary import TruthAdversary, lattice
from tests.paper.claims import assert_held
from tests.support.likelihood import numbers_of


def test_failures_are_at_most_delta_and_the_check_can_fail() -> None:
    # Up to 2 failures of 85 runs show a failure probability of at most 0.1 with confidence 0.99, 3 do not. If runs of
    # this length fail with probability 0.005 (1 of 800 did), 3 of 85 do with probability 0.01. The seeds are fixed.
    result = likelihood_sets(QUICK)
    assert_held(result)
    assert len(result.rows) == 2 * len(SOURCES)
    sharp_column = result.columns.index("sharp 0.1")
    assert [row[sharp_column] for row in result.rows] == [0] * len(result.rows)


def test_the_upper_limit_is_exact() -> None:
    # No failure of n: the limit p solves (1 - p)^n = 0.01. One: (1 - p)^n + n p (1 - p)^(n - 1) = 0.01. All: 1.
    assert upper_limit(0, 64) == pytest.approx(1.0 - 0.01 ** (1 / 64))
    p = upper_limit(1, 64)
    assert (1.0 - p) ** 64 + 64 * p * (1.0 - p) ** 63 == pytest.approx(0.01)
    assert upper_limit(2, 85) <= 0.1 < upper_limit(3, 85)
    assert upper_limit(5, 5) == 1.0


def test_no_bound_loses_the_truth_before_its_likelihood_does() -> None:
    # Too small a threshold, so that bounds do lose the truth. The log-loss of the truth is summed here visit by visit,
    # without cells, and compared with beta = log(1 / failure) - log(exp(-A) / 2 + exp(-B) / 2) after each of them.
    problem = certified(dense(3, seed=0), tolerance=0.1)
    learner = next(rule for rule in RULES if rule.wrong).learner(problem)
    excess = _largest_excess(learner, problem.problem, episodes=60)
    ratios, state = learner._constants.sets, learner._state.sets
    truth = (
        np.vstack([problem.problem.losses, problem.problem.probabilities])
        @ ratios.vertices.vertices.T
        / ratios.vertices.steps
    )
    low, high = (array[numbers_of(learner)] for array in (state.low, state.high))
    lost = ((low > truth + 1e-9) | (high < truth - 1e-9)).any(axis=1)
    assert lost.any()
    assert not lost.all()
    assert (excess[lost] > 0.0).all()


def _largest_excess(learner: LRCSSP, problem: LinearCSSP, *, episodes: int) -> Any:
    """[N + M] of each number, how far the log-loss of the truth was above beta at most; log(1 / failure) is 0."""
    rng = np.random.default_rng(0)
    environment = ModelEnvironment(problem, rng=rng, losses=bernoulli())
    support = problem.support
    log_loss = np.zeros(support.pairs + support.triples)
    excess = np.full_like(log_loss, -np.inf)
    for context in rng.dirichlet([1.0, 1.0], size=episodes):
        episode, state = learner.begin(context), environment.begin(context)
        while not episode.ended:
            step = environment.step(episode.act(state))
            episode.observe(step)
            state = step.next_state
            ratios, pair = learner._state.sets, support.pair(step.state, step.action)
            for at, (number, mean, outcome) in enumerate(_numbers(problem, context, step)):
                log_loss[number] -= log(mean if outcome else 1.0 - mean)
                forecasters = ratios.log_loss[ratios.first[pair] + at].tolist()
                mixed = log(sum(exp(-one) for one in forecasters) / len(forecasters))
                excess[number] = max(excess[number], log_loss[number] + mixed)
    return excess


def _numbers(problem: LinearCSSP, context: Any, step: Step) -> list[tuple[int, float, bool]]:
    """The numbers that a step shows: their places, true means and outcomes."""
    support = problem.support
    pair = support.pair(step.state, step.action)
    row = range(support.next_start[pair], support.next_start[pair + 1])
    shown = [
        (support.pairs + k, problem.probabilities[k] @ context, support.next_state[k] == step.next_state) for k in row
    ]
    return [(pair, problem.losses[pair] @ context, step.loss == 1.0), *shown]


class Believing:
    """A learner of one pair whose interval of the next state depends on the context, and is given."""

    settings = SimpleNamespace(loss_floor=0.3)

    def __init__(self, problem: LinearCSSP, intervals: dict[float, tuple[float, float]]) -> None:
        self.problem, self.intervals = problem, intervals

    def confidence_set(self, context: Any) -> IntervalSet:
        low, high = self.intervals[float(context[0])]
        return IntervalSet(self.problem.support, [0.3], [1.0], [low, 1.0 - high], [high, 1.0 - low])


@pytest.mark.parametrize(
    ("intervals", "slacks", "chosen"),
    [
        # The truth is 0.5 under all contexts, and the loss 0.3 lies at the loss floor, which cannot be lost.
        ({0.0: (0.3, 0.7), 0.5: (0.45, 0.85), 1.0: (0.1, 0.9)}, [0.5, 0.125, 0.5], 0.5),
        ({0.0: (0.3, 0.7), 0.5: (0.45, 0.85), 1.0: (0.1, 0.4)}, [0.5, 0.125, -1.0 / 3.0], 1.0),
        ({0.0: (0.5, 0.5), 0.5: (0.0, 1.0), 1.0: (0.0, 0.9)}, [np.inf, np.inf, 4.0 / 9.0], 1.0),
    ],
    ids=["near an end", "outside", "certain or open"],
)
def test_the_adversary_chooses_where_the_truth_is_closest_to_an_end(
    intervals: dict[float, tuple[float, float]], slacks: list[float], chosen: float
) -> None:
    problem = LinearCSSP.dense(np.full((2, 1, 1), 0.3), np.full((2, 1, 1, 2), 0.5))
    source, learner = TruthAdversary(problem, lattice(2, steps=2)), Believing(problem, intervals)
    np.testing.assert_allclose(source.slacks(learner), slacks)
    assert source.choose(np.random.default_rng(0), 0, learner)[0] == chosen


def test_the_lattice_has_all_contexts_of_its_steps() -> None:
    found = lattice(3, steps=4)
    assert found.shape == (15, 3)  # 6 choose 2
    assert len(np.unique(found, axis=0)) == 15
    np.testing.assert_array_equal(found * 4, np.round(found * 4))
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(lattice(1, steps=3), [[1.0]])
