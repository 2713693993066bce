"""What is wrong with an experiment file is told by ``goalbound check``, with the key, the value and the remedy."""

import os
from pathlib import Path

import pytest

from goalbound.cli import main

pytest.importorskip("pydantic")
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
        (
            "learners.0.widths=sharpe",
            ['widths is "sharpe" (did you mean "sharp"?)', "likelihood, sharp, paper, printed"],
        ),
        ("learners.0.delta=2.0", ["delta 2.0"]),
        ("learners.0.sees=nothign", ["sees is 'nothign'", '(did you mean "nothing"?)']),
        ("problems.levels=0", ["problems (treatment-ladder): levels is 0"]),
        ("contexts=[{use='cyclic', contexts=[[1.0]]}]", ["contexts (cyclic): contexts have 1"]),
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
        ('use = "lr-cssp"', 'ues = "lr-cssp"', 'learners[0] has no "use" (did you mean it by "ues"?)'),
        ("episodes = 3", "episodes = 0", "episodes is 0; it is a whole number, 1 or more"),
        ("episodes = 20", "", '"episodes" is missing; it is a whole number, 1 or more'),
        ("episodes = 20", "episodes = true", "episodes is True; it is a whole number, 1 or more"),
        ("seeds = 2", 'seeds = "two"', "seeds is 'two'; it is a whole number, 1 or more, or a list"),
        ("seeds = 2", "seeds = [1, -3]", "seeds[1] is -3; it is"),
        ("seeds = 2", "losses = 3", "losses is 3; it is"),
        ("seeds = 2", "step_limit = 0", "step_limit is 0; it is a whole number, 1 or more"),
        ("[quick]\nepisodes = 3", "[[quick]]\nepisodes = 3", "quick is [{'episodes': 3}]; it is a table"),
        ('name = "small"', 'name = "../small"', "name is '../small'; it is letters, digits, - and _"),
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
