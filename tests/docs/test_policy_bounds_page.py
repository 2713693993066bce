"""What docs/how_to/policy_bounds.md says is run."""

import numpy as np
import pytest

from goalbound.planning import evaluate
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read() -> dict:
    """The blocks of the page run in order; their names, and what they printed."""
    names: dict = {"printed": []}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    for block in blocks("docs/how_to/policy_bounds.md"):
        exec(block, names)
    return names


def test_the_bounds_of_the_page_hold_the_truth_and_are_finite(read: dict) -> None:
    truth = read["problem"].at([0.2, 0.8])
    for found in (read["bounds"], read["careful"]):
        values = evaluate(truth, found.policy).values
        assert (found.lower <= values).all()
        assert (values <= found.upper).all()
        assert np.isfinite(found.upper).all()
        assert found.proven


def test_the_table_on_the_page_is_the_one_that_is_printed(read: dict) -> None:
    page = (ROOT / "docs" / "how_to" / "policy_bounds.md").read_text()
    assert read["printed"][0] in page


def test_the_numbers_of_the_page_are_those_of_the_arithmetic(read: dict) -> None:
    assert read["printed"][-1] == "0.333 1.333"
    assert read["why"].actions[read["why"].chosen].action in read["why"].reason
