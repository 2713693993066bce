"""``goalbound serve``: opens the store, replays, warms up, and then listens."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from goalbound.errors import ArgumentError
from goalbound.learners.wrapper import unwrap
from goalbound.service.app import Limits, Service
from goalbound.service.tokens import Tokens
from goalbound.simulation.warm_up import warm_up
from goalbound.store import Store, StoreOptions
from goalbound.store.sqlite_log import sqlite_note

log = logging.getLogger("goalbound.service")

DISK_FAILED = 74
"""The exit code after a failure of the disk (EX_IOERR); whoever supervises the process starts it again."""
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


def serve(
    folder: str | Path,
    address: Address,
    *,
    options: StoreOptions | None = None,
    limits: Limits | None = None,
    ahead: bool = True,
) -> int:
    """Serve a store until SIGTERM or SIGINT; the exit code.

    Args:
        folder: of the store, which exists.
        address: where to listen; beyond this machine only if there are tokens.
        options: of the store.
        limits: of the service.
        ahead: compile first what the learners run, so that no request waits for it.
    """
    check_address(address, has_tokens=bool(Tokens(Path(folder))))
    begun = time.perf_counter()
    store = Store.open(folder, create=False, options=options)
    try:
        _say_what_was_found(store, time.perf_counter() - begun)
        if ahead:
            warm_up_learners(store)
        sys.setswitchinterval(_SWITCH_SECONDS)
        service = Service(store, limits=limits)
        check_address(address, has_tokens=service.guarded)  # replaying took a while, and the tokens may be gone
        server = uvicorn.Server(_config(service, address))
        store.writer.on_failure = stop_at_once
        # uvicorn ends by raising the signal that ended it once more; by then all is done.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        log.info("listening on %s", address.socket or f"http://{address.host}:{address.port}")
        server.run()
    finally:
        store.close()
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


def warm_up_learners(store: Store) -> float:
    """Compile what the learners of a store run, or load it; the seconds it took."""
    learners = store.writer.call(
        lambda engine: [unwrap(one.learner) for one in engine.machine.learners.values()], writes=False
    )
    # Copies are made and played with; nobody else uses the store yet.
    return warm_up(*learners) if learners else 0.0


def stop_at_once(failure: BaseException) -> None:
    """The disk has failed: those who wait are told, and then the process ends, without writing anything more."""
    log.critical("%s", failure)
    threading.Timer(0.5, os._exit, (DISK_FAILED,)).start()


def _config(service: Service, address: Address) -> uvicorn.Config:
    where = {"uds": address.socket} if address.socket else {"host": address.host, "port": address.port}
    return uvicorn.Config(
        service, **where, loop="uvloop", http="httptools", ws="none", lifespan="on", access_log=False,
        log_level="warning", server_header=False, date_header=False, timeout_keep_alive=75,
        timeout_graceful_shutdown=10, backlog=2048, proxy_headers=False,
    )  # fmt: skip


def _say_what_was_found(store: Store, seconds: float) -> None:
    restored = store._engine.restored
    log.info(
        "%s: %d events, %d open cases; %d events replayed in %.1f s", store.folder, restored.seq,
        len(restored.machine.cases), restored.replayed, seconds,
    )  # fmt: skip
    for note in (*restored.notes, sqlite_note()):
        if note is not None:
            log.warning("%s", note)
