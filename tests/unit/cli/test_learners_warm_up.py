"""``goalbound warm-up``."""

from importlib import import_module

from goalbound import LRCSSP
from goalbound.cli import main


def test_the_command_warms_up_what_is_named_and_says_how_long_it_took(capsys, monkeypatch) -> None:
    warmed = []
    monkeypatch.setattr(
        import_module("goalbound.simulation.warm_up"), "warm_up", lambda *learners: warmed.extend(learners) or 2.5
    )
    assert main(["warm-up", "lr-cssp"]) == 0
    assert [type(one) for one in warmed] == [LRCSSP]
    assert capsys.readouterr().out.startswith("ready after 2.5")


def test_a_name_that_is_none_is_one_line(capsys) -> None:
    assert main(["warm-up", "lr-cspp"]) == 2
    said = capsys.readouterr().err
    assert 'did you mean "lr-cssp"' in said
    assert said.count("\n") == 1
