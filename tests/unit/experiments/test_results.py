"""The results in a folder."""

import json

import numpy as np
import pandas as pd
import pyarrow
import pytest

from goalbound.errors import InputError
from goalbound.experiments.results import Results, load
from goalbound.experiments.results_dir import ResultsDir
from tests.support.sweep_cases import small_spec


def test_a_folder_is_loaded_with_all_that_is_in_it(undisturbed):
    results = load(undisturbed)
    assert [record.id for record in results.records] == [run.id for run in small_spec().runs()]
    assert repr(results) == f"Results({str(undisturbed)!r}: 4 of 4 runs)"
    assert len(results.times) == 4
    assert results.spec.name == "small"


def test_data_frames_are_of_pandas_or_of_arrow(undisturbed):
    results = load(undisturbed)
    for name, rows in (("frame", 80), ("curves", None), ("summary", 2), ("policies", None)):
        frame, table = getattr(results, name)(), getattr(results, name)(arrow=True)
        assert isinstance(frame, pd.DataFrame)
        assert isinstance(table, pyarrow.Table)
        assert len(frame) == table.num_rows > 0
        assert rows in (None, len(frame))


def test_a_whole_folder_read_by_pandas_is_the_frame(undisturbed):
    def in_order(frame: pd.DataFrame) -> pd.DataFrame:
        """By the texts of the ids: categories are in the order in which they were met."""
        return frame.astype({"run": str}).sort_values(["run", "episode"], ignore_index=True)

    mine, read = in_order(load(undisturbed).frame()), in_order(pd.read_parquet(undisturbed / "records"))
    assert read.columns.tolist() == mine.columns.tolist()
    for name in read.columns:
        assert np.array_equal(read[name].astype(str), mine[name].astype(str)), name


def test_what_is_not_the_folder_of_an_experiment_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"is not the folder of an experiment: it has no spec\.toml"):
        load(tmp_path)


def test_failures_are_read_and_damaged_ones_are_errors(undisturbed, tmp_path):
    runs = small_spec().runs()
    place = ResultsDir(tmp_path).failure(runs[0].id)
    place.parent.mkdir()
    failure = {"id": runs[0].id, "error": "no", "traceback": "", "spec": runs[0].as_json()}
    place.write_text(json.dumps(failure))
    assert Results.read(small_spec(), tmp_path, runs).failures == [failure]
    place.write_text("{}")
    with pytest.raises(InputError, match=r"is damaged; remove it and run the experiment again"):
        Results.read(small_spec(), tmp_path, runs)
