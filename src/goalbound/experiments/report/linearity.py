"""Learners that detected a violation of their model: as plain values, and as a warning on the page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from goalbound.experiments.text import seeds_with_alarm
from goalbound.terminal import pluralize

if TYPE_CHECKING:
    from goalbound.experiments.summary import Summary


def alarms(summary: Summary) -> list[dict[str, Any]]:
    """One for each group that has any: its labels, the seeds, their number, and the first message."""
    return [
        {
            "problem": group.problem,
            "contexts": group.contexts,
            "learner": group.learner,
            "seeds": [seed for seed, _ in found],
            "runs": len(group.seeds),
            "text": found[0][1],
        }
        for group in summary.groups
        if (found := seeds_with_alarm(group))
    ]


def warning(data: Mapping[str, Any]) -> str:
    """The alarms as HTML; nothing where there are none."""
    if not data["alarms"]:
        return ""
    said = "<b>Alarm.</b> These learners found that what they observe contradicts their model; each line says how."
    return f'<div class="warning">{said}<ul>{"".join(map(_line, data["alarms"]))}</ul></div>'


def _line(alarm: Mapping[str, Any]) -> str:
    where = ", ".join(alarm[kind] for kind in ("learner", "problem", "contexts"))
    count = f"{len(alarm['seeds'])} of {pluralize(alarm['runs'], 'run')}"
    return f"<li><b>{escape(where)}</b>: {count}. Seed {alarm['seeds'][0]}, {escape(alarm['text'])}.</li>"
