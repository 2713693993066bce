"""Processes that are killed or stopped."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from pathlib import Path

from faults.load import Load
from faults.result import Result
from faults.world import Acknowledged, check_against_log, free_port, new_store, served, start, wait_until_ready


def kill(folder: Path, *, cycles: int, programs: int = 16) -> Result:
    """kill -9 at random moments under load; the programs go on with the next process."""
    result, told = Result("kill -9"), Acknowledged()
    store, port = folder / "store", free_port()
    new_store(store).close()
    asyncio.run(_kill_cycles(result, told, store, port, cycles, programs))
    check_against_log(result, store, told)
    return result


async def _kill_cycles(result: Result, told: Acknowledged, store: Path, port: int, cycles: int, programs: int) -> None:
    load, rng = Load(port, told, programs=programs), random.Random(0)
    process = start(store, port)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, wait_until_ready, port, process)
    work = asyncio.create_task(load.run(1e9))
    slowest = 0.0
    for _ in range(cycles):
        await asyncio.sleep(rng.uniform(0.05, 0.5))
        if work.done():
            work.result()
        process.kill()
        process.communicate()
        if rng.random() < 0.2:  # and once more while it starts: during the replay, or a snapshot
            process = start(store, port)
            await asyncio.sleep(rng.uniform(0.5, 3.0))
            process.kill()
            process.communicate()
            result.add("kills while starting")
        process = start(store, port)
        slowest = max(slowest, await loop.run_in_executor(None, wait_until_ready, port, process))
        result.add("kills")
    await asyncio.sleep(0.3)
    load.stopping = True
    await work
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    process.communicate()
    result.check(code == 0, f"SIGTERM ended it with {code}")
    result.counts["requests sent again"] = load.retries
    result.counts["seconds to start, at most"] = round(slowest, 2)


def stop(folder: Path, *, seconds: float) -> Result:
    """SIGSTOP under load: programs time out and ask again; nothing is lost or done twice."""
    result, told = Result("SIGSTOP"), Acknowledged()
    store, port = folder / "store", free_port()
    new_store(store).close()

    async def run(process: subprocess.Popen[bytes]) -> None:
        load = Load(port, told)
        work = asyncio.create_task(load.run(1e9))
        await asyncio.sleep(1.0)
        process.send_signal(signal.SIGSTOP)
        before = len(told.answers)
        await asyncio.sleep(seconds)
        result.check(len(told.answers) - before <= load.programs, "a stopped process has answered")
        process.send_signal(signal.SIGCONT)
        await asyncio.sleep(1.0)
        load.stopping = True
        await work
        result.counts["seconds stopped"] = seconds
        result.counts["requests sent again"] = load.retries

    with served(store, port) as process:
        asyncio.run(run(process))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    check_against_log(result, store, told)
    return result
