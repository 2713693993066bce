"""What the page is given of the problem."""

import json

import numpy as np

from goalbound.experiments.explorer.optimum import (
    bounds_json,
    certified_contexts,
    certified_json,
    is_solved_in_page,
    model_json,
)
from goalbound.planning import solve
from goalbound.problems import windy_grid


def test_small_problems_are_in_the_page_whole():
    problem = windy_grid(2, 3)
    assert is_solved_in_page(problem)
    found = json.loads(json.dumps(model_json(problem, exact=True)))
    assert np.array_equal(found["rows"], problem.probabilities)  # to the bit
    assert np.array_equal(found["losses"], problem.losses)
    assert found["components"] == list(problem.component_names)
    assert found["start"] == 0


def test_certified_solutions_are_those_of_the_planner():
    problem = windy_grid(2, 3)
    contexts = certified_contexts(problem, exact=True)
    assert len(np.unique(contexts, axis=0)) == 7
    found = certified_json(problem, contexts)
    for place, context in enumerate(contexts):
        best = solve(problem.at(context))
        assert found["policy"][place] == best.policy.tolist()
        assert (np.array(found["lower"][place]) <= best.lower[:-1]).all()
        assert (np.array(found["upper"][place]) >= best.upper[:-1]).all()
        assert np.allclose(found["times"][place], best.hitting_times[:-1])


def test_bounds_over_all_contexts_hold_what_is_found_at_each():
    problem = windy_grid(2, 3)
    found = bounds_json(problem, seconds=5.0)
    assert found["proper"]
    largest = max(solve(problem.component(k)).values.max() for k in range(3))
    assert found["loss"]["upper"] >= largest
    assert found["loss"]["lower"] <= found["loss"]["upper"]
    assert found["loss"]["status"] == "converged"
    assert len(found["time"]["context"]) == 3
