"""Labels cannot be formulas where CSV is opened as a spreadsheet, and are read back as they were."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import goalbound
from goalbound import csv_cells
from goalbound.csv_cells import csv_text, escaped, unescaped

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
LABELS = st.text(st.sampled_from("'=+-@\t\r\n1.e, \"a"), max_size=6)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_label_that_begins_as_a_formula_is_written_as_text(beginning: str) -> None:
    label = f'{beginning}HYPERLINK("http://evil","x")'
    [[name], [cell, number, empty]] = csv.reader(io.StringIO(csv_text([label], [[label, -0.5, None]]), newline=""))
    assert name == cell == f"'{label}"
    assert (number, empty) == ("-0.5", "")


@pytest.mark.parametrize("number", [-0.5, -3, 1e-300, float("-inf"), -1.5e300, 10**20])
def test_numbers_stay_numbers(number: float) -> None:
    assert csv_text(["x"], [[number]]) == f"x\n{number!r}\n"


@pytest.mark.parametrize("text", ["-12", "+3", "-0.5", "-1e-5", "-.5", "north-east", "a=b", "", "'tis", "2026-03-01"])
def test_texts_that_are_no_formulas_are_written_as_they_are(text: str) -> None:
    assert escaped(text) == unescaped(text) == text


@example("'=1")
@example("''-a")
@example("'-1")
@given(LABELS)
def test_what_was_written_reads_back(label: str) -> None:
    [_, [first, cell, last]] = csv.reader(io.StringIO(csv_text(["x", "y", "z"], [[1, label, 2]]), newline=""))
    assert (first, unescaped(cell), last) == ("1", label, "2")
    assert not cell.startswith(BEGINNINGS) or float(cell) == float(cell)  # a number


def test_charts_have_the_same_rule() -> None:
    script = (Path(goalbound.__file__).parent / "experiments" / "pages" / "charts.js").read_text()
    [rule] = re.findall(r"^const FORMULA = /(.*)/;$", script, re.MULTILINE)
    assert rule.replace("$)", r"\Z)") == csv_cells._FORMULA.pattern
