"""What each estimate does with open and broken cases, and with pairs that were never tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import Support
from goalbound.logs import Log, LogColumns, PolicyEvaluation, evaluate_policy, read_log

SUPPORT = Support.from_pairs(
    [{0: [1, 2], 1: [1, 2]}, {0: [1, 2], 1: [1, 2]}], state_names=["sick", "weak"], action_names=["rest", "drug"]
)
ALWAYS_DRUG = {"sick": "drug", "weak": "drug"}
THREE = [
    # case, state, action, loss, next state, probability
    ("a", "sick", "drug", 0.5, "weak", 0.5),
    ("a", "weak", "drug", 0.25, "goal", 0.5),
    ("b", "sick", "drug", 0.75, "goal", 0.25),
    ("c", "sick", "rest", 1.0, "goal", 0.75),
]


def read(rows: list[tuple[Any, ...]], **others: Any) -> Log:
    names = ("case", "state", "action", "loss", "next_state", "probability")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns = LogColumns(time=None, probability="probability")
    return read_log(table, columns=columns, **{"support": SUPPORT, **others})


def found(rows: list[tuple[Any, ...]], policy: Any = ALWAYS_DRUG, **others: Any) -> PolicyEvaluation:
    return evaluate_policy(read(rows, **others), policy, replicates=0, rng=np.random.default_rng(0))


def test_the_numbers_of_three_cases_are_those_of_the_arithmetic():
    one = found(THREE)
    assert one.observed.value == pytest.approx((0.75 + 0.75 + 1.0) / 3)
    # weights of the first steps 2, 4, 0; of the second 4 (a), and b keeps its 4
    assert one.importance.value == pytest.approx((2 * 0.5 + 4 * 0.75) / 6 + 4 * 0.25 / 8)
    assert one.importance.effective_cases == pytest.approx((4 + 4) ** 2 / (16 + 16))
    # with lambda 1: sick-drug has losses 0.5, 0.75 in 2 steps, one of them to weak; weak-drug one step of 0.25
    assert one.model.value == pytest.approx(1.25 / 3 + 1 / 3 * 0.25 / 2)
    # three folds of one case; without a: V(sick) = 0.75 / 2, V(weak) = 0; without b: V(weak) = 0.25 / 2, V(sick) =
    # 0.5 / 2 + V(weak) / 2; without c: the model above
    a = 0.375 + 2 * (0.5 + 0 - 0.375) + 4 * (0.25 - 0)
    b = 0.3125 + 4 * (0.75 - 0.3125)
    assert one.doubly_robust.value == pytest.approx((a + b + one.model.value) / 3)
    assert (one.observed.cases, one.model.cases, one.importance.cases, one.doubly_robust.cases) == (3, 3, 3, 3)


def test_an_open_case_is_treated_as_the_notes_say():
    one = found([*THREE, ("d", "sick", "drug", 0.5, "weak", 0.5)])
    assert (one.cases, one.open_cases, one.broken_cases) == (4, 1, 0)
    assert one.observed.value == pytest.approx((0.75 + 0.75 + 1.0) / 3)  # left out
    assert one.observed.cases == 3
    # as if it had ended: weight 2 kept for the second step
    assert one.importance.value == pytest.approx((2 * 0.5 + 4 * 0.75 + 2 * 0.5) / 8 + 4 * 0.25 / 10)
    assert one.model.value == pytest.approx(1.75 / 4 + 2 / 4 * 0.25 / 2)
    for row, said in [(one.observed, "1 open case left out"), (one.importance, "biased low"),
                      (one.model, "no value is cut off"), (one.doubly_robust, "that of the model")]:  # fmt: skip
        assert any(said in note for note in row.notes), row


def test_without_a_closed_case_nothing_was_observed_to_the_end():
    one = found([("a", "sick", "drug", 0.5, "weak", 0.5), ("b", "sick", "drug", 0.5, "weak", 0.5)])
    assert one.observed.value is None
    assert "no case is closed" in one.observed.missing
    assert one.model.value is not None


def test_a_case_with_a_missing_row_is_left_out_of_what_needs_whole_cases():
    gap = [("d", "sick", "drug", 1.0, "weak", 0.5), ("d", "weak", "rest", "?", "sick", 0.5),
           ("d", "sick", "drug", 1.0, "goal", 0.5)]  # fmt: skip
    one = found([*THREE, *gap], support=Support.from_pairs(
        [{0: [0, 1, 2], 1: [0, 1, 2]}, {0: [0, 1, 2], 1: [0, 1, 2]}],
        state_names=["sick", "weak"], action_names=["rest", "drug"]), errors="skip")  # fmt: skip
    assert (one.cases, one.open_cases, one.broken_cases) == (4, 0, 1)
    plain = found(THREE)
    assert one.observed.value == plain.observed.value
    assert one.importance.value == plain.importance.value
    assert one.model.value != plain.model.value  # its steps are used
    assert (one.observed.cases, one.importance.cases, one.model.cases) == (3, 3, 4)
    assert any("row missing" in note for note in one.importance.notes)
    assert any("1 row of the table" in note for note in one.notes)


def test_without_probabilities_the_weighted_rows_say_why_they_are_absent():
    table = {"case": [1, 2], "state": ["sick", "sick"], "action": ["drug", "rest"], "loss": [0.5, 0.5],
             "next_state": ["goal", "goal"]}  # fmt: skip
    log = read_log(table, columns=LogColumns(time=None), support=SUPPORT)
    one = evaluate_policy(log, ALWAYS_DRUG, replicates=0)
    for row in (one.importance, one.doubly_robust):
        assert (row.value, row.low, row.effective_cases) == (None, None, None)
        assert "no probabilities" in row.missing
    assert one.model.value is not None


def test_a_pair_that_was_never_tried_is_named_where_the_policy_may_come_to_it():
    one = found(THREE, {"sick": "drug", "weak": "rest"})
    for row in (one.model, one.importance, one.doubly_robust):
        assert any('never tried: state 1 ("weak"), action 0 ("rest")' in note for note in row.notes), row
    assert one.importance.value == pytest.approx(0.75 * 4 / (2 + 4) + 0.5 * 2 / 6)  # b alone goes on
    one = found([THREE[3], ("e", "sick", "rest", 0.5, "goal", 0.5)])
    assert one.importance.value is None
    assert "effective sample size is 0" in one.importance.missing
    assert 'action 1 ("drug")' in one.importance.missing
    assert one.doubly_robust.missing == one.importance.missing
    narrow = Support.from_pairs(
        [{0: [2], 1: [1, 2]}, {0: [2], 1: [2]}], state_names=["sick", "weak"], action_names=["rest", "drug"]
    )
    away = found(THREE, {"sick": "rest", "weak": "rest"}, support=narrow)
    assert not any("never tried" in note for note in away.model.notes)  # "weak" is not reached by rest


def test_weights_beyond_floats_give_no_number():
    long = [("a", "sick", "drug", 0.1, "weak", 1e-6), *[("a", "weak", "drug", 0.1, "weak", 1e-6)] * 60,
            ("a", "weak", "drug", 0.1, "goal", 1e-6)]  # fmt: skip
    one = found([*long, *THREE[2:]])
    assert "larger than floats" in one.importance.missing
    assert one.importance.value is None


def test_one_case_has_no_doubly_robust_estimate():
    one = found(THREE[:2])
    assert one.importance.value == pytest.approx(0.75)
    assert "one case only" in one.doubly_robust.missing


def test_contexts_that_change_are_pointed_out():
    names = ("case", "state", "action", "loss", "next_state", "probability", "x", "y")
    rows = [(*row, 0.5, 0.5) for row in THREE]
    rows[1] = (*THREE[1], 0.25, 0.75)
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns = LogColumns(time=None, probability="probability", context=("x", "y"))
    one = evaluate_policy(read_log(table, columns=columns, support=SUPPORT), ALWAYS_DRUG, replicates=0)
    assert any("the context changes in 1 case" in note for note in one.notes)
    assert not any("the context changes" in note for note in found(THREE).notes)
