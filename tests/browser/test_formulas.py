"""Every formula of the documentation is one that KaTeX, as it is shipped with the site, can draw."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from tests.support.browser_pages import asked_for, open_page, wrong
from tests.support.documents import ROOT

STATIC = ROOT / "docs" / "_static"


def formulas(text: str) -> list[tuple[str, str]]:
    """The formulas of a page in Markdown, each with the element that holds it; code is no formula."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    display = [("div", one) for one in re.findall(r"\$\$(.+?)\$\$", prose, re.DOTALL)]
    inline = [("span", one) for one in re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.+?\$\$", "", prose, flags=re.DOTALL))]
    return display + inline


def written(folder: Path, found: list[tuple[str, str]]) -> str:
    """A page with these formulas; its address."""
    body = "".join(f'<{tag} class="tex">{html.escape(one)}</{tag}>' for tag, one in found)
    scripts = "".join(
        f'<script src="{(STATIC / name).as_uri()}"></script>' for name in ("katex/katex.min.js", "formulas.js")
    )
    style = f'<link rel="stylesheet" href="{(STATIC / "katex/katex.min.css").as_uri()}">'
    page = folder / "formulas.html"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8>{style}{scripts}{body}")
    return page.as_uri()


def test_formulas_are_drawn_and_nothing_is_loaded(browser: Any, tmp_path: Path) -> None:
    found = [one for page in sorted((ROOT / "docs").rglob("*.md")) for one in formulas(page.read_text())]
    assert len(found) > 20
    address = written(tmp_path, found)
    open_page(browser, address)
    failed = [one.get_attribute("title") for one in browser.find_elements("css selector", ".katex-error")]
    assert failed == []
    assert len(browser.find_elements("css selector", ".tex > .katex, .tex > .katex-display")) == len(found)
    assert wrong(browser) == []
    assert all(url.startswith("file:") for url in asked_for(browser, address))


def test_a_formula_that_is_wrong_is_found(browser: Any, tmp_path: Path) -> None:
    open_page(browser, written(tmp_path, [("div", r"\frac{1}{"), ("span", "x")]))
    assert len(browser.find_elements("css selector", ".katex-error")) == 1
