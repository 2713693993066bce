"""Entries of catalogs."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound.errors import InputError
from goalbound.experiments.plugins import Plugin
from goalbound.experiments.registry.catalog import Entry


def endless(problem: object, *, patience: float = float("inf")) -> None:
    """A plug-in whose default no file can hold."""


def odd(problem: object, *, patience: object = object()) -> None:
    """Another one."""


@pytest.mark.parametrize("make", [endless, odd])
def test_a_default_of_a_third_party_that_no_record_can_hold_is_named(make: Any) -> None:
    with pytest.raises(InputError, match=r"learners\[0\]: mine:make has patience = .*, which no record can hold"):
        Entry.from_plugin("mine:make", Plugin(make, "mine:make"), "learners[0]")
