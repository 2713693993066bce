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
        "title": _text(title),
        "report": report,
        "skipped": len(log.skipped),
        "version": __version__,
        "size": f"{pluralize(log.support.states, 'state')}, {pluralize(log.support.pairs, 'pair')}",
        "warnings": [_text(warning, 600) for warning in [*report.warnings, *warnings]],
        "unit": _text(report.unit) if report.unit else "",
        "pairs": _pairs(report),
        "more_pairs": len(report.pairs) - ROWS,
        "quantiles": _quantiles(report),
        "components": _components(report),
        "more_components": len(report.components) - ROWS,
        "changing": pluralize(report.changing_cases, "case") if report.changing_cases else "",
        "rows": _skipped(log),
        "more_rows": len(log.skipped) - ROWS,
        "left_out": pluralize(len(log.skipped), "row"),
    }
    return render("log.html", values, package="goalbound.cli", charts=_charts(report, log))


def _text(words: str, most: int = LONGEST) -> str:
    """Text from outside: shortened, and control characters visible. The template escapes it."""
    short = words if len(words) <= most else words[: most - 3] + "..."
    return escape_controls(short, lines=False)


def _charts(report: LogReport, log: Log) -> list[Chart]:
    tried = sorted(report.pairs, key=lambda pair: pair.visits)[:BARS]
    visits = [(f"{_text(pair.state, 40)}: {_text(pair.action, 40)}", pair.visits) for pair in tried]
    rarest = sorted(report.components, key=lambda component: component[1])[:BARS]
    weights = [(_text(name, 60), round(weight, 6)) for name, weight in rarest]
    return [
        _bar_chart("pairs", "How often each action was tried", "times tried", visits),
        _histogram(log, _after_comma(report)),
        _bar_chart("contexts", "Steps under each component of the context", "steps, weights added up", weights),
    ]


def _after_comma(report: LogReport) -> str:
    """The unit of losses in a heading."""
    return f", {_text(report.unit)}" if report.unit else ""


def _bar_chart(name: str, title: str, across: str, values: Sequence[tuple[str, float]]) -> Chart:
    """A bar for each name, the smallest on top."""
    places, labels = list(range(len(values))), [plain(label) for label, _ in values]
    trace = bars(title, [value for _, value in values], places, "var(--c0)", horizontal=True)
    trace |= {"text": labels, "textposition": "none", "hovertemplate": "%{text}: %{x:,.5~r}<extra></extra>"}
    layout = {
        "xaxis": axis(across, rangemode="tozero"),
        "yaxis": {"automargin": True, "autorange": "reversed", "tickvals": places, "ticktext": labels},
        "showlegend": False,
        "bargap": 0.35,
    }
    height, columns = 90 + 24 * len(values), ("series", across, "place")
    return Chart(name=name, title=title, traces=[trace], layout=layout, height=height, columns=columns)


def _histogram(log: Log, unit: str) -> Chart:
    losses = log.cap * log.arrays().losses
    counts, edges = np.histogram(losses, bins=BINS, range=(0.0, float(losses.max()) or 1.0))
    middles, width = ((edges[:-1] + edges[1:]) / 2.0).tolist(), float(edges[1] - edges[0])
    trace = bars("losses", middles, counts.tolist(), "var(--c0)") | {"width": [width] * BINS}
    layout = {"xaxis": axis(f"loss of a step{unit}"), "yaxis": axis("steps"), "showlegend": False}
    columns = ("series", f"loss{unit}", "steps")
    return Chart(name="losses", title="Histogram of losses", traces=[trace], layout=layout, height=300, columns=columns)


def _pairs(report: LogReport) -> Table:
    shown = sorted(report.pairs, key=lambda pair: pair.visits)[:ROWS] if len(report.pairs) > ROWS else report.pairs
    rows = []
    for pair in shown:
        loss = Cell(f"{pair.mean_loss:.4g}", float(pair.mean_loss)) if pair.visits else Cell("", None)
        names = [Cell(_text(pair.state)), Cell(_text(pair.action))]
        rows.append(Row([*names, Cell(f"{pair.visits:,}", pair.visits), loss, Cell(_next_states(pair.next_states))]))
    heads = ["state", "action", "tried", f"mean loss{_after_comma(report)}", "next states"]
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
    rows = []
    for skipped in log.skipped[:ROWS]:
        line = Cell("" if skipped.line is None else f"{skipped.line:,}", skipped.line)
        why = [Cell(_text(skipped.column)), Cell(_text(skipped.reason, 300)), Cell("yes" if skipped.outcome else "")]
        rows.append(Row([Cell(f"{skipped.row:,}", skipped.row), line, *why]))
    return Table(["row", "line", "column", "why", "by outcome"], rows, "Rows that were left out", texts=5)
