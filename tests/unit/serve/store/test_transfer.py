"""Logs as text files."""

import json

import pytest

from goalbound.errors import FileFormatError, InputError, ReplayDifference
from goalbound.serve.store.events import Proposal
from goalbound.serve.store.transfer import export_log, import_log
from tests.support.stores import Handled, drawing, open_store


@pytest.fixture
def handled():
    return Handled(seed=3)


@pytest.fixture
def folder(tmp_path, handled):
    with open_store(tmp_path / "store") as store:
        handled.go_on(store.create("incidents", drawing()), 30)
    return tmp_path / "store"


def digest(folder):
    with open_store(folder) as store:
        return store.digest()


def test_an_imported_log_gives_the_same_store_and_the_same_file(folder, tmp_path):
    assert export_log(folder, tmp_path / "log") == 31
    assert import_log(tmp_path / "copy", tmp_path / "log") == 31
    assert digest(tmp_path / "copy") == digest(folder)
    export_log(tmp_path / "copy", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "log").read_bytes()


def changed(lines, number, **fields):
    line = json.loads(lines[number]) | fields
    return [*lines[:number], json.dumps(line, sort_keys=True).encode(), *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: changed(lines, 5, seq="5"), "line 6: event"),
        (lambda lines: changed(lines, 5, extra=1), "extra"),
        (lambda lines: [*lines[:6], *lines[7:]], "follows event"),
        (lambda lines: lines[:-1], "no last line"),
        (lambda lines: [*lines[:-2], lines[-1]], "says that it ends at"),
        (lambda lines: [*lines, lines[3]], "follows the line that ends"),
        (lambda lines: changed(lines, 0, version=9), "no log of goalbound of version 2"),
        (lambda lines: [b"{" + lines[0], *lines[1:]], "not JSON"),
        (lambda lines: changed(lines, 1, file="!"), "not base64"),
        (lambda lines: [*lines[:5], lines[1], *lines[5:]], "line 6 has a file for learner 1, which is in the store"),
    ],
)
def test_a_file_that_was_changed_is_refused(folder, tmp_path, change, message):
    export_log(folder, tmp_path / "log")
    lines = (tmp_path / "log").read_bytes().splitlines()
    (tmp_path / "bad").write_bytes(b"\n".join(change(lines)) + b"\n")
    with pytest.raises(FileFormatError, match=message):
        import_log(tmp_path / "copy", tmp_path / "bad")
    assert not (tmp_path / "copy").exists()  # no part of a store is left


def test_an_import_that_fails_leaves_the_store_as_it_was(folder, tmp_path, handled, monkeypatch):
    with open_store(folder) as store:
        export_log(folder, tmp_path / "archive")
        store.compact()
        handled.go_on(store.learner("incidents"), 12)
    export_log(folder, tmp_path / "rest")
    copy = tmp_path / "copy"
    import_log(copy, tmp_path / "archive")
    before = digest(copy)
    lines = (tmp_path / "rest").read_bytes().splitlines()
    (tmp_path / "bad").write_bytes(b"\n".join(lines[:-1]) + b"\n")
    with pytest.raises(FileFormatError, match="no last line"):
        import_log(copy, tmp_path / "bad")
    assert digest(copy) == before
    with monkeypatch.context() as patch:
        patch.setattr("goalbound.serve.store.machine.Machine.apply", lambda *_: Proposal(7))
        with pytest.raises(ReplayDifference):
            import_log(copy, tmp_path / "rest")
    assert digest(copy) == before
    assert import_log(copy, tmp_path / "rest") == 12
    assert digest(copy) == digest(folder)


def test_a_log_of_version_1_0_0_is_refused_in_one_line(tmp_path):
    (tmp_path / "log").write_text('{"after": 0, "chain": "00", "format": "goalbound-log", "version": 1}\n')
    with pytest.raises(InputError, match=r"a log of goalbound 1\.0\.0, .*goalbound fit") as caught:
        import_log(tmp_path / "store", tmp_path / "log")
    assert "\n" not in str(caught.value)
