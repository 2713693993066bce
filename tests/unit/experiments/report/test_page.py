"""What a report says, against experiments made by hand; that a browser shows it is tested in tests/browser."""

from __future__ import annotations

import re

from goalbound.experiments.report import write_report
from tests.support.report_cases import Outline, case


def test_the_page_asks_for_nothing_and_runs_only_its_own_script(page):
    outline = Outline(page)
    assert not [attributes for tag, attributes in outline.tags if "src" in attributes]
    assert [attributes["href"] for tag, attributes in outline.tags if tag == "link"] == ["data:,"]
    assert not re.search(r"url\((?!#)|@import|https?://", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    policy = next(attributes["content"] for tag, attributes in outline.tags if attributes.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_a_report_is_small_and_the_same_every_time(tmp_path):
    given = case()
    paths = [write_report(tmp_path / name, **given) for name in ("one.html", "two.html")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 2_000_000  # 1.5 MB of it are the library of the charts
