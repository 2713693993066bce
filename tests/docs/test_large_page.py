"""What docs/how_to/large.md says a learner takes is what its arrays have, and its lines are run."""

from __future__ import annotations

import re

import pytest

from goalbound import LRCSSP, widths
from goalbound.learners.settings import LearnerOptions
from goalbound.planning.context_bounds import BoundStatus
from goalbound.problems import random_cssp
from tests.support.documents import ROOT, block

PAGE = (ROOT / "docs" / "how_to" / "large.md").read_text()
PROBLEM = random_cssp(30, actions=4, successors=3, context_size=5)


def large_arrays(learner: LRCSSP) -> int:
    return sum(array.nbytes for _, array in learner._state_arrays() if array.ndim > 1)


def untested() -> LRCSSP:
    """As all learners of large supports are by themselves: the linear model is not tested."""
    options = LearnerOptions(check_linearity=False)
    return LRCSSP(PROBLEM.support, 5, loss_floor=0.1, widths=widths.sharp(), options=options)


def test_the_bytes_of_a_learner_are_those_of_the_table() -> None:
    learner = untested()
    pairs, triples, d = PROBLEM.support.pairs, PROBLEM.support.triples, 5
    assert "| a new learner | 16 N d^2 + 50 N + 16 M |" in PAGE
    assert "8 d^2 + 40 d + m (4 d (d + 1) + 16 d), in whole pages" in PAGE
    new, played = 16 * pairs * d**2, pairs * (8 * d**2 + 40 * d) + triples * (4 * d * (d + 1) + 16 * d)
    assert large_arrays(learner) == new + played
    vectors = sum(array.nbytes for _, array in learner._state_arrays() if array.ndim == 1)
    assert vectors == pytest.approx(50 * pairs + 16 * triples, rel=0.1)


def test_the_bounds_of_the_page_are_found_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict = {}
    exec(block("docs/how_to/large.md", "context_bounds").replace("routing_grid(6, 6", "routing_grid(3, 3"), names)
    assert names["found"].status is BoundStatus.CONVERGED
    assert re.search(r"loss: .* to .*, 1 regions\r.*time: ", capsys.readouterr().out)
