"""``goalbound warm-up``."""

from goalbound.cli import main


def test_the_command_says_how_long_it_took(capsys) -> None:
    assert main(["warm-up", "lr-cssp"]) == 0
    assert capsys.readouterr().out.startswith("ready after ")


def test_a_name_that_is_none_is_one_line(capsys) -> None:
    assert main(["warm-up", "lr-cspp"]) == 2
    said = capsys.readouterr().err
    assert 'did you mean "lr-cssp"' in said
    assert said.count("\n") == 1
