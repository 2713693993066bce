"""What is wrong with an experiment file is told by ``goalbound check``, with the key, the value and the remedy."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydantic")

from goalbound import LRCSSP, TabularLearner
from goalbound.adapters.covariates import CovariateLearner, FromTransformer, Hats
from goalbound.cli import main
from goalbound.learners.context_map import ContextBlind
from goalbound.learners.discretized import Discretized
from goalbound.learners.reference import RandomWalk
from goalbound.learners.tabular.method import eb_ssp_method
from goalbound.models import Support

SPEC = """
name = "small"
episodes = 20
seeds = 2

[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1

[[learners]]
use = "lr-cssp"

[[learners]]
use = "clairvoyant"

[quick]
episodes = 3
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def check(text, *words):
        Path("small.toml").write_text(text)
        code = main(["check", "small.toml", *words])
        captured = capsys.readouterr()
        assert os.listdir(tmp_path) == ["small.toml"]
        return code, captured.out, captured.err

    return check


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("learners.0.scale=-1.0", ["learners (lr-cssp): ", "-1"]),
        ("learners.0.scale=nan", ["learners.0.scale is nan", "finite"]),
        ("contexts=[{use='dirichlet', alpha=inf}]", ["contexts[0].alpha is inf", "finite"]),
        ("learners.0.widths=sharpe", ['widths is "sharpe" (did you mean "sharp"?)', "paper, printed, sharp"]),
        ("learners.0.delta=2.0", ["delta 2.0"]),
        ("learners.0.sees=nothign", ["sees is 'nothign'", '(did you mean "nothing"?)']),
        ("learners.0.support=ture", ["support is 'ture'", '(did you mean "true"?)']),
        ("learners.0.loss_bound=certfied", ["loss_bound is 'certfied'", '(did you mean "certified"?)']),
        ("learners.0.loss_floor=-1.0", ["loss"]),
        ("problems.levels=0", ["problems (treatment-ladder): levels is 0"]),
        ("contexts=[{use='dirichlet', alpha=-1.0}]", ["contexts (dirichlet): alpha"]),
        ("contexts=[{use='cyclic', contexts=[[1.0]]}]", ["contexts (cyclic): contexts have 1"]),
        ("losses={law='bounded', spread=2.0}", ["spread"]),
        ("losses={law='bounded', spred=0.5}", ["losses: bounded does not take", "spred"]),
    ],
)
def test_what_would_fail_when_a_run_is_made_fails_in_check(check, change, said):
    code, out, err = check(SPEC, "--set", change)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for words in said:
        assert words in err


def test_grid_values_are_checked_too(check):
    code, _, err = check(SPEC + '\n[grid]\n"learners.scale" = [1.0, -0.5]\n')
    assert code == 2
    assert "lr-cssp (scale -0.5)" in err


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("episodes = 20", "epsiodes = 20", 'there is no key "epsiodes" (did you mean "episodes"?)'),
        ("seeds = 2", "sedes = 2", 'there is no key "sedes" (did you mean "seeds"?)'),
        ("[[learners]]", "[[learner]]", 'there is no key "learner" (did you mean "learners"?)'),
        ('use = "lr-cssp"', 'ues = "lr-cssp"', 'learners[0] has no "use" (did you mean it by "ues"?)'),
        ("episodes = 3", "epsiodes = 3", 'quick: there is no key "epsiodes" (did you mean "episodes"?)'),
        ("episodes = 3", "episodes = 0", "episodes is 0; it is a whole number, 1 or more"),
        ("episodes = 20", "", '"episodes" is missing; it is a whole number, 1 or more'),
        ('name = "small"', "", '"name" is missing'),
        ("episodes = 20", "episodes = 2.5", "episodes is 2.5; it is a whole number, 1 or more"),
        ("episodes = 20", "episodes = true", "episodes is True; it is a whole number, 1 or more"),
        ("episodes = 20", 'episodes = "many"', "episodes is 'many'; it is a whole number"),
        ("seeds = 2", "seeds = 0", "seeds is 0; it is a whole number, 1 or more, or a list"),
        ("seeds = 2", 'seeds = "two"', "seeds is 'two'; it is a whole number, 1 or more, or a list"),
        ("seeds = 2", "seeds = [1, -3]", "seeds[1] is -3; it is"),
        ("seeds = 2", "seeds = [1, 2.5]", "seeds[1] is 2.5; it is"),
        ("seeds = 2", "seeds = []", "seeds is []; it is"),
        ("seeds = 2", "losses = 3", "losses is 3; it is"),
        ("seeds = 2", "step_limit = 0", "step_limit is 0; it is a whole number, 1 or more"),
        ("seeds = 2", "question = 3", "question is 3; it is text"),
        ("seeds = 2", "grid = 3", "grid is 3; it is"),
        ("[quick]\nepisodes = 3", "[[quick]]\nepisodes = 3", "quick is [{'episodes': 3}]; it is a table"),
        ('name = "small"', 'name = "../small"', "name is '../small'; it is letters, digits, - and _"),
        ('use = "lr-cssp"', "use = 3", "learners[0].use is 3; it is"),
        ('use = "lr-cssp"', 'use = "lr-cssp"\nlabel = 3', "learners[0].label is 3; it is text"),
        ("[quick]", '[grid]\n"learners.scal" = [1.0]\n[quick]', 'grid: "learners.scal" has no match (did you mean'),
        ("[quick]", '[grid]\n"learners.scale" = 1.0\n[quick]', "is 1.0; it is a list"),
    ],
)  # fmt: skip
def test_a_wrong_key_or_value_of_the_file_is_named(check, before, after, said):
    assert before in SPEC
    text = SPEC.replace(before, after) if before == "[[learners]]" else SPEC.replace(before, after, 1)
    code, out, err = check(text)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    for words in ("constrained", "Input should", "pydantic", "str_type", "dict[", "list["):
        assert words not in err


@pytest.mark.parametrize("seeds", ["0 = 1", '"a" = 1'])
def test_a_table_where_a_list_is_needed_is_named(check, seeds):
    code, _, err = check(SPEC.replace("seeds = 2", "") + f"\n[seeds]\n{seeds}\n")
    assert code == 2
    assert "seeds is {" in err


def test_problems_that_are_no_tables_are_named(check):
    text = 'problems = ["demo"]\n' + SPEC.replace(
        '[[problems]]\nuse = "treatment-ladder"\nlevels = 2\nmarkers = 1\n', ""
    )
    code, _, err = check(text)
    assert code == 2
    assert "problems[0] is 'demo'; it is a table with use = " in err


def saved(name: str) -> None:
    support = Support.full(2, 2)
    learner = LRCSSP(support, 2, loss_floor=0.1)
    if name == "hats":
        CovariateLearner(Hats([0.0, 1.0]), learner).save("learner.npz")
    elif name == "tabular in a map":
        blind = ContextBlind(TabularLearner(support, eb_ssp_method(), loss_floor=0.1))
        CovariateLearner(Hats([0.0, 1.0]), blind).save("learner.npz")
    elif name == "cells in a map":
        cells = Discretized(lambda rng: LRCSSP(support, 1, loss_floor=0.1), 2)
        CovariateLearner(Hats([0.0, 1.0]), cells).save("learner.npz")
    elif name == "tabular":
        TabularLearner(support, eb_ssp_method(), loss_floor=0.1).save("learner.npz")
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
