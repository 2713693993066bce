"""Findings are collected, and raised at once."""

from __future__ import annotations

import pytest

from goalbound.testing.contract import ContractError, Findings, Stop


def test_findings_are_listed_in_their_order_with_place_and_remedy() -> None:
    found = Findings("Learner")
    found.add("begin", "it has none", "write one")
    found.add("act", "it gave 7", "give an action")
    with pytest.raises(ContractError) as error:
        found.close()
    assert error.value.findings == ("begin: it has none; write one", "act: it gave 7; give an action")
    assert str(error.value) == "\n- ".join(("Learner: 2 things are wrong", *error.value.findings))


def test_an_exception_is_a_finding_and_the_first_one_is_the_cause() -> None:
    found = Findings("Learner")
    for error in (ValueError("first"), KeyError("second")):
        with found.step("observe"):
            raise error
    with pytest.raises(ContractError, match="2 things are wrong") as raised:
        found.close()
    assert str(raised.value.__cause__) == "first"
    assert raised.value.findings[0] == "observe: raised ValueError: first; the cause of this error shows where"


def test_stop_ends_a_step_and_is_no_finding() -> None:
    found = Findings("Learner")
    with found.step("make"):
        found.add("make", "it gave None", "return a learner")
        raise Stop
    with pytest.raises(ContractError, match="Learner: one thing is wrong"):
        found.close()
