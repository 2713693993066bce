"""Small runs and their records."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalbound.experiments import run as running
from goalbound.experiments.record_file import record_bytes
from goalbound.experiments.sweep import sweep
from tests.support.small_runs import RUNS, run
from tests.support.sweep_cases import small_spec


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 7 episodes, so that there is something between them."""
    monkeypatch.setattr(running, "CHUNK", 7)
    monkeypatch.setattr(running, "FIRST_PART", 7)


@pytest.fixture(scope="session")
def whole() -> dict[str, bytes]:
    """The records of the small runs, each played in one piece."""
    return {name: record_bytes(run(spec)) for name, spec in RUNS.items()}


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    result = sweep(small_spec(), folder, workers=1)
    assert result.complete
    return folder
