"""From tables to steps: what is read, and that every wrong row is one clear error or one skipped row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goalbound import LossScale, Step, Support
from goalbound.errors import FileFormatError, InputError
from goalbound.logs import LogColumns, read_log
from goalbound.problems import incident_contexts, incident_log, incident_recovery

KNOWN = Support.from_pairs(
    [{0: [0, 1], 1: [0, 2]}, {0: [1, 2], 1: [2]}], state_names=["sick", "weak"], action_names=["rest", "drug"]
)


def test_the_steps_of_a_table_in_the_order_of_time(small, how):
    log = read_log(small, **how)
    assert [step for _, step in log] == [
        Step(0, 1, 0.1, 1), Step(0, 0, 0.2, 0), Step(1, 1, 0.5, 2), Step(0, 0, 1.0, 2),
    ]  # fmt: skip
    assert all(context.tolist() == [1.0] for context, _ in log)
    assert log.support_inferred
    assert (log.support.state_names, log.support.action_names) == (("sick", "weak"), ("drug", "rest"))
    assert (len(log), log.cases, log.open_cases, log.skipped, log.clipped) == (4, 2, 0, (), 0)
    assert log.support.triples == 4  # exactly what was seen: rest to weak, drug to sick and well, rest to well


def test_rows_in_any_order_give_the_same_steps_and_equal_times_keep_their_order(small, how):
    shuffled = {name: [values[row] for row in (3, 0, 2, 1)] for name, values in small.items()}
    log = read_log(shuffled, support=KNOWN, **how)
    assert [step for _, step in log] == [step for _, step in read_log(small, support=KNOWN, **how)]
    assert log.rows.tolist() == [1, 3, 2, 0]
    small["time"] = [5, 5, 5, 5]
    assert read_log(small, **how).rows.tolist() == [0, 1, 2, 3]
    how["columns"] = LogColumns(time=None, loss="minutes")
    assert read_log(small, **how).rows.tolist() == [0, 1, 2, 3]


def test_csv_gives_the_same_log_as_the_table(small, how, write_csv):
    for delimiter in ",;":
        log = read_log(write_csv(small, delimiter), **how)
        for own, other in zip(log.arrays(), read_log(small, **how).arrays(), strict=True):
            np.testing.assert_array_equal(own, other)


def test_a_given_support_is_kept_and_numbers_are_names_where_it_has_none(small, how):
    log = read_log(small, support=KNOWN, **how)
    assert log.support == KNOWN
    assert log.support.goal_name == "well"
    assert not log.support_inferred
    numbers = {
        "case": [1, 1],
        "time": [0, 1],
        "state": [0, "1"],
        "action": [1.0, 0],
        "loss": [0.5, 1],
        "next_state": [1, "goal"],
    }
    found = read_log(numbers, support=Support.full(2, 2))
    assert [step for _, step in found] == [Step(0, 1, 0.5, 1), Step(1, 0, 1.0, 2)]


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("minutes", 2, math.nan, 'row 2, column "minutes": the cell is empty'),
        ("minutes", 2, None, 'row 2, column "minutes": the cell is empty'),
        ("minutes", 2, "12 min", r"row 2, column \"minutes\": '12 min' is not a number"),
        ("minutes", 2, "=1+1", "'=1\\+1' is not a number"),
        ("minutes", 2, math.inf, "the loss inf is not finite"),
        ("minutes", 1, -3, 'row 1, column "minutes": the loss -3 is negative'),
        ("minutes", 1, 61, r"a loss of 61 min is above the cap of 60 min; .*beyond=\"clip\""),
        ("case", 0, None, 'row 0, column "case": the cell is empty'),
        ("case", 0, "c" * 10**6, "has 1000000 characters; a name has at most 200"),
        ("time", 3, "", 'row 3, column "time": the cell is empty'),
        ("time", 3, "later", "'later' is not a time"),
        ("time", 3, "2026-01-01", "is a time without zone, and the first time of the log is a number"),
        ("state", 1, "well", "'well' is the goal, where nothing can be done"),
        ("state", 1, "", 'row 1, column "state": the cell is empty'),
        ("state", 2, "goal", "\"goal\" is reserved for the goal, which this log calls 'well'"),
        ("state", 2, "=HYPERLINK(1)", "begins as formulas of spreadsheets do"),
        ("action", 2, "@SUM(1)", "row 2, column \"action\": '@SUM\\(1\\)' begins as formulas"),
        ("action", 2, ["rest"], r"\['rest'\] is not a name"),
        ("next_state", 0, "weka", "row 2, is in 'weak', not where this one leads; a row between them is missing"),
        ("next_state", 0, "well", "the case reaches the goal, but goes on in row 2, in 'weak'"),
        ("next_state", 3, "home", "no row begins in 'home', so no action is known there; if it is the goal, say goal="),
    ],
)
def test_a_wrong_cell_is_an_error_with_its_row_column_and_value_and_is_skipped_on_demand(
    spoiled, how, column, row, value, message
):
    table = spoiled(column, row, value)
    with pytest.raises(InputError, match=message) as caught:
        read_log(table, **how)
    assert len(str(caught.value)) < 400
    log = read_log(table, errors="skip", **how)
    assert len(log) == 4 - len(log.skipped)
    (found,) = (one for one in log.skipped if one.row == row)  # others may lead where no action is known any more
    assert str(found) in str(caught.value)
    assert found.outcome == (found.column in ("minutes", "next_state"))


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("state", 1, "sik", "'sik' is no state of the support; did you mean \"sick\"?"),
        ("state", 1, "entirely else", "is no state of the support; there are sick, weak"),
        ("action", 3, "drugs", "'drugs' is no action of the support; did you mean \"drug\"?"),
        ("next_state", 3, "9", "'9' is no state of the support"),
        ("next_state", 0, "well", r'state 0 \("sick"\), action 0 \("rest"\) never leads to goal .* by the support'),
    ],
)
def test_names_and_steps_that_a_given_support_does_not_have(spoiled, how, column, row, value, message):
    table = spoiled(column, row, value)
    if column == "next_state" and row == 0:
        table["case"][2] = "c"  # so that the case ends there
    with pytest.raises(InputError, match=message):
        read_log(table, support=KNOWN, **how)
    log = read_log(table, support=KNOWN, errors="skip", **how)
    assert [one.row for one in log.skipped] == [row]


def test_a_pair_that_the_support_does_not_have_is_an_error_that_lists_those_it_has(small, how):
    only = Support.from_pairs([{1: [0, 1, 2]}, {0: [2]}], state_names=["sick", "weak"], action_names=["rest", "drug"])
    with pytest.raises(InputError, match=r'row 0, column "action": state 0 .* has no action 0 .*; it has action 1'):
        read_log(small, support=only, **how)


def test_the_first_wrong_row_is_the_one_that_is_raised(spoiled, how):
    table = spoiled("minutes", 3, -1)
    table["action"][1] = ""
    with pytest.raises(InputError, match=r"^row 1, "):
        read_log(table, **how)


def test_errors_of_files_name_the_file_and_the_line(spoiled, how, write_csv):
    path = write_csv(spoiled("minutes", 2, "much"))
    with pytest.raises(FileFormatError, match=rf"{path.name}: row 2 \(line 4\), column \"minutes\": 'much'"):
        read_log(path, **how)
    path.write_text(path.read_text().replace("a,2,", "a,2,,"))
    with pytest.raises(FileFormatError, match=r"row 2 \(line 4\): 7 cells, and the header has 6"):
        read_log(path, **how)
    assert [one.line for one in read_log(path, errors="skip", **how).skipped] == [2, 4]


def test_a_repeated_row_counts_once(small, how):
    twice = {
        name: [*values, values[1]] for name, values in small.items()
    }  # sick, drug, sick: the chain would not break
    with pytest.raises(InputError, match=r"row 4: the same case, .* as row 1: it is counted once"):
        read_log(twice, **how)
    log = read_log(twice, errors="skip", **how)
    assert (len(log), log.open_cases, [one.row for one in log.skipped]) == (4, 0, [4])


def test_a_row_that_was_skipped_breaks_no_chain(how):
    table = {
        "case": ["a"] * 4, "time": [0, 1, 2, 3], "state": ["s", "t", "s", "t"], "action": ["go"] * 4,
        "minutes": [1, 1, -1, 1], "next_state": ["t", "s", "t", "well"],
    }  # fmt: skip
    log = read_log(table, errors="skip", **how)
    assert [one.row for one in log.skipped] == [2]  # row 1 leads to s, where row 2 is, though its loss is wrong


def test_open_cases_are_counted(small, how):
    cut = {name: values[:3] for name, values in small.items()}
    log = read_log(cut, support=KNOWN, **how)
    assert (log.cases, log.open_cases) == (2, 1)
    skipped = read_log({**small, "minutes": [6, 12, 30, -1]}, support=KNOWN, errors="skip", **how)
    assert skipped.open_cases == 1  # its last row was skipped: nobody knows


def test_a_state_without_action_takes_the_rows_that_lead_there_with_it(how):
    table = {
        "case": ["a", "a", "b"], "time": [0, 1, 2], "state": ["s", "t", "s"], "action": ["go"] * 3,
        "minutes": [1, 1, 1], "next_state": ["t", "u", "well"],
    }  # fmt: skip
    log = read_log(table, errors="skip", **how)
    assert [one.row for one in log.skipped] == [0, 1]  # no action in u, so t has none that is known, so neither has s
    assert log.support.state_names == ("s",)


def test_clipped_losses_are_counted(small, how):
    small["minutes"] = [6, 90, 60, 61]
    how["loss_scale"] = LossScale("min", cap=60, beyond="clip")
    log = read_log(small, **how)
    assert log.clipped == 2
    assert log.steps.losses.tolist() == [0.1, 1.0, 1.0, 1.0]


def test_losses_without_a_scale_are_in_the_unit_interval(small, how):
    del how["loss_scale"]
    with pytest.raises(InputError, match=r"the loss 6 is not in \[0, 1\]; say what their unit is with loss_scale="):
        read_log(small, **how)


def test_probabilities_are_kept_and_checked(small, how):
    how["columns"] = LogColumns(loss="minutes", probability="p")
    small["p"] = [0.5, 1, 0.25, 0.125]
    assert read_log(small, **how).probabilities.tolist() == [0.5, 1.0, 0.25, 0.125]
    for wrong in (0, -0.1, 1.5):
        small["p"][2] = wrong
        with pytest.raises(
            InputError, match=r"row 2, column \"p\": .* is not a probability of an action that was chosen"
        ):
            read_log(small, **how)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": "case"}, "columns is of the type str; give LogColumns"),
        ({"goal": 3}, "goal is 3"),
        ({"support": "full"}, "support is of the type str"),
        ({"loss_scale": 60}, "loss_scale is of the type int"),
        ({"errors": "ignore"}, "errors is 'ignore'"),
        ({"covariate_map": int}, "covariate_map: map is"),
        ({"columns": LogColumns(covariates=["age"])}, "there is no covariate_map"),
        (
            {"goal": "recovered"},
            "no row begins in 'well', so no action is known there; if it is the goal, say goal= \\(now",
        ),
    ],
)
def test_wrong_arguments_are_an_error_that_names_them(small, how, changes, message):
    with pytest.raises(InputError, match=message):
        read_log(small, **{**how, **changes})


def test_a_log_without_rows_or_without_any_right_row_is_an_error(small, how, write_csv):
    with pytest.raises(InputError, match="the log has no rows"):
        read_log({name: [] for name in small}, **how)
    with pytest.raises(FileFormatError, match="the log has no rows"):
        read_log(write_csv({name: [] for name in small}), **how)
    with pytest.raises(InputError, match=r"no row is left; all 4 are wrong, the first one: row 0, column \"minutes\""):
        read_log({**small, "minutes": [-1] * 4}, errors="skip", **how)
    with pytest.raises(InputError, match="no row leads to the goal, 'well'"):
        read_log({**small, "next_state": ["weak", "sick", "weak", "sick"]}, **how)


def test_the_log_of_a_simulation_is_read_back_as_it_was_played():
    problem = incident_recovery()
    rows = incident_log(problem, 300, np.random.default_rng(0))
    rows["context"] = list(incident_contexts(problem, rows["hour"], rows["traffic"]))
    weights = {f"c{place}": [row[place] for row in rows["context"]] for place in range(12)}
    log = read_log(
        {**rows, **weights}, columns=LogColumns(loss="minutes", context=list(weights), probability="probability"),
        goal="recovered", support=problem.support, loss_scale=LossScale("min", cap=60),
    )  # fmt: skip
    np.testing.assert_allclose(log.steps.contexts, rows["context"], atol=1e-15)
    np.testing.assert_allclose(60 * log.steps.losses, rows["minutes"], rtol=1e-12)
    assert [problem.support.state_names[step.state] for _, step in log] == rows["state"]
    assert [problem.support.action_names[step.action] for _, step in log] == rows["action"]
    assert (log.cases, log.open_cases) == (300, 0)


@pytest.mark.parametrize("column", ["case", "state", "action", "next_state"])
def test_true_in_a_column_of_names_is_a_fault_of_its_row_also_beside_1(column):
    table = {
        "case": [1, 1, 1],
        "state": [1, 1, 1],
        "action": [1, 1, 1],
        "loss": [0.5] * 3,
        "next_state": [1, 1, "goal"],
    }
    for row in (0, 1):
        wrong = {**table, column: [True if place == row else cell for place, cell in enumerate(table[column])]}
        log = read_log(wrong, columns=LogColumns(time=None), errors="skip")
        assert [(one.row, one.column) for one in log.skipped][:1] == [(row, column)]
        with pytest.raises(InputError, match=f'row {row}, column "{column}": True is not a name'):
            read_log(wrong, columns=LogColumns(time=None))


def test_numbers_of_an_inferred_support_depend_on_its_pairs_alone_and_not_on_what_comes_first(small, how):
    order = [3, 0, 1, 2]
    mixed = {name: [values[row] for row in order] for name, values in small.items()}
    one, other = read_log(small, **how).support, read_log(mixed, **how).support
    assert one == other
    assert (one.state_names, one.action_names) == (("sick", "weak"), ("drug", "rest"))
    counted = {
        "case": [1, 1, 2], "time": [0, 1, 2], "state": [10, 2, "a"], "action": [3, 3, 20], "loss": [0.5] * 3,
        "next_state": [2, "goal", "goal"],
    }  # fmt: skip
    support = read_log(counted).support
    assert (support.state_names, support.action_names) == (("2", "10", "a"), ("3", "20"))


def test_the_name_of_the_goal_is_kept_and_later_logs_may_use_it_or_goal(small, how):
    support = read_log(small, **how).support
    assert (support.goal_name, support.state("well"), support.state("goal")) == ("well", 2, 2)
    again = read_log(small, **{**how, "goal": "goal"}, support=support)
    assert (again.support.goal_name, again.open_cases) == ("well", 0)
    small["next_state"] = ["goal" if one == "well" else one for one in small["next_state"]]
    assert read_log(small, **how, support=support).open_cases == 0
