"""How a log is read: what the file of ``--map`` says, what options change of it, and which files are such."""

from __future__ import annotations

import pytest

from goalbound import LossScale
from goalbound.adapters.covariates import Hats
from goalbound.cli.arguments import UsageError, parser
from goalbound.cli.fit_options import FitOptions, described, fit_options
from goalbound.errors import InputError

TICKETS = """goal = "closed"
errors = "skip"
[columns]
loss = "eur"
covariates = ["seats"]
[loss]
unit = "EUR"
cap = 50
floor = 2
[map]
kind = "Hats"
knots = [0, 10]
[learner]
use = "greedy-ridge"
regularization = 2.0
"""


@pytest.fixture
def read(tmp_path):
    """The options of a file and of further words."""

    def options(text: str, *words: str) -> FitOptions:
        (tmp_path / "how.toml").write_text(text)
        return fit_options(parser().parse_args(["fit", "log.csv", "--map", str(tmp_path / "how.toml"), *words]))

    return options


def test_a_file_says_all(read):
    found = read(TICKETS)
    assert (found.goal, found.errors, found.floor, found.support) == ("closed", "skip", 2.0, None)
    assert (found.columns.loss, found.columns.covariates, found.columns.case) == ("eur", ("seats",), "case")
    assert found.scale == LossScale("EUR", cap=50)
    assert isinstance(found.map, Hats)
    assert (found.learner, found.settings) == ("greedy-ridge", {"regularization": 2.0})


def test_options_go_first_and_what_they_leave_out_stays(read):
    found = read(
        TICKETS, "--goal", "done", "--cap", "99", "--learner", "lr-cssp", "--set", "widths=paper", "--time", ""
    )
    assert (found.goal, found.errors, found.floor) == ("done", "skip", 2.0)
    assert found.scale == LossScale("EUR", cap=99)
    assert (found.learner, found.settings) == ("lr-cssp", {"regularization": 2.0, "widths": "paper"})
    assert found.columns.time is None


def test_a_map_and_its_columns_are_missed_in_words_of_the_command_line(read):
    without_columns = TICKETS.replace('covariates = ["seats"]\n', "")
    without_map = TICKETS.replace('[map]\nkind = "Hats"\nknots = [0, 10]\n', "")
    for text, said in (
        (without_columns, r"no covariates; name the columns that it reads with --covariates, or with covariates = \["),
        (without_map, r"no map that makes contexts of them; write one as \[map\] in the file of --map"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            read(text)
        assert "covariate_map" not in str(caught.value)
        assert "LogColumns" not in str(caught.value)
    assert read(without_columns, "--covariates", "seats").columns.covariates == ("seats",)


def test_a_file_is_described_after_it_was_checked(tmp_path):
    path = tmp_path / "how.toml"
    path.write_text(TICKETS)
    assert described(str(path)) == (
        f"{path}: a file of goalbound fit; goal 'closed', losses in EUR, cap 50, map Hats of 2 components, learner "
        f"greedy-ridge; goalbound fit LOG --map {path} uses it"
    )
    path.write_text("goal = 'closed'")
    assert "; goal 'closed', learner lr-cssp; " in described(str(path))
    path.write_text(TICKETS.replace("[0, 10]", "[10, 0]"))
    with pytest.raises(InputError, match="ascend"):
        described(str(path))


GUARDED = """[guard]
after_steps = 9
after_loss = 75
[guard.runbook]
open = "answer"
[monitor]
window = 500
"""


def test_tables_say_what_is_around_the_learner(read):
    found = read(TICKETS + GUARDED)
    assert found.guard == {"after_steps": 9, "after_loss": 75, "runbook": {"open": "answer"}}
    assert found.monitor == {"window": 500}
    assert (read(TICKETS).guard, read(TICKETS).monitor) == (None, None)
    with pytest.raises(InputError, match=r"\[monitor\] 'run' is no key; there are run_length, window"):
        read(TICKETS + "[monitor]\nrun = 500\n")
