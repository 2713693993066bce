"""A stop is not seen in what follows, wherever it comes; what a file is made of comes back as it was."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, PriorKnowledge, Step, Support, widths
from goalbound.errors import FileFormatError
from goalbound.learners.checkpoint import generator_from, state_of
from goalbound.models.files import array_file
from tests.support.checkpoints import in_array, parts, without
from tests.support.driving import MODES, Clinic, learner_of, play_one, reloaded, small_problem, written

PROBLEM = small_problem()
TICKS = 200
STOPS = (0, 1, 2, 3, 37, 100, 101, 199)


def clinic(mode: str, beds: int) -> Clinic:
    return Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=beds, seed=5)


@pytest.mark.parametrize("beds", [1, 4])
@pytest.mark.parametrize("mode", MODES)
def test_a_stop_anywhere_is_not_seen_in_what_follows(mode: str, beds: int) -> None:
    whole = clinic(mode, beds).run(TICKS)
    end = written(whole.learner)
    for stop in STOPS:
        parted = clinic(mode, beds).run(stop)
        parted.stop()
        parted.run(TICKS - stop)
        assert parted.actions == whole.actions
        assert written(parted.learner) == end


@pytest.mark.parametrize("mode", MODES)
def test_a_stop_after_every_tick_is_not_seen_either(mode: str) -> None:
    whole, parted = clinic(mode, 2).run(40), clinic(mode, 2)
    for _ in range(40):
        parted.stop()
        parted.tick()
    assert parted.actions == whole.actions
    assert written(parted.learner) == written(whole.learner)


def test_the_modes_reach_what_they_are_for() -> None:
    ended = {mode: clinic(mode, 4).run(TICKS) for mode in MODES}
    steps = {mode: one.actions for mode, one in ended.items()}
    assert min(map(len, steps.values())) >= 90
    assert ended["doubling"].learner.doublings >= 1
    assert ended["doubling"].learner.statistics.visits.sum() > 90
    assert ended["forgetting"].learner.doublings >= 1
    assert ended["forgetting"].learner.statistics.visits.sum() < 90  # some was forgotten
    # eps = 3 (2^2 * 2 / 5000)^(1/3) = 3 (0.0016)^(1/3)
    assert ended["zero losses"].learner.added_loss == pytest.approx(0.350882)
    known = ended["known"].learner.plan([0.5, 0.5]).known
    assert ended["known"].learner.intervals < 90  # intervals that lasted
    assert known.any()
    # Some stops meet an episode in the middle, with and without an action that waits for its step.
    waiting = [patient.action is not None for patient in clinic("narrow", 4).run(37).patients]
    assert True in waiting
    assert False in waiting


def test_a_file_says_the_same_whenever_it_is_written() -> None:
    learner = play_one(PROBLEM, learner_of(PROBLEM, **MODES["narrow"]), 30).learner
    assert written(learner) == written(learner) == written(reloaded(learner))
    assert repr(learner) == repr(reloaded(learner))


def test_episodes_that_ended_or_that_nobody_holds_are_not_kept() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    held, left = learner.begin([1.0, 0.0]), learner.begin([0.5, 0.5])
    del left
    assert [one.number for one in reloaded(learner).open_episodes] == [held.number]
    del held
    again = reloaded(learner)
    assert again.open_episodes == ()
    assert again.begin([1.0, 0.0]).number == 2  # numbers go on
    assert again.intervals == 3  # and so do intervals


def test_a_loaded_episode_is_where_it_was() -> None:
    run = Clinic(PROBLEM, learner_of(PROBLEM, **MODES["narrow"]), beds=3, seed=2).run(31)
    again = reloaded(run.learner).open_episodes
    for patient, other in zip(sorted(run.patients, key=lambda one: one.episode.number), again, strict=True):
        one = patient.episode
        assert (one.number, one.state, one.interval, one.intervals, one.unknown_steps, one.ended) == (
            other.number, other.state, other.interval, other.intervals, other.unknown_steps, other.ended,
        )  # fmt: skip
        assert one.context.tobytes() == other.context.tobytes()
        assert (one.plan is None) == (other.plan is None)
        if one.plan is not None and other.plan is not None:
            for name in ("policy", "values", "upper", "losses", "rows", "known"):
                assert getattr(one.plan, name).tobytes() == getattr(other.plan, name).tobytes()


def test_a_write_that_breaks_off_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    learner.save(tmp_path / "learner")
    before = (tmp_path / "learner").read_bytes()
    play_one(PROBLEM, learner, 20)
    write, count = np.lib.format.write_array, 0

    def breaks_off(*arguments: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == 9:
            raise OSError("the disk is full")
        write(*arguments, **options)

    monkeypatch.setattr(array_file.np.lib.format, "write_array", breaks_off)
    with pytest.raises(OSError, match="the disk is full"):
        learner.save(tmp_path / "learner")
    assert (tmp_path / "learner").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["learner"]


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_the_generator_goes_on_whatever_it_is(kind: str) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(4))
    rng.random(3)
    rng.integers(3, dtype=np.int32)  # leaves half of a number behind
    again = generator_from(json.loads(json.dumps(state_of(rng))))
    assert (again.integers(9, dtype=np.int32), again.random()) == (rng.integers(9, dtype=np.int32), rng.random())


@pytest.mark.parametrize(("kind", "place"), [("MT19937", "pos"), ("Philox", "buffer_pos")])
@pytest.mark.parametrize("at", [-1, 10**6])
def test_a_generator_reads_only_its_own_buffer(kind: str, place: str, at: int) -> None:
    state = state_of(np.random.Generator(getattr(np.random, kind)(4)))
    (state["state"] if place in state["state"] else state)[place] = at
    with pytest.raises(FileFormatError, match=f"^{place} of the generator is {at}; it is a number from 0 to "):
        generator_from(state)


LARGE, SIZE = Support.from_pairs([{0: [s, 1000]} for s in range(1000)]), 8


def test_a_file_has_what_was_learned_not_what_might_be(tmp_path: Path) -> None:
    learner = LRCSSP(LARGE, SIZE, loss_floor=0.1, widths=widths.sharp())
    learner.learn(np.full(SIZE, 1.0 / SIZE), Step(17, 0, 0.5, 1000))
    learner.save(tmp_path / "a.npz")
    in_memory = sum(array.nbytes for _, array in learner._state_arrays())
    assert (tmp_path / "a.npz").stat().st_size < 0.2 * in_memory
    assert written(LRCSSP.load(tmp_path / "a.npz")) == written(learner)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted as Linux does")
def test_a_learner_that_is_loaded_takes_no_memory_for_pairs_that_were_never_played(tmp_path: Path) -> None:
    def resident() -> int:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed is the system's
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    support = Support.from_pairs([{0: [*range(s % 990, s % 990 + 8), 4000]} for s in range(4000)])
    learner = LRCSSP(support, SIZE, loss_floor=0.1, widths=widths.sharp())
    learner.save(tmp_path / "a.npz")
    before = resident()
    again = LRCSSP.load(tmp_path / "a.npz")
    # 9.2 MB of variances and 4.1 MB of sums stay untouched; Gram matrices and inverses have 4.1 MB
    assert resident() - before < 0.6 * sum(array.nbytes for _, array in again._state_arrays())


KNOWN = (
    PriorKnowledge.nothing(PROBLEM.support, 2)
    .with_losses({(0, 0): 0.5})
    .with_rows({(0, 0): {int(PROBLEM.support.next_state[0]): 1.0}})
)


def test_prior_knowledge_is_in_the_file(tmp_path: Path) -> None:
    for prior in (PriorKnowledge.nothing(PROBLEM.support, 2), KNOWN, PriorKnowledge.around(PROBLEM, strength=3)):
        again = reloaded(LRCSSP(PROBLEM.support, 2, loss_floor=0.1, prior=prior))
        assert again.prior == prior


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("prior.floors"), r"prior\.floors is missing"),
        (without("prior.rows"), r"prior\.rows is missing"),
        (in_array("prior.row_known", False, slice(None)), r"prior\.rows has shape"),
        (in_array("prior.losses", 2.0), r"prior\.losses holds 2\.0"),
        (in_array("prior.losses", np.nan), r"prior\.losses holds nan"),
        (in_array("prior.strength", -1.0), r"prior\.strength holds -1\.0"),
        (in_array("prior.rows", 0.9, slice(None)), r"a row of prior\.rows holds"),
    ],
)
def test_prior_knowledge_of_a_file_is_checked(damage: Any, message: str, tmp_path: Path) -> None:
    header, arrays = parts(written(LRCSSP(PROBLEM.support, 2, loss_floor=0.1, prior=KNOWN)))
    damage(header, arrays)
    array_file.write_array_file(tmp_path / "damaged", header, arrays)
    with pytest.raises(FileFormatError, match=message):
        LRCSSP.load(tmp_path / "damaged")
