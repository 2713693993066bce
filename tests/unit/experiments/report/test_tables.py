"""The tables of a report."""

from __future__ import annotations

import re

from goalbound.experiments.report.tables import best_policies, policy_changes


def test_the_table_has_the_numbers_of_the_summary_and_sorts_by_them(page):
    row = re.search(
        r'<tr data-learner="1"><th scope="row" class="text"><b class="tag">B</b> narrow</th>.*?</tr>', page
    )[0]
    assert 'data-value="1100">1,100 <small>(1,000 to 1,200)</small>' in row
    assert 'data-value="0.11">0.110' in row  # 1,100 / 10,000 episodes
    assert "0 of 3 runs" in row
    assert 'data-value="5e-05">50' in row  # 1.5 s / 30,000 steps, in microseconds


def test_every_column_of_numbers_has_a_meaning_on_the_page(page):
    (part,) = re.findall(r"What the columns mean</summary><dl>(.*?)</dl>", page, re.DOTALL)[:1]
    explained = re.findall(r"<dt>(.*?)</dt><dd>[^<]", part)
    table = re.search(r"All learners; means over seeds.*?</thead>", page, re.DOTALL)[0]
    heads = [re.sub(r"<.*?>", "", head).strip() for head in re.findall(r"<th.*?</th>", table, re.DOTALL)]
    assert {"per episode", "µs/step"} <= set(explained)
    assert [head for head in heads if head not in explained] == ["learner", "seeds"]


def test_the_best_policies_are_shown_by_names_with_what_changes():
    regions = {"states": ["low", "high", "top"], "actions": [["wait", "wait", "act"], ["act", "act", "act"]]}
    panel = {"policies": {"best": [1, 0, 1], "regions": regions}}
    assert policy_changes(panel) == ["From P1 to P2: wait instead of act in low and high."]
    table = best_policies(panel)
    assert table.heads == ["in state", "P1, best at 2 of 3", "P2, best at 1 of 3"]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["low", "act", "wait"], ["high", "act", "wait"],
    ]  # fmt: skip
    assert best_policies({"policies": {"best": [0], "regions": None}}) is None  # of older records
