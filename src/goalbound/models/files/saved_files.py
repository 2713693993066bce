"""The files a learner has read and written, so that no save loses what another process has learned meanwhile.

A file may be replaced if it holds a state that the learner comes from: then all that was in it is in the learner too.
That is decided by the SHA-256 of the file as it was read or written, under a lock.
"""

from __future__ import annotations

import hashlib
import os
import stat
from os import PathLike
from pathlib import Path

from goalbound.errors import FileConflictError
from goalbound.models.files.lock import locked

_REMEDY = "save to another path, or replace it with overwrite=True"


class SavedFiles:
    """The files that a learner was read from or written to, with the digests of their contents."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[str, ...]] = {}

    def record(self, path: str | PathLike[str], data: bytes) -> None:
        """The learner was made from the bytes of this file."""
        self._digests[os.path.realpath(path)] = (hashlib.sha256(data).hexdigest(),)

    def check(self, path: str | PathLike[str]) -> None:
        """An error if there is a file that holds something else than what the learner comes from."""
        target = os.path.realpath(path)
        try:
            status = os.stat(target)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode):  # since the beginning of the save
            raise FileConflictError(f"{os.fspath(path)} is no regular file any more; save to another path")
        known = {digest for digests in self._digests.values() for digest in digests}
        if known and _digest(target) in known:
            return
        if target in self._digests:
            raise FileConflictError(
                f"{os.fspath(path)} is not as this learner read or wrote it last: another process may have saved it "
                f"since. Load it to continue from there; or {_REMEDY}"
            )
        raise FileConflictError(f"{os.fspath(path)} exists, and this learner neither read nor wrote it; {_REMEDY}")

    def replace(self, draft: Path, target: Path, *, overwrite: bool) -> None:
        """Put the finished file ``draft`` in the place of ``target``; the check and this are one step for others."""
        with locked(target):
            if not overwrite:
                self.check(target)
            name, digest = os.path.realpath(target), _digest(draft)
            # Files that are gone have nothing to lose. Both digests, until it is done: this may be broken off.
            kept = {path: digests for path, digests in self._digests.items() if os.path.exists(path)}
            self._digests = {**kept, name: (*kept.get(name, ()), digest)}
            os.replace(draft, target)
            self._digests[name] = (digest,)


def _digest(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
