"""Programs that handle cases over HTTP, and go on through failures."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import httpx

from faults.world import CONTEXT, NAME, Acknowledged, outcome


class Load:
    """Many programs at once, each with one case after another; every answer is noted.

    Args:
        port: of the service.
        told: where answers are noted.
        programs: how many there are.
        twice: the share of requests that are sent again although they were answered.
    """

    def __init__(self, port: int, told: Acknowledged, *, programs: int = 16, twice: float = 0.1, seed: int = 0) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.told, self.programs, self.twice = told, programs, twice
        self.statuses: dict[int, int] = {}
        self.retries = 0
        self.stopping = False
        self._seed = seed
        self._random = random.Random(seed)

    async def run(self, seconds: float) -> None:
        """So long, and then until every program has its last answer."""
        self.stopping = False
        limits = httpx.Limits(max_connections=self.programs, max_keepalive_connections=self.programs)
        async with httpx.AsyncClient(base_url=self.url, timeout=5.0, limits=limits) as client:
            end = time.monotonic() + seconds
            await asyncio.gather(*(self._work(client, number, end) for number in range(self.programs)))

    async def _work(self, client: httpx.AsyncClient, number: int, end: float) -> None:
        count = 0
        while time.monotonic() < end and not self.stopping:
            count += 1
            case = f"p{self._seed}-{number}-{count}"
            body: dict[str, Any] = {"context": CONTEXT, "state": 0, "id": case}
            answer = await self.send(client, f"/v1/learners/{NAME}/cases", body)
            while answer is not None and not answer["done"] and time.monotonic() < end and not self.stopping:
                step = answer["step"] + 1
                loss, state = outcome(case, step)
                body = {"step": step, "loss": loss, "next_state": state}
                if self._random.random() < 0.2:
                    body["action"] = self._random.randrange(2)
                answer = await self.send(client, f"/v1/learners/{NAME}/cases/{case}/steps", body)

    async def send(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send until there is an answer; None: it is time to stop."""
        while True:
            try:
                answer = await client.post(path, json=body)
            except httpx.TransportError:
                self.retries += 1
                if self.stopping:
                    return None
                await asyncio.sleep(0.02)
                continue
            self.statuses[answer.status_code] = self.statuses.get(answer.status_code, 0) + 1
            if answer.status_code in (200, 201):
                found: dict[str, Any] = answer.json()
                self.told.note(found)
                if self._random.random() < self.twice:
                    continue
                return found
            if answer.status_code not in (503, 507):
                raise AssertionError(f"{answer.status_code}: {answer.text[:300]}")
            self.retries += 1
            if self.stopping:
                return None
            await asyncio.sleep(0.02)
