"""Guesses of single pairs: estimates begin with them, data outweighs them, and no confidence set depends on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound import (
    LRCSSP,
    SSP,
    Dirichlet,
    EpsilonGreedy,
    GreedyRidge,
    KwikRmax,
    LinearCSSP,
    LossScale,
    ModelEnvironment,
    PosteriorSampling,
    PriorKnowledge,
    Step,
    Support,
    confidence_set,
    evaluate,
    play,
    widths,
)
from goalbound.confidence import ridge_estimate
from goalbound.errors import FileFormatError, InputError
from goalbound.learners.settings import LearnerOptions
from goalbound.problems import dense_random, treatment_ladder
from tests.support.driving import reloaded

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)
SUPPORT = PROBLEM.support
OTHER = dense_random(3, actions=2, context_size=2, seed=9)
"""A guess that is wrong: the same support, other losses and rows."""
LEARNERS: dict[str, Any] = {
    "greedy": GreedyRidge, "epsilon": EpsilonGreedy, "posterior": PosteriorSampling, "rmax": KwikRmax,
    "optimistic": LRCSSP,
}  # fmt: skip


def make(name: str, prior: PriorKnowledge | None, **others: Any) -> Any:
    drawn = {"rng": np.random.default_rng(1)} if name in ("epsilon", "posterior") else {}
    return LEARNERS[name](SUPPORT, 2, loss_floor=0.1, prior=prior, **drawn, **others)


def steps(count: int, seed: int = 0, problem: LinearCSSP = PROBLEM) -> list[tuple[NDArray[np.float64], Step]]:
    """Uniform actions in random states under random contexts."""
    rng = np.random.default_rng(seed)
    support, found = problem.support, []
    for _ in range(count):
        context, pair = rng.dirichlet([1.0, 1.0]), int(rng.integers(support.pairs))
        row = support.row(pair)
        chances = problem.probabilities[row] @ context
        following = support.next_state[row][rng.choice(len(chances), p=chances / chances.sum())]
        loss = float(rng.random() < problem.losses[pair] @ context)
        found.append(
            (context, Step(int(support.pair_state[pair]), int(support.pair_action[pair]), loss, int(following)))
        )
    return found


def around_by_definition(
    log: list[tuple[NDArray[np.float64], Step]],
    pair: int,
    model: LinearCSSP,
    strength: float,
    prior: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least squared errors plus (p - p0) (V0 + s I) (p - p0), by least squares with rows for the penalty."""
    mine = [(c, s) for c, s in log if SUPPORT.pair(s.state, s.action) == pair]
    root = np.linalg.cholesky(prior + strength * np.eye(2)).T
    design = np.vstack([*[c for c, _ in mine], root])
    losses = np.concatenate([[s.loss for _, s in mine], root @ model.losses[pair]])
    row = SUPPORT.row(pair)
    rows = []
    for place, following in zip(range(row.start, row.stop), SUPPORT.next_state[row], strict=True):
        hit = [float(s.next_state == following) for _, s in mine]
        rows.append(np.linalg.lstsq(design, np.concatenate([hit, root @ model.probabilities[place]]), rcond=None)[0])
    return np.linalg.lstsq(design, losses, rcond=None)[0], np.array(rows)


@pytest.mark.parametrize("name", LEARNERS)
def test_without_data_the_estimate_is_the_guess(name: str) -> None:
    model = make(name, PriorKnowledge.around(OTHER, strength=3.0)).estimate.model()

    np.testing.assert_allclose(model.losses, OTHER.losses, atol=1e-14)
    np.testing.assert_allclose(model.probabilities, OTHER.probabilities, atol=1e-14)


