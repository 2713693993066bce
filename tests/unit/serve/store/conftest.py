"""Fixtures for the tests of stores."""

import pytest

from goalbound.serve.store.locations import location_of
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, new_engine


@pytest.fixture
def opened(place):
    """A new store, as its location opens it."""
    opened = location_of(place).open_to_write(create=True)
    yield opened
    opened.close()


@pytest.fixture
def log(opened):
    """Its log."""
    return opened.log


@pytest.fixture
def engine(tmp_path):
    """An engine in a folder, with a learner and five open cases."""
    engine = new_engine(tmp_path / "store", drawing())
    for number, context in enumerate(contexts(5, 0)):
        engine.begin("incidents", context, "down", id=str(number))
    engine.commit()
    yield engine
    engine.log.close()
