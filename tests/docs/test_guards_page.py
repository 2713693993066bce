"""What docs/how_to/guards.md says is run."""

import contextlib

import pytest

from goalbound import load_learner
from goalbound.planning import evaluate
from goalbound.serve.store import Store
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read(tmp_path_factory) -> dict:
    """The blocks of the page run in order, in a folder of their own; their names, and what they printed."""
    names: dict = {"printed": [], "folder": tmp_path_factory.mktemp("page")}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    with contextlib.chdir(names["folder"]):
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


def test_some_episodes_of_the_page_are_ended_by_the_runbook_and_most_are_not(read: dict) -> None:
    count, guarded = read["guarded"].interventions, read["printed"][4]
    assert guarded == f"{count} of 300 episodes were ended by the runbook"
    assert 0 < count < 150


def test_the_learner_of_the_last_block_is_guarded_in_a_store_after_six_steps(read: dict) -> None:
    with Store.open(read["folder"] / "store") as store:
        learner = store.create("recovery", load_learner(read["folder"] / "guarded.npz"))
        case = learner.begin(50, "down", id="a")
        for _ in range(6):
            case = learner.observe("a", 10, "degraded" if case.name == "roll back" else "down", step=case.step + 1)
        assert learner.status()["unit"] == "min"
        assert case.name == "roll back"
        assert "Monitored(Guarded(" in learner.status()["learner"]
