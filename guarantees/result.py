"""The result of a part."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from goalbound.terminal import table

Notify = Callable[[str, int, int], object]
"""Progress: what is being done, how much of it is done, and how much there is."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Check:
    """One claim at one size: whether it held, and the numbers that say so."""

    claim: str
    held: bool
    numbers: str

    def __str__(self) -> str:
        return f"{'holds ' if self.held else 'FAILS '} {self.claim}: {self.numbers}"


@dataclass(frozen=True)
class Result:
    """A part that was run.

    Attributes:
        part: its letter.
        title: what it shows, in a line.
        setting: widths, delta and sizes: printed under every figure.
        checks: the claims.
        columns: names of the table's columns.
        rows: the table.
        remarks: what to know when reading it.
        curves: numbers for the figures.
        seconds: how long it took.
    """

    part: str
    title: str
    setting: str
    checks: list[Check]
    columns: list[str]
    rows: list[list[Any]]
    remarks: list[str] = field(default_factory=list)
    curves: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        """Whether every claim held."""
        return all(check.held for check in self.checks)

    def save(self, folder: Path) -> None:
        """Write it as ``<part>.json``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.part}.json").write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read what :meth:`save` wrote."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**values, "checks": [Check(**check) for check in values["checks"]]})

    def __str__(self) -> str:
        lines = [f"{self.part}. {self.title}", f"   {self.setting}", *self._table()]
        lines += [f"   {check}" for check in self.checks]
        lines += [f"   note: {remark}" for remark in self.remarks]
        return "\n".join(lines)

    def _table(self) -> list[str]:
        """Lines of the table; numbers to the right."""
        numeric = (all(isinstance(row[at], int | float | None) for row in self.rows) for at in range(len(self.columns)))
        rows = ([format_cell(value) for value in row] for row in self.rows)
        align = "".join("r" if one else "l" for one in numeric)
        return [f"   {line}" for line in table(self.columns, rows, align).splitlines()]


def format_cell(value: Any) -> str:
    """A table cell as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
    return str(value)
