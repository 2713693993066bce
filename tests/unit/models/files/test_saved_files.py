"""What one process has learned is not lost because another saves to the same file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, MappedContexts, Step, Support, TabularLearner
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.baselines import Method
from goalbound.errors import FileConflictError, InputError
from goalbound.learners.reference import RandomWalk
from goalbound.models.files import saved_files
from goalbound.models.files.saved_files import locked
from tests.support.driving import NO_WAITING

SUPPORT = Support.full(2, 2)
POSIX = pytest.mark.skipif(os.name != "posix", reason="as POSIX has it")


def fresh(size: int = 1) -> LRCSSP:
    return LRCSSP(SUPPORT, size, loss_floor=0.1)


def learn(learner: Any, *, given: Any = (1.0,)) -> None:
    """One step more."""
    episode = learner.begin(given)
    episode.observe(Step(0, episode.act(0), 0.5, 2))


def steps(path: Path) -> int:
    return int(LRCSSP.load(path).statistics.visits.sum())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


CHILD = """
import sys
from goalbound import LRCSSP, Step, Support
from goalbound.errors import FileConflictError

def learn(learner):
    episode = learner.begin([1.0])
    episode.observe(Step(0, episode.act(0), 0.5, 2))
"""


def child(code: str, *words: Any) -> subprocess.Popen[str]:
    """Another process; it waits for lines, and prints some."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + code, *map(str, words)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


LOAD_THEN_SAVE = """
learner = LRCSSP.load(sys.argv[1])
for _ in range(int(sys.argv[2])):
    learn(learner)
print("loaded", flush=True)
sys.stdin.readline()
try:
    learner.save(sys.argv[1])
    print("saved", flush=True)
except FileConflictError as error:
    print(error, flush=True)
"""


def test_of_two_processes_that_go_on_from_one_file_the_second_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "learner.npz"
    fresh().save(path)
    first, second = child(LOAD_THEN_SAVE, path, 1), child(LOAD_THEN_SAVE, path, 2)
    try:
        assert (heard(first), heard(second)) == ("loaded", "loaded")
        say(first)
        assert heard(first) == "saved"
        say(second)
        assert heard(second) == (
            f"{path} is not as this learner read or wrote it last: another process may have saved it since. Load it to "
            "continue from there; or save to another path, or replace it with overwrite=True"
        )
    finally:
        for process in (first, second):
            process.communicate(timeout=60)
    assert steps(path) == 1  # that of the first; the second has lost nothing silently
    assert names(tmp_path) == ["learner.npz"]


SAVE_FOR_EVER = """
learner = LRCSSP.load(sys.argv[1])
print("loaded", flush=True)
while True:
    learn(learner)
    learner.save(sys.argv[1])
"""


