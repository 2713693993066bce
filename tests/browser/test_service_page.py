"""The page of the decision service in a real browser."""

from __future__ import annotations

import time

import pytest

from goalbound.baselines import uc_ssp
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Store
from tests.support.incidents_at_work import greedy
from tests.support.services import running
from tests.support.stores import SELDOM


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "store"
    with Store.open(folder, options=SELDOM) as store:
        learner = store.create("incidents", greedy())
        for number in range(20):
            learner.begin([0.5, 0.5], "down", id=f"done-{number}")
            learner.override(f"done-{number}", "page", 0.4, "goal", step=1)
        learner.begin([0.2, 0.8], "down", id="case-17")
        learner.override("case-17", "page", 0.4, "degraded", step=1)
        learner.begin([0.9, 0.1], "down", id="case-18")
        store.create("mute", uc_ssp(greedy().support, loss_floor=0.1)).begin([1.0], "down", id="case-19")
    with running(folder) as (_, url):
        yield folder, url


def text_of(browser, wanted):
    """The text of the page, once it has what is wanted."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        text = browser.find_element("tag name", "body").text
        if wanted in text:
            return text
        time.sleep(0.1)
    raise AssertionError(f"{wanted!r} is not on the page: {text[:600]}")


def test_the_page_shows_open_cases_one_explained_and_asks_for_a_token_where_one_is_needed(browser, served):
    folder, url = served
    browser.get_log("browser")
    browser.get(f"{url}/")
    text = text_of(browser, "case-18")
    assert "Token" not in text  # nobody needs one yet
    assert "21 steps learned, 2 open cases" in text
    assert "The last 20 cases that reached the goal lost 0.4 each" in text
    assert "Share of steps in which somebody did something else" in text
    assert len(browser.find_elements("css selector", "svg circle")) == 20
    browser.find_element("id", "search").send_keys("18")
    end = time.monotonic() + 30
    while "case-17" in browser.find_element("id", "cases").text and time.monotonic() < end:
        time.sleep(0.1)
    assert "case-18" in browser.find_element("id", "cases").text
    browser.find_element("id", "search").clear()
    browser.get(f"{url}/#learner=incidents&case=case-17")  # a link to a case
    text = text_of(browser, "Case case-17")
    assert "In degraded:" in text
    assert "override" in text
    browser.get(f"{url}/#learner=incidents&case=case-99")  # a link to no case
    assert "case-17" in text_of(browser, "has no case of this id")
    assert "Case case-17" not in browser.find_element("tag name", "body").text
    browser.get(f"{url}/#learner=mute&case=case-19")  # a learner that cannot explain itself
    assert "begin" in text_of(browser, "Not explained: mute is a TabularLearner")
    browser.get_log("browser")  # it says which requests were refused
    browser.get(f"{url}/#learner=incidents&case=case-17")
    text_of(browser, "In degraded:")
    chosen = browser.find_element("css selector", "tr.chosen")
    assert chosen.text.split()[0] in ("restart", "page")
    wide = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    token = Tokens(folder).create(["cases:read"])
    time.sleep(0.7)  # the service looks twice a second
    browser.get(f"{url}/")
    text_of(browser, "give a token")
    browser.find_element("id", "token").send_keys(token)
    browser.find_element("css selector", "#token-form button").click()
    assert "case-17" in text_of(browser, "case-17")
