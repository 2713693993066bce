"""URLs of databases: what they name, and how they are shown, without passwords."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from goalbound.errors import ArgumentError
from goalbound.models.files.io import file_name

SCHEMES = ("postgresql", "postgres")
SCHEMA = "goalbound"
"""Where the tables are, unless the URL names another schema."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SHOWN = ("host", "port", "user", "dbname", "schema")
_SECRET = ("password", "sslpassword", "oauth_client_secret")
_LIKE_A_DATABASE = re.compile(
    r"""://                                                            # any URL
    | (?:^|[/\\])\s*(?:jdbc:)?postgres(?:ql)?(?:\+\w+)?:             # without slashes, or with one
    | ^(?://[^/]|(?![/.~]|[a-z]:[/\\])).*:.*@                        # user:password@host
    | (?:^|[\s?&;])(?:\w*password|pwd|host|hostaddr|port|dbname|user|passfile|service|sslmode)\s*=  # as libpq has it
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Database(NamedTuple):
    """What a URL names: the address as libpq reads it, and the schema."""

    address: str
    schema: str


def is_database(path: str) -> bool:
    """Whether this is the URL of a database, and no path; an error for what looks like one and is not read.

    >>> is_database("postgresql://db/incidents"), is_database("incidents")
    (True, False)
    """
    scheme, slashes, _ = path.partition("://")
    if slashes and scheme.lower() in SCHEMES:
        return True
    if _LIKE_A_DATABASE.search(path):  # a folder of this name would hold the password
        raise ArgumentError(
            "the location of the store looks like the address of a database, and is none that is read; write "
            "postgresql://user@host/database, with the password in a file (PGPASSFILE). For a folder of this name "
            "write its whole path"
        )
    return False


def place_of(path: str | PathLike[str]) -> Path | str:
    """The folder of a store, or the URL of its database, which may hold a password: show :func:`shown` of it."""
    name = file_name(path)
    return name if is_database(name) else Path(name)


def shown(place: Path | str) -> str:
    """A place as people may see it."""
    return shown_url(place) if isinstance(place, str) else str(place)


def database_of(url: str) -> Database:
    """The address and the schema.

    >>> database_of("postgresql://ann@db/cases?schema=incidents&sslmode=require")
    Database(address='postgresql://ann@db/cases?sslmode=require', schema='incidents')
    """
    parts = _split(url)
    found = parse_qsl(parts.query, keep_blank_values=True)
    schema = next((value for name, value in found if name == "schema"), SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ArgumentError(f"the schema is {schema!r:.80}; use small letters, digits and _, at most 63")
    rest = urlencode([(name, value) for name, value in found if name != "schema"], quote_via=quote, safe="/")
    return Database(f"{parts.scheme}://{parts.netloc}{parts.path}{'?' + rest if rest else ''}", schema)


def shown_url(url: str) -> str:
    """A URL as it may be seen by anybody.

    >>> shown_url("postgresql://ann:secret@db:5433/cases?schema=incidents&sslpassword=other")
    'postgresql://ann@db:5433/cases?schema=incidents'
    """
    try:
        parts = _split(url)
    except ArgumentError:
        return f"{SCHEMES[0]}://..."
    user, _, hosts = parts.netloc.rpartition("@")
    named = user.partition(":")[0]
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in _SHOWN], quote_via=quote, safe="/")
    return f"{parts.scheme}://{named + '@' if named else ''}{hosts}{parts.path}{'?' + query if query else ''}"


def scrubbed(text: str, url: str) -> str:
    """A text without the passwords of a URL, should they be in it."""
    try:
        parts = _split(url)
    except ArgumentError:
        return "the URL cannot be read"
    given = parts.netloc.rpartition("@")[0].partition(":")[2]
    secrets = [given, *(value for name, value in parse_qsl(parts.query) if name in _SECRET)]
    for secret in {form for one in secrets if one for form in (one, unquote(one), quote(one, safe=""))}:
        text = text.replace(secret, "***")
    return text


def _split(url: str) -> Any:
    """The parts of a URL, if it is clear which of them is a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    # A password with / ? or # in it ends the part that it stands in; one with @ would be read as part of the host.
    if parts is None or parts.fragment or "@" in parts.path + parts.query or parts.netloc.count("@") > 1:
        raise ArgumentError(
            "the URL of the database cannot be read; write postgresql://user@host/database, with %40 for @, %2F for / "
            "and the like in passwords, or better leave the password to a file (PGPASSFILE)"
        )
    return parts
