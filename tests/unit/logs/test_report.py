"""The report of a log: counts, losses in units, contexts, and warnings."""

import json

import numpy as np
import pytest

from goalbound import LossScale, Support
from goalbound.adapters.covariates import Hats
from goalbound.logs import LogColumns, read_log


def test_counts_and_losses_are_those_of_the_log(small, how):
    report = read_log(small, **how).report()
    assert (report.steps, report.cases, report.open_cases, report.never_tried) == (4, 2, 0, 0.0)
    drug, rest, weak = report.pairs
    assert (rest.state, rest.action, rest.visits, rest.mean_loss) == ("sick", "rest", 1, pytest.approx(6.0))
    assert (drug.visits, drug.mean_loss, drug.next_states) == (2, pytest.approx(36.0), {"sick": 1, "well": 1})
    assert weak.next_states == {"well": 1}
    assert report.loss_quantiles[0] == pytest.approx(6.0)
    assert report.loss_quantiles[2] == pytest.approx(21.0)  # between 12 and 30
    assert report.loss_quantiles[-1] == pytest.approx(60.0)
    assert report.unit == "min"


def test_contexts_are_summed_up(small, how):
    small["age"] = [20, 50, 20, 50]
    how["columns"] = LogColumns(loss="minutes", covariates=["age"])
    report = read_log(small, covariate_map=Hats([20, 80, 140]), **how).report()
    assert report.components == (("at 20", 3.0), ("at 80", 1.0), ("at 140", 0.0))  # 1 + 1/2 + 1 + 1/2
    assert report.rare == ("at 140",)
    assert report.changing_cases == 0
    small["age"] = [20, 50, 21, 50]
    assert read_log(small, covariate_map=Hats([20, 80, 140]), **how).report().changing_cases == 1


def said(log) -> str:
    return "\n".join(log.report().warnings)


def test_warnings_name_what_breaks_the_validity(small, how):
    plain = said(read_log(small, **how))
    assert "the support was inferred" in plain
    assert "no probabilities of actions" in plain
    assert "not recorded" in plain
    assert "skipped" not in plain
    assert "never tried" not in plain
    wide = Support.from_pairs(
        [{0: [0, 1, 2], 1: [0, 1, 2]}] * 2, state_names=["sick", "weak"], action_names=["rest", "drug"]
    )
    given = said(read_log(small, support=wide, **how))
    assert "inferred" not in given
    assert "25.0% of the pairs were never tried" in given  # drug in weak
    how["loss_scale"] = LossScale("min", cap=20, beyond="clip")
    assert "2 steps with a loss above the cap, counted as the cap" in said(read_log(small, **how))
    small["minutes"][0] = -1
    assert "1 row skipped because of the loss or the next state" in said(read_log(small, errors="skip", **how))
    cut = {name: values[:3] for name, values in small.items()}
    assert "1 of 2 cases do not end at the goal" in said(read_log(cut, support=wide, errors="skip", **how))


def test_the_text_and_the_json_hold_the_numbers(small, how):
    log = read_log({**small, "action": ["rest", "drug", "rest", "="]}, errors="skip", **how)
    text = log.summary()
    assert text.startswith("3 steps of 2 cases, 1 of them open; 1 row skipped\n3 pairs, 0.0% of them never tried")
    assert "losses: 6 min (least)" in text
    assert "skipped: 1 for action" in text
    again = json.loads(json.dumps(log.report().as_json(), allow_nan=False))
    assert again["pairs"][1] == {
        "state": "sick", "action": "rest", "visits": 1, "mean_loss": pytest.approx(6.0), "next_states": {"weak": 1},
    }  # fmt: skip
    assert again["skipped"] == {"action": 1}


def test_many_pairs_are_summed_up_with_the_least_tried_first(how):
    count = 30
    table = {
        "case": list(range(count)), "time": list(range(count)), "state": [f"s{n}" for n in range(count)],
        "action": ["go"] * count, "minutes": [1] * count, "next_state": ["well"] * count,
    }  # fmt: skip
    text = read_log(table, **how).summary()
    assert "... and 10 pairs that were tried more often" in text
    assert np.all([len(line) < 200 for line in text.splitlines()])


def test_a_component_without_a_step_is_warned_of(small, how):
    small["age"] = [20, 20, 20, 20]
    how = {**how, "columns": LogColumns(loss="minutes", covariates=["age"])}
    report = read_log(small, **how, covariate_map=Hats([20, 50, 80])).report()
    assert "no step in 2 components (at 50, at 80): nothing is learned about such contexts" in report.warnings
