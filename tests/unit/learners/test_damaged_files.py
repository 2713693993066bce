"""Files that are no checkpoint, or no longer one: one clear error, and never an index out of range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import FileFormatError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Step, Support
from goalbound.models.files.array_file import write_array_file
from tests.support.checkpoints import Arrays, Damage, Header, in_array, in_episode, in_header, instead, parts, renamed
from tests.support.driving import MODES, NO_WAITING, Clinic, learner_of, small_problem, written

PROBLEM = small_problem()


@pytest.fixture(scope="module")
def valid() -> bytes:
    """Three episodes are open: 0 waits for a step, and some data is there."""
    run = Clinic(PROBLEM, learner_of(PROBLEM, **MODES["doubling"]), beds=3, seed=0).run(61)
    return written(run.learner)


def test_the_valid_file_is_as_the_tests_below_need_it(valid: bytes, tmp_path: Path) -> None:
    header, arrays = parts(valid)
    write_array_file(tmp_path / "again", header, arrays)
    assert (tmp_path / "again").read_bytes() == valid
    assert written(LRCSSP.load(tmp_path / "again")) == valid
    assert header["ids"] == [None] * 3
    assert (arrays["episodes.at.action"] >= 0).any()
    assert arrays["state.regression.seen"].max() >= 2


def of_episodes(**places: int) -> Damage:
    """Where all episodes are; each action has a number of its own."""

    def damage(header: Header, arrays: Arrays) -> None:
        header["acts"] = 3
        arrays["episodes.at.acted"][:] = [0, 1, 2]
        for name, value in places.items():
            arrays["episodes." + name.replace("__", ".")][:] = value

    return damage


def two_states_in_one_slot(header: Header, arrays: Arrays) -> None:
    slot = arrays["state.regression.seen_index"]
    slot[slot == 1] = 0


def an_action_that_its_state_lacks(header: Header, arrays: Arrays) -> None:
    header["action_names"] = ["one", "two", "a third that no state has"]
    of_episodes(at__state=0, at__action=2, progress__planned=1)(header, arrays)


def settings(**changed: Any) -> Damage:
    def damage(header: Header, arrays: Arrays) -> None:
        header["settings"] |= changed

    return damage


WIDTHS = {"name": "paper", "joint": True, "scale": 1.0, "intervals": None, "likelihood": False}
DAMAGES: list[tuple[Damage, str]] = [
    # numbers that are used as an index
    (in_array("state.regression.visits", -1), "visits holds -1, which is out of range"),
    (in_array("state.regression.seen", 99), "seen holds 99"),
    (in_array("state.regression.seen", -1), "seen holds -1"),
    (in_array("state.regression.seen_index", 7), "seen_index holds 7"),
    (in_array("state.regression.seen_index", -2), "seen_index holds -2"),
    (in_array("state.regression.seen_index", -1, slice(None)), "seen holds"),
    (two_states_in_one_slot, "seen_state holds"),
    (in_array("state.regression.seen_state", 3), "seen_state holds 3"),
    (in_array("state.policy", 2), "policy holds 2"),
    (in_array("state.change_log", 6), "change_log holds 6"),
    (in_array("state.change_log", -1), "change_log holds -1"),
    (in_episode(0, "iteration.policy", 2), "policy holds 2"),  # a pair of another state
    (in_episode(1, "iteration.policy", -1), "policy holds -1"),
    (in_episode(2, "iteration.policy", 6, -1), "policy holds 6"),
    (in_episode(0, "sets.used", 5), "used holds 5"),
    (in_episode(0, "sets.state", 4), "state holds 4"),
    (in_array("next_state", 9, -1), "leads to 9"),
    (in_array("pair_start", 5, 1), "pair_start|not increasing|no action"),
    # numbers that would never let a plan end, or a logarithm be
    (in_array("state.totals.loss_bound", 0.0), r"loss_bound of totals holds 0\.0"),
    (in_array("state.totals.loss_bound", -2.0), r"loss_bound of totals holds -2\.0"),
    (in_array("state.totals.episodes", -1), "episodes of totals holds -1"),
    (in_episode(0, "progress.interval", 0), "interval of progress holds 0"),
    (in_episode(0, "progress.interval_loss", -1.0), r"interval_loss of progress holds -1\.0"),
    (in_array("state.values", -1.0), r"values holds -1\.0"),
    (in_array("state.values", 1.0, -1), r"values of the goal holds 1\.0"),
    (in_episode(0, "iteration.values", -1.0), r"values holds -1\.0"),
    (in_episode(0, "iteration.progress.residual", -np.inf), "residual holds -inf"),
    (in_episode(0, "progress.changes_read", 10**9), "changes_read of progress holds 1000000000"),
    (in_array("state.regression.gram", np.nan), "gram holds nan"),
    (in_array("state.sets.rows", np.inf), "rows holds inf"),
    (in_episode(1, "iteration.backup", np.nan), "backup holds nan"),
    (in_episode(0, "context", 0.9, slice(None)), r"context sums to 1\.8"),
    # shapes, names, types
    (instead("state.values", [0.1, 0.0]), r"state\.values has shape \(2,\); the support asks for \(4,\)"),
    (instead("state.regression.gram", np.eye(2)), r"gram is missing or not of shape \(6, 2, 2\)"),
    (instead("state.regression.visits", np.zeros(6)), "visits holds float64 numbers; it needs int64"),
    (instead("next_state", np.zeros(6)), "next_state.npy holds '<f8'"),
    (instead("episodes.norm", np.zeros((3, 7))), r"norm has shape \(3, 7\); the support asks for \(3, 6\)"),
    (instead("episodes.norm", np.zeros((2, 6))), r"norm has shape \(2, 6\)"),
    (instead("episodes.context", np.zeros((10**15, 0))), r"context has shape"),  # at once: nothing is made
    (instead("episodes.context", np.array(1.0)), r"context has shape \(\)"),
    (renamed("state.sets.known_width", "state.known_widths"), r"state\.sets\.known_width is missing"),
    (renamed("episodes.known_width", "episodes.known_widths"), r"episodes\.known_width is missing"),
    (instead("state.more", [0.5, 0.5]), r"state\.more is not part of the file of this learner"),
    (instead("episodes.more", [0.5, 0.5]), r"episodes\.more is not part of the file"),
    (instead("more", [0.5, 0.5]), r"more is not part of the file"),
    (in_header([None] * 4, "ids"), r"shape \(3, .*; the support asks for \(4, "),
    (in_header([None] * 2, "ids"), r"shape \(3, .*; the support asks for \(2, "),
    (in_header([], "ids"), r"episodes\.[a-z_.]+ is not part of the file"),
    # the header
    (in_header("LinearCSSP", "kind"), "the kind is 'LinearCSSP'"),
    (
        in_header(7, "version"),
        "version 7; this goalbound reads version 17; learn the log again, or load the",
    ),
    (in_header(16, "version"), "version 16; .* goalbound 1.x"),
    (in_header(99, "version"), "version 99; this goalbound reads version 17$"),
    (in_header({"bit_generator": "PCG64"}, "stream"), "draws nothing"),
    (settings(exploration={"name": "greedy"}), "the exploration"),
    (settings(replan_factor=0.5), "replan_factor 0.5"),
    (in_header(None, "acts"), "acts is None"),
    (in_header(-1, "acts"), "acts is -1"),
    (in_header(2**70, "acts"), f"acts is {2**70}"),  # more than any array of a file holds
    (in_header(0, "acts"), "acted of an episode holds"),
    (in_array("state.totals.episodes", 1), "number of progress holds"),
    (in_header({}, "ids"), "ids is no list"),
    (in_episode(0, "progress.number", 0), "number of progress holds 0"),
    (in_episode(1, "progress.number", 1), "in the order of begin"),
    (in_episode(0, "at.state", 3), "state of an episode holds 3"),
    (in_episode(0, "at.state", -2), "state of an episode holds -2"),
    (in_episode(0, "at.action", 9), "action of an episode holds 9"),
    (in_header([[], None, None], "ids"), r"the id of an episode is \[\]"),
    (in_header(["", None, None], "ids"), "the id of an episode is ''"),
    (in_header([True, None, None], "ids"), "the id of an episode is True"),
    (in_header(["case", "case", None], "ids"), "two episodes have one id"),
    (in_header([], "abandoned"), r"abandoned is \[\]; it has a count for each reason"),
    (in_header({"lost": -1}, "abandoned"), "abandoned is {'lost': -1}"),
    (in_header({"": 1}, "abandoned"), "abandoned is {'': 1}"),
    (of_episodes(at__state=0, at__action=0, progress__planned=0), "an action needs a plan"),
    (of_episodes(at__state=0, at__action=-1), "without its number"),
    (of_episodes(at__state=-1, at__action=0), "an action without a state"),
    (of_episodes(at__state=0, at__action=0, at__acted=1), "one number in the order of act"),
    (an_action_that_its_state_lacks, "has no action 2"),
    (in_header(0, "more"), "the header has"),
    # settings
    (in_header([], "settings"), "settings is no object"),
    (settings(delta=2.0), r"delta 2\.0 is not between 0 and 1"),
    (settings(delta="0.1"), "delta is '0.1', of a wrong type"),
    (settings(forget=1), "forget is 1, of a wrong type"),
    (settings(more=1), "the settings are"),
    (settings(widths={"name": "paper", "joint": True}), "it needs .*'scale'"),
    (settings(widths=WIDTHS | {"scale": -1.0}), r"the scale of the widths is -1\.0"),
    (settings(widths=WIDTHS | {"scale": 1e300}), r"the scale of the widths is 1e\+300"),
    (settings(widths=WIDTHS | {"joint": 1}), "of a wrong type"),
    (settings(widths=WIDTHS | {"joint": False}), "no rule is called 'paper' and has these settings"),
    (settings(widths=WIDTHS | {"intervals": {"goal": True}}), "the pieces of the widths"),
    (settings(check_linearity=1), "check_linearity is 1, of a wrong type"),
    (settings(context_size=3), r"gram is missing or not of shape \(6, 3, 3\)"),
    (settings(context_size=10**9), "gram is missing or not of shape"),  # and no memory is asked for
]


@pytest.mark.parametrize("number", range(len(DAMAGES)), ids=lambda number: f"{number}: {DAMAGES[number][1]}"[:60])
def test_a_damaged_part_is_named(valid: bytes, tmp_path: Path, number: int) -> None:
    damage, message = DAMAGES[number]
    header, arrays = parts(valid)
    damage(header, arrays)
    path = tmp_path / "damaged"
    write_array_file(path, header, arrays)
    with pytest.raises(FileFormatError, match=message) as caught:
        LRCSSP.load(path)
    assert str(path) in str(caught.value)


def test_a_truncated_file_is_an_error_wherever_it_ends(valid: bytes, tmp_path: Path) -> None:
    for size in range(0, len(valid), 97):
        (tmp_path / "cut").write_bytes(valid[:size])
        with pytest.raises(FileFormatError, match="cut"):
            LRCSSP.load(tmp_path / "cut")


def test_a_problem_is_no_learner_and_noise_is_nothing(tmp_path: Path) -> None:
    PROBLEM.save(tmp_path / "problem.npz")
    with pytest.raises(FileFormatError, match="the kind is 'LinearCSSP'"):
        LRCSSP.load(tmp_path / "problem.npz")
    (tmp_path / "noise").write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(FileFormatError):
        LRCSSP.load(tmp_path / "noise")
    with pytest.raises(FileNotFoundError):
        LRCSSP.load(tmp_path / "nothing")


def test_flipped_bytes_are_an_error_or_a_learner_that_works(valid: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path, loaded, messages = tmp_path / "flipped", 0, []
    for _ in range(300):
        data = bytearray(valid)
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            learner = LRCSSP.load(path)
        except FileFormatError as error:
            messages.append(str(error))
        else:  # a date or a flag of the zip format, which nobody reads
            loaded += 1
            assert written(learner) == valid
    assert 0 < loaded < 100
    assert all(str(path) in message for message in messages)


def test_whole_numbers_changed_behind_the_checksums_are_an_error_or_a_learner_that_works(
    valid: bytes, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    path, loaded = tmp_path / "changed", 0
    with NO_WAITING:
        for _ in range(120):
            header, arrays = parts(valid)
            names = [name for name, array in arrays.items() if array.dtype != np.float64 and array.size]
            raw = arrays[names[rng.integers(len(names))]].reshape(-1).view(np.uint8)
            raw[rng.integers(len(raw))] ^= 1 << int(rng.integers(8))
            write_array_file(path, header, arrays)
            try:
                learner = LRCSSP.load(path)
            except FileFormatError:
                continue
            loaded += 1
            for episode in learner.open_episodes:
                assert episode.act(episode.state or 0) in (0, 1)
    assert 12 < loaded < 108


LIKELIHOOD_DAMAGES = [
    (in_array("state.sets.place", 7), "likelihood place holds 7"),
    (in_array("state.sets.place", 0), "damaged|without a place"),
    (in_array("state.sets.first", 10**6), "likelihood first holds 1000000"),
    (in_array("state.sets.first", -1), "likelihood first holds -1"),
    (in_array("state.sets.outcome_rows", 10**6), "damaged|likelihood rows holds 1000000"),
    (in_array("state.sets.cell_rows", -1), "damaged|likelihood rows holds -1"),
    (in_array("state.sets.rows", -1.0, -1), r"likelihood rows holds -1\.0"),
    (in_array("state.sets.rows", 1.0, 0), r"cells without visits holds 1\.0"),
    (in_array("state.sets.used.numbers", 10**9), "numbers holds 1000000000"),
    (in_array("state.sets.used.rows", -1), "rows holds -1"),
    (in_array("state.sets.used.pairs", 1), "has shape"),
    (in_array("state.sets.fitted", 99), "likelihood fitted holds 99"),
]


@pytest.mark.parametrize("number", range(len(LIKELIHOOD_DAMAGES)))
def test_no_index_of_likelihood_ratio_sets_leads_out_of_their_arrays(tmp_path: Path, number: int) -> None:
    learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
    for k in range(6):
        learner.learn([0.3, 0.7] if k % 2 else [0.9, 0.1], Step(k % 2, 0, 0.5, k % 3))
    learner.save(tmp_path / "valid.npz")
    assert written(LRCSSP.load(tmp_path / "valid.npz")) == written(learner)
    header, arrays = parts((tmp_path / "valid.npz").read_bytes())
    damage, message = LIKELIHOOD_DAMAGES[number]
    damage(header, arrays)
    write_array_file(tmp_path / "damaged", header, arrays)
    with pytest.raises(FileFormatError, match=message):
        LRCSSP.load(tmp_path / "damaged")
