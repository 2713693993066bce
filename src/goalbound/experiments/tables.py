"""A summary as text: an aligned table for terminals and logs, and CSV."""

from __future__ import annotations

import csv
import io
import math
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from goalbound.experiments.bootstrap import Estimate
from goalbound.experiments.cards import NONE, UNKNOWN, UNPROVEN, WORDS
from goalbound.experiments.comparisons import HOW
from goalbound.terminal import one_line

if TYPE_CHECKING:
    from goalbound.experiments.summary import Group, Summary

FEW_SEEDS = 10
NAME_WIDTH = 30
MOST_DIFFERENCES = 12
"""With more pairs of learners than this, the terminal tells only how the first one stands to the others."""
ESTIMATES = (
    "expected_regret", "regret", "exponent", "loss_share", "abandoned", "steps", "intervals", "known_share", "covered",
    "coverage",
)  # fmt: skip
"""The numbers of a group that are estimates, in the order of the CSV columns."""


def number(value: float | None) -> str:
    """About four digits, without an exponent where that is short.

    >>> number(76998.4), number(0.51234), number(0.0), number(2.5e-7), number(None)
    ('76998', '0.5123', '0', '2.5e-07', '-')
    """
    if value is None:
        return "-"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


def percent(value: float | None) -> str:
    """A share in percent; never rounded up to 100.

    >>> percent(1.0), percent(0.99999), percent(0.875), percent(0.000012)
    ('100%', '99.99%', '87.5%', '0.0012%')
    """
    if value is None:
        return "-"
    if 0.99 < value < 1.0:
        return f"{math.floor(1e4 * value) / 1e2:.2f}%"
    return f"{100.0 * value:.3g}%"


def with_band(estimate: Estimate, form: Callable[[float | None], str] = number) -> str:
    """The mean and its band.

    >>> with_band(Estimate(2.0, 1.0, 3.5, (1.0, 3.0)))
    '2 [1, 3.5]'
    """
    if not estimate.has_band:
        return form(estimate.mean)
    return f"{form(estimate.mean)} [{form(estimate.low)}, {form(estimate.high)}]"


