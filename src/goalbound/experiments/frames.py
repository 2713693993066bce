"""The results of an experiment as tables of Arrow: every kept episode, curves, sums, policies.

Labels are those of the summary: where components share one, the settings that differ are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import columns, text
from goalbound.experiments.summary import RunGroup, Summary, group_runs
from goalbound.notebook import weights_text

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec

LABELS = ("problem", "contexts", "learner")
"""The columns that name a group of runs."""
CURVES: Mapping[str, str] = {"expected_regret": "regret_curve", "known_share": "known_curve"}
"""What curves show, and the attribute of a group that has it."""


def episodes_table(records: Iterable[RunRecord], runs: Sequence[RunSpec] | None = None) -> Any:
    """The columns of all records, one row for each kept episode of each run."""
    found = _by_group(records, runs)
    about = _run_columns(found, [len(record.table["episode"]) for _, record in found])
    sums = {
        name: np.concatenate([np.empty(0, dtype=kind), *(record.table[name] for _, record in found)])
        for name, kind in columns.schema().items()
    }
    return _table(about | sums)


def curves_table(summary: Summary) -> Any:
    """Means over seeds along the episodes with their bands: ``expected_regret`` summed up to the episode, and the share
    of known steps since the mark before; null where there is none. One row for each mark of each group."""
    marks = [group.regret_curve.episode for group in summary.groups]
    found = {
        name: _encoded([getattr(group, name) for group in summary.groups], [len(one) for one in marks])
        for name in LABELS
    }
    found["episode"] = np.array(list(chain.from_iterable(marks)), dtype=np.int64)
    for name, attribute in CURVES.items():
        curves = [getattr(group, attribute) for group in summary.groups]
        for end, suffix in (("mean", ""), ("low", "_low"), ("high", "_high")):
            ends = [getattr(curve, end, None) for curve in curves]
            found[name + suffix] = _floats(
                value for each, at in zip(ends, marks, strict=True) for value in each or [None] * len(at)
            )
    return _table(found)


def summary_table(summary: Summary) -> Any:
    """One row for each group, the columns of ``summary.csv``."""
    head, rows = text.summary_rows(summary)
    by_column = dict(zip(head, zip(*rows, strict=True) if rows else [()] * len(head), strict=True))
    return _table({name: _column(values) for name, values in by_column.items()})


def policies_table(records: Iterable[RunRecord], runs: Sequence[RunSpec] | None = None) -> Any:
    """What each learner would play at last: one row for each run, context of a grid, and state.

    ``learned_action`` and ``optimal_action`` are names; ``learned_gap`` is how much more the learned policy loses from
    the start than the best one under this context. Null where the learner found no plan, or may never arrive.
    ``weight_0`` and so on are the weights of the components, null beyond those of the problem.
    """
    found = [
        (group, record)
        for group, record in _by_group(records, runs)
        if record.metadata["policies"] is not None and record.metadata["actions"] is not None
    ]
    rows = []
    names = ("context", "state", "learned_action", "optimal_action")
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "learned_gap")}
    weights: list[NDArray[np.float64]] = []
    for _, record in found:
        policies, actions = record.metadata["policies"], record.metadata["actions"]
        states = len(actions["states"])
        rows.append(states * len(policies["contexts"]))
        for place, context in enumerate(policies["contexts"]):
            learned = actions["learned_at"][place]
            parts["context"] += states * [weights_text(context, record.metadata["problem"].get("component_names"))]
            parts["state"] += actions["states"]
            parts["learned_action"] += _named(actions, None if learned is None else actions["learned"][learned])
            parts["optimal_action"] += _named(actions, actions["optimal"][policies["optimal"][place]])
            parts["learned_gap"] += states * [policies["learned_gap"][place]]
        weights.append(np.repeat(np.array(policies["contexts"], dtype=np.float64), states, axis=0))
    table = _run_columns(found, rows) | {name: _encoded(parts[name]) for name in names}
    size = max((part.shape[1] for part in weights), default=0)
    for one in range(size):
        table[f"weight_{one}"] = _floats(
            value for part in weights for value in (part[:, one] if one < part.shape[1] else [None] * len(part))
        )
    return _table(table | {"learned_gap": _floats(parts["learned_gap"])})


def _named(actions: Mapping[str, Any], policy: Sequence[int] | None) -> list[str | None]:
    """The names of the actions of a policy; None where there is none."""
    if policy is None:
        return [None] * len(actions["states"])
    return [actions["actions"][action] if action >= 0 else None for action in policy]


def _by_group(records: Iterable[RunRecord], runs: Sequence[RunSpec] | None) -> list[tuple[RunGroup, RunRecord]]:
    """All records in the order of the summary, each with its group."""
    return [(group, record) for group in group_runs(records, runs) for record in group.records.values()]


def _run_columns(found: Sequence[tuple[RunGroup, RunRecord]], rows: Sequence[int]) -> dict[str, Any]:
    """The columns that say of which run a row is, by the labels of the groups; ``rows`` of each record."""
    runs = [
        {column.name: column.of(record.spec) for column in columns.RUN_COLUMNS}
        | dict(zip(LABELS, group.labels, strict=True))
        for group, record in found
    ]
    table = {}
    for column in columns.RUN_COLUMNS:
        values = [run[column.name] for run in runs]
        if column.is_text:
            table[column.name] = _encoded(values, rows)
        else:
            table[column.name] = np.repeat(np.array(values, dtype=np.int64), np.array(rows, dtype=np.int64))
    return table


def _encoded(values: Sequence[Any], times: Sequence[int] | None = None) -> Any:
    """Texts, each repeated some times, dictionary-encoded in the order of appearance; None is null."""
    import pyarrow

    words = list(dict.fromkeys(value for value in values if value is not None))
    places = {word: place for place, word in enumerate(words)}
    codes = np.array([places.get(value, -1) for value in values], dtype=np.int32)
    codes = codes if times is None else np.repeat(codes, times)
    indices = pyarrow.array(codes, mask=codes < 0)
    return pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(words, type=pyarrow.string()))


def _column(values: Sequence[Any]) -> Any:
    """A column of the summary: texts are dictionary-encoded, numbers that may be missing are floats."""
    if all(isinstance(value, str) for value in values):
        return _encoded(values)
    return _floats(values) if all(value is None or isinstance(value, float) for value in values) else list(values)


def _floats(values: Iterable[float | None]) -> Any:
    import pyarrow

    return pyarrow.array(list(values), type=pyarrow.float64())


def _table(found: Mapping[str, Any]) -> Any:
    import pyarrow

    return pyarrow.table(dict(found))
