"""A learner that sees the contexts through a function learns from what it is shown, in the true environment."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Clairvoyant, Dirichlet, ModelEnvironment, play
from goalbound.errors import InputError
from goalbound.learners.context_map import MappedContexts
from goalbound.simulation import bernoulli
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.testing import check_learner
from tests.support.driving import COMPILED, MODES, PYTHON, kernels, small_problem, written
from tests.support.ridge import lr_cssp

PROBLEM = small_problem(2, context_size=3)
MERGE = np.array([[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]])


def merged(context: np.ndarray) -> np.ndarray:
    return context @ MERGE


def run(learner: Any, *, compiled: bool) -> History:
    environment = partial(ModelEnvironment, PROBLEM, losses=bernoulli())
    return play(
        PROBLEM,
        learner,
        Dirichlet.symmetric(3),
        episodes=60,
        seed=3,
        step_limit=50,
        environment=environment,
        compiled=compiled,
    )


def assert_same(one: History, other: History) -> None:
    for name in PER_EPISODE:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


def test_seen_through_the_unit_matrix_it_is_the_learner_itself() -> None:
    bare, seeing = (lr_cssp(PROBLEM.support, 3, **MODES["narrow"]) for _ in range(2))
    assert_same(run(bare, compiled=True), run(MappedContexts(seeing, np.eye(3)), compiled=True))
    assert written(bare) == written(seeing)


@pytest.mark.parametrize("see", [MERGE, merged], ids=["matrix", "function"])
def test_the_compiled_loop_plays_what_the_plain_one_plays(see: Any) -> None:
    plain = lr_cssp(PROBLEM.support, 2, **MODES["narrow"])
    history = run(MappedContexts(plain, see), compiled=False)
    for way in (PYTHON, COMPILED):
        looped = lr_cssp(PROBLEM.support, 2, **MODES["narrow"])
        with kernels(way):
            assert_same(run(MappedContexts(looped, see), compiled=True), history)
        assert written(looped) == written(plain)


def test_it_keeps_the_contract_of_learners() -> None:
    def make(problem: Any) -> MappedContexts:
        first = np.eye(2)[[0, *[1] * (problem.context_size - 1)]]
        return MappedContexts(LRCSSP(problem.support, 2, loss_floor=0.1, widths=MODES["narrow"]["widths"]), first)

    check_learner(make, episodes=10)


def test_the_episode_has_the_context_that_was_shown() -> None:
    learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE)
    np.testing.assert_allclose(learner.begin([0.5, 0.5, 0.0]).context, [0.65, 0.35])
    np.testing.assert_allclose(learner.plan([0.5, 0.5, 0.0]).context, [0.65, 0.35])


def test_a_learner_without_a_compiled_loop_for_it_plays_in_the_plain_one() -> None:
    other = small_problem(2, context_size=2)
    assert not hasattr(MappedContexts(Clairvoyant(other), MERGE), "play_episodes")
    assert hasattr(MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE), "play_episodes")


def test_what_it_has_learned_is_saved_by_the_learner_inside(tmp_path: Path) -> None:
    learner = MappedContexts(lr_cssp(PROBLEM.support, 2, **MODES["narrow"]), merged)
    run(learner, compiled=True)
    learner.save(tmp_path / "saved")
    assert written(LRCSSP.load(tmp_path / "saved")) == written(learner.inner)


@pytest.mark.parametrize(
    ("see", "message"),
    [
        ([[1.0, 0.0], [0.5, 0.4], [0.0, 1.0]], r"see\[1\] sums to 0.9, not 1"),
        ([1.0, 0.0], r"see has shape \(2,\); it needs a function of a context, or a matrix"),
    ],
)
def test_a_matrix_has_points_of_the_simplex_as_rows(see: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), see)


def test_what_is_seen_is_checked_in_both_loops() -> None:
    for compiled in (True, False):
        learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), lambda context: context[:2])
        with pytest.raises(InputError, match="sums to"):
            run(learner, compiled=compiled)
        learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), lambda context: 1.0)
        with pytest.raises(InputError, match="shape"):
            run(learner, compiled=compiled)
    with pytest.raises(InputError, match=r"the context has shape \(2,\); see is a matrix for 3 entries"):
        MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE).begin([0.5, 0.5])
