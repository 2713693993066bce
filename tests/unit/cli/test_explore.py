"""``goalbound explore``: what it takes, and what it says of the rest."""

import pytest

from goalbound import LRCSSP, widths
from goalbound.cli import main
from goalbound.experiments.record_file import write_record
from goalbound.experiments.registry import Component
from goalbound.experiments.run import run
from goalbound.experiments.run_spec import RunSpec
from goalbound.problems import treatment_ladder

SPEC = RunSpec(
    Component("treatment-ladder", {"levels": 2, "markers": 1}, "ladder"), Component("lr-cssp", {}, "LR-CSSP"),
    Component("dirichlet", {}, "dirichlet"), "deterministic", 6, 0, 1000,
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    problem = treatment_ladder(2, markers=1)
    problem.save(folder / "problem.npz")
    LRCSSP(problem.support, 2, loss_floor=0.1, widths=widths.paper()).save(folder / "learner.npz")
    write_record(folder / "run.parquet", run(SPEC))
    return folder


def explore(capsys, *words):
    code = main(["explore", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out.strip(), err


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["treatment-ladder", "--set", "levels=2", "markers=1"], "<title>treatment-ladder levels=2 markers=1:"),
        (["problem.npz"], "<title>problem:"),
        (["learner.npz", "--contexts", "2"], "estimate</b> of the learner"),
        (["learner.npz", "--truth", "problem.npz", "--contexts", "2"], "<title>learner:"),
        (["run.parquet", "--records"], "the record of seed 0"),
        (["run.parquet", "--views", "2", "--contexts", "2"], "The replay has the regret of the record."),
        (["run.parquet", "--views", "2", "--contexts", "2", "--episodes", "3"], "3 of 6 episodes"),
    ],
)
def test_problems_records_and_learners_become_pages(capsys, files, monkeypatch, words, shown):
    monkeypatch.chdir(files)
    code, out, err = explore(capsys, *words, "--seconds", "1", "--out", "deep/page.html")
    assert (code, out) == (0, "deep/page.html")
    assert shown in (files / out).read_text(encoding="utf-8")
    assert ("again" in err) == (words[0] == "run.parquet" and "--records" not in words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["windy-gird"], 'no problem is called "windy-gird"'),
        (["nowhere.npz"], "nowhere.npz: no such file"),
        (["windy-grid", "--grid", "4"], '--grid "4" is no grid; give rows x columns'),
        (["treatment-ladder", "--grid", "1x2"], "has no place on a grid"),
        (["windy-grid", "--learner", "a"], "windy-grid is a problem; --learner is not for that"),
        (["learner.npz", "--records"], "learner.npz is a learner; --records is not for that"),
        (["learner.npz", "--truth", "windy-grid"], "components, those of the problem"),
        (["run.parquet", "--learner", "b"], 'no learner of the experiment is called "b"; there are "LR-CSSP"'),
        (["run.parquet", "--views", "0"], "'0' is not a whole number from 1 on"),
        (["."], ". has no spec.toml"),
    ],
)
def test_wrong_input_is_one_clear_line(capsys, files, monkeypatch, words, said):
    monkeypatch.chdir(files)
    code, _, err = explore(capsys, *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
