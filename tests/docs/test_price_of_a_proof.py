"""The figures of the page about the price of a proof, from its formula and its script."""

from __future__ import annotations

import math
import re

import pytest

from goalbound.production import LRCSSP, LocalOptimism
from tests.support.documents import ROOT

PAGE = (ROOT / "docs" / "explanation" / "price_of_a_proof.md").read_text()


def visits(components: int, half_width: float) -> float:
    """The n of which the right side of the formula is n, by iteration."""
    found = 1.0
    for _ in range(200):
        found = components * (17 + components * math.log(1 + found / components)) / (4 * half_width**2)
    return found


def test_the_table_of_visits_is_that_of_the_formula():
    table = PAGE.partition("| components | h = 0.3")[2]
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", table, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 3, 7, 12, 36]
    for row in rows:
        for text, half_width in zip(row[1:], (0.3, 0.2, 0.1), strict=True):
            assert int(text.replace(",", "")) == pytest.approx(visits(int(row[0]), half_width), rel=0.05)


def test_a_log_of_a_thousand_cases_makes_the_proven_plan_worse():
    """The row of 1,000 cases and twelve components: 37 minutes against 26 of the other learner."""
    names: dict = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], names)
    proven, other = (names["minutes"](1000, 12, make) for make in (LRCSSP, LocalOptimism))
    assert proven > 32 > other
