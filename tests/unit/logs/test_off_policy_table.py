"""The table, its HTML and its JSON say the same."""

from __future__ import annotations

import json
import math
from typing import Any

from goalbound.logs import PolicyEstimate, PolicyEvaluation
from goalbound.logs.off_policy import BOUNDS, DOUBLY_ROBUST, IMPORTANCE, MODEL, OBSERVED


def evaluation(**others: Any) -> PolicyEvaluation:
    given: dict[str, Any] = {
        "observed": PolicyEstimate(OBSERVED, 30.0, 28.5, 31.25, cases=90, notes=("10 open cases left out",)),
        "model": PolicyEstimate(MODEL, 25.0, 24.0, 26.0, cases=100),
        "importance": PolicyEstimate(IMPORTANCE, 24.5, None, None, cases=100, effective_cases=12.25),
        "doubly_robust": PolicyEstimate(DOUBLY_ROBUST, missing="one case only"),
        "bounds": PolicyEstimate(BOUNDS, None, 10.0, math.inf, proven=True, cases=100),
        "unit": "min", "cases": 100, "open_cases": 10, "broken_cases": 0, "level": 0.95, "replicates": 200,
        "notes": ("for all <rows>",),
    }  # fmt: skip
    return PolicyEvaluation(**{**given, **others})


def test_the_table_has_one_line_for_each_row_and_then_the_notes():
    lines = str(evaluation()).splitlines()
    assert [line.split() for line in lines] == [
        ["loss", "per", "case,", "min", "estimate", "from", "to", "cases", "effective", "interval"],
        lines[1].split(),
        ["observed", "30", "28.5", "31.25", "90", "-", "bootstrap,", "not", "proven"],
        ["model", "25", "24", "26", "100", "-", "bootstrap,", "not", "proven"],
        ["importance", "sampling", "24.5", "-", "-", "100", "12.2", "-"],
        ["doubly", "robust", "-", "-", "-", "-", "-", "none:", "see", "below"],
        ["bounds", "-", "10", "infinite", "100", "-", "proven"],
        ["-", "observed:", "10", "open", "cases", "left", "out"],
        ["-", "doubly", "robust:", "one", "case", "only"],
        ["-", "for", "all", "<rows>"],
    ]


def test_what_is_not_there_is_null_and_what_is_infinite_is_a_word():
    found = json.loads(json.dumps(evaluation().as_json(), allow_nan=False))
    assert found["rows"][4]["high"] == "infinite"
    assert found["rows"][4]["value"] is None
    assert found["rows"][3]["missing"] == "one case only"
    assert found["rows"][2]["effective_cases"] == 12.25
    assert (found["cases"], found["open_cases"], found["broken_cases"], found["level"]) == (100, 10, 0, 0.95)


def test_html_shows_the_same_cells_and_escapes_names():
    page = evaluation(unit="<b>")._repr_html_()
    assert page.count("<tr>") == 6
    assert "<td>28.5</td>" in page
    assert "<td>infinite</td>" in page
    assert "&lt;rows&gt;" in page
    assert "<b>" not in page


def test_a_log_without_a_unit_has_none_in_the_table():
    assert str(evaluation(unit="")).startswith("loss per case  ")
