"""A log that has lost its end."""

import shutil

import pytest

from goalbound.errors import StoreDamaged
from goalbound.serve.store.audit import verify
from goalbound.serve.store.files import DATABASE, SNAPSHOTS
from goalbound.serve.store.head import FILE, Head
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled, open_store


def test_what_was_noted_is_read_and_what_nobody_wrote_is_nothing(tmp_path):
    head = Head(tmp_path)
    assert head.read() is None
    head.note(17, b"c" * 16)
    assert head.read() == (17, b"c" * 16)
    head.note(18, b"d" * 16)  # not yet a second ago
    assert head.read() == (17, b"c" * 16)
    head.note(18, b"d" * 16, now=True)
    assert head.read() == (18, b"d" * 16)
    data = (tmp_path / FILE).read_bytes()
    for bad in (b"", b"\xff", data.replace(b"18", b"19", 1), data[:20]):
        (tmp_path / FILE).write_bytes(bad)
        assert Head(tmp_path).read() is None


@pytest.mark.parametrize("kept", ["head", "snapshots"])
def test_a_log_without_its_end_is_refused(tmp_path, kept):
    folder = tmp_path / "store"
    handled = Handled()
    with open_store(folder) as store:
        handled.go_on(store.create("incidents", greedy()), 10)
    shutil.copyfile(folder / DATABASE, tmp_path / "before")
    with open_store(folder) as store:
        handled.go_on(store.learner("incidents"), 10)
    shutil.copyfile(tmp_path / "before", folder / DATABASE)
    if kept == "head":
        shutil.rmtree(folder / SNAPSHOTS)
    else:
        (folder / FILE).unlink()
    for look in (open_store, verify):
        with pytest.raises(StoreDamaged, match=r"the log ends with event 11, and .*event 21"):
            look(folder)
    shutil.rmtree(folder / SNAPSHOTS, ignore_errors=True)
    (folder / FILE).unlink(missing_ok=True)
    open_store(folder).close()  # as the error says
