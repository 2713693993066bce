"""The golden numbers are those of this machine."""

from __future__ import annotations

import json

import pytest

from tests.support import golden
from tests.support.golden import FOLDER, assert_golden
from tests.support.required import absent


def test_golden_numbers_are_compared_here():
    files = sorted(FOLDER.glob("*.json"))
    assert files
    for file in files:
        made_on = json.loads(file.read_text())["made_on"]
        if made_on != golden.machine():
            absent(f"{file.name} was made on {made_on}, this is {golden.machine()}: its numbers are not compared")


def test_where_ci_is_set_numbers_that_cannot_be_compared_are_an_error(monkeypatch):
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(golden, "machine", dict)
    with pytest.raises(pytest.fail.Exception, match="its numbers are not compared"):
        test_golden_numbers_are_compared_here()


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
