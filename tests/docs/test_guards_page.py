"""What docs/how_to/guards.md says is run."""

import pytest

from goalbound.planning import evaluate
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read() -> dict:
    """The blocks of the page run in order; their names, and what they printed."""
    names: dict = {"printed": []}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    for block in blocks("docs/how_to/guards.md"):
        exec(block, names)
    return names


def test_the_table_on_the_page_is_the_one_that_is_printed(read: dict) -> None:
    assert read["printed"][0] in (ROOT / "docs" / "how_to" / "guards.md").read_text()


def test_the_case_of_the_page_is_led_by_the_learner_before_and_after_the_override(read: dict) -> None:
    assert read["printed"][1:4] == ["roll back learner", "roll back learner", "0 1"]
    assert read["episode"].ended


def test_under_the_busy_context_the_other_policy_loses_about_a_tenth(read: dict) -> None:
    truth, found = read["problem"].at(read["busy"]), read["apprentice"].progress(read["busy"])
    runbook, candidate = (evaluate(truth, policy).values[0] for policy in (found.runbook, found.candidate))
    assert candidate / runbook == pytest.approx(0.1, abs=0.03)
    assert candidate <= found.candidate_upper[0]
    assert runbook >= found.runbook_lower[0]


def test_the_quick_way_is_said_to_be_unproven(read: dict) -> None:
    assert read["printed"][4].startswith("Not proven")
    assert read["quick"].card.guarantee == "unproven"


def test_some_episodes_of_the_page_are_ended_by_the_runbook_and_most_are_not(read: dict) -> None:
    count, guarded = read["guarded"].interventions, read["printed"][-1]
    assert guarded == f"{count} of 300 episodes were ended by the runbook"
    assert 0 < count < 150
