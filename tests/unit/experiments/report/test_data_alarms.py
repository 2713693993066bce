"""An alarm of the test of linearity: in the record, the summary, the page, and told once by a sweep."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from goalbound.errors import InputError
from goalbound.experiments.progress import Event, describe
from goalbound.experiments.record_file import read_record
from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.report.data import alarms
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import summarize
from goalbound.experiments.sweep import sweep
from tests.support.report_cases import case
from tests.support.synthetic import power, record, run_spec

BENT = "episode 7: (s, a): the loss is not what a linear model allows <b>"


def found(*said: str | None) -> Any:
    runs = [
        record(run_spec("bent", seed=seed), power(1.0, 1.0), metadata={"alarm": text}) for seed, text in enumerate(said)
    ]
    straight = [record(run_spec("straight", seed=seed), power(1.0, 0.5)) for seed in range(len(said))]
    return summarize([*runs, *straight])


def test_the_summary_says_which_seeds_found_the_world_not_linear():
    bent, straight = found(None, BENT, BENT).groups
    assert bent.alarms == (None, BENT, BENT)
    assert straight.alarms == (None, None, None)  # records of before the test have no word about it


def test_the_page_names_the_learner_and_escapes_the_words():
    data = report_data(**case()) | {"alarms": alarms(found(None, BENT, BENT))}
    shown = report_page(data)
    assert "<b>bent, P, C</b>: 2 of 3 runs. Seed 1, episode 7: " in shown
    assert "linear model allows &lt;b&gt;" in shown
    assert "<b>Alarm.</b>" not in report_page(data | {"alarms": alarms(found(None, None))})


def test_an_alarm_in_a_record_is_words_or_null():
    with pytest.raises(InputError, match="alarm in the metadata is 7, neither text nor null"):
        record(run_spec(), power(1.0, 1.0), metadata={"alarm": 7})


def test_a_sweep_tells_it_once_with_the_run_and_warns_nobody(tmp_path: Path) -> None:
    spec = ExperimentSpec.of(
        {
            "name": "bent",
            "episodes": 1500,
            "step_limit": 500,
            "problems": [{"use": "treatment-curve"}],
            "contexts": [{"use": "uniform-number"}],
            "learners": [{"use": "lr-cssp", "widths": "sharp", "scale": 0.1, "sees": "line", "label": "line"}],
        }
    )
    events: list[Event] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = sweep(spec, tmp_path, workers=1, progress=events.append)
    (name,) = result.done
    alarm = read_record(tmp_path / "records" / f"{name}.parquet").metadata["alarm"]
    assert alarm.endswith("a finer map of the covariates may help")
    (ended,) = (event for event in events if event.kind == "finished")
    assert ended.data["alarm"] == alarm
    said = describe(ended)
    assert said is not None
    assert said.endswith(f"; alarm: {alarm}")
