"""``goalbound export``."""

import csv
from pathlib import Path

import pandas as pd

from goalbound.experiments import load


def test_tables_are_written_beside_the_records(done, run):
    code, out, _ = run("export", "out/small", "--csv", "summary", "curves", "--parquet", "policies", "episodes")
    names = ["summary.csv", "curves.csv", "policies.parquet", "episodes.parquet"]
    assert (code, out.split()) == (0, [f"out/small/{name}" for name in names])
    results = load("out/small")
    curves = list(csv.DictReader(Path("out/small/curves.csv").read_text().splitlines()))
    assert [float(row["expected_regret"]) for row in curves] == results.curves()["expected_regret"].tolist()
    assert pd.read_parquet("out/small/episodes.parquet").equals(results.frame())
    assert pd.read_parquet("out/small/policies.parquet").equals(results.policies())


def test_the_exported_summary_is_summary_csv(done, run):
    before = Path("out/small/summary.csv").read_bytes()
    assert run("export", "out/small", "--csv", "summary", "--out", "data/here")[0] == 0
    assert Path("data/here/summary.csv").read_bytes() == before
