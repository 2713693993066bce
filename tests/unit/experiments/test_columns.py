"""One table of columns: what is added to it is in records, summaries, CSV and reports, and nothing else is touched."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from goalbound.experiments import columns
from goalbound.experiments.columns import Column
from goalbound.experiments.record_file import read_record, write_record
from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.run import run
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import summarize
from goalbound.simulation import History
from goalbound.simulation.history import PER_EPISODE

ASKED = {
    "name": "columns", "episodes": 6, "seeds": 2, "problems": [{"use": "treatment-ladder", "levels": 2}],
    "learners": [{"use": "lr-cssp", "label": "wide"}, {"use": "random", "label": "any"}],
}  # fmt: skip


def long_episode(history: History) -> Any:
    return history.steps >= 3


@pytest.fixture
def with_another(monkeypatch: pytest.MonkeyPatch) -> Column:
    column = Column(
        "long_episodes", "long episodes", "episodes of three steps or more", np.int64,
        values=long_episode, band=True, at_most="episode",
    )  # fmt: skip
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, column))
    return column


@pytest.mark.usefixtures("with_another")
def test_a_new_column_is_in_record_summary_csv_and_report(tmp_path: Path) -> None:
    spec = ExperimentSpec.of(ASKED)
    records = [run(one) for one in spec.runs()]
    for place, made in enumerate(records):
        write_record(tmp_path / f"{place}.parquet", made)
        assert read_record(tmp_path / f"{place}.parquet").table["long_episodes"].tolist() == (
            made.table["long_episodes"].tolist()
        )
        assert made.metadata["totals"]["long_episodes"] == made.table["long_episodes"][-1] <= 6
    assert parquet.read_table(tmp_path / "0.parquet").column_names[5:] == [*columns.schema()]
    summary = summarize(records, runs=spec.runs())
    totals = [float(one.table["long_episodes"][-1]) for one in records if one.spec.learner.label == "wide"]
    assert summary.groups[0].long_episodes.values == tuple(totals)
    assert "long episodes" in summary.table(width=300)
    summary.to_csv(tmp_path / "summary.csv")
    summary.to_json(tmp_path / "summary.json")
    with open(tmp_path / "summary.csv", newline="") as file:
        assert float(next(csv.DictReader(file))["long_episodes"]) == np.mean(totals)
    assert json.loads((tmp_path / "summary.json").read_text())["groups"][0]["long_episodes"]["values"] == totals
    page = report_page(report_data(spec, summary, records))
    assert '<button type="button">long episodes</button>' in page
    assert "episodes of three steps or more" in page


def test_a_record_of_other_columns_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(ExperimentSpec.of(ASKED).runs()[0])
    write_record(tmp_path / "run.parquet", made)
    monkeypatch.setattr(columns, "COLUMNS", columns.COLUMNS[:-1])
    with pytest.raises(
        ValueError, match=r"the columns are problem: text, .*seed: int64, episode: int64, .*abandoned: int64; they need"
    ):
        read_record(tmp_path / "run.parquet")


def test_the_file_of_a_record_keeps_its_columns() -> None:
    floats, counts = ("loss", "optimal_loss", "expected_regret"), ("steps", "intervals", "unknown_steps", "abandoned")
    assert columns.schema() == {"episode": np.int64} | dict.fromkeys(floats, np.float64) | dict.fromkeys(
        counts, np.int64
    )


def test_every_column_of_a_record_is_one_of_the_history_and_each_name_is_said_once() -> None:
    assert all(column.values is not None or column.name in PER_EPISODE for column in columns.stored())
    names = [column.name for column in columns.COLUMNS]
    assert len(set(names)) == len(names)
    assert all(column.heading and column.meaning for column in columns.COLUMNS)
