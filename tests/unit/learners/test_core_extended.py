"""A learner on a larger support knows what it knew: it is the one that had the larger support from the beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.errors import LearnerError
from goalbound.learners.core import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge, PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Step, Support
from tests.support.driving import written
from tests.support.ridge import variances_of
from tests.support.seen_steps import RAGGED, Seen, some_steps

LARGE = Support.from_pairs(
    [
        {1: [0, 4]},  # led to the goal alone before
        {0: [4], 3: [0, 1, 2, 3, 4]},
        {0: [0, 4], 2: [0, 1, 2, 3, 4], 3: [4]},  # (a, z) may lead to the new state
        {0: [2, 3, 4]},  # could not lead to the goal before
    ],
    state_names=["b", "new", "a", "c"],
    action_names=["x", "y", "z", "w"],
)
OLD_PAIRS = [LARGE.pair(*pair) for pair in (("a", "x"), ("a", "z"), ("b", "y"), ("c", "x"))]
"""In the order of RAGGED."""
WIDTHS = {
    "paper": widths.paper(), "narrow": widths.scaled(widths.paper(), by=0.01), "sharp": widths.sharp(),
    "no variance": widths.sharp(variance=False),
}  # fmt: skip
CONTEXTS = [[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]]


def a_learner(support: Support, rule: str = "sharp", **more: Any) -> LRCSSP:
    return LRCSSP(support, 2, **{"loss_floor": 0.1, "widths": WIDTHS[rule], **more})


def by_name(seen: Seen) -> list[tuple[np.ndarray, Any]]:
    """Steps of RAGGED, for any support with its names."""
    names = [*(RAGGED.state_names or ()), "goal"]
    actions = RAGGED.action_names or ()
    return [(c, Step(names[s], actions[a], loss, names[t])) for c, (s, a, loss, t) in seen]  # type: ignore[arg-type]


def extended_and_twin(before: Seen, after: Seen, rule: str) -> tuple[LRCSSP, LRCSSP]:
    grown, twin = a_learner(RAGGED, rule), a_learner(LARGE, rule)
    grown.learn_log(before)
    kept = written(grown)
    larger = grown.extended(LARGE)
    assert written(grown) == kept  # it stays as it is
    larger.learn_log(by_name(after))
    twin.learn_log(by_name([*before, *after]))
    return larger, twin


@given(some_steps, some_steps, st.sampled_from(sorted(WIDTHS)))
def test_it_has_the_sums_and_the_estimate_of_one_that_had_the_larger_support_all_along(
    before: Seen, after: Seen, rule: str
) -> None:
    larger, twin = extended_and_twin(before, after, rule)
    for name in ("visits", "gram", "inverse_gram", "loss_sums", "next_sums"):
        mine, theirs = getattr(larger.statistics, name), getattr(twin.statistics, name)
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    np.testing.assert_array_equal(larger._state.log_det, twin._state.log_det)
    np.testing.assert_allclose(larger.estimate.losses, twin.estimate.losses, atol=1e-12)
    np.testing.assert_allclose(larger.estimate.rows, twin.estimate.rows, atol=1e-9)


@given(some_steps, some_steps, st.sampled_from(["paper", "narrow", "no variance"]))
def test_its_sets_are_those_of_one_that_had_the_larger_support_all_along(before: Seen, after: Seen, rule: str) -> None:
    larger, twin = extended_and_twin(before, after, rule)
    for context in CONTEXTS:
        mine, theirs = larger.confidence_set(context), twin.confidence_set(context)
        for name in ("loss_low", "loss_high", *(("low", "high") if rule == "no variance" else ("rows", "radii"))):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), atol=1e-8, err_msg=name)


def place(support: Support, state: str, action: str, following: str) -> int:
    pair, there = support.pair(state, action), support.state(following)
    return next(at for at in range(support.row(pair).start, support.row(pair).stop) if support.next_state[at] == there)


KEPT = [("a", "x", "b"), ("a", "x", "goal"), ("a", "z", "a"), ("a", "z", "goal"), ("c", "x", "a"), ("c", "x", "c")]
FRESH = [("a", "z", "new"), ("c", "x", "goal"), ("b", "y", "b"), ("b", "y", "goal")]
"""The last one was certain before, so that nothing of its variance was bounded."""


@given(some_steps)
def test_bounds_of_variances_stay_and_those_of_what_is_new_are_wider_than_they_need_be(seen: Seen) -> None:
    source = a_learner(RAGGED)
    source.learn_log(seen)
    larger, twin = extended_and_twin(seen, [], "sharp")
    for where in KEPT:
        mine, before = larger._state.variance[place(LARGE, *where)], source._state.variance[place(RAGGED, *where)]
        np.testing.assert_array_equal(mine, before)
    at = [place(LARGE, *where) for where in FRESH]
    more = np.linalg.eigvalsh((variances_of(larger) - variances_of(twin))[at])
    assert (more >= -1e-12).all()
    quarter = 0.25 * (larger.statistics.gram[LARGE.pair("b", "y")] - np.eye(2))
    np.testing.assert_allclose(variances_of(larger)[at[-1]], quarter, atol=1e-15)


@given(some_steps)
def test_intervals_of_what_is_new_hold_those_of_one_that_had_it_all_along(seen: Seen) -> None:
    larger, twin = extended_and_twin(seen, [], "sharp")
    at = [place(LARGE, *where) for where in FRESH]
    for context in CONTEXTS:
        mine, theirs = (raw_intervals(one, context) for one in (larger, twin))
        assert (mine[0][at] <= theirs[0][at] + 1e-12).all()
        assert (mine[1][at] >= theirs[1][at] - 1e-12).all()


def raw_intervals(learner: LRCSSP, context: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Of all next states, before what the others leave is cut off."""
    episode = learner.begin(context)
    episode.act(0)
    low, high = (getattr(episode._arrays.sets, name).copy() for name in ("low", "high"))
    episode.abandon("looked", missing_at_random=True)
    return low, high


