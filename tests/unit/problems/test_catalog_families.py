"""What holds for every family: valid, the same for the same seed, and a proper policy for every context."""

import numpy as np
import pytest

from goalbound.models import LinearCSSP
from goalbound.planning import Status, evaluate, is_proper, solve
from goalbound.problems import (
    deceptive_lock,
    dense_random,
    incident_recovery,
    long_corridor,
    random_cssp,
    routing_grid,
    treatment_ladder,
    windy_grid,
)

PROBLEMS = {
    "one state": lambda: random_cssp(1, actions=1, context_size=1, successors=1),
    "random": lambda: random_cssp(30, seed=3),
    "random, one successor": lambda: random_cssp(12, actions=4, context_size=5, successors=1, exit_probability=0.02),
    "random, sure exits": lambda: random_cssp(12, exit_probability=1.0, seed=1),
    "dense": lambda: dense_random(5, actions=3, context_size=3, seed=2),
    "one rung": lambda: treatment_ladder(1, markers=1),
    "ladder": lambda: treatment_ladder(7, markers=3),
    "tall ladder": lambda: treatment_ladder(25, markers=6, relapse=0.0),
    "incidents": lambda: incident_recovery(),
    "incidents, day and night": lambda: incident_recovery(2),
    "two cells": lambda: windy_grid(1, 2),
    "tower": lambda: windy_grid(6, 1),
    "windy": lambda: windy_grid(5, 4, slip=0.3),
    "one street": lambda: routing_grid(1, 2, regimes=1),
    "city": lambda: routing_grid(4, 6, regimes=4, missed_turn=0.4, seed=2),
    "one digit": lambda: deceptive_lock(1, actions=2, context_size=1),
    "lock": lambda: deceptive_lock(6, actions=5, context_size=4, seed=4),
    "doorway": lambda: long_corridor(1),
    "corridor": lambda: long_corridor(23, stride=3),
}


@pytest.fixture(params=PROBLEMS)
def problem(request) -> LinearCSSP:
    return PROBLEMS[request.param]()


def contexts(problem: LinearCSSP) -> list[np.ndarray]:
    """Every corner, the middle, and some at random."""
    size = problem.context_size
    return [*np.eye(size), np.full(size, 1 / size), *np.random.default_rng(0).dirichlet(np.ones(size), size=4)]


def test_an_optimal_policy_is_proper_at_corners_and_inside(problem):
    for context in contexts(problem):
        ssp = problem.at(context)
        solution = solve(ssp)
        assert solution.status is Status.CONVERGED
        assert is_proper(ssp, solution.policy)
        assert evaluate(ssp, solution.policy).values == pytest.approx(solution.values, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in ("one digit", "lock")])  # see test_chains
def test_in_every_state_some_pair_leads_nearer_to_the_goal_under_every_component(name):
    """So a proper policy exists for every context: those pairs keep a positive probability under every mixture."""
    problem = PROBLEMS[name]()
    support = problem.support
    always = (problem.probabilities > 0).all(axis=1)
    triple_state = np.repeat(support.pair_state, np.diff(support.next_start))
    arrives = np.zeros(support.states + 1, dtype=bool)
    arrives[support.states] = True
    for _ in range(support.states):
        arrives[triple_state[always & arrives[support.next_state]]] = True
    assert arrives.all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_settings_give_the_same_problem_to_the_bit(name):
    assert PROBLEMS[name]() == PROBLEMS[name]()


@pytest.mark.parametrize(
    "make",
    [
        lambda: random_cssp(100_000, context_size=2, successors=3),
        lambda: windy_grid(250, 400),
        lambda: routing_grid(250, 400),
        lambda: deceptive_lock(100_000),
        lambda: long_corridor(100_000),
        lambda: treatment_ladder(100_000),
    ],
    ids=["random", "windy", "routing", "lock", "corridor", "ladder"],
)
def test_a_hundred_thousand_states_are_made_at_once(make):
    assert make().support.states in (99_999, 100_000)
