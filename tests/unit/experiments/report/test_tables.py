"""The tables of a report."""

from __future__ import annotations

import re


def test_the_table_has_the_numbers_of_the_summary_and_sorts_by_them(page):
    row = re.search(r"<tr><th scope=\"row\" class=\"text\"><b class=\"tag\">B</b> narrow</th>.*?</tr>", page)[0]
    assert 'data-value="1100">1,100 <small>(1,000 to 1,200)</small>' in row
    assert 'data-value="0.11">0.11' in row  # 1,100 / 10,000 episodes
    assert "0 of 3 runs" in row
    assert 'data-value="5e-05">50' in row  # 1.5 s / 30,000 steps, in microseconds
