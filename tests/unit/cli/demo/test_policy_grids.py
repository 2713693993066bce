"""Policies of the windy grid."""

import re
from xml.etree import ElementTree


def test_the_pictures_show_each_cell_once_as_it_is(weather, html):
    pictures = [
        ElementTree.fromstring(svg)
        for svg in re.findall(r"<svg.*?</svg>", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL), re.DOTALL)
    ]
    grids = [svg for svg in pictures if "policy" in svg.get("aria-label", "")]
    assert len(grids) == 6  # three weathers, best and averaged
    cells = [[rect.get("class") for rect in svg.iter("rect")][:24] for svg in grids]
    for shown, day in zip(cells[3:], weather.corners, strict=True):
        assert sum("trap" in kind for kind in shown) == day.trapped.sum()
        assert sum("stuck" in kind or "trap" in kind for kind in shown) == day.stuck.sum()
        assert shown[-1] == "cell cell"  # the goal
    arrows = [sum(path.get("class") == "drift" for path in svg.iter("path")) for svg in grids[:3]]
    assert arrows == [0, 5, 3]  # calm: none; west wind: along the southern row; north wind: along the eastern column
