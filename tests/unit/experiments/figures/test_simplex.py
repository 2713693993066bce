"""The geometry of the triangle of contexts."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.figures import simplex, style
from goalbound.experiments.summary import group_runs, summarize
from tests.support.synthetic import power, record, run_spec


def area(corners):
    x, y = simplex.to_plane(corners).T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def test_cells_and_lattice_cells_cover_the_triangle_exactly_once():
    whole = np.sqrt(3.0) / 4.0
    cells = [area(simplex.cell(row, column, 12)) for row in range(12) for column in range(12 - row)]
    assert sum(cells) == pytest.approx(whole)
    lattice = [(i / 10, j / 10, (10 - i - j) / 10) for i in range(11) for j in range(11 - i)]
    assert sum(area(simplex.lattice_cell(point, 0.1)) for point in lattice) == pytest.approx(whole)
    assert area(simplex.lattice_cell((0.3, 0.3, 0.4), 0.1)) == pytest.approx(whole / 50)  # two of 100 small triangles


@pytest.mark.parametrize(("width", "columns"), [(7.2, 3), (3.4, 2)])
def test_panels_of_a_page_and_of_a_column_overlap_nowhere_and_end_within_the_figure(width, columns):
    names = ["LR-CSSP", "LR-CSSP, 0.1 x widths", "blind to the context"]
    records = [record(run_spec(name), power(2.0, 0.5), context_size=3) for name in names]
    groups = summarize(records).groups
    found = list(zip(groups, [list(one.records.values()) for one in group_runs(records)], strict=True))
    with style.figure_style(width=width, font_size=9.0):
        assert simplex.panel_grid(3)[1] == columns
        figure = simplex.simplex_figures(found, style.styles(names))["simplex"]
        figure.draw_without_rendering()
        found_texts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
        named = [one for one in found_texts if any(letter.isalpha() for letter in one.get_text())]  # no ticks
        boxes = [(one.get_text(), one.get_window_extent()) for one in named]
    assert len(boxes) == 3 * 5  # of each learner its name, three corners and a scale
    assert [text for text, box in boxes if not figure.bbox.containsx(box.x0) or not figure.bbox.containsx(box.x1)] == []
    overlaps = [(a, b) for at, (a, one) in enumerate(boxes) for b, two in boxes[at + 1 :] if one.overlaps(two)]
    assert overlaps == []
