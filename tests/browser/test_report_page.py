"""The report in a real browser: what is drawn, and what its switches do."""

from __future__ import annotations

import json

import pytest

from goalbound.experiments.report import write_report
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


def open_page(browser, address):
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what came before
    browser.get(address)


def sized(browser, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )


def one(page, selector):
    return page.find_element("css selector", selector)


def texts(page, selector):
    return [element.get_attribute("textContent") for element in page.find_elements("css selector", selector)]


def press(page, selector):
    page.execute_script("arguments[0].click()", one(page, selector))


def outline(page, learner, kind="regret"):
    """Points of a learner's curve in the first picture."""
    path = one(page, f".chart[data-panel='0'][data-kind='{kind}'] path.line[data-learner='{learner}']")
    pairs = path.get_attribute("d").replace("M", "L").split("L")[1:]
    return [tuple(map(float, pair.split())) for pair in pairs]


def wrong(page):
    return [entry["message"] for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def asked_for(page, address):
    """What the page asked for; the browser's own first page asks for things too."""
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in sent if one["documentURL"] == address]


def test_nothing_goes_wrong_and_nothing_is_asked_of_the_network(page, address):
    press(page, "[data-choose=axes][data-value=linear]")
    assert wrong(page) == []
    assert [url for url in asked_for(page, address) if not url.startswith("data:")] == [address]


def test_every_curve_is_drawn_inside_its_picture(page):
    for learner in (0, 1, 2):
        points = outline(page, learner)
        assert len(points) > 100
        assert all(50 <= x <= 700 and 20 <= y <= 380 for x, y in points)
    assert len(page.find_elements("css selector", ".chart[data-kind=regret] path.band")) == 2 * 4
    assert len(page.find_elements("css selector", ".field path.cell")) > 100


def test_in_logarithms_a_square_root_has_half_the_slope_of_a_line(page):
    def slope(learner):
        points = outline(page, learner)
        return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])

    assert slope(0) / slope(2) == pytest.approx(0.5, abs=0.01)  # 44 sqrt(K) and 1.1 K
    press(page, "[data-choose=axes][data-value=linear]")
    assert slope(0) / slope(2) == pytest.approx(0.4, abs=0.01)  # (4400 - 44) / (11000 - 1.1)
    assert one(page, "[data-choose=axes][data-value=linear]").get_attribute("aria-pressed") == "true"


def test_the_key_hides_a_learner_in_every_picture_and_brings_it_back(page):
    curves = "path.line[data-learner='2']"
    before = len(page.find_elements("css selector", curves))
    assert before >= 2
    low = outline(page, 0)[-1][1]
    press(page, "[data-toggle='2']")
    assert page.find_elements("css selector", curves) == []
    assert one(page, "[data-toggle='2']").get_attribute("aria-pressed") == "false"
    assert outline(page, 0)[-1][1] < low  # the axis now ends at 4,800 instead of 12,000, so the curve stands higher
    press(page, "[data-toggle='2']")
    assert len(page.find_elements("css selector", curves)) == before


def test_guides_bands_and_bounds_come_and_go(page):
    for name, kind in (("guides", "guide"), ("bands", "band"), ("bounds", "bound")):
        shown = f".chart[data-kind=regret] path.{kind}"
        count = len(page.find_elements("css selector", shown))
        press(page, f"input[data-show={name}]")
        assert (len(page.find_elements("css selector", shown)) == 0) == (count > 0)
        press(page, f"input[data-show={name}]")
        assert len(page.find_elements("css selector", shown)) == count


