"""Bearer tokens: 256 random bits, of which only a hash is kept, with scopes, expiry and revocation."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goalbound.errors import ArgumentError, FileFormatError, InputError, StoreError
from goalbound.models.files.io import atomic_write, strict_json
from goalbound.models.files.saved_files import locked
from goalbound.serve.store.database_url import shown_url

log = logging.getLogger("goalbound.serve.service")

FILE = "tokens.json"
SCOPES = ("cases:read", "cases:write", "events:read", "metrics", "admin")
"""What a token may allow. ``admin`` allows everything."""
_LOOK_SECONDS = 0.5  # revocations take effect within so long
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

    A running service looks at them twice a second.

    Args:
        place: the folder of the store, or the URL of its database.
    """

    def __init__(self, place: Path | str) -> None:
        self._source: _File | _Row = _Row(place) if isinstance(place, str) else _File(place / FILE)
        self._stamp: Any = None
        self._looked = 0.0
        self._tokens: dict[str, Token] = {}
        self._read()

    def __bool__(self) -> bool:
        """Whether there is any, even one that does not count: then everybody needs one."""
        self._look()
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
        expires = None if days is None else now + 86400.0 * days
        self._change({id: Token(_hash(secret), wanted, now, expires)})
        return f"gb_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """A token counts no more."""
        self._read()
        if id not in self._tokens:
            raise ArgumentError(f"there is no token {id!r}; there are {', '.join(self._tokens) or 'none'}")
        old = self._tokens[id]
        self._change({id: Token(old.sha256, old.scopes, old.created, old.expires, revoked=True)})

    def find(self, authorization: bytes | None) -> Token | None:
        """The token of an Authorization header, if it counts."""
        token = self._held(authorization)
        return token if token is not None and token.is_valid(time.time()) else None

    def why_not(self, authorization: bytes | None) -> str:
        """What to say to whoever has no token that counts. Only who knows the secret is told that there was one."""
        token = self._held(authorization)
        if token is None:
            given = "" if authorization is None else "there is no such token; "
            return f"{given}give a token: Authorization: Bearer ..."
        ended = "was revoked" if token.revoked else "has expired"
        return f"this token {ended}; ask whoever runs the service for a new one (goalbound token FOLDER --scope ...)"

    def _held(self, authorization: bytes | None) -> Token | None:
        """The token of an Authorization header, whether it counts or not."""
        self._look()
        words = (authorization or b"").split(b" ")
        if len(words) != 2 or words[0].lower() != b"bearer":
            return None
        _, _, rest = words[1].decode("latin-1").partition("_")
        id, _, secret = rest.partition("_")
        token = self._tokens.get(id)
        # An unknown id takes as long as a known one.
        same = hmac.compare_digest(_hash(secret), token.sha256 if token is not None else _hash(""))
        return token if same else None

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._source.watch()
            try:
                self._read()
            except (InputError, OSError) as error:  # nobody who asks can do anything about it, nor is to know
                log.error("the tokens stay as they were: %s", error)

    def _read(self) -> None:
        stamp = self._source.stamp()
        if stamp is None:
            self._tokens, self._stamp = {}, None
            return
        if stamp == self._stamp:
            return
        self._tokens, self._stamp = self._parsed(self._source.read()), stamp

    def _parsed(self, data: bytes) -> dict[str, Token]:
        try:
            return {
                str(id): Token(**{**one, "scopes": tuple(one["scopes"])})
                for id, one in strict_json(data, self._source.name).items()
            }
        except (TypeError, KeyError) as error:
            raise FileFormatError(f"{self._source.name}: a token is not as it was written ({error})") from None

    def _change(self, tokens: dict[str, Token]) -> None:
        def changed(data: bytes | None) -> bytes:
            every = (self._parsed(data) if data is not None else {}) | tokens
            return json.dumps({id: asdict(one) for id, one in every.items()}, indent=1).encode()

        self._source.change(changed)
        self._read()

    def close(self) -> None:
        """Nothing is looked at any more."""
        self._source.close()


class _File:
    """Tokens in a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def stamp(self) -> Any:
        """Another one whenever it has changed; None: there is no file."""
        try:
            about = os.stat(self._path)
        except FileNotFoundError:
            return None
        return about.st_mtime_ns, about.st_ino, about.st_size

    def read(self) -> bytes:
        with open(self._path, "rb") as file:
            return file.read(_MOST_BYTES)

    def change(self, change: Callable[[bytes | None], bytes]) -> None:
        with locked(self._path):
            data = change(None if self.stamp() is None else self.read())
            with atomic_write(self._path, private=True) as file:
                file.write(data)

    def watch(self) -> None:
        """Nothing: whoever looks, looks at the file."""

    def close(self) -> None:
        """Nothing is open."""


class _Row:
    """Tokens in a database. A thread of its own reads them, so that no request waits for the database."""

    def __init__(self, url: str) -> None:
        from goalbound.serve.store.postgres_connection import SharedText

        self.name = shown_url(url)
        self._text = SharedText(url, "tokens")
        self._data = self._text.read()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def stamp(self) -> Any:
        """The text itself; None: there is none."""
        return self._data

    def read(self) -> bytes:
        return self._data or b"{}"

    def change(self, change: Callable[[bytes | None], bytes]) -> None:
        self._data = self._text.change(change)

    def watch(self) -> None:
        """From now on it is read twice a second."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="goalbound tokens", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        well = True
        while not self._closed.wait(_LOOK_SECONDS):
            try:
                self._data = self._text.read()
                well = True
            except StoreError as error:
                if well:
                    log.error("the tokens stay as they were: %s", error)
                well = False
        self._text.close()

    def close(self) -> None:
        self._closed.set()
        if self._thread is None:
            self._text.close()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
