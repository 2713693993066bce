"""A service around a follower: it answers what only reads, says how old that is, and refuses the rest."""

import asyncio

import httpx
import pytest

from goalbound.errors import NotLeader
from goalbound.serve.client import Client
from goalbound.serve.service.app import Limits, Service
from goalbound.serve.service.openapi import openapi
from goalbound.serve.service.routes import ROUTES
from goalbound.serve.store import Follower
from tests.support.incidents_at_work import greedy
from tests.support.services import asked
from tests.support.stores import drawing, open_store, until

ONE = "/v1/learners/incidents"
CALM = [1.0, 0.0]


@pytest.fixture
def store(place):
    with open_store(place) as store:
        learner = store.create("incidents", drawing())
        learner.begin(CALM, "down", id="a")
        learner.begin(CALM, "down", id="b")
        yield store


@pytest.fixture
def following(store, place):
    with Follower.open(place, leader="http://leader:8765") as following:
        yield following


def test_reading_is_answered_as_by_the_leader_with_its_age(store, following):
    paths = [f"{ONE}", f"{ONE}/cases", f"{ONE}/cases/a", f"{ONE}/cases/a/explanation", "/v1/learners",
             "/v1/events?after=1", "/v1/digest", "/", "/openapi.json", "/healthz"]  # fmt: skip

    async def ask(client):
        return [await client.get(path) for path in paths]

    for path, mine, leaders in zip(paths, asked(following, ask), asked(store, ask), strict=True):
        assert (mine.status_code, mine.content) == (200, leaders.content), path
        assert mine.headers["goalbound-seq"] == "3"
        assert 0.0 <= float(mine.headers["goalbound-behind"]) < 20.0
        assert "goalbound-seq" not in leaders.headers


def test_proposals_are_those_of_the_leader_and_nothing_is_recorded(store, following):
    made = store.learner("incidents").act("a")

    async def ask(client):
        return [
            (await client.post(f"{ONE}/cases/a/proposal", json=body)).json()
            for body in ({}, {"allowed": [made.action]}, {"allowed": [1 - made.action]})
        ]

    same, allowed, other = asked(following, ask)
    assert same == allowed
    assert (same["action"], same["seq"], other["action"]) == (made.action, made.seq, 1 - made.action)
    assert store.status()["events"] == 3
    assert asked(store, ask)[2]["propensity"] == other["propensity"]


def test_writing_is_refused_with_the_place_of_the_leader_and_this_is_documented(store, following):
    writes = [
        ("POST", f"{ONE}/cases", {"context": CALM, "state": "down"}),
        ("POST", f"{ONE}/cases/a/steps", {"step": 1, "loss": 0.1, "next_state": "goal"}),
        ("POST", f"{ONE}/steps:batch", {"steps": [{"case": "a", "step": 1, "loss": 0.1, "next_state": "goal"}]}),
        ("POST", f"{ONE}/cases/a/abandon", {"step": 1, "reason": "why"}),
        ("POST", f"{ONE}/promote", None),
        ("POST", f"{ONE}/acknowledge", None),
        ("POST", f"{ONE}/relearn", None),
        ("POST", "/v1/snapshots", None),
    ]

    async def ask(client):
        return [await client.request(method, path, json=body) for method, path, body in writes]

    for answer in asked(following, ask):
        found = answer.json()
        assert (answer.status_code, found["code"], found["leader"]) == (421, "not-leader", "http://leader:8765")
        assert "nothing was recorded" in found["detail"]
        assert answer.headers["goalbound-seq"] == "3"
    assert store.status()["events"] == 3
    description = openapi(ROUTES)["paths"]
    assert all("421" in description[route.path]["post"]["responses"] for route in ROUTES
               if route.method == "POST" and route.scope != "cases:read")  # fmt: skip


def test_the_age_of_an_answer_is_that_of_its_moment(store, following):
    """Between the answer and its sending the follower goes on; the header is of what the answer was made from."""
    service = Service(following)

    async def ask():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            original = service.submit

            async def slowed(operations, *, writes=True):
                found = await original(operations, writes=writes)
                store.learner("incidents").begin(CALM, "down", id="c")
                until(lambda: following.seen()[0] == 4)
                return found

            service.submit = slowed
            return await client.get(f"{ONE}/cases")

    answer = asyncio.run(ask())
    assert len(answer.json()["cases"]) == 2
    assert answer.headers["goalbound-seq"] == "3"


def test_a_follower_that_is_far_behind_or_has_stopped_is_not_ready(store, following, monkeypatch):
    async def ready(client):
        return await client.get("/readyz")

    answer = asked(following, ready)
    assert (answer.status_code, answer.json()["status"], answer.json()["seq"]) == (200, "following", 3)
    answer = asked(following, ready, limits=Limits(most_behind=-1.0))
    assert (answer.status_code, answer.json()["code"]) == (503, "not-ready")
    assert "behind its leader" in answer.json()["detail"]
    monkeypatch.setattr(following, "advance", lambda: 1 / 0)
    until(lambda: not following.writer.alive)
    assert asked(following, ready).status_code == 503


def test_metrics_of_a_follower_say_how_far_it_is_behind(following):
    async def ask(client):
        return (await client.get("/metrics")).text

    text = asked(following, ask)
    assert "goalbound_behind_seconds 0." in text
    assert "goalbound_connected 1" in text
    assert "goalbound_events_total 3" in text
    assert "commits" not in text


def test_the_client_knows_the_error(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        with Follower.open(tmp_path / "store", leader="http://leader") as following:
            service = Service(following)

            class Transport(httpx.BaseTransport):
                def handle_request(self, request):
                    async def ask():
                        inner = httpx.ASGITransport(service)
                        async with httpx.AsyncClient(transport=inner, base_url="http://localhost") as client:
                            answer = await client.request(
                                request.method, request.url.path, content=request.read(), headers=request.headers
                            )
                            return answer.status_code, answer.content

                    status, content = asyncio.run(ask())
                    return httpx.Response(status, content=content)

            with Client("http://localhost", transport=Transport()) as client:
                with pytest.raises(NotLeader, match="nothing was recorded") as caught:
                    client.learner("incidents").begin(CALM, "down")
                assert caught.value.leader == "http://leader"
