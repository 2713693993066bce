"""The application: routes, bodies, who may ask, what is answered."""

import asyncio
import json
import re
import threading

import pytest

from goalbound import LRCSSP, Guarded, LossScale, Monitored
from goalbound.baselines import uc_ssp
from goalbound.errors import ArgumentError, ReplayDifference, StoreDamaged
from goalbound.serve.service import routes
from goalbound.serve.service.app import Limits, Service
from goalbound.serve.service.routes import ROUTES
from goalbound.serve.service.tokens import FILE, SCOPES, Tokens
from goalbound.serve.store.snapshots import learner_from
from tests.support.incidents_at_work import greedy
from tests.support.services import asked
from tests.support.stores import WORLD, open_store
from tests.support.units import in_units

CASES = "/v1/learners/incidents/cases"
BEGIN = {"context": [1, 0], "state": "down", "id": "a"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("service") / "store") as store:
        store.create("incidents", greedy())
        yield store


@pytest.fixture
def fresh(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        yield store


def test_a_field_that_there_is_not_is_an_error_with_those_that_there_are(store):
    async def ask(client):
        wrong = {"step": 1, "loss": 0.1, "next": "down"}
        return [
            await client.post(CASES, json={**BEGIN, "covariates": 1}),
            await client.post("/v1/learners/incidents/steps:batch", json={"steps": [{"case": "a", **wrong}]}),
        ]

    first, second = [one.json()["detail"] for one in asked(store, ask)]
    assert first.endswith("unknown field `covariates`; there are context, state, id, allowed")
    assert "unknown field `next`" in second
    assert second.endswith("; there are step, next_state, loss, action, allowed, case")


def test_a_case_from_begin_to_the_goal_and_each_answer_again(fresh):
    async def ask(client):
        found = []
        for path, body in (
            (CASES, BEGIN),
            (f"{CASES}/a/steps", {"step": 1, "loss": 0.1, "next_state": "down"}),
            (f"{CASES}/a/steps", {"step": 2, "loss": 0.4, "next_state": "degraded", "action": "page"}),
            (f"{CASES}/a/steps", {"step": 3, "next_state": "down"}),
            (f"{CASES}/a/steps", {"step": 4, "loss": 0.4, "next_state": "goal", "action": 1, "allowed": [0]}),
        ):
            for _ in range(2):
                found.append(await client.post(path, json=body))
        return found

    answers = asked(fresh, ask)
    assert [one.status_code for one in answers] == [201] + [200] * 9
    assert [one.headers.get("idempotent-replay") for one in answers] == [None, "true"] * 5
    for first, second in zip(answers[::2], answers[1::2], strict=True):
        assert first.content == second.content
    assert answers[-1].json()["done"] is True
    assert answers[0].json()["name"] == "restart"


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("POST", CASES, b"{", 400, "malformed"),
        ("POST", CASES, b'{"context": [1, 0], "state": 0, "id": "\xff"}', 400, "malformed"),
        ("POST", CASES, b'{"context": ' + b"[" * 60_000, 400, "malformed"),
        ("POST", CASES, b'{"context": [1, 0]}', 422, "invalid"),
        ("POST", CASES, b'{"context": [1, 0], "state": 0, "extra": 1}', 422, "invalid"),
        ("POST", CASES, b'{"context": [1, 0], "state": 7}', 422, "invalid"),
        ("POST", CASES, b'{"context": [1e308, 1e308], "state": 0}', 422, "invalid"),
        ("POST", CASES, b'{"context": [0.5, 0.4], "state": 0}', 422, "invalid"),
        ("POST", CASES, b'{"context": "\\ud800", "state": 0}', 400, "malformed"),
        ("POST", CASES, b'{"context": [1, 0], "state": 0, "id": "../x"}', 422, "invalid"),
        ("POST", CASES, b'{"context": [1, 0], "state": 0, "allowed": []}', 422, "invalid"),
        ("POST", CASES, b" " * 70_000, 413, "too-large"),
        ("POST", "/v1/learners/none/cases", b'{"context": [1, 0], "state": 0}', 404, "learner-not-found"),
        ("POST", f"{CASES}/none/steps", b'{"step": 1, "loss": 0, "next_state": 0}', 404, "case-not-found"),
        ("POST", f"{CASES}/none/steps", b'{"step": 1, "loss": -1, "next_state": 0}', 422, "invalid"),
        ("POST", f"{CASES}/none/steps", b'{"step": 10000000000000, "loss": 0, "next_state": 0}', 422, "invalid"),
        ("GET", f"{CASES}/none", None, 404, "case-not-found"),
        ("GET", f"{CASES}?limit=x", None, 422, "invalid"),
        ("GET", f"{CASES}?limit=0", None, 422, "invalid"),
        ("GET", "/v1/events?limit=0", None, 422, "invalid"),
        ("GET", "/nothing", None, 404, "not-found"),
        ("DELETE", CASES, None, 405, "method"),
        ("POST", "/v1/learners/incidents/promote", b"", 422, "invalid"),
        ("POST", "/v1/learners/incidents/policy-bounds", b'{"context": [1, 0]}', 422, "invalid"),
    ],
)
def test_wrong_requests_are_refused_with_a_problem(store, method, path, content, status, code):
    before = store.digest()
    headers = {"content-type": "application/json"}
    answer = asked(store, lambda client: client.request(method, path, content=content, headers=headers))
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert store.digest() == before


