"""Services for tests: in this process, or in one of their own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from goalbound.service.app import Limits, Service
from goalbound.store import Store

ROOT = Path(__file__).parents[2]


def asked(
    store: Store, ask: Callable[[httpx.AsyncClient], Coroutine[Any, Any, Any]], *, limits: Limits | None = None,
    headers: dict[str, str] | None = None,
) -> Any:  # fmt: skip
    """What ``ask`` gives with a client of a service around the store."""

    async def run() -> Any:
        transport = httpx.ASGITransport(Service(store, limits=limits), raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            return await ask(client)

    return asyncio.run(run())


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def command(folder: Path, port: int, *more: str) -> list[str]:
    return [sys.executable, "-m", "goalbound", "serve", str(folder), "--port", str(port), "--cold", *more]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **more}


@contextmanager
def running(folder: Path, *more: str, prefix: tuple[str, ...] = (), wait: float = 60.0) -> Iterator[Any]:
    """A service in a process of its own; its process, and its address."""
    port = free_port()
    process = subprocess.Popen(
        [*prefix, *command(folder, port, *more)], env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", process, seconds=wait)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_until_ready(url: str, process: subprocess.Popen[bytes], *, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/readyz", timeout=2.0).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if process.poll() is not None:
            raise AssertionError(f"it ended with {process.returncode}: {process.stderr and process.stderr.read()!r}")
        time.sleep(0.02)
    raise AssertionError("it was not ready in time")
