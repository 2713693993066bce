"""``python -m guarantees``: what it leaves, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guarantees.coverage import Size, coverage
from guarantees.result import Check, Result

pytest.importorskip("jinja2")

from guarantees import __main__ as command


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "warm_up", lambda: None)


def made(part: str, *, held: bool = True) -> Result:
    return Result(part, "a title", "a setting", [Check("a claim", held, "1 < 2")], ["x"], [[1]])


def test_it_leaves_results_and_a_page_with_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    small = Size(runs=3, episodes=5, adversarial_episodes=2)
    monkeypatch.setitem(command.PARTS, "b", (coverage, small, small))
    assert command.main(["--quick", "--only", "b", "--out", str(tmp_path)]) == 1  # 3 runs show no coverage of 0.9
    assert {path.name for path in tmp_path.iterdir()} == {"b.json", "index.html"}
    assert Result.load(tmp_path / "b.json").rows == coverage(small).rows
    page = (tmp_path / "index.html").read_text()
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert 'data-chart="b-coverage"' in page
    assert "0.05 x paper" in capsys.readouterr().out


def test_a_claim_that_fails_fails_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for held, code in ((False, 1), (True, 0)):
        result = made("e", held=held)
        monkeypatch.setitem(command.PARTS, "e", (lambda *_, result=result: result, None, None))
        assert command.main(["--only", "e", "--out", str(tmp_path)]) == code


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setitem(command.PARTS, "e", (lambda *_: made("e"), None, None))
    monkeypatch.setitem(command.PARTS, "f", (stopped, None, None))
    assert command.main(["--only", "e", "f", "--out", str(tmp_path)]) == 130
    assert json.loads((tmp_path / "e.json").read_text())["part"] == "e"
    assert not (tmp_path / "f.json").exists()
