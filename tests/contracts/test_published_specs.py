"""Every experiment that is published runs, in its quick form, from the file to the report."""

import json
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.experiments import metadata
from goalbound.experiments.record_file import read_record
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.spec import ExperimentSpec
from tests.support.golden import assert_golden, digest_of_record

FILES = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
UNSEEN = (
    "baselines-contexts",
    "baselines-gymnasium",
    "covariates",
    "in-use",
    "in-use-gymnasium",
    "in-use-gymnasium-proven",
    "in-use-instances",
    "in-use-proven",
    "in-use-roads",
    "width-scale",
    "width-scale-gymnasium",
)
"""Learned policies are not looked at here: it takes seconds, and those of the other files are."""


@pytest.fixture(autouse=True)
def _bounds_of_problems_are_kept(monkeypatch):
    """Several files have the same problems (the treatment ladder is in five), whose bounds take seconds."""
    monkeypatch.setattr("goalbound.experiments.run.MAX_PROBLEMS", 100)
    monkeypatch.setattr("goalbound.experiments.registry.learners.MAX_BOUNDS", 100)


def test_the_published_experiments_are_these():
    assert {file.stem for file in FILES} == {
        "first", "theorem", "gymnasium", "adversary", "covariates",
        "width-scale", "width-scale-corridor", "width-scale-gymnasium", "likelihood",
        "in-use", "in-use-gymnasium", "in-use-gymnasium-proven", "in-use-proven",
        "in-use-roads", "in-use-instances",
        "baselines", "baselines-contexts", "baselines-lock", "baselines-gymnasium",
    }  # fmt: skip


def test_every_learner_of_the_catalog_is_in_the_comparison_and_every_scale_is_in_its_label():
    runs = [run for file in FILES if file.stem.startswith("baselines") for run in ExperimentSpec.load(file).runs()]
    assert {run.learner.use for run in runs} == set(LEARNERS.entries)
    for learner in (run.learner for run in runs):
        scale = learner.settings.get("scale", 1.0)
        assert (f"{scale:g} x " in learner.label) == (scale != 1.0)
    optimistic = {run.learner.use: set() for run in runs if "scale" in run.learner.settings}
    for run in runs:
        if run.learner.use in optimistic:
            optimistic[run.learner.use].add(run.learner.settings["scale"])
    drawn = {"psrl-ssp", "scaled-sharp"}  # one samples instead of hoping, the other is a scale by itself
    assert all(1.0 in scales and len(scales) == 2 for use, scales in optimistic.items() if use not in drawn)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_published_experiment_says_what_it_asks_and_has_a_quick_form(file):
    spec, quick = ExperimentSpec.load(file), ExperimentSpec.load(file, quick=True)
    assert spec.name == file.stem
    assert spec.question.endswith("?")
    assert len(spec.seed_list) > 1  # one seed shows nothing
    assert sum(run.episodes for run in quick.runs()) * 50 < sum(run.episodes for run in spec.runs())
    assert {run.group for run in quick.runs()} == {run.group for run in spec.runs()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_quick_form_runs_from_the_file_to_the_report(file, tmp_path, capsys, monkeypatch):
    if "gymnasium" in file.stem:
        pytest.importorskip("gymnasium")
    if file.stem in UNSEEN:
        monkeypatch.setattr(metadata, "MAX_STATES", 0)
    folder = tmp_path / "out"
    assert main(["run", str(file), "--quick", "--workers", "1", "--quiet", "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    assert all(line.startswith("goalbound: compiling ") for line in printed.err.splitlines())
    spec = ExperimentSpec.load(file, quick=True)
    assert printed.out.startswith(spec.question)
    assert printed.out.endswith(f"{folder}/summary.csv\n{folder}/summary.json\n{folder}/report.html\n")
    assert len(list((folder / "records").iterdir())) == len(spec.runs())
    summary = json.loads((folder / "summary.json").read_text())
    assert {(one["problem"], one["contexts"], one["learner"]) for one in summary["groups"]} == {
        run.group for run in spec.runs()
    }
    assert summary["missing"] == []
    for group in summary["groups"]:
        assert group["episodes"] == spec.episodes
        assert group["expected_regret"]["mean"] >= 0.0
    page = (folder / "report.html").read_text()
    assert all(run.learner.label in page for run in spec.runs())
    records = [read_record(path) for path in sorted((folder / "records").iterdir())]
    assert_golden(file.stem, {_name(record.spec): digest_of_record(record) for record in records})


def _name(run: RunSpec) -> str:
    return " | ".join((*run.group, str(run.seed)))
