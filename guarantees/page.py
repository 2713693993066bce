"""A page with all results that are there: one HTML file, charts inside, that loads nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from goalbound import __version__
from goalbound.experiments.pages.charts import Chart
from goalbound.experiments.pages.page import render
from goalbound.experiments.pages.tables import Cell, Row, Table
from guarantees.charts import result_charts
from guarantees.claims import count_by_status, load_claims, measured
from guarantees.result import Result, format_cell


def write_page(folder: Path) -> None:
    """Write ``index.html`` from the results in a folder."""
    results = [Result.load(path) for path in sorted(folder.glob("?.json"))]
    drawn = {result.part: _charts(result) for result in results}
    checks = [check for result in results for check in result.checks]
    values = {
        "claims": _claims(results), "claim_counts": count_by_status(load_claims()),
        "held": sum(check.held for check in checks), "total": len(checks), "version": __version__,
        "parts": [
            {"result": result, "charts": [chart.name for chart in drawn[result.part]], "table": _table(result)}
            for result in results
        ],
    }  # fmt: skip
    charts = [chart for part in drawn.values() for chart in part]
    text = render("guarantees.html", values, package="guarantees", charts=charts)
    (folder / "index.html").write_text(text, encoding="utf-8")


def _claims(results: list[Result]) -> list[dict[str, object]]:
    """What the paper claims, what was found, and what the parts that were run say."""
    rows: list[dict[str, object]] = []
    for claim in load_claims():
        words, kind = measured(claim, results)
        rows.append({"claim": claim, "measured": words, "kind": kind})
    return rows


def _charts(result: Result) -> list[Chart]:
    return [replace(chart, name=f"{result.part}-{chart.name}") for chart in result_charts(result)]


def _table(result: Result) -> Table:
    rows = [Row([_cell(value) for value in row]) for row in result.rows]
    numeric = [all(isinstance(row[at], int | float | None) for row in result.rows) for at in range(len(result.columns))]
    texts = next((at for at, one in enumerate(numeric) if one), len(numeric))
    return Table(result.columns, rows, result.title, texts=texts)


def _cell(value: object) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(format_cell(value), float(value) if number else "")  # type: ignore[arg-type]
