"""``goalbound serve`` and ``goalbound token``: a store over HTTP, and who may ask."""

from __future__ import annotations

import logging
import sys
import time
from argparse import Namespace

from goalbound.cli.arguments import UsageError
from goalbound.serve.service.app import Limits
from goalbound.serve.service.server import Address, Serving
from goalbound.serve.service.server import serve as serve_store
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import StoreOptions
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.log import open_log
from goalbound.terminal import table


def serve(arguments: Namespace) -> int:
    """Serve a store until the process is told to end."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    place = arguments.store or arguments.folder
    if place is None or (arguments.store and arguments.folder):
        raise UsageError("say where the store is: goalbound serve --store FOLDER|URL")
    serving = Serving(
        options=StoreOptions(most_cases=arguments.most_cases, reserve_bytes=arguments.reserve),
        limits=Limits(requests_a_second=arguments.rate),
        learners=dict(map(_named_file, arguments.learners)),
        ahead=not arguments.cold,
        standby=arguments.standby,
        access_log=arguments.access_log,
    )
    return serve_store(place, Address(arguments.host, arguments.port, arguments.socket), serving)


def _named_file(word: str) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    if not (name and equals and path):
        raise UsageError(f'"{word}" is not NAME=FILE')
    return name, path


def token(arguments: Namespace) -> int:
    """Make, revoke or list tokens."""
    place = place_of(arguments.folder)
    open_log(place, readonly=True).close()  # an error if there is no store
    tokens = Tokens(place)
    if arguments.revoke is not None:
        tokens.revoke(arguments.revoke)
        print(f"{arguments.revoke} counts no more")
    elif arguments.scopes:
        print(tokens.create(arguments.scopes, days=arguments.days))
    else:
        now = time.time()
        rows = [
            [id, " ".join(one.scopes), _day(one.created), _day(one.expires), "yes" if one.is_valid(now) else "no"]
            for id, one in tokens.all.items()
        ]
        print(table(["id", "scopes", "created", "expires", "counts"], rows, "lllll") if rows else "there are no tokens")
    return 0


def _day(seconds: float | None) -> str:
    return "never" if seconds is None else time.strftime("%Y-%m-%d", time.gmtime(seconds))
