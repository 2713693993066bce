"""Only its owner may read what a store writes, whatever the umask."""

import os
import stat

import pytest

from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Store
from goalbound.serve.store.transfer import export_log, import_log
from tests.support.incidents_at_work import greedy
from tests.support.stores import SELDOM


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    return {str(one.relative_to(folder)): stat.S_IMODE(one.stat().st_mode) for one in (folder, *folder.rglob("*"))}


@pytest.mark.usefixtures("open_umask")
@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_files_and_folders_of_a_store_are_private_whatever_the_umask(tmp_path):
    place = tmp_path / "new" / "store"
    with Store.open(place, options=SELDOM) as store:
        store.create("incidents", greedy()).begin([1.0, 0.0], "down", id="a")
        store.snapshot()
        Tokens(place).create(["admin"])
        store.back_up(tmp_path / "copy")
        export_log(place, tmp_path / "log.ndjson")
        open_modes = modes(place)
        store.compact()
    import_log(tmp_path / "imported", tmp_path / "log.ndjson")
    assert {"log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "lock", "tokens.json"} <= open_modes.keys()
    assert stat.S_IMODE((tmp_path / "log.ndjson").stat().st_mode) == 0o600
    for found in (open_modes, *map(modes, (place, tmp_path / "copy", tmp_path / "imported"))):
        for name, mode in found.items():
            assert mode == (0o700 if name == "." else 0o600), name


@pytest.mark.usefixtures("open_umask")
@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_in_a_folder_that_others_may_read_the_files_are_private(tmp_path):
    with Store.open(tmp_path, options=SELDOM) as store:
        store.create("incidents", greedy())
        assert {mode for name, mode in modes(tmp_path).items() if (tmp_path / name).is_file()} == {0o600}
