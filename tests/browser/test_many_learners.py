"""A report on more learners than there are colours: each can still be found."""

from itertools import pairwise

import pytest

from goalbound.experiments.report import write_report
from tests.support.report_cases import case, spec

COUNT = 20
LEARNERS = [{"use": "lr-cssp", "label": f"learner {n}", "scale": 1.0 - n / 100.0} for n in range(COUNT)]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    many = spec(learners=LEARNERS, seeds=2, problems=[{"use": "random", "label": "flat"}])
    return write_report(tmp_path_factory.mktemp("many") / "report.html", **case(many)).as_uri()


@pytest.fixture
def page(browser, address):
    browser.get(address)
    return browser


def lines(page):
    return page.find_elements("css selector", ".chart[data-kind='regret'] path.line")


def press(page, selector):
    page.execute_script("document.querySelector(arguments[0]).click()", selector)


def test_no_two_of_twenty_learners_look_alike(page):
    look = """
        const [line, mark] = arguments[0].querySelectorAll("path");
        const style = getComputedStyle(line);
        return [style.color, style.strokeDasharray, mark.getAttribute("d"), mark.classList.contains("hollow")].join();
    """
    samples = page.find_elements("css selector", ".legend .sample")
    assert len(samples) == COUNT
    assert len({page.execute_script(look, sample) for sample in samples}) == COUNT


def test_the_names_at_the_ends_of_the_lines_do_not_overlap(page):
    names = page.find_elements("css selector", ".chart[data-kind='regret'] text.name")
    heights = sorted(float(name.get_attribute("y")) for name in names)
    assert len(heights) == COUNT
    assert min(after - before for before, after in pairwise(heights)) >= 15.9


def test_all_are_hidden_and_shown_at_once(page):
    press(page, "[data-all=none]")
    assert lines(page) == []
    pressed = page.find_elements("css selector", "[data-toggle][aria-pressed=true]")
    assert pressed == []
    press(page, "[data-toggle='3']")
    assert [line.get_attribute("data-learner") for line in lines(page)] == ["3"]
    press(page, "[data-all=all]")
    assert len(lines(page)) == COUNT


def test_a_learner_stands_out_while_its_key_is_pointed_at(page):
    script = "document.querySelector(\"[data-toggle='2']\").dispatchEvent(new PointerEvent(arguments[0]))"
    page.execute_script(script, "pointerenter")
    faint = [line.get_attribute("data-learner") for line in lines(page) if "faint" in line.get_attribute("class")]
    assert len(faint) == COUNT - 1
    assert "2" not in faint
    page.execute_script(script, "pointerleave")
    assert not any("faint" in line.get_attribute("class") for line in lines(page))
