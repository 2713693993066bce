"""The same data under other settings, or in a learner of another kind: as if it had been so from the beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.errors import ArgumentError
from goalbound.estimation import paper
from goalbound.kernels.pending import UNIT
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge, PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import IntervalSet, Step, Support
from tests.support.driving import written
from tests.support.ridge import variances_of
from tests.support.seen_steps import RAGGED, Seen, some_steps

PAPER, SHARP, NO_VARIANCE = widths.paper(), widths.sharp(), widths.sharp(variance=False)
PRIOR = PriorKnowledge.nothing(RAGGED, 2).with_losses({("b", "y"): 0.5}).with_floors({("c", "x"): 0.2})
CONTEXTS = [[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]]
CHANGES: dict[str, dict[str, Any]] = {
    "delta": {"delta": 0.01},
    "larger delta": {"delta": 0.5},
    "loss floor": {"loss_floor": 0.02},
    "loss bound": {"loss_bound": 7.0},
    "widths": {"widths": NO_VARIANCE},
    "scale": {"widths": widths.scaled(PAPER, by=0.1)},
    "prior": {"prior": PRIOR},
    "less ridge": {"options": LearnerOptions(regularization=0.01)},
    "more ridge": {"options": LearnerOptions(regularization=1.5, tolerance=0.01, replan_factor=2.0)},
    "zero losses": {"loss_floor": 0.0, "options": LearnerOptions(episodes=1000)},
    "all": {"delta": 0.2, "widths": NO_VARIANCE, "prior": PRIOR, "options": LearnerOptions(regularization=0.3)},
}  # fmt: skip
"""Without bounds of variances all of it follows from the sums."""


def a_learner(**more: Any) -> LRCSSP:
    return LRCSSP(RAGGED, 2, **{"loss_floor": 0.1, **more})


def learned(seen: Seen, **more: Any) -> LRCSSP:
    learner = a_learner(**more)
    learner.learn_log(seen)
    return learner


def assert_same_sets(one: LRCSSP, other: LRCSSP) -> None:
    for context in CONTEXTS:
        mine, theirs = one.confidence_set(context), other.confidence_set(context)
        names = ("low", "high") if isinstance(mine, IntervalSet) else ("rows", "radii")
        for name in ("loss_low", "loss_high", *names):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), atol=2e-8, err_msg=name)


@given(some_steps, some_steps, st.sampled_from(sorted(CHANGES)), st.sampled_from([PAPER, NO_VARIANCE]))
def test_it_is_the_learner_that_had_these_settings_all_along(
    before: Seen, after: Seen, change: str, rule: widths.Widths
) -> None:
    source, changes = learned(before, widths=rule), CHANGES[change]
    kept = written(source)
    other = source.with_settings(**changes)
    assert written(source) == kept
    twin = a_learner(**{"widths": rule, **changes})
    assert (other.settings, other.prior) == (twin.settings, twin.prior)
    other.learn_log(after)
    twin.learn_log([*before, *after])
    for name in ("visits", "gram", "loss_sums", "next_sums"):
        mine, theirs = getattr(other.statistics, name), getattr(twin.statistics, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-15, atol=1e-300, err_msg=name)
    np.testing.assert_allclose(other.statistics.inverse_gram, twin.statistics.inverse_gram, rtol=1e-9, atol=1e-12)
    assert_same_sets(other, twin)
    np.testing.assert_allclose(other.plan([0.3, 0.7]).values, twin.plan([0.3, 0.7]).values, atol=0.01)


@given(some_steps, st.sampled_from([PAPER, SHARP, NO_VARIANCE]))
def test_without_a_change_it_is_a_copy_to_the_bit(seen: Seen, rule: widths.Widths) -> None:
    source = learned(seen, widths=rule)
    same = source.with_settings()
    kept = {name: array.copy() for name, array in source._state_arrays()}
    for name, array in same._state_arrays():
        if name.endswith(("totals.changes", "revision", "change_log")):
            continue  # which views are out of date
        if name.endswith((".rows", "next_radius", "known_width")) and rule is PAPER:
            np.testing.assert_allclose(array, kept[name], atol=1e-9, err_msg=name)  # projected anew
        else:
            assert array.tobytes() == kept[name].tobytes(), name


@given(some_steps, st.floats(0.01, 100.0))
def test_the_log_determinant_of_another_ridge_is_a_tight_upper_bound(seen: Seen, ridge: float) -> None:
    other = learned(seen, widths=SHARP).with_settings(options=LearnerOptions(regularization=ridge))
    exact = np.linalg.slogdet(other.statistics.gram / ridge)[1]
    assert (other._state.log_det >= exact - 1e-14).all()
    np.testing.assert_allclose(other._state.log_det, exact, atol=1e-9)


@pytest.mark.parametrize("ridge", [0.01, 0.5, 4.0])
def test_visits_without_an_outcome_weigh_at_least_as_much_as_under_the_new_ridge(ridge: float) -> None:
    source = a_learner(widths=SHARP)
    contexts = [np.array([0.9, 0.1]), np.array([0.2, 0.8]), np.array([0.5, 0.5])]
    for context in contexts:
        episode = source.begin(context)
        episode.act("a", allowed=["z"])
        episode.abandon("lost")
    other = source.with_settings(options=LearnerOptions(regularization=ridge))
    pair = RAGGED.pair("a", "z")
    gram, weight = ridge * np.eye(2), 0.0
    for context in contexts:
        weight += np.sqrt(context @ np.linalg.inv(gram) @ context)
        gram += np.outer(context, context)
    final = sum(np.sqrt(context @ np.linalg.inv(gram) @ context) for context in contexts)
    assert other._state.pending.norms[pair] * UNIT >= final - 1e-12
    if ridge < 1.0:
        assert other._state.pending.norms[pair] * UNIT >= source._state.pending.norms[pair] * UNIT
    assert other._state.pending.visits[pair] == 3
    np.testing.assert_array_equal(other._state.pending.contexts, source._state.pending.contexts)


VARIANCE_KEPT = [
    ({"widths": SHARP, "delta": 0.1}, {"delta": 0.1}, True),
    ({"widths": SHARP, "delta": 0.1}, {"delta": 0.2}, True),
    ({"widths": SHARP, "delta": 0.1}, {"delta": 0.05}, False),  # they held with too small a probability
    ({"widths": widths.scaled(SHARP, by=0.5)}, {"widths": SHARP}, False),  # nothing was proven of them
    ({"widths": SHARP}, {"widths": widths.scaled(SHARP, by=0.5)}, True),
    ({"widths": SHARP}, {"loss_floor": 0.02}, True),
    ({"widths": PAPER}, {"widths": SHARP}, False),  # there are none
    ({"widths": NO_VARIANCE}, {"widths": SHARP}, False),
]


@pytest.mark.parametrize(("had", "change", "kept"), VARIANCE_KEPT)
@given(seen=some_steps)
def test_bounds_of_variances_are_kept_where_they_count_and_else_are_a_quarter(
    seen: Seen, had: dict[str, Any], change: dict[str, Any], kept: bool
) -> None:
    source = learned(seen, **had)
    other = source.with_settings(**change)
    if kept:
        np.testing.assert_array_equal(other._state.variance, source._state.variance)
        return
    quarter = 0.25 * (source.statistics.gram - np.eye(2))
    expected = np.repeat(quarter, np.diff(RAGGED.next_start), axis=0)
    np.testing.assert_allclose(variances_of(other), expected, atol=1e-14)
    twin = learned(seen, **{**had, **change})
    assert (np.linalg.eigvalsh(variances_of(other) - variances_of(twin)) >= -1e-12).all()
    for context in CONTEXTS:
        mine, theirs = other.confidence_set(context), twin.confidence_set(context)
        assert isinstance(mine, IntervalSet)
        assert isinstance(theirs, IntervalSet)
        assert (mine.low <= theirs.low + 1e-9).all()
        assert (mine.high >= theirs.high - 1e-9).all()


def test_bounds_of_variances_from_a_row_that_is_not_declared_any_more_are_dropped() -> None:
    told = PriorKnowledge.nothing(RAGGED, 2).with_rows({("a", "x"): [0.0, 0.9, 0.0, 0.1]})
    source = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.5, 1))] * 4, widths=SHARP, prior=told)
    np.testing.assert_allclose(source._state.variance[0], 4 * 0.09 * 0.25)  # 0.9 * 0.1, and c c^T is 1/4
    other = source.with_settings(prior=None)
    np.testing.assert_allclose(other._state.variance[0], 4 * 0.25 * 0.25)
    np.testing.assert_array_equal(source.with_settings(prior=told)._state.variance, source._state.variance)


def test_an_alarm_about_what_is_declared_no_more_is_gone_and_others_stay() -> None:
    source = a_learner(widths=SHARP, loss_floor=0.9)
    with pytest.warns(UserWarning, match="the floor that was declared"):
        source.learn_log([([0.5, 0.5], Step(0, 2, 0.1, 1))] * 400)
    assert source.with_settings(loss_floor=0.05).alarm is None
    for change in ({"delta": 0.05}, {"delta": 0.2}, {"widths": PAPER}):
        with pytest.warns(UserWarning, match="the floor that was declared"):
            other = source.with_settings(**change)  # type: ignore[arg-type]
        assert other.alarm is not None
        assert not other.policy_bounds([0.5, 0.5]).proven


def test_the_test_of_the_linear_model_goes_on_where_the_same_is_declared() -> None:
    seen = [([0.5, 0.5], Step(0, 2, 0.5, 1)), ([0.5, 0.5], Step(2, 0, 0.5, 0))] * 5
    source = a_learner(widths=SHARP)
    source.learn_log(seen)
    floors = PriorKnowledge.nothing(RAGGED, 2).with_floors({("c", "x"): 0.3})
    other = source.with_settings(prior=floors)
    kept, anew = RAGGED.pair("a", "z"), RAGGED.pair("c", "x")
    np.testing.assert_array_equal(other._state.linearity.steps[kept], source._state.linearity.steps[kept])
    assert other._state.linearity.steps[anew].sum() == 0
    assert not other._state.linearity.losses[anew].any()


@pytest.mark.parametrize(("options", "bound"), [(None, 8.0), (LearnerOptions(tolerance=0.01), 8.0)])
def test_a_loss_bound_that_was_found_by_doubling_is_kept(options: LearnerOptions | None, bound: float) -> None:
    source = a_learner()
    source._state.totals["loss_bound"] = bound
    other = source.with_settings() if options is None else source.with_settings(options=options)
    assert other.loss_bound == bound
    assert source.with_settings(loss_bound=20.0).loss_bound == 20.0
    assert source.with_settings(loss_bound=20.0).with_settings(loss_bound=None).loss_bound == 1.0


def test_other_settings_are_in_its_file(tmp_path: Path) -> None:
    source = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1))])
    other = source.with_settings(widths=SHARP, prior=PRIOR, delta=0.05)
    other.save(tmp_path / "saved")
    again = LRCSSP.load(tmp_path / "saved")
    for one in (other, again):
        one.learn([0.3, 0.7], Step(0, 2, 0.5, 2))
    assert written(other) == written(again)


def test_streams_go_on_and_are_not_shared() -> None:
    source = PosteriorSampling(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1))
    other = source.with_settings(loss_floor=0.2)
    assert other._rng is not source._rng
    assert other._rng.random() == source._rng.random()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delta": 2.0}, "delta"),
        ({"loss_floor": None}, "loss_floor"),
        ({"loss_bound": 0.5}, "loss_bound"),
        ({"widths": None}, "widths"),
        ({"prior": "nothing"}, "prior"),
        ({"prior": PriorKnowledge.nothing(Support.full(2, 2), 2)}, "prior is of another support"),
        ({"options": None}, "options"),
        ({"options": LearnerOptions(forget=True)}, "forget=True"),
        ({"widths": paper(), "options": LearnerOptions(regularization=1e6)}, "regularization"),
        ({"prior": PRIOR.with_rows({("a", "x"): [0.0, 0.0, 0.0, 1.0]})}, 'led to state 1 ("b"), which the row'),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, Any], said: str) -> None:
    source = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1))])
    with pytest.raises(ArgumentError) as error:
        source.with_settings(**change)
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["loss_bound", "widths", "delta"])
def test_what_a_learner_does_not_have_cannot_be_changed(name: str) -> None:
    changes: dict[str, Any] = {"loss_bound": 2.0, "widths": SHARP, "delta": 0.2}
    with pytest.raises(ArgumentError, match=f"{name} is a setting of LRCSSP; a GreedyRidge has none"):
        GreedyRidge(RAGGED, 2, loss_floor=0.1).with_settings(**{name: changes[name]})
