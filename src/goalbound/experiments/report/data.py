"""The data of a report as plain values: the page depends on nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import columns, metrics
from goalbound.experiments.bootstrap import Estimate
from goalbound.experiments.registry import CATALOGS
from goalbound.experiments.report.conclusions import caveat, conclusions, headline
from goalbound.experiments.report.curves import (
    all_rounded,
    coarse_grid,
    episode_grid,
    local_exponents,
    mean_curve,
    rounded,
)
from goalbound.experiments.report.phrases import setup, with_interval
from goalbound.experiments.report.simplex_maps import policy_maps, regret_maps
from goalbound.experiments.summary import RunGroup, group_runs
from goalbound.experiments.text import seeds_with_alarm
from goalbound.learners.card import weakest

if TYPE_CHECKING:
    from goalbound.experiments.comparisons import Difference
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.experiments.spec import ExperimentSpec
    from goalbound.experiments.summary import Group, Summary


def report_data(
    spec: ExperimentSpec,
    summary: Summary,
    records: Iterable[RunRecord],
    *,
    failures: Iterable[Mapping[str, Any]] = (),
    times: Iterable[Mapping[str, Any]] = (),
    runs: Sequence[RunSpec] | None = None,
) -> dict[str, Any]:
    """What the page shows, JSON-able and without NaN.

    Args:
        spec: the experiment.
        summary: of the records.
        records: of the runs that ended.
        failures: of the runs that did not: ``id``, ``error``, ``traceback`` and ``spec`` of each.
        times: lines of ``times.jsonl``.
        runs: what was to be run, if it is known; else it follows from the spec, whose plug-ins are then imported.

    Returns:
        ``columns`` (of the table: name, heading, meaning, format, band), ``learners`` (tag, label, what its card says,
        settings), ``panels`` (one for each problem and source of contexts:
        ``episode`` [n], and ``results`` with curves, numbers, terms, fields over contexts), ``alarms``, ``failures``,
        ``missing``, ``provenance``, and ``phrases``: the same as sentences.
    """
    groups = group_runs(records, spec.runs() if runs is None else runs)
    labels = list(dict.fromkeys(group.learner for group in groups))
    learners = [_learner(place, label, groups) for place, label in enumerate(labels)]
    data: dict[str, Any] = {
        "name": spec.name,
        "question": spec.question,
        "episodes": spec.episodes,
        "seeds": spec.seed_list,
        "step_limit": spec.step_limit,
        "losses": spec.losses,
        "columns": [
            {"name": one.name, "heading": one.heading, "meaning": one.meaning, "format": one.format, "band": one.band}
            for one in columns.summarised()
            if one.in_report
        ],
        "learners": learners,
        "problems": _components("problem", groups),
        "contexts": _components("contexts", groups),
        "panels": _panels(groups, summary, learners),
        "alarms": alarms(summary),
        **_incomplete_runs(groups, list(failures)),
        "provenance": _provenance(groups, list(times)),
    }
    data["phrases"] = {
        "setup": setup(data), "headline": headline(data), "conclusions": conclusions(data), "caveat": caveat(data),
    }  # fmt: skip
    return data


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


def _learner(place: int, label: str, runs: Sequence[RunGroup]) -> dict[str, Any]:
    """A learner, its settings, the constants that it used on each problem, and its card: None without a record."""
    mine = [group for group in runs if group.learner == label]
    component = mine[0].specs[0].learner
    used = {group.problem: _settings(group) for group in mine if group.records}
    cards = [record.card for group in mine for record in group.records.values()]
    card = weakest(cards) if cards else None
    return {
        "tag": tag(place),
        "label": label,
        "use": component.use,
        "card": card and card.as_json(),
        "label_suffix": card.label_suffix if card else "",
        "deviation": card.deviation if card else "",
        "constants": card.description if card else "no run of it has a result",
        "settings": component.settings,
        "used": used,
    }


def tag(place: int) -> str:
    """A short name for a place: A to Z, then AA and so on.

    >>> tag(0), tag(25), tag(26)
    ('A', 'Z', 'AA')
    """
    return (tag(place // 26 - 1) if place >= 26 else "") + ascii_uppercase[place % 26]


def _settings(group: RunGroup) -> dict[str, Any]:
    return dict(_first(group).metadata.get("settings") or {})


def _first(group: RunGroup) -> RunRecord:
    return next(iter(group.records.values()))


def _components(kind: str, runs: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """The problems or the sources of contexts: name, settings, and what records say about their size."""
    found: dict[str, dict[str, Any]] = {}
    for group in runs:
        component = getattr(group.specs[0], kind)
        component = found.setdefault(
            getattr(group, kind),
            {
                "label": getattr(group, kind),
                "use": component.use,
                "settings": component.settings,
                "size": None,
                "summary": _summary(kind, component.use),
            },
        )
        if kind == "problem" and group.records:
            component["size"] = _first(group).metadata["problem"]
    return list(found.values())


def _summary(kind: str, use: str) -> str:
    """The catalog's summary of a component as a sentence; nothing is imported."""
    entry = CATALOGS["problems" if kind == "problem" else kind].entries.get(use)
    text = entry.summary.strip() if entry else ""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}." if text else ""


