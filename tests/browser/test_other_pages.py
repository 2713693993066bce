"""The pages of the demo and of logs in a real browser."""

from __future__ import annotations

import pytest

from goalbound.adapters.covariates import Hats
from goalbound.cli.demo.page import page as demo_page
from goalbound.cli.demo.planning import make_weather
from goalbound.cli.log_page import log_page
from goalbound.logs import LogColumns, read_log
from tests.support.browser_pages import asked_for, one, open_page, press, sized, texts, traces, wrong
from tests.support.demo_runs import made_learning

HOSTILE = '<img src=x onerror="window.broken = 1">'


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "index.html"
    path.write_text(demo_page(made_learning(), make_weather()), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [400, 1400])
def test_the_demo_shows_its_result_on_the_first_screen(browser, demo, width):
    path = demo
    sized(browser, width)
    open_page(browser, path.as_uri())
    assert len(traces(browser, "regret", "line")) == 3
    if width == 1400:
        for selector in (".answer", "[data-chart='regret']"):
            assert one(browser, selector).rect["y"] + one(browser, selector).rect["height"] <= 900
    press(browser, "[data-choose=axes][data-value=linear]")
    assert len(traces(browser, "optimism", "line")) == 1
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert wrong(browser) == []
    assert [url for url in asked_for(browser, path.as_uri()) if not url.startswith("data:")] == [path.as_uri()]


def test_names_of_a_log_are_shown_in_its_charts_and_not_run(browser, tmp_path):
    table = {
        "case": [1, 2, 3], "time": [1, 1, 1], "state": [HOSTILE] * 3, "action": ["rest", HOSTILE, "rest"],
        "loss": [0.2, 0.4, 1.0], "next_state": ["goal"] * 3, "age": [20, 50, 80],
    }  # fmt: skip
    log = read_log(table, columns=LogColumns(covariates=["age"]), goal="goal", covariate_map=Hats([20, 80]))
    path = tmp_path / "log.html"
    path.write_text(log_page(log, title=HOSTILE), encoding="utf-8")
    sized(browser, 1400)
    open_page(browser, path.as_uri())
    (bars,) = traces(browser, "pairs")
    assert bars["x"] == [1, 2]
    assert any(HOSTILE[:20] in text for text in texts(browser, "[data-chart='pairs'] .ytick text"))
    assert sum(traces(browser, "losses")[0]["y"]) == 3
    assert browser.execute_script("return window.broken") is None
    assert wrong(browser) == []
