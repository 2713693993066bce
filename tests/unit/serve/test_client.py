"""The client, with and without asyncio."""

import asyncio
import inspect
import json

import httpx
import numpy as np
import pytest

from goalbound import errors
from goalbound.errors import InputError, ServiceError, ServiceUnreachable, StepConflict
from goalbound.serve import client as module
from goalbound.serve.client import AsyncCase, AsyncClient, AsyncLearner, Case, Client, Learner, error_of, understood
from goalbound.serve.service.app import Service
from tests.support.flaky import Flaky
from tests.support.incidents_at_work import greedy
from tests.support.stores import open_store


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        yield store


def test_requests_and_answers_that_are_lost_or_come_twice_change_nothing(store, monkeypatch):
    monkeypatch.setattr("goalbound.serve.client._FIRST_WAIT", 0.0001)
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


def test_without_an_answer_patience_ends(monkeypatch):
    async def run():
        transport = Flaky(httpx.ASGITransport(lambda *_: None), share=1.0)
        async with AsyncClient("http://localhost", transport=transport, patience=0.05) as client:
            with pytest.raises(ServiceUnreachable, match="the same can be asked again"):
                await client.learner("incidents").begin([1, 0], "down")

    asyncio.run(run())


def answering(*answers):
    """A service that gives these answers in turn."""
    waiting, asked = list(answers), []

    def answer(request):
        asked.append(request)
        status, content = waiting.pop(0)
        if status is None:
            raise httpx.ReadError("broken", request=request)
        return httpx.Response(status, json=content, headers={"retry-after": "0"})

    return httpx.MockTransport(answer), asked


REPLY = {"case": "a", "step": 0, "action": 1, "name": "page", "propensity": 1.0, "seq": 2, "done": False}


def test_the_same_bytes_are_sent_until_there_is_an_answer(monkeypatch):
    monkeypatch.setattr("goalbound.serve.client._FIRST_WAIT", 0.0001)
    transport, asked = answering(
        (503, {}),
        (None, {}),
        (429, {}),
        (201, REPLY),
        (200, REPLY | {"step": 1, "done": True, "action": None, "name": None}),
    )
    with Client("http://localhost", token="gb_1_2", transport=transport) as client:
        case = client.learner("incidents").begin([1, 0], "down")
        assert (case.action, case.done, case.id) == ("page", False, "a")
        assert case.observe(0.4, "goal") is None
        assert case.done
    assert len({request.content for request in asked[:4]}) == 1
    assert {request.headers["authorization"] for request in asked} == {"Bearer gb_1_2"}


def test_a_long_history_is_put_together_from_its_pages():
    transport, asked = answering(
        (200, {"step": 2, "history": [{"seq": 7}, {"seq": 9}], "earlier": True}),
        (200, {"step": 2, "history": [{"seq": 3}], "earlier": False}),
    )
    with Client("http://localhost", transport=transport) as client:
        found = client.learner("incidents").history("a")
    assert found == {"step": 2, "history": [{"seq": 3}, {"seq": 7}, {"seq": 9}], "earlier": False}
    assert str(asked[1].url) == f"{asked[0].url}?before=7"


def test_a_page_in_the_place_of_a_service_is_an_error_with_its_address():
    moved = httpx.MockTransport(lambda request: httpx.Response(301, headers={"location": "https://x/"}))
    with Client("http://localhost", transport=moved) as client:
        for ask in (client.learners, lambda: client.learner("incidents").begin([1, 0], 0)):
            with pytest.raises(ServiceError, match=r"http://localhost/v1/learners.*: the answer, of status 301"):
                ask()


def test_errors_do_not_say_the_password_in_the_address_of_a_proxy():
    transport, _ = answering((None, {}), (200, {}))
    with Client("http://ann:hush@localhost", transport=transport, patience=0.0) as client:
        for _ in range(2):  # no answer, then one of something else
            with pytest.raises(ServiceError, match="http://localhost") as caught:
                client.learners()
            assert "hush" not in str(caught.value)


@pytest.mark.parametrize(("one", "other"), [(Client, AsyncClient), (Case, AsyncCase), (Learner, AsyncLearner)])
def test_both_clients_have_the_same_methods_with_the_same_parameters(one, other):
    names = {name for name in dir(one) if not name.startswith("_")}
    assert names == {name for name in dir(other) if not name.startswith("_")}
    assert "begin" in dir(Learner)
    for name in names:
        mine, theirs = getattr(one, name), getattr(other, name)
        if callable(mine):
            assert inspect.signature(mine).parameters.keys() == inspect.signature(theirs).parameters.keys()
            assert inspect.getdoc(mine) == inspect.getdoc(theirs)


