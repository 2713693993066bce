"""The change detector: what it names, what it leaves alone, its run length, and what is in a file."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

from goalbound import Builder, GreedyRidge, LinearCSSP, LossScale, Monitored, Step, Support
from goalbound.around.monitor import ChangeDetector
from goalbound.errors import ArgumentError, FileFormatError, InputError
from goalbound.learners.visits import StepArrays

SUPPORT = Support.from_pairs(
    [{0: [0, 1, 2], 1: [0, 2]}, {0: [1, 2], 1: [1, 2]}],
    state_names=["down", "degraded"],
    action_names=["restart", "page"],
)
GOAL = 2


def problem(*, restart: float = 0.6, page_loss: float = 0.3) -> LinearCSSP:
    """Two contexts; ``restart`` is the chance of the goal by a restart under the first, half of it under the second."""
    plan = Builder(components=["calm", "busy"])
    plan.add("down", "restart", loss=0.2, to={
        "goal": [restart, restart / 2], "degraded": 0.1, "down": [0.9 - restart, 0.9 - restart / 2]})  # fmt: skip
    plan.add("down", "page", loss=page_loss, to={"goal": 0.8, "down": 0.2})
    plan.add(
        "degraded", "restart", loss=0.2, to={"goal": [restart, restart / 2], "degraded": [1 - restart, 1 - restart / 2]}
    )
    plan.add("degraded", "page", loss=page_loss, to={"goal": 0.8, "degraded": 0.2})
    found = plan.linear_cssp(start="down")
    assert found.support.next_state.tolist() == SUPPORT.next_state.tolist()
    return LinearCSSP(SUPPORT, found.losses, found.probabilities)


def steps(world: LinearCSSP, count: int, rng: np.random.Generator) -> StepArrays:
    """Visits of all pairs, at random; losses are 0 or 1."""
    pairs = rng.integers(4, size=count)
    contexts = rng.dirichlet([1.0, 1.0], size=count)
    chances = (world.probabilities[None] * contexts[:, None, :]).sum(axis=2)
    places = np.empty(count, dtype=np.int64)
    for t, pair in enumerate(pairs):
        row = world.support.row(int(pair))
        places[t] = row.start + np.searchsorted(chances[t, row].cumsum(), rng.random() * 0.999999)
    losses = (rng.random(count) < (world.losses[pairs] * contexts).sum(axis=1)).astype(np.float64)
    return StepArrays(contexts, pairs, places, losses)


def after_change(world: LinearCSSP, seed: int, *, quiet: int = 800, count: int = 400) -> ChangeDetector:
    rng, detector = np.random.default_rng(seed), ChangeDetector(SUPPORT, 2)
    detector.enter(steps(problem(), quiet, rng), np.arange(quiet) // 2)
    assert not detector.alarms
    detector.enter(steps(world, count, rng), quiet // 2 + np.arange(count) // 2)
    return detector


def test_an_action_that_breaks_in_all_states_is_named_as_an_action() -> None:
    detector = after_change(problem(restart=0.05), 1)
    alarm = detector.alarms[0]
    assert alarm.action == SUPPORT.action("restart")
    assert alarm.pairs == (0, 2)
    assert (alarm.next_state, alarm.direction) == (GOAL, "less")
    # 800 quiet steps; a restart in half of the steps, with a goal expected in 0.45 of them on average
    assert 760 <= alarm.since_step <= 850
    assert 800 < alarm.step <= 950
    assert alarm.since_case == alarm.since_step // 2
    assert alarm.expected / alarm.visits == pytest.approx(0.45, abs=0.1)
    text = str(alarm)
    for words in ('action 0 ("restart") in all states', "goal follows less often", "relearned()", "acknowledge()"):
        assert words in text


def test_a_loss_that_rises_is_named_as_a_loss() -> None:
    alarm = after_change(problem(page_loss=0.8), 2).alarms[0]
    assert (alarm.next_state, alarm.direction) == (None, "more")
    assert set(alarm.pairs) <= {1, 3}
    assert alarm.observed / alarm.visits == pytest.approx(0.8, abs=0.15)
    assert "its loss is higher than before" in str(alarm)


def test_a_pair_that_changes_alone_is_named_as_a_pair() -> None:
    rows, world = problem().probabilities.copy(), problem()
    rows[SUPPORT.row(3)] = [[1.0, 1.0], [0.0, 0.0]]  # degraded, page: never the goal any more
    alarm = after_change(LinearCSSP(SUPPORT, world.losses, rows), 3).alarms[0]
    assert alarm.pairs == (3,)
    assert alarm.action is None


def test_other_pairs_go_on_after_an_alarm_and_acknowledging_restarts_those_that_changed() -> None:
    detector = after_change(problem(restart=0.05), 1, count=4000)
    assert [alarm.action for alarm in detector.alarms] == [0]
    detector.acknowledge()
    assert detector.alarms == ()
    rng = np.random.default_rng(5)
    detector.enter(steps(problem(restart=0.05), 4000, rng), np.zeros(4000, dtype=np.int64))
    assert detector.alarms == ()  # what it is now is what is expected; 4,000 quiet steps, 1 in 10,000 at most nominally
    detector.enter(steps(problem(restart=0.6), 600, rng), np.zeros(600, dtype=np.int64))
    assert detector.alarms[0].direction == "more"


def test_with_a_model_the_first_steps_are_evidence_already_and_the_run_length_is_proven() -> None:
    detector = ChangeDetector(SUPPORT, 2, model=problem())
    assert detector.proven
    detector.enter(steps(problem(restart=0.05), 200, np.random.default_rng(6)), np.zeros(200, dtype=np.int64))
    assert detector.alarms[0].since_step <= 30
    detector.acknowledge()
    assert not detector.proven


def test_false_alarms_are_as_rare_as_the_run_length_says() -> None:
    # With the model given, 500 steps raise an alarm with probability 500 / 5000 at most. That 200 runs have more than
    # 40 has probability below 1e-4 (binomial, 0.1). With estimates the same was measured to be rarer still.
    for model in (problem(), None):
        raised = 0
        for seed in range(200):
            detector = ChangeDetector(SUPPORT, 2, run_length=5000, model=model)
            detector.enter(steps(problem(), 500, np.random.default_rng(seed)), np.zeros(500, dtype=np.int64))
            raised += bool(detector.alarms)
        assert raised <= 40


def test_single_steps_give_the_bits_of_many() -> None:
    drawn = steps(problem(), 60, np.random.default_rng(7))
    one, many = ChangeDetector(SUPPORT, 2), ChangeDetector(SUPPORT, 2)
    many.enter(drawn, np.arange(60))
    for t in range(60):
        pair, place = int(drawn.pairs[t]), int(drawn.places[t])
        step = Step(
            int(SUPPORT.pair_state[pair]), int(SUPPORT.pair_action[pair]), float(drawn.losses[t]),
            int(SUPPORT.next_state[place]),
        )  # fmt: skip
        one.observe(drawn.contexts[t], step, case=t)
    assert one.steps == many.steps == 60
    for (name, mine), (_, theirs) in zip(one.arrays(), many.arrays(), strict=True):
        assert mine.tobytes() == theirs.tobytes(), name


def test_a_copy_and_what_a_file_restores_go_on_alike() -> None:
    detector = after_change(problem(), 8)
    restored = ChangeDetector(SUPPORT, 2)
    restored.restore({name: array.copy() for name, array in detector.arrays()})
    others = [copy.deepcopy(detector), pickle.loads(pickle.dumps(detector)), restored]
    more = steps(problem(restart=0.1), 300, np.random.default_rng(9))
    for one in (detector, *others):
        one.enter(more, np.arange(300))
    for other in others:
        assert other.alarms == detector.alarms
        for (name, mine), (_, theirs) in zip(detector.arrays(), other.arrays(), strict=True):
            assert mine.tobytes() == theirs.tobytes(), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("change.evidence", np.full((17, 4, 7), -1.0)),
        ("change.evidence", np.full((17, 4, 7), np.nan)),
        ("change.evidence", np.full((17, 4, 7), 1e300)),
        ("change.visits", np.zeros(3, dtype=np.int64)),
        ("change.visits", np.full(4, -1)),
        ("change.given", np.ones(3, dtype=np.bool_)),
        ("change.outcome_sums", np.zeros((2, 2))),
        ("change.alarm_step", np.array([5, -1, -1, -1, -1, -1])),
    ],
)
def test_arrays_of_a_file_that_do_not_fit_are_refused(name: str, value: np.ndarray) -> None:
    arrays = {key: array.copy() for key, array in ChangeDetector(SUPPORT, 2).arrays()}
    with pytest.raises(FileFormatError):
        ChangeDetector(SUPPORT, 2).restore({**arrays, name: value})


def test_wrong_arguments_are_errors_that_name_them() -> None:
    for run_length in (0, 1, float("inf"), "many", True):
        with pytest.raises(ArgumentError, match="run_length"):
            ChangeDetector(SUPPORT, 2, run_length=run_length)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="model"):
        ChangeDetector(SUPPORT, 3, model=problem())
    with pytest.raises(ArgumentError, match="model"):
        ChangeDetector(SUPPORT, 2, model="yesterday")  # type: ignore[arg-type]
    detector = ChangeDetector(SUPPORT, 2)
    with pytest.raises(InputError):
        detector.observe([0.5, 0.6], Step("down", "page", 0.2, "goal"))
    with pytest.raises(InputError):
        detector.observe([0.5, 0.5], Step("down", "page", 1.2, "goal"))
    assert detector.steps == 0


def test_losses_of_an_alarm_are_in_the_unit_of_the_learner():
    plain, in_minutes = (Monitored(GreedyRidge(Support.from_pairs([{0: [0, 1]}]), 1, loss_floor=0.1)) for _ in range(2))
    in_minutes.loss_scale = LossScale("min", cap=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for monitor, unit in ((plain, 1.0), (in_minutes, 60.0)):
            monitor.learn_log([([1.0], Step(0, 0, loss * unit, 1)) for loss in [0.1] * 300 + [0.9] * 60])
    assert in_minutes.change.observed == pytest.approx(60 * plain.change.observed)
    assert in_minutes.change.expected == pytest.approx(60 * plain.change.expected)
    assert in_minutes.change.since_step == plain.change.since_step
    mean = plain.change.observed / plain.change.visits
    assert f"{60 * mean:.3g} min on average" in str(in_minutes.change)
    assert f"{mean:.3g} on average" in str(plain.change)
