"""What ``goalbound check`` says about the file of each learner."""

import numpy as np
import pytest

from goalbound import LRCSSP, TabularLearner
from goalbound.adapters.covariates import CovariateLearner, FromTransformer, Hats
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.baselines import Method
from goalbound.cli import main
from goalbound.learners.reference import RandomWalk
from goalbound.models import Support


def saved(name: str) -> None:
    support = Support.full(2, 2)
    learner = LRCSSP(support, 2, loss_floor=0.1)
    if name == "hats":
        CovariateLearner(Hats([0.0, 1.0]), learner).save("learner.npz")
    elif name == "tabular in a map":
        blind = ContextBlind(TabularLearner(support, Method("eb-ssp"), loss_floor=0.1))
        CovariateLearner(Hats([0.0, 1.0]), blind).save("learner.npz")
    elif name == "cells in a map":
        cells = Discretized(lambda rng: LRCSSP(support, 1, loss_floor=0.1), 2)
        CovariateLearner(Hats([0.0, 1.0]), cells).save("learner.npz")
    elif name == "tabular":
        TabularLearner(support, Method("eb-ssp"), loss_floor=0.1).save("learner.npz")
    elif name == "cells":
        Discretized(lambda rng: LRCSSP(support, 1, loss_floor=0.1), 2).save("learner.npz")
    else:
        RandomWalk(support, rng=np.random.default_rng(0)).save("learner.npz")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hats", "a learner with its map of covariates; CovariateLearner(Hats of 2 components, LRCSSP(2 states,"),
        ("tabular in a map", "a learner with its map of covariates; CovariateLearner(Hats of 2 components, ContextB"),
        ("cells in a map", "a learner with its map of covariates; CovariateLearner(Hats of 2 components, Discretized)"),
        ("tabular", "a learner; TabularLearner("),
        ("cells", "a learner (Discretized), restored by one with the same settings: restored(path)"),
        ("walk", "a learner (RandomWalk), restored by one with the same settings: restored(path)"),
    ],
)
def test_every_learner_that_can_be_saved_is_identified_by_its_file(tmp_path, monkeypatch, capsys, name, said):
    monkeypatch.chdir(tmp_path)
    saved(name)
    assert main(["check", "learner.npz"]) == 0
    assert said in capsys.readouterr().out


def test_a_learner_whose_map_no_file_can_hold_is_reported_as_far_as_it_goes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    seen = FromTransformer(lambda rows: [[1.0, 0.0] for _ in rows], ["one", "two"], identity="halves, version 1")
    CovariateLearner(seen, LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)).save("learner.npz")
    assert main(["check", "learner.npz"]) == 0
    assert "CovariateLearner(FromTransformer of 2 components, LRCSSP(2 states" in capsys.readouterr().out


def test_the_limit_that_an_error_names_is_an_option_for_learners_with_maps_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    saved("hats")
    size = (tmp_path / "learner.npz").stat().st_size
    assert main(["check", "learner.npz", "--limit", str(size - 1)]) != 0
    assert f"raise it with --limit {size}" in capsys.readouterr().err
    assert main(["check", "learner.npz", "--limit", str(size)]) == 0