@pytest.mark.parametrize("ridge", [1.0, 0.25])
@pytest.mark.parametrize("name", ["greedy", "posterior", "optimistic"])
def test_estimates_are_those_of_a_ridge_around_the_guess(name: str, ridge: float) -> None:
    prior = PriorKnowledge.around(OTHER, strength=3.0)
    learner, log = make(name, prior, options=LearnerOptions(regularization=ridge)), steps(200)
    learner.learn_log(log)

    around = prior.model_prior() if name == "optimistic" else None
    visits = learner.settings.prior_visits
    penalty = ridge * np.eye(2) + (0.0 if visits is None else visits / 2.0 - ridge) / 2.0
    found = ridge_estimate(learner.statistics, around=around)

    for pair in range(SUPPORT.pairs):
        losses, rows = around_by_definition(log, pair, OTHER, 3.0, penalty)
        np.testing.assert_allclose(found.losses[pair], losses, atol=1e-11)
        np.testing.assert_allclose(found.rows[SUPPORT.row(pair)], rows, atol=1e-11)  # those of the goal: 1 - the others


@pytest.mark.parametrize("rule", [widths.sharp(), widths.likelihood(), widths.paper()], ids=str)
def test_the_sets_of_lr_cssp_do_not_depend_on_a_guess(rule: Any) -> None:
    plain, guessing = make("optimistic", None, widths=rule), make(
        "optimistic", PriorKnowledge.around(OTHER, strength=500.0), widths=rule
    )  # fmt: skip
    for learner in (plain, guessing):
        learner.learn_log(steps(300))

    for context in ([0.5, 0.5], [1.0, 0.0]):
        one, other = plain.confidence_set(context), guessing.confidence_set(context)
        for field in vars(one):
            if field != "support":
                np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
        assert not np.array_equal(plain.estimate.losses, guessing.estimate.losses)


def test_bounds_hold_whatever_the_guess_is() -> None:
    guesses = [None, *(PriorKnowledge.around(guess, strength=1e4) for guess in (OTHER, PROBLEM))]
    for seed in range(10):  # delta is 0.1, and sharp sets fail far less often: 10 runs, one log each
        for prior in guesses:
            learner = make("optimistic", prior, widths=widths.sharp())
            learner.learn_log(steps(400, seed))
            bounds = learner.policy_bounds([0.3, 0.7], [0, 0, 0])
            true = evaluate(PROBLEM.at([0.3, 0.7]), [0, 0, 0]).values
            assert (bounds.lower <= true + 1e-12).all()
            assert (true <= bounds.upper + 1e-12).all()


