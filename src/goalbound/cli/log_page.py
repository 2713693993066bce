"""A log as one page that needs nothing else: no script, no other file. Names of the log are escaped, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

from goalbound import __version__
from goalbound.logs import Log, LogReport
from goalbound.logs.report import QUANTILES
from goalbound.terminal import escape_controls, pluralize

BINS = 30
"""Bars of the histogram of losses."""
ROWS = 200
"""Skipped rows, pairs and components that are listed; the rest is counted."""
LONGEST = 120
"""The most characters of a name on the page."""


def log_page(log: Log, *, title: str, warnings: Sequence[str] = ()) -> str:
    """The whole page; ``warnings`` are more of them than those of the report."""
    report = log.report()
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{_text(title)}: a log</title><style>
{files("goalbound.cli").joinpath("log_page.css").read_text(encoding="utf-8")}</style></head>
<body>
<h1>{_text(title)}</h1>
{_facts(report, log)}
{_warnings([*report.warnings, *warnings])}
{_pairs(report)}
{_losses(report, log)}
{_contexts(report)}
{_skipped(log)}
<footer><p>Made by <code>goalbound fit</code>, goalbound {_text(__version__)}.</p></footer>
</body>
</html>
"""


def _text(words: str, most: int = LONGEST) -> str:
    """Text from outside as HTML: shortened, control characters visible, escaped."""
    short = words if len(words) <= most else words[: most - 3] + "..."
    return escape(escape_controls(short, lines=False), quote=True)


def _facts(report: LogReport, log: Log) -> str:
    support = log.support
    origin = "inferred from the log" if report.support_inferred else "given"
    return f"""<p>{report.steps:,} steps of {report.cases:,} cases, {report.open_cases:,} of them open;
{len(log.skipped):,} rows skipped. {pluralize(support.states, "state")}, {pluralize(support.pairs, "pair")} of state and
action, {report.never_tried:.1%} of them never tried; the support was {origin}.</p>"""


def _warnings(warnings: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(one, 600)}</li>" for one in warnings)
    return f"""<h2>What would break the bounds</h2>
<p>A learner's bounds hold for steps of anybody, if actions and contexts were chosen from what had been seen before.</p>
<ul class="warnings">{items}</ul>"""


def _pairs(report: LogReport) -> str:
    most = max((one.visits for one in report.pairs), default=1) or 1
    shown = (
        report.pairs if len(report.pairs) <= ROWS else tuple(sorted(report.pairs, key=lambda one: one.visits))[:ROWS]
    )
    rows = "".join(
        f'<tr><td class="text">{_text(one.state)}</td><td class="text">{_text(one.action)}</td>'
        f'<td{"" if one.visits else " class=never"}>{one.visits:,}</td><td class="bar">{_bar(one.visits / most)}</td>'
        f'<td>{f"{one.mean_loss:.4g}" if one.visits else ""}</td>'
        f'<td class="text">{_next_states(one.next_states)}</td></tr>'
        for one in shown
    )  # fmt: skip
    unit = f", {_text(report.unit)}" if report.unit else ""
    return f"""<h2>How often each action was tried</h2>
<div class="scroll"><table><thead><tr><th class="text">state</th><th class="text">action</th><th>tried</th><th></th>
<th>mean loss{unit}</th><th class="text">next states</th></tr></thead><tbody>{rows}</tbody></table></div>
{_more(len(report.pairs) - len(shown), "pairs, which were tried more often")}"""


def _next_states(counts: dict[str, int]) -> str:
    seen = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    listed = ", ".join(f"{_text(name, 40)} {count:,}" for count, name in seen[:8])
    return listed + (f" and {len(seen) - 8} more" if len(seen) > 8 else "")


def _bar(share: float) -> str:
    return (
        '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="0" y="2" width="{100 * share:.1f}" height="9"/></svg>'
    )


