"""What docs/how_to/knowledge.md says is run."""

import numpy as np
import pytest

from tests.support.documents import blocks


def test_the_page_on_knowledge_tells_the_learner_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict = {}
    for block in blocks("docs/how_to/knowledge.md"):
        exec(block, names)
    learner = names["learner"]
    assert learner.prior.row_known.tolist() == [True, False, False]
    np.testing.assert_array_equal(learner.prior.losses[1], [0.1, 0.2, 0.4])
    assert learner.statistics.visits.sum() == 0  # the observation was refused
    printed = capsys.readouterr().out
    assert "led to goal" in printed
    assert "declare" in printed
    without, with_guess = (float(line.rpartition(" ")[2]) for line in printed.splitlines() if "the guess" in line)
    assert with_guess < 0.5 * without