def test_data_outweighs_a_wrong_guess() -> None:
    learner = make("greedy", PriorKnowledge.around(OTHER, strength=20.0))
    errors = []
    for count in (0, 300, 20_000):
        learner = make("greedy", PriorKnowledge.around(OTHER, strength=20.0))
        learner.learn_log(steps(count))
        errors.append(float(np.abs(learner.estimate.losses - PROBLEM.losses).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1  # 20,000 / 6 visits of a pair: noise of about 0.5 / sqrt(3,300 / 4) = 0.02 a coefficient


@pytest.mark.parametrize("name", ["greedy", "posterior"])
def test_a_right_guess_saves_regret(name: str) -> None:
    def regret(prior: PriorKnowledge | None) -> float:
        learner = make(name, prior)
        return play(PROBLEM, learner, Dirichlet.symmetric(2), episodes=300, seed=3).total_expected_regret

    assert regret(PriorKnowledge.around(PROBLEM, strength=50.0)) < 0.5 * regret(None)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_with_guesses_is_saved_and_goes_on_to_the_bit(name: str) -> None:
    learner, rest = make(name, PriorKnowledge.around(OTHER, strength=3.0)), steps(80, seed=2)
    learner.learn_log(steps(60))
    loaded = reloaded(learner)

    assert loaded.prior == learner.prior
    for one in (learner, loaded):
        one.learn_log(rest)
    np.testing.assert_array_equal(loaded.estimate.rows, learner.estimate.rows)
    np.testing.assert_array_equal(loaded.estimate.losses, learner.estimate.losses)


def test_single_pairs_may_be_guessed_by_names_and_the_others_are_not() -> None:
    problem = treatment_ladder(3)
    support, size = problem.support, problem.context_size
    state, action = (support.state_names or range(3))[1], (support.action_names or range(3))[0]
    pair = support.pair(state, action)
    prior = PriorKnowledge.nothing(support, size).with_model(problem, strength={(state, action): 4.0})

    assert np.flatnonzero(prior.guessed).tolist() == [pair]
    assert prior.strength[pair] == 4.0
    learner = GreedyRidge(support, size, loss_floor=0.05, prior=prior)
    np.testing.assert_array_equal(learner.estimate.losses[pair], problem.losses[pair])
    others = np.flatnonzero(np.arange(support.pairs) != pair)
    np.testing.assert_array_equal(learner.estimate.losses[others], 0.0)


def test_a_model_without_contexts_is_the_same_under_all_of_them() -> None:
    averaged = PROBLEM.at([0.5, 0.5])
    prior = PriorKnowledge.nothing(SUPPORT, 2).with_model(averaged, strength=2.0)

    np.testing.assert_array_equal(prior.guess_losses, np.tile(averaged.losses[:, None], (1, 2)))


def test_a_guess_lies_on_a_larger_support() -> None:
    small = SSP.dense([[0.5], [0.25]], [[[0.0, 0.5, 0.5]], [[0.0, 0.0, 1.0]]])
    prior = PriorKnowledge.nothing(Support.full(2, 2), 1).with_model(small, strength=2.0)

    assert prior.guessed.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(prior.guess_rows[:3, 0], [0.0, 0.5, 0.5])


def test_known_parts_of_a_guess_need_not_be_guessed() -> None:
    known = PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): 0.2}).with_rows({(1, 1): [0.0, 0.0, 0.0, 1.0]})
    row = [0.25, 0.25, 0.25, 0.25]
    prior = known.with_guesses({(1, 1): 0.5}, {(0, 0): row}, strength=2.0)

    assert prior.guess_losses[SUPPORT.pair(0, 0)].tolist() == [0.2, 0.2]
    np.testing.assert_array_equal(prior.guess_rows[SUPPORT.row(SUPPORT.pair(1, 1)), 0], [0.0, 0.0, 0.0, 1.0])


def test_arrays_of_all_pairs_are_the_guess_of_a_model() -> None:
    nothing = PriorKnowledge.nothing(SUPPORT, 2)

    one = nothing.with_guesses(OTHER.losses, OTHER.probabilities, strength=5)
    other = nothing.with_model(OTHER, strength=5)

    np.testing.assert_array_equal(one.guess_losses, other.guess_losses)
    np.testing.assert_allclose(
        one.guess_rows, other.guess_rows, rtol=1e-15
    )  # those that are given are made to sum to 1
    np.testing.assert_array_equal(one.strength, other.strength)


