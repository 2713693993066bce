"""Budgets of the house: read, compared, lowered."""

from __future__ import annotations

from typing import Any

from tests.house.measures import BUDGETS, budgets, measured

SLACK = 0.02
"""A number may fall so far below its budget before the budget has to follow."""


def complaints(found: dict[str, int], kept: dict[str, Any]) -> list[str]:
    """What has grown, what has fallen without its budget, and what has no budget."""
    lines = [f"{name} has no budget; say `make house WRITE=1`" for name in found if name not in kept]
    lines += [f"{name} is measured no more; remove its budget" for name in kept if name not in found]
    for name in (one for one in kept if one in found):
        now, most = found[name], kept[name]["budget"]
        if now > most:
            lines.append(f"{name}: {now:,}, more than the budget of {most:,}; make it smaller elsewhere")
        elif now < (1.0 - SLACK) * most:
            lines.append(f"{name}: {now:,}, below the budget of {most:,}; lower it by `make house WRITE=1`")
    return lines


def table() -> str:
    """The numbers of now with their budgets and goals."""
    kept = budgets()
    rows = [("", "now", "budget", "goal")]
    for name, now in measured(kept["capabilities"]).items():
        budget = kept["budgets"].get(name, {})
        rows.append((name, f"{now:,}", *(f"{budget[one]:,}" if one in budget else "-" for one in ("budget", "goal"))))
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{name:{width}} {now:>9} {budget:>9} {goal:>9}" for name, now, budget, goal in rows)


def rounded(now: int) -> int:
    """The next number with three digits and zeros: a budget, so that a line more is no matter.

    >>> rounded(66_868), rounded(8_140), rounded(387)
    (66900, 8140, 387)
    """
    unit = 10 ** max(len(str(now)) - 3, 0)
    return -(-now // unit) * unit


def lower() -> None:
    """Set each budget to the number of now where that is smaller or new, and remove those of nothing."""
    kept = budgets()
    head, mark, _ = BUDGETS.read_text(encoding="utf-8").partition("[budgets]\n")
    lines = []
    for name, now in measured(kept["capabilities"]).items():
        budget = kept["budgets"].get(name, {})
        most = min(rounded(now), budget.get("budget", rounded(now)))
        goal = f", goal = {budget['goal']}" if "goal" in budget else ""
        lines.append(f'"{name}" = {{ budget = {most}{goal} }}\n')
    BUDGETS.write_text(head + mark + "".join(lines), encoding="utf-8")
