"""A log of incidents in a file, and the options to read it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from goalbound.problems import incident_log, incident_recovery

OPTIONS = """goal = "recovered"
[columns]
loss = "minutes"
covariates = ["hour", "traffic"]
probability = "probability"
[loss]
unit = "min"
cap = 60
floor = 2.5
[map]
kind = "Tensor"
columns = ["hour", "traffic"]
maps = [{ kind = "Periodic", period = 24, knots = [3, 9, 15, 21] }, { kind = "Hats", knots = [0, 0.5, 1] }]
"""


def write_incidents(path: Path, cases: int = 60, changes: Mapping[tuple[str, int], Any] | None = None) -> None:
    """A CSV file of incidents; ``changes`` are other values of single cells, by column and row."""
    rows = incident_log(incident_recovery(), cases, np.random.default_rng(0))
    for (column, row), value in (changes or {}).items():
        rows[column][row] = value
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
