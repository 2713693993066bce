"""The prior that pools the components of a pair, against dense ridge regressions that share no code with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound import LRCSSP, GreedyRidge, LocalOptimism, PriorKnowledge, Step, Support, confidence_set
from goalbound.confidence.pooling import (
    begin_gram,
    guessed_sums,
    least_weights,
    pooling_of,
    prior_grams,
    share_of_prior,
    visits_of_prior,
    weigh_guess,
)
from goalbound.errors import InputError
from goalbound.learners.settings import LearnerOptions
from goalbound.problems import dense_random
from tests.support.driving import reloaded, written

SIZES = [1, 3, 36]
Floats = NDArray[np.float64]


def dense_prior(size: int, ridge: float, visits: float) -> Floats:
    """lambda (I - 11'/d) + (mu / d) 11'/d."""
    pooled = np.full((size, size), 1.0 / size)
    return ridge * (np.eye(size) - pooled) + visits / size * pooled


def make(size: int, *, ridge: float = 1.0, visits: float = 1.0, guess: float | None = None, seed: int = 3) -> Any:
    problem = dense_random(3, actions=2, context_size=size, seed=seed)
    prior = None if guess is None else PriorKnowledge.around(problem, strength=guess)
    options = LearnerOptions(regularization=ridge, prior_visits=visits)
    return GreedyRidge(problem.support, size, loss_floor=0.1, prior=prior, options=options)


def log_of(size: int, steps: int, seed: int) -> list[tuple[Floats, Step]]:
    """Steps of any kind: nothing here depends on where they come from."""
    rng = np.random.default_rng(seed)
    contexts = rng.dirichlet(np.full(size, 0.5), steps)
    contexts /= contexts.sum(axis=1, keepdims=True)
    numbers = rng.integers([3, 2, 4], size=(steps, 3)).tolist()
    losses = rng.random(steps)
    return [
        (context, Step(state, action, float(loss), following))
        for context, (state, action, following), loss in zip(contexts, numbers, losses, strict=True)
    ]


def dense_estimates(learner: Any, log: list[tuple[Floats, Step]], pair: int, prior: Floats) -> tuple[Floats, Floats]:
    """The losses [d] and the rows [m, d] of a pair, the goal's left out, by the normal equations of all its steps."""
    support, known = learner.support, learner.prior
    mine = [(context, step) for context, step in log if support.pair(step.state, step.action) == pair]
    contexts = np.array([context for context, _ in mine]).reshape(len(mine), learner.context_size)
    gram = prior + contexts.T @ contexts
    places = range(*support.row(pair).indices(support.triples))
    inside = [place for place in places if support.next_state[place] != support.states]
    centre = np.zeros((1 + len(inside), learner.context_size))
    if known is not None:
        centre = np.vstack([known.guess_losses[pair], known.guess_rows[inside]])
    outcomes = [[step.loss for _, step in mine]]
    outcomes += [[float(step.next_state == support.next_state[place]) for _, step in mine] for place in inside]
    found = np.linalg.solve(gram, (np.array(outcomes) @ contexts + centre @ prior).T).T
    return found[0], found[1:]


@pytest.mark.parametrize("guess", [None, 0.5])
@pytest.mark.parametrize(("ridge", "visits"), [(1.0, 1.0), (4.0, 0.5), (0.1, 30.0)])
@pytest.mark.parametrize("size", SIZES)
def test_estimates_are_those_of_a_dense_ridge_after_a_merge_a_restart_and_ten_thousand_visits(
    size: int, ridge: float, visits: float, guess: float | None
) -> None:
    logs = [log_of(size, steps, seed) for seed, steps in enumerate((5_000, 500, 4_500))]
    learner, other = (make(size, ridge=ridge, visits=visits, guess=guess) for _ in range(2))
    learner.learn_log(logs[0])
    other.learn_log(logs[1])
    learner.merge(other)
    learner = reloaded(learner)
    learner.learn_log(logs[2])

    prior = dense_prior(size, ridge, visits) + (0.0 if guess is None else guess) * np.eye(size)
    for pair in range(learner.support.pairs):
        log = [one for part in logs for one in part]
        losses, rows = dense_estimates(learner, log, pair, prior)
        np.testing.assert_allclose(learner._state.sets.losses[pair], losses, atol=1e-10)
        inverse, gram = learner.statistics.inverse_gram[pair], learner.statistics.gram[pair]
        np.testing.assert_allclose(inverse @ gram, np.eye(size), atol=1e-9)
        first = int(learner.support.next_start[pair])
        regression = learner.statistics.regression
        for k, row in enumerate(rows):
            index = regression.seen_index[first + k]
            np.testing.assert_allclose(inverse @ regression.next_sums[first + index], row, atol=1e-10)


@pytest.mark.parametrize("visits", [0.25, 1.0, 7.0])
@pytest.mark.parametrize("size", SIZES)
def test_at_the_mean_context_a_pair_begins_with_the_visits_of_its_prior(size: int, visits: float) -> None:
    """By hand: V0^-1 = (I - J) / lambda + (d / mu) J, and c = 1 / d is J c with |c|^2 = 1 / d: c V0^-1 c = 1 / mu."""
    learner = make(size, visits=visits)
    mean = np.full(size, 1.0 / size)
    for inverse in (learner.statistics.inverse_gram[0], np.linalg.inv(dense_prior(size, 1.0, visits))):
        assert mean @ inverse @ mean == pytest.approx(1.0 / visits, rel=1e-12)
    assert visits_of_prior.python(learner._constants, 0, mean) == pytest.approx(visits, rel=1e-12)
    # n visits under it: the share mu / (mu + n) of the estimate is the prior's.
    learner.learn_log([(mean, Step(0, 0, 1.0, 1))] * 5)
    assert learner.estimate.losses[0] == pytest.approx(np.full(size, 5.0 / (5.0 + visits)), rel=1e-12)
    toward = np.linalg.solve(learner.statistics.gram[0], mean)
    assert share_of_prior.python(learner._constants, 0, toward) == pytest.approx(visits / (5.0 + visits), rel=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_where_all_components_weigh_alike_it_is_the_ridge_to_the_bit(size: int) -> None:
    """mu = lambda d is lambda I: the same Gram matrices, inverses and estimates as those of confidence sets."""
    pooled, plain = make(size, ridge=2.0, visits=2.0 * size), make(size, ridge=2.0, visits=2.0 * size)
    assert pooling_of(size, 2.0, 2.0 * size)._asdict() == pooling_of(size, 2.0, None)._asdict()
    optimistic = LRCSSP(plain.support, size, loss_floor=0.1, options=LearnerOptions(regularization=2.0))
    for learner in (pooled, optimistic):
        learner.learn_log(log_of(size, 300, 8))
    for name in ("gram", "inverse", "loss_sums", "next_sums"):
        one, other = (getattr(learner._state.regression, name) for learner in (pooled, optimistic))
        np.testing.assert_array_equal(one, other)


def test_the_kernels_of_a_prior_are_its_matrices() -> None:
    learner = make(3, ridge=2.0, visits=0.5, guess=4.0)
    constants = learner._constants
    expected = dense_prior(3, 2.0, 0.5) + 4.0 * np.eye(3)
    gram, inverse, sums = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    begin_gram.python(constants, gram, inverse, 1)
    np.testing.assert_allclose(gram, expected, atol=1e-15)
    np.testing.assert_allclose(inverse, np.linalg.inv(expected), atol=1e-15)
    weigh_guess.python(constants, 1, np.array([0.2, 0.9, 0.4]), sums)
    np.testing.assert_allclose(sums, expected @ [0.2, 0.9, 0.4], atol=1e-15)
    np.testing.assert_allclose(prior_grams(constants, 3)[1], expected, atol=1e-15)
    assert least_weights(constants)[1] == pytest.approx(np.linalg.eigvalsh(expected)[0])
    np.testing.assert_allclose(guessed_sums(constants, 3)[0], constants.model.losses @ expected, atol=1e-14)


@pytest.mark.parametrize("size", [3, 36])
def test_more_components_invent_no_more_visits(size: int) -> None:
    """One visit says as much of a pair at the mean context, however many components there are."""
    learner = make(size)
    context = np.zeros(size)
    context[0] = 1.0
    learner.learn(context, Step(0, 0, 1.0, 1))
    # The estimate is V0^-1 c / (1 + c V0^-1 c), of mean (1 / mu) / (1 + 1 / mu + (1 - 1 / d) / lambda).
    assert learner.estimate.losses[0].mean() == pytest.approx(1.0 / (3.0 - 1.0 / size), rel=1e-12)


def test_sums_that_began_with_another_prior_make_no_confidence_set() -> None:
    with pytest.raises(InputError, match="pooled over components"):
        confidence_set(make(3).statistics, [0.2, 0.3, 0.5])


def test_a_pooled_learner_is_saved_and_goes_on_to_the_bit() -> None:
    learner = LocalOptimism(Support.full(3, 2), 3, loss_floor=0.1)
    learner.learn_log(log_of(3, 200, 4))
    loaded = reloaded(learner)
    for one in (learner, loaded):
        one.learn_log(log_of(3, 70, 5))
    assert written(loaded) == written(learner)


@pytest.mark.parametrize(
    ("make_learner", "message"),
    [
        (lambda: make(3, visits=0.0), "prior_visits 0.0 is not a positive number"),
        (lambda: make(3, visits=np.nan), "prior_visits"),
        (lambda: make(3, visits=1e-6), "prior_visits 1e-06 is too small for contexts of 3 entries"),
        (
            lambda: LRCSSP(Support.full(1, 1), 2, loss_floor=0.1, options=LearnerOptions(prior_visits=1.0)),
            "prior_visits is 1; confidence sets are proven for lambda I: leave it out",
        ),
    ],
)
def test_a_prior_that_cannot_be_is_refused(make_learner: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_learner()
