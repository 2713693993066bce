"""Trials count in the order in which they began, whatever the order in which they end."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import numpy as np
import pytest

from goalbound import Guarded, Step, load_learner
from goalbound.around.excess import COUNT, LOST, MOST_WAITING, ROBERTS, ExcessLossTest, Trial, settled, trials_of_rows
from goalbound.errors import FileFormatError
from tests.support.incidents_at_work import BEFORE, RUNBOOK, greedy, people


def test_a_result_waits_until_all_that_began_earlier_are_settled() -> None:
    first, second, third = trials = [Trial(1.0) for _ in range(3)]
    left = list(trials)
    assert list(settled(left, [first, second])) == []
    assert list(settled(left, [second])) == [first]
    assert list(settled(left, [])) == [second, third]
    assert not left


def test_cheap_ones_that_end_first_raise_no_false_warning() -> None:
    # 200 cases at a time that end after a geometric number of steps, mean 2, of loss 0.5: the allowed mean is 1. By the
    # order of their ends the last of each 200 are all expensive, and every seed had a warning before 200 cases. In 10
    # runs of 1,000 cases each there are more than 6 with one with probability 1e-5 at most (binomial, 0.1).
    found = 0
    for seed in range(10):
        rng, trials, test = np.random.default_rng(seed), list[Trial](), ExcessLossTest()
        for _ in range(5):
            running = {Trial(1.0): None for _ in range(200)}  # in order
            trials += running
            while running:
                for trial in running:
                    trial.lost += 0.5
                for trial in list(running):
                    if rng.random() < 0.5:
                        del running[trial]
                        found += sum(test.add(one.lost, one.allowed) for one in settled(trials, running))
        assert not trials
    assert found <= 6


def test_one_that_never_ends_counts_with_what_it_lost_once_too_many_wait_for_it() -> None:
    stuck = Trial(1.0, 0.75)
    trials = [stuck]
    for _ in range(MOST_WAITING):
        trials.append(Trial(1.0))
        assert list(settled(trials, [stuck])) == []
    trials.append(Trial(1.0))
    everything = list(trials)
    assert list(settled(trials, [stuck])) == everything
    assert list(settled(trials, [stuck])) == []


def test_where_many_are_open_as_many_may_wait() -> None:
    count = 3 * MOST_WAITING
    trials = [Trial(1.0) for _ in range(2 * count + 1)]
    first, running = trials[0], set(trials)
    for trial in trials[count:-1]:
        running.remove(trial)
        assert list(settled(trials, running)) == []
    running.remove(trials[-1])
    assert next(settled(trials, running)) is first


def test_one_that_nobody_holds_any_more_holds_up_nobody() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=9)
    guarded.learn_log(people(BEFORE, 100))
    left, held = (guarded.begin([0.5, 0.5]) for _ in range(2))
    for episode in (left, held):
        episode.act("down")
        episode.observe(Step("down", "restart", 0.5, "down"))
    held.abandon("no use")
    assert guarded._test.sums[COUNT].max() == 0
    del left, episode
    gc.collect()
    other = guarded.begin([0.5, 0.5])
    other.act("down")
    other.observe(Step("down", "restart", 0.5, "goal"))
    assert guarded._test.sums[COUNT].max() == 3


def test_a_copy_goes_on_by_itself() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=9)
    some_open(guarded)
    other = pickle.loads(pickle.dumps(guarded))
    other.episode("first").abandon("no use")
    assert not other._trials
    assert other._test.sums[ROBERTS].min() > 0.0
    assert (guarded._test.sums[COUNT].max(), len(guarded._trials)) == (0, 3)


def some_open(guarded: Guarded) -> list[str]:
    """Two cases wait for the first, which has lost 0.25."""
    guarded.learn_log(people(BEFORE, 100))
    names = ["first", "second", "third"]
    episodes = [guarded.begin([0.5, 0.5], id=name) for name in reversed(names)][::-1]
    for episode in episodes:
        episode.act("down")
    episodes[0].observe(Step("down", "restart", 0.25, "down"))
    for episode in episodes[1:]:
        episode.observe(Step("down", "restart", 0.5, "goal"))
    guarded.episode("first").act("down")
    return names


def test_a_file_has_those_that_wait_and_goes_on_in_their_order(tmp_path: Path) -> None:
    guarded, path = Guarded(greedy(), RUNBOOK, after_steps=9), tmp_path / "guarded.npz"
    some_open(guarded)
    guarded.save(path)
    for one in (guarded, load_learner(path), copy.deepcopy(guarded)):
        assert one._test.sums[COUNT].max() == 0
        one.episode("first").observe(Step("down", "restart", 0.125, "goal"))
        assert not one._trials
        expected = ExcessLossTest()
        for lost in (0.375, 0.5, 0.5):
            expected.add(lost, 1.0)
        assert one._test.sums[COUNT].max() == 3
        assert one._test.sums[LOST].max() == pytest.approx(1.375)


@pytest.mark.parametrize(
    "array",
    [np.zeros((1, 2)), np.array([[0.5, 1.0, 2.0]]), np.array([[0.5, 1.0, 0.5]]), np.array([[-0.5, 1.0, -1.0]]),
     np.array([[0.5, 0.0, -1.0]]), np.array([[np.nan, 1.0, -1.0]]), np.array([[0.5, 1.0, 0.0]] * 2)],
)  # fmt: skip
def test_what_a_file_says_of_those_that_wait_is_checked(array: np.ndarray) -> None:
    with pytest.raises(FileFormatError, match="trials"):
        trials_of_rows(array, 2)


def test_after_a_warning_those_that_began_before_no_longer_count() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=9)
    some_open(guarded)
    guarded.acknowledge()
    guarded.episode("first").observe(Step("down", "restart", 0.125, "goal"))
    assert guarded._test.sums[COUNT].max() == 0


def test_other_settings_count_those_that_wait() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=9)
    some_open(guarded)
    guarded._trials = []
    guarded.episode("first").abandon("no use")
    for lost in (0.5, 0.25):
        guarded._trials.append(Trial(1.0, lost))
    other = guarded.with_settings(loss_floor=0.05)
    assert other._test.sums[ROBERTS].min() > 0.0
    assert guarded._test.sums[COUNT].max() == 0
