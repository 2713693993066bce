"""Settings and fixtures for all tests."""

import gc
import itertools
import os
import signal
import tracemalloc
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from faults.postgres import Cluster, missing
from tests.support.required import absent
from tests.support.strategies import EXAMPLES_FACTOR

# The same examples at every run, so that a red build is red for everyone; with a factor, fresh ones, and more of them.
settings.register_profile(
    "goalbound",
    max_examples=20 * EXAMPLES_FACTOR,
    derandomize=EXAMPLES_FACTOR == 1,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("goalbound")

collect_ignore = ["reference"]  # witnesses, not tests; one of them needs an optional library


def pytest_collection_finish():
    """Modules and tests stay until the end: the garbage collector does not go through them again and again, and what
    tests leave in cycles is little: it comes less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_terminal_summary(terminalreporter):
    """Say which tests were skipped and why, by folder: a few letters s among thousands of dots tell nobody."""
    counts = Counter(
        ("/".join(report.nodeid.split("/")[:2]).partition("::")[0], report.longrepr[2].removeprefix("Skipped: "))
        for report in terminalreporter.stats.get("skipped", [])
    )
    if counts:
        terminalreporter.section("skipped")
    for (group, reason), count in sorted(counts.items()):
        terminalreporter.line(f"{group}: {count} skipped: {reason}")


@pytest.fixture
def ctrl_c():
    """SIGINT interrupts this process and those that it starts, also where the tests themselves were started with it
    ignored (``nohup make test &``, many CI runners)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of our own, one for all tests of a process."""
    reason = missing()
    if reason is not None:
        absent(reason)
    with Cluster() as cluster:
        yield cluster


_SCHEMAS = itertools.count(1)


@pytest.fixture
def database(postgres):
    """The URL of a store in PostgreSQL that does not exist yet."""
    return postgres.url(f"test_{os.getpid()}_{next(_SCHEMAS)}")


@pytest.fixture(params=["folder", "database"])
def place(request, tmp_path):
    """Where a new store may be: the path of a folder, then the URL of a database."""
    return str(tmp_path / "store") if request.param == "folder" else request.getfixturevalue("database")


@pytest.fixture
def traced():
    """Memory is measured; :func:`tests.support.hostile_files.refused` needs it."""
    tracemalloc.start()
    yield
    tracemalloc.stop()
