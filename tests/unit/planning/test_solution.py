"""How a solution reads."""

from goalbound import SSP, solve
from tests.support.small_problems import drugs


def test_an_answer_reads_like_a_table() -> None:
    # The young: 0.2 / 0.6 = 1/3 by drug A, 0.4 / 0.5 by drug B.
    lines = str(solve(drugs().at("young"))).splitlines()
    assert lines[0].startswith("converged; bounds within ")
    assert lines[0].endswith("value at the start 0.333333")
    assert lines[1].split() == ["state", "0", '("sick")', "0.333333", "action", "0", '("drug', 'A")']


def test_a_long_answer_is_cut_and_states_left_out_say_why() -> None:
    rows = [(s, 0, s + 1, 1.0, 0.5) for s in range(20)]
    assert str(solve(SSP.from_transitions(rows))).splitlines()[-1] == "and 8 more states"
    pit = SSP.from_transitions([("a", "go", "goal", 1.0, 0.1), ("pit", "wait", "pit", 1.0, 0.1)])
    assert str(solve(pit, unreachable="exclude")).splitlines()[-1].endswith("no proper policy")
