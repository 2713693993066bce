"""The problems and the loss laws that an experiment may name."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound.errors import ArgumentError
from goalbound.experiments.plugins import NO_PLUGINS
from goalbound.experiments.registry import PROBLEMS, Component, instantiate, loss_law
from goalbound.experiments.registry.problems import problem_instance
from goalbound.experiments.run import run
from goalbound.experiments.spec import ExperimentSpec
from goalbound.models.step import bernoulli, deterministic
from goalbound.problems import CATALOG, treatment_ladder


def test_every_built_in_family_has_its_name_here() -> None:
    assert list(PROBLEMS.entries)[: len(CATALOG)] == list(CATALOG)


def test_an_environment_that_draws_its_own_losses_takes_no_law() -> None:
    pytest.importorskip("gymnasium")
    lake = instantiate("problems", Component("frozen-lake", {"rates": [1.0, 0.5]}), NO_PLUGINS)
    assert lake.problem.context_size == 2
    assert problem_instance(lake, deterministic(), "problems (frozen-lake)") is lake
    with pytest.raises(ArgumentError, match=r"problems \(frozen-lake\): this environment draws its own losses"):
        problem_instance(lake, bernoulli(), "problems (frozen-lake)")


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ("bernouli", "there is no law 'bernouli' (did you mean \"bernoulli\"?); there are deterministic, bernoulli"),
        ({"spread": 0.5}, "there is no law None"),
        ({"law": "bernoulli", "spread": 0.5}, "bernoulli does not take {'spread': 0.5}; bounded takes a spread"),
    ],
)
def test_a_wrong_loss_law_is_named(losses: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        loss_law(losses)
    assert said in str(error.value)


def test_a_saved_problem_is_named_by_its_file_and_its_content_is_part_of_the_ids_of_runs(tmp_path) -> None:
    treatment_ladder(2, markers=1).save(tmp_path / "ladder.npz")
    treatment_ladder(2, markers=1).at([0.5, 0.5]).save(tmp_path / "plain.umb")
    text = 'name = "saved"\nepisodes = 5\nseeds = 1\n[[learners]]\nuse = "lr-cssp"\n'
    text += '[[problems]]\nuse = "ladder.npz"\n[[problems]]\nuse = "plain.umb"\n'
    (tmp_path / "saved.toml").write_text(text)
    spec = ExperimentSpec.load(tmp_path / "saved.toml")
    first, second = spec.runs()
    assert (first.problem.label, second.problem.label) == ("ladder.npz", "plain.umb")
    for one in (first, second):
        assert run(one, plugins=spec.plugins).spec == one
    assert instantiate("problems", first.problem, spec.plugins) == treatment_ladder(2, markers=1)
    assert instantiate("problems", second.problem, spec.plugins).context_size == 1
    treatment_ladder(3, markers=1).save(tmp_path / "ladder.npz")
    changed = spec.runs()[0]
    assert changed.id != first.id
    with pytest.raises(ArgumentError, match="the problem here is not that of the run"):
        run(first, plugins=spec.plugins)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("nowhere.npz", 'problems.use: there is no file "nowhere.npz" in .*, beside the file of the experiment'),
        ("file", 'no problem is called "file".*or a file beside that of the experiment, "mine.npz"'),
        ("/tmp/x.npz", "is not relative; name a file by its way from that of the experiment"),
    ],
)
def test_a_file_that_is_not_there_is_named(use: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        PROBLEMS.entry(use, "problems")
