"""Results as tables: the numbers of the records and of the summary, and nothing else."""

from __future__ import annotations

import pyarrow
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.csv_cells import csv_text
from goalbound.experiments import columns
from goalbound.experiments.frames import (
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
