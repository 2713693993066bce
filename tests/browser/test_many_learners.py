"""A report on more learners than there are colours: the best are shown first, and each can still be found."""

import pytest

from goalbound.experiments.report import write_report
from tests.support.browser_pages import names, one, open_page, press, sized, texts, traces
from tests.support.report_cases import case, spec

COUNT = 28
LEARNERS = [{"use": "lr-cssp", "label": f"learner {n}", "scale": 1.0 - n / 100.0} for n in range(COUNT - 1)]
LEARNERS.append({"use": "greedy-ridge", "label": "greedy"})


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    many = spec(learners=LEARNERS, seeds=2, problems=[{"use": "random", "label": "flat"}])
    return write_report(tmp_path_factory.mktemp("many") / "report.html", **case(many)).as_uri()


@pytest.fixture
def page(browser, address):
    sized(browser, 1400)
    open_page(browser, address)
    return browser


def test_no_two_of_many_learners_look_alike(page):
    look = "return [arguments[0].getAttribute('stroke'), arguments[0].getAttribute('stroke-dasharray')].join()"
    samples = page.find_elements("css selector", ".keys .sample path")
    assert len(samples) == COUNT
    assert len({page.execute_script(look, sample) for sample in samples}) == COUNT


def test_the_best_five_and_the_best_proven_are_shown_at_first_on_the_first_screen(page):
    # All have the same regret, so they are in the order of the file; only learner 0 has the proven widths.
    assert names(page, "ranking-1", "point")[::-1] == [f"learner {n}" for n in range(5)]
    assert texts(page, "[data-count]") == ["5 of 28"]
    assert len(names(page, "regret-1", "line")) == 5
    for selector in (".answer", "[data-chart='ranking-1']", "[data-chart='regret-1']"):
        box = one(page, selector).rect
        assert box["y"] + box["height"] <= 900


def test_all_are_shown_and_hidden_at_once(page):
    press(page, "[data-preset=all]")
    assert len(names(page, "regret-1", "line")) == COUNT
    assert traces(page, "regret-1", "band") == []  # of so many, bands would hide the lines
    press(page, "[data-preset=none]")
    assert {trace["meta"]["role"] for trace in traces(page, "regret-1")} == {"guide"}
    press(page, "[data-toggle='3']")
    assert names(page, "regret-1", "line") == ["learner 3"]


def test_learners_are_found_by_name_and_by_guarantee(page):
    script = """
        const input = document.querySelector(arguments[0]);
        input.value = arguments[1];
        input.dispatchEvent(new Event("input"));
        return [...document.querySelectorAll("[data-toggle]")].filter((key) => !key.hidden).length;
    """
    assert page.execute_script(script, "[data-search]", "learner 2") == 8  # 2 and 20 to 26
    press(page, "[data-preset=matching]")
    assert len(names(page, "regret-1", "line")) == 8
    assert page.execute_script(script, "[data-search]", "") == COUNT
    assert page.execute_script(script, "[data-guarantee]", "none") == 1
    press(page, "[data-preset=matching]")
    assert names(page, "regret-1", "line") == ["greedy"]
