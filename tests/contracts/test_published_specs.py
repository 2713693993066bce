"""Every experiment that is published runs, in its quick form, from the file to the report."""

import json
from pathlib import Path

import pytest

from goalbound.cli import main
from goalbound.experiments.spec import ExperimentSpec

FILES = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))


def test_the_published_experiments_are_these():
    assert {file.stem for file in FILES} == {"first", "theorem", "gymnasium", "adversary"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_published_experiment_says_what_it_asks_and_has_a_quick_form(file):
    spec, quick = ExperimentSpec.load(file), ExperimentSpec.load(file, quick=True)
    assert spec.name == file.stem
    assert spec.question.endswith("?")
    assert len(spec.seed_list) > 1  # one seed shows nothing
    assert sum(run.episodes for run in quick.runs()) * 50 < sum(run.episodes for run in spec.runs())
    assert {run.group for run in quick.runs()} == {run.group for run in spec.runs()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_quick_form_runs_from_the_file_to_the_report(file, tmp_path, capsys):
    if file.stem == "gymnasium":
        pytest.importorskip("gymnasium")
    folder = tmp_path / "out"
    assert main(["run", str(file), "--quick", "--workers", "1", "--quiet", "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err in ("", "goalbound: compiling kernels (once; they are cached for the next time) ...\n")
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
