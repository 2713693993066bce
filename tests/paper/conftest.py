"""Whole runs are played here: compile once, before the first."""

import pytest

from guarantees.settings import warm_up


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm_up()
