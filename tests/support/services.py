"""Services for tests: in this process, or in one of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from faults.world import environment, free_port, wait_until_ready
from goalbound.serve.service.app import Limits, Service
from goalbound.serve.store import Store


def asked(
    store: Store, ask: Callable[[httpx.AsyncClient], Coroutine[Any, Any, Any]], *,
    limits: Limits | None = None, headers: dict[str, str] | None = None,
) -> Any:  # fmt: skip
    """What ``ask`` gives with a client of a service around the store."""

    async def run() -> Any:
        transport = httpx.ASGITransport(Service(store, limits=limits), raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            return await ask(client)

    return asyncio.run(run())


def command(folder: Path | str, port: int, *more: str) -> list[str]:
    return [sys.executable, "-m", "goalbound", "serve", "--store", str(folder), "--port", str(port), "--cold", *more]


@contextmanager
def running(folder: Path | str, *more: str) -> Iterator[Any]:
    """A service in a process of its own that is ready; its process, and its address."""
    with waiting(folder, *more) as (process, url):
        wait_until_ready(int(url.rpartition(":")[2]), process)
        yield process, url


@contextmanager
def waiting(folder: Path | str, *more: str) -> Iterator[Any]:
    """The same as soon as it listens."""
    port = free_port()
    process = subprocess.Popen(
        command(folder, port, *more), env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        wait_until_ready(port, process, "/healthz")
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
