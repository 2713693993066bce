"""The sections of the page."""

from __future__ import annotations

import json
import re
from itertools import pairwise

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.report.sections import bibtex
from tests.support.report_cases import HOSTILE, Outline, case, spec


def test_labels_cannot_break_out_of_the_page():
    things = [{"use": "lr-cssp", "label": HOSTILE}]
    asked = spec(question=HOSTILE, seeds=2, learners=things, problems=[{"use": "random", "label": HOSTILE}])
    run = asked.runs()[0]
    failure = {"id": run.id, "error": HOSTILE, "traceback": HOSTILE, "spec": run.as_json()}
    page = report_page(report_data(**case(asked, only=lambda one: one.id != run.id, failures=[failure])))
    outline = Outline(page)
    assert [tag for tag, _ in outline.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in outline.tags) == 3  # the data, the library, and what draws by it
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in "".join(outline.texts)  # it is shown, as the text it is
    found = json.loads(re.search(r'id="page-data">(.*?)</script>', page, re.DOTALL)[1])
    assert found["learners"][0]["label"] == HOSTILE
    names = {trace["name"] for trace in found["charts"]["regret-1"]["traces"] if trace["meta"]["role"] == "line"}
    assert names == {HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}  # no tag for Plotly


def test_the_page_has_headings_in_order_and_tables_with_captions_and_scopes(page):
    tags = [tag for tag, _ in Outline(page).tags]
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert tags.count("table") == tags.count("caption")
    assert all("scope" in attributes for tag, attributes in Outline(page).tags if tag == "th" and attributes)


def test_everything_to_cite_is_there_to_copy(page):
    entry = bibtex("0.2.0")
    assert entry.count("{") == entry.count("}")
    assert "version = {0.2.0}" in entry
    assert re.search(r'data-copy="bibtex">', page)
    assert "@misc{polikar_cohen_lcssp," in page


def test_the_answer_and_the_first_charts_come_before_any_other_text(page):
    first = page.index('data-chart="ranking-1"'), page.index('data-chart="regret-1"')
    assert page.index('class="answer"') < first[0] < first[1] < page.index('id="comparison"') < page.index('id="setup"')
