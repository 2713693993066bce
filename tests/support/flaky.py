"""A way to a service on which requests and answers are lost."""

from __future__ import annotations

import random

import httpx


class Flaky(httpx.AsyncBaseTransport):
    """Loses a request on its way, or its answer, or sends it twice; each with probability ``share``."""

    def __init__(self, inner: httpx.AsyncBaseTransport, *, share: float, seed: int = 0) -> None:
        self.inner, self.share, self.random = inner, share, random.Random(seed)
        self.lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()

        def again() -> httpx.Request:
            return httpx.Request(request.method, request.url, headers=request.headers, content=body)

        if self.random.random() < self.share:
            self.lost += 1
            raise httpx.ConnectError("lost on its way")
        answer = await self.inner.handle_async_request(again())
        if self.random.random() < self.share:
            answer = await self.inner.handle_async_request(again())
        if self.random.random() < self.share:
            self.lost += 1
            raise httpx.ReadTimeout("the answer was lost")
        return answer
