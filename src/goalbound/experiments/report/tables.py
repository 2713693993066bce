"""Tables of a report as HTML: all numbers side by side, paired differences, terms of the regret."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from goalbound.experiments.columns import EXPONENT, NUMBER, RUNS, SHARE
from goalbound.experiments.report.conclusions import bound_shares
from goalbound.experiments.report.phrases import DASH, humanize, percent
from goalbound.learners.card import TRUTH

Data = Mapping[str, Any]
MAX_ROWS = 40
"""More differences than this are collapsed."""
TERMS = {
    "switching": "rises of the plan's value at new plans, less the optimal losses",
    "dynamics": "true less optimistic next states",
    "martingale": "noise of the next states; mean 0",
    "losses": "true less optimistic losses",
    "planning": "residual of value iteration",
}


class Cell(NamedTuple):
    """A cell of a table: its text, and the number to sort by (None: none, which sorts last; texts sort by text)."""

    text: str
    value: float | str | None = ""
    note: str = ""
    html: str = ""


def named(learner: Data) -> str:
    """A learner's tag and name."""
    return f'<b class="tag">{escape(learner["tag"])}</b> {escape(learner["label"])}'


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, caption: str, sortable: bool = False, texts: int = 1
) -> str:
    """A table whose first column names the row; the first ``texts`` columns are texts, the others numbers."""
    head = "".join(_head(word, sortable, place < texts) for place, word in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(_cell(cell, place, texts) for place, cell in enumerate(row)) + "</tr>" for row in rows
    )
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll"><table{kind}><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(word: str, sortable: bool, text: bool) -> str:
    inner = f'<button type="button">{escape(word)}</button>' if sortable else escape(word)
    return f'<th scope="col"{" class=text" if text else ""}>{inner}</th>'


def _cell(cell: Cell, place: int, texts: int) -> str:
    inner = cell.html or escape(cell.text)
    if cell.note:
        inner += f" <small>{escape(cell.note)}</small>"
    if not place:
        return f'<th scope="row" class="text">{inner}</th>'
    if cell.value == "":
        return f"<td{' class=text' if place < texts else ''}>{inner}</td>"
    return f'<td data-value="{"" if cell.value is None else escape(str(cell.value))}">{inner}</td>'


def comparison(data: Data) -> str:
    """One row for each learner on each problem and source of contexts; columns that say nothing are left out."""
    several = len(data["panels"]) > 1
    rows = [_row(panel, result, data) for panel in data["panels"] for result in panel["results"]]
    heads = [head for head, _ in rows[0]] if rows else []
    kept = [
        at for at, head in enumerate(heads)
        if (head != "where" or several) and (at in (0, 1) or any(row[at][1].text != DASH for row in rows))
    ]  # fmt: skip
    caption = "All learners. Press a heading to sort."
    drawn = table(
        [heads[at] for at in kept], [[row[at][1] for at in kept] for row in rows],
        caption=caption, sortable=True, texts=2 if several else 1,
    )  # fmt: skip
    shown = {heads[at] for at in kept}
    meanings = "".join(
        f"<dt>{escape(column['heading'])}</dt><dd>{escape(column['meaning'])}</dd>"
        for column in data["columns"] if column["heading"] in shown
    )  # fmt: skip
    return f"{drawn}<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>"


def _row(panel: Data, result: Data, data: Data) -> list[tuple[str, Cell]]:
    """Headings and cells: those of the table of columns, and what is computed of them here."""
    wanted = len(result["seeds"]) + len(result["missing"])
    row = [
        ("learner", Cell("", html=named(data["learners"][result["learner"]]))),
        ("where", Cell(panel["title"])),
        ("seeds", Cell(f"{len(result['seeds'])} of {wanted}" if result["missing"] else str(wanted),
                       len(result["seeds"]))),
    ]  # fmt: skip
    for column in data["columns"]:
        row.append((column["heading"], _number_cell(column, result["numbers"])))
        if column["name"] == "expected_regret":
            per_episode = result["numbers"]["expected_regret"]["mean"] / panel["episode"][-1]
            row.append(("per episode", Cell(humanize(per_episode), per_episode)))
    shares, speed = bound_shares(result), result["seconds_per_step"]
    row.append(("share of bound", Cell(percent(max(shares)) if shares else DASH, max(shares, default=None))))
    return [*row, ("µs/step", Cell(DASH if speed is None else f"{1e6 * speed:.3g}", speed))]


def _number_cell(column: Data, numbers: Data) -> Cell:
    estimate = numbers[column["name"]]
    if column["format"] == RUNS:
        there = [one for one in estimate["values"] if one is not None]
        note = _intervals(numbers["coverage"]["mean"], there) if column["name"] == "covered" else ""
        return Cell(f"{int(sum(there))} of {len(there)} runs" if there else DASH, estimate["mean"], note)
    form = FORMATS[column["format"]]
    return Cell(form(estimate["mean"]), estimate["mean"], _ends(estimate, form) if column["band"] else "")


