"""The results of an experiment as tables of Arrow: every kept episode, curves, sums, policies.

Labels are those of the summary: where components share one, the settings that differ are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import columns, text
from goalbound.experiments.summary import Curve, RunGroup, Summary, group_runs
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
    parts: dict[str, list[Any]] = {name: [] for name in columns.schema()}
    about = _RunColumns()
    for group, record in _by_group(records, runs):
        about.add(group, record, len(record.table["episode"]))
        for name, part in parts.items():
            part.append(record.table[name])
    empty = {name: np.empty(0, dtype=kind) for name, kind in columns.schema().items()}
    return _table(about.columns() | {name: np.concatenate([empty[name], *part]) for name, part in parts.items()})


def curves_table(summary: Summary) -> Any:
    """Means over seeds along the episodes with their bands: ``expected_regret`` summed up to the episode, and the share
    of known steps since the mark before; null where there is none. One row for each mark of each group."""
    rows = [(group, place) for group in summary.groups for place in range(len(group.regret_curve.episode))]
    found = _labels(summary, [len(group.regret_curve.episode) for group in summary.groups])
    found["episode"] = np.array([group.regret_curve.episode[place] for group, place in rows], dtype=np.int64)
    for name, attribute in CURVES.items():
        for end, suffix in (("mean", ""), ("low", "_low"), ("high", "_high")):
            found[name + suffix] = _floats(_at(getattr(group, attribute), end, place) for group, place in rows)
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
    about = _RunColumns()
    names = ("context", "state", "learned_action", "optimal_action")
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "learned_gap")}
    weights: list[NDArray[np.float64]] = []
    for group, record in _by_group(records, runs):
        policies, actions = record.metadata["policies"], record.metadata["actions"]
        if policies is None or actions is None:
            continue
        states = len(actions["states"])
        about.add(group, record, states * len(policies["contexts"]))
        for place, context in enumerate(policies["contexts"]):
            learned = actions["learned_at"][place]
            parts["context"] += states * [weights_text(context, record.metadata["problem"].get("component_names"))]
            parts["state"] += actions["states"]
            parts["learned_action"] += _named(actions, None if learned is None else actions["learned"][learned])
            parts["optimal_action"] += _named(actions, actions["optimal"][policies["optimal"][place]])
            parts["learned_gap"] += states * [policies["learned_gap"][place]]
        weights.append(np.repeat(np.array(policies["contexts"], dtype=np.float64), states, axis=0))
    found = about.columns() | {name: _encoded(parts[name]) for name in names}
    size = max((part.shape[1] for part in weights), default=0)
    for one in range(size):
        found[f"weight_{one}"] = _floats(
            value for part in weights for value in (part[:, one] if one < part.shape[1] else [None] * len(part))
        )
    return _table(found | {"learned_gap": _floats(parts["learned_gap"])})


def _named(actions: Mapping[str, Any], policy: Sequence[int] | None) -> list[str | None]:
    """The names of the actions of a policy; None where there is none."""
    if policy is None:
        return [None] * len(actions["states"])
    return [actions["actions"][action] if action >= 0 else None for action in policy]


def _by_group(records: Iterable[RunRecord], runs: Sequence[RunSpec] | None) -> Iterator[tuple[RunGroup, RunRecord]]:
    """All records in the order of the summary, each with its group."""
    for group in group_runs(records, runs):
        for record in group.records.values():
            yield group, record


class _RunColumns:
    """The columns that say of which run a row is, by the labels of the groups."""

    def __init__(self) -> None:
        self._values: list[dict[str, str | int]] = []
        self._rows: list[int] = []

    def add(self, group: RunGroup, record: RunRecord, rows: int) -> None:
        own = {column.name: column.of(record.spec) for column in columns.RUN_COLUMNS}
        self._values.append({**own, **dict(zip(LABELS, group.labels, strict=True))})
        self._rows.append(rows)

    def columns(self) -> dict[str, Any]:
        found = {}
        for column in columns.RUN_COLUMNS:
            values = [value[column.name] for value in self._values]
            if column.is_text:
                found[column.name] = _encoded(values, self._rows)
            else:
                found[column.name] = np.repeat(np.array(values, dtype=np.int64), self._rows)
        return found


def _labels(summary: Summary, rows: Sequence[int]) -> dict[str, Any]:
    return {name: _encoded([getattr(group, name) for group in summary.groups], rows) for name in LABELS}


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


def _at(curve: Curve | None, end: str, place: int) -> float | None:
    values = None if curve is None else getattr(curve, end)
    return None if values is None else float(values[place])


def _table(found: Mapping[str, Any]) -> Any:
    import pyarrow

    return pyarrow.table(dict(found))
