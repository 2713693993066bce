"""``goalbound serve`` and ``goalbound token``: a store over HTTP, and who may ask."""

from __future__ import annotations

import logging
import sys
import time
from argparse import Namespace

from goalbound.adapters.learner_files import load_learner
from goalbound.cli.arguments import UsageError
from goalbound.serve.service.alarm_lines import silent_alarms
from goalbound.serve.service.app import Limits
from goalbound.serve.service.server import Address, Following
from goalbound.serve.service.server import serve as serve_store
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.locations import location_of
from goalbound.terminal import table

log = logging.getLogger("goalbound.serve.service")


def serve(arguments: Namespace) -> int:
    """Serve a store until the process is told to end."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    options = StoreOptions(
        most_cases=arguments.most_cases, warm_cases=arguments.warm_cases, reserve_bytes=arguments.reserve,
        cache=arguments.cache,
    )  # fmt: skip
    following = Following(arguments.leader) if arguments.follow else None
    if following is None and arguments.leader is not None:
        raise UsageError("--leader says where the leader of a follower is; give --follow with it")
    if following is not None and arguments.learners:
        raise UsageError("a follower puts no learner into the store; its leader does (--learner there)")
    _create_missing(arguments.folder, arguments.learners, options)
    address = Address(arguments.host, arguments.port, arguments.socket)
    limits = Limits(requests_a_second=arguments.rate, most_behind=arguments.most_behind)
    return serve_store(
        arguments.folder, address, options=options, limits=limits, ahead=not arguments.cold, following=following
    )


def _create_missing(folder: str, learners: list[str], options: StoreOptions) -> None:
    """Put the named learners into the store that are not there."""
    wanted = {}
    for word in learners:
        name, equals, path = word.partition("=")
        if not (name and equals and path):
            raise UsageError(f'"{word}" is not NAME=FILE')
        wanted[name] = path
    if not wanted:
        return
    with silent_alarms(), Store.open(folder, options=options) as store:
        for name, path in wanted.items():
            if name not in store:
                store.create(name, load_learner(path))
            else:
                log.info(
                    '"%s" is in the store already and goes on with what it has learned; %s is not read '
                    '(to let it take over: "goalbound store create" with --follows %s, then "promote")',
                    name, path, name,
                )  # fmt: skip


def token(arguments: Namespace) -> int:
    """Make, revoke or list tokens."""
    location = location_of(arguments.folder)
    location.read_only_log().close()  # an error if there is no store
    tokens = Tokens(location.place)
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
