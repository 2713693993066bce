"""A stop is not seen in what follows, wherever it comes; files that are no checkpoint are one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner, TabularOptions
from goalbound.errors import FileFormatError
from goalbound.learners.checkpoint import OTHER_VERSION, VERSION
from goalbound.models.files.array_file import write_array_file
from tests.support.checkpoints import Damage, in_array, in_episode, in_header, parts, without
from tests.support.driving import NO_WAITING, reloaded, written
from tests.support.kernel_forms import COMPILED, kernels
from tests.support.tabular_driving import KINDS, METHODS, clinic, learner_of, small_problem

TICKS = 120


@pytest.mark.parametrize("beds", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_stop_anywhere_is_not_seen_in_what_follows(method: str, beds: int) -> None:
    with kernels(COMPILED):  # first samples of PSRL-SSP take thousands of sweeps
        whole = clinic(method, beds).run(TICKS)
        end = written(whole.learner)
        for at in (0, 1, 2, 37, 80):
            parted = clinic(method, beds).run(at)
            parted.stop()
            parted.run(TICKS - at)
            assert parted.actions == whole.actions
            assert written(parted.learner) == end


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_the_losses_is_kept(kind: str) -> None:
    whole = clinic("uc", 2, kind=kind).run(60)
    again = reloaded(whole.learner)
    assert again.settings == whole.learner.settings
    assert (again.known_losses is None) == (kind != "known")
    assert written(again) == written(whole.learner)


def test_a_loaded_episode_is_where_it_was() -> None:
    run = clinic("hoeffding", 3).run(41)
    again = reloaded(run.learner).open_episodes
    for patient, other in zip(sorted(run.patients, key=lambda one: one.episode.number), again, strict=True):
        one = patient.episode
        for name in ("number", "state", "intervals", "unknown_steps", "ended"):
            assert getattr(one, name) == getattr(other, name)


DAMAGES: list[tuple[Damage, str]] = [
    (in_array("state.main.iteration.policy", 99), "policy holds 99"),
    (in_array("state.unit.iteration.policy", -1), "policy holds -1"),
    (in_array("state.main.iteration.values", -1.0), "values holds -1"),
    (in_array("state.main.iteration.values", 1.0, -1), "values of the goal holds 1"),
    (in_array("state.main.iteration.values", np.nan), "values holds nan"),
    (in_array("state.main.dirty", 6), "dirty holds 6"),
    (in_array("state.main.dirty_count", 7), "dirty_count holds 7"),
    (in_array("state.main.is_dirty", 1, 5), "dirty and is_dirty"),
    (in_array("state.main.sets.used", 5), "used holds 5"),
    (in_array("state.main.sets.state", 4), "state holds 4"),
    (in_array("state.main.sets.ball", np.inf), "ball holds inf"),
    (in_array("state.counts.visits", 10**6), "out of range"),
    (in_array("state.counts.seen_index", 3), "seen_index holds 3"),
    (in_array("state.counts.seen_state", 3), "seen_state holds 3"),
    (in_array("state.counts.seen_count", 77), "visits holds"),
    (in_array("state.visits_used", 10**6), "visits_used holds"),
    (in_array("state.totals.episodes", -1), "episodes of totals holds -1"),
    (in_array("state.totals.loss_bound", 0.0), "loss_bound of totals holds 0"),
    (in_episode(0, "progress.number", 10**6), "number of progress holds"),
    (in_episode(0, "progress.plan", 10**6), "plan of progress holds"),
    (in_episode(0, "policy", 99), "policy holds 99"),
    (in_episode(1, "progress.number", 1), "in the order of begin"),
    (without("state.counts.visits"), "state.counts.visits is missing"),
    (without("state.workspace.table"), "state.workspace.table is missing"),
    (without("episodes.policy"), "episodes.policy is missing"),
    (in_array("state.unit.sets.losses", 2.0), "losses of the unit model holds 2"),
    (in_header([], "ids"), "is not part of the file of this learner"),
    (in_header(3, "ids"), "ids is no list"),
    (in_episode(0, "at.state", 9), "state of an episode holds 9"),
    (in_header({"bit_generator": "PCG64"}, "stream"), "draws nothing"),
    (in_header(True, "settings", "losses_are_known"), "do not say the same"),
    (in_header("sarsa", "settings", "method", "name"), "no method is called 'sarsa'"),
    (in_header({}, "settings"), "they need"),
    (in_header(99, "version"), "version 99"),
]


STREAMS: list[tuple[Damage, str]] = [
    (in_header(None, "stream"), "the generator is None"),
    (in_header("os", "stream", "bit_generator"), "there are PCG64"),
    (in_header({}, "stream", "state"), "the state of the generator is {}"),
    (in_header(0.5, "stream", "uinteger"), "the state of the generator holds 0.5"),
]


@pytest.fixture(scope="module")
def valid() -> bytes:
    run = clinic("hoeffding", 3).run(61)  # held, or its episodes would be gone
    return written(run.learner)


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES])
def test_a_damaged_file_is_one_clear_error(damage: Damage, message: str, valid: bytes, tmp_path: Path) -> None:
    header, arrays = parts(valid)
    damage(header, arrays)
    with NO_WAITING:
        write_array_file(tmp_path / "learner", header, arrays)
    with pytest.raises(FileFormatError, match=message):
        TabularLearner.load(tmp_path / "learner")


@pytest.mark.parametrize(("damage", "message"), STREAMS, ids=[message for _, message in STREAMS])
def test_a_damaged_generator_is_one_clear_error(damage: Damage, message: str, tmp_path: Path) -> None:
    header, arrays = parts(written(learner_of(small_problem(), "psrl")))
    damage(header, arrays)
    write_array_file(tmp_path / "learner", header, arrays)
    with pytest.raises(FileFormatError, match=message):
        TabularLearner.load(tmp_path / "learner")


@pytest.mark.parametrize("version", [1, 7, 11, 16])
def test_files_of_other_versions_are_refused_with_one_line(version: int, valid: bytes, tmp_path: Path) -> None:
    header, arrays = parts(valid)
    with NO_WAITING:
        write_array_file(tmp_path / "learner", header | {"version": version}, arrays)
    with pytest.raises(
        FileFormatError, match=f"version {version}; this goalbound reads version {VERSION}; {OTHER_VERSION}"
    ):
        TabularLearner.load(tmp_path / "learner")


def test_a_header_alone_cannot_claim_memory(valid: bytes, tmp_path: Path) -> None:
    header, arrays = parts(valid)
    method = {"name": "ulcvi", "loss_bound": 1.0, "time_bound": 1e6, "episodes": 5}
    header["settings"]["method"] |= method
    with NO_WAITING:
        write_array_file(tmp_path / "learner", header, arrays)
    with pytest.raises(FileFormatError, match=r"state.workspace.table is missing or not of shape \(29511036, 3\)"):
        TabularLearner.load(tmp_path / "learner")


def test_what_was_reported_other_things_is_not_resumed(tmp_path: Path) -> None:
    problem = small_problem()
    learner_of(problem, "uc", "known").save(tmp_path / "learner")
    again = learner_of(problem, "uc", "known").restored(tmp_path / "learner")
    assert written(again) == (tmp_path / "learner").read_bytes()
    losses = problem.losses[:, 0].copy()
    losses[0] += 0.01
    others = [learner_of(problem, "uc"), learner_of(problem, "bernstein", "known")]
    known = TabularOptions(known_losses=losses)
    others.append(TabularLearner(problem.support, METHODS["uc"], loss_floor=0.1, options=known))
    for other in others:
        with pytest.raises(FileFormatError, match="has other settings"):
            other.restored(tmp_path / "learner")


def test_a_learner_that_nobody_drew_from_goes_on_with_its_generator() -> None:
    learner = TabularLearner(small_problem().support, Method("psrl-ssp"), loss_floor=0.1, rng=np.random.default_rng(9))
    assert reloaded(learner)._rng.random() == np.random.default_rng(9).random()
