"""A learner with its map: what it is shown, what is counted, and one file for both."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, FileFormatError, ModelEnvironment, Step, Support
from goalbound.adapters.covariates import (
    Additive,
    Categories,
    CovariateLearner,
    FromTransformer,
    Hats,
    SoftClusters,
    Tensor,
    map_as_json,
    map_digest,
)
from goalbound.confidence import paper, scaled
from goalbound.errors import InputError
from goalbound.logs import Log, LogColumns, read_log
from goalbound.models.files.array_file import read_array_file, write_array_file
from goalbound.problems import random_cssp
from goalbound.testing import check_learner

PROBLEM = random_cssp(3, actions=2, context_size=3, successors=2, exit_probability=0.3, seed=1)
AGES = Hats([20, 40, 80], clamp=True, missing=[0.2, 0.3, 0.5])


def fresh(map: Any = AGES) -> CovariateLearner:
    return CovariateLearner(map, LRCSSP(PROBLEM.support, 3, loss_floor=0.1, widths=scaled(paper(), by=0.01)))


def drive(learner: Any, show: Any, episodes: int = 20, *, seed: int = 0) -> list[Step]:
    """Patients of random ages; ``show`` makes of an age what ``begin`` takes."""
    rng = np.random.default_rng(seed)
    environment = ModelEnvironment(PROBLEM, rng=rng)
    steps = []
    for age in rng.uniform(0.0, 100.0, episodes):
        state, episode = environment.begin(AGES(age)), learner.begin(show(age))
        while state != PROBLEM.support.states:
            step = environment.step(episode.act(state))
            episode.observe(step)
            steps.append(step)
            state = step.next_state
    return steps


def test_it_plays_as_the_learner_does_that_is_shown_the_contexts_by_hand(tmp_path: Path) -> None:
    wrapped, bare = fresh(), fresh().inner
    assert drive(wrapped, float) == drive(bare, AGES)
    wrapped.inner.save(tmp_path / "one")
    bare.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert np.array_equal(wrapped.plan(33).values, bare.plan(AGES(33)).values)


def test_what_was_out_of_range_or_missing_is_counted_by_column() -> None:
    map = Additive([Hats([20, 80], clamp=True, missing=[0.5, 0.5]), Categories([0], other=False)], ["age", "kind"])
    learner = fresh(map)
    for age in (10, 50, None, 90, None):
        learner.begin({"age": age, "kind": 0})
    with pytest.raises(InputError, match=r"^kind: 1 is none of the categories 0"):
        learner.begin({"age": 90, "kind": 1})
    assert learner.begun == 5
    assert learner.outside.tolist() == [2, 0]
    assert learner.missing.tolist() == [2, 0]


def test_a_learner_goes_on_from_its_file_bit_for_bit_with_its_map_and_counts(tmp_path: Path) -> None:
    learner = fresh()
    drive(learner, float)
    learner.save(tmp_path / "saved")
    again = CovariateLearner.load(tmp_path / "saved")
    assert map_digest(again.map) == map_digest(AGES)
    assert (again.begun, again.outside.tolist(), again.missing.tolist()) == (20, learner.outside.tolist(), [0])
    assert drive(again, float, seed=5) == drive(learner, float, seed=5)
    again.save(tmp_path / "again")
    learner.save(tmp_path / "saved")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "saved").read_bytes()


def test_another_map_than_the_one_learned_with_is_refused(tmp_path: Path) -> None:
    fresh().save(tmp_path / "saved")
    CovariateLearner.load(tmp_path / "saved", map=AGES)
    moved = Hats([20, 41, 80], clamp=True, missing=[0.2, 0.3, 0.5])
    with pytest.raises(FileFormatError, match=r"saved: the map has digest .* can only be resumed with the map"):
        CovariateLearner.load(tmp_path / "saved", map=moved)


def test_a_map_that_no_file_can_hold_is_given_again_at_loading(tmp_path: Path) -> None:
    made = partial(FromTransformer, AGES.many, ["young", "middle", "old"])
    with pytest.raises(InputError, match="has no identity"):
        fresh(made()).save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    fresh(made(identity="ages 1")).save(tmp_path / "saved")
    with pytest.raises(FileFormatError, match=r"FromTransformer \('ages 1'\), which no file can hold"):
        CovariateLearner.load(tmp_path / "saved")
    again = CovariateLearner.load(tmp_path / "saved", map=made(identity="ages 1"))
    assert again.begin(40).context.tolist() == [0, 1, 0]
    with pytest.raises(FileFormatError, match="it is another map"):
        CovariateLearner.load(tmp_path / "saved", map=made(identity="ages 2"))


class Counting:
    """Someone else's learner."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def begin(self, context: Any) -> Any:
        self.number += 1

    def save(self, path: Path) -> None:
        path.write_text(str(self.number))

    @classmethod
    def load(cls, path: Path) -> Counting:
        return cls(int(path.read_text()))


