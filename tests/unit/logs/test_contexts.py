"""Contexts of a log: columns of weights, and covariates by a map."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.adapters.covariates import Additive, Categories, FromTransformer, Hats, Tensor
from goalbound.errors import InputError
from goalbound.logs import LogColumns, read_log

AGES = Hats([20, 80])
SHARES = FromTransformer(lambda rows: [[a / (a + b), b / (a + b)] if a + b else [0, 0] for a, b in rows], ["p", "q"])


def rows(**covariates) -> dict[str, list]:
    return {
        "case": ["a", "b"], "time": [0, 1], "state": ["s", "s"], "action": ["go", "go"], "loss": [0.5, 0.5],
        "next_state": ["goal", "goal"], **covariates,
    }  # fmt: skip


def contexts(table, map, *names, **others) -> np.ndarray:
    return read_log(table, columns=LogColumns(covariates=names), covariate_map=map, **others).arrays().contexts


def test_weights_are_the_context_and_must_sum_to_one():
    log = read_log(rows(young=[0.25, 1], old=["0.75", 0]), columns=LogColumns(context=["young", "old"]))
    np.testing.assert_array_equal(log.steps.contexts, [[0.25, 0.75], [1.0, 0.0]])
    assert log.component_names == ("young", "old")
    for young, said in (
        (0.3, 'row 0, column "young, old": the weights sum to 1.05, not 1; give more digits'),
        (-0.1, 'column "young": -0.1 is not in'),
        ("much", "column \"young\": 'much' is not a number"),
    ):
        with pytest.raises(InputError, match=said):
            read_log(rows(young=[young, 1], old=[0.75, 0]), columns=LogColumns(context=["young", "old"]))


def test_a_map_reads_its_columns_by_name_its_only_column_or_rows(write_csv):
    expected = [[0.5, 0.5], [0.0, 1.0]]
    table = rows(age=[50, 80], kind=["A", "B"], road=[1, 0], rail=[1, 4])
    both = [[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0]]
    for source in (table, write_csv(table)):
        np.testing.assert_allclose(contexts(source, AGES, "age"), expected)
        np.testing.assert_allclose(contexts(source, SHARES, "road", "rail"), expected)
        np.testing.assert_allclose(contexts(source, Additive([AGES], ["age"]), "age"), expected)
        np.testing.assert_allclose(contexts(source, Tensor([AGES], [0]), "age"), expected)
        kinds = Tensor([AGES, Categories(["B", "A"], other=False)], ["age", "kind"])
        np.testing.assert_allclose(contexts(source, kinds, "age", "kind"), [[0, 0.5, 0, 0.5], [0, 0, 1, 0]])
        halves = FromTransformer(lambda ages: [[(80 - x) / 60, (x - 20) / 60] for x in ages], ["young", "old"])
        np.testing.assert_allclose(contexts(source, halves, "age"), expected)
    assert both[1][3] == 1.0


def test_true_and_false_in_a_file_are_those_of_the_map(write_csv):
    flags, wanted = Categories([True, False]), [[1, 0, 0], [0, 1, 0]]
    for yes, no in (("True", "False"), ("TRUE", "false"), (True, False), (1, 0)):
        source = write_csv(rows(smoker=[yes, no]))
        np.testing.assert_array_equal(contexts(source, flags, "smoker"), wanted)
        np.testing.assert_array_equal(contexts(source, Tensor([flags], ["smoker"]), "smoker"), wanted)
    source = write_csv(rows(smoker=["true", "perhaps"]))
    np.testing.assert_array_equal(contexts(source, flags, "smoker"), [[1, 0, 0], [0, 0, 1]])
    with pytest.raises(InputError, match="column \"smoker\": 'perhaps' is none of the categories True, False"):
        contexts(source, Categories([True, False], other=False), "smoker")
    words = write_csv(rows(smoker=["True", "False"]))
    np.testing.assert_array_equal(contexts(words, Categories(["True"]), "smoker"), np.eye(2))


def test_words_that_look_like_numbers_are_words_to_a_map_of_words(write_csv):
    table = rows(kind=["1", "02"])
    np.testing.assert_array_equal(contexts(write_csv(table), Categories(["1", "02"], other=False), "kind"), np.eye(2))
    numbers = write_csv(rows(kind=[1, 2]))
    np.testing.assert_array_equal(contexts(numbers, Categories([1, 2], other=False), "kind"), np.eye(2))


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (90, "row 1.*column \"age\": 90.0 is outside 20 to 80.*clamp=True.*the row has {'age': 90"),
        (None, "the value is missing.*fill_missing"),
        ("old", "'old' is not a number"),
    ],
)
def test_what_a_map_rejects_is_an_error_with_its_row_and_value_and_is_skipped_on_demand(write_csv, age, said):
    table = rows(age=[50, age])
    for source in (table, write_csv({**table, "age": [50, "" if age is None else age]})):
        with pytest.raises(InputError, match=said):
            contexts(source, AGES, "age")
        log = read_log(source, columns=LogColumns(covariates=["age"]), covariate_map=AGES, errors="skip")
        assert [one.row for one in log.skipped] == [1]
        assert not log.skipped[0].outcome
        np.testing.assert_allclose(log.steps.contexts, [[0.5, 0.5]])


def test_missing_covariates_are_filled_where_the_map_says_how(write_csv):
    filling = Hats([20, 80], missing=[0.3, 0.7])
    np.testing.assert_allclose(contexts(write_csv(rows(age=[50, ""])), filling, "age"), [[0.5, 0.5], [0.3, 0.7]])


@pytest.mark.parametrize("columns", [["age", "seats"], [0, 1]], ids=str)
@pytest.mark.parametrize(
    ("spoilt", "blamed"), [({"age": [50, None]}, "age"), ({"seats": [3, 99]}, "seats"), ({"seats": [3, "x"]}, "seats")]
)
def test_the_column_that_a_map_rejects_is_named_and_not_all_covariates(columns, spoilt, blamed):
    map = Tensor([AGES, Hats([0, 10])], columns)
    table = rows(**({"age": [50, 60], "seats": [3, 4]} | spoilt))
    log = read_log(table, columns=LogColumns(covariates=["age", "seats"]), covariate_map=map, errors="skip")
    assert [(one.row, one.column) for one in log.skipped] == [(1, blamed)]


def test_where_a_map_blames_no_column_all_are_named():
    table = rows(road=[1, 0], rail=[1, 0])
    how = {"columns": LogColumns(covariates=["road", "rail"]), "covariate_map": SHARES}
    assert [one.column for one in read_log(table, errors="skip", **how).skipped] == ["road, rail"]
