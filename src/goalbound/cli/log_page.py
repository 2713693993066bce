"""A log as one page that needs nothing else. Names of the log are escaped, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goalbound import __version__
from goalbound.experiments.pages.charts import Chart, axis, bars, plain
from goalbound.experiments.pages.page import render
from goalbound.experiments.pages.tables import Cell, Row, Table
from goalbound.logs import Log, LogReport
from goalbound.logs.report import QUANTILES
from goalbound.terminal import escape_controls, pluralize

BINS = 30
"""Bars of the histogram of losses."""
ROWS = 200
"""Skipped rows, pairs and components that are listed; the rest is counted."""
BARS = 40
"""Pairs and components that are drawn, the least tried first."""
LONGEST = 120
"""The most characters of a name on the page."""


def log_page(log: Log, *, title: str, warnings: Sequence[str] = ()) -> str:
    """The whole page; ``warnings`` are more of them than those of the report."""
    report = log.report()
    values = {
        "title": _text(title), "report": report, "skipped": len(log.skipped), "version": __version__,
        "size": f"{pluralize(log.support.states, 'state')}, {pluralize(log.support.pairs, 'pair')}",
        "warnings": [_text(one, 600) for one in [*report.warnings, *warnings]],
        "unit": _text(report.unit) if report.unit else "",
        "pairs": _pairs(report), "more_pairs": len(report.pairs) - ROWS,
        "quantiles": _quantiles(report),
        "components": _components(report), "more_components": len(report.components) - ROWS,
        "changing": pluralize(report.changing_cases, "case") if report.changing_cases else "",
        "rows": _skipped(log), "more_rows": len(log.skipped) - ROWS, "left_out": pluralize(len(log.skipped), "row"),
    }  # fmt: skip
    return render("log.html", values, package="goalbound.cli", charts=_charts(report, log))


def _text(words: str, most: int = LONGEST) -> str:
    """Text from outside: shortened, and control characters visible. The template escapes it."""
    short = words if len(words) <= most else words[: most - 3] + "..."
    return escape_controls(short, lines=False)


def _charts(report: LogReport, log: Log) -> list[Chart]:
    unit = f", {_text(report.unit)}" if report.unit else ""
    tried = sorted(report.pairs, key=lambda one: one.visits)[:BARS]
    weights = sorted(report.components, key=lambda one: one[1])[:BARS]
    return [
        _bar_chart("pairs", "How often each action was tried", "times tried",
                   [(f"{_text(one.state, 40)}: {_text(one.action, 40)}", one.visits) for one in tried]),
        _histogram(log, unit),
        _bar_chart("contexts", "Steps under each component of the context", "steps, weights added up",
                   [(_text(name, 60), round(weight, 6)) for name, weight in weights]),
    ]  # fmt: skip


def _bar_chart(name: str, title: str, across: str, values: Sequence[tuple[str, float]]) -> Chart:
    """A bar for each name, the smallest on top."""
    trace = bars(title, [value for _, value in values], list(range(len(values))), "var(--c0)", horizontal=True)
    ticks = {"tickvals": list(range(len(values))), "ticktext": [plain(label) for label, _ in values]}
    return Chart(
        name=name, title=title, traces=[trace | {"text": [plain(label) for label, _ in values], "textposition": "none",
                                                 "hovertemplate": "%{text}: %{x:,.5~r}<extra></extra>"}],
        layout={"xaxis": axis(across, rangemode="tozero"), "showlegend": False, "bargap": 0.35,
                "yaxis": {"automargin": True, "autorange": "reversed", **ticks}},
        height=90 + 24 * len(values), columns=("series", across, "place"),
    )  # fmt: skip


def _histogram(log: Log, unit: str) -> Chart:
    losses = log.cap * log.arrays().losses
    counts, edges = np.histogram(losses, bins=BINS, range=(0.0, float(losses.max()) or 1.0))
    middles, width = ((edges[:-1] + edges[1:]) / 2.0).tolist(), float(edges[1] - edges[0])
    return Chart(
        name="losses", title="Histogram of losses",
        traces=[bars("losses", middles, counts.tolist(), "var(--c0)") | {"width": [width] * BINS}],
        layout={"xaxis": axis(f"loss of a step{unit}"), "yaxis": axis("steps"), "showlegend": False}, height=300,
        columns=("series", f"loss{unit}", "steps"),
    )  # fmt: skip


def _pairs(report: LogReport) -> Table:
    shown = sorted(report.pairs, key=lambda one: one.visits)[:ROWS] if len(report.pairs) > ROWS else report.pairs
    unit = f", {_text(report.unit)}" if report.unit else ""
    rows = [
        Row([Cell(_text(one.state)), Cell(_text(one.action)), Cell(f"{one.visits:,}", one.visits),
             Cell(f"{one.mean_loss:.4g}" if one.visits else "", float(one.mean_loss) if one.visits else None),
             Cell(_next_states(one.next_states))])
        for one in shown
    ]  # fmt: skip
    heads = ["state", "action", "tried", f"mean loss{unit}", "next states"]
    return Table(heads, rows, "Pairs of state and action", texts=2)


def _next_states(counts: dict[str, int]) -> str:
    seen = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    listed = ", ".join(f"{_text(name, 40)} {count:,}" for count, name in seen[:8])
    return listed + (f" and {len(seen) - 8} more" if len(seen) > 8 else "")


def _quantiles(report: LogReport) -> Table:
    heads = ["least" if q == 0.0 else "most" if q == 1.0 else f"{q:.0%}" for q in QUANTILES]
    cells: list[Any] = [Cell(f"{value:.4g}") for value in report.loss_quantiles]
    return Table(heads, [Row(cells)], "Quantiles of the losses of a step", sortable=False, texts=0)


def _components(report: LogReport) -> Table:
    found = report.components
    shown = sorted(found, key=lambda one: one[1])[:ROWS] if len(found) > ROWS else found
    rows = [
        Row([Cell(_text(name), note="few steps" if name in report.rare else ""), Cell(f"{weight:,.1f}", float(weight))])
        for name, weight in shown
    ]
    return Table(["component", "steps"], rows, "Steps under each component of the context")


def _skipped(log: Log) -> Table:
    rows = [
        Row([Cell(f"{one.row:,}", one.row), Cell("" if one.line is None else f"{one.line:,}", one.line),
             Cell(_text(one.column)), Cell(_text(one.reason, 300)), Cell("yes" if one.outcome else "")])
        for one in log.skipped[:ROWS]
    ]  # fmt: skip
    return Table(["row", "line", "column", "why", "by outcome"], rows, "Rows that were left out", texts=5)
