"""Off-policy evaluation as a whole: arguments, what the intervals hold, what the bounds prove."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, GreedyRidge, LearnerOptions, LossScale, Support, widths
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.contexts import MappedContexts
from goalbound.around.runbook import Apprentice
from goalbound.baselines import eb_ssp
from goalbound.errors import ArgumentError, GoalboundError, ModelError
from goalbound.logs import Log, LogColumns, evaluate_policy, read_log
from goalbound.problems import incident_recovery
from tests.support.behaviour_logs import behaviour_rows, read_behaviour, true_mean, two_states
from tests.support.off_policy_coverage import coverage, coverage_table, evaluations, incidents, policies
from tests.support.off_policy_coverage import taught as teach_incidents
from tests.support.units import in_units

PROBLEM = two_states()
CONTEXTS = np.array([[1.0, 0.0], [0.7, 0.3], [0.4, 0.6], [0.0, 1.0]])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_log(cases: int = 60, seed: int = 0, **others: Any) -> Log:
    return read_behaviour(behaviour_rows(PROBLEM, cases, rng(seed)), PROBLEM, **others)


def taught(log: Log, **others: Any) -> LRCSSP:
    learner = LRCSSP(PROBLEM.support, 2, **{"loss_floor": 0.2, "widths": widths.sharp(), **others})
    learner.learn_log(log)
    return learner


def four_contexts(seed: int) -> Log:
    """1500 cases: enough for finite bounds."""
    return read_behaviour(behaviour_rows(PROBLEM, 1500, rng(seed), contexts=CONTEXTS), PROBLEM)


@pytest.fixture(scope="module")
def log() -> Log:
    return some_log()


@pytest.fixture(scope="module")
def learner(log) -> LRCSSP:
    return taught(log)


def test_a_policy_is_given_by_numbers_by_names_or_by_a_function(log):
    by_number = evaluate_policy(log, [0, 1], replicates=0, rng=rng())
    for policy in (["quick", "slow"], {"new": "quick", "old": "slow"}, np.array([0, 1]), lambda context: [0, 1]):
        assert evaluate_policy(log, policy, replicates=0, rng=rng()) == by_number


def test_a_plan_by_context_is_the_mixture_of_its_cases(log):
    """Where a function plays [0, 0] in some contexts and [1, 1] in the others, each case counts by its own policy."""
    first = np.unique(log.case_of, return_index=True)[1]
    calm = log.steps.contexts[first, 0] > 0.5
    both = evaluate_policy(log, lambda context: [0, 0] if context[0] > 0.5 else [1, 1], replicates=0)
    quick, slow = (evaluate_policy(log, [action, action], replicates=0) for action in (0, 1))
    low, high = sorted((quick.model.value, slow.model.value))
    assert low != high
    assert 0 < calm.sum() < len(calm)
    learner = taught(log)
    actions = [[0, 0] if one else [1, 1] for one in calm]
    starts = log.support.pair_state[log.steps.pairs[first]]
    expected = [
        learner.policy_bounds(context, chosen).estimate[state]
        for context, chosen, state in zip(log.steps.contexts[first], actions, starts, strict=True)
    ]
    assert both.model.value == pytest.approx(np.mean(expected), rel=1e-9)


def test_a_function_is_called_once_for_each_context_and_cannot_change_it(log):
    seen = []

    def policy(context):
        seen.append(context.tobytes())
        with pytest.raises(ValueError, match="read-only"):
            context[0] = 2.0
        return [0, 0]

    evaluate_policy(log, policy, replicates=3)
    assert len(seen) == len(set(seen)) == log.cases


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ([0], "policy has shape"), ([0, 5], "policy"), ({"new": "quick"}, "no action for"), (["quick", "none"], "none"),
        (lambda context: [0], r"policy\(\[.*\]\): policy has shape"),
        (lambda context: 1 / 0, "raised ZeroDivisionError"), (None, "policy"), ("quick", "policy"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_an_error_that_says_what_is_wrong(log, policy, said):
    with pytest.raises((ArgumentError, ModelError), match=said):
        evaluate_policy(log, policy)


def test_errors_of_the_library_inside_a_function_stay_what_they_are(log):
    class Special(GoalboundError):
        pass

    def policy(context):
        raise Special("mine")

    with pytest.raises(Special, match="mine"):
        evaluate_policy(log, policy)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (LRCSSP(Support.full(2, 2), 2, loss_floor=0.1), "another support"),
        (LRCSSP(PROBLEM.support, 3, loss_floor=0.1), "contexts of 3 entries"),
        (eb_ssp(PROBLEM.support, loss_floor=0.1), "of the type TabularLearner"),
    ],
)  # fmt: skip
def test_a_learner_of_something_else_is_an_error(log, other, said):
    with pytest.raises(ArgumentError, match=said):
        evaluate_policy(log, [0, 0], learner=other)


def test_a_tiny_probability_is_an_error_that_names_its_row(log):
    tiny = log.probabilities.copy()
    tiny[5] = 1e-9
    with pytest.raises(ArgumentError, match=f"row {log.rows[5]}: the probability of the action is 1e-09"):
        evaluate_policy(replace(log, probabilities=tiny), [0, 0])


def test_the_same_generator_gives_the_same_result_and_another_one_another(log, learner):
    one, same, other = (
        evaluate_policy(log, [0, 1], learner=learner, replicates=20, bounded_cases=7, rng=rng(seed))
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    assert one.model.value == other.model.value
    assert evaluate_policy(log, [0, 1], replicates=5) != evaluate_policy(log, [0, 1], replicates=5)


def test_all_losses_are_in_the_unit():
    rows = behaviour_rows(PROBLEM, 60, rng())
    plain = read_behaviour(rows, PROBLEM)
    rows["loss"] = [40.0 * loss for loss in rows["loss"]]
    minutes = read_behaviour(rows, PROBLEM, loss_scale=LossScale("min", cap=40))
    found = [evaluate_policy(one, [0, 1], learner=taught(plain), replicates=9, rng=rng()) for one in (plain, minutes)]
    assert (found[0].unit, found[1].unit) == ("", "min")
    for one, scaled in zip(found[0].rows, found[1].rows, strict=True):
        for name in ("value", "low", "high"):
            first, second = getattr(one, name), getattr(scaled, name)
            assert first is second is None or second == pytest.approx(40 * first, rel=1e-12)


def test_intervals_are_quantiles_of_resampled_cases():
    """The observed mean of cases of losses 0 and 1 in equal parts: its interval is that of binomial(100, 0.5) / 100,
    whose 2.5% and 97.5% quantiles are 0.40 and 0.60; those of 2000 resamples are within 0.01, but for 1e-5."""
    rows = {"case": list(range(100)), "state": ["s"] * 100, "action": ["a"] * 100, "loss": [0.0, 1.0] * 50,
            "next_state": ["goal"] * 100, "probability": [1.0] * 100}  # fmt: skip
    one = evaluate_policy(read_behaviour(rows, None), [0], replicates=2000, rng=rng())
    for row in (one.observed, one.importance):  # everything follows the policy
        assert row.value == pytest.approx(0.5)
        assert row.low == pytest.approx(0.40, abs=0.0101)
        assert row.high == pytest.approx(0.60, abs=0.0101)
        assert not row.proven


def test_resamples_without_a_case_that_follows_leave_no_interval():
    rows = {"case": [1, 2, 3], "state": ["s"] * 3, "action": ["a", "b", "b"], "loss": [0.5] * 3,
            "next_state": ["goal"] * 3, "probability": [0.5] * 3}  # fmt: skip
    one = evaluate_policy(read_behaviour(rows, None), ["a"], replicates=50, rng=rng())
    assert one.importance.value == pytest.approx(0.5)
    assert one.importance.low is None
    assert any("no interval" in note for note in one.importance.notes)


def test_the_bounds_are_the_average_of_those_of_the_learner():
    log = four_contexts(100)
    learner = taught(log)
    one = evaluate_policy(log, [0, 1], learner=learner, replicates=0)
    first = np.unique(log.case_of, return_index=True)[1]
    starts = log.support.pair_state[log.steps.pairs[first]]
    found = {tuple(context): learner.policy_bounds(context, [0, 1]) for context in CONTEXTS}
    each = [
        (found[tuple(context)].lower[state], found[tuple(context)].upper[state])
        for context, state in zip(log.steps.contexts[first], starts, strict=True)
    ]
    low, high = np.mean(each, axis=0)
    assert np.isfinite(high)
    assert one.bounds.low == pytest.approx(low, rel=1e-12)
    assert one.bounds.high == pytest.approx(high, rel=1e-12)
    assert one.bounds.proven
    assert one.bounds.cases == log.cases
    assert one.bounds.value is None


def test_the_bounds_of_the_zero_loss_variant_leave_out_what_it_adds(log):
    learner = taught(log, loss_floor=0.0, options=LearnerOptions(episodes=1000))
    assert learner.added_loss > 0.0
    one = evaluate_policy(log, [0, 1], learner=learner, replicates=0, bounded_cases=None)
    first = int(np.flatnonzero(log.case_of == 0)[0])
    single = replace_cases(log, 0)
    found = evaluate_policy(single, [0, 1], learner=learner, replicates=0)
    state = log.support.pair_state[log.steps.pairs[first]]
    expected = learner.policy_bounds(log.steps.contexts[first], [0, 1])
    assert found.bounds.low == pytest.approx(expected.lower[state], rel=1e-12)
    assert one.bounds.low <= true_mean(PROBLEM, log, [0, 1]) <= one.bounds.high


def replace_cases(log: Log, case: int) -> Log:
    """The log of one case alone."""
    own = log.case_of == case
    return replace(
        log, steps=type(log.steps)(*(part[own] for part in log.steps)), case_of=np.zeros(own.sum(), dtype=np.int64),
        rows=log.rows[own], probabilities=log.probabilities[own], cases=1,
    )  # fmt: skip


def test_bounds_of_some_cases_only_say_so(log, learner):
    one = evaluate_policy(log, [0, 1], learner=learner, replicates=0, bounded_cases=7, rng=rng())
    assert one.bounds.cases == 7
    assert any("of 7 of 60 cases, drawn at random" in note for note in one.bounds.notes)
    every = evaluate_policy(log, [0, 1], learner=learner, replicates=0, bounded_cases=60)
    assert every.bounds.cases == 60
    assert not any("drawn" in note for note in every.bounds.notes)


def test_equal_contexts_are_bounded_once_and_never_drawn_from(learner, log):
    rows = behaviour_rows(PROBLEM, 30, rng(3))
    rows["c0"], rows["c1"] = [0.25] * len(rows["c0"]), [0.75] * len(rows["c1"])
    one = evaluate_policy(read_behaviour(rows, PROBLEM), [0, 1], learner=learner, replicates=0, bounded_cases=1)
    assert one.bounds.cases == 30


def test_where_nothing_is_proven_the_row_says_why(log):
    greedy = GreedyRidge(PROBLEM.support, 2, loss_floor=0.2)
    half = LRCSSP.scaled(PROBLEM.support, 2, loss_floor=0.2)
    inferred = read_behaviour(behaviour_rows(PROBLEM, 60, rng()), None)
    spoiled = behaviour_rows(PROBLEM, 60, rng())
    spoiled["loss"][0] = -1.0
    chosen = read_behaviour(spoiled, PROBLEM, errors="skip")
    reads = {
        "no learner was given": (log, None),
        "a GreedyRidge has no confidence sets": (log, greedy),
        "are not proven": (log, half),
        "the support was inferred": (inferred, LRCSSP(inferred.support, 2, loss_floor=0.2)),
        "1 row skipped because of the loss": (chosen, taught(chosen)),
    }
    for said, (read, learner) in reads.items():
        row = evaluate_policy(read, [0, 1], learner=learner, replicates=0).bounds
        assert said in row.missing
        assert (row.low, row.high, row.proven) == (None, None, False)


def test_a_learner_whose_model_was_contradicted_proves_nothing(log):
    learner = taught(log, loss_floor=0.9, options=LearnerOptions(check_linearity=True))  # the true floor is 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = some_log(2000, seed=5)
        learner.learn_log(more)
    assert learner.alarm is not None
    assert "contradicts" in evaluate_policy(log, [0, 1], learner=learner, replicates=0).bounds.missing


def test_a_learner_that_has_seen_less_than_the_log_is_pointed_out(log):
    fresh = LRCSSP(PROBLEM.support, 2, loss_floor=0.2)
    row = evaluate_policy(log, [0, 1], learner=fresh, replicates=0).bounds
    assert any("the learner has seen 0 steps" in note for note in row.notes)
    assert any("60 cases a plausible model may never arrive" in note for note in row.notes)
    assert row.high == np.inf


def test_finite_bounds_hold_the_truth_in_all_logs():
    """2 logs of 1500 cases, 4 policies each: bounds that are finite, and hold in all eight. Proven for each log with
    probability 0.9 or more, all policies together; in practice the sets are far wider than the errors."""
    for seed in range(2):
        log = four_contexts(100 + seed)
        learner = taught(log)
        for policy in ([0, 0], [0, 1], [1, 0], [1, 1]):
            one = evaluate_policy(log, policy, learner=learner, replicates=0)
            assert one.bounds.cases == 1500
            assert one.bounds.low <= true_mean(PROBLEM, log, policy) <= one.bounds.high < np.inf
            assert one.bounds.low > 0.1


def test_proven_intervals_hold_the_truth_of_incidents_and_the_others_are_reported():
    """3 logs of 80 incidents, 3 policies, bounds of all cases. Only the proven intervals are asserted."""
    problem = incident_recovery(2)
    logs = [incidents(problem, 80, seed) for seed in range(3)]
    learners = [teach_incidents(problem, log) for log in logs]
    lines = []
    for name, policy in policies(problem).items():
        found = evaluations(problem, policy, logs, replicates=30, learners=learners)
        for truth, one in found:
            assert one.bounds.proven
            assert one.bounds.low <= truth <= one.bounds.high
            assert one.bounds.low >= 5.0  # a step takes five minutes or more
        lines += coverage(name, found)
    print(coverage_table(lines))
    assert len(lines) == 9


MINUTES = LossScale("min", cap=60)
RAMP = Hats([0.0, 1.0])


def in_minutes(cases: int = 80, **others: Any) -> Log:
    """Losses in minutes, and a covariate instead of a context."""
    rows = behaviour_rows(PROBLEM, cases, rng(3))
    rows["loss"] = [60.0 * loss for loss in rows["loss"]]
    columns = LogColumns(time=None, covariates=["c1"], probability="probability")
    settings = {"covariate_map": RAMP, "loss_scale": MINUTES, **others}
    return read_log(rows, columns=columns, support=PROBLEM.support, **settings)


def test_a_learner_behind_the_map_and_the_unit_of_the_log_counts_as_the_one_inside():
    log = in_minutes()
    inside = taught(log)
    alone = evaluate_policy(log, [0, 1], learner=inside, replicates=0, rng=rng())
    assert alone.bounds.proven
    for around in (
        CovariateLearner(RAMP, in_units(inside, MINUTES)),
        in_units(CovariateLearner(Hats([0.0, 1.0]), inside), MINUTES),
        CovariateLearner(RAMP, in_units(Apprentice(inside, [0, 1]), MINUTES)),
    ):
        assert evaluate_policy(log, [0, 1], learner=around, replicates=0, rng=rng()) == alone


def test_a_learner_behind_another_map_or_unit_is_refused():
    log = in_minutes()
    inside = taught(log)
    for around, message in (
        (in_units(inside, LossScale("h", cap=1)), r"read with another scale: .*'min'.* learner has .*'h'.* loss_scale"),
        (CovariateLearner(Hats([0.0, 2.0]), inside), "another map of covariates .* covariate_map=learner.map"),
        (MappedContexts(inside, np.eye(2)), "a MappedContexts, whose contexts are not those of the log; .*inner"),
    ):
        with pytest.raises(ArgumentError, match=message):
            evaluate_policy(log, [0, 1], learner=around, replicates=0, rng=rng())
    by_columns = some_log()
    with pytest.raises(ArgumentError, match="read with no unit"):
        evaluate_policy(by_columns, [0, 1], learner=in_units(taught(by_columns), MINUTES), replicates=0, rng=rng())
    with pytest.raises(ArgumentError, match="another map"):
        evaluate_policy(by_columns, [0, 1], learner=CovariateLearner(RAMP, taught(by_columns)), replicates=0, rng=rng())
