"""The client with asyncio."""

import asyncio

import httpx
import pytest

from goalbound.errors import ServiceError, ServiceUnreachable, StepConflict
from goalbound.serve.client import AsyncClient
from goalbound.serve.service.app import Service
from tests.support.flaky import Flaky
from tests.support.incidents_at_work import changed, greedy
from tests.support.stores import open_store


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        yield store


def test_requests_and_answers_that_are_lost_or_come_twice_change_nothing(store, monkeypatch):
    monkeypatch.setattr("goalbound.serve.client.calls._FIRST_WAIT", 0.0001)
    flaky = Flaky(httpx.ASGITransport(Service(store)), share=0.3, seed=1)

    async def handle(client, number):
        case = await client.learner("incidents").begin([1, 0], "down", id=f"case-{number}")
        await case.observe(0.1, "down") if case.action == "restart" else await case.override("restart", 0.1, "down")
        await case.moved_to("degraded")
        await case.propose(["page"])
        await case.override("restart", 0.2, "degraded")
        if number % 2:
            await case.override("page", 0.4, "goal")
        else:
            await case.abandon("lost contact")
        return case.done

    async def run():
        async with AsyncClient("http://localhost", transport=flaky, patience=30.0) as client:
            done = await asyncio.gather(*(handle(client, number) for number in range(12)))
            assert len(await client.learners()) == 1
            return done

    assert all(asyncio.run(run()))
    assert flaky.lost > 20
    learner = store.learner("incidents")
    assert learner.status()["steps"] == 12 * 2 + 6  # each once
    for number in range(12):
        steps = [one["step"] for one in learner.case(f"case-{number}")["history"] if one["step"] is not None]
        assert steps == [0, 1, 2, 3, 4]


def test_errors_are_raised_and_not_retried(store):
    async def run():
        async with AsyncClient("http://localhost", transport=httpx.ASGITransport(Service(store))) as client:
            learner = client.learner("incidents")
            case, same = await learner.begin([1, 0], "down", id="a"), await learner.case("a")
            await case.override("page", 0.4, "degraded")
            with pytest.raises(StepConflict):
                await same.override("page", 0.5, "degraded")
            assert (await learner.history("a"))["step"] == 1
            assert (await learner.status())["steps"] == 1
            assert (await case.explain())["state"] == "degraded"

    asyncio.run(run())


def test_a_long_history_is_put_together_from_its_pages(store):
    """The service tells 1,000 events at a time."""
    store.learner("incidents").begin([1, 0], "down", id="a")
    store.writer.call(
        lambda engine: [engine.observe("incidents", "a", 0.1, "down", taken="restart") for _ in range(2100)]
    )

    async def run():
        async with AsyncClient("http://localhost", transport=httpx.ASGITransport(Service(store))) as client:
            return await client.learner("incidents").history("a")

    found = asyncio.run(run())
    assert [one["step"] for one in found["history"]] == list(range(2101))
    assert (found["step"], found["earlier"]) == (2100, False)
    assert store.learner("incidents").case("a") == found


def test_without_an_answer_patience_ends(monkeypatch):
    async def run():
        transport = Flaky(httpx.ASGITransport(lambda *_: None), share=1.0)
        async with AsyncClient("http://localhost", transport=transport, patience=0.05) as client:
            with pytest.raises(ServiceUnreachable, match="the same can be asked again"):
                await client.learner("incidents").begin([1, 0], "down")

    asyncio.run(run())


def test_a_page_in_the_place_of_a_service_is_an_error_with_its_address():
    async def run():
        page = httpx.MockTransport(lambda request: httpx.Response(200, content=b"<html>log in</html>"))
        async with AsyncClient("http://localhost", transport=page) as client:
            await client.learner("incidents").begin([1, 0], 0)

    with pytest.raises(ServiceError, match=r"http://localhost/v1/learners/incidents/cases: the answer, of status 200"):
        asyncio.run(run())


def test_open_cases_are_listed_page_by_page_with_where_they_are(store, monkeypatch):
    monkeypatch.setattr("goalbound.serve.client.calls.LISTED", 2)

    async def run():
        async with AsyncClient("http://localhost", transport=httpx.ASGITransport(Service(store))) as client:
            learner = client.learner("incidents")
            for number in range(5):
                await learner.begin([1, 0], "down", id=f"case-{number}")
            case = (await learner.cases())[3]
            assert (case.id, case.state, case.step, case.action) == ("case-3", "down", 0, "restart")
            await case.override("page", 0.4, "degraded")
            assert (case.state, case.step) == ("degraded", 1)
            await (await learner.case("case-1")).abandon("lost contact")
            found = await learner.cases()
            assert [one.id for one in found] == ["case-0", "case-2", "case-3", "case-4"]
            assert [(one.state, one.step) for one in found] == [("down", 0)] * 2 + [("degraded", 1), ("down", 0)]
            again = await learner.case("case-3")
            assert (again.state, again.step, again.proposal) == ("degraded", 1, case.proposal)
            await again.moved_to("down")
            await case.propose()  # somebody else went on with it
            assert (case.state, case.step) == ("down", 2)

    asyncio.run(run())


def test_alarms_are_acknowledged(store):
    store.create("changed", changed())

    async def run():
        async with AsyncClient("http://localhost", transport=httpx.ASGITransport(Service(store))) as client:
            learner = client.learner("changed")
            assert (await learner.status())["alarms"] != []
            assert (await learner.acknowledge())["alarms"] == []
            assert (await learner.status())["alarms"] == []

    asyncio.run(run())
