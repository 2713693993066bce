"""The high-probability event: the sets hold the truth, and it would be seen if they did not."""

from __future__ import annotations

import pytest

from guarantees.coverage import Size, coverage, lower_limit, refuted
from tests.paper.claims import assert_held


def test_the_sets_hold_the_truth_and_the_check_can_fail() -> None:
    # 60 of 60 runs show a coverage of 0.926 with confidence 0.99. Were the coverage 0.9999, far below what was ever
    # seen, one of the 120 runs would fail with probability 0.012. At the promised 0.9 the check is *meant* to fail.
    result = coverage(Size(runs=60, episodes=60, adversarial_episodes=15))
    assert_held(result)
    assert [row[0] for row in result.rows if row[2]] == ["Dirichlet", "adversary"]
    narrow = next(row for row in result.rows if row[1] == "0.05 x paper")
    assert narrow[3] == 0


def test_the_binomial_statements_are_exact() -> None:
    # All of n successes: the limit p solves p^n = 1 - confidence. 0 of n: nothing is shown.
    assert lower_limit(60, 60) == pytest.approx(0.01 ** (1 / 60))
    assert lower_limit(0, 60) == 0.0
    assert not refuted(54, 60)  # just what 0.9 promises
    assert refuted(35, 60)
