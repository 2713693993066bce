"""A small log of two cases, and ways to spoil it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goalbound import LossScale
from goalbound.logs import LogColumns

SMALL: dict[str, list[Any]] = {
    "case": ["a", "b", "a", "b"],
    "time": [0, 1, 2, 3],
    "state": ["sick", "sick", "weak", "sick"],
    "action": ["rest", "drug", "rest", "drug"],
    "minutes": [6, 12, 30, 60],
    "next_state": ["weak", "sick", "well", "well"],
}
"""Case a: sick, weak, well. Case b: sick, sick, well."""


@pytest.fixture
def small() -> dict[str, list[Any]]:
    return {name: list(values) for name, values in SMALL.items()}


@pytest.fixture
def how() -> dict[str, Any]:
    """How the small log is read."""
    return {"columns": LogColumns(loss="minutes"), "goal": "well", "loss_scale": LossScale("min", cap=60)}


@pytest.fixture
def spoiled(small) -> Callable[[str, int, Any], dict[str, list[Any]]]:
    """The small log with another value in one cell."""

    def spoil(column: str, row: int, value: Any) -> dict[str, list[Any]]:
        small[column][row] = value
        return small

    return spoil


@pytest.fixture
def write_csv(tmp_path: Path) -> Callable[..., Path]:
    def write(columns: dict[str, list[Any]], delimiter: str = ",") -> Path:
        path = tmp_path / "log.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return write