def test_open_cases_are_listed_and_alarms_acknowledged():
    listed = [REPLY | {"number": 7, "state": 1, "state_name": "degraded"}, REPLY | {"number": 8, "state": 0}]
    transport, asked = answering((200, {"cases": listed}), (200, REPLY | {"step": 3}), (200, {"alarms": []}))
    with Client("http://localhost", transport=transport) as client:
        learner = client.learner("incidents")
        first, second = learner.cases()
        assert (first.state, first.step, second.state) == ("degraded", 0, 0)
        first.observe(0.1, "down")
        assert (first.state, first.step) == ("down", 3)
        assert learner.acknowledge() == {"alarms": []}
    assert [(one.method, one.url.raw_path) for one in asked] == [
        ("GET", b"/v1/learners/incidents/cases?after=0&limit=1000"),
        ("POST", b"/v1/learners/incidents/cases/a/steps"),
        ("POST", b"/v1/learners/incidents/acknowledge"),
    ]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (409, "step-conflict", errors.StepConflict),
        (409, "step-gap", errors.StepGap),
        (404, "case-not-found", errors.CaseNotFound),
        (404, "learner-not-found", errors.LearnerNotFound),
        (409, "case-finished", errors.CaseFinished),
        (422, "invalid", errors.InputError),
        (401, "token", errors.AccessRefused),
        (403, "scope", errors.AccessRefused),
        (507, "storage-full", errors.StorageFull),
        (503, "overloaded", errors.StoreOverloaded),
        (500, "internal", errors.ServiceError),
        (404, "", errors.ServiceError),
    ],
)
def test_errors_are_the_classes_that_they_are_on_the_other_side(status, code, kind):
    found = error_of(status, code, "why", 4)
    assert type(found) is kind
    assert str(found) == "why"
    if isinstance(found, errors.CaseError):
        assert found.expected_step == 4


@pytest.mark.parametrize(
    ("status", "text"), [(301, b"<html>moved"), (302, b"{}"), (200, b"<html>log in"), (200, b"\xff"), (200, b"[]"),
                         (204, b""), (200, b'{"step": 1}')],
)  # fmt: skip
def test_what_no_service_answers_is_an_error_with_its_status_and_place(status, text):
    with pytest.raises(errors.ServiceError, match=f"http://proxy/x: the answer, of status {status}, is not") as caught:
        understood(status, text, place="http://proxy/x", has=("case", "step"))
    assert caught.value.status == status
    assert understood(201, b'{"case": "a", "step": 1}', place="", has=("case", "step")) == {"case": "a", "step": 1}


def test_a_case_has_its_id_and_a_step_its_number_before_they_are_sent():
    transport, asked = answering((201, REPLY), (201, REPLY), *[(200, REPLY | {"step": 3})] * 4)
    with Client("http://localhost", transport=transport) as client:
        learner = client.learner("x")
        case = learner.begin([1.0], 0)
        learner.begin({"hour": 2}, "down", id="a", allowed=("page",))
        case.override("page", 0.0, "goal")
        case.moved_to("goal", allowed=("page",))
        case.propose(np.array([0, 1]))
        case.abandon("lost", missing_at_random=True)
        with pytest.raises(InputError, match="loss is None"):
            case.observe(None, "goal")
        with pytest.raises(InputError, match="no name"):
            client.learner("").status()
    first, *bodies = [json.loads(request.content) for request in asked]
    assert len(first["id"]) == 32
    assert bodies == [
        {"context": {"hour": 2}, "state": "down", "id": "a", "allowed": ["page"]},
        {"step": 1, "next_state": "goal", "loss": 0.0, "action": "page"},
        {"step": 4, "next_state": "goal", "allowed": ["page"]},
        {"allowed": [0, 1]},
        {"step": 4, "reason": "lost", "missing_at_random": True},
    ]


def test_of_several_services_the_one_that_answers_is_asked_from_then_on():
    asked = []

    def answer(request):
        asked.append(request.url.host)
        if request.url.host == "gone":
            raise httpx.ConnectError("nobody is there", request=request)
        if request.url.host == "standby":
            return httpx.Response(503, json={"code": "not-leader", "detail": "another process leads"})
        return httpx.Response(200, json={"learners": []})

    urls = ("http://gone", "http://standby/", "http://leader")
    with Client(*urls, transport=httpx.MockTransport(answer)) as client:
        client.learners()
        client.learners()
    assert asked == ["gone", "standby", "leader", "leader"]
    for missing in ((), ("127.0.0.1:8765",), ("http://leader", "standby:8765")):  # and not after a minute of trying
        with pytest.raises(InputError, match="give the address of a service with its scheme"):
            Client(*missing)


def test_while_no_service_answers_it_waits_up_to_two_seconds_and_not_between_services(monkeypatch):
    waits, answers = [], iter([503] * 30 + [200])

    def answer(request):
        return httpx.Response(next(answers), json={"learners": []}, headers={"retry-after": "60"})

    monkeypatch.setattr(module.time, "sleep", waits.append)
    with Client("http://one", "http://other", transport=httpx.MockTransport(answer)) as client:
        client.learners()
    assert waits == [2.0] * 15  # once in each round


def test_waits_grow_are_bounded_and_heed_the_service():
    assert 0.0 < module.wait_before(0, None) <= 0.05
    assert 1.0 <= module.wait_before(50, None) <= 2.0
    assert module.wait_before(0, "1") == 1.0
    assert module.wait_before(0, "99999") == 2.0
    assert module.wait_before(0, "soon") <= 0.05
