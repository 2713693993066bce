"""The tables of a report: all numbers side by side, differences on the same contexts, where the regret comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from goalbound.experiments.report.conclusions import bound_shares
from goalbound.experiments.report.markup import Cell, named, table
from goalbound.experiments.report.phrases import DASH, exponent_with_interval, humanize, percent

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


def comparison(data: Data) -> str:
    """One row for each learner on each problem and source of contexts; columns that say nothing are left out."""
    several = len(data["panels"]) > 1
    heads = ["learner", "where", "seeds", "expected regret", "per episode", "growth exponent", "loss / optimal",
             "share of bound", "sets held", "known steps", "abandoned", "steps", "µs/step"]  # fmt: skip
    rows = [_row(panel, result, data) for panel in data["panels"] for result in panel["results"]]
    kept = [
        at for at in range(len(heads))
        if (at != 1 or several) and (at in (0, 1) or any(row[at].text != DASH for row in rows))
    ]  # fmt: skip
    caption = "All learners. Press a heading to sort."
    return table(
        [heads[at] for at in kept], [[row[at] for at in kept] for row in rows],
        caption=caption, sortable=True, texts=2 if several else 1,
    )  # fmt: skip


def _row(panel: Data, result: Data, data: Data) -> list[Cell]:
    learner, numbers, episodes = data["learners"][result["learner"]], result["numbers"], panel["episode"][-1]
    wanted = len(result["seeds"]) + len(result["missing"])
    regret, exponent, share = (numbers[name] for name in ("expected_regret", "exponent", "loss_share"))
    shares = bound_shares(result)
    covered = [one for one in numbers["covered"]["values"] if one is not None]
    speed = result["seconds_per_step"]
    return [
        Cell("", html=named(learner)),
        Cell(panel["title"]),
        Cell(f"{len(result['seeds'])} of {wanted}" if result["missing"] else str(wanted), len(result["seeds"])),
        Cell(humanize(regret["mean"]), regret["mean"], _ends(regret)),
        Cell(humanize(regret["mean"] / episodes), regret["mean"] / episodes),
        Cell(DASH if exponent["mean"] is None else f"{exponent['mean']:.2f}", exponent["mean"],
             exponent_with_interval(exponent).partition(" ")[2]),
        Cell(humanize(share["mean"]), share["mean"], _ends(share)),
        Cell(percent(max(shares)) if shares else DASH, max(shares, default=None)),
        Cell(f"{int(sum(covered))} of {len(covered)} runs" if covered else DASH,
             sum(covered) / len(covered) if covered else None, _intervals(numbers["coverage"]["mean"], covered)),
        Cell(DASH if numbers["known_share"]["mean"] is None else percent(numbers["known_share"]["mean"]),
             numbers["known_share"]["mean"]),
        Cell(humanize(numbers["abandoned"]["mean"]), numbers["abandoned"]["mean"]),
        Cell(humanize(numbers["steps"]["mean"]), numbers["steps"]["mean"]),
        Cell(DASH if speed is None else f"{1e6 * speed:.3g}", speed),
    ]  # fmt: skip


def _ends(estimate: Data) -> str:
    return "" if estimate["low"] is None else f"({humanize(estimate['low'])} to {humanize(estimate['high'])})"


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
            if any(learner["knows"] for learner in pair):
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
