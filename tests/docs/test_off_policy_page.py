"""The page about off-policy evaluation runs from top to bottom, and says what is so."""

from __future__ import annotations

import pytest

from tests.support.arithmetic import recorded_arithmetic
from tests.support.behaviour_logs import true_mean
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read() -> dict:
    """The blocks of the page run in order; their names, and what they printed."""
    names: dict = {"printed": []}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    for block in blocks("docs/how_to/off_policy.md"):
        exec(block, names)
    return names


@recorded_arithmetic()
def test_the_table_on_the_page_is_the_one_that_is_printed(read: dict) -> None:
    assert read["printed"][0] in (ROOT / "docs" / "how_to" / "off_policy.md").read_text(encoding="utf-8")


def test_the_bounds_of_the_page_are_proven_and_below_the_truth(read: dict) -> None:
    found = read["found"]
    truth = 60 * true_mean(read["problem"], read["log"], read["runbook"](read["problem"]))
    assert found.bounds.proven
    assert found.bounds.cases == 100
    assert 5.0 <= found.bounds.low < truth  # by a margin: of 100 of the cases


def test_a_function_of_the_context_has_a_number_of_its_own(read: dict) -> None:
    assert read["printed"][1].endswith(" min per case")
    assert read["changed"].doubly_robust.value != read["found"].doubly_robust.value
