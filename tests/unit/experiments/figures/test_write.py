"""Figures: which there are, that they are the same each time, and that they say what must be said."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from goalbound.experiments.figures import write_figures
from goalbound.experiments.summary import summarize
from tests.support.figure_cases import experiment, figure_of, texts


@pytest.mark.parametrize(
    ("context_size", "kinds"),
    [
        (1, ["regret", "terms", "known"]),
        (2, ["regret", "terms", "known", "simplex", "policies"]),
        (3, ["regret", "terms", "known", "simplex", "policies"]),
        (4, ["regret", "terms", "known", "simplex-lr"]),
    ],
)
def test_each_context_size_has_its_figures(tmp_path, context_size, kinds):
    records = experiment(context_size)
    paths = write_figures(summarize(records), records, tmp_path / "figures", formats=("svg",))
    assert [path.name for path in paths] == [f"{kind}-p-c.svg" for kind in kinds]
    assert all(path.read_bytes().startswith(b"<?xml") for path in paths)


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = experiment(3, seeds=1)
    once, again = (write_figures(summarize(records), records, tmp_path / name) for name in ("one", "two"))
    assert {path.suffix for path in once} == {".pdf", ".svg"}
    for one, two in zip(once, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name
    assert not any(b"CreationDate" in path.read_bytes() or b"<dc:date>" in path.read_bytes() for path in once)


def test_a_label_with_a_dollar_is_no_formula_and_one_with_slashes_no_path(tmp_path):
    records = experiment(2, label="5$ or 6$ ../up")
    figure = figure_of(records)
    figure.draw_without_rendering()
    assert r"5\$ or 6\$ ../up" in texts(figure)
    named = experiment(4, label="../../up")
    paths = write_figures(summarize(named), named, tmp_path, formats=("svg",))
    assert {path.parent for path in paths} == {tmp_path}


def test_a_figure_has_the_width_that_is_asked_for_no_title_and_its_caption_beside_it(tmp_path):
    records = experiment(1, seeds=1)
    paths = write_figures(summarize(records), records, tmp_path, formats=("svg",), width=3.6)
    head = paths[0].read_text()[:1000]
    assert 'width="259.2pt"' in head  # 3.6 inches of 72 points
    captions = (tmp_path / "captions.txt").read_text()
    assert captions.startswith("regret-p-c\nRegret: P, contexts C, 100 episodes. LR: widths: 0.1 x paper, not proven;")
    assert captions.count("-p-c\n") == len(paths)
    assert figure_of(records)._suptitle is None


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys, goalbound.experiments.figures, goalbound.experiments.summary; print('matplotlib' in sys.modules)"
    )
    assert re.match("False", subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