def counted(count: int, thing: str) -> str:
    """A number of things."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


COLUMNS: tuple[tuple[str, Callable[[Group], str]], ...] = (
    ("seeds", lambda group: _seeds(group)),
    ("expected regret", lambda group: with_band(group.expected_regret) if group.has_regret else "0"),
    ("exponent", lambda group: with_band(group.exponent, lambda value: "-" if value is None else f"{value:.3f}")),
    ("regret", lambda group: with_band(group.regret)),
    ("loss/optimal", lambda group: with_band(group.loss_share)),
    ("known steps", lambda group: with_band(group.known_share, percent)),
    ("covered runs", lambda group: _covered(group.covered)),
    ("coverage", lambda group: percent(group.coverage.mean)),
    ("alarms", lambda group: _alarmed(group)),
    ("abandoned", lambda group: number(group.abandoned.mean)),
    ("steps", lambda group: number(group.steps.mean)),
    ("intervals", lambda group: number(group.intervals.mean)),
    ("us/step", lambda group: number(None if group.seconds_per_step is None else 1e6 * group.seconds_per_step)),
)
"""Heads and cells of the text table; columns without any number are left out."""


def text(summary: Summary, *, width: int | None = None) -> str:
    """The whole summary as plain text. Where the columns do not fit, the table goes on below, names repeated."""
    room = width or shutil.get_terminal_size((100, 24)).columns
    stages = dict.fromkeys((group.problem, group.contexts) for group in summary.groups)
    parts = [_stage_text(summary, stage, room) for stage in stages]
    parts.append(_wrapped(_notes(summary), room))
    return "\n\n".join(part for part in parts if part)


def csv_text(summary: Summary) -> str:
    """One line per group; ``ahead_of`` names the learners that its learner is ahead of."""
    terms = list(dict.fromkeys(name for group in summary.groups for name in group.decomposition))
    bounds = list(dict.fromkeys(name for group in summary.groups for name in group.bounds))
    head = ["problem", "contexts", "learner", "guarantee", "constants", "episodes", "seeds", "missing"]
    columns = [*ESTIMATES, *(f"term_{name}" for name in terms), *(f"bound_{name}" for name in bounds)]
    for name in columns:
        head += [name, f"{name}_low", f"{name}_high"]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*head, "seconds_per_step", "alarms", "ahead_of"])
    for group in summary.groups:
        estimates = [getattr(group, name) for name in ESTIMATES]
        estimates += [group.decomposition.get(name) for name in terms] + [group.bounds.get(name) for name in bounds]
        row: list[object] = [*group.labels, group.guarantee, group.constants, group.episodes, _joined(group.seeds)]
        row.append(_joined(group.missing))
        for one in estimates:
            row += ["", "", ""] if one is None else [_exact(one.mean), _exact(one.low), _exact(one.high)]
        writer.writerow([*row, _exact(group.seconds_per_step), len(alarmed(group)), "; ".join(summary.ahead_of(group))])
    return file.getvalue()


def alarmed(group: Group) -> list[tuple[int, str]]:
    """The seeds whose learner found what it was told contradicted, or the environment not linear, and its words."""
    found = zip(group.seeds, group.alarms, strict=True)
    return [(seed, alarm) for seed, alarm in found if alarm is not None]


def _stage_text(summary: Summary, stage: tuple[str, str], room: int) -> str:
    groups = [group for group in summary.groups if (group.problem, group.contexts) == stage]
    episodes = counted(groups[0].episodes, "episode")
    lines = [f"{one_line(stage[0])}, contexts {one_line(stage[1])}, {episodes}"]
    names = [textwrap.wrap(one_line(group.learner), min(NAME_WIDTH, max(room // 3, 8))) for group in groups]
    columns = [[head, *(cell(group) for group in groups)] for head, cell in COLUMNS]
    columns = [column for column in columns if any(cell != "-" for cell in column[1:])]
    label = [["learner"], *names]
    left = max(len(line) for lines_ in label for line in lines_)
    for block in _blocks(columns, room - left):
        lines += ["", *_aligned(label, left, block)]
    compared = [one for one in summary.differences if (one.problem, one.contexts) == stage]
    if len(compared) > MOST_DIFFERENCES:
        told = {name for one in compared for name in (one.better, one.worse)}
        ranked = sorted(groups, key=lambda group: group.expected_regret.mean or 0.0)
        first = next(group.learner for group in ranked if group.learner in told)
        compared = [one for one in compared if first in (one.better, one.worse)]
    if compared:
        lines += ["", _wrapped((one_line(one.statement(with_band)) for one in compared), room)]
    return "\n".join(lines)


def _blocks(columns: Sequence[Sequence[str]], room: int) -> list[list[Sequence[str]]]:
    """The columns in blocks that fit, each with one column at least."""
    blocks: list[list[Sequence[str]]] = [[]]
    used = 0
    for column in columns:
        size = 2 + max(len(cell) for cell in column)
        if blocks[-1] and used + size > room:
            blocks.append([])
            used = 0
        blocks[-1].append(column)
        used += size
    return blocks


def _aligned(label: Sequence[Sequence[str]], left: int, block: Sequence[Sequence[str]]) -> list[str]:
    """Lines of one block: names at the left, over several lines where long, numbers at the right."""
    widths = [max(len(cell) for cell in column) for column in block]
    lines = []
    for row, name in enumerate(label):
        cells = "  ".join(column[row].rjust(width) for column, width in zip(block, widths, strict=True))
        lines += [f"{name[0].ljust(left)}  {cells}".rstrip(), *name[1:]]
        if row == 0:
            lines.append("  ".join("-" * width for width in [left, *widths]))
    return lines


def _notes(summary: Summary) -> list[str]:
    """What a reader of the numbers must know."""
    notes = [str(one) for one in summary.missing]
    for group in summary.groups:
        where = f"{group.learner} on {group.problem}, {group.contexts}"
        if group.exponent.note and group.exponent.note != "one seed: no band":
            notes.append(f"{where}: exponent: {group.exponent.note}")
        if group.abandoned.mean:
            notes.append(f"{where}: episodes were abandoned at the step limit; the true regret is larger")
        if first := next(iter(alarmed(group)), None):
            notes.append(f"{where}: alarm, seed {first[0]}: {first[1]}")
    unproven = (one for one in summary.groups if one.guarantee in (UNPROVEN, UNKNOWN))
    notes += dict.fromkeys(f"{one.learner}: {one.constants}" for one in unproven)
    without = dict.fromkeys(one.learner for one in summary.groups if one.guarantee == NONE)
    if without:
        notes.append(f"{WORDS[NONE].replace('its', 'the')}: {', '.join(without)}")
    most = max((len(group.seeds) for group in summary.groups), default=0)
    if most == 1:
        notes.append("one seed: no bands, and nothing can be said of who is ahead")
    elif most:
        rough = f"; of {most} seeds, so rough" if most < FEW_SEEDS else ""
        notes.append(f"[low, high]: 95% bootstrap band of the mean over seeds{rough}")
        if summary.differences:
            notes.append(HOW)
    return [one_line(note) for note in notes]


def _wrapped(notes: Iterable[str], room: int) -> str:
    return "\n".join(textwrap.fill(note, max(room, 20), subsequent_indent="  ") for note in notes)


def _seeds(group: Group) -> str:
    there, wanted = len(group.seeds), len(group.seeds) + len(group.missing)
    return str(there) if there == wanted else f"{there} of {wanted}"


def _alarmed(group: Group) -> str:
    """How many runs; a learner that does not look, or found nothing, has none."""
    found = len(alarmed(group))
    return f"{found} of {len(group.seeds)}" if found else "-"


def _covered(covered: Estimate) -> str:
    there = [value for value in covered.values if value is not None]
    return f"{int(sum(there))} of {len(there)}" if there else "-"


def _joined(seeds: Sequence[int]) -> str:
    return " ".join(map(str, seeds))


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)
