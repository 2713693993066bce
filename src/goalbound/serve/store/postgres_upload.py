"""Snapshots sent to PostgreSQL by a connection of their own, so that no step waits for them.

What is sent is no snapshot yet. The leader lists it by its own connection, under its epoch, once all of it is there.
Every row that is sent holds the epoch, too, and is written only while no snapshot of its event is listed. So whoever
was replaced as the leader sends nothing and lists nothing, and what is listed is never changed from here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

import psycopg
from psycopg import sql

from goalbound.errors import StoreError
from goalbound.serve.store.database_url import database_of
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.postgres_connection import connected, words_of

log = logging.getLogger("goalbound.serve.store")

PART = 4 * 2**20
"""Bytes of a snapshot in one row."""
_MAY_SEND = """may_send AS MATERIALIZED (
  SELECT 1 FROM leader WHERE epoch = %s AND NOT EXISTS (SELECT 1 FROM snapshot WHERE seq = %s) FOR SHARE)"""
_REMOVE = f"WITH {_MAY_SEND} DELETE FROM snapshot_part WHERE seq = %s AND EXISTS (SELECT 1 FROM may_send)"
_ADD = f"WITH {_MAY_SEND} INSERT INTO snapshot_part SELECT %s::bigint, %s::bigint, %s::bytea FROM may_send"


class Sent(NamedTuple):
    """What was sent of a file: rows, and the bytes in them."""

    parts: int
    size: int


def parts_of(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The rows of the file of a snapshot: their numbers, and what is in them."""
    number = 0
    while data := file.read(PART):
        yield number, data
        number += 1


class SnapshotUpload:
    """A thread that sends the file of a snapshot; the thread of the leader uses this object.

    No row is waited for until it is on the disk of the server. The commit that lists the snapshot is, and follows them
    in the same write-ahead log: whatever has the list has the rows.

    Args:
        url: of the store.
        epoch: of the leader.
        entry: the snapshot, which is not listed.
        folder: where its file is.
        is_there: whether the leader's own connection finds what was sent. Of several hosts this one may be another.
    """

    def __init__(
        self, url: str, epoch: int, entry: SnapshotEntry, folder: Path, *, is_there: Callable[[Sent], bool]
    ) -> None:
        self._url, self._epoch, self._entry, self._path = url, epoch, entry, folder / entry.file
        self._is_there = is_there
        self._sent: Sent | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="goalbound upload", daemon=True)
        self._thread.start()

    def done(self) -> tuple[bool, SnapshotEntry | None]:
        """Whether it has ended, and the snapshot if all of it is there, so that it may be listed."""
        if self._thread.is_alive():
            return False, None
        whole = not self._ended and self._sent is not None and self._is_there(self._sent)
        return True, self._entry if whole else None

    def end(self, *, wait: bool = True) -> None:
        """Send no more rows after the one that is under way, which is waited for; the snapshot may not be listed."""
        self._ended = True
        if wait:
            self._thread.join()

    # In the thread.

    def _run(self) -> None:
        try:
            with connected(self._url, writes=True) as connection:
                self._sent = self._send(connection)
        except (psycopg.Error, StoreError, OSError) as error:
            told = words_of(error, self._url) if isinstance(error, psycopg.Error) else error
            log.warning("the snapshot after event %d was not sent (%s); another one will be", self._entry.seq, told)

    def _send(self, connection: psycopg.Connection[Any]) -> Sent | None:
        """Send the file; None: not all of it, because somebody else is the leader, or it was told to end."""
        seq, found, size, count = self._entry.seq, sha256(), 0, 0
        may_send = (self._epoch, seq)
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(database_of(self._url).schema)))
        connection.execute("SET synchronous_commit = off")
        connection.execute(_REMOVE.encode(), (*may_send, seq))  # what an earlier process has left
        with open(self._path, "rb") as file:
            for number, data in parts_of(file):
                if self._ended or connection.execute(_ADD.encode(), (*may_send, seq, number, data)).rowcount != 1:
                    return None
                found.update(data)
                size, count = size + len(data), number + 1
        return Sent(count, size) if found.hexdigest() == self._entry.sha256 else None