def test_pointing_at_a_curve_shows_the_numbers_there(page):
    from selenium.webdriver.common.action_chains import ActionChains

    chart = one(page, ".chart[data-kind=regret]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    assert texts(page, ".readout caption b")[0] == "10,000"
    assert "4,400" in texts(page, ".readout tbody tr")[0]
    x, _ = outline(page, 0)[0]
    ActionChains(page).move_to_element_with_offset(chart, int(x) - chart.size["width"] // 2, 0).perform()
    assert texts(page, ".readout caption b")[:2] == ["1", "1"]  # one cursor for all pictures
    assert "44 (40 to 48)" in texts(page, ".readout tbody tr")[0]


def test_the_keyboard_reaches_every_number(page):
    from selenium.webdriver.common.keys import Keys

    chart = one(page, ".chart[data-kind=regret]")
    assert chart.get_attribute("role") == "slider"
    page.execute_script("arguments[0].focus()", chart)
    chart.send_keys(Keys.HOME)
    assert chart.get_attribute("aria-valuetext").startswith("episode 1: wide 44; narrow 11; blind 1.1")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert chart.get_attribute("aria-valuetext").startswith("episode 2:")
    chart.send_keys(Keys.END)
    assert chart.get_attribute("aria-valuetext").startswith("episode 10,000: wide 4,400;")
    cells = one(page, ".field")
    cells.send_keys(Keys.END)
    assert cells.get_attribute("aria-valuetext").startswith("component 1 0.916667 to 1:")
    assert one(page, ".field + .read").text == cells.get_attribute("aria-valuetext")


def test_a_heading_sorts_the_table_both_ways(page):
    def column():
        cells = page.find_elements("css selector", "#comparison .scroll:first-of-type tbody td:nth-child(4)")
        return [float(cell.get_attribute("data-value")) for cell in cells]

    head = "#comparison table thead th:nth-child(4)"
    press(page, f"{head} button")
    assert one(page, head).get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    press(page, f"{head} button")
    assert one(page, head).get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    press(page, "#comparison table thead th:first-child button")
    names = texts(page, "#comparison .scroll:first-of-type tbody th")
    assert names == sorted(names)


def test_the_switch_makes_the_page_dark_and_light(page):
    def background():
        return one(page, "body").value_of_css_property("background-color")

    press(page, "[data-choose=theme][data-value=light]")
    light = background()
    press(page, "[data-choose=theme][data-value=dark]")
    assert background() != light
    press(page, "[data-choose=theme][data-value=auto]")
    for scheme in ("dark", "light"):
        page.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        assert (background() == light) == (scheme == "light")


def test_panes_are_chosen_together_and_all_are_printed(page):
    assert not one(page, "#simplex [data-pane='1']").is_displayed()
    press(page, "[data-choose=pane][data-value='1']")
    for section in ("terms", "simplex", "policies"):
        assert one(page, f"#{section} [data-pane='1']").is_displayed()
        assert not one(page, f"#{section} [data-pane='0']").is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert one(page, "#simplex [data-pane='0']").is_displayed()
        assert one(page, "#simplex [data-pane='1']").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_its_window_and_does_not_jump(browser, address, width):
    sized(browser, width)
    open_page(browser, address)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_async_script(SHIFTS) < 0.01


@pytest.mark.parametrize("size", [1, 3, 5])
def test_contexts_of_any_length_are_drawn(browser, tmp_path, size):
    open_page(browser, write_report(tmp_path / "report.html", **case(spec(seeds=1), context_size=size)).as_uri())
    assert wrong(browser) == []
    fields = browser.find_elements("css selector", "#simplex [data-pane='0'] .field")
    assert len(fields) == {1: 0, 3: 3, 5: 10}[size]  # three learners with regret; of five components ten pairs of one
    if size == 5:
        browser.execute_script(
            "const s = document.querySelector('select'); s.value = 2; s.dispatchEvent(new Event('change'))"
        )
        assert texts(browser, "#simplex figcaption")[0] == "C component 1 and component 2"


def test_hostile_labels_are_shown_and_not_run(browser, tmp_path):
    hostile = '</script><img src=x onerror="window.broken = 1"><svg onload="window.broken = 1">'
    asked = spec(
        question=hostile,
        learners=[{"use": "lr-cssp", "label": hostile}],
        problems=[{"use": "random", "label": hostile}],
    )
    open_page(browser, write_report(tmp_path / "report.html", **case(asked)).as_uri())
    assert browser.execute_script("return window.broken") is None
    assert one(browser, "h1").text == hostile
    assert hostile in texts(browser, ".readout tbody th")[0]
    assert wrong(browser) == []
