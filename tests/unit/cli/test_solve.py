"""``goalbound solve``."""

import csv
from fractions import Fraction

import numpy as np
import pytest

from goalbound.logs import read_log
from goalbound.models import SSP
from goalbound.models.files import save
from goalbound.planning import solve
from goalbound.problems import CATALOG, windy_grid
from tests.support.commands import in_a_process, strict


def test_a_contextual_problem_is_solved_at_every_corner_and_in_the_middle(run):
    code, out, err = run("solve", "demo")
    assert (code, err) == (0, "")
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    # Calm: 3 + 5 walks of loss 0.4, each working with probability 0.9.
    assert f"{8 * 0.4 / 0.9:.5f}" in rows["calm"]
    assert "may never arrive from any state" in rows["calm"]
    # West wind drives everything drifting in rows 1 to 3 (18 cells) to the eastern border.
    assert "may never arrive from 18 of 23 states" in rows["west wind"]
    assert "arrives from every state" in rows["middle (the average)"]
    assert "improper in 3 of 3 pure contexts" in out


def test_the_json_of_all_contexts_agrees_with_the_planner_to_the_bit(run):
    code, out, _ = run("solve", "windy-grid", "--set", "rows=3", "columns=3", "--json")
    found = strict(out)
    problem = windy_grid(3, 3)
    assert code == 0
    assert [one["context"] for one in found["contexts"]] == [*np.eye(3).tolist(), [1 / 3] * 3]
    for one in found["contexts"]:
        solution = solve(problem.at(one["context"]))
        assert one["start"]["value"] == solution.start_value
        for name, exact in (
            ("value", solution.values),
            ("lower", solution.lower),
            ("upper", solution.upper),
            ("steps", solution.hitting_times),
        ):
            assert [state[name] for state in one["states"]] == exact[:-1].tolist()
        assert [state["action"] for state in one["states"]] == solution.policy.tolist()
        names = problem.support.action_names
        assert [state["action_name"] for state in one["states"]] == [names[a] for a in solution.policy]
    calm = found["contexts"][0]["averaged_policy"]
    assert calm == {"proper": False, "may_never_arrive_from": list(range(8)), "steps_from_start": "Infinity"}


def test_values_of_a_file_are_in_its_own_unit_and_as_losses(run, drn):
    _, out, _ = run("solve", drn, "--loss", "time")
    assert "a loss of 1 is 512 of it" in out  # the power of two above 300
    assert "value 230 (as losses in [0, 1]: 0.449219), expected steps 3" in out  # 230 / 512
    _, out, _ = run("solve", drn, "--loss", "time", "--json")
    one = strict(out)["contexts"][0]
    assert one["context"] is None
    assert one["states"][0]["value"] == 230.0
    assert one["states"][0]["lower"] <= 230.0 <= one["states"][0]["upper"]
    assert strict(out)["loss_scale"] == 512.0


def test_bounds_stay_bounds_in_a_unit_that_rounds(run, tmp_path):
    scaled = SSP.dense([[0.3]], [[[0.7, 0.3]]])  # value 0.3 / 0.3 = 1 up to the rounding of the row
    scaled = SSP(scaled.support, scaled.losses, scaled.probabilities, 0, 0.1)
    save(scaled, tmp_path / "a.npz")
    _, out, _ = run("solve", str(tmp_path / "a.npz"), "--json")
    state = strict(out)["contexts"][0]["states"][0]
    exact = solve(scaled)
    unit = Fraction(scaled.loss_scale)
    assert Fraction(state["lower"]) <= Fraction(float(exact.lower[0])) * unit
    assert Fraction(state["upper"]) >= Fraction(float(exact.upper[0])) * unit


def test_a_policy_can_be_written_as_csv(run, tmp_path):
    path = tmp_path / "policy.csv"
    assert run("solve", "demo", "--context", "calm", "--policy-out", str(path))[0] == 0
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    solution = solve(CATALOG["demo"].make().component(0))
    assert [int(row["action"]) for row in rows] == solution.policy.tolist()
    assert [float(row["value"]) for row in rows] == solution.values[:-1].tolist()
    assert rows[1]["name"] == "row 1, column 2"
    assert rows[0]["action_name"] == "east"


def test_a_name_is_no_formula_of_a_spreadsheet_and_a_log_with_it_is_read(run, tmp_path):
    names = {"state_names": ["=cmd()"], "action_names": ["@wait"]}
    problem = SSP.dense([[0.5]], [[[0.5, 0.5]]], **names)
    save(problem, tmp_path / "evil.npz")
    assert run("solve", str(tmp_path / "evil.npz"), "--policy-out", str(tmp_path / "policy.csv"))[0] == 0
    with open(tmp_path / "policy.csv", newline="") as file:
        row = next(csv.DictReader(file))
    state, action = row["name"], row["action_name"]
    assert (state, action) == ("'=cmd()", "'@wait")
    rows = f"1,0,{state},{action},0.5,{state}\n1,1,{state},{action},0.5,goal\n"
    (tmp_path / "log.csv").write_text(f"case,time,state,action,loss,next_state\n{rows}")
    log = read_log(tmp_path / "log.csv", support=problem.support)
    assert log.steps.pairs.tolist() == [0, 0]


@pytest.fixture
def pit(tmp_path):
    """State 1 is a pit: it leads only to itself."""
    path = tmp_path / "pit.npz"
    save(SSP.dense([[0.5], [0.5]], [[[0, 0, 1.0]], [[0, 1.0, 0]]], state_names=["a", "pit"]), path)
    return str(path)


def test_a_state_that_cannot_arrive_is_refused_or_excluded(run, pit):
    code, out, err = run("solve", pit)
    assert (code, out) == (2, "")
    assert 'state 1 ("pit")' in err
    assert "--unreachable exclude" in err
    code, out, _ = run("solve", pit, "--unreachable", "exclude")
    assert code == 0
    assert out.splitlines()[-1].split() == ["pit", "none", "infinite", "infinite", "infinite", "infinite"]
    _, out, _ = run("solve", pit, "--unreachable", "exclude", "--json")
    state = strict(out)["contexts"][0]["states"][1]
    assert (state["action"], state["action_name"], state["value"]) == (None, None, "Infinity")
    assert float(state["value"]) == np.inf


def test_an_answer_that_did_not_converge_is_identified_by_the_exit_code_and_on_stderr(run):
    code, out, err = run("solve", "demo", "--context", "calm", "--tolerance", "1e-17", "--json")
    assert code == 3
    assert err.startswith("goalbound: context calm: stopped by rounding")
    assert err.count("\n") == 1
    assert strict(out)["status"] == strict(out)["contexts"][0]["status"] == "rounding"


@pytest.mark.parametrize("words", [["solve", "demo"], ["solve", "demo", "--context", "calm", "--json"], ["problems"]])
def test_a_toy_problem_does_not_wait_for_numba(words):
    look = "import sys\nfrom goalbound.cli import main\nmain(sys.argv[1:])\nprint('numba' in sys.modules)"
    assert in_a_process("-c", look, *words).stdout.splitlines()[-1] == "False"