def test_any_learner_that_saves_itself_can_be_kept_with_a_map(tmp_path: Path) -> None:
    learner = CovariateLearner(AGES, Counting())
    learner.begin(30)
    learner.save(tmp_path / "saved")
    again = CovariateLearner.load(tmp_path / "saved", load_learner=Counting.load)
    assert (again.inner.number, again.begun) == (1, 1)


def test_sizes_that_differ_are_an_error_at_once() -> None:
    with pytest.raises(InputError, match="the map gives contexts of 2 entries, and the learner knows 3"):
        fresh(Hats([0, 1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"begun": -1}, "begun is -1; it is a whole number"),
        ({"begun": 1.0}, "begun is 1.0"),
        ({"outside": [3]}, "outside is .3.; it needs 1 whole numbers from 0 to 2"),
        ({"missing": []}, "missing is .*; it needs 1 whole numbers"),
        ({"missing": 0}, "missing is 0"),
        ({"digest": None}, "it is another map, or was changed"),
        ({"map": map_as_json(Hats([20, 41, 80]))}, "it is another map, or was changed"),
        ({"more": 1}, "the header has"),
    ],
)
def test_a_file_that_was_changed_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    learner = fresh()
    learner.begin(30)
    learner.begin(90)
    learner.save(tmp_path / "saved")
    header, arrays = read_array_file(
        tmp_path / "saved", kind="CovariateLearner", versions=[2], arrays={"learner": "|u1"}, what="learner"
    )
    write_array_file(tmp_path / "saved", {**header, **change}, arrays)
    with pytest.raises(FileFormatError, match=message):
        CovariateLearner.load(tmp_path / "saved")


def test_a_damaged_learner_inside_is_refused_and_the_file_is_named(tmp_path: Path) -> None:
    fresh().save(tmp_path / "saved")
    header, arrays = read_array_file(
        tmp_path / "saved", kind="CovariateLearner", versions=[2], arrays={"learner": "|u1"}, what="learner"
    )
    write_array_file(tmp_path / "saved", header, {"learner": arrays["learner"][:-5]})
    with pytest.raises(FileFormatError, match=r"saved: the learner in it: this is not a complete npz file"):
        CovariateLearner.load(tmp_path / "saved")
    write_array_file(tmp_path / "saved", header, {})
    with pytest.raises(FileFormatError, match=r"learner.npy is missing"):
        CovariateLearner.load(tmp_path / "saved")


def test_it_keeps_the_contract_of_learners() -> None:
    def make(problem: Any) -> CovariateLearner:
        names = [f"part {n}" for n in range(problem.context_size)]
        shares = FromTransformer(np.asarray, names, identity="the context itself")
        inner = LRCSSP(problem.support, problem.context_size, loss_floor=0.1, widths=scaled(paper(), by=0.01))
        return CovariateLearner(shares, inner)

    check_learner(make, episodes=10)


LOG = [(25.0, Step(0, 0, 0.5, 3)), (None, Step(1, 1, 0.25, 3)), (95.0, Step(2, 0, 1.0, 3))]
"""Every state has a way to the goal; two of the ages are within range, or missing."""


def possible(log: list[Any]) -> list[Any]:
    """The same with a next state that the support allows."""
    support = PROBLEM.support
    return [
        (age, step._replace(next_state=int(support.next_state[support.row(support.pair(step.state, step.action))][0])))
        for age, step in log
    ]


def test_it_learns_from_steps_that_anyone_made_by_what_the_map_says(tmp_path: Path) -> None:
    log = possible(LOG)
    one, other, bare = fresh(), fresh(), fresh().inner
    assert one.learn_log(log) == 3
    for age, step in log:
        other.learn(age, step)
        bare.learn(AGES(age), step)
    for name, learner in (("one", one.inner), ("other", other.inner), ("bare", bare)):
        learner.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes() == (tmp_path / "bare").read_bytes()
    assert (one.begun, one.outside.tolist(), one.missing.tolist()) == (0, [0], [0])
    with pytest.raises(InputError, match=r"step 3 of the log.*'old' is not a number"):
        one.learn_log([*log, ("old", log[0][1])])
    assert one.statistics.visits.sum() == 6


