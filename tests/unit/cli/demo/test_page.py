"""The page of the demo."""

import re
from html.parser import HTMLParser
from typing import ClassVar

from goalbound.cli.demo import learning
from tests.support.demo_runs import EPISODES


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
    assert "posterior sampling (not proven)" in html
    assert "LR-CSSP: widths: likelihood; delta 0.1; posterior sampling: spread 0.2" in html
    assert "delta 0.1, loss floor 0.1, loss bound by doubling, regularization 1, the true\nsupport" in html
    assert f"{EPISODES} episodes of at most 10,000 steps; seed\n{learning.SEED}" in html