@pytest.mark.parametrize(
    ("make_prior", "message"),
    [
        (lambda p: p.with_model(OTHER, strength=0), "strength is 0; it is how many visits a guess is worth, above 0"),
        (lambda p: p.with_model(OTHER, strength="5"), "strength"),
        (lambda p: p.with_model(OTHER, strength={(9, 0): 1}), "no state 9"),
        (lambda p: p.with_model(treatment_ladder(3), strength=1), "components"),
        (lambda p: p.with_model("model", strength=1), "model"),
        (lambda p: p.with_model(dense_random(4, actions=2, context_size=2), strength=1), "model: state 3"),
        (lambda p: p.with_guesses({(0, 0): 0.5}, {}, strength=1), "guess of its loss and none of its row"),
        (lambda p: p.with_guesses({}, {(0, 0): [0, 0, 0, 1]}, strength=1), "guess of its row and none of its loss"),
        (lambda p: p.with_guesses({(0, 0): 0.5}, {(0, 0): [0, 0, 0, 1]}, strength={}), "strength has no number for"),
        (lambda p: p.with_guesses({}, {}, strength={(0, 0): 1}), "has no guess"),
        (lambda p: p.with_guesses({(0, 0): 1.5}, {(0, 0): [0, 0, 0, 1]}, strength=1), "1.5"),
    ],
)  # fmt: skip
def test_wrong_guesses_are_errors_that_name_them(make_prior: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_prior(PriorKnowledge.nothing(SUPPORT, 2))


def test_statistics_that_hold_guesses_make_no_confidence_set() -> None:
    learner = make("greedy", PriorKnowledge.around(OTHER, strength=3.0))
    with pytest.raises(InputError, match="with guesses, which are no data"):
        confidence_set(learner.statistics, [0.5, 0.5])


@pytest.mark.parametrize(
    ("field", "value", "message"), [("strength", -0.25, "prior.strength"), ("guess_losses", 2.0, "prior.guess_losses")]
)
def test_a_file_with_an_impossible_guess_is_refused(field: str, value: float, message: str) -> None:
    prior = PriorKnowledge.around(OTHER, strength=3.0)
    wrong = replace(prior, **{field: np.full_like(getattr(prior, field), value)})
    with pytest.raises(FileFormatError, match=message):
        reloaded(make("greedy", wrong))


def test_learners_without_sets_take_known_rows_and_losses() -> None:
    known = PriorKnowledge.nothing(SUPPORT, 2).with_losses(PROBLEM.losses).with_rows(PROBLEM.probabilities)
    for name in ("greedy", "epsilon", "posterior", "rmax"):
        learner = make(name, known, **({"explore": 0.0} if name == "epsilon" else {}))
        history = play(
            PROBLEM, learner, Dirichlet.symmetric(2), episodes=20, seed=0,
            environment=lambda rng: ModelEnvironment(PROBLEM, rng=rng),
        )  # fmt: skip
        assert history.total_expected_regret == pytest.approx(0.0, abs=20 * 2e-4)  # value iteration ends at 1e-3 * 0.1


def minutes(cap: float) -> LinearCSSP:
    """Losses of 6 and 12 minutes, where a loss of 1 is ``cap`` minutes."""
    losses = np.array([[[6.0 / cap]], [[12.0 / cap]]])
    return replace(LinearCSSP.dense(losses, [[[[0.0, 1.0]]], [[[0.0, 1.0]]]]), loss_scale=cap)


def test_a_model_of_another_scale_is_converted_to_that_of_the_learner() -> None:
    model, nothing = minutes(60.0), PriorKnowledge.nothing(minutes(60.0).support, 2)

    converted = nothing.with_model(model, strength=1, loss_scale=30.0)
    assert converted.guess_losses.tolist() == [[0.2, 0.4]]  # 6 and 12 of 30 minutes
    again = converted.with_model(minutes(120.0), strength=1)  # as the one before
    np.testing.assert_allclose(again.guess_losses, [[0.2, 0.4]], rtol=1e-15)
    with pytest.raises(InputError, match="has a loss of 12, above the 10 that a loss of 1 is"):
        nothing.with_model(model, strength=1, loss_scale=10.0)


def test_a_guess_of_another_scale_is_refused_where_it_would_be_used() -> None:
    prior = PriorKnowledge.around(minutes(60.0), strength=1)
    learner = GreedyRidge(prior.support, 2, loss_floor=0.1, prior=prior)

    with pytest.raises(InputError, match=r"a loss of 1 is 30 for the learner, and 60 in the model.*loss_scale=30"):
        learner.loss_scale = LossScale("min", cap=30.0)
    with pytest.raises(InputError, match="a loss of 1 is 120 for the problem, and 60 in the model"):
        play(minutes(120.0), learner, Dirichlet.symmetric(2), episodes=1, seed=0)
    learner.loss_scale = LossScale("min", cap=60.0)
    assert learner.plan([0.5, 0.5]).values[0] == pytest.approx(9.0, rel=1e-3)  # minutes


def test_a_model_that_lacks_states_is_refused_unless_its_pairs_are_named() -> None:
    small = SSP.dense([[0.5], [0.25]], [[[0.0, 0.5, 0.5]], [[0.0, 0.0, 1.0]]])
    nothing = PriorKnowledge.nothing(Support.full(3, 1), 1)

    with pytest.raises(InputError, match="model has 2 states, found by number, and nothing of state 2"):
        nothing.with_model(small, strength=2.0)
    assert nothing.with_model(small, strength={(0, 0): 2.0}).guessed.tolist() == [True, False, False]
