"""The summary as text and as CSV."""

from __future__ import annotations

import csv

from goalbound.experiments.summary import summarize
from tests.support.synthetic import power, record, run_spec


def flat(total):
    """The same regret from the first episode on."""
    return power(total, 0.0)


def test_the_table_stays_within_its_width_and_loses_no_number():
    runs = [record(run_spec(name, seed=seed, label=f"{name} " + "learner " * 5), power(3.0, 0.5))
            for name in "AB" for seed in range(3)]  # fmt: skip
    summary = summarize(runs)
    wide, narrow = summary.table(width=200), summary.table(width=60)
    assert max(len(line) for line in narrow.splitlines()) <= 60
    for head in ("expected regret", "exponent", "loss/optimal", "known steps", "intervals"):
        assert head in wide
        assert head in narrow
    assert "0.500 [0.500, 0.500]" in narrow


def test_a_label_cannot_disturb_the_terminal():
    assert "\x1b" not in summarize([record(run_spec(label="red \x1b[31m"), flat(1.0))]).table()


def test_the_csv_has_one_line_per_group_and_exact_numbers(tmp_path):
    runs = [record(run_spec(name, seed=seed), power(1.0 + seed, 0.5)) for name in "AB" for seed in range(2)]
    summary = summarize(runs)
    summary.to_csv(tmp_path / "summary.csv")
    with open(tmp_path / "summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["learner"] for row in rows] == ["A", "B"]
    assert float(rows[0]["expected_regret"]) == summary.groups[0].expected_regret.mean
    assert rows[0]["covered"] == ""
    assert rows[0]["seeds"] == "0 1"
