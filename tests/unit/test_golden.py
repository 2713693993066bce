"""The golden numbers are those of this machine."""

from __future__ import annotations

import json
import os

import pytest

from tests.support import golden
from tests.support.golden import FOLDER, assert_golden, machine


def test_golden_numbers_are_compared_here():
    files = sorted(FOLDER.glob("*.json"))
    assert files
    for file in files:
        made_on = json.loads(file.read_text())["made_on"]
        if made_on != machine():
            differ = pytest.fail if os.environ.get("CI") else pytest.skip
            differ(f"{file.name} was made on {made_on}, this is {machine()}: its numbers are not compared")


def test_another_number_is_found(monkeypatch):
    monkeypatch.delenv("GOALBOUND_GOLDEN", raising=False)
    path = FOLDER / "first.json"
    monkeypatch.setattr(golden, "machine", lambda: json.loads(path.read_text())["made_on"])
    digests = json.loads(path.read_text())["digests"]
    assert_golden("first", digests)
    run = next(iter(digests))
    changed = {**digests, run: {**digests[run], "loss": "0"}}
    with pytest.raises(AssertionError, match="other numbers than before"):
        assert_golden("first", changed)
