"""Names that may be misspelt: said where the support is inferred, with the name that was probably meant."""

from __future__ import annotations

from typing import Any

from goalbound.logs import read_log
from goalbound.logs.report import rare_names


def rows(actions: list[str], state: str = "new") -> dict[str, list[Any]]:
    count = len(actions)
    return {
        "case": list(range(count)), "time": list(range(count)), "state": [state] * count, "action": actions,
        "loss": [0.5] * count, "next_state": ["goal"] * count,
    }  # fmt: skip


def test_a_misspelt_action_is_said_with_the_one_that_was_meant():
    log = read_log(rows(["answer"] * 8 + ["ask"] * 4 + ["anwser"]))
    (said,) = rare_names(log)
    assert 'the action "anwser" (1 step; did you mean "answer"?)' in said
    assert '"ask"' not in said
    assert said in log.report().warnings


def test_upper_case_and_blanks_are_slips_too():
    (said,) = rare_names(read_log(rows(["give up"] * 8 + ["Give  Up"] * 2)))
    assert 'the action "Give  Up" (2 steps; did you mean "give up"?)' in said


def test_a_misspelt_state_is_said():
    table = {name: [*values, *rows(["ask"], "nwe")[name]] for name, values in rows(["ask"] * 5).items()}
    table["case"][-1] = table["time"][-1] = 99
    (said,) = rare_names(read_log(table))
    assert 'the state "nwe" (1 step; did you mean "new"?)' in said
    assert '"ask" in "nwe"' not in said  # the state says it already


def test_a_pair_of_known_names_that_was_seen_once_is_said():
    first, second = rows(["ask"] * 5 + ["answer"]), rows(["answer"] * 5, "waiting")
    table = {name: [*first[name], *second[name]] for name in first}
    table["case"] = table["time"] = list(range(11))
    (said,) = rare_names(read_log(table))
    assert said.startswith('seen once or twice, perhaps misspelt: "answer" in "new". ')


def test_a_given_support_or_names_that_are_all_common_say_nothing():
    common = rows(["answer"] * 3 + ["ask"] * 3)
    log = read_log(common)
    assert rare_names(log) == ()
    assert rare_names(read_log(rows(["ask"]), support=log.support)) == ()


def test_many_are_counted_and_those_that_resemble_others_come_first():
    others = [f"thing number {place} {chr(97 + place) * 9}" for place in range(9)]
    (said,) = rare_names(read_log(rows([*others, *["ask"] * 4, "aks"])))
    assert said.startswith('seen once or twice, perhaps misspelt: the action "aks" (1 step; did you mean "ask"?), ')
    assert "and 7 more" in said
    assert len(said) < 300
