"""``goalbound serve``: listens at once, then opens the store, replays, compiles what its learners run, and is ready."""

from __future__ import annotations

import contextlib
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import uvicorn

from goalbound.adapters.learner_files import load_learner
from goalbound.errors import ArgumentError, StoreError, StoreLocked
from goalbound.learners.layers import unwrap
from goalbound.serve.service.alarm_lines import alarm_lines, silent_alarms
from goalbound.serve.service.app import Limits, Service
from goalbound.serve.service.problems import where_raised
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.log import open_log, sqlite_note
from goalbound.serve.store.snapshots import learner_from
from goalbound.simulation.warm_up import warm_up
from goalbound.terminal import pluralize

log = logging.getLogger("goalbound.serve.service")

DISK_FAILED = 74
"""The exit code after a failure of the disk (EX_IOERR); whoever supervises the process starts it again."""
HEAD_BYTES = 16 * 2**10
"""The most bytes of a request's head."""
_STANDBY_SECONDS = 0.3
_COLLECT = (50_000, 20, 50)  # new objects, and collections of younger ones
SWITCH_SECONDS = 0.0005
"""So long the thread that reads requests waits at most for the one that learns, and the other way round."""


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
class Serving:
    """How a service works.

    Attributes:
        options: of the store.
        limits: of the service.
        learners: files of learners that are put into the store under these names, if they are not there.
        ahead: compile what the learners run before the service is ready, so that no request waits for it.
        standby: where another process leads the store in a database, wait for its place.
        access_log: say each request in the log: its route, status and time.
    """

    options: StoreOptions = field(default_factory=StoreOptions)
    limits: Limits = field(default_factory=Limits)
    learners: Mapping[str, str] = field(default_factory=dict)
    ahead: bool = True
    standby: bool = False
    access_log: bool = False


def serve(path: str | PathLike[str], address: Address, serving: Serving | None = None) -> int:
    """Serve a store until SIGTERM or SIGINT; the exit code.

    Args:
        path: the folder of the store, or the URL of its database.
        address: where to listen; beyond this machine only if there are tokens.
        serving: how.
    """
    serving = serving or Serving()
    place = place_of(path)
    if serving.standby and not isinstance(place, str):
        raise ArgumentError("a store in a folder has no standby; put the store into PostgreSQL, or leave --standby out")
    _check_store(place, create=bool(serving.learners))
    tokens = Tokens(place)
    check_address(address, has_tokens=bool(tokens))
    service = Service(tokens=tokens, limits=serving.limits, access_log=serving.access_log)
    server = uvicorn.Server(_config(service, address))
    opening = _Opening(place, service, serving, fail=lambda: setattr(server, "should_exit", True))
    sockets = None if address.socket else [_listening(address)]
    # uvicorn ends by raising the signal that ended it once more; by then all is done.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    sys.setswitchinterval(SWITCH_SECONDS)
    log.info("listening on %s", address)
    opening.start()
    server.run(sockets=sockets)
    tokens.close()
    return opening.end()


