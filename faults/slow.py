"""Connections that send a byte a second: programs that do not are answered as before."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from faults.load import Load
from faults.result import Result
from faults.world import NAME, Acknowledged, check_against_log, free_port, new_store, served

TIMES = 2.0
FINE_SECONDS = 0.03
"""The slowest hundredth of honest requests may take so many times as long; or so long, whatever it was before."""
_PROGRAMS = 4


def slow(folder: Path, *, connections: int, seconds: float, rounds: int = 3) -> Result:
    """Rounds without slow connections and with them, in turn, so that what else the machine does falls on both."""
    result, told = Result("slow clients"), Acknowledged()
    store, port = folder / "store", free_port()
    new_store(store).close()

    async def run() -> tuple[list[float], list[float]]:
        await _times(port, told, seconds, 0)  # what is done once
        before, during = list[float](), list[float]()
        for number in range(1, rounds + 1):
            before += await _times(port, told, seconds, 2 * number)
            slow_ones = [asyncio.create_task(_dribble(port, one)) for one in range(connections)]
            await asyncio.sleep(1.0)
            result.counts["slow connections, at least"] = min(
                result.counts.get("slow connections, at least", connections), sum(not one.done() for one in slow_ones)
            )
            during += await _times(port, told, seconds, 2 * number + 1)
            for one in slow_ones:
                one.cancel()
            await asyncio.gather(*slow_ones, return_exceptions=True)
        return before, during

    with served(store, port) as process:
        before, during = asyncio.run(run())
        process.terminate()
        process.wait(60)
    first, second = (float(np.percentile(times, 99)) for times in (before, during))
    result.counts |= {
        "requests without": len(before), "requests with": len(during),
        "p99 in ms without": round(first * 1e3, 1), "p99 in ms with": round(second * 1e3, 1),
    }  # fmt: skip
    result.check(
        second <= max(TIMES * first, FINE_SECONDS),
        f"the slowest hundredth took {second * 1e3:.0f} ms beside slow connections, {first * 1e3:.0f} ms without",
    )
    check_against_log(result, store, told)
    return result


async def _times(port: int, told: Acknowledged, seconds: float, seed: int) -> list[float]:
    """How long the requests of honest programs take."""
    times: list[float] = []
    load = Load(port, told, programs=_PROGRAMS, seed=seed)
    send = load.send

    async def timed(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
        begun = time.perf_counter()
        answer = await send(client, path, body)
        times.append(time.perf_counter() - begun)
        return answer

    load.send = timed  # type: ignore[method-assign]
    await load.run(seconds)
    return times


async def _dribble(port: int, number: int) -> None:
    """A request a byte a second; when it was refused as too slow, another one."""
    head = f"POST /v1/learners/{NAME}/cases HTTP/1.1\r\nhost: localhost\r\n".encode()
    head += b"content-type: application/json\r\ncontent-length: 5000\r\n\r\n"
    first = len(head) if number % 2 else 1  # every other one is slow with its head, too
    while True:
        writer = None
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head[:first])
            for byte in head[first:] + b" " * 5000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1.0)
        except OSError:
            await asyncio.sleep(0.1)
        finally:
            if writer is not None:
                writer.close()
