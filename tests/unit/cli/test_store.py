"""``goalbound store``."""

import json

import pytest

from goalbound.cli import main
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled, drawing, open_store


def test_a_store_moves_to_a_database_and_is_looked_at_checked_and_compacted_there(folder, database, tmp_path, capsys):
    assert main(["store", "export", str(folder), str(tmp_path / "log")]) == 0
    assert main(["store", "import", database, str(tmp_path / "log")]) == 0
    found = []
    for place in (str(folder), database):
        capsys.readouterr()
        assert main(["store", "verify", place, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [found[0][name] for name in ("events", "seq", "chain", "state")] == [
        found[1][name] for name in ("events", "seq", "chain", "state")
    ]
    assert main(["store", "status", database]) == 0
    assert main(["store", "compact", database, "--archive", str(tmp_path / "old")]) == 0
    assert "21 events moved" in capsys.readouterr().out
    assert (tmp_path / "old").read_bytes() == (tmp_path / "log").read_bytes()
    greedy().save(tmp_path / "other.npz")
    assert main(["store", "create", database, "other", "--learner", str(tmp_path / "other.npz")]) == 0


@pytest.fixture
def folder(tmp_path):
    greedy().save(tmp_path / "learner.npz")
    assert (
        main(["store", "create", str(tmp_path / "store"), "incidents", "--learner", str(tmp_path / "learner.npz")]) == 0
    )
    with open_store(tmp_path / "store") as store:
        Handled().go_on(store.learner("incidents"), 20)
    return tmp_path / "store"


def test_a_store_is_made_looked_at_checked_copied_and_compacted(folder, tmp_path, capsys):
    capsys.readouterr()
    assert main(["store", "status", str(folder)]) == 0
    assert "21 events" in capsys.readouterr().out
    assert main(["store", "verify", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["replayed"], found["snapshots"]) == (21, 2)
    assert main(["store", "export", str(folder), str(tmp_path / "log")]) == 0
    assert main(["store", "import", str(tmp_path / "copy"), str(tmp_path / "log")]) == 0
    capsys.readouterr()
    assert main(["store", "verify", str(tmp_path / "copy")]) == 0
    text = capsys.readouterr().out
    assert "21 events: all are as they were written, and give the same actions" in text
    assert found["state"] in text
    assert main(["store", "compact", str(folder), "--archive", str(tmp_path / "old")]) == 0
    assert "21 events moved" in capsys.readouterr().out
    assert (tmp_path / "old").read_bytes() == (tmp_path / "log").read_bytes()


def test_a_challenger_is_created_and_promoted(folder, tmp_path, capsys):
    drawing().save(tmp_path / "rival.npz")
    words = [
        "store",
        "create",
        str(folder),
        "rival",
        "--learner",
        str(tmp_path / "rival.npz"),
        "--follows",
        "incidents",
    ]
    assert main(words) == 0
    assert main(["store", "promote", str(folder), "rival"]) == 0
    capsys.readouterr()
    assert main(["store", "status", str(folder)]) == 0
    assert "incidents: EpsilonGreedy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["verify", "{folder}/none"], 1, "there is no store"),
        (["create", "{folder}"], 2, "the name of the learner"),
        (["create", "{folder}", "x"], 2, "--learner learner.npz"),
        (["compact", "{folder}"], 2, "--archive old.ndjson"),
        (["export", "{folder}"], 2, "the file to write"),
        (["export", "{folder}", "{folder}/lock"], 2, "exists"),
        (["promote", "{folder}", "incidents"], 2, "only a challenger"),
        (["burn", "{folder}"], 2, "burn"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder, capsys, words, code, message):
    capsys.readouterr()
    assert main(["store", *(word.format(folder=folder) for word in words)]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
