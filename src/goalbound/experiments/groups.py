"""Groups of runs that differ only in the seed; ambiguous labels are extended by the settings that differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.spec import RunSpec

RUN_SETTINGS = ("losses", "episodes", "step_limit")
"""Settings of a run besides its problem, contexts, learner and seed; they extend the label of the problem."""


class RunGroup(NamedTuple):
    """The runs of one group, by seed; only learners of the same ``task`` are compared."""

    problem: str
    contexts: str
    learner: str
    task: str
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
        runs: what was to be run. Their labels are taken where a record's own are older, and what has no record is
            wanted. Without them every group is to have the seeds that any group has.
    """
    found = {record.spec.id: record for record in records}
    specs = {run.id: run for run in runs or ()}
    for name, record in found.items():
        specs.setdefault(name, record.spec)
    parts = {name: _parts(spec) for name, spec in specs.items()}
    labels = {
        kind: _disambiguated(part[kind] for part in parts.values()) for kind in ("problem", "contexts", "learner")
    }
    every_seed = sorted({spec.seed for spec in specs.values()})
    groups: dict[str, RunGroup] = {}
    for name, spec in specs.items():
        own = {kind: labels[kind][key] for kind, (key, _, _) in parts[name].items()}
        task = f"{parts[name]['problem'][0]} {parts[name]['contexts'][0]}"
        key = f"{task} {parts[name]['learner'][0]}"
        group = groups.setdefault(key, RunGroup(own["problem"], own["contexts"], own["learner"], task, [], {}))
        if runs is not None:
            group.requested.append(spec.seed)
        if name in found:
            group.records[spec.seed] = found[name]
    if runs is None:
        groups = {key: group._replace(requested=every_seed) for key, group in groups.items()}
    return [group._replace(records=dict(sorted(group.records.items()))) for group in groups.values()]


Part = tuple[str, str, dict[str, Any]]
"""A unique key, the label, and the settings."""


def _parts(spec: RunSpec) -> dict[str, Part]:
    values = spec.as_json(labels=False)
    parts = {}
    for kind, label in zip(("problem", "contexts", "learner"), spec.group, strict=True):
        settings = {"use": values[kind]["use"], **values[kind]["settings"]}
        if kind in spec.code:
            settings["code"] = spec.code[kind][:8]
        if kind == "problem":
            settings |= {name: values[name] for name in RUN_SETTINGS}
        parts[kind] = (json.dumps(settings, sort_keys=True), label or values[kind]["use"], settings)
    return parts


def _disambiguated(parts: Iterable[Part]) -> Mapping[str, str]:
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