def _panels(runs: Sequence[RunGroup], summary: Summary, learners: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One for each problem and source of contexts that has a record."""
    summed = {group.labels: group for group in summary.groups}
    tasks: dict[str, list[RunGroup]] = {}
    for group in runs:
        if group.records:
            tasks.setdefault(group.task, []).append(group)
    labels = [learner["label"] for learner in learners]
    panels = []
    for place, groups in enumerate(tasks.values()):
        problem, contexts = groups[0].problem, groups[0].contexts
        compared = [one for one in summary.differences if (one.problem, one.contexts) == (problem, contexts)]
        panel = _panel(groups, [summed[group.labels] for group in groups], learners)
        panels.append({"place": place, **panel, "differences": [_difference(one, labels) for one in compared]})
    return [panel | {"title": _title(panel, panels)} for panel in panels]


def _title(panel: Mapping[str, Any], panels: Sequence[Mapping[str, Any]]) -> str:
    """What sets a panel apart: the problem, and the contexts where there are several sources."""
    problem, contexts = panel["problem"], panel["contexts"]
    if len({one["contexts"] for one in panels}) == 1:
        return str(problem)
    return f"{problem}, contexts {contexts}"


def _panel(
    groups: Sequence[RunGroup], summed: Sequence[Group], learners: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    metadata = _first(groups[0]).metadata
    size = int(metadata["problem"]["context_size"])
    grid = episode_grid(groups)
    fields, policies = [regret_maps(group) for group in groups], policy_maps(groups)
    named = {learner["label"]: _named(place, learner) for place, learner in enumerate(learners)}
    results = [
        {**named[group.learner], **_result(group, numbers, grid), "simplex": field, "policy": policy}
        for group, numbers, field, policy in zip(groups, summed, fields, policies["learned"], strict=True)
    ]
    return {
        "problem": groups[0].problem,
        "contexts": groups[0].contexts,
        "context_size": size,
        "components": metadata["problem"].get("component_names") or [f"component {one + 1}" for one in range(size)],
        "bins": (metadata.get("simplex") or {}).get("bins", 0),
        "episode": grid.tolist(),
        "coarse": coarse_grid(grid).tolist(),
        "policies": policies["best"],
        "results": results,
    }


def _named(place: int, learner: Mapping[str, Any]) -> dict[str, Any]:
    """The place of a learner, and what is said of it beside each result."""
    return {
        "learner": place,
        "label": learner["label"],
        "full_label": f"{learner['label']}{learner['label_suffix']}",
        "tag": learner["tag"],
        "card": learner["card"],
    }


def _result(group: RunGroup, numbers: Group, grid: NDArray[np.int64]) -> dict[str, Any]:
    records = list(group.records.values())
    bounds = {name: _estimate(one) for name, one in numbers.bounds.items()}
    regret = mean_curve([metrics.cumulative_at(record, "expected_regret", grid) for record in records])
    has_known_test = all(record.card.has_known_test for record in records)
    steps, unknown, intervals = (
        [metrics.cumulative_at(record, name, grid) for record in records]
        for name in ("steps", "unknown_steps", "intervals")
    )
    coarse = coarse_grid(grid)
    return {
        "seeds": list(numbers.seeds),
        "missing": list(numbers.missing),
        "regret": regret | {"bound": _tightest(bounds)},
        "steps": all_rounded(np.mean(steps, axis=0)),
        "seed_regrets": [all_rounded(metrics.cumulative_at(one, "expected_regret", coarse)) for one in records],
        "local_exponent": mean_curve([local_exponents(record, coarse) for record in records]),
        "known": mean_curve([1.0 - u / s for u, s in zip(unknown, steps, strict=True)]) if has_known_test else None,
        "intervals": mean_curve([one / grid for one in intervals]) if has_known_test else None,
        "numbers": {name: _estimate(one) for name, one in numbers.numbers.items()},
        "optimal_loss": rounded(float(np.mean([record.metadata["totals"]["optimal_loss"] for record in records]))),
        "seconds_per_step": rounded(numbers.seconds_per_step),
        "terms": {name: _estimate(one) for name, one in numbers.decomposition.items()},
        "bounds": bounds,
        "largest_interval_share": _largest(records, "largest_interval_share"),
    }


def _tightest(bounds: Mapping[str, Mapping[str, Any]]) -> float | None:
    return min((one["mean"] for one in bounds.values() if one["mean"] is not None), default=None)


def _largest(records: Sequence[RunRecord], name: str) -> float | None:
    found = [(metrics.diagnosis(record) or {}).get(name) for record in records]
    return rounded(max((float(one) for one in found if one is not None), default=None))


def _difference(one: Difference, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "better": labels.index(one.better),
        "worse": labels.index(one.worse),
        "seeds": list(one.seeds),
        "difference": _estimate(one.difference),
        "wins": one.wins,
        "pairs": one.pairs,
        "p_value": rounded(one.p_value),
        "corrected": rounded(one.corrected),
        "verdict": one.verdict,
        "statement": one.statement(lambda gap: with_interval(_estimate(gap))),
        "same_contexts": one.same_contexts,
    }


def _incomplete_runs(runs: Sequence[RunGroup], failures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Runs that failed, and those that have neither a record nor a failure."""
    done = {record.spec.id for group in runs for record in group.records.values()}
    broken = {str(one["id"]): one for one in failures if str(one["id"]) not in done}
    failed, missing = [], []
    for group in runs:
        where = dict(zip(("problem", "contexts", "learner"), group.labels, strict=True))
        left = [run for run in group.specs if run.id not in done]
        for run in left:
            if run.id in broken:
                words = {name: str(broken[run.id].get(name, "")) for name in ("error", "traceback")}
                failed.append({**where, "seed": run.seed, "id": run.id, **words})
        seeds = [run.seed for run in left if run.id not in broken]
        if seeds:
            missing.append({**where, "seeds": seeds})
    return {"failures": failed, "missing": missing}


def _provenance(runs: Sequence[RunGroup], times: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    records = [(group, record) for group in runs for record in group.records.values()]
    versions: dict[str, list[str]] = {}
    for _, record in records:
        for name, version in record.metadata["provenance"].items():
            if name not in ("id", "seed") and str(version) not in versions.setdefault(name, []):
                versions[name].append(str(version))
    seconds = {str(line["id"]): float(line["seconds"]) for line in times}
    done = [record.spec.id for _, record in records]
    return {
        "versions": versions,
        "runs": [
            {"id": record.spec.id, "labels": list(group.labels), "seed": record.spec.seed} for group, record in records
        ],
        "seconds": rounded(sum(seconds[one] for one in done if one in seconds)) if seconds else None,
        "timed": sum(one in seconds for one in done),
    }  # fmt: skip


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        "mean": rounded(one.mean),
        "low": rounded(one.low),
        "high": rounded(one.high),
        "values": [rounded(value) for value in one.values],
        "note": one.note,
    }
