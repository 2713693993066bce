"""A PostgreSQL server of our own: a new cluster in a temporary folder, on a Unix socket, with fsync on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

SETTINGS = {
    "listen_addresses": "''", "fsync": "on", "shared_buffers": "16MB", "max_connections": "40",
    "autovacuum": "off", "log_min_messages": "fatal", "wal_level": "minimal", "max_wal_senders": "0",
}  # fmt: skip
GUARDED, SECRET = "guarded", "correct horse"
"""A role with a password; all others have none."""


def missing() -> str | None:
    """Why there is no server here; None: there is one."""
    if _programs() is None:
        return 'no PostgreSQL server here; "make postgres" installs it'
    if _is_root() and _owner() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody here"
    return None


class Cluster:
    """A server; as root it runs as another user, since PostgreSQL refuses to run as root.

    >>> with Cluster() as cluster:  # doctest: +SKIP
    ...     store = Store.open(cluster.url("cases"))
    """

    def __init__(self) -> None:
        programs = _programs()
        if programs is None:
            raise RuntimeError(missing())
        self._programs = programs
        self._owner = _owner() if _is_root() else None
        self.folder = Path(tempfile.mkdtemp(prefix="goalbound-pg-"))  # not below a folder that only root may enter
        if self._owner is not None:
            os.chown(self.folder, self._owner.pw_uid, self._owner.pw_gid)
        self._data = self.folder / "data"
        words = ["--no-sync", "--username=goalbound", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        self._run("initdb", *words, f"--pgdata={self._data}")
        with open(self._data / "postgresql.conf", "a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in SETTINGS.items())
            file.write(f"unix_socket_directories = '{self.folder}'\n")
            if int((self._data / "PG_VERSION").read_text()) >= 14:  # a recovery need not sync each file by itself
                file.write("recovery_init_sync_method = syncfs\n")
        access = self._data / "pg_hba.conf"
        access.write_text(f"local all {GUARDED} scram-sha-256\n{access.read_text()}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run("pg_ctl", "start", "--wait", f"--pgdata={self._data}", f"--log={self.folder / 'log'}")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; ``immediate`` is as if the power went: nothing is written any more, and it recovers later."""
        self._run("pg_ctl", "stop", "--wait", f"--pgdata={self._data}", f"--mode={mode}")

    def close(self) -> None:
        """Stop it, and remove all of it."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str = "goalbound", *, user: str = "goalbound", password: str = "") -> str:
        """The address of a store."""
        who = user + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{who}@/postgres?host={self.folder}&schema={schema}"

    def _run(self, name: str, *words: str) -> None:
        as_owner: dict[str, Any] = {}
        if self._owner is not None:
            as_owner = {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}
        done = subprocess.run(
            [str(self._programs / name), *words], cwd=self.folder, check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120,
            env={**os.environ, "LC_ALL": "C", "HOME": str(self.folder)}, **as_owner,
        )  # fmt: skip
        if done.returncode:
            log = self.folder / "log"
            said = log.read_text(errors="replace")[-500:] if log.exists() else ""
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.decode()[-500:]} {said}")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return places[-1].parent if places else None


def _owner() -> Any:
    """Another user that the server can run as; None: there is none."""
    import pwd  # where there is no root, there is no such module

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
