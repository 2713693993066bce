"""What docs/how_to/change.md says is run."""

import warnings

import pytest

from goalbound.errors import ChangeWarning
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read() -> dict:
    """The blocks of the page run in order; their names, and what they printed."""
    names: dict = {"printed": []}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChangeWarning)
        for block in blocks("docs/how_to/change.md"):
            exec(block, names)
    return names


def test_the_alarm_on_the_page_is_the_one_that_is_printed(read: dict) -> None:
    page = " ".join((ROOT / "docs" / "how_to" / "change.md").read_text().split())
    assert " ".join(read["printed"][0].split()) in page


def test_the_restart_that_broke_is_named_soon(read: dict) -> None:
    change, support = read["monitor"].change, read["problem"].support
    assert {support.action_names[support.pair_action[pair]] for pair in change.pairs} == {"restart"}
    assert 500 <= change.since_case <= change.case < 540  # it broke after 500 cases


def test_what_is_learned_anew_forgot_the_restarts_before_the_change_alone(read: dict) -> None:
    old, new, pairs = read["monitor"].statistics.visits, read["fresh"].statistics.visits, read["monitor"].change.pairs
    changed = [pair in pairs for pair in range(len(old))]
    assert (new[changed] < old[changed]).all()
    assert new.sum() < old.sum()
    assert all(new[pair] == old[pair] for pair in range(len(old)) if not changed[pair])
