"""A client that lets others go on while it waits (asyncio)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import httpx

from goalbound.errors import ServiceUnreachable
from goalbound.serve.client import calls
from goalbound.serve.client.calls import RETRIED, Call, Proposal, shown, understood, wait_before


class AsyncClient:
    """A decision service.

    Args:
        url: where it is, such as ``http://127.0.0.1:8765``.
        token: as ``goalbound token`` shows it.
        patience: for so many seconds the same is asked again when there is no answer, or the service is busy.
        timeout: so long a single answer may take, in seconds.
        transport: how requests are sent; for tests.

    Asking again cannot do anything twice: a case has its id and a step its number before they are first sent.
    """

    def __init__(
        self, url: str, *, token: str | None = None, patience: float = 60.0, timeout: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:  # fmt: skip
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def learner(self, name: str) -> AsyncLearner:
        """The learner of this name; nothing is asked yet."""
        return AsyncLearner(self, name)

    async def learners(self) -> list[dict[str, Any]]:
        """All learners: what each is, what it guarantees, its alarms."""
        found: list[dict[str, Any]] = (await self.send(calls.learners()))["learners"]
        return found

    async def send(self, call: Call) -> Any:
        """Send a request until it is answered, or patience ends."""
        end, attempt = time.monotonic() + self._patience, 0
        while True:
            try:
                answer = await self._http.request(call.method, call.path, json=call.body)
                if answer.status_code not in RETRIED or time.monotonic() >= end:
                    return understood(answer.status_code, answer.content, place=shown(answer.url), has=call.answer)
                wait = wait_before(attempt, answer.headers.get("retry-after"))
            except httpx.TransportError as error:
                if time.monotonic() >= end:
                    raise ServiceUnreachable(
                        f"{shown(self._http.base_url)}: no answer for {self._patience:g} s ({type(error).__name__}: "
                        f"{error}); what was asked may have been done, and the same can be asked again"
                    ) from error
                wait = wait_before(attempt, None)
            attempt += 1
            await asyncio.sleep(min(wait, max(0.0, end - time.monotonic())))


class AsyncLearner:
    """A learner of a service."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client = client
        self.name = name

    async def begin(
        self, context: Any, state: int | str, *, id: str | None = None, allowed: Sequence[int | str] | None = None,
    ) -> AsyncCase:  # fmt: skip
        """Begin a case. Asked again it is answered as when it was begun; :meth:`case` finds it where it is now.

        Args:
            context: a point of the simplex, or covariates by their names.
            state: where the case is, by number or name.
            id: a name of yours, without personal data; a random one if left out.
            allowed: the actions that are possible now; all if left out.
        """
        call = calls.begin(self.name, context, state, id=id, allowed=allowed)
        begun = Proposal.of(await self._client.send(call))
        return AsyncCase(self, begun, state)

    async def case(self, id: str) -> AsyncCase:
        """An open case, where it is now."""
        answer = await self._client.send(calls.propose(self.name, id, None))
        return AsyncCase(self, Proposal.of(answer), calls.place_in(answer))

    async def cases(self) -> list[AsyncCase]:
        """All open cases, where they are now, in the order in which they were begun."""
        found: list[AsyncCase] = []
        after = 0
        while True:
            page = (await self._client.send(calls.cases(self.name, after, calls.LISTED)))["cases"]
            found += [AsyncCase(self, Proposal.of(one), calls.place_in(one)) for one in page]
            if len(page) < calls.LISTED:
                return found
            after = page[-1]["number"]

    async def history(self, id: str) -> dict[str, Any]:
        """A case from its beginning, open or not; of a long one the service is asked for some events at a time."""
        call = calls.show("learners", self.name, "cases", id)
        found: dict[str, Any] = await self._client.send(call)
        while found.get("earlier"):
            first = found["history"][0]["seq"]
            more = await self._client.send(replace(call, path=f"{call.path}?before={first}"))
            found["history"], found["earlier"] = more["history"] + found["history"], more["earlier"]
        return found

    async def status(self) -> dict[str, Any]:
        """What the learner is, what it guarantees, its alarms."""
        found: dict[str, Any] = await self._client.send(calls.show("learners", self.name))
        return found

    async def acknowledge(self) -> dict[str, Any]:
        """The alarms of a monitored learner were seen; it goes on. What :meth:`status` says from now on. A token needs
        the scope ``admin``."""
        found: dict[str, Any] = await self._client.send(calls.acknowledge(self.name))
        return found

    async def policy_bounds(self, context: Any, policy: Any = None) -> dict[str, Any]:
        """What a policy loses at least and at most, state by state."""
        found: dict[str, Any] = await self._client.send(calls.bounds(self.name, context, policy))
        return found

    async def send(self, call: Call) -> Any:
        """Send a request."""
        return await self._client.send(call)


