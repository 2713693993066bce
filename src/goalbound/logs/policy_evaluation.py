"""What a policy would have lost per case of a log: one result, one table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from goalbound.terminal import one_line, table

OBSERVED = "observed"
MODEL = "model"
IMPORTANCE = "importance sampling"
DOUBLY_ROBUST = "doubly robust"
BOUNDS = "bounds"
WIDTH = 110
"""Characters of a line of notes."""


@dataclass(frozen=True)
class PolicyEstimate:
    """One way to say what a policy would have lost per case; a row of the table. Losses are in the unit.

    Attributes:
        method: "observed", "model", "importance sampling", "doubly robust" or "bounds".
        value: the estimate; None where there is none.
        low, high: the interval; None where there is none.
        proven: whether the interval is proven; those by bootstrap are not.
        cases: how many cases were averaged over.
        effective_cases: the effective sample size of the weights, for importance sampling; else None.
        missing: why there is neither an estimate nor an interval; "" if there is one.
        notes: what to know about the numbers: what became of open cases, what the log does not hold.
    """

    method: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    proven: bool = False
    cases: int = 0
    effective_cases: float | None = None
    missing: str = ""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "method": self.method, "value": _json_number(self.value), "low": _json_number(self.low),
            "high": _json_number(self.high), "proven": self.proven, "cases": self.cases,
            "effective_cases": self.effective_cases, "missing": self.missing, "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True)
class PolicyEvaluation:
    """What a policy would have lost per case, on average over the cases of a log; ``str`` of it is for people.

    Attributes:
        observed: what was lost per closed case, whatever was done.
        model: the value of the policy in the projected ridge estimate of the log.
        importance: the weighted importance sampling estimate per decision.
        doubly_robust: importance sampling of what the model does not explain.
        bounds: the average of the learner's bounds of the policy.
        unit: of all losses; "" if they have none.
        cases: in the log; open_cases: of these, whole but not at the goal; broken_cases: with a row missing.
        level: of the bootstrap intervals; replicates: how many resamples they are from.
        notes: what to know about all rows.
    """

    observed: PolicyEstimate
    model: PolicyEstimate
    importance: PolicyEstimate
    doubly_robust: PolicyEstimate
    bounds: PolicyEstimate
    unit: str
    cases: int
    open_cases: int
    broken_cases: int
    level: float
    replicates: int
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[PolicyEstimate, ...]:
        """The estimates in the order of the table."""
        return self.observed, self.model, self.importance, self.doubly_robust, self.bounds

    def __str__(self) -> str:
        shown = table(self._head(), [_cells(row) for row in self.rows], "lrrrrrl")
        notes = (textwrap.fill(f"- {note}", WIDTH, subsequent_indent="  ") for note in self._all_notes())
        return "\n".join([shown, *notes])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._head())
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._all_notes())
        return f"<table><tr>{head}</tr>{body}</table><ul>{notes}</ul>"

    def as_json(self) -> dict[str, Any]:
        """What :mod:`json` writes as it is: infinite numbers are the text "infinite", what there is not is null."""
        return {
            "unit": self.unit, "cases": self.cases, "open_cases": self.open_cases, "broken_cases": self.broken_cases,
            "level": self.level, "replicates": self.replicates, "rows": [row.as_json() for row in self.rows],
            "notes": list(self.notes),
        }  # fmt: skip

    def _head(self) -> list[str]:
        unit = f", {one_line(self.unit)}" if self.unit else ""
        return [f"loss per case{unit}", "estimate", "from", "to", "cases", "effective", "interval"]

    def _all_notes(self) -> list[str]:
        notes = [
            f"{row.method}: {one_line(note)}"
            for row in self.rows
            for note in ((row.missing,) if row.missing else row.notes)
        ]
        return [*notes, *map(one_line, self.notes)]


def _cells(row: PolicyEstimate) -> list[str]:
    if row.missing:
        return [row.method, "-", "-", "-", "-", "-", "none: see below"]
    kind = "-" if row.low is None else ("proven" if row.proven else "bootstrap, not proven")
    effective = "-" if row.effective_cases is None else f"{row.effective_cases:.1f}"
    return [row.method, _number(row.value), _number(row.low), _number(row.high), str(row.cases), effective, kind]


def _number(number: float | None) -> str:
    return "-" if number is None else ("infinite" if np.isinf(number) else f"{number:.4g}")


def _json_number(number: float | None) -> float | str | None:
    return number if number is None or np.isfinite(number) else "infinite"