def test_a_case_without_an_id_is_begun_once_for_each_key(fresh):
    body = {"context": [1, 0], "state": "down"}

    async def ask(client):
        key = {"idempotency-key": "one"}
        return [
            await client.post(CASES, json=body, headers=key),
            await client.post(CASES, json=body, headers=key),
            await client.post(CASES, json={**body, "state": "degraded"}, headers=key),
            await client.post(CASES, json=body),
        ]

    first, again, other, own = asked(fresh, ask)
    assert first.content == again.content
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")
    assert own.json()["case"] != first.json()["case"]


def test_a_batch_has_a_result_for_each_step(fresh):
    async def ask(client):
        for id in "abc":
            await client.post(CASES, json={**BEGIN, "id": id})
        steps = [{"case": id, "step": 1, "loss": 0.1, "next_state": "down"} for id in ("a", "b", "none", "c", "a")]
        steps[3]["loss"] = 2.0
        return await client.post("/v1/learners/incidents/steps:batch", json={"steps": steps})

    results = asked(fresh, ask).json()["results"]
    assert [one.get("problem", {}).get("code") for one in results] == [None, None, "case-not-found", "invalid", None]
    assert [one.get("repeated") for one in results] == [False, False, None, None, True]
    assert fresh.learner("incidents").status()["steps"] == 2


def test_everything_that_is_read(fresh):
    async def ask(client):
        await client.post(CASES, json=BEGIN)
        paths = ("/v1/learners", "/v1/learners/incidents", "/v1/learners/incidents/history", CASES, f"{CASES}/a",
                 f"{CASES}/a/explanation", "/v1/events",
                 "/v1/digest", "/metrics", "/healthz", "/readyz", "/openapi.json")  # fmt: skip
        return {path: await client.get(path) for path in paths}

    found = asked(fresh, ask)
    assert {one.status_code for one in found.values()} == {200}
    assert found["/v1/learners"].json()["learners"][0]["name"] == "incidents"
    assert [one["case"] for one in found[CASES].json()["cases"]] == ["a"]
    assert found[f"{CASES}/a"].json()["history"][0]["kind"] == "begin"
    assert found[f"{CASES}/a/explanation"].json()["chosen"] == "restart"
    lines = found["/v1/events"].text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2]
    assert found["/v1/digest"].json() == fresh.digest()
    assert "goalbound_events_total 2" in found["/metrics"].text


def test_another_proposal_a_snapshot_a_learner_and_a_promotion(fresh, tmp_path):
    greedy().save(tmp_path / "rival.npz")

    async def ask(client):
        await client.post(CASES, json=BEGIN)
        other = await client.post(f"{CASES}/a/proposal", json={"allowed": ["page"]})
        taken = await client.post("/v1/snapshots")
        binary = {"content-type": "application/octet-stream"}
        data = (tmp_path / "rival.npz").read_bytes()
        created = await client.post("/v1/learners?name=rival&follows=incidents", content=data, headers=binary)
        bad = await client.post("/v1/learners?name=bad", content=b"no file", headers=binary)
        nameless = await client.post("/v1/learners", content=data, headers=binary)
        odd = await client.post("/v1/learners?name=x&mixing=0.1", content=data, headers=binary)
        promoted = await client.post("/v1/learners/rival/promote")
        return other, taken, created, bad, nameless, odd, promoted

    answers = asked(fresh, ask)
    assert [one.status_code for one in answers] == [200, 201, 201, 422, 422, 422, 200]
    assert answers[0].json()["name"] == "page"
    assert answers[2].json()["follows"] == "incidents"
    assert answers[5].json()["detail"] == "the query has another name than name and follows; leave it out"


