"""Pairs that nothing tells apart, and the mass of their rows that leads to the best next state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.learners.explore.crossings import MOST_CONCENTRATION, mark_interchangeable
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge, LocalOptimism
from goalbound.models import Step, Support
from goalbound.planning.kernels.stochastic_rows import TO_BEST, free_mass_row, min_with_free_mass
from goalbound.planning.kernels.value_iteration import L2_BALL, inner_minimum, new_uncertainty_set
from goalbound.problems import routing_grid
from goalbound.simulation import Dirichlet, play
from tests.reference.ridge_baselines import are_interchangeable
from tests.support.driving import play_own
from tests.support.strategies import examples, ssps

CROSSINGS = Support.from_pairs([{0: [1, 2], 1: [1, 2]}, {0: [0, 2], 1: [0, 2]}, {0: [0, 3], 1: [1, 3]}])
FORMS = [mark_interchangeable.python, mark_interchangeable.compiled]


def marked(support, form):
    found = np.ones(support.pairs, dtype=np.bool_)
    form(support.pair_start, support.next_start, support.next_state, found)
    return found.tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("support", "expected"),
    [
        (CROSSINGS, [True] * 4 + [False] * 2),
        (Support.full(2, 3), [False] * 6),  # the goal may follow
        (Support.from_pairs([{0: [0, 1], 1: [0, 1]}, {0: [2]}]), [False] * 3),  # one may stay
        (Support.from_pairs([{0: [1, 2], 1: [1]}, {0: [3]}, {0: [3]}]), [False] * 4),
        (Support.from_pairs([{0: [1, 2], 1: [1, 2], 2: [1, 2]}, {0: [3]}, {0: [3]}]), [False] * 5),  # three for two
        (
            Support.from_pairs([{0: [1, 2, 3], 1: [1, 2, 3]}, {0: [4]}, {0: [4]}, {0: [4]}]),
            [False] * 5,
        ),  # two for three
    ],
)
def test_pairs_are_interchangeable_if_there_are_as_many_as_next_states_and_all_have_the_same(support, expected, form):
    assert marked(support, form) == expected


@examples(30)
@given(ssps(proper=True, most_states=4, most_actions=4).map(lambda ssp: ssp.support))
def test_those_that_are_marked_are_those_of_the_definition(support):
    expected = [are_interchangeable(support, pair) for pair in range(support.pairs)]
    assert [marked(support, form) for form in FORMS] == [expected] * 2


@examples(30)
@given(st.integers(1, 5), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_free_mass_leads_to_the_best_next_state(count, free, seed):
    rng = np.random.default_rng(seed)
    pair_start, next_start = np.array([0, 1]), np.array([0, count])
    sets = new_uncertainty_set(pair_start, next_start, shape=L2_BALL, ceiling=np.inf)
    sets.used[0], sets.ball[0], sets.mass[0] = count, free, TO_BEST
    sets.state[:] = np.arange(count)
    sets.centre[:] = (1.0 - free) * rng.dirichlet(np.ones(count))
    values = rng.integers(0, 4, size=count).astype(np.float64)
    least = min(sets.centre @ values + free * one for one in values)
    row = np.empty(count)
    for form in ("python", "compiled"):
        assert getattr(inner_minimum, form)(sets, 0, values, 0.0, np.inf)[0] == pytest.approx(least)
        assert getattr(min_with_free_mass, form)(sets, 0, values)[1] == int(np.argmin(values))
        assert getattr(free_mass_row, form)(sets, 0, values, row) == pytest.approx(row @ values)
        assert row.sum() == pytest.approx(1.0)


def concentration(steps):
    learner = LocalOptimism(CROSSINGS, 1, loss_floor=0.1)
    play_own(learner, [([1.0], step) for step in steps])
    return float(learner.begin([1.0])._arrays.explore.progress["concentration"])


def test_the_concentration_is_small_where_rows_are_deterministic_and_large_where_they_are_uniform():
    assert concentration([]) == MOST_CONCENTRATION
    assert concentration([Step(0, 0, 0.5, 1)]) == MOST_CONCENTRATION  # two visits are the least that say something
    assert concentration([Step(0, 0, 0.5, 1)] * 5) == pytest.approx(0.02)
    assert concentration([Step(0, 0, 0.5, 1), Step(0, 0, 0.5, 2)] * 5) == MOST_CONCENTRATION
    # Of ten visits nine led to 1: q = (81 + 1 - 10) / 90 = 0.8, so a = (1 - 0.8) / (0.8 - 1 / 2).
    assert concentration([Step(0, 0, 0.5, 1)] * 9 + [Step(0, 0, 0.5, 2)]) == pytest.approx(2 / 3)


def test_before_the_first_visit_a_pair_leads_to_the_best_next_state_at_half_the_mean_loss():
    learner = LocalOptimism(CROSSINGS, 1, loss_floor=0.1)
    play_own(learner, [([1.0], Step(2, 0, 0.6, 3))] * 50)
    plan = learner.plan([1.0])
    assert plan.values[2] < plan.values[1]
    assert plan.rows[CROSSINGS.row(0)].tolist() == [0.0, 1.0]  # of 1 and 2
    assert plan.losses[0] == pytest.approx(0.3)


def test_after_a_log_what_was_never_tried_leads_anywhere():
    learner = LocalOptimism(CROSSINGS, 1, loss_floor=0.1)
    learner.learn_log([([1.0], Step(2, 0, 0.6, 3))] * 50)
    assert learner.plan([1.0]).rows[CROSSINGS.row(0)].tolist() == [0.5, 0.5]


def test_an_explanation_says_what_the_plan_takes_untried_actions_for():
    learner = LocalOptimism(CROSSINGS, 1, loss_floor=0.1)
    play_own(learner, [([1.0], Step(0, 1, 0.6, 2)), ([1.0], Step(2, 0, 0.6, 3))])
    assert "never played (action 0) to lead to the best" in learner.explain([1.0], 0).notes[-1]
    assert not any("never played" in note for note in learner.explain([1.0], 2).notes)
    taught = LocalOptimism(CROSSINGS, 1, loss_floor=0.1)
    taught.learn_log([([1.0], Step(2, 0, 0.6, 3))])
    assert not any("never played" in note for note in taught.explain([1.0], 0).notes)


def test_what_is_known_or_guessed_is_not_interchangeable():
    nothing = PriorKnowledge.nothing(CROSSINGS, 1)
    known = nothing.with_rows({(0, 0): {1: 1.0}}).with_losses({(1, 1): 0.5})
    learner = LocalOptimism(CROSSINGS, 1, loss_floor=0.1, prior=known)
    assert learner._constants.explore.pairs.tolist() == [False, True, True, False, False, False]
    assert not hasattr(GreedyRidge(CROSSINGS, 1, loss_floor=0.1)._constants.explore, "pairs")


def test_plans_with_policies_that_never_arrive_on_the_way_are_numbers():
    # Crossings on a torus, one of them with a way out that is dear: while it is learned, policies that go round are
    # evaluated on more than 100 states, and their chains are singular. Once that made all values no numbers.
    side, cheap = 11, 0.001
    out = side * side
    near = []
    for place in range(out):
        row, column = divmod(place, side)
        around = ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1))
        near.append(sorted([r % side * side + c % side for r, c in around] + [out] * (place == out // 2)))
    support = Support.from_pairs([dict.fromkeys(range(len(one)), one) for one in near] + [{0: [out, out + 1]}])
    learner = LocalOptimism(support, 1, loss_floor=cheap)
    episode, state = learner.begin([1.0]), 0
    for _ in range(450):
        action = episode.act(state)
        assert np.isfinite(episode.plan.values).all()
        step = Step(state, action, 1.0, out) if state == out else Step(state, action, cheap, near[state][action])
        episode.observe(step)
        state = step.next_state


def test_on_a_road_network_of_which_nothing_is_known_the_way_is_found():
    # Greedy stays near the first route that arrived: on this grid it has three times the regret.
    problem = routing_grid(15, 15)
    local, greedy = (
        play(problem, cls(problem.support, 3, loss_floor=0.125), Dirichlet.symmetric(3), episodes=400, seed=0)
        for cls in (LocalOptimism, GreedyRidge)
    )
    assert 2.0 * local.expected_regret.sum() < greedy.expected_regret.sum()
    assert local.expected_regret[-100:].mean() < 0.05 * local.optimal_loss[-100:].mean()
