"""``goalbound ratios``."""

import os
from pathlib import Path

from tests.support.commands import strict


def test_experiments_are_compared_in_one_table(done, run):
    assert run("run", "small.toml", "--quiet", "--workers", "1", "--set", "name=other", "seeds=1")[0] == 0
    code, out, err = run("ratios", "out/small", "out/other")
    assert (code, err) == (0, "")
    head, _, *rows = (line.strip("| ").split(" | ") for line in out.splitlines())
    assert head[0] == "learner"
    assert head[-2:] == ["mean ratio", "worst"]
    assert all(len(row) == len(head) for row in rows)
    assert "(small)" in head[1]  # both have this problem
    found = strict(run("ratios", "out/small", "out/other", "--json")[1])["learners"]
    assert [one["learner"] for one in found] == [row[0] for row in rows]
    label = next(iter(found[0]["expected_regret"]))
    chosen = strict(run("ratios", "out/small", "out/other", "--json", "--problems", label, "nothing")[1])["learners"]
    assert chosen == [{**one, **{key: {label: one[key][label]} for key in ("expected_regret", "ratio")},
                       "mean_ratio": one["ratio"][label], "worst_ratio": one["ratio"][label]}
                      for one in found]  # fmt: skip
    code, _, err = run("ratios", "out/small", "--problems", "no*")
    assert code == 2
    assert "no problem matches no*; there are " in err
    os.remove(next(Path("out/small/records").iterdir()))
    code, _, err = run("ratios", "out/small")
    assert code == 0
    assert "no record of seed" in err
    assert "two of the experiments are called small" in run("ratios", "out/small", "small.toml")[2]