def _exponent(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return DASH if value is None else percent(value)


FORMATS: Mapping[str, Callable[[float | None], str]] = {NUMBER: humanize, EXPONENT: _exponent, SHARE: _share}
"""How a number of each format is written."""


def _ends(estimate: Data, form: Callable[[float | None], str] = humanize) -> str:
    return "" if estimate["low"] is None else f"({form(estimate['low'])} to {form(estimate['high'])})"


def _intervals(coverage: float | None, covered: Sequence[float]) -> str:
    return "" if coverage is None or all(covered) else f"({percent(coverage)} of intervals)"


def differences(data: Data) -> str:
    """Every pair of learners that has to learn, on the seeds that both have."""
    several = len(data["panels"]) > 1
    heads = ["less regret", "than", *(["where"] if several else []), "by", "95% interval",
             "seeds with less", "p, corrected", "verdict", "contexts"]  # fmt: skip
    rows = []
    for panel in data["panels"]:
        for one in panel["differences"]:
            pair = [data["learners"][one[side]] for side in ("better", "worse")]
            if any(learner["card"]["sees"] == TRUTH for learner in pair):
                continue
            gap = one["difference"]
            rows.append([
                Cell("", html=named(pair[0])), Cell("", html=named(pair[1])),
                *([Cell(panel["title"])] if several else []),
                Cell(humanize(gap["mean"]), gap["mean"]),
                Cell("none" if gap["low"] is None else _ends(gap)[1:-1], gap["low"], gap["note"]),
                Cell(f"{one['wins']} of {len(one['seeds'])}", one["wins"]),
                Cell(DASH if one["corrected"] is None else f"{one['corrected']:.2g}", one["corrected"]),
                Cell(one["verdict"]),
                Cell("the same" if one["same_contexts"] else "own"),
            ])  # fmt: skip
    if not rows:
        return ""
    caption = "Differences of expected regret on the same seeds, pair by pair; p by the paired t test, after Holm"
    drawn = table(heads, rows, caption=caption, sortable=True, texts=3 if several else 2)
    if len(rows) <= MAX_ROWS:
        return drawn
    return f"<details><summary>Differences of expected regret: {len(rows)} pairs of learners</summary>{drawn}</details>"


def terms(panel: Data, learners: Sequence[Data]) -> str:
    """The terms of the realised regret, each with a signed bar; all bars of a panel have one scale."""
    results = [result for result in panel["results"] if result["terms"]]
    if not results:
        return '<p class="note">No learner here was audited: the decomposition needs its plans.</p>'
    names = list(dict.fromkeys([*TERMS, *(name for result in results for name in result["terms"])]))
    values = [one["mean"] for result in results for one in result["terms"].values() if one["mean"] is not None]
    values += [result["numbers"]["regret"]["mean"] for result in results]
    low, high = min(0.0, *values), max(0.0, *values)
    head = "".join(f'<th scope="col">{named(learners[result["learner"]])}</th>' for result in results)
    rows = "".join(
        f'<tr><th scope="row" class="text">{escape(name)}<small>{escape(TERMS.get(name, ""))}</small></th>'
        + "".join(_bar(result["terms"].get(name), low, high) for result in results) + "</tr>"
        for name in names
    )  # fmt: skip
    total = "".join(_bar(result["numbers"]["regret"], low, high) for result in results)
    return (
        '<div class="scroll"><table class="terms"><caption>Terms of the realised regret, means over seeds</caption>'
        f'<thead><tr><th scope="col" class="text">term</th>{head}</tr></thead><tbody>{rows}</tbody>'
        '<tfoot><tr><th scope="row" class="text">realised regret<small>their sum</small></th>'
        f"{total}</tr></tfoot></table></div>"
    )


def _bar(estimate: Data | None, low: float, high: float) -> str:
    value = None if estimate is None else estimate["mean"]
    if value is None:
        return f"<td>{DASH}</td>"
    span = (high - low) or 1.0
    zero, start, size = -low / span, (min(value, 0.0) - low) / span, abs(value) / span
    kind = "less" if value < 0.0 else "more"
    note = f"<small>{escape(_ends(estimate))}</small>" if estimate and estimate["low"] is not None else ""
    return (
        f"<td>{humanize(value)}{note}"
        f'<svg class="bar" viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{kind}" x="{200 * start:.2f}" y="1" width="{max(200 * size, 0.6):.2f}" height="10"/>'
        f'<path class="zero" d="M{200 * zero:.2f} 0V12"/></svg></td>'
    )
