"""Results as tables: the numbers of the records and of the summary, and nothing else."""

from __future__ import annotations

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.csv_cells import csv_text
from goalbound.experiments import columns
from goalbound.experiments.frames import (
    curves_table,
    episodes_table,
    policies_table,
    summary_table,
)
from goalbound.experiments.summary import summarize
from goalbound.experiments.text import format_csv
from tests.support import synthetic
from tests.support.report_cases import made, spec

RECORDS = [made(run) for run in spec().runs()]
SUMMARY = summarize(RECORDS)


def test_every_row_says_of_which_run_it_is():
    table = episodes_table(RECORDS)
    assert table.column_names == [*(column.name for column in columns.RUN_COLUMNS), *columns.schema()]
    assert table.num_rows == sum(len(record.table["episode"]) for record in RECORDS)
    frame = table.to_pandas()
    for record in RECORDS:
        rows = frame[frame["run"] == record.id]
        assert {*zip(rows["problem"], rows["contexts"], rows["learner"], rows["seed"], strict=True)} == {
            (*record.spec.group, record.spec.seed)
        }


@settings(max_examples=25, deadline=None)
@given(
    runs=st.lists(
        st.tuples(st.sampled_from(["A", "B", "a, b"]), st.integers(0, 3), st.sampled_from([1, 3, 40, 2500])),
        min_size=1, max_size=6, unique_by=lambda run: run[:2],
    ),
    data=st.data(),
)  # fmt: skip
def test_the_frame_has_the_records_to_the_bit(runs, data):
    records = {}
    for name, seed, episodes in runs:
        factor = data.draw(st.floats(0.0, 1e6), label="factor")
        made = synthetic.record(synthetic.run_spec(name, seed=seed, episodes=episodes), synthetic.power(factor, 0.5))
        records[made.id] = made
    frame = episodes_table(list(records.values())).to_pandas()
    assert len(frame) == sum(len(record.table["episode"]) for record in records.values())
    for name, rows in frame.groupby("run", observed=True):
        for column, kind in columns.schema().items():
            back = rows[column].to_numpy()
            assert back.dtype == kind
            assert back.tobytes() == records[name].table[column].tobytes()


def test_labels_that_settings_tell_apart_are_those_of_the_summary():
    specs = [synthetic.run_spec("A", label="same", settings={"scale": scale}) for scale in (1.0, 0.1)]
    records = [synthetic.record(one, synthetic.power(1.0, 0.5)) for one in specs]
    learners = set(episodes_table(records).column("learner").to_pylist())
    assert (
        learners == {group.learner for group in summarize(records).groups} == {"same (scale 1.0)", "same (scale 0.1)"}
    )


def test_curves_are_those_of_the_summary():
    frame = curves_table(SUMMARY).to_pandas()
    for group in SUMMARY.groups:
        rows = frame[(frame["problem"] == group.problem) & (frame["learner"] == group.learner)]
        curve = group.regret_curve
        assert tuple(rows["episode"]) == curve.episode
        assert tuple(rows["expected_regret"]) == curve.mean
        assert tuple(rows["expected_regret_low"]) == curve.low
        assert tuple(rows["expected_regret_high"]) == curve.high
        assert rows["known_share"].isna().all() == (group.known_curve is None)


def test_the_summary_is_that_of_the_csv():
    table = summary_table(SUMMARY)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert csv_text(table.column_names, rows) == format_csv(SUMMARY)
    assert table.schema.field("coverage").type == pyarrow.float64()
    assert pyarrow.types.is_dictionary(table.schema.field("learner").type)


def with_policies(**changes):
    policies = {"contexts": [[1.0, 0.0], [0.25, 0.75]], "optimal": [0, 1], "learned_gap": [0.5, None],
                "differs": [0.5, None]}  # fmt: skip
    actions = {"states": ["sick", "well"], "actions": ["wait", "drug A"], "optimal": [[0, 1], [1, 1]],
               "learned": [[1, 1]], "learned_at": [0, None]}  # fmt: skip
    metadata = {"policies": policies, "actions": actions} | changes
    metadata["problem"] = {"context_size": 2, "loss_scale": 1.0, "component_names": ["young", "old"]}
    return synthetic.record(synthetic.run_spec("A"), synthetic.power(1.0, 0.5), metadata=metadata)


def test_policies_have_a_row_for_each_context_and_state_with_names():
    rows = policies_table([with_policies()]).to_pylist()
    assert [(row["context"], row["state"], row["learned_action"], row["optimal_action"]) for row in rows] == [
        ("1 young", "sick", "drug A", "wait"), ("1 young", "well", "drug A", "drug A"),
        ("0.25 young + 0.75 old", "sick", None, "drug A"), ("0.25 young + 0.75 old", "well", None, "drug A"),
    ]  # fmt: skip
    assert [(row["weight_0"], row["weight_1"], row["learned_gap"]) for row in rows] == [
        (1.0, 0.0, 0.5), (1.0, 0.0, 0.5), (0.25, 0.75, None), (0.25, 0.75, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["policies", "actions"])
def test_runs_without_policies_have_no_rows(name):
    table = policies_table([with_policies(**{name: None})])
    assert table.num_rows == 0
    assert "learned_action" in table.column_names


def test_no_records_are_empty_tables():
    nothing = summarize([])
    for table in (episodes_table([]), curves_table(nothing), summary_table(nothing), policies_table([])):
        assert table.num_rows == 0
        assert "learner" in table.column_names
