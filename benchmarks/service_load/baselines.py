"""What the service is compared with: an empty answer, and a handler that only makes a row durable.

``python -m benchmarks.service_load.baselines empty|durable PORT [DATABASE]``
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from goalbound.serve.service.messages import StepReport
from goalbound.serve.service.server import SWITCH_SECONDS

ANSWER = b'{"case":"c1","step":1,"action":0,"name":null,"propensity":1.0,"seq":1,"done":false}'
PATH = "/v1/learners/{learner}/cases/{case}/steps"
TABLE = "CREATE TABLE event (seq INTEGER PRIMARY KEY, step INTEGER, loss REAL, next_state INTEGER, chain BLOB)"


def opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(TABLE)
    return connection


async def empty(request: Request) -> Response:
    """Reads the body, and answers."""
    await request.body()
    return Response(ANSWER, media_type="application/json")


class Durable:
    """Decodes the body, and answers when a row of it is on the disk; rows are committed together."""

    def __init__(self, path: str) -> None:
        self._connection = opened(path)
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._decode = msgspec.json.Decoder(StepReport).decode
        threading.Thread(target=self._work, daemon=True).start()

    async def answer(self, request: Request) -> Response:
        """Answers once the row is on the disk."""
        report = self._decode(await request.body())
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._queue.put((report, future, loop))
        await future
        return Response(ANSWER, media_type="application/json")

    def _work(self) -> None:
        while True:
            batch = [self._queue.get()]
            try:
                while len(batch) < 256:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            rows = [(one.step, one.loss, one.next_state, b"0123456789abcdef") for one, _, _ in batch]
            self._connection.execute("BEGIN IMMEDIATE")
            marks = ", ".join(["(?, ?, ?, ?)"] * len(rows))
            self._connection.execute(
                f"INSERT INTO event (step, loss, next_state, chain) VALUES {marks}", [v for row in rows for v in row]
            )
            self._connection.execute("COMMIT")
            batch[0][2].call_soon_threadsafe(_resolve, [future for _, future, _ in batch])


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH_SECONDS)
    answer: Any = empty if sys.argv[1] == "empty" else Durable(sys.argv[3]).answer
    uvicorn.run(
        Starlette(routes=[Route(PATH, answer, methods=["POST"])]),
        port=int(sys.argv[2]),
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
    )
