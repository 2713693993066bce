"""A learner of a store that writes, and the same one of a follower."""

import pytest

from goalbound.errors import NotLeader
from goalbound.serve.store import Follower, Store
from tests.support.incidents_at_work import greedy
from tests.support.stores import until

CALM = [1.0, 0.0]


@pytest.fixture
def both(place):
    """The learner where it is written, and where it is followed, with three open cases and one that has ended."""
    with Store.open(place) as store:
        leading = store.create("incidents", greedy())
        for id in "abcd":
            leading.begin(CALM, "down", id=id)
        leading.observe("a", 0.1, "goal", step=1)
        leading.override("b", "page", 0.4, "degraded", step=1)
        leading.moved_to("c", "degraded", step=1)
        with Follower.open(place) as following:
            until(lambda: following.seen()[0] == store.digest()["seq"])
            yield leading, following.learner("incidents")


def test_what_only_reads_is_answered_alike(both):
    leading, followed = both
    for asked in (
        lambda one: one.cases(),
        lambda one: one.cases(limit=2),
        lambda one: one.case("a"),
        lambda one: one.case("b"),
        lambda one: one.act("c"),
        lambda one: str(one.explain("b")),
        lambda one: one.status(),
    ):
        assert asked(leading) == asked(followed)
    assert [answer.case for answer in leading.cases()] == ["b", "c", "d"]
    assert [answer.case for answer in followed.cases(limit=2)] == ["b", "c"]


def test_only_where_it_is_written_something_is_recorded(both):
    leading, followed = both
    for asked in (
        lambda one: one.begin(CALM, "down", id="e"),
        lambda one: one.observe("d", 0.1, "down", step=1),
        lambda one: one.override("b", "page", 0.1, "degraded", step=2),
        lambda one: one.moved_to("c", "down", step=2),
        lambda one: one.abandon("d", "lost", step=2),
    ):
        with pytest.raises(NotLeader):
            asked(followed)
        assert asked(leading).repeated is False
