"""Numbers and names in the terminal."""

from goalbound.cli import text
from goalbound.models import SSP
from goalbound.models.files import save
from tests.support.commands import strict


def test_names_from_a_file_cannot_disturb_the_terminal(run, tmp_path):
    evil = "\x1b[2J" + "x" * 90
    save(SSP.dense([[0.5]], [[[0, 1.0]]], state_names=[evil]), tmp_path / "evil.npz")
    _, out, _ = run("solve", str(tmp_path / "evil.npz"))
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) < 130
    _, out, _ = run("solve", str(tmp_path / "evil.npz"), "--json")
    assert strict(out)["contexts"][0]["states"][0]["name"] == evil


def test_a_column_keeps_small_numbers_apart_from_zero():
    assert text.column([1e-9, 1.0]) == ["1e-09", "1"]
    assert text.column([0.5, 0.0]) == ["0.500000", "0.000000"]
    assert text.column([0.0]) == ["0"]
    assert text.column([2e7, 1.0]) == ["2e+07", "1"]
    assert text.column([float("nan"), float("inf")]) == ["unknown", "infinite"]
    assert text.column([]) == []


def test_a_message_is_one_line():
    assert text.one_line("a\nb\x1b[0m") == r"a b\u001b[0m"
