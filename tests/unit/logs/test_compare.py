"""Maps side by side: held-out scores as a naive program has them, folds by case, the plans, and the choice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, SSP, LinearCSSP, LossScale, evaluate, widths
from goalbound.adapters.covariates import Additive, Hats, Tensor
from goalbound.errors import ArgumentError
from goalbound.learners.ridge import LocalOptimism
from goalbound.logs import Log, LogColumns, MapComparison, compare_maps, read_log
from goalbound.logs.compare import UNIFORM, folds_of
from tests.support.behaviour_logs import CORNERS, behaviour_rows

ROWS = [[[0.1, 0.2, 0.7], [0.0, 0.2, 0.8]], [[0.1, 0.2, 0.7], [0.0, 0.1, 0.9]]]
CALM = SSP.dense([[0.1, 0.9], [0.1, 0.9]], ROWS, **CORNERS)
BUSY = SSP.dense([[0.9, 0.1], [0.9, 0.1]], [[[0.4, 0.4, 0.2], *ROWS[0][1:]], ROWS[1]], **CORNERS)
PROBLEM = LinearCSSP.mix([CALM, BUSY])
"""To be quick is best when it is calm, to be slow when it is busy."""
X = Additive([Hats([0, 1])], ["x"])
Z = Additive([Hats([0, 1])], ["z"])
BOTH = Tensor([Hats([0, 1]), Hats([0, 1])], ["x", "z"])
"""x says all that there is to know of the context, z nothing."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows_of(cases: int, *, seed: int = 0, problem: LinearCSSP = PROBLEM) -> dict[str, list[Any]]:
    rows = behaviour_rows(problem, cases, rng(seed))
    z = dict(zip(rows["case"], rng(seed + 1).random(len(rows["case"])), strict=True))
    rows |= {"x": rows.pop("c1"), "z": [z[case] for case in rows["case"]], "time": list(range(len(rows["case"])))}
    del rows["c0"]
    return rows


def read(rows: dict[str, list[Any]], **others: Any) -> Log:
    columns = LogColumns(covariates=["x", "z"], **{"probability": "probability", **others})
    scale = LossScale("min", cap=10)
    rows = {**rows, "loss": [10 * loss for loss in rows["loss"]]}
    return read_log(rows, columns=columns, support=PROBLEM.support, covariate_map=BOTH, loss_scale=scale)


@pytest.fixture(scope="module")
def log() -> Log:
    return read(rows_of(1200))


@pytest.fixture(scope="module")
def found(log: Log) -> MapComparison:
    return compare_maps(log, {"none": None, "x": X, "z": Z, "both": BOTH})


def ridge(support: Any, size: int) -> LRCSSP:
    """Its estimate is the projected ridge with lambda 1."""
    return LRCSSP(support, size, loss_floor=0.1, widths=widths.paper())


def test_held_out_scores_are_those_of_a_dense_ridge(log):
    """Loops over folds, pairs and steps; no estimate of these is negative, so nothing is projected."""
    found = compare_maps(log, {"x": X}, make_learner=ridge, folds=3, rng=rng(5)).maps[0]
    fold, seen = folds_of(log, 3, rng(5)), log.with_map(X)
    steps = [
        (case, context, pair, step.loss, step.next_state)
        for case, pair, (context, step) in zip(log.case_of, log.steps.pairs, seen, strict=True)
    ]
    likelihoods, errors = [], []
    for number in range(3):
        for pair in range(4):
            before = [one for one in steps if fold[one[0]] != number and one[2] == pair]
            after = [one for one in steps if fold[one[0]] == number and one[2] == pair]
            design = np.array([one[1] for one in before])
            targets = np.array([[one[3], one[4] == 0, one[4] == 1] for one in before], dtype=float)
            coefficients = np.linalg.solve(design.T @ design + np.eye(2), design.T @ targets)
            assert coefficients.min() >= 0.0
            possible = log.support.next_state[log.support.row(pair)].tolist()
            for _, context, _, loss, following in after:
                expected, new, old = context @ coefficients
                chance = {0: new, 1: old, 2: 1.0 - new - old}[following]
                likelihoods.append(np.log((1.0 - UNIFORM) * chance + UNIFORM / len(possible)))
                errors.append(100.0 * (loss - expected) ** 2)
    assert found.log_score.value == pytest.approx(np.mean(likelihoods), rel=1e-9)
    assert found.squared_error.value == pytest.approx(np.mean(errors), rel=1e-9)


def test_folds_are_of_cases_and_do_not_depend_on_the_order_of_the_rows(log):
    rows = rows_of(1200)
    order = rng(3).permutation(len(rows["case"]))
    mixed = read({name: [values[place] for place in order] for name, values in rows.items()})
    names = np.array(rows["case"])[log.rows]
    other_names = np.array([rows["case"][place] for place in order])[mixed.rows]
    fold, other = folds_of(log, 5, rng()), folds_of(mixed, 5, rng())
    assert dict(zip(names, fold[log.case_of], strict=True)) == dict(zip(other_names, other[mixed.case_of], strict=True))
    assert np.bincount(fold).tolist() == [240] * 5
    one, two = (compare_maps(each, {"x": X}).maps[0] for each in (log, mixed))
    for name in ("log_score", "squared_error", "plan"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9)


