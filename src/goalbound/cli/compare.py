"""``goalbound compare``: what changed between two folders of results."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from goalbound.experiments.changes import Change, Changes, GroupChange, compare, verdict_note
from goalbound.experiments.comparisons import LEVEL, MIN_SEEDS
from goalbound.experiments.results import load
from goalbound.experiments.text import format_estimate, number
from goalbound.terminal import one_line, table

METHOD = (
    "change: expected regret after less before, on the seeds that both folders have; [low, high]: its 95% interval by "
    f"sign flips, from {MIN_SEEDS} seeds on. It is called less or more only where that interval excludes 0 and the "
    f"paired t test, corrected for all learners here (Holm), has p below {LEVEL:g}."
)


def run(arguments: Namespace) -> int:
    """Print what changed."""
    changes = compare(load(arguments.before), load(arguments.after))
    if arguments.json:
        print(json.dumps(changes.as_json(), indent=1, allow_nan=False))
        return 0
    print("\n\n".join(part for part in _parts(changes) if part))
    return 0


def _parts(changes: Changes) -> list[str]:
    before, after = map(one_line, changes.folders)
    parts = [f"{before}  ->  {after}"]
    if changes.nothing:
        return [*parts, "Nothing changed: the same spec, the same versions, and records that are the same to the bit."]
    parts.append(_changed("spec", changes.spec) or "spec: the same")
    parts.append(_changed("versions", changes.versions) or "versions: the same")
    if changes.groups:
        head = ["problem", "contexts", "learner", "episodes", "seeds", "before", "after", "change", "verdict"]
        parts += [table(head, map(_row, changes.groups), "lllrrrrrl"), textwrap.fill(METHOD, 100)]
    for folder, labels in ((before, changes.only_before), (after, changes.only_after)):
        parts.append("\n".join(f"only in {folder}: {one_line(', '.join(group))}" for group in labels))
    return parts


def _changed(what: str, found: Sequence[Change]) -> str:
    lines = [f"  {one_line(change.what)}: {_value(change.before)} -> {_value(change.after)}" for change in found]
    return "\n".join([f"{what}:", *lines]) if lines else ""


def _value(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, tuple):
        return " and ".join(map(one_line, value))
    return one_line(json.dumps(value, ensure_ascii=False))


def _row(group: GroupChange) -> list[str]:
    note = "; ".join(filter(None, [verdict_note(group), *(f"another version of the {name}" for name in group.code)]))
    return [
        *map(one_line, (group.problem, group.contexts, group.learner)), str(group.episodes), str(len(group.seeds)),
        number(group.before), number(group.after), "-" if group.change is None else format_estimate(group.change),
        group.verdict + (f" ({note})" if note else ""),
    ]  # fmt: skip
