"""How much losses are drawn to their mean, against the formula from the list of all losses."""

import numpy as np
import pytest

from goalbound import LocalOptimism, PriorKnowledge, Step, Support
from goalbound.learners.explore.shrinkage import MOST_SHRINKAGE
from goalbound.problems import random_cssp
from tests.reference.ridge_baselines import dispersion, shrinkage
from tests.support.driving import play_own, played_losses

SUPPORT = Support.full(3, 2)


def steps(count, *, seed, noise=1.0, spread=1.0):
    """So many steps of all pairs, whose mean losses differ by ``spread``."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        pair = int(rng.integers(SUPPORT.pairs))
        mean = 0.5 + spread * (pair / (SUPPORT.pairs - 1) - 0.5) * 0.6
        loss = float(np.clip(mean + noise * rng.uniform(-0.2, 0.2), 0.0, 1.0))
        step = Step(int(SUPPORT.pair_state[pair]), int(SUPPORT.pair_action[pair]), loss, int(rng.integers(4)))
        yield rng.dirichlet(np.ones(2)), step


def play_steps(learner, given):
    play_own(learner, given)
    return learner


def found(learner):
    """What the next episode begins with: the share of own steps, the mean loss, the visits put in at it."""
    progress = learner.begin([0.5, 0.5])._arrays.explore.progress
    return tuple(float(progress[name]) for name in ("own_share", "mean_loss", "shrinkage"))


def found_dispersion(learner):
    return float(learner.begin([0.5, 0.5])._arrays.explore.progress["dispersion"])


def made(**given):
    return LocalOptimism(SUPPORT, 2, loss_floor=0.05, **given)


def pairs_and_losses(given):
    return [(SUPPORT.pair(step.state, step.action), step.loss) for _, step in given]


@pytest.mark.parametrize(
    ("count", "noise", "spread"), [(0, 1.0, 1.0), (1, 1.0, 1.0), (6, 1.0, 1.0), (80, 1.0, 0.3), (80, 0.3, 1.0)]
)
def test_it_is_the_formula_of_all_losses(count, noise, spread):
    given = list(steps(count, seed=3, noise=noise, spread=spread))
    own, mean, visits = found(play_steps(made(), given))
    assert own == 1.0
    assert (mean, visits) == pytest.approx(shrinkage(pairs_and_losses(given), most=MOST_SHRINKAGE), rel=1e-9)
    assert found_dispersion(play_steps(made(), given)) == pytest.approx(dispersion(pairs_and_losses(given)), rel=1e-9)


def test_the_dispersion_of_losses_of_0_or_1_is_1_whatever_came_and_of_losses_without_noise_0():
    given = list(steps(100, seed=1))
    for count in (1, 5, 20, 100):
        zero_or_one = [(context, step._replace(loss=float(step.loss > 0.5))) for context, step in given[:count]]
        assert found_dispersion(play_steps(made(), zero_or_one)) == 1.0
    assert found_dispersion(play_steps(made(), steps(100, seed=1, noise=0.0))) == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < found_dispersion(play_steps(made(), given)) < 0.2
    assert found_dispersion(play_steps(made(), [(c, step._replace(loss=0.0)) for c, step in given])) == 1.0


def test_without_noise_nothing_is_drawn_and_without_differences_much_is():
    assert found(play_steps(made(), steps(100, seed=1, noise=0.0)))[2] == pytest.approx(0.0, abs=1e-9)
    assert found(play_steps(made(), steps(100, seed=1, spread=0.0)))[2] > 4.0


def test_of_a_log_only_the_share_of_own_steps_counts():
    logged, own = list(steps(60, seed=4)), list(steps(20, seed=5))
    learner = made()
    assert learner.learn_log(logged) == 60
    assert found(learner)[0] == 0.0
    assert found(learner)[2] == 0.0
    share, mean, visits = found(play_steps(learner, own))
    expected, most = shrinkage(pairs_and_losses(logged + own))
    assert share == 0.25
    assert (mean, visits) == pytest.approx((expected, 0.25 * most), rel=1e-9)


def test_a_step_that_was_overridden_is_not_ones_own():
    learner, own = made(), 0
    for context, step in steps(20, seed=6):
        episode = learner.begin(context)
        own += episode.act(step.state) == step.action
        episode.observe(step, overridden=True)
    assert 0 < own < 20
    assert found(learner)[0] == pytest.approx(own / 20)


def test_a_guess_is_no_data():
    problem = random_cssp(3, actions=2, context_size=2)
    guess = PriorKnowledge.nothing(problem.support, 2).with_model(problem.at([0.5, 0.5]), strength=4.0)
    learner = LocalOptimism(problem.support, 2, loss_floor=0.01, prior=guess)
    losses = played_losses(problem, learner, 30, 1)
    assert found(learner)[1:] == pytest.approx(shrinkage(losses), rel=1e-9)
    assert found_dispersion(learner) == pytest.approx(dispersion(losses), rel=1e-9, abs=1e-12)


def test_merged_and_kept_learners_have_the_same(tmp_path):
    one, other = list(steps(30, seed=7)), list(steps(50, seed=8))
    learner = play_steps(made(), one)
    second = made()
    second.learn_log(other)
    learner.merge(second)
    share, mean, visits = found(learner)
    expected, most = shrinkage(pairs_and_losses(one + other))
    assert share == pytest.approx(30 / 80)
    assert (mean, visits) == pytest.approx((expected, 30 / 80 * most), rel=1e-9)
    learner.save(tmp_path / "learner.npz")
    assert found(LocalOptimism.load(tmp_path / "learner.npz")) == (share, mean, visits)
    assert found(learner.with_settings(loss_floor=0.1)) == (share, mean, visits)
