"""No error of the service, and no line of its log, holds a value of a context or the id of a case (SECURITY.md)."""

import json
import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goalbound import LRCSSP
from goalbound.adapters.covariates import Categories, CovariateLearner, Hats, Tensor
from goalbound.serve.service.routes import ROUTES
from tests.support.incidents_at_work import greedy
from tests.support.services import asked
from tests.support.stores import WORLD, open_store

ID, WORD, VALUE = "marker-case-7q", "MARKERWORD", 0.73190246
MARKED = re.compile(r"marker|\b0?\.73|190246|\b1\.63", re.IGNORECASE)  # 1.63: the sum of the weights below
GOOD = {"incidents": [VALUE, 1.0 - VALUE], "proven": [VALUE, 1.0 - VALUE], "aged": {"age": 73.190246, "ward": "A"}}

contexts = st.sampled_from(
    [
        *GOOD.values(), [VALUE, 0.9], [VALUE], [-VALUE, 1.0 + VALUE], [VALUE, WORD], WORD, VALUE, None, [[VALUE, 0.0]],
        {"calm": VALUE}, {"age": WORD, "ward": "A"}, {"age": 73190246.0, "ward": "A"}, {"age": 5, "ward": WORD},
        {"age": VALUE}, {"age": [VALUE], "ward": {WORD: VALUE}}, [73.190246, WORD], {},
    ]
)  # fmt: skip
names = st.sampled_from(["down", "degraded", "goal", "nowhere", 0, 7, -1])
acts = st.sampled_from(["restart", "page", "fly", 0, 9])
steps = {"step": st.sampled_from([1, 2, 9, 0, WORD]), "next_state": names}
outcomes = {
    "loss": st.sampled_from([0.1, 0.0, 7.0, -1.0, WORD]),
    "action": acts, "allowed": st.lists(acts, max_size=2),
}  # fmt: skip
ids = st.sampled_from([ID, f"{ID}2", f"{ID}/x", 7])
bodies = st.fixed_dictionaries(
    {},
    optional={
        "context": contexts, "state": names, "id": ids, **steps, **outcomes,
        "reason": st.sampled_from(["why", WORD, ""]), "missing_at_random": st.sampled_from([False, WORD]),
        "mode": st.sampled_from([WORD, "shadow"]),
        "policy": st.sampled_from([{"down": "fly"}, ["restart"], {}, {"down": "page", "degraded": "page"}, [0, 0]]),
        "steps": st.lists(st.fixed_dictionaries({"case": ids}, optional=steps | outcomes), max_size=2),
    },
)  # fmt: skip
begins = st.fixed_dictionaries({"context": contexts, "state": names}, optional={"id": ids})
reports = st.fixed_dictionaries(steps, optional=outcomes)
contents = st.one_of(bodies, begins, reports).map(json.dumps) | st.sampled_from(["{", f'["{WORD}', f'"{WORD}"', ""])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("answers") / "store") as store:
        ages = Tensor([Hats([0, 50]), Categories(["A", "B"], other=False)], ["age", "ward"])
        store.create("incidents", greedy())
        store.create("proven", LRCSSP(WORLD.support, 2, loss_floor=0.1))
        store.create("aged", CovariateLearner(ages, LRCSSP(WORLD.support, 4, loss_floor=0.1)))
        for name, context in GOOD.items():
            if name != "aged":
                store.learner(name).begin(context, "down", id=ID)
        yield store


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from(ROUTES), learner=st.sampled_from([*GOOD, "none"]), case=st.sampled_from([ID, f"{ID}3"]),
    content=contents, query=st.sampled_from(["", f"?{ID}"]) | st.sampled_from(["limit", "after", "before", "name"]).map(
        lambda name: f"?{name}={ID}"
    ),
)  # fmt: skip
def test_no_error_says_a_value_of_a_context_or_the_id_of_a_case(store, caplog, route, learner, case, content, query):
    path = route.path.format(learner=learner, case=case) + query
    kind = "application/octet-stream" if route.body is bytes else "application/json"
    with caplog.at_level(logging.DEBUG):
        answer = asked(
            store, lambda client: client.request(route.method, path, content=content, headers={"content-type": kind})
        )
    assert answer.status_code != 500
    told = [answer.text] if answer.status_code >= 400 else []
    if path.partition("?")[0].endswith("steps:batch") and answer.status_code == 200:
        told += [json.dumps(one["problem"]) for one in answer.json()["results"] if "problem" in one]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("goalbound")]
    for text in (*told, *ours):
        assert not MARKED.search(text), text