@given(some_steps, some_steps)
def test_the_test_of_the_linear_model_goes_on_with_no_more_against_the_model(before: Seen, after: Seen) -> None:
    larger, twin = extended_and_twin(before, after, "sharp")
    mine, theirs = larger._state.linearity, twin._state.linearity
    np.testing.assert_array_equal(mine.steps, theirs.steps)
    at = [place(LARGE, *where) for where in FRESH]
    assert (mine.rows[at] <= theirs.rows[at] + 1e-9).all()


PROBLEM = LinearCSSP.dense(
    [[[0.2, 0.6], [0.7, 0.4]], [[0.5, 0.5], [0.3, 0.9]]],
    [
        [[[0.0, 0.5, 0.5], [0.3, 0.3, 0.4]], [[0.2, 0.0, 0.8], [0.4, 0.3, 0.3]]],
        [[[0.01, 0.39, 0.6], [0.1, 0.8, 0.1]], [[0.02, 0.03, 0.95], [0.2, 0.2, 0.6]]],
    ],
)
"""Both pairs that NARROW cuts lead there seldom, and under the second component only."""
NARROW = Support.from_pairs([{0: [1, 2], 1: [0, 1, 2]}, {0: [0, 2], 1: [0, 1, 2]}])


def drawn_log(steps: int, seed: int) -> Seen:
    """Steps of PROBLEM from anywhere; losses are 0 or 1."""
    rng = np.random.default_rng(seed)
    log: Seen = []
    for context in rng.dirichlet([1.0, 1.0], size=steps):
        true, pair = PROBLEM.at(context), int(rng.integers(4))
        row = true.support.row(pair)
        following = int(rng.choice(true.support.next_state[row], p=true.probabilities[row]))
        loss = float(rng.random() < true.losses[pair])
        log.append((context, Step(pair // 2, pair % 2, loss, following)))
    return log


def first_surprise(log: Seen) -> int:
    """The number of the first step that NARROW does not allow."""
    lacks = {(0, 0, 0), (1, 0, 1)}
    return next((at for at, (_, step) in enumerate(log) if (step[0], step[1], step[3]) in lacks), len(log))


@pytest.mark.parametrize("rule", ["paper", "sharp"])
def test_the_sets_hold_the_truth_when_the_support_grows_at_the_first_surprise(rule: str) -> None:
    """24 runs of 300 steps. The support grows to all next states there are, which was settled before, when a step comes
    that it lacks. The sets fail with probability at most delta / 4 + delta / 8 = 0.0375; more than 5 failures of 24
    have then a probability of 2e-4."""
    failed = surprised = 0
    for seed in range(24):
        log = drawn_log(300, seed)
        surprise = first_surprise(log)
        learner = a_learner(NARROW, rule)
        learner.learn_log(log[:surprise])
        learner = learner.extended(Support.full(2, 2))
        learner.learn_log(log[surprise:])
        surprised += 10 < surprise < 290
        failed += not all(learner.confidence_set(c).contains(widened(PROBLEM, c)) for c in CONTEXTS)
        assert learner.alarm is None
    assert failed <= 5
    assert surprised >= 12  # else nothing was tested


RARE, WITH_RARE = Support.from_pairs([{0: [0, 2]}, {0: [2]}]), Support.from_pairs([{0: [0, 1, 2]}, {0: [2]}])
ROWS = np.array([[0.02, 0.05], [0.001, 0.004], [0.979, 0.946]])
"""Of the first pair, by component; next state 1 is the one that RARE lacks."""


def rare_log(steps: int, seed: int) -> Seen:
    rng = np.random.default_rng(seed)
    contexts = rng.dirichlet([1.0, 1.0], size=steps)
    follows = [int(rng.choice(3, p=ROWS @ context)) for context in contexts]
    return [(context, Step(0, 0, 0.5, following)) for context, following in zip(contexts, follows, strict=True)]


def holds_rows(learner: LRCSSP, context: list[float]) -> bool:
    (low, high), truth = raw_intervals(learner, context), ROWS @ context
    return bool(((low[:3] <= truth) & (truth <= high[:3])).all())


def test_the_sets_hold_the_truth_where_bounds_by_the_variance_are_the_smaller_ones() -> None:
    """12 runs of 1500 steps, as above; more than 4 failures of 12 have a probability of 5e-5."""
    failed = surprised = 0
    for seed in range(12):
        log = rare_log(1500, seed)
        surprise = next((at for at, (_, step) in enumerate(log) if step.next_state == 1), len(log))
        learner, twin = a_learner(RARE), a_learner(WITH_RARE, "no variance")
        learner.learn_log(log[:surprise])
        learner = learner.extended(WITH_RARE)
        learner.learn_log(log[surprise:])
        twin.learn_log(log)
        surprised += 100 < surprise < 1400
        low, high = raw_intervals(learner, [0.5, 0.5])
        without = raw_intervals(twin, [0.5, 0.5])
        assert high[0] - low[0] < without[1][0] - without[0][0]  # else nothing was tested
        failed += not all(holds_rows(learner, context) for context in CONTEXTS)
        assert learner.alarm is None
    assert failed <= 4
    assert surprised >= 6


def widened(problem: LinearCSSP, context: list[float]) -> Any:
    """The problem on the full support: what it lacks has probability 0."""
    ssp = problem.at(context)
    rows = np.zeros((4, 3))
    for pair in range(4):
        rows[pair, ssp.support.next_state[ssp.support.row(pair)]] = ssp.probabilities[ssp.support.row(pair)]
    return type(ssp)(Support.full(2, 2), ssp.losses, rows.reshape(-1))


def test_what_was_known_beforehand_is_still_known_and_new_next_states_of_it_cannot_follow() -> None:
    prior = PriorKnowledge.nothing(RAGGED, 2).with_rows({("a", "z"): [0.2, 0.3, 0.0, 0.5]})
    prior = prior.with_losses({("c", "x"): [0.2, 0.4]}).with_floors({("b", "y"): 0.3})
    larger = a_learner(RAGGED, prior=prior).extended(LARGE)
    known = larger.prior
    assert known is not None
    assert np.flatnonzero(known.row_known).tolist() == [LARGE.pair("a", "z")]
    assert known.rows[LARGE.row(LARGE.pair("a", "z"))].T.tolist() == [[0.3, 0.0, 0.2, 0.0, 0.5]] * 2  # b, new, a, c
    assert np.flatnonzero(known.loss_known).tolist() == [LARGE.pair("c", "x")]
    assert known.losses[LARGE.pair("c", "x")].tolist() == [0.2, 0.4]
    assert known.floors[LARGE.pair("b", "y")] == 0.3
    assert known.floors.sum() == 0.3


@pytest.mark.parametrize("kind", [LRCSSP, GreedyRidge, PosteriorSampling])
def test_it_goes_on_from_its_file_bit_for_bit(kind: type[RidgeLearner], tmp_path: Path) -> None:
    more: dict[str, Any] = {"rng": np.random.default_rng(3)} if kind is PosteriorSampling else {}
    learner = kind(RAGGED, 2, loss_floor=0.1, **more)  # type: ignore[call-arg]
    learner.learn([0.3, 0.7], Step(0, 2, 0.5, 2))
    larger = learner.extended(LARGE)
    larger.save(tmp_path / "saved")
    again = kind.load(tmp_path / "saved")
    for one in (larger, again):
        episode = one.begin([0.4, 0.6])
        action = episode.act("c")
        episode.observe(Step("c", action, 0.25, "goal"))  # type: ignore[arg-type]
        assert episode.ended
    assert written(larger) == written(again)


def test_counters_the_loss_bound_and_reasons_go_on() -> None:
    learner = a_learner(RAGGED, "narrow")
    for number in range(5):
        episode = learner.begin([0.5, 0.5])
        episode.act("c")
        episode.observe(Step(2, 0, 1.0, 0))
        episode.abandon(f"reason {number % 2}")
    learner._state.totals["loss_bound"] = 4.0
    larger = learner.extended(LARGE)
    assert (larger.intervals, larger.loss_bound) == (learner.intervals, 4.0)
    assert larger.abandoned == {"reason 0": 3, "reason 1": 2}
    assert larger.begin([0.5, 0.5]).number == 5


def test_visits_without_an_outcome_stay_counted() -> None:
    learner, twin = a_learner(RAGGED), a_learner(LARGE)
    for one, number in ((learner, 0), (twin, 2)):
        episode = one.begin([0.5, 0.5])
        episode.act(number, allowed=["z"])
        episode.abandon("lost")
        one.learn([0.2, 0.8], Step("a", "z", 0.5, "b"))  # type: ignore[arg-type]
    larger = learner.extended(LARGE)
    for name in ("visits", "contexts", "norms"):
        np.testing.assert_array_equal(getattr(larger._state.pending, name), getattr(twin._state.pending, name))


def test_a_contradiction_of_the_model_is_kept_and_named_by_the_new_support() -> None:
    learner = a_learner(RAGGED, loss_floor=0.9)
    with pytest.warns(UserWarning, match="the floor that was declared"):
        learner.learn_log([([0.5, 0.5], Step(0, 2, 0.1, 1))] * 400)
    assert learner.alarm is not None
    with pytest.warns(UserWarning, match="the floor that was declared"):
        larger = learner.extended(LARGE)
    assert larger.alarm is not None
    assert LARGE.pair_name(larger.alarm.pair) == 'state 2 ("a"), action 2 ("z")'


def test_supports_without_names_are_matched_by_numbers() -> None:
    learner = LRCSSP(Support.full(1, 2), 1, loss_floor=0.1)
    learner.learn_log([([1.0], Step(0, 1, 0.5, 1)), ([1.0], Step(0, 1, 0.5, 0))])
    larger = learner.extended(Support.full(3, 3))
    assert larger.statistics.visits.tolist() == [0, 2, 0] + [0] * 6
    assert larger.statistics.next_sums[4:8, 0].tolist() == [1.0, 0.0, 0.0, 1.0]  # the goal is the last


def test_open_episodes_are_named_and_data_that_is_forgotten_stays() -> None:
    learner = a_learner(RAGGED, "narrow")
    held = [learner.begin([0.5, 0.5], id="case 17"), learner.begin([0.5, 0.5])]
    with pytest.raises(LearnerError, match=r"open episodes \('case 17', number 1\)"):
        learner.extended(LARGE)
    assert len(held) == 2
    forgetting = a_learner(RAGGED, "narrow", options=LearnerOptions(forget=True))
    with pytest.raises(LearnerError, match="forget=True"):
        forgetting.extended(LARGE)
