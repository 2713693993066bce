"""``goalbound serve``: opens the store, replays, warms up, and then listens."""

from __future__ import annotations

import errno
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from goalbound.errors import ArgumentError
from goalbound.learners.layers import unwrap
from goalbound.serve.service.alarm_lines import alarm_lines, silent_alarms
from goalbound.serve.service.app import Limits, Service
from goalbound.serve.service.connection import Connection
from goalbound.serve.service.problems import where_raised
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Follower, Store, StoreOptions
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.locations import location_of
from goalbound.serve.store.sqlite_log import sqlite_note
from goalbound.simulation.warm_up import warm_up
from goalbound.terminal import pluralize

log = logging.getLogger("goalbound.serve.service")

DISK_FAILED = 74
"""The exit code after a failure of the disk (EX_IOERR); whoever supervises the process starts it again."""
_COLLECT = (50_000, 20, 50)  # new objects, and collections of younger ones
_SWITCH_SECONDS = 0.0005  # the writer waits so long at most for the thread that reads requests


@dataclass(frozen=True)
class Address:
    """Where a service listens.

    Attributes:
        host, port: of TCP; port 0: any that is free.
        socket: the path of a Unix socket instead.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    socket: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host  # of IPv6
        return self.socket or f"http://{host}:{self.port}"


@dataclass(frozen=True)
class Following:
    """That a service only follows.

    Attributes:
        leader: where the leader answers, for those who come to write; None: nobody knows.
    """

    leader: str | None = None


def serve(
    path: str | Path,
    address: Address,
    *,
    options: StoreOptions | None = None,
    limits: Limits | None = None,
    ahead: bool = True,
    following: Following | None = None,
) -> int:
    """Serve a store until SIGTERM or SIGINT; the exit code.

    Args:
        path: the folder of the store, or the URL of its database, which exists.
        address: where to listen; beyond this machine only if there are tokens.
        options: of the store.
        limits: of the service.
        ahead: compile first what the learners run, so that no request waits for it.
        following: only follow the leader of the store, and read.
    """
    location = location_of(path)
    tokens = Tokens(location.place)
    check_address(address, has_tokens=bool(tokens))
    begun = time.perf_counter()
    with silent_alarms():
        store: Store | Follower = (
            Store.open(path, create=False, options=options) if following is None
            else Follower.open(path, options=options, leader=following.leader)
        )  # fmt: skip
    try:
        _say_what_was_found(store, time.perf_counter() - begun)
        check_free(address)  # before compiling, which may take a minute
        if ahead:
            warm_up_learners(store)
        sys.setswitchinterval(_SWITCH_SECONDS)
        collect_seldom()
        store._engine.on_rebuilt = collect_seldom
        service = Service(store, tokens, limits=limits)
        check_address(address, has_tokens=service.guarded)  # replaying took a while, and the tokens may be gone
        server = uvicorn.Server(_config(service, address))
        store.writer.on_failure = stop_at_once
        # uvicorn ends by raising the signal that ended it once more; by then all is done.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        log.info("listening on %s", address)
        with alarm_lines(store):
            server.run()
    finally:
        store.close()
        tokens.close()
    return 0 if store.writer.failure is None else DISK_FAILED


def check_address(address: Address, *, has_tokens: bool) -> None:
    """An error unless the address is of this machine alone, or there are tokens."""
    if address.socket is not None or has_tokens:
        return
    try:
        local = ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        local = address.host == "localhost"
    if not local:
        raise ArgumentError(
            f"{address.host} can be reached from other machines, and there are no tokens: anybody could ask and report "
            "anything. Make one first (goalbound token FOLDER --scope cases:write), or listen on 127.0.0.1"
        )


def check_free(address: Address) -> None:
    """An error if another program listens on the port; any other trouble is left to the server itself."""
    if address.socket is not None:
        return
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ArgumentError(
                f"another program listens on port {address.port} of {address.host}, perhaps another goalbound serve: "
                "stop it, or give another --port"
            ) from None


def warm_up_learners(store: Store | Follower) -> float:
    """Compile what the learners of a store run, or load it; the seconds it took."""

    def found(engine: Engine) -> list[Any]:
        return [unwrap(one.learner) for one in engine.machine.learners.values()]

    def warmed(learners: list[Any]) -> float:
        return warm_up(*learners) if learners else 0.0

    # Copies are made and played with. A follower learns from the first moment on, so its own thread does it; nobody
    # uses a leader yet.
    if store.follows:
        seconds: float = store.writer.call(lambda engine: warmed(found(engine)), writes=False)
        return seconds
    return warmed(store.writer.call(found, writes=False))


def collect_seldom() -> None:
    """Cycles are looked for seldom, and not among what is there now: with thousands of open cases that takes 0.1 s, for
    which everybody waits, and answered requests leave none but those that were refused.

    A learner and its open cases are one cycle, so this is to be called again when they were replaced."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def stop_at_once(failure: BaseException) -> None:
    """The disk has failed: those who wait are told, and then the process ends, without writing anything more."""
    log.critical("%s; %s", failure, where_raised(failure.__cause__ or failure))
    threading.Timer(0.5, os._exit, (DISK_FAILED,)).start()


def _config(service: Service, address: Address) -> uvicorn.Config:
    where = {"uds": address.socket} if address.socket else {"host": address.host, "port": address.port}
    return uvicorn.Config(
        service, **where, loop="uvloop", http=Connection, ws="none", lifespan="on", access_log=False,
        log_level="warning", server_header=False, date_header=False, timeout_keep_alive=75,
        timeout_graceful_shutdown=10, backlog=2048, proxy_headers=False,
    )  # fmt: skip


def _say_what_was_found(store: Store | Follower, seconds: float) -> None:
    restored = store._engine.restored
    log.info(
        "%s: %s, %s; %s replayed in %.1f s", store.location.name, pluralize(restored.seq, "event"),
        pluralize(len(restored.machine.cases), "open case"), pluralize(restored.replayed, "event"), seconds,
    )  # fmt: skip
    for note in restored.notes:
        log.warning("%s", note)
    about_sqlite = sqlite_note() if isinstance(store.location.place, Path) else None
    if about_sqlite is not None:
        log.info("%s", about_sqlite)  # a store is not affected
