"""Several experiments in one table: the regret of each learner on each problem, and its ratio to the best one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from goalbound.experiments.metrics import total
from goalbound.experiments.summary import RunGroup
from goalbound.learners.card import ORACLE
from goalbound.terminal import one_line

COLD = "nothing"
"""What a learner begins with that has neither a log nor a guess."""


@dataclass(frozen=True)
class LearnerRatios:
    """A learner on the problems that it was run on.

    Attributes:
        learner: label.
        start: what it begins with: nothing, a log, a guess, or both.
        regret: by problem, the mean over seeds of the expected regret.
        ratio: by problem, the regret over the least regret of the learners with the same start.
    """

    learner: str
    start: str
    regret: Mapping[str, float]
    ratio: Mapping[str, float]

    @property
    def mean_ratio(self) -> float:
        """The geometric mean of the ratios."""
        return math.exp(math.fsum(map(math.log, self.ratio.values())) / len(self.ratio))

    @property
    def worst_ratio(self) -> float:
        """The largest of the ratios."""
        return max(self.ratio.values())


def learner_ratios(
    experiments: Mapping[str, Sequence[RunGroup]], *, problems: Sequence[str] = ("*",)
) -> list[LearnerRatios]:
    """The learners of all experiments, in the order in which they appear; a learner is known by its label.

    Learners that know the problem are left out, and so are groups without a record.

    Args:
        experiments: by name, the groups of each: see :func:`~goalbound.experiments.summary.group_runs`. A problem whose
            label two experiments share, or that has several sources of contexts, is named with what tells it apart.
        problems: patterns of labels (``*`` and ``?``), one of which each problem matches.
    """
    found = [(name, group) for name, groups in experiments.items() for group in groups if _takes_part(group)]
    labels = _problem_labels(found)
    regrets: dict[tuple[str, str], dict[str, float]] = {}
    for name, group in found:
        label = labels[name, group.task]
        if any(fnmatchcase(label, pattern.replace("[", "[[]")) for pattern in problems):
            regrets.setdefault((group.learner, start_of(group)), {})[label] = _regret(group)
    least: dict[tuple[str, str], float] = {}
    for (_, start), by_problem in regrets.items():
        for problem, regret in by_problem.items():
            least[start, problem] = min(regret, least.get((start, problem), math.inf))
    return [
        LearnerRatios(learner, start, regret, {one: _ratio(regret[one], least[start, one]) for one in regret})
        for (learner, start), regret in regrets.items()
    ]


def start_of(group: RunGroup) -> str:
    """What the learner of a group begins with, by its settings.

    Learners are compared with those that begin alike: a log is worth more than most learners.
    """
    settings: Mapping[str, Any] = next(iter(group.records.values())).spec.learner.settings
    begins = [
        name
        for name, there in (("log", settings.get("log_share", 0.0)), ("guess", settings.get("guess", COLD) != COLD))
        if there
    ]
    return " and ".join(begins) or COLD


def _takes_part(group: RunGroup) -> bool:
    return bool(group.records) and all(record.card.guarantee != ORACLE for record in group.records.values())


def _problem_labels(found: Iterable[tuple[str, RunGroup]]) -> dict[tuple[str, str], str]:
    """For each experiment and task, the label of the problem with what tells it from others of the same label."""
    tasks = {(name, group.task): group for name, group in found}
    labels = {}
    for (name, task), group in tasks.items():
        twins = [(other, one) for (other, _), one in tasks.items() if one.problem == group.problem]
        extra = [group.contexts] if any(one.contexts != group.contexts for _, one in twins) else []
        extra += [name] if any(other != name for other, _ in twins) else []
        labels[name, task] = f"{group.problem} ({', '.join(extra)})" if extra else group.problem
    return labels


def _regret(group: RunGroup) -> float:
    numbers = [total(record, "expected_regret")[0] or 0.0 for record in group.records.values()]
    return math.fsum(numbers) / len(numbers)


def _ratio(regret: float, least: float) -> float:
    if least > 0.0:
        return regret / least
    return 1.0 if regret == 0.0 else math.inf


def format_ratios(found: Sequence[LearnerRatios]) -> str:
    """A Markdown table: a row for each learner, a column for each problem, the mean and the worst ratio."""
    problems = list(dict.fromkeys(problem for one in found for problem in one.regret))
    heads = ["learner", *map(_cell, problems), "mean ratio", "worst"]
    lines = [heads, ["---"] * len(heads)]
    for one in found:
        part = "" if len(one.ratio) == len(problems) else f" (of {len(one.ratio)})"
        cells = [_number(one.regret[problem]) if problem in one.regret else "-" for problem in problems]
        lines.append([_cell(one.learner), *cells, f"{one.mean_ratio:.2f}{part}", f"{one.worst_ratio:.2f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratios_as_json(found: Sequence[LearnerRatios]) -> str:
    """One JSON object for programs; a ratio to no regret at all is null."""
    learners = [
        {
            "learner": one.learner, "start": one.start, "expected_regret": dict(one.regret),
            "ratio": {problem: _finite(ratio) for problem, ratio in one.ratio.items()},
            "mean_ratio": _finite(one.mean_ratio), "worst_ratio": _finite(one.worst_ratio),
        }
        for one in found
    ]  # fmt: skip
    return json.dumps({"learners": learners}, allow_nan=False)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cell(label: str) -> str:
    """A label in a Markdown table."""
    return one_line(label).replace("|", "\\|")


def _number(value: float) -> str:
    """Three digits, and whole numbers from 1000 on.

    >>> _number(1328.4), _number(93.52), _number(0.0123)
    ('1,328', '93.5', '0.0123')
    """
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"
