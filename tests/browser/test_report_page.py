"""The report in a real browser: what is drawn, and what its switches do."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from goalbound.experiments.report import write_report
from tests.support.browser_pages import asked_for, names, one, open_page, press, sized, texts, traces, waited, wrong
from tests.support.report_cases import case, spec

SHIFTS = """
    let sum = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
        .observe({ type: "layout-shift", buffered: true });
    const done = arguments[0];
    setTimeout(() => done(sum), 300);
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("report") / "report.html", **case()).as_uri()


@pytest.fixture
def page(browser, address):
    sized(browser, 1400)
    open_page(browser, address)
    return browser


def test_nothing_goes_wrong_and_nothing_is_asked_of_the_network(page, address):
    traces(page, "regret-1")
    for chart in ("terms-1", "simplex-1-1", "policies-1"):
        assert traces(page, chart)
    assert wrong(page) == []
    assert [url for url in asked_for(page, address) if not url.startswith("data:")] == [address]


def test_the_first_screen_has_the_answer_the_ranking_and_the_curves(page):
    traces(page, "regret-1")
    for selector in (".answer", "[data-chart='ranking-1']", "[data-chart='regret-1']"):
        box = one(page, selector).rect
        assert box["y"] + box["height"] <= 900
        assert box["height"] > 40
    assert one(page, ".answer").text.startswith("flat. After 10,000 episodes, narrow (widths not proven) had the least")


def test_curves_are_drawn_with_their_bands_best_first(page):
    assert names(page, "regret-1", "line") == ["narrow", "wide", "blind", "clairvoyant"]
    assert len(traces(page, "regret-1", "band")) == 2 * 4
    drawn = page.execute_script(
        "return document.querySelectorAll('[data-chart=regret-1] .scatterlayer path.js-line').length"
    )
    assert drawn >= 3 + 2 * 3  # the clairvoyant has no regret, so nothing on these axes
    wide = traces(page, "regret-1", "line")[1]
    assert (wide["x"][-1], wide["y"][-1]) == (10_000, 4400)
    assert wide["customdata"][-1] == [4000, 4800]


def test_the_axes_are_logarithmic_or_linear(page):
    def types():
        traces(page, "regret-1")
        script = (
            "const f = document.querySelector('[data-chart=regret-1]')._fullLayout; return [f.xaxis.type, f.yaxis.type]"
        )
        return page.execute_script(script)

    assert types() == ["log", "log"]
    press(page, "[data-choose=axes][data-value=linear]")
    assert types() == ["linear", "linear"]
    assert one(page, "[data-choose=axes][data-value=linear]").get_attribute("aria-pressed") == "true"


def test_the_x_axis_is_in_episodes_steps_or_seconds(page):
    assert traces(page, "regret-1", "line")[0]["x"][-1] == 10_000
    press(page, "[data-choose=unit][data-value=steps]")
    assert traces(page, "regret-1", "line")[0]["x"][-1] == 30_000  # three an episode
    assert traces(page, "regret-1", "guide") == []  # powers of K are no powers of steps
    press(page, "[data-choose=unit][data-value=seconds]")
    assert traces(page, "regret-1", "line")[0]["x"][-1] == pytest.approx(1.5)  # 50 microseconds a step
    seeds = traces(page, "seeds-1")[0]["x"]
    assert seeds[seeds.index(None) - 1] == pytest.approx(1.5)


def test_the_key_hides_a_learner_in_every_chart_and_table_and_brings_it_back(page):
    assert "blind" in names(page, "regret-1", "line")
    press(page, "[data-toggle='2']")
    for chart, role in (("regret-1", "line"), ("ranking-1", "point"), ("growth-1", "line"), ("seeds-1", "seeds")):
        assert "blind" not in names(page, chart, role)
    assert not one(page, "#comparison tr[data-learner='2']").is_displayed()
    assert one(page, "[data-toggle='2']").get_attribute("aria-pressed") == "false"
    press(page, "[data-toggle='2']")
    assert "blind" in names(page, "regret-1", "line")


