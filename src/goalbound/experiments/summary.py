"""The summary of an experiment: means and bands over seeds, and comparisons on the same contexts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import columns, metrics, text
from goalbound.experiments.bootstrap import Estimate, band, estimate
from goalbound.experiments.comparisons import AHEAD, Difference, difference, holm
from goalbound.experiments.run_spec import DIGITS, RunSpec
from goalbound.learners.card import ORACLE, LearnerCard, weakest
from goalbound.models.amounts import Capped, cap_entry, cap_in
from goalbound.models.files.io import atomic_write

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord


RUN_SETTINGS = ("losses", "episodes", "step_limit")
"""Settings of a run besides its problem, contexts, learner and seed; they extend the label of the problem."""


class RunGroup(NamedTuple):
    """The runs of one group, by seed; only learners of the same ``task`` are compared."""

    problem: str
    contexts: str
    learner: str
    task: str
    specs: list[RunSpec]
    requested: list[int]
    records: dict[int, RunRecord]

    @property
    def labels(self) -> tuple[str, str, str]:
        """Of the problem, the contexts and the learner."""
        return self.problem, self.contexts, self.learner


def group_runs(records: Iterable[RunRecord], runs: Sequence[RunSpec] | None = None) -> list[RunGroup]:
    """Records by group, in the order of ``runs``, then of appearance; a run that appears twice counts once.

    Args:
        records: in any order.
        runs: all runs of the experiment. Their labels replace those of records, and those without a record are
            missing. Without ``runs`` each group is expected to have the seeds of all groups.
    """
    found = {record.spec.id: record for record in records}
    specs = {run.id: run for run in runs or ()}
    for name, record in found.items():
        specs.setdefault(name, record.spec)
    parts = {name: _group_parts(spec) for name, spec in specs.items()}
    labels = {
        kind: _disambiguated(part[kind] for part in parts.values()) for kind in ("problem", "contexts", "learner")
    }
    every_seed = sorted({spec.seed for spec in specs.values()})
    groups: dict[str, RunGroup] = {}
    for name, spec in specs.items():
        own = {kind: labels[kind][key] for kind, (key, _, _) in parts[name].items()}
        task = f"{parts[name]['problem'][0]} {parts[name]['contexts'][0]}"
        key = f"{task} {parts[name]['learner'][0]}"
        group = groups.setdefault(key, RunGroup(own["problem"], own["contexts"], own["learner"], task, [], [], {}))
        group.specs.append(spec)
        if runs is not None:
            group.requested.append(spec.seed)
        if name in found:
            group.records[spec.seed] = found[name]
    if runs is None:
        groups = {key: group._replace(requested=every_seed) for key, group in groups.items()}
    return [group._replace(records=dict(sorted(group.records.items()))) for group in groups.values()]


_Part = tuple[str, str, dict[str, Any]]
"""A unique key, the label, and the settings."""


def _group_parts(spec: RunSpec) -> dict[str, _Part]:
    values = spec.as_json(labels=False)
    parts = {}
    for kind, label in zip(("problem", "contexts", "learner"), spec.group, strict=True):
        settings = {"use": values[kind]["use"], **values[kind]["settings"]}
        if kind in spec.code:
            code = spec.code[kind]
            settings["code"] = code[:8] + code[DIGITS:] if kind == "problem" else code
        if kind == "problem":
            settings |= {name: values[name] for name in RUN_SETTINGS}
        parts[kind] = (json.dumps(settings, sort_keys=True), label or values[kind]["use"], settings)
    return parts


def _disambiguated(parts: Iterable[_Part]) -> Mapping[str, str]:
    """A label for each key; where different components share one, the settings that differ are added."""
    distinct = {part[0]: part for part in parts}
    labels = {}
    for key, label, settings in distinct.values():
        twins = [other for _, theirs, other in distinct.values() if theirs == label]
        names = [name for name in settings if any(twin.get(name) != settings[name] for twin in twins)]
        extra = ", ".join(f"{name} {_short(settings[name])}" for name in names)
        labels[key] = f"{label} ({extra})" if extra else label
    return labels


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class Curve:
    """A mean over seeds along the episodes, at marks about evenly spaced in the logarithm.

    Attributes:
        episode: the marks.
        mean: at each mark.
        low: lower end of the 95% bootstrap band at each mark; None with one seed.
        high: upper end.
    """

    episode: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None


@dataclass(frozen=True)
class Group(Capped):
    """The runs of one learner on one problem under one source of contexts: they differ only in the seed.

    Attributes:
        problem: label.
        contexts: label.
        learner: label.
        episodes: of each run.
        seeds: that have a record.
        missing: seeds that have none though others do.
        sees: what the learner sees: see :class:`~goalbound.learners.card.LearnerCard`.
        guarantee: proven, unproven, none, unknown or oracle.
        constants: the constants of the learner as text ("widths: 0.1 x paper, not proven; delta 0.1").
        context_size: d.
        numbers: by name, what :mod:`goalbound.experiments.columns` summarises; each is an attribute of the group too.
        alarms: for each seed what contradicts the linear model, or None if the learner found nothing.
        seconds_per_step: median over the runs that were timed from start to end; None without.
        regret_curve: cumulative expected regret.
        known_curve: the share of known steps since the mark before; None for learners without a known test.
        decomposition: the terms of the realised regret, by name; empty where the learner is not audited.
        bounds: a-posteriori bounds of the regret, by name; likewise.
    """

    problem: str
    contexts: str
    learner: str
    episodes: int
    seeds: tuple[int, ...]
    missing: tuple[int, ...]
    sees: str
    guarantee: str
    constants: str
    context_size: int
    numbers: dict[str, Estimate]
    alarms: tuple[str | None, ...]
    seconds_per_step: float | None
    regret_curve: Curve
    known_curve: Curve | None
    decomposition: dict[str, Estimate]
    bounds: dict[str, Estimate]

    def __getattr__(self, name: str) -> Estimate:
        """A number by its name."""
        numbers = self.__dict__.get("numbers", {})
        if name not in numbers:
            raise AttributeError(f"a group has no {name!r}; its numbers are {', '.join(numbers)}")
        found: Estimate = numbers[name]
        return found

    @property
    def labels(self) -> tuple[str, str, str]:
        """Of the problem, the contexts and the learner."""
        return self.problem, self.contexts, self.learner

    @property
    def has_regret(self) -> bool:
        """Whether the regret is more than rounding."""
        return self.exponent.note != metrics.NO_REGRET


@dataclass(frozen=True)
class Missing:
    """Runs without a record: they failed, or were not run yet."""

    problem: str
    contexts: str
    learner: str
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        seeds = ("seed " if len(self.seeds) == 1 else "seeds ") + ", ".join(map(str, self.seeds))
        return f"{self.learner} on {self.problem}, {self.contexts}: no record of {seeds}"


@dataclass(frozen=True)
class Summary:
    """Groups, differences and what is missing. Regret is in losses of the problem, which lie in [0, 1].

    Learners that know the problem are in no difference.
    """

    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]
    missing: tuple[Missing, ...]

    def table(self, *, width: int | None = None) -> str:
        """Plain text, aligned, no wider than ``width`` (the terminal's if left out) as far as names allow."""
        return text.format_summary(self, width=width)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self), allow_nan=False))
        for group in values["groups"]:
            group |= group.pop("numbers")
        for values_of_one, one in zip(values["differences"], self.differences, strict=True):
            values_of_one |= {"verdict": one.verdict, "statement": one.statement(text.format_estimate)}
        return values

    def ahead_of(self, group: Group) -> list[str]:
        """The learners that a group's is ahead of, on its problem and contexts."""
        mine = (one for one in self.differences if (one.problem, one.contexts, one.better) == group.labels)
        return [one.worse for one in mine if one.verdict == AHEAD]

    def to_csv(self, path: str | PathLike[str]) -> None:
        """One line per group; ``_low`` and ``_high`` are the ends of the bands. Atomic."""
        with atomic_write(path) as file:
            file.write(text.format_csv(self).encode())

    def to_json(self, path: str | PathLike[str]) -> None:
        """Everything, curves and values of each seed too. Atomic."""
        with atomic_write(path) as file:
            file.write((json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n").encode())

    def __str__(self) -> str:
        return self.table()


def summarize(
    records: Iterable[RunRecord],
    *,
    times: Iterable[Mapping[str, Any]] | None = None,
    seed: int = 0,
    runs: Sequence[RunSpec] | None = None,
) -> Summary:
    """Sum up records: one group per problem, contexts and learner, in the order of appearance.

    Args:
        records: of one experiment; the same run twice counts once.
        times: lines of ``times.jsonl``: id, seconds, steps.
        seed: of the bootstrap.
        runs: what was to be run, so that groups without any record are listed as missing too; it also gives the
            order and the labels. Left out, each group should have the seeds that any group has.
    """
    found = group_runs(records, runs)
    speeds = _speeds(times or ())
    summed = {id(group): _summarize_group(group, speeds, seed) for group in found if group.records}
    learning = [group for group in found if group.records and _card(group).guarantee != ORACLE]
    compared = [one for task in dict.fromkeys(group.task for group in learning)
                for one in _compare_all([group for group in learning if group.task == task], seed)]  # fmt: skip
    missing = (Missing(*group.labels, _missing(group)) for group in found if _missing(group))
    return Summary(tuple(summed.values()), tuple(compared), tuple(missing))


def _card(group: RunGroup) -> LearnerCard:
    return weakest(record.card for record in group.records.values())


def _missing(group: RunGroup) -> tuple[int, ...]:
    return tuple(seed for seed in group.requested if seed not in group.records)


def _speeds(times: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    return {str(line["id"]): float(line["seconds"]) / int(line["steps"]) for line in times if int(line["steps"]) > 0}


def _summarize_group(group: RunGroup, speeds: Mapping[str, float], seed: int) -> Group:
    records = list(group.records.values())
    first, card = records[0], _card(group)
    curve_episodes = metrics.curve_episodes(first.table["episode"])
    timed = [speeds[record.spec.id] for record in records if record.spec.id in speeds]
    return Group(
        *group.labels,
        episodes=int(first.table["episode"][-1]),
        seeds=tuple(group.records),
        missing=_missing(group),
        sees=card.sees,
        guarantee=card.guarantee,
        constants=card.description,
        context_size=int(first.metadata["problem"]["context_size"]),
        **cap_entry(cap_in(first.metadata["problem"], "the record") or 1.0),
        numbers=columns.aggregated(records, seed=seed),
        alarms=tuple(record.metadata["alarm"] for record in records),
        seconds_per_step=median(timed) if timed else None,
        regret_curve=_curve(
            curve_episodes,
            [metrics.cumulative_at(record, "expected_regret", curve_episodes) for record in records],
            seed,
        ),
        known_curve=(
            _curve(curve_episodes, [metrics.known_share_at(record, curve_episodes) for record in records], seed)
            if all(record.card.has_known_test for record in records)
            else None
        ),
        decomposition=_parts(records, "decomposition", seed),
        bounds=_parts(records, "bounds", seed),
    )


def _curve(curve_episodes: NDArray[np.int64], curves: Sequence[NDArray[np.float64]], seed: int) -> Curve:
    values = np.array(curves)
    ends = [None, None] if len(values) == 1 else [tuple(end.tolist()) for end in band(values, seed=seed)]
    return Curve(tuple(curve_episodes.tolist()), tuple(values.mean(axis=0).tolist()), *ends)


def _parts(records: Sequence[RunRecord], name: str, seed: int) -> dict[str, Estimate]:
    parts = [metrics.diagnosis_parts(record, name) for record in records]
    keys = dict.fromkeys(key for part in parts for key in part)
    reasons = ["infinite"]
    return {key: estimate([part.get(key) for part in parts], seed=seed, reasons=reasons) for key in keys}


def _compare_all(groups: Sequence[RunGroup], seed: int) -> list[Difference]:
    """All pairs of learners of one problem and context source, corrected jointly."""
    pairs = (_compare(one, two, seed) for one, two in combinations(groups, 2))
    return holm([one for one in pairs if one is not None])


def _compare(one: RunGroup, two: RunGroup, seed: int) -> Difference | None:
    """The two learners on the seeds that both have; None if there are none."""
    seeds = tuple(shared for shared in one.records if shared in two.records)
    if not seeds:
        return None
    regrets = [
        (group.learner, [float(group.records[shared].metadata["totals"]["expected_regret"]) for shared in seeds])
        for group in (one, two)
    ]
    better, worse = sorted(regrets, key=lambda named: sum(named[1]))
    return difference(
        (one.problem, one.contexts), better, worse, seeds, seed=seed,
        same_contexts=all(same_contexts(one.records[shared], two.records[shared]) for shared in seeds),
    )  # fmt: skip


def same_contexts(one: RunRecord, two: RunRecord) -> bool:
    """Sources draw from a separate stream, so a seed has the same contexts unless they depend on the learner."""
    if one.spec.contexts.use == "adversary":
        return False
    return one.metadata["simplex"]["count"] == two.metadata["simplex"]["count"]
