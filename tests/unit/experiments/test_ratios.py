"""Regrets of several experiments, and their ratios to the best learner that begins alike."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from goalbound.experiments.ratios import format_ratios, learner_ratios
from goalbound.experiments.summary import RunGroup
from goalbound.learners.card import NONE, ORACLE


def group(learner: str, regrets: list[float], *, problem: str = "grid", contexts: str = "dirichlet",
          guarantee: str = NONE, **settings: Any) -> RunGroup:  # fmt: skip
    """A group with so many seeds, each of which has a record with its regret."""
    records: dict[int, Any] = {
        seed: SimpleNamespace(
            metadata={"totals": {"expected_regret": regret}},
            card=SimpleNamespace(guarantee=guarantee),
            spec=SimpleNamespace(learner=SimpleNamespace(settings=settings)),
        )
        for seed, regret in enumerate(regrets)
    }
    return RunGroup(problem, contexts, learner, f"{problem} {contexts}", [], list(records), records)


def test_a_ratio_is_to_the_least_mean_regret_of_those_that_begin_alike() -> None:
    found = learner_ratios({
        "one": [
            group("calm", [8.0, 12.0]), group("bold", [30.0, 10.0]),
            group("calm, log", [2.0], log_share=1.0), group("bold, log", [3.0], log_share=1.0),
        ],
        "two": [group("calm", [9.0], problem="road"), group("bold", [3.0], problem="road")],
    })  # fmt: skip
    by_name = {one.learner: one for one in found}
    assert by_name["calm"].ratio == {"grid": 1.0, "road": 3.0}
    assert by_name["bold"].ratio == {"grid": 2.0, "road": 1.0}
    assert by_name["calm"].mean_ratio == pytest.approx(math.sqrt(3.0))
    assert by_name["bold"].mean_ratio == pytest.approx(math.sqrt(2.0))
    assert by_name["calm"].worst_ratio == 3.0
    assert by_name["bold, log"].ratio == {"grid": 1.5}  # to the other that has a log, not to calm
    assert format_ratios(found).splitlines() == [
        "| learner | grid | road | mean ratio | worst |",
        "| --- | --- | --- | --- | --- |",
        "| calm | 10 | 9 | 1.73 | 3.00 |",
        "| bold | 20 | 3 | 1.41 | 2.00 |",
        "| calm, log | 2 | - | 1.00 (of 1) | 1.00 |",
        "| bold, log | 3 | - | 1.50 (of 1) | 1.50 |",
    ]


def test_those_who_know_the_problem_and_those_without_a_record_take_no_part() -> None:
    found = learner_ratios({
        "one": [group("calm", [8.0]), group("seer", [0.0], guarantee=ORACLE), group("failed", [])]
    })  # fmt: skip
    assert [(one.learner, one.mean_ratio) for one in found] == [("calm", 1.0)]
