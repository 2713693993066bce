"""``goalbound demo``."""

import re
from contextlib import nullcontext

from goalbound.cli import demo, main


def test_ctrl_c_stops_the_demo_and_leaves_no_page(short, monkeypatch, tmp_path, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "progress_reporter", lambda quiet: nullcontext(lambda name, episodes: stop))
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert "goalbound: stopped" in capsys.readouterr().err
    assert not (tmp_path / "index.html").exists()


def test_the_demo_prints_the_story_and_leaves_a_page(short, tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert main(["demo", "--out", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"clairvoyant +0 +\d\.\d{4} +\d\.\d{4} +0\n", out)
    assert "A grid of 4 x 6 cells" in out
    assert re.search(r"calm +3\.55556 +8\.8889 +infinite +never arrives, from any cell", out)
    assert "blown to the east border" in out
    assert "blown to the south border" in out
    assert str(folder / "index.html") in out
    assert max(map(len, out.splitlines())) <= 120
    assert (folder / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "compiling takes another" in err
    assert re.search(r"\nLR-CSSP .* 20/20 ", err)
    assert "\x1b" not in err


def test_a_folder_that_cannot_be_made_is_one_line_before_anyone_waits(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
