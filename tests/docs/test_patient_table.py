"""The module beside the tutorial about patients: tables by hand, and the made-up one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from goalbound import LinearCSSP, solve
from goalbound.planning import is_proper
from tests.support.documents import beside_tutorials

GROUPS = ("young", "old")


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return beside_tutorials("patient_table")


def small() -> dict[str, Any]:
    """States: ill, weak, dead, home. Patients begin ill (young) or, half of them, weak (old). Two actions."""
    young = [[[0.0, 0.5, 0.1, 0.4], [0.0, 0.5, 0.5, 0.0]], [[0.2, 0.0, 0.0, 0.8], [1.0, 0.0, 0.0, 0.0]]]
    old = [[[0.0, 0.5, 0.4, 0.1], [0.0, 0.0, 1.0, 0.0]], [[0.5, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]]]
    absorbed = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    return {
        "tx_mat": np.array([[rows + absorbed for rows in group] for group in (young, old)], dtype=np.float32),
        "reward_of_next_state": np.array([0.0, 0.0, -1.0, 1.0]),
        "p_initial_state": np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]]),
    }


def dense(problem: LinearCSSP, group: int) -> np.ndarray:
    """[N, S + 1] the rows of a group."""
    support = problem.support
    rows = np.zeros((support.pairs, support.states + 1))
    rows[np.repeat(np.arange(support.pairs), np.diff(support.next_start)), support.next_state] = problem.probabilities[
        :, group
    ]
    return rows


def test_a_death_leads_to_where_patients_of_the_group_begin(module: ModuleType) -> None:
    problem = module.patient_problem(small(), GROUPS, death_loss=0.8, death_state=False)
    assert problem.component_names == GROUPS
    # Pairs: (ill, 0), (ill, 1), (weak, 0), (weak, 1); next states: ill, weak, the goal.
    np.testing.assert_allclose(dense(problem, 0)[0], [0.1, 0.5, 0.4], atol=1e-7)  # the dead tenth begins ill
    np.testing.assert_allclose(dense(problem, 1)[0], [0.2, 0.5 + 0.2, 0.1], atol=1e-7)  # 0.4, half of it to each
    np.testing.assert_allclose(dense(problem, 1)[2], [0.5, 0.5, 0.0], atol=1e-7)  # all die
    np.testing.assert_allclose(problem.start, [[1.0, 0.5], [0.0, 0.5]])
    # 0.05 + 0.75 * chance of death: 0.1 and 0.4 for (ill, 0), 0.5 and 1 for (weak, 0).
    expected = [[0.125, 0.35], [0.05, 0.05], [0.425, 0.8], [0.05, 0.05]]
    np.testing.assert_allclose(problem.losses, expected, atol=1e-7)


def test_the_dead_as_a_state_have_the_same_values_and_known_losses(module: ModuleType) -> None:
    direct = module.patient_problem(small(), GROUPS, death_state=False)
    problem = module.patient_problem(small(), GROUPS)
    assert (problem.losses[:-1] == 0.05).all()
    np.testing.assert_allclose(problem.losses[-1], 0.95)  # 1 in all, of which the step lost 0.05
    np.testing.assert_allclose(dense(problem, 1)[-1], [0.5, 0.5, 0.0, 0.0])
    for group in GROUPS:
        with_state, without = solve(problem.component(group)), solve(direct.component(group))
        np.testing.assert_allclose(with_state.values[:2], without.values[:2], rtol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_best_treatments_differ_and_the_best_one_on_average_never_ends(module: ModuleType, seed: int) -> None:
    problem = module.patient_problem(module.made_up_table(seed=seed), death_state=False)
    one, other = (solve(problem.component(group)) for group in module.GROUPS)
    assert np.count_nonzero(one.policy != other.policy) >= 60
    for shares in ([0.5, 0.5], module.SHARES):
        assert not is_proper(problem.component("type B"), solve(problem.at(shares)).policy)