def test_episodes_have_ids_and_allowed_actions(tmp_path: Path) -> None:
    learner = fresh()
    episode = learner.begin(33, id="case 17")
    assert learner.episode("case 17") is episode
    assert [episode.act(0, allowed=[1]), episode.pending_action] == [1, 1]  # type: ignore[call-arg, attr-defined]
    learner.save(tmp_path / "learner")
    again = fresh().restored(tmp_path / "learner")
    assert again.episode("case 17").pending_action == 1
    again.episode("case 17").abandon("left")
    assert again.abandoned == {"left": 1}


def test_two_with_the_same_map_are_merged() -> None:
    one, other = fresh(), fresh()
    drive(one, float, 5, seed=1)
    drive(other, float, 7, seed=2)
    visits = one.statistics.visits + other.statistics.visits
    outside = one.outside + other.outside
    one.merge(other)
    np.testing.assert_array_equal(one.statistics.visits, visits)
    assert (one.begun, one.outside.tolist()) == (12, outside.tolist())
    with pytest.raises(InputError, match="other has another map"):
        one.merge(fresh(Hats([20, 40, 81], clamp=True)))
    with pytest.raises(InputError, match="other is"):
        one.merge(one.inner)


def test_a_larger_support_and_other_settings_keep_the_map_and_the_counts() -> None:
    learner = fresh()
    drive(learner, float)
    support = PROBLEM.support
    pairs = [
        {int(support.pair_action[p]): [0, 1, 2, 3] for p in range(support.pair_start[s], support.pair_start[s + 1])}
        for s in range(support.states)
    ]
    wider = Support.from_pairs(pairs)
    for found, inside in (
        (learner.extended(wider), learner.inner.extended(wider)),
        (learner.with_settings(delta=0.01), learner.inner.with_settings(delta=0.01)),
    ):
        assert isinstance(found, CovariateLearner)
        assert found.map is learner.map
        assert found.begun == 20
        assert found.outside.tolist() == learner.outside.tolist()
        assert learner.outside.sum() > 0
        assert np.array_equal(found.plan(33).values, inside.plan(AGES(33)).values)
        found.begin(200.0)
        assert learner.begun == 20  # the counts are the new one's own
        assert found.outside.sum() == learner.outside.sum() + 1


def visits_of_ages(map: Any) -> Log:
    """Three patients of one step in a log that was read with a map of their ages."""
    table = {
        "case": [1, 2, 3], "time": [0, 1, 2], "state": ["0"] * 3, "action": ["0"] * 3, "loss": [0.5] * 3,
        "next_state": ["goal"] * 3, "age": [25, 35, 70],
    }  # fmt: skip
    return read_log(table, columns=LogColumns(covariates=["age"]), covariate_map=map)


def test_a_log_that_holds_contexts_of_this_map_is_learned_as_it_is() -> None:
    log = visits_of_ages(AGES)
    whole, inside = (LRCSSP(log.support, 3, loss_floor=0.1) for _ in range(2))
    learner = CovariateLearner(Hats([20, 40, 80], clamp=True, missing=[0.2, 0.3, 0.5]), whole)  # the same map again
    assert learner.learn_log(log) == inside.learn_log(log) == 3
    np.testing.assert_array_equal(whole.statistics.gram, inside.statistics.gram)
    assert learner.caveats == inside.caveats == log.validity_breaks


@pytest.mark.parametrize("other", [Hats([20, 50, 80]), Tensor([Hats([20, 40, 80])], [0])], ids=["other", "positions"])
def test_a_log_with_contexts_of_another_map_is_refused_and_nothing_is_learned(other: Any) -> None:
    """Contexts of three entries would pass for three columns, and be mapped a second time."""
    log = visits_of_ages(other)
    by_position = SoftClusters(np.eye(3), 1.0)
    for map in (AGES, by_position):
        learner = CovariateLearner(map, LRCSSP(log.support, 3, loss_floor=0.1))
        with pytest.raises(InputError, match=r"holds contexts already, made by another map .*map=learner\.map"):
            learner.learn_log(log)
        assert not learner.statistics.visits.any()
        assert learner.caveats == ()


def test_a_log_whose_contexts_are_columns_is_refused() -> None:
    table = {
        "case": [1], "time": [0], "state": ["0"], "action": ["0"], "loss": [0.5], "next_state": ["goal"],
        "a": [0.2], "b": [0.3], "c": [0.5],
    }  # fmt: skip
    log = read_log(table, columns=LogColumns(context=["a", "b", "c"]))
    learner = CovariateLearner(SoftClusters(np.eye(3), 1.0), LRCSSP(log.support, 3, loss_floor=0.1))
    with pytest.raises(InputError, match=r"made by no map that has a digest.*learner.inner.learn_log\(log\)"):
        learner.learn_log(log)
    assert learner.inner.learn_log(log) == 1