def test_the_file_of_a_learner_is_not_read_where_requests_are_answered(fresh, tmp_path, monkeypatch):
    threads = []

    def read(data):
        threads.append(threading.current_thread())
        return learner_from(data)

    monkeypatch.setattr(routes, "learner_from", read)
    greedy().save(tmp_path / "learner.npz")
    data = (tmp_path / "learner.npz").read_bytes()
    octets = {"content-type": "application/octet-stream"}
    made = asked(fresh, lambda client: client.post("/v1/learners?name=other", content=data, headers=octets))
    assert made.status_code == 201
    assert threading.main_thread() not in threads


def test_bounds_of_a_policy_are_said_by_state(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("proven", LRCSSP(WORLD.support, 2, loss_floor=0.1))
        body = {"context": [1, 0], "policy": {"down": "page", "degraded": "page"}}
        found = asked(store, lambda client: client.post("/v1/learners/proven/policy-bounds", json=body)).json()
    assert found["proven"] is True
    assert [(one["name"], one["action_name"]) for one in found["states"]] == [("down", "page"), ("degraded", "page")]
    assert all(one["at_most"] is None or one["at_least"] <= one["at_most"] for one in found["states"])


@pytest.mark.parametrize("name", ["greedy", "monitored", "guarded", "without contexts"])
def test_what_a_learner_in_units_cannot_say_is_refused_and_nothing_is_rebuilt(tmp_path, name):
    context = [1] if name == "without contexts" else [1, 0]
    inside = {
        "greedy": greedy(), "monitored": Monitored(greedy()), "guarded": Guarded(greedy(), [0, 0], after_steps=3),
        "without contexts": uc_ssp(WORLD.support, loss_floor=0.1),
    }[name]  # fmt: skip

    async def ask(client):
        await client.post("/v1/learners/x/cases", json=BEGIN | {"context": context})
        bounds = await client.post("/v1/learners/x/policy-bounds", json={"context": context})
        return bounds, await client.get("/v1/learners/x/cases/a/explanation")

    with open_store(tmp_path / "store") as store:
        store.create("x", in_units(inside, LossScale("min", cap=1.0)))
        bounds, explained = asked(store, ask)
        assert store.status()["rebuilt"] == 0
    assert (bounds.status_code, bounds.json()["code"]) == (422, "invalid")
    assert re.search(r"has no confidence sets, and so no bounds", bounds.json()["detail"])
    assert explained.status_code == (422 if name == "without contexts" else 200)


def test_bodies_that_come_in_pieces_are_bounded_in_size_and_time(store):
    service = Service(store, limits=Limits(body_seconds=0.05))

    async def post(pieces, pause=0.0):
        sent, waiting = [], list(pieces)

        async def receive():
            await asyncio.sleep(pause)
            if not waiting:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": waiting.pop(0), "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": CASES, "query_string": b"",
                 "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")]}  # fmt: skip
        await service(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(post([b" " * 10_000] * 100)) == 413
    assert asyncio.run(post([b" "] * 100, pause=0.01)) == 408
    assert asyncio.run(post([b" "] * 100, pause=0.1)) == 408  # not even the first byte came in time
    assert asyncio.run(post([b" "] * 3)) == 400
    assert asyncio.run(post([])) == 400


def test_a_body_of_another_type_is_refused(store):
    answer = asked(store, lambda client: client.post(CASES, content=b"{}", headers={"content-type": "text/plain"}))
    assert answer.status_code == 415


def test_without_tokens_only_local_names_are_answered(store):
    for host, status in (("localhost:8765", 200), ("127.0.0.1", 200), ("[::1]:1", 200), ("evil.example", 403)):
        assert (
            asked(store, lambda client, host=host: client.get("/healthz", headers={"host": host})).status_code == status
        )


def test_without_tokens_no_page_of_another_site_is_answered(store):
    """A browser sends a POST without a body for any page, as ``promote`` is one, and by a local name."""
    for origin, status in ((None, 422), ("http://localhost", 422), ("http://evil.example", 403), ("null", 403)):
        headers = {} if origin is None else {"origin": origin}
        answer = asked(store, lambda client, to=headers: client.post("/v1/learners/incidents/promote", headers=to))
        assert answer.status_code == status


def test_every_route_but_those_of_health_needs_a_token_with_its_scope(fresh):
    tokens = Tokens(fresh.place)
    secret = {scope: tokens.create([scope]) for scope in SCOPES}

    async def ask(client):
        found = {}
        for route in ROUTES:
            path = route.path.format(learner="incidents", case="a")
            for scope, token in {**secret, None: None, "wrong": "gb_00000000_x"}.items():
                headers = {} if token is None else {"authorization": f"Bearer {token}"}
                answer = await client.request(route.method, path, headers=headers)
                found[route.method, route.path, scope] = answer.status_code
        return found

    found = asked(fresh, ask)
    for route in ROUTES:
        for scope in (*SCOPES, None, "wrong"):
            status = found[route.method, route.path, scope]
            if route.scope is None:
                assert status == 200
            elif scope in (None, "wrong"):
                assert status == 401
            elif scope in (route.scope, "admin"):
                assert status not in (401, 403)
            else:
                assert status == 403
    assert {route.path for route in ROUTES if route.scope is None} == {"/", "/healthz", "/readyz", "/openapi.json"}


def test_a_service_that_had_tokens_lets_nobody_in_without_one(fresh):
    tokens = Tokens(fresh.place)
    tokens.create(["admin"])

    async def ask(client):
        first = await client.get("/v1/learners")
        (fresh.place / FILE).unlink()
        return first.status_code, (await client.get("/v1/learners")).status_code

    assert asked(fresh, ask) == (401, 401)


def test_a_token_may_ask_so_often(fresh):
    token = Tokens(fresh.place).create(["cases:read"])

    async def ask(client):
        return [(await client.get("/v1/learners")).status_code for _ in range(5)]

    headers = {"authorization": f"Bearer {token}"}
    statuses = asked(fresh, ask, limits=Limits(requests_a_second=3.0), headers=headers)
    assert statuses[:3] == [200] * 3
    assert 429 in statuses
    statuses = asked(fresh, ask, limits=Limits(requests_a_second=0.01), headers=headers)
    assert statuses == [200, 429, 429, 429, 429]
    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match="requests_a_second"):
            Limits(requests_a_second=rate)


