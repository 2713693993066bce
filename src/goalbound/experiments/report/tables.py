"""Tables of a report: all numbers side by side, paired differences, best policies by names, runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from goalbound.experiments.columns import EXPONENT, NUMBER, RUNS, SHARE
from goalbound.experiments.pages.tables import Cell, Row, Table
from goalbound.experiments.report.claims import bound_shares
from goalbound.experiments.report.map_charts import frequent_policies, policy_names
from goalbound.experiments.report.phrases import DASH, divided, humanize, joined, percent, supported
from goalbound.learners.card import TRUTH
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
MAX_NAMED = 6
"""Of the states where two policies differ in the same way, so many are named."""
PER_EPISODE, BOUND_SHARE, SPEED = "per episode", "share of bound", "µs/step"
COMPUTED: Mapping[str, str] = {
    PER_EPISODE: "the expected regret over the number of episodes",
    BOUND_SHARE: "the realised regret over the tightest a-posteriori bound; of the runs the largest",
    SPEED: "the time of a run over its steps, without compiling, median; in a short run most of it is what a run does "
    "once: certify the bounds of the problem, map the learned policies",
}
"""Headings of what is computed here, and what they mean."""


def named(result: Data) -> Cell:
    """The tag and the name of a learner."""
    return Cell(result["label"], tag=result["tag"])


def comparison(panel: Data, data: Data) -> Table:
    """One row for each learner; columns that say nothing are left out."""
    rows = [(result["learner"], _row(panel, result, data)) for result in panel["results"]]
    heads = [head for head, _ in rows[0][1]]
    kept = [at for at in range(len(heads)) if at == 0 or any(row[at][1].text != DASH for _, row in rows)]
    return Table(
        heads=[heads[at] for at in kept],
        rows=[Row([row[at][1] for at in kept], learner) for learner, row in rows],
        caption="All learners; means over seeds with 95% intervals. Press a heading to sort.",
    )


def _row(panel: Data, result: Data, data: Data) -> list[tuple[str, Cell]]:
    """Headings and cells: those of the table of columns, and what is computed of them here."""
    wanted = len(result["seeds"]) + len(result["missing"])
    row = [
        ("learner", named(result)),
        ("seeds", Cell(f"{len(result['seeds'])} of {wanted}" if result["missing"] else str(wanted),
                       len(result["seeds"]))),
    ]  # fmt: skip
    for column in data["columns"]:
        row.append((column["heading"], _number_cell(column, result["numbers"])))
        if column["name"] == "expected_regret":
            per_episode = divided(result["numbers"]["expected_regret"], panel["episode"][-1])
            row.append((PER_EPISODE, Cell(supported(per_episode)[0], per_episode["mean"])))
    shares, speed = bound_shares(result), result["seconds_per_step"]
    row.append((BOUND_SHARE, Cell(percent(max(shares)) if shares else DASH, max(shares, default=None))))
    return [*row, (SPEED, Cell(DASH if speed is None else humanize(1e6 * speed), speed))]


def _number_cell(column: Data, numbers: Data) -> Cell:
    estimate = numbers[column["name"]]
    if column["format"] == RUNS:
        there = [one for one in estimate["values"] if one is not None]
        note = _intervals(numbers["coverage"]["mean"], there) if column["name"] == "covered" else ""
        return Cell(f"{int(sum(there))} of {len(there)} runs" if there else DASH, estimate["mean"], note)
    if column["format"] == NUMBER and column["band"]:
        mean, low, high = supported(estimate)
        return Cell(mean, estimate["mean"], f"({low} to {high})" if low else "")
    form = FORMATS[column["format"]]
    return Cell(form(estimate["mean"]), estimate["mean"], _ends(estimate, form) if column["band"] else "")


def _exponent(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return DASH if value is None else percent(value)


FORMATS: Mapping[str, Callable[[float | None], str]] = {NUMBER: humanize, EXPONENT: _exponent, SHARE: _share}
"""How a number of each format is written."""


def _ends(estimate: Data, form: Callable[[float | None], str]) -> str:
    return "" if estimate["low"] is None else f"({form(estimate['low'])} to {form(estimate['high'])})"


def _intervals(coverage: float | None, covered: Sequence[float]) -> str:
    return "" if coverage is None or all(covered) else f"({percent(coverage)} of intervals)"


def meanings(table: Table, data: Data) -> list[tuple[str, str]]:
    """The headings of a table and what they mean."""
    known = {**{one["heading"]: one["meaning"] for one in data["columns"]}, **COMPUTED}
    return [(head, known[head]) for head in table.heads if head in known]


def differences(panel: Data) -> Table | None:
    """Every pair of learners that has to learn, on the seeds that both have; None without any."""
    heads = ["less regret", "than", "by", "95% interval", "seeds with less", "p, corrected", "verdict", "contexts"]
    rows, results = [], {result["learner"]: result for result in panel["results"]}
    for one in panel["differences"]:
        pair = [results[one[side]] for side in ("better", "worse")]
        if any(result["card"]["sees"] == TRUTH for result in pair):
            continue
        gap = one["difference"]
        mean, low, high = supported(gap)
        rows.append(Row([
            named(pair[0]), named(pair[1]), Cell(mean, gap["mean"]),
            Cell(f"{low} to {high}" if low else "none", gap["low"], gap["note"]),
            Cell(f"{one['wins']} of {len(one['seeds'])}", one["wins"]),
            Cell(DASH if one["corrected"] is None else f"{one['corrected']:.2g}", one["corrected"]),
            Cell(one["verdict"]), Cell("the same" if one["same_contexts"] else "own"),
        ]))  # fmt: skip
    if not rows:
        return None
    caption = "Differences of expected regret on the same seeds, pair by pair; p by the paired t test, after Holm"
    return Table(heads, rows, caption, texts=2)


def policy_gaps(panel: Data) -> Table | None:
    """Above three components: the contexts in rows."""
    results = [result for result in panel["results"] if result["policy"]]
    if panel["context_size"] <= 3 or panel["policies"] is None or not results:
        return None
    heads = ["context", "best policy", *(f"{one['tag']} above the best" for one in results)]
    rows, names = [], policy_names(panel["policies"]["best"])
    for at, context in enumerate(panel["policies"]["contexts"]):
        mixed = ", ".join(
            f"{100 * share:.3g}% {name}" for share, name in zip(context, panel["components"], strict=True) if share
        )
        cells = [Cell(mixed), Cell(names[panel["policies"]["best"][at]])]
        for result in results:
            gap, improper = result["policy"]["gap"][at], result["policy"]["improper"][at]
            cells.append(Cell("not proper" if improper else humanize(gap), None if improper else gap))
        rows.append(Row(cells))
    return Table(heads, rows, "How much more the learned policy loses than the best one")


def best_policies(panel: Data) -> Table | None:
    """What the most frequent best policies do in the states where they differ; None where names were not kept."""
    best = panel["policies"]
    if best is None or not best["regions"] or not best["regions"]["states"]:
        return None
    shown, names = frequent_policies(best["best"]), policy_names(best["best"])
    rows = [
        Row([Cell(state), *(Cell(best["regions"]["actions"][number][at]) for number in shown)])
        for at, state in enumerate(best["regions"]["states"])
        if len({best["regions"]["actions"][number][at] for number in shown}) > 1
    ]
    if not rows:
        return None
    count = len(best["best"])
    heads = ["in state", *(f"{names[one]}, best at {best['best'].count(one)} of {count}" for one in shown)]
    return Table(heads, rows, "The best policies where they differ; elsewhere they agree", sortable=False,
                 texts=len(heads))  # fmt: skip


def policy_changes(panel: Data) -> list[str]:
    """What changes from one of the most frequent best policies to the next."""
    best = panel["policies"]
    if best is None or not best["regions"]:
        return []
    states, actions = best["regions"]["states"], best["regions"]["actions"]
    shown, names = frequent_policies(best["best"]), policy_names(best["best"])
    said = []
    for before, after in pairwise(shown):
        changed: dict[str, list[str]] = {}
        for state, old, new in zip(states, actions[before], actions[after], strict=True):
            if old != new:
                changed.setdefault(f"{new} instead of {old}", []).append(state)
        parts = [f"{change} in {_listed(where)}" for change, where in changed.items()]
        said.append(f"From {names[before]} to {names[after]}: {'; '.join(parts)}.")
    return said


def _listed(states: Sequence[str]) -> str:
    """The names of the first states, and how many others there are."""
    more = [pluralize(len(states) - MAX_NAMED, "other state")] if len(states) > MAX_NAMED else []
    return joined([*states[:MAX_NAMED], *more])


def runs(data: Data) -> Table:
    """All runs with their ids."""
    rows = [
        Row([*(Cell(run["labels"][at]) for at in (2, 0, 1)), Cell(str(run["seed"]), run["seed"]), Cell(run["id"])])
        for run in data["provenance"]["runs"]
    ]  # fmt: skip
    return Table(["learner", "problem", "contexts", "seed", "id"], rows, "Runs", texts=5)
