"""``goalbound compare``."""

import shutil

from tests.support.commands import strict


def test_two_folders_are_compared(done, run):
    run("run", "small.toml", "--workers", "1", "--quiet", "--no-report", "--out", "out/other", "--set", "episodes=15",
        "learners.0.scale=0.2")  # fmt: skip
    code, out, _ = run("compare", "out/small", "out/other")
    assert code == 0
    assert out.startswith("out/small  ->  out/other\n\nspec:\n  episodes: 20 -> 15\n")
    assert "  learners[looking].scale: 0.1 -> 0.2\n" in out
    assert "versions: the same" in out
    assert "clairvoyant" in out
    listing = strict(run("compare", "out/small", "out/other", "--json")[1])
    assert [group["learner"] for group in listing["groups"]] == ["looking", "clairvoyant"]
    assert [group["episodes"] for group in listing["groups"]] == [15, 15]


def test_a_copy_has_no_changes(done, run):
    shutil.copytree("out/small", "out/copy")
    code, out, _ = run("compare", "out/small", "out/copy")
    assert code == 0
    assert "Nothing changed: the same spec, the same versions, and records that are the same to the bit." in out


def test_what_is_no_folder_of_results_is_one_line(done, run):
    code, out, err = run("compare", "out/small", "out/none")
    assert (code, out) == (2, "")
    assert "out/none is not the folder of an experiment" in err
