"""What a record says besides its sums."""

from __future__ import annotations

import json

import numpy as np
import pytest

from goalbound.experiments.records import RunRecord
from goalbound.problems.catalog import CATALOG
from tests.support.small_runs import HERE, RUNS, run, spec_of


def drugs_given(policy: int) -> RunRecord:
    problem, learner = {"use": f"{HERE}:drugs"}, {"use": f"{HERE}:given", "policy": [policy]}
    return run(spec_of(learner, problems=[problem], episodes=3, step_limit=20))


def test_policies_are_compared_over_a_grid_of_contexts() -> None:
    found = drugs_given(0).metadata["policies"]
    rates = np.array([0.9 * first + 0.1 * second for first, second in found["contexts"]])
    assert found["contexts"][:2] == [[0.0, 1.0], [1 / 40, 39 / 40]]
    assert len(rates) == 41
    # 0.2 a try, which works at the rate: 0.2 / rate against 0.5, so from a rate of 0.4 on it is best.
    better = rates > 0.4 + 1e-12
    assert found["optimal"] == better.astype(int).tolist()
    assert found["learned_gap"] == pytest.approx(np.where(better, 0.5 - 0.2 / rates, 0.0).tolist(), abs=1e-12)
    assert found["differs"] == better.astype(float).tolist()


def test_policies_are_written_with_the_names_of_states_and_actions() -> None:
    record = drugs_given(0)
    found = record.metadata["actions"]
    assert found["states"] == ["state 0"]
    assert found["actions"] == ["action 0", "action 1", "action 2"]
    assert found["optimal"] == [[0], [1]]
    assert found["learned"] == [[0]]
    assert found["learned_at"] == [0] * 41
    named = run(spec_of({"use": "greedy-ridge"}, problems=[{"use": "treatment-ladder"}], episodes=1)).metadata[
        "actions"
    ]
    support = CATALOG["treatment-ladder"].make().support
    assert named["states"] == list(support.state_names)
    assert named["actions"] == list(support.action_names)


@pytest.mark.parametrize(("size", "points"), [(1, 1), (2, 41), (3, 66), (4, 4 + 1 + 6), (20, 100)])
def test_the_grid_of_contexts_is_on_the_simplex(size: int, points: int) -> None:
    from goalbound.experiments.metadata import context_grid

    grid = context_grid(size)
    assert grid.shape == (points, size)
    assert grid.sum(axis=1) == pytest.approx(1.0)
    assert len(np.unique(grid, axis=0)) == points
    assert (grid >= 0.0).all()


def test_the_facts_say_what_was_used() -> None:
    record = run(RUNS["lr-cssp"])
    settings, problem = record.metadata["settings"], record.metadata["problem"]
    assert settings["loss_bound"] == max(1.0, problem["loss_bound"])
    assert settings["loss_floor"] == problem["loss_floor"]
    assert (settings["widths"], settings["scale"], settings["delta"]) == ("paper", 0.05, 0.1)
    assert problem["states"] == 3
    assert problem["time_bound"] >= 1.0
    for name in ("loss_bound", "time_bound"):  # as context_bounds promises of a search that converged
        assert (
            problem[f"{name}_lower"] <= problem[name] <= (1.0 + problem["bounds_tolerance"]) * problem[f"{name}_lower"]
        )
    assert record.metadata["provenance"]["id"] == record.id
    assert "time" not in json.dumps(record.metadata["provenance"])
    doubled = run(RUNS["doubling and forgetting"])
    assert doubled.metadata["settings"]["loss_bound"] is None
    assert doubled.metadata["settings"]["final_loss_bound"] == 2.0 ** doubled.metadata["settings"]["doublings"]
    assert doubled.metadata["diagnosis"]["loss_bound"] == max(1.0, problem["loss_bound"])