def _losses(report: LogReport, log: Log) -> str:
    unit = f" {_text(report.unit)}" if report.unit else ""
    cells = "".join(f"<td>{value:.4g}</td>" for value in report.loss_quantiles)
    head = "".join(
        f"<th>{'least' if q == 0.0 else 'most' if q == 1.0 else f'{q:.0%}'}</th>" for q in QUANTILES
    )  # fmt: skip
    clipped = f"<p>{report.clipped:,} losses were above the cap, and count as the cap.</p>" if report.clipped else ""
    return f"""<h2>Losses{f" in{unit}" if unit else ""}</h2>
<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody><tr>{cells}</tr></tbody></table></div>
{clipped}<figure>{_histogram(log)}</figure>"""


def _histogram(log: Log) -> str:
    cap = 1.0 if log.loss_scale is None else log.loss_scale.cap
    losses = cap * log.arrays().losses
    counts, edges = np.histogram(losses, bins=BINS, range=(0.0, float(losses.max()) or 1.0))
    width, height, bottom = 600.0, 130.0, 20.0
    step = width / BINS
    bars = "".join(
        f'<rect x="{step * place + 1:.1f}" y="{height - height * count / counts.max():.1f}" width="{step - 2:.1f}" '
        f'height="{height * count / counts.max():.1f}"/>'
        for place, count in enumerate(counts.tolist())
    )
    marks = "".join(
        f'<text x="{width * share:.0f}" y="{height + bottom - 4:.0f}" text-anchor="{anchor}">'
        f"{edges[-1] * share:.4g}</text>"
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height + bottom:.0f}" role="img" aria-label="histogram of losses">{bars}'
        f'<line class="axis" x1="0" y1="{height:.0f}" x2="{width:.0f}" y2="{height:.0f}"/>{marks}</svg>'
    )


def _contexts(report: LogReport) -> str:
    most = max(weight for _, weight in report.components) or 1.0
    shown = (
        sorted(report.components, key=lambda one: one[1])[:ROWS] if len(report.components) > ROWS else report.components
    )
    rows = "".join(
        f'<tr><td class="text">{_text(name)}</td><td{" class=never" if name in report.rare else ""}>{weight:,.1f}</td>'
        f'<td class="bar">{_bar(weight / most)}</td></tr>'
        for name, weight in shown
    )
    changing = (
        f" In {pluralize(report.changing_cases, 'case')} the context changes from step to step."
        if report.changing_cases else ""
    )  # fmt: skip
    return f"""<h2>Contexts</h2>
<p>How many steps were made under each component, weights added up; effective dimension
{report.effective_dimension:.2f} of {len(report.components)}. Under components with few steps little is known
(marked: less than a tenth of an equal share).{changing}</p>
<div class="scroll"><table><thead><tr><th class="text">component</th><th>steps</th><th></th></tr></thead>
<tbody>{rows}</tbody></table></div>
{_more(len(report.components) - len(shown), "components, with more steps")}"""


def _skipped(log: Log) -> str:
    if not log.skipped:
        return "<h2>Skipped rows</h2>\n<p>None.</p>"
    rows = "".join(
        f"<tr><td>{one.row:,}</td><td>{'' if one.line is None else f'{one.line:,}'}</td>"
        f'<td class="text">{_text(one.column)}</td><td class="text">{_text(one.reason, 300)}</td>'
        f'<td class="text">{"yes" if one.outcome else ""}</td></tr>'
        for one in log.skipped[:ROWS]
    )
    return f"""<h2>Skipped rows</h2>
<p>{pluralize(len(log.skipped), "row")} left out. Rows that were left out because of their outcome bias what is
learned.</p>
<div class="scroll"><table><thead><tr><th>row</th><th>line</th><th class="text">column</th><th class="text">why</th>
<th class="text">by outcome</th></tr></thead><tbody>{rows}</tbody></table></div>
{_more(len(log.skipped) - ROWS, "rows")}"""


def _more(count: int, what: str) -> str:
    return f'<p class="note">... and {count:,} more {what}.</p>' if count > 0 else ""
