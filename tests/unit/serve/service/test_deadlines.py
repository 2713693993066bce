"""Tasks that wait for too long, and those that do not."""

import asyncio

from goalbound.serve.service.deadlines import Deadlines


async def waits(deadlines, seconds):
    task = deadlines.begin()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if deadlines.is_late(task):
            return "late"
        raise
    finally:
        deadlines.end(task)
    await asyncio.sleep(0)  # it goes on as if nothing had been
    return "in time"


def test_only_those_that_wait_for_too_long_are_cancelled():
    async def run():
        deadlines = Deadlines(0.2)
        found = await asyncio.gather(waits(deadlines, 60.0), waits(deadlines, 0.0), waits(deadlines, 60.0))
        again = await waits(deadlines, 0.0)
        await asyncio.sleep(0.05)
        return found, again, deadlines

    found, again, deadlines = asyncio.run(run())
    assert found == ["late", "in time", "late"]
    assert again == "in time"
    assert not deadlines._since
    assert not deadlines._late


def test_a_task_that_somebody_else_cancels_ends():
    async def run():
        deadlines = Deadlines(60.0)
        task = asyncio.create_task(waits(deadlines, 60.0))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled(), bool(deadlines._since)

    assert asyncio.run(run()) == (True, False)
