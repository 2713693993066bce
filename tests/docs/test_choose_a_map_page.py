"""The page about choosing a map runs from top to bottom, and its choice is one that its own rule makes."""

from __future__ import annotations

import re

import pytest

from goalbound.jit.compile import compiled_ahead
from tests.support.documents import ROOT
from tests.support.notebooks import cells, run_cells

PAGE = ROOT / "docs" / "how_to" / "choose_a_map.md"


def test_the_page_takes_the_smallest_map_that_is_not_surely_worse(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    with compiled_ahead():
        names, printed = run_cells(cells(PAGE))
    compared = names["compared"]
    assert [one.name for one in compared.maps] == list(names["maps"])
    assert [one.components for one in compared.maps] == [1, 3, 7, 12, 36]
    worse = {one.name for one in compared.maps if one.is_worse}
    assert {"none", "fine"} <= worse
    assert compared.choice == next(one.name for one in compared.maps if one.name not in worse)
    assert f"- take {compared.choice!r}: " in printed[0]


def test_the_page_answers_in_at_most_nine_hundred_words():
    prose = re.sub(r"^```.*?^```$", "", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 900