class _Opening(threading.Thread):
    """Opens the store, compiles what its learners run, and gives it to the service, which says meanwhile what it does.

    Args:
        place: of the store.
        service: that gets it.
        serving: how.
        fail: is called when it cannot be opened; :meth:`end` then raises the error.
    """

    def __init__(self, place: Path | str, service: Service, serving: Serving, *, fail: Callable[[], None]) -> None:
        super().__init__(name="goalbound opening", daemon=True)
        self._place, self._service, self._serving, self._fail = place, service, serving, fail
        self._store: Store | None = None
        self._error: Exception | None = None
        self._alarms = contextlib.ExitStack()

    def run(self) -> None:
        """Open it, and make it ready."""
        try:
            with silent_alarms():
                self._store = store = self._open()
                store.writer.on_failure = stop_at_once
                if store.writer.failure is not None:  # it had stopped before
                    raise store.writer.failure
                self._create_missing(store)
            _say_what_was_found(store)
            if self._serving.ahead:
                for name, learner in store.read(_as_created):
                    self._wait_for("not-ready", f"what the learner {name} runs is being compiled")
                    warm_up(unwrap(learner))
            collect_seldom()
            store._engine.on_rebuilt = collect_seldom
            self._alarms.enter_context(alarm_lines(store))
            self._service.store = store
            log.info("ready")
        except Exception as error:
            self._error = error
            self._fail()

    def end(self) -> int:
        """Close the store; the exit code, or the error for which it could not be opened."""
        self._alarms.close()
        if self._store is not None:
            self._store.close()
        if self._error is not None:
            raise self._error
        return 0 if self._store is None or self._store.writer.failure is None else DISK_FAILED

    def _open(self) -> Store:
        """Open the store; a standby waits until it leads, and has compiled by then what the learners run."""
        is_warm = not self._serving.ahead
        while True:
            try:
                return Store.open(self._place, create=False, options=self._serving.options)
            except StoreLocked:
                if not self._serving.standby:
                    raise
            self._wait_for("not-leader", "another process leads this store; this one waits for its place")
            if not is_warm:
                warm_up(*map(unwrap, _learners_in(self._place)))
                is_warm = True
            time.sleep(_STANDBY_SECONDS)

    def _create_missing(self, store: Store) -> None:
        """Put the named learners into the store that are not there."""
        for name, path in self._serving.learners.items():
            if name not in store:
                store.create(name, load_learner(path))
            else:
                log.info(
                    '"%s" is in the store already and goes on with what it has learned; %s is not read '
                    '(to let it take over: "goalbound store create" with --follows %s, then "promote")',
                    *(name, path, name),
                )

    def _wait_for(self, code: str, text: str) -> None:
        if self._service.waits_for != (code, text):  # a standby asks for its place again and again
            self._service.waits_for = code, text
            log.info("%s", text)


def _check_store(place: Path | str, *, create: bool) -> None:
    """An error if there is no store and none is to be made."""
    try:
        open_log(place, readonly=True).close()
    except StoreError:
        if not create:
            raise
        with contextlib.suppress(StoreLocked):  # another process makes it
            open_log(place, create=True).close()


def _learners_in(place: Path | str) -> list[Any]:
    """The learners of a store as they were created, read beside the process that writes."""
    with contextlib.closing(open_log(place, readonly=True)) as log:
        return [learner_from(file) for file in log.learner_files()]


def _as_created(engine: Engine) -> list[tuple[str, Any]]:
    """The names of the learners, and the learners as they were created: without open cases, which a warm-up copies."""
    learners = engine.machine.learners.values()
    return [(managed.name, learner_from(engine.log.learner_file(managed.number))) for managed in learners]


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


def _listening(address: Address) -> socket.socket:
    """A socket that listens there; an error if another program does."""
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ArgumentError(
                f"another program listens on port {address.port} of {address.host}, perhaps another goalbound serve: "
                "stop it, or give another --port"
            ) from None
        raise ArgumentError(
            f"{address.host}:{address.port} is no place to listen ({error.strerror or error})"
        ) from None


def _config(service: Service, address: Address) -> uvicorn.Config:
    return uvicorn.Config(
        service,
        uds=address.socket,
        http="h11",  # the only one with a limit of the head
        h11_max_incomplete_event_size=HEAD_BYTES,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        proxy_headers=False,
    )


def collect_seldom() -> None:
    """Cycles are looked for seldom, and not among what is there now: with thousands of open cases that takes 0.1 s, for
    which everybody waits, and answered requests leave few.

    A learner and its open cases are one cycle, so this is to be called again when they were replaced."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def stop_at_once(failure: BaseException) -> None:
    """The disk has failed: those who wait are told, and then the process ends, without writing anything more."""
    log.critical("%s; %s", failure, where_raised(failure.__cause__ or failure))
    threading.Timer(0.5, os._exit, (DISK_FAILED,)).start()


def _say_what_was_found(store: Store) -> None:
    restored = store._engine.restored
    counts = (restored.seq, "event"), (len(restored.machine.cases), "open case"), (restored.replayed, "event")
    log.info("%s: %s, %s; %s replayed", store.name, *(pluralize(*count) for count in counts))
    for note in restored.notes:
        log.warning("%s", note)
    about_sqlite = sqlite_note() if isinstance(store.place, Path) else None
    if about_sqlite is not None:
        log.info("%s", about_sqlite)  # a store is not affected
