"""The golden numbers are those of this machine."""

from __future__ import annotations

import json

import pytest

from tests.support.golden import FOLDER, assert_golden, machine


def test_golden_numbers_are_compared_here():
    files = sorted(FOLDER.glob("*.json"))
    assert files
    for file in files:
        made_on = json.loads(file.read_text())["made_on"]
        if made_on != machine():
            pytest.skip(f"{file.name} was made on {made_on}, this is {machine()}: its numbers are not compared")


def test_another_number_is_found(monkeypatch):
    monkeypatch.delenv("GOALBOUND_GOLDEN", raising=False)
    path = FOLDER / "first.json"
    if json.loads(path.read_text())["made_on"] != machine():
        pytest.skip("made on another machine")
    digests = json.loads(path.read_text())["digests"]
    assert_golden("first", digests)
    run = next(iter(digests))
    changed = {**digests, run: {**digests[run], "loss": "0"}}
    with pytest.raises(AssertionError, match="other numbers than before"):
        assert_golden("first", changed)
