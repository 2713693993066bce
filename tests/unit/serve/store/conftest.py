"""Fixtures for the tests of stores."""

import pytest

from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.log import open_log
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, new_engine


@pytest.fixture
def log(place):
    """The log of a new store."""
    log = open_log(place_of(place), create=True)
    yield log
    log.close()


@pytest.fixture
def engine(tmp_path):
    """An engine in a folder, with a learner and five open cases."""
    engine = new_engine(tmp_path / "store", drawing())
    for number, context in enumerate(contexts(5, 0)):
        engine.begin("incidents", context, "down", id=str(number))
    engine.commit()
    yield engine
    engine.log.close()
