"""The page of the demo."""

import re

from goalbound.cli.demo import learning
from tests.support.demo_runs import EPISODES


def test_the_page_loads_nothing_and_serves_light_and_dark(html):
    assert "light-dark(" in html
    words = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"https?://|<img|url\(|@import", words)
    assert "default-src 'none'" in words.replace("&#39;", "'")
    assert len(words) < 100_000


def test_the_result_comes_before_the_story(html):
    assert html.index('class="answer"') < html.index('data-chart="regret"') < html.index("A patient takes one dose")


def test_the_page_names_every_setting_away_from_the_paper(html):
    html = " ".join(html.split())
    assert "Local optimism (not proven)" in html
    assert "LR-CSSP: widths: likelihood; delta 0.1; local optimism: bonus 0.3" in html
    assert "delta 0.1, loss floor 0.1, loss bound by doubling" in html
    assert "regularization 1 (local optimism: 2, and a prior of 2 visits), the true support" in html
    assert f"{EPISODES} episodes of at most 10,000 steps; seed {learning.SEED}" in html
