"""Where stores are."""

import builtins
import os
import sys
import tempfile
import time

import pytest

from goalbound.errors import InputError, StoreError, StoreLocked
from goalbound.serve.store.files import DATABASE, SNAPSHOTS
from goalbound.serve.store.locations import location_of


def test_a_log_is_open_to_write_once_and_to_read_as_often_as_wanted(place):
    location = location_of(place)
    with pytest.raises(StoreError, match="there is no store"):
        location.open_to_read()
    with pytest.raises(StoreError, match="there is no store"):
        location.open_to_write(create=False)
    opened = location.open_to_write(create=True)
    readers = [location.open_to_read() for _ in range(2)]
    with pytest.raises(StoreLocked):
        location.open_to_write(create=False)
    assert opened.snapshots == opened.folder / SNAPSHOTS
    for one in (opened, *readers):
        one.close()
    location.open_to_write(create=False).close()


def test_a_folder_for_copies_that_nobody_named_is_gone_at_the_end(database):
    opened = location_of(database).open_to_write(create=True)
    assert opened.folder.is_dir()
    assert not opened.on_disk
    opened.close()
    assert not opened.folder.exists()


def test_a_folder_for_copies_that_was_named_stays_and_is_used_once(database, tmp_path):
    cache = tmp_path / "cache"
    opened = location_of(database, cache=cache).open_to_write(create=True)
    with pytest.raises(StoreLocked):
        location_of(database, cache=cache).open_to_read()
    opened.close()
    assert cache.is_dir()
    (cache / DATABASE).touch()
    with pytest.raises(StoreError, match="holds a store of its own"):
        location_of(database, cache=cache).open_to_read()


def test_a_folder_has_no_other_folder_for_copies(tmp_path):
    with pytest.raises(InputError, match="for databases"):
        location_of(tmp_path, cache=tmp_path)


def test_the_name_of_a_location_has_no_password(tmp_path):
    location = location_of("postgresql://ann:hush@db/x")
    assert location.name == "postgresql://ann@db/x"
    assert "hush" not in repr(location)
    assert location_of(tmp_path / "store").name == str(tmp_path / "store")


def test_without_psycopg_it_is_said_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("psycopg"):
            raise ModuleNotFoundError("no psycopg", name=name)
        return real(name, *rest)

    import goalbound.serve.store

    monkeypatch.delitem(sys.modules, "goalbound.serve.store.postgres_log", raising=False)
    monkeypatch.delattr(goalbound.serve.store, "postgres_log", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"needs psycopg: .*pip install.*\[postgres\]"):
        location_of("postgresql://db/x").open_to_read()


def test_folders_that_killed_processes_left_are_removed_and_those_in_use_stay(database, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new = tmp_path / "goalbound-copies-1", tmp_path / "goalbound-copies-2"
    for folder, age in ((left, 3600), (new, 0)):
        (folder / SNAPSHOTS).mkdir(parents=True)
        os.utime(folder, (time.time() - age,) * 2)
    opened = location_of(database).open_to_write(create=True)
    os.utime(opened.folder, (time.time() - 3600,) * 2)
    reader = location_of(database).open_to_read()
    assert not left.exists()
    assert new.is_dir()
    assert opened.folder.is_dir()
    reader.close()
    opened.close()
    assert [one.name for one in tmp_path.iterdir()] == [new.name]