class AsyncCase:
    """An open case, as this program knows it.

    Attributes:
        proposal: what is proposed now.
        state: where it is: as it was begun or reported here, or as the service says, by its name if it has one.
    """

    def __init__(self, learner: AsyncLearner, proposal: Proposal, state: int | str | None = None) -> None:
        self.learner = learner
        self.proposal = proposal
        self.state = state

    @property
    def id(self) -> str:
        """Of the case."""
        return self.proposal.case

    @property
    def action(self) -> int | str | None:
        """What is proposed, by its name where actions have names; None: the case has ended."""
        return self.proposal.action if self.proposal.name is None else self.proposal.name

    @property
    def step(self) -> int:
        """How many steps of it were reported."""
        return self.proposal.step

    @property
    def done(self) -> bool:
        """Whether the case has ended."""
        return self.proposal.done

    async def observe(
        self, loss: float, next_state: int | str, *, allowed: Sequence[int | str] | None = None
    ) -> int | str | None:
        """The proposed action was played; what is proposed next."""
        call = calls.report(self.learner.name, self.proposal, next_state, loss=loss, allowed=allowed)
        return await self._go_on(call, next_state)

    async def override(
        self, action: int | str, loss: float, next_state: int | str, *, allowed: Sequence[int | str] | None = None
    ) -> int | str | None:
        """This action was played, whatever was proposed; what is proposed next.

        Of a learner with confidence sets nothing is proven from then on, unless this is its only open case and nothing
        was learned since the proposal. Say ``propose(allowed=[action])`` when the action begins instead.
        """
        call = calls.report(self.learner.name, self.proposal, next_state, loss=loss, action=action, allowed=allowed)
        return await self._go_on(call, next_state)

    async def moved_to(self, state: int | str, *, allowed: Sequence[int | str] | None = None) -> int | str | None:
        """The case came to another state by itself; nothing is learned. What is proposed next."""
        return await self._go_on(calls.moved(self.learner.name, self.proposal, state, allowed=allowed), state)

    async def propose(self, allowed: Sequence[int | str] | None = None) -> int | str | None:
        """What is proposed now; another action if it is not among the allowed ones. Where a person begins another
        action, name it alone, and report it with :meth:`observe`."""
        return await self._go_on(calls.propose(self.learner.name, self.id, allowed))

    async def abandon(self, reason: str, *, missing_at_random: bool = False) -> None:
        """The case ends without the goal."""
        await self._go_on(calls.abandon(self.learner.name, self.proposal, reason, missing_at_random=missing_at_random))

    async def explain(self) -> dict[str, Any]:
        """Why this action is proposed: all actions of the state side by side."""
        found: dict[str, Any] = await self.learner.send(
            calls.show("learners", self.learner.name, "cases", self.id, "explanation")
        )
        return found

    async def _go_on(self, call: Call, state: int | str | None = None) -> int | str | None:
        answer = await self.learner.send(call)
        self.proposal = Proposal.of(answer)
        there = calls.place_in(answer) if state is None else state
        self.state = self.state if there is None else there
        return self.action
