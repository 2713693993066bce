"""The patient table that we made up: a valid one for every seed, and one on which ignoring the group never ends."""

from pathlib import Path

import numpy as np
import pytest

from goalbound import evaluate, solve
from goalbound.adapters.patients import PatientTable, death_state, read_patients, readmission
from goalbound.adapters.synthetic_patients import (
    GROUPS,
    SHARES,
    synthetic_patients,
    synthetic_tables,
    write_synthetic_patients,
)
from goalbound.errors import ArgumentError
from goalbound.planning import is_proper

SEEDS = range(20)


def written(folder: Path, seed: int) -> PatientTable:
    return read_patients(write_synthetic_patients(folder / "patients.npz", seed=seed), groups=GROUPS)


def test_the_table_in_memory_is_that_of_the_file(tmp_path: Path) -> None:
    table = synthetic_patients(seed=2, on_death=readmission())
    assert table.problem == written(tmp_path, 2).problem
    assert table.problem.support.states + 1 == synthetic_patients(seed=2).problem.support.states  # the dead


def test_rows_and_first_states_are_distributions() -> None:
    for seed in SEEDS:
        tables = synthetic_tables(seed=seed)
        assert tables["tx_mat"].min() >= 0.0
        for name in ("tx_mat", "p_initial_state", "p_mixture"):
            np.testing.assert_allclose(tables[name].sum(axis=-1), 1.0, atol=1e-14)


def test_most_states_are_live_one_is_the_discharge_and_the_others_are_deaths() -> None:
    kind = synthetic_tables()["reward_of_next_state"]
    # Levels away from normal: (1 + 2x)^3 (1 + 2x + 2x^2) = 1 + 8x + 26x^2 + 44x^3 + ..., of 3^3 * 5 = 135 in all.
    assert [np.count_nonzero(kind == value) for value in (0, 1, -1)] == [8 + 26 + 44, 1, 135 - 1 - 78]


def test_in_a_step_one_vital_sign_moves_by_one_level() -> None:
    tables = synthetic_tables()
    live = tables["reward_of_next_state"] == 0
    levels = np.array(np.unravel_index(np.arange(135), (3, 3, 3, 5))).T
    away = np.abs(levels[:, None] - levels[None]).sum(axis=-1)
    assert away[np.any(tables["tx_mat"] > 0.0, axis=(0, 1)) & live[:, None]].max() == 1


def test_the_dead_and_those_at_home_stay() -> None:
    tables = synthetic_tables()
    ended = np.flatnonzero(tables["reward_of_next_state"])
    assert (tables["tx_mat"][:, :, ended, ended] == 1.0).all()


def test_the_same_seed_gives_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    first, again = (write_synthetic_patients(tmp_path / name) for name in ("first.npz", "again.npz"))
    assert first.read_bytes() == again.read_bytes()
    assert write_synthetic_patients(tmp_path / "again.npz", seed=1).read_bytes() != first.read_bytes()


def test_the_reader_gives_back_what_was_written(tmp_path: Path) -> None:
    tables = synthetic_tables(seed=5)
    table = written(tmp_path, 5)
    support, live = table.problem.support, table.file_states
    assert table.correction < 1e-14
    assert table.shares is not None
    np.testing.assert_allclose(table.shares, SHARES)
    np.testing.assert_array_equal(live, np.flatnonzero(tables["reward_of_next_state"] == 0))
    assert support.state_names == tuple(tables["state_names"][live])
    assert support.action_names == tuple(tables["action_names"])
    np.testing.assert_allclose(table.problem.start, tables["p_initial_state"][:, live].T)
    row = support.row(support.pair("sugar high", "intensive care"))  # the last treatment
    home = 1 * 45 + 1 * 15 + 1 * 5 + 2  # all signs normal
    assert support.next_state[row].tolist() == [support.state("sugar high"), support.states]
    expected = tables["tx_mat"][:, -1, live[support.state("sugar high")], home]
    np.testing.assert_allclose(table.problem.probabilities[row][-1], expected)
    assert expected[1] == 0.0  # in type B it waits for ever


@pytest.mark.parametrize("seed", SEEDS)
def test_best_treatments_differ_and_the_best_one_on_average_never_ends(tmp_path: Path, seed: int) -> None:
    problem = written(tmp_path, seed).problem
    one, other = (solve(problem.component(group)) for group in GROUPS)
    assert np.count_nonzero(one.policy != other.policy) >= 60
    for shares in ([0.5, 0.5], SHARES):
        averaged = solve(problem.at(shares)).policy
        assert not is_proper(problem.component("type B"), averaged)


def test_all_who_are_admitted_may_get_stuck_under_the_average_policy(tmp_path: Path) -> None:
    problem = written(tmp_path, 0).problem
    averaged = solve(problem.at([0.5, 0.5])).policy
    values = evaluate(problem.component("type B"), averaged).values[:-1]
    assert np.isinf(values[problem.start[:, 1] > 0.0]).all()


def test_both_ways_to_model_death_have_the_same_values(tmp_path: Path) -> None:
    path = write_synthetic_patients(tmp_path / "patients.npz")
    direct = read_patients(path, groups=GROUPS, on_death=readmission()).problem
    own_state = read_patients(path, groups=GROUPS, on_death=death_state()).problem
    for group in GROUPS:
        values = [solve(problem.component(group)).values[:78] for problem in (direct, own_state)]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-7)


def test_a_wrong_seed_is_named() -> None:
    with pytest.raises(ArgumentError, match="seed -1 does not fit"):
        synthetic_tables(seed=-1)