@POSIX
def test_a_process_that_is_killed_at_any_moment_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "learner.npz"
    fresh().save(path)
    rng, before = np.random.default_rng(0), 0
    for _ in range(4):
        process = child(SAVE_FOR_EVER, path)
        assert heard(process) == "loaded"
        time.sleep(0.05 + 0.1 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        learner = LRCSSP.load(path)  # whole, and no older than before
        found = int(learner.statistics.visits.sum())
        assert found >= before
        learn(learner)
        learner.save(path)
        before = found + 1
    drafts = [name for name in names(tmp_path) if not re.fullmatch(r"\.learner\.npz\.[0-9a-f]{16}", name)]
    assert drafts == ["learner.npz"]


HOLD = """
from goalbound.models.files.saved_files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


HOLD = """
from goalbound.models.files.saved_files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_lock_of_a_killed_process_is_nobodys(tmp_path: Path) -> None:
    holder = child(HOLD, tmp_path / "file")
    assert heard(holder) == "held"
    holder.kill()
    holder.communicate(timeout=60)
    with locked(tmp_path / "file", timeout=1.0):
        pass


def test_what_a_learner_did_not_write_is_replaced_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "learner.npz"
    path.write_text("the work of years")
    learner = fresh()
    message = re.escape(
        f"{path} exists, and this learner neither read nor wrote it; save to another path, or replace it with "
        "overwrite=True"
    )
    with pytest.raises(FileConflictError, match=message):
        learner.save(path)
    assert path.read_text() == "the work of years"
    learner.save(path, overwrite=True)
    assert steps(path) == 0
    learn(learner)
    learner.save(path)  # from now on it is its own
    assert steps(path) == 1
    assert names(tmp_path) == ["learner.npz"]


def test_a_learner_saves_again_where_it_saved_before_or_was_loaded_from(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    learner = fresh()
    for number, path in enumerate((one, two, one, one, two)):
        learner.save(path)
        assert steps(path) == number
        learn(learner)
    learner = LRCSSP.load(two)
    learner.save(one, overwrite=True)
    learn(learner)
    learner.save(two)
    learner.save(one)
    os.replace(two, tmp_path / "three")
    learn(learner)
    learner.save(tmp_path / "three")  # the file was moved: it holds what the learner comes from
    learner.save(two)  # and where nothing is, nothing is lost
    assert steps(two) == steps(tmp_path / "three") == 6


def seen_through() -> MappedContexts:
    return MappedContexts(fresh(2), np.eye(2))


def cells() -> Discretized:
    return Discretized(lambda rng: fresh(), 2, parts=2)


def walk() -> RandomWalk:
    return RandomWalk(SUPPORT)


def tabular() -> TabularLearner:
    return TabularLearner(SUPPORT, Method("psrl-ssp"), loss_floor=0.1)


def covariates() -> CovariateLearner:
    return CovariateLearner(Hats([0, 1]), fresh(2))


EVERY: dict[str, tuple[Callable[[], Any], Callable[[Path], Any], Any]] = {
    "lr-cssp": (lambda: fresh(2), LRCSSP.load, [0.5, 0.5]),
    "tabular": (tabular, TabularLearner.load, [1.0]),
    "blind": (lambda: ContextBlind(fresh()), lambda path: ContextBlind(fresh()).restored(path), [0.5, 0.5]),
    "seen through": (seen_through, lambda path: seen_through().restored(path), [0.5, 0.5]),
    "cells": (cells, lambda path: cells().restored(path), [0.5, 0.5]),
    "random": (walk, lambda path: walk().restored(path), [1.0]),
    "covariates": (covariates, CovariateLearner.load, 0.3),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_learner_refuses_what_is_not_its_own(name: str, tmp_path: Path) -> None:
    make, load, given = EVERY[name]
    path = tmp_path / "learner"
    with NO_WAITING:
        first = make()
        learn(first, given=given)
        first.save(path)
        second, third = load(path), load(path)
        learn(second, given=given)
        learn(third, given=given)
        learn(third, given=given)
        second.save(path)
        kept = path.read_bytes()
        for other in (first, third, make()):
            with pytest.raises(FileConflictError, match="overwrite=True"):
                other.save(path)
        assert path.read_bytes() == kept
        third.save(path, overwrite=True)
        assert path.read_bytes() != kept
        third.save(path)
    assert names(tmp_path) == ["learner"]


def test_ctrl_c_after_the_file_was_replaced_does_not_make_it_a_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learner"
    learner = fresh()
    learner.save(path)
    replace = os.replace

    for late in (True, False):

        def pressed(draft: Path, target: Path, late: bool = late) -> None:
            if late:
                replace(draft, target)
            raise KeyboardInterrupt

        learn(learner)
        with monkeypatch.context() as patch:
            patch.setattr(saved_files.os, "replace", pressed)
            with pytest.raises(KeyboardInterrupt):
                learner.save(path)
        assert names(tmp_path) == ["learner"]
        learn(learner)
        learner.save(path)
    assert steps(path) == 4


@POSIX
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: this is a pipe, not a regular file; nothing was written"):
        fresh().save(tmp_path / "pipe")
    with pytest.raises(InputError, match="this is a directory, not a regular file; nothing was written"):
        fresh().save(tmp_path)


@POSIX
def test_a_link_is_followed_to_the_file_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "learner")
    learner = fresh()
    learner.save(tmp_path / "link")
    learn(learner)
    learner.save(tmp_path / "there" / "learner")
    learn(learner)
    learner.save(tmp_path / "link")
    assert steps(tmp_path / "link") == 2
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "there") == ["learner"]
