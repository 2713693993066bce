"""The window of steps keeps the last ones, whatever they come in."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from goalbound import GreedyRidge, Monitored, Step, Support, load_learner
from goalbound.errors import FileFormatError

SUPPORT = Support.full(1, 1000)


def monitored(window: int) -> Monitored:
    return Monitored(GreedyRidge(SUPPORT, 1, loss_floor=0.1), window=window)


def learn_numbered(monitor: Monitored, first: int, count: int) -> None:
    """Steps whose actions are their numbers."""
    monitor.learn_log([([1.0], Step(0, number % 1000, 0.5, 1)) for number in range(first, first + count)])


def rewrite_array(path: Path, name: str, value: float) -> None:
    """An array of the file gets another number in one place."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    array = np.load(io.BytesIO(members[f"{name}.npy"]))
    array.flat[min(3, array.size - 1)] = value
    out = io.BytesIO()
    np.save(out, array)
    members[f"{name}.npy"] = out.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)


@pytest.mark.parametrize("size", [0, 1, 7, 64, 100])
def test_it_keeps_the_last_steps_whatever_the_parts_they_come_in(size: int) -> None:
    monitor, done = monitored(size), 0
    for count in np.random.default_rng(size).integers(0, 30, size=40).tolist():
        learn_numbered(monitor, done, count)
        done += count
        kept = [number % 1000 for number in range(max(done - size, 0), done)]
        assert monitor._last_steps().pairs.tolist() == kept
    assert done > 300


def test_a_file_restores_it_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    path, monitor = tmp_path / "monitor.npz", monitored(10)
    learn_numbered(monitor, 0, 25)
    monitor.save(path)
    again = load_learner(path)
    for one in (monitor, again):
        learn_numbered(one, 25, 3)
    assert again._last_steps().pairs.tolist() == monitor._last_steps().pairs.tolist() == list(range(18, 28))
    for name, value in (("pairs", 1000), ("places", 7), ("losses", 1.5), ("contexts", 0.5)):
        monitor.save(path, overwrite=True)
        rewrite_array(path, f"window.{name}", value)
        with pytest.raises(FileFormatError, match=f"window.{name}.*out of range"):
            load_learner(path)
    monitor.save(path, overwrite=True)
    rewrite_array(path, "change.steps", 7)
    with pytest.raises(FileFormatError, match="the window has 10 steps; of 7 it keeps 7"):
        load_learner(path)
