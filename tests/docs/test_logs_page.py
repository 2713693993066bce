"""The page about logs runs from top to bottom, and says what is so."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from goalbound import load_learner
from goalbound.cli import main
from tests.support.documents import ROOT, blocks


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The blocks run in order, in an empty folder; their names, and what was printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("logs"))
        names: dict = {"printed": []}
        patch.setitem(names, "print", lambda *things: names["printed"].append(" ".join(map(str, things))))
        for code in blocks("docs/how_to/logs.md"):
            exec(code, names)
    return names


def test_what_the_page_says_is_printed(read: dict) -> None:
    printed = read["printed"]
    assert "'state': 'detected'" in printed[0]
    assert printed[1] == f"Log({len(read['rows']['case'])} steps, 2000 cases, 6 states, 20 pairs)"
    assert any(line.endswith(" min per step") for line in printed)
    assert any("row 7, column \"minutes\": 'about 5' is not a number" in line for line in printed)
    assert any(line.startswith("1 row 7, column") for line in printed)
    assert any("- 1 row skipped because of the loss or the next state" in line for line in printed)
    assert printed[-1].startswith("Not proven: the support was inferred from the log")


def test_the_number_of_steps_on_the_page_is_the_one_that_is_printed(read: dict) -> None:
    assert read["printed"][1] in (ROOT / "docs" / "how_to" / "logs.md").read_text(encoding="utf-8")


def test_the_options_of_the_page_read_the_log_of_the_page(read: dict, tmp_path: Path, capsys) -> None:
    page = (ROOT / "docs" / "how_to" / "logs.md").read_text(encoding="utf-8")
    options = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0]
    (tmp_path / "incidents.toml").write_text(options)
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(read["rows"])
        writer.writerows(zip(*read["rows"].values(), strict=True))
    words = ["fit", str(tmp_path / "log.csv"), "--map", str(tmp_path / "incidents.toml")]
    assert main([*words, "--report", str(tmp_path / "log.html")]) == 0
    assert f"{len(read['log'])} steps of 2000 cases" in capsys.readouterr().out


def test_the_support_of_the_page_is_the_same_in_python_and_in_the_file(read: dict, tmp_path: Path, capsys) -> None:
    page = (ROOT / "docs" / "how_to" / "logs.md").read_text(encoding="utf-8")
    (tmp_path / "tickets.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[2])
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(read["asked"])
        writer.writerows(zip(*read["asked"].values(), strict=True))
    words = ["fit", str(tmp_path / "log.csv"), "--map", str(tmp_path / "tickets.toml"), "--loss-floor", "0.1"]
    assert main([*words, "--out", str(tmp_path / "learner.npz")]) == 0
    assert "inferred" not in capsys.readouterr().out
    assert load_learner(tmp_path / "learner.npz").support == read["tickets"]


def test_a_learner_of_a_log_that_proves_nothing_says_so_on_the_page(read: dict) -> None:
    doubtful = read["doubtful"]
    assert doubtful.caveats[:2] == read["skipping"].validity_breaks
    assert len(doubtful.caveats) == 3
    assert doubtful.policy_bounds(read["now"]).guarantee.startswith("Not proven: the support was inferred from the log")
    assert read["learner"].policy_bounds(read["now"]).proven  # the log of the page itself is whole
