"""The learners of a panel in order, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goalbound.learners.card import TRUTH

Data = Mapping[str, Any]


def competing(panel: Data, learners: Sequence[Data]) -> list[Data]:
    """Results of all learners but the clairvoyant, least regret first."""
    found = [result for result in panel["results"] if learners[result["learner"]]["card"]["sees"] != TRUTH]
    return sorted(found, key=lambda result: result["numbers"]["expected_regret"]["mean"])


def difference(panel: Data, one: int, two: int) -> Data | None:
    """The paired difference of two learners, if they have common seeds."""
    return next((found for found in panel["differences"] if {found["better"], found["worse"]} == {one, two}), None)


def label_of(result: Data, learners: Sequence[Data]) -> str:
    """The label of the learner of a result."""
    return str(learners[result["learner"]]["label"])


def card_of(result: Data, learners: Sequence[Data]) -> Data:
    """The card of the learner of a result."""
    found: Data = learners[result["learner"]]["card"]
    return found