def test_the_keyboard_reaches_every_number(page):
    from selenium.webdriver.common.keys import Keys

    traces(page, "regret-1")
    chart = one(page, "[data-chart='regret-1']")
    assert chart.get_attribute("role") == "slider"
    page.execute_script("arguments[0].focus()", chart)
    chart.send_keys(Keys.HOME)
    said = chart.get_attribute("aria-valuetext")
    assert said.startswith("episodes 1: narrow 11 (10 to 12); wide 44 (40 to 48); blind 1.1 (1 to 1.2)")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert chart.get_attribute("aria-valuetext").startswith("episodes 2:")
    chart.send_keys(Keys.END)
    assert chart.get_attribute("aria-valuetext").startswith("episodes 10,000: narrow 1,100 (1,000 to 1,200);")
    assert one(page, "[data-chart='regret-1'] + .read").text == chart.get_attribute("aria-valuetext")
    ranking = one(page, "[data-chart='ranking-1']")
    ranking.send_keys(Keys.END)
    assert ranking.get_attribute("aria-valuetext") == "narrow: 1,100 (1,000 to 1,200)"


def test_the_numbers_and_the_picture_of_a_chart_can_be_saved(page, tmp_path):
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    traces(page, "ranking-1")

    def saved(name: str) -> Path:
        waited(page, lambda: (tmp_path / name).exists() and (tmp_path / name).stat().st_size)
        return tmp_path / name

    figure = "figure:has([data-chart='{}'])"
    press(page, figure.format("ranking-1") + " [data-save=csv]")
    rows = list(csv.reader(saved("ranking-1.csv").open()))
    assert rows[0] == ["learner", "expected regret", "low", "high"]
    assert ["wide", "4400", "4000", "4800"] in rows
    press(page, figure.format("regret-1") + " [data-save=csv]")
    rows = list(csv.reader(saved("regret-1.csv").open()))
    assert rows[0] == ["learner", "episodes", "expected regret", "low", "high"]
    assert ["wide", "10000", "4400", "4000", "4800"] in rows
    press(page, figure.format("ranking-1") + " [data-save=svg]")
    assert "<svg" in saved("ranking-1.svg").read_text()[:200]
    assert wrong(page) == []


def test_a_heading_sorts_the_table_both_ways(page):
    def column():
        cells = page.find_elements("css selector", "#comparison [data-panel='0'] tr[data-learner] td:nth-child(3)")
        return [float(cell.get_attribute("data-value")) for cell in cells]

    head = "#comparison table thead th:nth-child(3)"
    press(page, f"{head} button")
    assert one(page, head).get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    press(page, f"{head} button")
    assert one(page, head).get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())


def test_the_switch_makes_page_and_charts_dark_and_light(page):
    def background():
        traces(page, "regret-1")
        chart = "return document.querySelector('[data-chart=regret-1]')._fullLayout.paper_bgcolor"
        return one(page, "body").value_of_css_property("background-color"), page.execute_script(chart)

    press(page, "[data-choose=theme][data-value=light]")
    light = background()
    press(page, "[data-choose=theme][data-value=dark]")
    dark = background()
    assert light[0] != dark[0]
    assert light[1] == "rgb(251, 250, 247)"
    assert dark[1] == "rgb(20, 24, 31)"


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_its_window_and_does_not_jump(browser, address, width):
    sized(browser, width)
    open_page(browser, address)
    traces(browser, "regret-1")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_async_script(SHIFTS) < 0.05
    if width == 400:  # the table is wider than the window, scrolls by itself, and its first column stays
        box, table = one(browser, "#comparison .scroll"), one(browser, "#comparison .scroll table")
        assert table.size["width"] > box.size["width"]
        assert one(browser, "#comparison .sortable tbody th").value_of_css_property("position") == "sticky"


def test_hostile_labels_are_shown_and_not_run(browser, tmp_path):
    hostile = '</script><img src=x onerror="window.broken = 1"><svg onload="window.broken = 1">'
    asked = spec(
        question=hostile,
        learners=[{"use": "lr-cssp", "label": hostile}],
        problems=[{"use": "random", "label": hostile}],
    )
    open_page(browser, write_report(tmp_path / "report.html", **case(asked)).as_uri())
    traces(browser, "regret-1")
    assert browser.execute_script("return window.broken") is None
    assert one(browser, "h1").text == hostile
    assert hostile[:20] in texts(browser, "[data-chart='regret-1'] .legendtext")[0]
    assert hostile in texts(browser, "[data-toggle='0']")[0]
    assert wrong(browser) == []


def test_the_citation_is_copied_by_a_button(page):
    press(page, "[data-copy=bibtex]")
    assert one(page, "[data-copy=bibtex]").text in ("Copied", "Selected: press Ctrl+C")
    assert page.execute_script("return getSelection().toString()").startswith("@software{goalbound,")
