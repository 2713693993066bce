"""What changed between two folders of results: specs, versions, and the regret of each learner, paired by seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from goalbound.experiments import columns, metrics
from goalbound.experiments.bootstrap import Estimate, symmetric_interval
from goalbound.experiments.comparisons import AHEAD, EQUAL, ONE_SEED, Difference, difference, holm
from goalbound.experiments.records import RunRecord
from goalbound.experiments.results import Results
from goalbound.experiments.summary import RunGroup, group_runs, same_contexts

IDENTICAL, LESS, MORE = "the same to the bit", "less", "more"
NO_SHARED_SEED = "no seed in both"
NOT_VERSIONS = ("id", "seed")
"""Keys of the provenance of a record that are no versions."""


class Change(NamedTuple):
    """A value that differs; None where a folder has none."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True)
class GroupChange:
    """The expected regret of a learner in two folders, on the seeds that both have.

    Attributes:
        problem, contexts, learner: labels.
        episodes: up to which the regret is summed: those of the shorter runs.
        seeds: that both folders have.
        before: the mean over these seeds in the first folder; None without a seed.
        after: in the second one.
        change: after less before, by seed, with the interval of sign flips.
        compared: the paired test, corrected for all learners of the comparison; None without a seed.
        identical: whether all columns of all these records are the same to the bit.
        code: which plug-ins have another version, or other arrays.
    """

    problem: str
    contexts: str
    learner: str
    episodes: int
    seeds: tuple[int, ...]
    before: float | None
    after: float | None
    change: Estimate | None
    compared: Difference | None
    identical: bool
    code: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``the same to the bit``, ``less``, ``more``, ``not told apart``, ``equal``, ``one seed``, or that no seed is
        in both folders."""
        if self.compared is None or self.change is None:
            return NO_SHARED_SEED
        if self.identical:
            return IDENTICAL
        verdict = self.compared.verdict
        return verdict if verdict != AHEAD else LESS if (self.change.mean or 0.0) < 0.0 else MORE


@dataclass(frozen=True)
class Changes:
    """What changed from one folder to another.

    Attributes:
        folders: both.
        spec: keys of the experiment that differ.
        versions: of the software that made the records; the values are tuples of all that occur.
        groups: of the learners that both folders have.
        only_before: labels of groups that only the first folder has.
        only_after: that only the second one has.
    """

    folders: tuple[str, str]
    spec: tuple[Change, ...]
    versions: tuple[Change, ...]
    groups: tuple[GroupChange, ...]
    only_before: tuple[tuple[str, str, str], ...]
    only_after: tuple[tuple[str, str, str], ...]

    @property
    def nothing(self) -> bool:
        """Whether spec, versions and all records are the same."""
        same = all(group.verdict == IDENTICAL for group in self.groups)
        return same and not (self.spec or self.versions or self.only_before or self.only_after)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        values = asdict(self)
        for name in ("spec", "versions"):
            values[name] = [change._asdict() for change in getattr(self, name)]
        for value, group in zip(values["groups"], self.groups, strict=True):
            value["verdict"] = group.verdict
        return values


def compare(before: Results, after: Results, *, seed: int = 0) -> Changes:
    """Compare the results of two folders; learners are matched by their labels, runs by their seeds.

    ``seed`` is that of the intervals.
    """
    first, second = (
        {group.labels: group for group in group_runs(results.records, results.runs) if group.records}
        for results in (before, after)
    )
    shared = [_group_change(first[labels], second[labels], seed) for labels in first if labels in second]
    compared = iter(holm([group.compared for group in shared if group.compared is not None]))
    return Changes(
        (str(before.folder), str(after.folder)),
        tuple(_changes(_flat(before.spec.model_dump()), _flat(after.spec.model_dump()))),
        tuple(_changes(_versions(before.records), _versions(after.records))),
        tuple(group if group.compared is None else replace(group, compared=next(compared)) for group in shared),
        tuple(labels for labels in first if labels not in second),
        tuple(labels for labels in second if labels not in first),
    )


def _group_change(before: RunGroup, after: RunGroup, seed: int) -> GroupChange:
    pairs = {one: (record, after.records[one]) for one, record in before.records.items() if one in after.records}
    some = [record for group in (before, after) for record in group.records.values()]
    episodes = min(int(record.table["episode"][-1]) for record in some)
    code = tuple(name for name in ("problem", "contexts", "learner")
                 if len({record.spec.code.get(name) for record in some}) > 1)  # fmt: skip
    if not pairs:
        return GroupChange(*before.labels, episodes, (), None, None, None, None, False, code)
    old, new = ([_regret(pair[place], episodes) for pair in pairs.values()] for place in (0, 1))
    change = symmetric_interval([later - earlier for earlier, later in zip(old, new, strict=True)], seed=seed)
    better, worse = sorted([("before", old), ("after", new)], key=lambda named: sum(named[1]))
    compared = difference(
        (before.problem, before.contexts), better, worse, tuple(pairs), seed=seed,
        same_contexts=all(_same_contexts(*pair) for pair in pairs.values()),
    )  # fmt: skip
    return GroupChange(
        *before.labels, episodes, tuple(pairs), float(np.mean(old)), float(np.mean(new)), change, compared,
        all(_identical(*pair) for pair in pairs.values()), code,
    )  # fmt: skip


def _same_contexts(one: RunRecord, two: RunRecord) -> bool:
    """Of runs of one length it can be seen; of others it is said if their sources are the same."""
    if one.spec.episodes == two.spec.episodes:
        return same_contexts(one, two)
    return one.spec.contexts == two.spec.contexts


def _regret(record: RunRecord, episodes: int) -> float:
    return float(metrics.cumulative_at(record, "expected_regret", np.array([episodes]))[0])


def _identical(one: RunRecord, two: RunRecord) -> bool:
    return all(one.table[name].tobytes() == two.table[name].tobytes() for name in columns.schema())


def _versions(records: Iterable[RunRecord]) -> dict[str, tuple[str, ...]]:
    """All versions of each library that occur in the records."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, version in record.metadata["provenance"].items():
            if name not in NOT_VERSIONS:
                found.setdefault(name, set()).add(str(version))
    return {name: tuple(sorted(versions)) for name, versions in found.items()}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for what in dict.fromkeys([*before, *after]):
        if before.get(what) != after.get(what):
            yield Change(what, before.get(what), after.get(what))


