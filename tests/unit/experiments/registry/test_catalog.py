"""Entries of catalogs."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound.errors import InputError
from goalbound.experiments.plugins import Plugin
from goalbound.experiments.registry import CATALOGS
from goalbound.experiments.registry.catalog import Entry


def endless(problem: object, *, patience: float = float("inf")) -> None:
    """A plug-in whose default no file can hold."""


def odd(problem: object, *, patience: object = object()) -> None:
    """Another one."""


@pytest.mark.parametrize("make", [endless, odd])
def test_a_default_of_a_third_party_that_no_record_can_hold_is_named(make: Any) -> None:
    with pytest.raises(InputError, match=r"learners\[0\]: mine:make has patience = .*, which no record can hold"):
        Entry.from_plugin("mine:make", Plugin(make, "mine:make"), "learners[0]")


@pytest.mark.parametrize(
    ("group", "word", "name"),
    [
        ("learners", "thompson", "ps-cssp"), ("learners", "Thompson_Sampling", "ps-cssp"),
        ("learners", "greedy", "greedy-ridge"), ("learners", "uniform", "random"), ("contexts", "uniform", "dirichlet"),
    ],
)  # fmt: skip
def test_a_word_that_people_type_is_answered_with_the_name(group, word, name):
    with pytest.raises(InputError, match=rf'is called "{word}" \(did you mean "{name}"\?\)'):
        CATALOGS[group].entry(word, group)
