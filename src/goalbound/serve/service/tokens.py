"""Bearer tokens: 256 random bits, of which only a hash is kept, with scopes, expiry and revocation."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from goalbound.errors import ArgumentError, FileFormatError, InputError, StoreError
from goalbound.models.files.io import atomic_write, strict_json
from goalbound.models.files.saved_files import locked
from goalbound.serve.store.database_url import database_of, shown
from goalbound.serve.store.log import connected, driver, lock_key, store_error

log = logging.getLogger("goalbound.serve.service")

FILE = "tokens.json"
SCOPES = ("cases:read", "cases:write", "events:read", "metrics", "admin")
"""What a token may allow. ``admin`` allows everything."""
_MOST_BYTES = 2**20


@dataclass(frozen=True)
class Token:
    """What is kept of a token.

    Attributes:
        sha256: of its secret.
        scopes: what it allows.
        created, expires: seconds since 1970; None: never.
        revoked: whether it counts no more.
    """

    sha256: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None = None
    revoked: bool = False

    def is_valid(self, now: float) -> bool:
        """Whether it counts."""
        return not self.revoked and (self.expires is None or now < self.expires)

    def allows(self, scope: str) -> bool:
        """Whether it allows this."""
        return scope in self.scopes or "admin" in self.scopes


class Tokens:
    """The tokens of a store: in a file beside its log that only its owner may read, or in its database.

    A running service looks at them twice a second (:meth:`look`).

    Args:
        place: the folder of the store, or the URL of its database.
    """

    LOOK_SECONDS = 0.5

    def __init__(self, place: Path | str) -> None:
        self._name = shown(place)
        self._source: _File | _Row = _Row(place) if isinstance(place, str) else _File(place / FILE)
        self._data: bytes | None = None
        self._tokens: dict[str, Token] = {}
        self._read()

    def __bool__(self) -> bool:
        """Whether there is any, even one that does not count: then everybody needs one."""
        return bool(self._tokens)

    @property
    def all(self) -> dict[str, Token]:
        """By their ids."""
        return dict(self._tokens)

    def create(self, scopes: Iterable[str], *, days: float | None = None) -> str:
        """A new token; it is shown once, here."""
        wanted = tuple(scopes)
        unknown = [scope for scope in wanted if scope not in SCOPES]
        if unknown or not wanted:
            raise ArgumentError(f"{unknown[:1] or 'no scope'} is no scope; there are {', '.join(SCOPES)}")
        if days is not None and not 0.0 < days < 1e6:
            raise ArgumentError(f"days is {days}; it is how long the token counts, above 0")
        id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        now = time.time()
        self._change(id, Token(_hash(secret), wanted, now, None if days is None else now + 86400.0 * days))
        return f"gb_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """A token counts no more."""
        self._read()
        if id not in self._tokens:
            raise ArgumentError(f"there is no token {id!r}; there are {', '.join(self._tokens) or 'none'}")
        self._change(id, replace(self._tokens[id], revoked=True))

    def find(self, authorization: str | None) -> Token | None:
        """The token of an Authorization header, if it counts."""
        token = self._held(authorization)
        return token if token is not None and token.is_valid(time.time()) else None

    def why_not(self, authorization: str | None) -> str:
        """What to say to whoever has no token that counts. Only who knows the secret is told that there was one."""
        token = self._held(authorization)
        if token is None:
            given = "" if authorization is None else "there is no such token; "
            return f"{given}give a token: Authorization: Bearer ..."
        ended = "was revoked" if token.revoked else "has expired"
        return f"this token {ended}; ask whoever runs the service for a new one (goalbound token FOLDER --scope ...)"

    def look(self) -> None:
        """Read the tokens again; where that fails they stay as they were."""
        try:
            self._read()
        except (InputError, StoreError, OSError) as error:  # nobody who asks can do anything about it, nor is to know
            log.error("the tokens stay as they were: %s", error)

    def close(self) -> None:
        """Nothing is looked at any more."""
        self._source.close()

    def _held(self, authorization: str | None) -> Token | None:
        """The token of an Authorization header, whether it counts or not."""
        words = (authorization or "").split(" ")
        if len(words) != 2 or words[0].lower() != "bearer":
            return None
        _, _, rest = words[1].partition("_")
        id, _, secret = rest.partition("_")
        token = self._tokens.get(id)
        # An unknown id takes as long as a known one.
        same = hmac.compare_digest(_hash(secret), token.sha256 if token is not None else _hash(""))
        return token if same else None

    def _read(self) -> None:
        data = self._source.read()
        if data != self._data:
            self._tokens, self._data = self._parsed(data), data

    def _parsed(self, data: bytes | None) -> dict[str, Token]:
        try:
            content = {} if data is None else strict_json(data, self._name)
            return {str(id): Token(**{**fields, "scopes": tuple(fields["scopes"])}) for id, fields in content.items()}
        except (TypeError, KeyError) as error:
            raise FileFormatError(f"{self._name}: a token is not as it was written ({error})") from None

    def _change(self, id: str, token: Token) -> None:
        def changed(data: bytes | None) -> bytes:
            every = self._parsed(data) | {id: token}
            return json.dumps({id: asdict(token) for id, token in every.items()}, indent=1).encode()

        self._source.change(changed)
        self._read()


class _File:
    """Tokens in a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes | None:
        if not self._path.exists():
            return None
        with open(self._path, "rb") as file:
            return file.read(_MOST_BYTES)

    def change(self, change: Callable[[bytes | None], bytes]) -> None:
        with locked(self._path):
            data = change(self.read())
            with atomic_write(self._path, private=True) as file:
                file.write(data)

    def close(self) -> None:
        """Nothing is open."""


class _Row:
    """Tokens in a database, under a key of the table ``meta``; the connection is made again after an error."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    def read(self) -> bytes | None:
        try:
            self._connection = self._connection or self._connected()
            row = self._connection.execute("SELECT value FROM meta WHERE key = 'tokens'").fetchone()
        except Exception as error:
            self.close()
            raise error if isinstance(error, StoreError) else store_error(error, self._url) from None
        return None if row is None else str(row[0]).encode()

    def change(self, change: Callable[[bytes | None], bytes]) -> None:
        key = lock_key(database_of(self._url).schema, "tokens")
        self.read()
        put = "INSERT INTO meta VALUES ('tokens', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        try:
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
                data = change(self.read())
                self._connection.execute(put, (data.decode(),))
        except driver().Error as error:
            self.close()
            raise store_error(error, self._url) from None

    def _connected(self) -> Any:
        connection = connected(self._url, writes=True)
        if not (connection.execute("SELECT to_regclass('meta') IS NOT NULL").fetchone() or (False,))[0]:
            connection.close()
            raise StoreError(f"{shown(self._url)}: there is no store")
        return connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
