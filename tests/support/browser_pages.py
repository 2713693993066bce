"""What tests ask of a page in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

PATIENCE = 30.0
"""Seconds that a chart may take on a busy machine."""


def open_page(browser: Any, address: str) -> None:
    """Load a page; what was logged before is forgotten."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(address)


def sized(browser: Any, width: int) -> None:
    """The size of the window; narrow ones are those of a phone."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )


def one(page: Any, selector: str) -> Any:
    """The first element."""
    return page.find_element("css selector", selector)


def texts(page: Any, selector: str) -> list[str]:
    """The text of each element, shown or not."""
    return [element.get_attribute("textContent") for element in page.find_elements("css selector", selector)]


def press(page: Any, selector: str) -> None:
    """Click, wherever the element is."""
    page.execute_script("arguments[0].click()", one(page, selector))


def wrong(page: Any) -> list[str]:
    """Errors and warnings of the page."""
    return [entry["message"] for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def asked_for(page: Any, address: str) -> list[str]:
    """What the page asked for; the browser's own first page asks for things too."""
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [found["params"] for found in messages if found["method"] == "Network.requestWillBeSent"]
    return [found["request"]["url"] for found in sent if found["documentURL"] == address]


def traces(page: Any, chart: str, role: str | None = None) -> list[dict[str, Any]]:
    """The traces that a chart shows now, when it has been drawn; it is scrolled to, as it is drawn only when seen."""
    script = """
        const holder = document.querySelector(`[data-chart="${arguments[0]}"]`);
        if (!holder.data) holder.scrollIntoView({block: "center"});
        return holder.data && holder._fullLayout ? JSON.parse(JSON.stringify(holder.data)) : null;
    """
    found = waited(page, lambda: page.execute_script(script, chart))
    return [trace for trace in found if role is None or trace["meta"]["role"] == role]


def waited(page: Any, ask: Callable[[], Any]) -> Any:
    """What is asked for, when it is there."""
    from selenium.webdriver.support.ui import WebDriverWait  # tests say what is missing, see conftest.py

    return WebDriverWait(page, PATIENCE).until(lambda _: ask())


def names(page: Any, chart: str, role: str) -> list[str]:
    """The names of the traces of a role."""
    return [trace["name"] for trace in traces(page, chart, role)]