def test_a_store_that_has_stopped_is_not_ready(tmp_path):
    store = open_store(tmp_path / "store")
    store.close()
    answer = asked(store, lambda client: client.get("/readyz"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert asked(store, lambda client: client.get("/v1/learners")).status_code == 503


@pytest.mark.parametrize(("error", "code"), [(StoreDamaged, "store-damaged"), (ReplayDifference, "replay-difference")])
def test_a_store_that_its_own_files_have_stopped_answers_503_and_says_not_where_it_is(tmp_path, error, code):
    store = open_store(tmp_path / "store")

    def stop(engine):
        raise error("postgresql://ann@db/cases: the log holds what it should not")

    with pytest.raises(error):
        store.writer.call(stop)
    answer = asked(store, lambda client: client.get("/v1/learners"))
    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert answer.headers["retry-after"] == "1"
    assert "ann@db" not in answer.text
    store.close()


def test_no_error_gives_advice_for_python(tmp_path):
    """Whoever asks may use curl."""
    wrong = [
        (CASES, {"context": [1, 0], "state": "nowhere"}),
        (CASES, {"context": [1], "state": 0}),
        (CASES, {"context": [1, 0], "state": "goal"}),
        (CASES, {"context": [1, 0], "state": 0, "allowed": []}),
        (f"{CASES}/a/steps", {"step": 1, "loss": 61, "next_state": "down"}),
        (f"{CASES}/a/steps", {"step": 1, "loss": 1, "next_state": "down", "action": "fly"}),
        (f"{CASES}/a/proposal", {"allowed": [7]}),
        ("/v1/learners/incidents/policy-bounds", {"context": [1, 0]}),
        ("/v1/learners/incidents/promote", None),
        ("/v1/learners/incidents/acknowledge", None),
        ("/v1/learners/incidents/relearn", None),
        ("/v1/learners?name=x", None),
    ]

    async def ask(client):
        await client.post(CASES, json=BEGIN)
        headers = {"content-type": "application/octet-stream"}
        return [
            await client.post(path, json=body) if body else await client.post(path, content=b"x", headers=headers)
            for path, body in wrong
        ]

    with open_store(tmp_path / "store") as store:
        store.create("incidents", in_units(greedy(), LossScale("min", cap=60)))
        answers = asked(store, ask)
    for answer in answers:
        assert answer.status_code == 422
        detail = answer.json()["detail"]
        assert not re.search(r"\w\(\w*\)|\w=\"|\blearner\.\w|\bstore\.\w", detail), detail
