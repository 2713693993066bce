"""``goalbound check``."""

import os

from goalbound import SSP, LinearCSSP
from goalbound.models.files import save
from goalbound.problems import treatment_ladder
from tests.support.commands import strict


def test_an_experiment_is_checked_without_running_it(place, run):
    code, out, _ = run("check", "small.toml")
    assert code == 0
    assert out.splitlines() == [
        "small: 4 runs of 20 episodes, 80 in all", "problems: treatment-ladder", "contexts: dirichlet",
        "learners: looking, clairvoyant", "seeds: 0, 1",
    ]  # fmt: skip
    assert run("check", "small.toml", "--quick")[1].startswith("small: 2 runs of 3 episodes")
    assert "2 combinations" in run("check", "small.toml", "--try")[1]
    assert os.listdir(place) == ["small.toml"]


def test_checking_finds_what_names_alone_do_not_tell(place, run):
    for words in ([], ["--try"]):
        code, _, err = run("check", "small.toml", "--set", "problems.levels=0", *words)
        assert code == 2
        assert "treatment-ladder, dirichlet, looking: problems (treatment-ladder): levels is 0" in err


def test_the_schema_of_experiment_files_is_printed(run):
    schema = strict(run("check", "--schema")[1])
    assert set(schema["required"]) >= {"name", "episodes", "problems", "learners"}


def test_a_problem_is_checked_by_its_file(place, run):
    treatment_ladder(3).save("ladder.npz")
    code, out, _ = run("check", "ladder.npz")
    assert code == 0
    assert out.startswith("ladder.npz: a contextual problem; 3 states, 9 pairs,")
    assert "every context has a proper policy; smallest loss 0.1" in out
    save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), "door.umb")
    assert run("check", "door.umb")[1].startswith("door.umb: a problem without context; 1 states, 1 pairs")
    LinearCSSP.mix([SSP.dense([[0.5]], [[[0.0, 1.0]]]), SSP.dense([[0.5]], [[[1.0, 0.0]]])]).save("closed.npz")
    code, out, err = run("check", "closed.npz")
    assert (code, out) == (2, "")
    assert "closed.npz: component 1: there is no proper policy from state 0" in err


def test_a_file_of_fit_is_checked_as_such(place, run):
    path = place / "tickets.toml"
    path.write_text(
        "goal = 'closed'\n[columns]\ncovariates = ['seats']\n[loss]\nunit = 'EUR'\ncap = 50\nfloor = 1\n"
        "[map]\nkind = 'Hats'\nknots = [0, 10]\n[learner]\nuse = 'greedy-ridge'\n"
    )
    code, out, err = run("check", "tickets.toml")
    assert (code, err) == (0, "")
    assert out == (
        "tickets.toml: a file of goalbound fit; goal 'closed', losses in EUR, cap 50, map Hats of 2 components, "
        "learner greedy-ridge; goalbound fit LOG --map tickets.toml uses it\n"
    )
    code, _, err = run("check", "tickets.toml", "--quick")
    assert code == 2
    assert "this is a file of goalbound fit; --set, --quick, --try and --plugin are for experiments" in err
    path.write_text("goal = 'closed'\n[columns]\ncosts = 'eur'\n")
    code, _, err = run("check", "tickets.toml")
    assert code == 2
    assert "[columns] 'costs' is no key" in err
