import re
import sys
from argparse import Namespace
from html.parser import HTMLParser
from io import StringIO
from typing import ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest

from goalbound.cli import demo, main
from goalbound.cli.demo import charts, learning
from goalbound.cli.demo.page import page
from goalbound.cli.demo.planning import make_weather, trapped_states
from goalbound.cli.demo.progress import Silent, progress_reporter
from goalbound.cli.demo.text import learning_text
from goalbound.models import SSP
from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import CATALOG

EPISODES = 120
"""Few enough that kernels run as Python and no test waits for the compiler."""


class ProgressLog:
    """A watch that remembers."""

    def __init__(self):
        self.calls = {}

    def begin(self, name, episodes):
        calls = self.calls[name] = []
        return lambda done: calls.append((done, episodes))


@pytest.fixture(scope="module")
def log():
    return ProgressLog()


@pytest.fixture(scope="module")
def learned(log):
    return learning.make_learning(log, episodes=EPISODES)


@pytest.fixture(scope="module")
def weather():
    return make_weather()


@pytest.fixture(scope="module")
def html(learned, weather):
    return page(learned, weather)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(learning, "EPISODES", 20)


class Terminal(StringIO):
    def isatty(self):
        return True


# Learning


def test_the_demo_learns_the_same_at_every_run(learned):
    assert learning.make_learning(Silent(), episodes=EPISODES) == learned


def test_the_learners_meet_the_same_patients_and_only_the_blind_one_does_not_look(learned):
    proven, small, blind = learned.runs
    assert [run.widths.proven for run in learned.runs] == [True, False, True]
    assert small.widths.scale == learning.SCALE
    assert f"{learning.SCALE:g} x" in small.name
    assert str(blind.widths) == str(proven.widths)  # the same constants
    assert "blind" in blind.name
    # What a patient loses is what the clairvoyant would, the same for all, and the regret.
    assert all(run.early >= learned.early_best and run.late >= learned.late_best for run in learned.runs)


def test_a_curve_ends_at_the_regret_of_all_patients(learned):
    for run in learned.runs:
        patients, regrets = zip(*run.regrets, strict=True)
        assert patients[0] == 1.0
        assert patients[-1] == EPISODES
        assert list(regrets) == sorted(regrets)  # expected regret is never negative
        assert regrets[-1] == pytest.approx(run.regret, rel=1e-12)


def test_the_hopes_of_the_proven_learner_are_below_the_truth(learned):
    problem = learned.problem
    assert learned.even_best == pytest.approx(solve(problem.at([1 / 3] * 3)).start_value, rel=1e-9)
    optimistic_values = [value for _, value in learned.runs[0].optimistic_values]
    assert max(optimistic_values) <= learned.even_best
    assert min(optimistic_values) >= 0.1 - 1e-12  # one dose at least


def test_progress_runs_from_the_first_patient_to_the_last(log, learned):
    assert list(log.calls) == [run.name for run in learned.runs]
    for calls in log.calls.values():
        assert calls == sorted(calls)
        assert calls[-1] == (EPISODES, EPISODES)


def test_ctrl_c_stops_the_demo_and_leaves_no_page(short, monkeypatch, tmp_path, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Silent, "begin", lambda *_: stop)
    monkeypatch.setattr(demo, "progress_reporter", lambda quiet: progress_reporter(quiet=True))
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert "goalbound: stopped" in capsys.readouterr().err
    assert not (tmp_path / "index.html").exists()


# Planning


def test_the_demo_tells_the_truth_about_the_averaged_policy(weather):
    problem = CATALOG["demo"].make()
    averaged = solve(problem.at([1 / 3] * 3)).policy
    for component, day in enumerate(weather.corners):
        ssp = problem.component(component)
        assert day.name == problem.component_names[component]
        assert day.loss == solve(ssp).start_value
        assert not is_proper(ssp, averaged)
        assert day.averaged_loss == np.inf
        assert np.array_equal(day.stuck, np.isinf(evaluate(ssp, averaged).hitting_times[:-1]))
    assert weather.average.best == averaged.tolist()
    assert not weather.average.stuck.any()
    assert weather.average.averaged_loss == pytest.approx(weather.average.loss, rel=1e-9)


def test_where_the_averaged_policy_is_caught(weather):
    calm, west, north = weather.corners
    assert calm.trapped.all()
    assert np.flatnonzero(west.trapped).tolist() == [5, 11, 17]  # the eastern border above the goal
    assert np.flatnonzero(north.trapped).tolist() == [18, 19, 20, 21, 22]  # the southern one left of it
    assert not weather.average.trapped.any()


def test_a_loop_of_two_states_is_caught_and_the_way_into_it_is_not():
    # 0 -> 1 -> 2 -> 1, and 3 -> goal or 0
    rows = np.zeros((4, 1, 5))
    rows[0, 0, 1] = rows[1, 0, 2] = rows[2, 0, 1] = 1.0
    rows[3, 0, [0, 4]] = 0.5
    found = trapped_states(SSP.dense(np.full((4, 1), 0.5), rows), np.zeros(4, dtype=np.int64))
    assert found.tolist() == [False, True, True, False]


# The terminal


def test_the_demo_prints_the_story_and_leaves_a_page(short, tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert main(["demo", "--out", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"clairvoyant +0 +\d\.\d{4} +\d\.\d{4} +0\n", out)
    assert "A grid of 4 x 6 cells" in out
    assert re.search(r"calm +3\.55556 +8\.8889 +infinite +never arrives, from any cell", out)
    assert "blown to the east border" in out
    assert "blown to the south border" in out
    assert str(folder / "index.html") in out
    assert max(map(len, out.splitlines())) <= 120
    assert (folder / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "compiling takes another" in err
    assert "\nLR-CSSP: 20 of 20\n" in err  # lines: stderr is no terminal
    assert "\x1b" not in err


def test_quiet_is_quiet(short, tmp_path, capsys):
    assert demo.run(Namespace(out=str(tmp_path), quiet=True)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "NO PATIENT IS THE AVERAGE PATIENT" in out


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress_reporter(quiet=False) as progress:
        progress.begin("LR-CSSP", 1000)(500)
    assert "━" in terminal.getvalue()
    assert " 500/1000" in terminal.getvalue()


def test_the_text_names_the_scale_and_counts_the_abandoned(learned):
    hurt = learned._replace(runs=[*learned.runs[:2], learned.runs[2]._replace(abandoned=17)])
    calls = learning_text(hurt)
    assert "0.1 x widths  all radii of the confidence sets, and the known test, times 0.1: nothing is proven" in calls
    assert re.search(r"blind to the context +[\d,]+ +[\d.]+ +[\d.]+ +17\n", calls)


def test_a_folder_that_cannot_be_made_is_one_line_before_anyone_waits(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


# The page


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


def test_the_page_names_every_setting_away_from_the_paper(html):
    assert "LR-CSSP, 0.1 x widths (not proven)" in html
    assert "0.1 x paper (LR-CSSP, 0.1 x widths)" in html
    assert "delta 0.1, loss floor 0.1, loss bound by doubling, regularization 1, the true\nsupport" in html
    assert f"{EPISODES} episodes of at most 10,000 steps; seed\n{learning.SEED}" in html


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
