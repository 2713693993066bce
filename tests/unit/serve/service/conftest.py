"""Stores that services are made of."""

import pytest

from tests.support.incidents_at_work import greedy
from tests.support.stores import open_store


@pytest.fixture
def store(tmp_path):
    """One with a learner, incidents, and an open case, a."""
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        store.learner("incidents").begin([1, 0], "degraded", id="a")
        yield store