def test_a_map_beside_itself_has_equal_figures(log):
    found = compare_maps(log, {"one": X, "two": X})
    one, two = (score.__dict__ | {"name": ""} for score in found.maps)
    assert one == two
    assert found.maps[1].plan.worse_by == found.maps[1].plan.worse_margin == 0.0


def test_the_map_that_knows_what_matters_is_found(found):
    none, x, z, both = found.maps
    assert found.choice == "x"
    assert found.judge in ("x", "both")
    assert none.log_score.is_worse
    assert z.log_score.is_worse
    assert not x.is_worse
    assert [one.components for one in found.maps] == [1, 2, 2, 4]
    assert none.plan.is_worse
    assert not both.plan.is_worse


def test_the_value_of_a_plan_is_near_the_truth(log, found):
    """Of the plans of a learner of all cases, whose value those of four fifths hardly differ from. The intervals are
    meant to hold in 95 of 100 logs; twice their width in all."""
    first = np.unique(log.case_of, return_index=True)[1]
    for one, map in zip(found.maps, (None, X, Z, BOTH), strict=True):
        seen, truth = log.with_map(map), log.with_map(X).steps.contexts[first]
        learner = LocalOptimism(log.support, seen.context_size, loss_floor=0.05)
        learner.learn_log(seen)
        starts = log.support.pair_state[log.steps.pairs[first]]
        lost = [
            10 * evaluate(PROBLEM.at(context), learner.plan(shown).policy).values[state]
            for context, shown, state in zip(truth, seen.steps.contexts[first], starts, strict=True)
        ]
        assert one.plan.value == pytest.approx(np.mean(lost), abs=2 * one.plan.margin)


def test_without_probabilities_predictions_are_compared_alone():
    found = compare_maps(read(rows_of(150), probability=None), {"none": None, "x": X})
    assert [one.plan for one in found.maps] == [None, None]
    assert "name their column: LogColumns(probability=...)" in str(found)
    assert "log score per step" in found.plot().get_xlabel()


def test_the_comparison_is_a_table_a_chart_and_json(found):
    text = str(found)
    assert "squared error, min²" in text
    assert "- take 'x': the fewest components among the maps that no other one surely beats" in text
    assert "closed cases of the log lost" in text
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["none (1)", "x (2)", "z (2)", "both (4)"]
    assert axes.get_xlabel() == "loss per case of the plan (min), held out, with its 95% interval"
    assert "<b" not in found._repr_html_()
    read_back = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert read_back["choice"] == "x"
    assert read_back["maps"][1]["plan"][0] == found.maps[1].plan.value


def test_progress_counts_the_learners(log):
    seen: list[tuple[int, int]] = []
    small = log.of_cases(np.arange(log.cases) < 40)
    compare_maps(small, {"x": X, "z": Z}, folds=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_wrong_arguments_are_named(log):
    small = log.of_cases(np.arange(log.cases) < 4)
    narrow = Additive([Hats([0, 0.5])], ["x"])
    place = int(np.argmax(np.array(rows_of(1200)["x"]) > 0.5))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"log": [1], "maps": {"x": X}}, "log is "),
        ({"log": log, "maps": {}}, "give maps by name"),
        ({"log": log, "maps": [X]}, "give maps by name"),
        ({"log": log, "maps": {"x": 3}}, r"maps\['x'\]: the map is 3"),
        (
            {"log": log, "maps": {"narrow": narrow}},
            rf"maps\['narrow'\]: row {place}, column .x.: .*is outside 0 to 0.5",
        ),
        ({"log": small, "maps": {"x": X}}, "folds is 5, and the log has 4 cases"),
        ({"log": small, "maps": {"x": X}, "folds": 1}, "folds"),
        (
            {"log": log, "maps": {"x": X}, "make_learner": lambda *_: 3},
            "the learner is of the type int; make_learner gives",
        ),
    ]
    for arguments, words in cases:
        with pytest.raises(ArgumentError, match=words):
            compare_maps(**arguments)


def test_a_log_has_the_contexts_of_another_map_or_none(log):
    assert log.with_map(BOTH).map_digest == log.map_digest
    np.testing.assert_array_equal(log.with_map(BOTH).steps.contexts, log.steps.contexts)
    np.testing.assert_allclose(log.with_map(X).steps.contexts[:, 1], np.array(rows_of(1200)["x"])[log.rows])
    assert log.with_map(None).context_size == 1
    bare = read_log(
        {name: values for name, values in rows_of(5).items() if name not in "xz"},
        columns=LogColumns(probability="probability"),
    )
    with pytest.raises(ArgumentError, match="read without covariates"):
        bare.with_map(X)


def test_the_steps_of_some_cases_are_a_log(log):
    some = log.of_cases(np.arange(log.cases) % 3 == 1)
    assert some.cases == 400
    assert len(some) == (log.case_of % 3 == 1).sum()
    assert some.window(0, 10).rows.tolist() == log.rows[log.case_of % 3 == 1][:10].tolist()