def _flat(values: Any, place: str = "") -> dict[str, Any]:
    """Nested values by their places, ``learners[LR-CSSP].scale``; members of lists of tables by their labels.

    >>> _flat({"seeds": 3, "learners": [{"use": "lr-cssp", "scale": 0.1}]})
    {'seeds': 3, 'learners[lr-cssp].use': 'lr-cssp', 'learners[lr-cssp].scale': 0.1}
    """
    if isinstance(values, Mapping):
        parts = {f"{place}.{key}" if place else str(key): value for key, value in values.items() if value is not None}
    elif isinstance(values, list) and values and all(isinstance(one, Mapping) for one in values):
        parts = {f"{place}[{name}]": one for name, one in zip(_names(values), values, strict=True)}
    else:
        return {place: values}
    return {key: value for name, part in parts.items() for key, value in _flat(part, name).items()}


def _names(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """The label of each table, or what it uses; where several share one, with its number."""
    names = [str(one.get("label") or one.get("use", place)) for place, one in enumerate(tables)]
    return [f"{name} {place}" if names.count(name) > 1 else name for place, name in enumerate(names)]


def verdict_note(group: GroupChange) -> str:
    """Why nothing can be said of a group, or that the contexts differ; empty otherwise."""
    if group.compared is None or group.verdict in (IDENTICAL, EQUAL):
        return ""
    if not group.compared.same_contexts:
        return "other contexts"
    return "nothing can be said by one seed" if group.verdict == ONE_SEED else group.change.note if group.change else ""
