"""Where a store is: a folder with a SQLite database, or a schema of a PostgreSQL database."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import ModuleType

from goalbound.errors import InputError, StoreError
from goalbound.extras import install_command
from goalbound.models.files.io import file_name
from goalbound.serve.store.database_url import is_database, shown_url
from goalbound.serve.store.files import DATABASE, SNAPSHOTS, FolderLock, check_local
from goalbound.serve.store.log import EventLog
from goalbound.serve.store.sqlite_log import SqliteLog

_COPIES = "goalbound-copies-"
_LEFT_SECONDS = 60.0  # a folder that was made just now may not be locked yet


@dataclass(frozen=True)
class OpenLog:
    """A log that is open, and the folder that belongs to it.

    Attributes:
        log: the events.
        folder: of this machine: the snapshots, and how far the log had come.
        on_disk: whether the log itself is on the disk of the folder.
        release: lets others have it, once the log is closed.
    """

    log: EventLog
    folder: Path
    on_disk: bool = True
    release: Callable[[], None] = field(default=lambda: None)

    @property
    def snapshots(self) -> Path:
        """The folder of the snapshots."""
        return self.folder / SNAPSHOTS

    def close(self) -> None:
        """Nothing is used any more."""
        try:
            self.log.close()
        finally:
            self.release()


@dataclass(frozen=True)
class Location:
    """A folder, or the URL of a database with a folder of this machine for copies of its snapshots.

    Attributes:
        place: the folder, or the URL. It may hold a password: show the name instead.
        cache: for a database, the folder of the copies; None: a temporary one.
    """

    place: Path | str
    cache: Path | None = None

    @property
    def name(self) -> str:
        """As people may see it."""
        return shown_url(self.place) if isinstance(self.place, str) else str(self.place)

    def __repr__(self) -> str:
        return f"Location({self.name!r})"

    def open_to_write(self, *, create: bool, synchronous: str = "FULL") -> OpenLog:
        """The log of the one process that writes.

        Raises:
            StoreLocked: another process writes.
            StoreError: there is no store, and none is to be made.
        """
        if isinstance(self.place, str):
            module, url = _postgres(), self.place
            return self._with_cache(lambda: module.PostgresLog(url, create=create, synchronous=synchronous))
        _prepare(self.place, create=create)
        lock = FolderLock(self.place)
        try:
            check_local(self.place)
            log = SqliteLog(self.place / DATABASE, synchronous=synchronous)
        except BaseException:
            lock.release()
            raise
        return OpenLog(log, self.place, release=lock.release)

    def open_to_read(self) -> OpenLog:
        """The log beside the process that may write to it."""
        if isinstance(self.place, str):
            return self._with_cache(self.read_only_log)
        return OpenLog(self.read_only_log(), self.place)

    def read_only_log(self) -> EventLog:
        """The events alone, without a folder for snapshots."""
        if isinstance(self.place, str):
            log: EventLog = _postgres().PostgresLog(self.place, readonly=True)
            return log
        if not (self.place / DATABASE).is_file():
            raise StoreError(f"{self.place}: there is no store")
        return SqliteLog(self.place / DATABASE, readonly=True)

    def _with_cache(self, opened: Callable[[], EventLog]) -> OpenLog:
        if self.cache is None:
            remove_left_copies()
            folder = Path(tempfile.mkdtemp(prefix=_COPIES))
            lock = FolderLock(folder)

            def release() -> None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()
        else:
            folder = self.cache
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (folder / DATABASE).exists():
                raise StoreError(f"{folder} holds a store of its own; give another folder for copies of snapshots")
            release = FolderLock(folder).release
        try:
            return OpenLog(opened(), folder, on_disk=False, release=release)
        except BaseException:
            release()
            raise


def remove_left_copies() -> None:
    """Remove the temporary folders that processes of this user left which were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_COPIES}*"):
        with suppress(OSError, StoreError):  # somebody uses it, or removes it, too
            about = folder.stat()
            mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            if mine and time.time() - about.st_mtime > _LEFT_SECONDS:
                lock = FolderLock(folder)
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()


def location_of(path: str | PathLike[str], *, cache: str | PathLike[str] | None = None) -> Location:
    """The location of a store, by the path of its folder or the URL of its database."""
    copies = None if cache is None else Path(file_name(cache))
    place = file_name(path)
    if is_database(place):
        return Location(place, copies)
    if copies is not None:
        raise InputError("a folder for copies of snapshots is for databases; a store in a folder has its own")
    return Location(Path(place))


def _prepare(folder: Path, *, create: bool) -> None:
    """The folder of a store, or of a new one."""
    if (folder / DATABASE).is_file():
        return
    if not create:
        raise StoreError(f"{folder}: there is no store")
    if folder.is_dir() and any(one.name != "lock" for one in folder.iterdir()):
        raise StoreError(f"{folder} is not empty and holds no store; give a folder of its own")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _postgres() -> ModuleType:
    try:
        from goalbound.serve.store import postgres_log
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("psycopg"):
            raise
        raise InputError(f"PostgreSQL needs psycopg: {install_command('postgres')}") from None
    return postgres_log
