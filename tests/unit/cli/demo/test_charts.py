"""The drawings of the demo."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from goalbound.cli.demo import charts


def test_lines_are_distinguished_without_colour(learned, html):
    dashes = dict(re.findall(r"polyline\.(\w+) \{[^}]*?stroke-dasharray: ([\d ]+)", html))
    kinds = [run.kind for run in learned.runs]
    assert len({dashes.get(kind) for kind in kinds}) == 3  # one of them solid
    for picture in (charts.regret_chart(learned), charts.logarithmic_chart(learned)):
        svg = ElementTree.fromstring(picture)
        names = [text for text in svg.iter("text") if text.get("class") == "name"]
        assert {run.short for run in learned.runs} <= {name.text for name in names}
        heights = sorted(float(name.get("y")) for name in names)
        assert min(np.diff(heights)) >= charts.APART - 0.1


def test_a_chart_stays_inside_its_frame_and_rises_to_the_regret(learned):
    svg = ElementTree.fromstring(charts.regret_chart(learned))
    most = max(run.regret for run in learned.runs)
    for run in learned.runs:
        line = next(one for one in svg.iter("polyline") if one.get("class") == run.kind)
        points = np.array([point.split(",") for point in line.get("points").split()], dtype=float)
        assert (points[:, 0] >= charts.LEFT).all()
        assert (points[:, 0] <= charts.RIGHT).all()
        height = charts.BOTTOM - run.regret / most * (charts.BOTTOM - charts.TOP)
        assert points[-1].tolist() == pytest.approx([charts.RIGHT, height], abs=0.06)


def test_the_pictures_show_each_cell_once_as_it_is(weather, html):
    pictures = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
    grids = [svg for svg in pictures if "policy" in svg.get("aria-label", "")]
    assert len(grids) == 6  # three weathers, best and averaged
    cells = [[rect.get("class") for rect in svg.iter("rect")][:24] for svg in grids]
    for shown, day in zip(cells[3:], weather.corners, strict=True):
        assert sum("trap" in kind for kind in shown) == day.trapped.sum()
        assert sum("stuck" in kind or "trap" in kind for kind in shown) == day.stuck.sum()
        assert shown[-1] == "cell cell"  # the goal
    arrows = [sum(path.get("class") == "drift" for path in svg.iter("path")) for svg in grids[:3]]
    assert arrows == [0, 5, 3]  # calm: none; west wind: along the southern row; north wind: along the eastern column
