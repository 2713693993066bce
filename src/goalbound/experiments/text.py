"""A summary as text: an aligned table for terminals and logs, and CSV."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from goalbound.csv_cells import csv_text
from goalbound.experiments import columns
from goalbound.experiments.bootstrap import Estimate
from goalbound.experiments.columns import Column
from goalbound.experiments.comparisons import METHOD
from goalbound.learners.card import CONTEXTS, GUARANTEE_LABELS, NONE, PROVEN, UNKNOWN, UNPROVEN
from goalbound.terminal import one_line, pluralize, table, text_width

if TYPE_CHECKING:
    from goalbound.experiments.summary import Group, Summary

FEW_SEEDS = 10
NAME_WIDTH = 30
MAX_DIFFERENCES = 12
"""With more pairs of learners than this, the terminal shows only comparisons with the first one."""


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


def format_estimate(estimate: Estimate, form: Callable[[float | None], str] = number) -> str:
    """The mean and its band.

    >>> format_estimate(Estimate(2.0, 1.0, 3.5, (1.0, 3.0)))
    '2 [1, 3.5]'
    """
    if not estimate.has_band:
        return form(estimate.mean)
    return f"{form(estimate.mean)} [{form(estimate.low)}, {form(estimate.high)}]"


def _exponent(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


FORMATS: Mapping[str, Callable[[float | None], str]] = {
    columns.NUMBER: number, columns.EXPONENT: _exponent, columns.SHARE: percent,
}  # fmt: skip
"""How a number of each format is written."""


def _table_columns(groups: Sequence[Group]) -> list[list[str]]:
    """The columns of the text table, each with its heading; those without any number are left out."""
    found = [["seeds", *map(_seeds_cell, groups)]]
    found += [[column.heading, *(_cell(column, group) for group in groups)] for column in columns.summarised()]
    speeds = [None if group.seconds_per_step is None else 1e6 * group.seconds_per_step for group in groups]
    found += [["alarms", *map(_alarm_cell, groups)], ["us/step", *map(number, speeds)]]
    return [column for column in found if any(cell != "-" for cell in column[1:])]


def _cell(column: Column, group: Group) -> str:
    estimate = group.numbers[column.name]
    if column.format == columns.RUNS:
        return _runs_cell(estimate)
    if column.name == "expected_regret" and not group.has_regret:  # but for rounding
        return "0"
    form = FORMATS[column.format]
    return format_estimate(estimate, form) if column.band else form(estimate.mean)


def format_summary(summary: Summary, *, width: int | None = None) -> str:
    """The whole summary as plain text. Columns that do not fit continue below, with the names repeated."""
    max_width = width or shutil.get_terminal_size((100, 24)).columns
    tasks = dict.fromkeys((group.problem, group.contexts) for group in summary.groups)
    parts = [_task_text(summary, task, max_width) for task in tasks]
    parts.append(_wrap(_notes(summary), max_width))
    return "\n\n".join(part for part in parts if part)


def format_csv(summary: Summary) -> str:
    """One line per group; ``ahead_of`` names the learners that its learner is ahead of."""
    return csv_text(*summary_rows(summary))


def summary_rows(summary: Summary) -> tuple[list[str], list[list[object]]]:
    """The columns of ``summary.csv``, and one row for each group; None where there is no number."""
    terms = list(dict.fromkeys(name for group in summary.groups for name in group.decomposition))
    bounds = list(dict.fromkeys(name for group in summary.groups for name in group.bounds))
    head = ["problem", "contexts", "learner", "sees", "guarantee", "constants", "episodes", "seeds", "missing"]
    numbers = [column.name for column in columns.summarised()]
    for name in [*numbers, *(f"term_{name}" for name in terms), *(f"bound_{name}" for name in bounds)]:
        head += [name, f"{name}_low", f"{name}_high"]
    rows = []
    for group in summary.groups:
        estimates: list[Estimate | None] = [group.numbers[name] for name in numbers]
        estimates += [group.decomposition.get(name) for name in terms] + [group.bounds.get(name) for name in bounds]
        row: list[object] = [*group.labels, group.sees, group.guarantee, group.constants, group.episodes]
        row += [_join(group.seeds), _join(group.missing)]
        for one in estimates:
            row += [None, None, None] if one is None else [one.mean, one.low, one.high]
        ahead = "; ".join(summary.ahead_of(group))
        rows.append([*row, group.seconds_per_step, len(seeds_with_alarm(group)), ahead])
    return [*head, "seconds_per_step", "alarms", "ahead_of"], rows


def seeds_with_alarm(group: Group) -> list[tuple[int, str]]:
    """The seeds whose learner detected a violation of its prior or of linearity, with its message."""
    found = zip(group.seeds, group.alarms, strict=True)
    return [(seed, alarm) for seed, alarm in found if alarm is not None]


def _task_text(summary: Summary, task: tuple[str, str], max_width: int) -> str:
    groups = [group for group in summary.groups if (group.problem, group.contexts) == task]
    episodes = pluralize(groups[0].episodes, "episode")
    lines = [f"{one_line(task[0])}, contexts {one_line(task[1])}, {episodes}"]
    names = [textwrap.wrap(one_line(group.learner), min(NAME_WIDTH, max(max_width // 3, 8))) for group in groups]
    name_width = max(text_width(line) for name in (["learner"], *names) for line in name)
    for block in _blocks(_table_columns(groups), max_width - name_width):
        lines += ["", _block_text(names, block)]
    compared = [one for one in summary.differences if (one.problem, one.contexts) == task]
    if len(compared) > MAX_DIFFERENCES:
        compared_learners = {name for one in compared for name in (one.better, one.worse)}
        ranked = sorted(groups, key=lambda group: group.expected_regret.mean or 0.0)
        first = next(group.learner for group in ranked if group.learner in compared_learners)
        compared = [one for one in compared if first in (one.better, one.worse)]
    if compared:
        lines += ["", _wrap((one_line(one.statement(format_estimate)) for one in compared), max_width)]
    return "\n".join(lines)


def _blocks(columns: Sequence[Sequence[str]], max_width: int) -> list[list[Sequence[str]]]:
    """The columns in blocks that fit, each with one column at least."""
    blocks: list[list[Sequence[str]]] = [[]]
    used = 0
    for column in columns:
        size = 2 + max(len(cell) for cell in column)
        if blocks[-1] and used + size > max_width:
            blocks.append([])
            used = 0
        blocks[-1].append(column)
        used += size
    return blocks


def _block_text(names: Sequence[Sequence[str]], block: Sequence[Sequence[str]]) -> str:
    """The table of one block: names at the left, over several lines where long, numbers at the right."""
    head, *cells = zip(*block, strict=True)
    rows: list[Sequence[str]] = []
    for name, row in zip(names, cells, strict=True):
        rows += [(name[0], *row), *((line, *[""] * len(row)) for line in name[1:])]
    return table(["learner", *head], rows, "l" + "r" * len(head))


def _notes(summary: Summary) -> list[str]:
    """Notes below the table."""
    notes = [str(one) for one in summary.missing]
    for group in summary.groups:
        where = f"{group.learner} on {group.problem}, {group.contexts}"
        if group.exponent.note and group.exponent.note != "one seed: no band":
            notes.append(f"{where}: exponent: {group.exponent.note}")
        if group.abandoned.mean:
            notes.append(f"{where}: episodes were abandoned at the step limit; the true regret is larger")
        if first := next(iter(seeds_with_alarm(group)), None):
            notes.append(f"{where}: alarm, seed {first[0]}: {first[1]}")
    unproven = (one for one in summary.groups if one.guarantee in (UNPROVEN, UNKNOWN))
    notes += dict.fromkeys(f"{one.learner}: {one.constants}" for one in unproven)
    blind = (one for one in summary.groups
             if one.guarantee == PROVEN and one.sees != CONTEXTS and one.context_size > 1)  # fmt: skip
    notes += dict.fromkeys(f"{one.learner}: sees {one.sees}, so its proof is not about these contexts" for one in blind)
    without = dict.fromkeys(one.learner for one in summary.groups if one.guarantee == NONE)
    if without:
        notes.append(f"{GUARANTEE_LABELS[NONE].replace('its', 'the')}: {', '.join(without)}")
    most = max((len(group.seeds) for group in summary.groups), default=0)
    if most == 1:
        notes.append("one seed: no bands, and nothing can be said of who is ahead")
    elif most:
        rough = f"; of {most} seeds, so rough" if most < FEW_SEEDS else ""
        notes.append(f"[low, high]: 95% bootstrap band of the mean over seeds{rough}")
        if summary.differences:
            notes.append(METHOD)
    return [one_line(note) for note in notes]


def _wrap(notes: Iterable[str], max_width: int) -> str:
    return "\n".join(textwrap.fill(note, max(max_width, 20), subsequent_indent="  ") for note in notes)


def _seeds_cell(group: Group) -> str:
    there, wanted = len(group.seeds), len(group.seeds) + len(group.missing)
    return str(there) if there == wanted else f"{there} of {wanted}"


def _alarm_cell(group: Group) -> str:
    """The number of runs with an alarm; a dash for none."""
    found = len(seeds_with_alarm(group))
    return f"{found} of {len(group.seeds)}" if found else "-"


def _runs_cell(covered: Estimate) -> str:
    there = [value for value in covered.values if value is not None]
    return f"{int(sum(there))} of {len(there)}" if there else "-"


def _join(seeds: Sequence[int]) -> str:
    return " ".join(map(str, seeds))
