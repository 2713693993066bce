import re
from html.parser import HTMLParser
from typing import ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest

from goalbound.cli import main
from goalbound.cli.demo.page import page
from goalbound.cli.demo.world import make_demo, trapped_states
from goalbound.models import SSP
from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import CATALOG


@pytest.fixture(scope="module")
def demo():
    return make_demo()


@pytest.fixture(scope="module")
def html(demo):
    return page(demo)


def test_the_demo_tells_the_truth_about_the_averaged_policy(demo):
    problem = CATALOG["demo"].make()
    averaged = solve(problem.at([1 / 3] * 3)).policy
    for component, day in enumerate(demo.corners):
        ssp = problem.component(component)
        assert day.name == problem.component_names[component]
        assert day.loss == solve(ssp).start_value
        assert not is_proper(ssp, averaged)
        assert day.averaged_loss == np.inf
        assert np.array_equal(day.stuck, np.isinf(evaluate(ssp, averaged).hitting_times[:-1]))
    assert demo.average.best == averaged.tolist()
    assert not demo.average.stuck.any()
    assert demo.average.averaged_loss == pytest.approx(demo.average.loss, rel=1e-9)


def test_where_the_averaged_policy_is_caught(demo):
    calm, west, north = demo.corners
    assert calm.trapped.all()
    assert np.flatnonzero(west.trapped).tolist() == [5, 11, 17]  # the eastern border above the goal
    assert np.flatnonzero(north.trapped).tolist() == [18, 19, 20, 21, 22]  # the southern one left of it
    assert not demo.average.trapped.any()


def test_a_loop_of_two_states_is_caught_and_the_way_into_it_is_not():
    # 0 -> 1 -> 2 -> 1, and 3 -> goal or 0
    rows = np.zeros((4, 1, 5))
    rows[0, 0, 1] = rows[1, 0, 2] = rows[2, 0, 1] = 1.0
    rows[3, 0, [0, 4]] = 0.5
    found = trapped_states(SSP.dense(np.full((4, 1), 0.5), rows), np.zeros(4, dtype=np.int64))
    assert found.tolist() == [False, True, True, False]


def test_the_curve_runs_from_the_average_to_the_calm(demo):
    shares, best, averaged = zip(*demo.curve, strict=True)
    assert shares[0] == pytest.approx(1 / 3)
    assert shares[-1] == 1.0
    assert list(shares) == sorted(shares)
    assert all(b <= a * (1 + 1e-9) for b, a in zip(best, averaged, strict=True))
    assert list(averaged) == sorted(averaged)  # the calmer, the longer drifting takes
    assert averaged[-1] == np.inf


def test_the_demo_prints_the_story_and_leaves_a_page(tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert main(["demo", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "A grid of 4 x 6 cells" in out
    assert re.search(r"calm +3\.55556 +8\.8889 +infinite +never arrives, from any cell", out)
    assert "blown to the east border" in out
    assert "blown to the south border" in out
    assert str(folder / "index.html") in out
    assert max(map(len, out.splitlines())) <= 120
    assert (folder / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_the_page_loads_nothing_and_serves_light_and_dark(html):
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"https?://|<script|<link|<img|url\(|@import", html)
    assert len(html) < 100_000


def test_the_tags_of_the_page_are_balanced(html):
    class Balance(HTMLParser):
        open: ClassVar[list[str]] = []

        def handle_starttag(self, tag, attrs):
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    reader = Balance()
    reader.feed(html)
    assert reader.open == []


def test_the_pictures_show_each_cell_once_as_it_is(demo, html):
    pictures = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
    grids = [svg for svg in pictures if "policy" in svg.get("aria-label", "")]
    assert len(grids) == 6  # three weathers, best and averaged
    cells = [[rect.get("class") for rect in svg.iter("rect")][:24] for svg in grids]
    for shown, day in zip(cells[3:], demo.corners, strict=True):
        assert sum("trap" in kind for kind in shown) == day.trapped.sum()
        assert sum("stuck" in kind or "trap" in kind for kind in shown) == day.stuck.sum()
        assert shown[-1] == "cell cell"  # the goal
    arrows = [sum(path.get("class") == "drift" for path in svg.iter("path")) for svg in grids[:3]]
    assert arrows == [0, 5, 3]  # calm: none; west wind: along the southern row; north wind: along the eastern column
