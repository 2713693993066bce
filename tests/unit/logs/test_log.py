"""What a log gives: steps, arrays, and itself in a few words."""

import copy
import datetime
import pickle

import numpy as np
import pytest

from goalbound import Statistics
from goalbound.adapters.covariates import FromTransformer, Hats, map_digest
from goalbound.errors import ArgumentError
from goalbound.logs import LogColumns, read_log


def test_the_arrays_are_the_steps(small, how):
    log = read_log(small, **how)
    arrays = log.arrays()
    for place, (context, step) in enumerate(log):
        np.testing.assert_array_equal(arrays.contexts[place], context)
        assert log.support.pair_state[arrays.pairs[place]] == step.state
        assert log.support.pair_action[arrays.pairs[place]] == step.action
        assert log.support.next_state[arrays.next_places[place]] == step.next_state
        assert arrays.losses[place] == step.loss
    assert not any(array.flags.writeable for array in arrays)


def test_steps_can_be_entered_into_statistics_as_they_are(small, how):
    log = read_log(small, **how)
    statistics = Statistics(log.support, log.context_size)
    for context, step in log:
        statistics.record(context, step)
    assert statistics.visits.tolist() == np.bincount(log.arrays().pairs).tolist()


def test_a_log_can_be_read_twice_copied_and_pickled(small, how):
    log = read_log(small, **how)
    assert len(list(log)) == len(list(log)) == 4
    for twin in (copy.deepcopy(log), pickle.loads(pickle.dumps(log))):
        assert repr(twin) == repr(log) == "Log(4 steps, 2 cases, 2 states, 3 pairs; support inferred)"
        assert [step for _, step in twin] == [step for _, step in log]
    with pytest.raises(AttributeError):
        log.cases = 3


def test_a_skipped_row_says_where_it_was(spoiled, how):
    log = read_log(spoiled("minutes", 1, -1), errors="skip", **how)
    assert str(log.skipped[0]) == 'row 1, column "minutes": the loss -1 is negative; losses are not'
    assert repr(log).endswith("support inferred; 1 row skipped)")


def test_what_breaks_the_validity_is_said_for_learners(small, how):
    log = read_log(small, **how)
    assert [one.split(" (")[0] for one in log.validity_breaks] == ["the support was inferred from the log"]
    small["minutes"][1] = -1  # the rest of case b is left
    wrong = read_log(small, support=log.support, errors="skip", **how)
    assert [one.split(" (")[0] for one in wrong.validity_breaks] == [
        "1 row of the log skipped because of the loss or the next state"
    ]
    small["minutes"][1] = 12
    small["time"][1] = ""  # no outcome
    assert read_log(small, support=log.support, errors="skip", **how).validity_breaks == ()


def test_a_log_knows_by_which_map_its_contexts_were_made(small, how):
    small["age"] = [30, 40, 50, 60]
    how["columns"] = LogColumns(loss="minutes", covariates=["age"])
    ages = Hats([20, 80])
    assert read_log(small, covariate_map=ages, **how).map_digest == map_digest(ages)
    nameless = FromTransformer(lambda ages: [[0.5, 0.5] for _ in ages], ["young", "old"])
    assert read_log(small, covariate_map=nameless, **how).map_digest is None
    how["columns"] = LogColumns(loss="minutes")
    assert read_log(small, **how).map_digest is None


def test_a_window_has_the_steps_in_it_and_cuts_cases(small, how):
    log = read_log(small, **how)
    for first, last in ((0, None), (1, None), (1, 3), (2, 2)):
        part = log.window(first, last)
        end = len(log) if last is None else last
        for mine, theirs in zip(part.arrays(), log.arrays(), strict=True):
            np.testing.assert_array_equal(mine, theirs[first:end])
        assert part.cases == len(set(log.case_of[first:end].tolist()))
        assert part.case_of.tolist() == sorted(part.case_of.tolist()) or part.cases > 1
        at_goal = log.support.next_state[part.arrays().next_places] == log.support.states
        assert part.open_cases == part.cases - len(set(part.case_of[at_goal].tolist()))
        assert [step for _, step in part] == [step for _, step in log][first:end]
    whole = log.window(0)
    assert (whole.cases, whole.open_cases) == (log.cases, log.open_cases)


@pytest.mark.parametrize("ends", [(-1, None), (0, 10_000), (2, 1), ("a", None)])
def test_a_window_that_is_not_in_the_log_is_an_error(small, how, ends):
    with pytest.raises(ArgumentError, match=r"first|last"):
        read_log(small, **how).window(*ends)


DAYS = ["2026-03-01T10:00", "2026-03-02T10:00", "2026-03-02T10:00", "2026-03-04T10:00"]


@pytest.mark.parametrize(
    ("ends", "places"),
    [
        ({"since": "2026-03-02"}, slice(1, 4)),
        ({"since": "2026-03-02T10:00"}, slice(1, 4)),
        ({"since": datetime.datetime(2026, 3, 2, 10, 0, 1)}, slice(3, 4)),
        ({"until": "2026-03-02T10:00"}, slice(0, 1)),
        ({"since": "2026-03-02", "until": datetime.date(2026, 3, 3)}, slice(1, 3)),
        ({"since": "2026-04-01"}, slice(4, 4)),
    ],
)
def test_a_window_in_time_has_the_steps_from_since_on_and_before_until(small, how, ends, places):
    small["time"] = DAYS
    log = read_log(small, **how)
    part = log.window(**ends)
    assert [step for _, step in part] == [step for _, step in log][places]
    assert part.times.tolist() == log.times[places].tolist()
    assert not part.times.flags.writeable
    assert not log.times.flags.writeable


def test_a_window_in_time_takes_the_numbers_of_the_column(small, how):
    log = read_log(small, **how)
    assert log.times.tolist() == [0, 1, 2, 3]
    assert log.window(since=1, until="3").rows.tolist() == [1, 2]
    assert log.window(since=1.5).times.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (
            {"since": "2026-03-01"},
            "since: '2026-03-01' is a time without zone, and the first time of the log is a number",
        ),
        ({"since": 1, "first": 1}, "give one of them"),
        ({}, "no ends"),
        ({"since": 3, "until": 1}, "until, 1, is before since, 3"),
    ],
)
def test_a_window_in_time_that_cannot_be_is_an_error(small, how, ends, said):
    with pytest.raises(ArgumentError, match=said):
        read_log(small, **how).window(**ends)


def test_a_log_without_a_column_of_times_has_no_window_in_time(small, how):
    how["columns"] = LogColumns(loss="minutes", time=None)
    log = read_log(small, **how)
    assert log.times is None
    assert log.window(1).times is None
    with pytest.raises(ArgumentError, match="without a column of them"):
        log.window(since=1)
