"""The client without asyncio."""

import inspect

import httpx
import pytest

from goalbound.errors import AccessRefused, ServiceError, ServiceUnreachable
from goalbound.serve.client import AsyncCase, AsyncClient, Case, Client, asynchronous, synchronous


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
    monkeypatch.setattr("goalbound.serve.client.calls._FIRST_WAIT", 0.0001)
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


def test_when_patience_ends_the_last_answer_is_the_error():
    transport, _ = answering(*[(503, {"detail": "busy", "code": "overloaded"})] * 50)
    with (
        Client("http://localhost", transport=transport, patience=0.0) as client,
        pytest.raises(Exception, match="busy"),
    ):
        client.learners()
    transport, _ = answering((None, {}))
    with Client("http://localhost", transport=transport, patience=0.0) as client, pytest.raises(ServiceUnreachable):
        client.learners()


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


def test_what_is_not_allowed_is_said_at_once():
    transport, asked = answering((403, {"detail": "this token does not allow admin", "code": "scope"}))
    with Client("http://localhost", transport=transport) as client, pytest.raises(AccessRefused, match="admin"):
        client.learner("incidents").status()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("one", "other"), [(Client, AsyncClient), (Case, AsyncCase), (synchronous.Learner, asynchronous.AsyncLearner)]
)
def test_both_clients_have_the_same_methods_with_the_same_parameters(one, other):
    names = {name for name in vars(one) if not name.startswith("_")}
    assert names == {name for name in vars(other) if not name.startswith("_")}
    for name in names:
        mine, theirs = inspect.getattr_static(one, name), inspect.getattr_static(other, name)
        if callable(mine):
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(theirs).parameters)
            assert inspect.getdoc(mine).replace("Async", "") == inspect.getdoc(theirs).replace("Async", "")


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
