"""The page about a log: its numbers, and that nothing of the log is trusted."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from goalbound import LossScale
from goalbound.adapters.covariates import Hats
from goalbound.cli.log_page import log_page
from goalbound.logs import LogColumns, read_log

EVIL = '<script>alert("1")</script>\x1b[2J\u202e&amp;'


class Outline(HTMLParser):
    """The tags of a page, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def table(name: str = "sick", count: int = 3) -> dict[str, list]:
    return {
        "case": list(range(count)), "time": list(range(count)), "state": [name] * count,
        "action": ["rest", name, "rest"], "minutes": [6, 12, 30], "next_state": ["well"] * count, "age": [20, 50, 80],
    }  # fmt: skip


def page(values: dict[str, list], title: str = "log.csv", **others) -> str:
    log = read_log(
        values, columns=LogColumns(loss="minutes", covariates=["age"]), goal="well", covariate_map=Hats([20, 80, 200]),
        loss_scale=LossScale("min", cap=60), **others,
    )  # fmt: skip
    return log_page(log, title=title)


def test_the_page_shows_counts_losses_contexts_and_warnings():
    text = page(table())
    words = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", words))
    assert "3 steps of 3 cases, 0 of them open; 0 rows skipped. 1 state, 2 pairs" in words
    assert "sick rest 2 18 well 2" in words  # (6 + 30) / 2 min
    assert "Losses in min" in words
    assert "at 20 1.5" in words
    assert "the support was inferred" in words
    assert "Skipped rows None." in words
    outline = Outline(text)
    assert outline.open == []
    assert outline.tags.count("h2") == 5


def test_the_page_needs_nothing_else_and_runs_only_what_it_has():
    outline = Outline(page(table()))
    assert not {"img", "iframe", "object", "base", "form"} & set(outline.tags)
    assert [value for name, value in outline.attributes if name in ("src", "href")] == ["data:,"]
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    policy = next(value for name, value in outline.attributes if name == "content" and "default-src" in value)
    assert "default-src 'none'" in policy


def test_names_of_the_log_are_text_on_the_page():
    text = page({**table(EVIL), "minutes": [6, 12, "<b>much</b>"]}, title=EVIL, errors="skip")
    assert set(Outline(text).tags) == set(Outline(page({**table(), "minutes": [6, 12, "x"]}, errors="skip")).tags)
    assert text.count("<script") == 3  # the data, the library, and what draws by it
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;b&gt;much&lt;/b&gt;" in text
