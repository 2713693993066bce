"""The results of the demo, with few enough episodes that kernels run as Python."""

import pytest

from goalbound.cli.demo import learning
from goalbound.cli.demo.page import page
from goalbound.cli.demo.planning import make_weather
from tests.support.demo_runs import EPISODES, ProgressLog


@pytest.fixture(scope="session")
def log():
    return ProgressLog()


@pytest.fixture(scope="session")
def learned(log):
    return learning.make_learning(log, episodes=EPISODES)


@pytest.fixture(scope="session")
def weather():
    return make_weather()


@pytest.fixture(scope="session")
def html(learned, weather):
    return page(learned, weather)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(learning, "EPISODES", 20)
