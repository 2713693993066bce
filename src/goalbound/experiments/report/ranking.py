"""The learners of a panel in order, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalbound.learners.card import TRUTH

Data = Mapping[str, Any]


def competing(panel: Data) -> list[Data]:
    """Results of all learners but the clairvoyant, least regret first."""
    found = [result for result in panel["results"] if result["card"]["sees"] != TRUTH]
    return sorted(found, key=lambda result: result["numbers"]["expected_regret"]["mean"])


def difference(panel: Data, one: int, two: int) -> Data | None:
    """The paired difference of two learners, if they have common seeds."""
    return next((found for found in panel["differences"] if {found["better"], found["worse"]} == {one, two}), None)
