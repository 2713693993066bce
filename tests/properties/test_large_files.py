"""What save writes can be read by a documented call, however large it is. Large is what the tests say it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, SSP, FileFormatError, LinearCSSP, MappedContexts, Support, TabularLearner, load, save
from goalbound.adapters.covariates import CovariateLearner, Hats, load_map, save_map
from goalbound.around import contexts
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.baselines import Method
from goalbound.errors import InputError, LargeFileWarning
from goalbound.learners.reference import RandomWalk
from goalbound.models.files import io as files_io
from tests.support.driving import NO_WAITING, small_problem

SUPPORT = Support.full(2, 2)


def ridge(size: int = 2) -> LRCSSP:
    return LRCSSP(SUPPORT, size, loss_floor=0.1)


def tabular() -> TabularLearner:
    return TabularLearner(SUPPORT, Method("bernstein-ssp"), loss_floor=0.1)


def cells() -> Discretized:
    learner = Discretized(lambda rng: ridge(1), 2, parts=2)
    learner.begin([1.0, 0.0])
    return learner


def covariates() -> CovariateLearner:
    return CovariateLearner(Hats([20, 80]), ridge())


PROBLEM = small_problem()
Save, Load = Callable[[Path], None], Callable[..., Any]
PAIRS: dict[str, tuple[str, Save, Load]] = {
    "LRCSSP.load": ("a.npz", lambda path: ridge().save(path), LRCSSP.load),
    "LRCSSP.resumed": ("a.npz", lambda path: ridge().save(path), lambda *a, **k: ridge().restored(*a, **k)),
    "TabularLearner.load": ("a.npz", lambda path: tabular().save(path), TabularLearner.load),
    "TabularLearner.resumed": ("a.npz", lambda path: tabular().save(path), lambda *a, **k: tabular().restored(*a, **k)),
    "RandomWalk": (
        "a.npz", lambda path: RandomWalk(SUPPORT).save(path), lambda *a, **k: RandomWalk(SUPPORT).restored(*a, **k)
    ),
    "ContextBlind": (
        "a.npz", lambda path: ContextBlind(ridge(1)).save(path),
        lambda *a, **k: ContextBlind(ridge(1)).restored(*a, **k),
    ),
    "MappedContexts": (
        "a.npz", lambda path: MappedContexts(ridge(), np.eye(2)).save(path),
        lambda *a, **k: MappedContexts(ridge(), np.eye(2)).restored(*a, **k),
    ),
    "Discretized": ("a.npz", lambda path: cells().save(path), lambda *a, **k: cells().restored(*a, **k)),
    "CovariateLearner": ("a.npz", lambda path: covariates().save(path), CovariateLearner.load),
    "load_map": ("a.npz", lambda path: save_map(Hats([20, 80]), path), load_map),
    "LinearCSSP.load": ("a.npz", PROBLEM.save, LinearCSSP.load),
    "goalbound.load npz": ("a.npz", lambda path: save(PROBLEM, path), load),
    "goalbound.load umb": ("a.umb", lambda path: save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), path), load),
    "goalbound.load drn": ("a.drn", lambda path: save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), path), load),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_above_the_limit_is_written_with_the_words_that_read_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, write, read = PAIRS[name]
    path = tmp_path / file
    monkeypatch.setattr(files_io, "LIMIT", 100)
    with pytest.warns(LargeFileWarning) as heard:
        write(path)
    size = path.stat().st_size
    assert [str(one.message) for one in heard] == [
        f"{path} has {size} bytes, and files of more than 100 are not read unless one asks for it: "
        f"load it with limit={size}"
    ]  # once: nothing is said of the files inside
    with pytest.raises(
        FileFormatError, match=rf"{size} bytes, and the limit is {size - 1}; raise it with limit={size}"
    ):
        read(path, limit=size - 1)
    assert read(path, limit=size) is not None


def test_what_is_not_large_is_written_without_a_word(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, (file, write, _) in PAIRS.items():
            write(tmp_path / f"{name} {file}")


def test_learners_inside_other_files_are_read_with_the_same_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    read = LRCSSP.load.__func__  # type: ignore[attr-defined]

    def noted(cls: type[LRCSSP], path: Path, *, limit: int = files_io.LIMIT, rooms: Any = ()) -> LRCSSP:
        limits.append(limit)
        return read(cls, path, limit=limit, rooms=rooms)

    monkeypatch.setattr(LRCSSP, "load", classmethod(noted))
    cells().save(tmp_path / "cells")
    covariates().save(tmp_path / "covariates")
    cells().restored(tmp_path / "cells", limit=2**40)
    CovariateLearner.load(tmp_path / "covariates", load_learner=LRCSSP.load, limit=2**41)
    assert limits == [2**40, 2**41]


@pytest.mark.parametrize(("make", "count"), [(ridge, 4000), (tabular, 300)])
def test_thousands_of_open_episodes_are_saved_and_loaded(make: Callable[[], Any], count: int, tmp_path: Path) -> None:
    # One by one, about twenty arrays of each of 4000 episodes would be more than the 65,533 that a file holds.
    learner = make()
    context = [0.25, 0.75] if isinstance(learner, LRCSSP) else [1.0]
    episodes = [learner.begin(context) for _ in range(count)]
    action = episodes[123].act(1)
    with NO_WAITING:
        learner.save(tmp_path / "learner")
    again = type(learner).load(tmp_path / "learner")
    found = again.open_episodes
    assert [one.number for one in found] == list(range(count))
    assert (found[123].state, found[123].act(1)) == (1, action)
    assert (found[-1].state, found[-1].context.tolist()) == (None, context)
    with NO_WAITING:
        again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "learner").read_bytes()


def test_more_cells_than_a_file_holds_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts, "MOST_ARRAYS", 1)
    learner = cells()
    learner.save(tmp_path / "one")
    learner.begin([0.0, 1.0])
    with pytest.raises(InputError, match="2 cells; one file holds at most 1: cut into fewer parts"):
        learner.save(tmp_path / "two")
    assert not (tmp_path / "two").exists()
