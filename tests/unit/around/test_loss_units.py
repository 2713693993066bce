"""A learner with a unit is the plain learner, fed with losses that were converted by hand; what it shows is scaled."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import widths
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.context_map import MappedContexts
from goalbound.around.loss_units import InUnits
from goalbound.baselines import uc_ssp
from goalbound.errors import ArgumentError, FileConflictError, FileFormatError, InputError
from goalbound.learners.card import learner_card
from goalbound.learners.layers import unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge
from goalbound.logs import Log, read_log
from goalbound.models import LossScale, Step, Support
from goalbound.testing import check_learner
from tests.support.driving import written

MINUTES = LossScale("min", cap=60)
CLIPPED = LossScale("min", cap=60, beyond="clip")
SUPPORT = Support.from_pairs(
    [{0: [0, 1, 2], 1: [1, 2]}, {0: [0, 2]}], state_names=["down", "slow"], action_names=["restart", "page"]
)
AMOUNTS = [12.0, 7.5, 60.0, 0.0, 31.0, 2.5]


def plain(**more: Any) -> LRCSSP:
    settings = {"loss_floor": MINUTES.from_unit(2.5), "widths": widths.scaled(widths.sharp(), by=0.1), **more}
    return LRCSSP(SUPPORT, 2, **settings)


def in_minutes(scale: LossScale = MINUTES) -> InUnits:
    return InUnits(plain(), scale)


def named(state: Any, action: Any, loss: float, following: Any) -> Step:
    """A step, also by names."""
    return Step(state, action, loss, following)


def steps(count: int = 60, seed: int = 0) -> list[tuple[np.ndarray, Step]]:
    """With losses in minutes."""
    rng = np.random.default_rng(seed)
    found = []
    for context in rng.dirichlet([1.0, 1.0], size=count):
        pair = int(rng.integers(3))
        following = int(rng.choice(SUPPORT.next_state[SUPPORT.row(pair)]))
        state, action = int(SUPPORT.pair_state[pair]), int(SUPPORT.pair_action[pair])
        found.append((context, Step(state, action, float(rng.choice(AMOUNTS)), following)))
    return found


def converted(log: list[tuple[np.ndarray, Step]]) -> list[tuple[np.ndarray, Step]]:
    return [(context, step._replace(loss=step.loss / 60)) for context, step in log]


def test_it_learns_what_the_plain_learner_learns_to_the_bit() -> None:
    by_hand, one_by_one, at_once = plain(), in_minutes(), in_minutes()
    by_hand.learn_log(converted(steps()))
    for context, step in steps():
        one_by_one.learn(context, step)
    assert at_once.learn_log(iter(steps())) == 60
    assert written(one_by_one.inner) == written(at_once.inner) == written(by_hand)


def test_its_episodes_observe_amounts_and_are_found_by_their_ids() -> None:
    learner, bare = in_minutes(), plain()
    episode, twin = learner.begin([0.3, 0.7], id="case 17"), bare.begin([0.3, 0.7], id="case 17")
    assert episode.act("down") == twin.act("down")
    action = SUPPORT.action_names[episode.act("down")]  # type: ignore[index]
    episode.observe(named("down", action, 12.0, "slow"))
    twin.observe(named("down", action, 12.0 / 60, "slow"))
    assert learner.episode("case 17") == episode
    assert learner.open_episodes == (episode,)
    assert learner.episode("case 17").learner is learner
    assert (episode.state, episode.id, episode.ended) == (1, "case 17", False)
    episode.act("slow")
    twin.act("slow")
    assert episode.plan.loss_scale == MINUTES
    episode.observe(named("slow", "restart", 30.0, "goal"), overridden=True)
    twin.observe(named("slow", "restart", 0.5, "goal"), overridden=True)
    assert episode.ended
    assert learner.open_episodes == ()
    assert written(learner.inner) == written(bare)


def test_plans_bounds_and_explanations_are_the_plain_ones_times_the_cap() -> None:
    learner, context = in_minutes(), [0.3, 0.7]
    learner.learn_log(steps(200))
    inside = learner.inner
    mine, theirs = learner.plan(context), inside.plan(context)
    for name in ("values", "upper", "losses", "loss_bound"):
        np.testing.assert_allclose(getattr(mine, name), 60 * np.asarray(getattr(theirs, name)), rtol=1e-15)
    np.testing.assert_array_equal(mine.policy, theirs.policy)
    for made, plain_one in (
        (learner.policy_bounds(context), inside.policy_bounds(context)),
        (learner.policy_bounds(context, ["page", "restart"]), inside.policy_bounds(context, ["page", "restart"])),
        (learner.robust_plan(context), inside.robust_plan(context)),
    ):
        for name in ("lower", "estimate", "upper"):
            np.testing.assert_allclose(getattr(made, name), 60 * getattr(plain_one, name), rtol=1e-15)
        np.testing.assert_array_equal(made.policy, plain_one.policy)
        assert made.guarantee == plain_one.guarantee
    said, plain_said = learner.explain(context, "down"), inside.explain(context, "down")
    for one, other in zip(said.actions, plain_said.actions, strict=True):
        assert one.loss == 60 * other.loss
        assert one.value == 60 * other.value
        assert one.value_interval == pytest.approx([60 * end for end in other.value_interval], rel=1e-15)
        assert one.next_states == other.next_states


def test_bounds_are_rounded_outwards_and_what_is_nothing_or_infinite_stays() -> None:
    learner = in_minutes()
    learner.learn_log(steps(200))
    for context in np.random.default_rng(0).dirichlet([1.0, 1.0], size=20):
        mine, theirs = learner.policy_bounds(context), learner.inner.policy_bounds(context)
        for low, high, at_least, at_most in zip(mine.lower, mine.upper, theirs.lower, theirs.upper, strict=True):
            assert low == at_least == 0 or exactly(low) < 60 * exactly(at_least)
            assert high == at_most == 0 or math.isinf(high) or exactly(high) > 60 * exactly(at_most)
            assert math.isinf(high) == math.isinf(at_most)
        assert mine.lower[-1] == mine.upper[-1] == 0.0


def exactly(number: float) -> Any:
    from fractions import Fraction

    return Fraction(float(number))


def test_the_unit_is_in_text_html_and_json() -> None:
    learner = in_minutes()
    learner.learn_log(steps())
    assert "loss bound 60 min" in str(learner.plan([0.5, 0.5]))
    assert "at least (min)" in str(learner.policy_bounds([0.5, 0.5]))
    said = learner.explain([0.5, 0.5], "down")
    assert "value (min)" in str(said)
    assert "<th>loss (min)</th>" in said._repr_html_()
    assert json.loads(json.dumps(said.as_json()))["unit"] == "min"
    assert learner.inner.explain([0.5, 0.5], "down").as_json()["unit"] is None
    assert repr(learner).startswith("InUnits(60 min, LRCSSP(2 states, 3 pairs")
    hostile = InUnits(plain(), LossScale("<b>&", cap=60)).explain([0.5, 0.5], "down")
    assert "loss (&lt;b&gt;&amp;)" in hostile._repr_html_()
    with pytest.raises(ArgumentError, match="in min already"):
        said.in_unit(MINUTES)


def test_the_model_of_a_plan_has_losses_in_0_1_and_says_what_1_is() -> None:
    learner = in_minutes()
    learner.learn_log(steps())
    mine, theirs = learner.plan([0.5, 0.5]).model(), learner.inner.plan([0.5, 0.5]).model()
    np.testing.assert_allclose(mine.losses, theirs.losses, rtol=1e-15)
    assert (mine.loss_scale, theirs.loss_scale) == (60.0, 1.0)


def test_what_is_above_the_cap_is_refused_and_changes_nothing() -> None:
    learner = in_minutes()
    before = written(learner.inner)
    with pytest.raises(ArgumentError, match=r"the loss of the step: a loss of 75 min is above the cap of 60 min"):
        learner.learn([0.5, 0.5], Step(0, 0, 75.0, 1))
    episode = learner.begin([0.5, 0.5])
    action = episode.act(0)
    with pytest.raises(ArgumentError, match="above the cap"):
        episode.observe(Step(0, action, 75.0, 2))
    assert episode.pending_action is not None
    assert learner.inner.statistics.visits.sum() == 0
    assert learner.clipped == 0
    episode.abandon("over", missing_at_random=True)
    fresh = in_minutes()
    log = [*steps(5), ([0.5, 0.5], Step(0, 0, 75.0, 1)), *steps(5)]
    with pytest.raises(ArgumentError, match="step 5 of the log, from 0 on: the loss of the step: a loss of 75 min"):
        fresh.learn_log(log)
    assert fresh.inner.statistics.visits.sum() == 5
    assert written(in_minutes().inner) == before


def test_what_is_clipped_is_learned_as_the_cap_and_counted_if_it_is_learned() -> None:
    learner, capped = in_minutes(CLIPPED), plain()
    log = [([0.5, 0.5], Step(0, 0, amount, 1)) for amount in (75.0, 60.0, 10.0, 1e6)]
    assert learner.learn_log(log) == 4
    capped.learn_log([([0.5, 0.5], Step(0, 0, min(step.loss, 60.0) / 60, 1)) for _, step in log])
    assert written(learner.inner) == written(capped)
    assert learner.clipped == 2
    learner.learn([0.5, 0.5], Step(0, 0, 61.0, 1))
    episode = learner.begin([0.5, 0.5])
    episode.observe(Step(0, episode.act(0), 62.0, 2))
    assert learner.clipped == 4
    with pytest.raises(ArgumentError, match="step 1 of the log"):
        learner.learn_log([log[0], ([0.5, 0.5], Step(0, 0, -1.0, 1)), log[0]])
    assert learner.clipped == 5
    with pytest.raises(ValueError, match="step 1 of the log"):
        learner.learn_log([log[0], ([0.5, 0.5], Step(7, 0, 75.0, 1)), log[0]])  # read ahead, and not learned
    assert learner.clipped == 6


def logged(scale: LossScale | None, losses: list[float]) -> Log:
    table = {
        "case": [1, 1], "time": [1, 2], "state": ["down", "slow"], "action": ["page", "restart"], "loss": losses,
        "next_state": ["slow", "goal"],
    }  # fmt: skip
    return read_log(table, support=SUPPORT, loss_scale=scale)


def test_a_log_that_was_read_with_a_scale_must_have_been_with_this_one() -> None:
    learner = InUnits(LRCSSP(SUPPORT, 1, loss_floor=0.1), CLIPPED)
    bare = LRCSSP(SUPPORT, 1, loss_floor=0.1)
    log = logged(CLIPPED, [75.0, 30.0])
    assert learner.learn_log(log) == bare.learn_log(log) == 2
    assert written(learner.inner) == written(bare)
    assert learner.clipped == 1
    for other, said in (
        (logged(LossScale("min", cap=90, beyond="clip"), [75.0, 30.0]), "cap=90"),
        (logged(LossScale("EUR", cap=60, beyond="clip"), [75.0, 30.0]), "EUR"),
        (logged(None, [0.5, 0.5]), "no unit: its losses are in"),
    ):
        with pytest.raises(ArgumentError, match=said):
            learner.learn_log(other)
        with pytest.raises(ArgumentError, match=said):  # nor behind a map of its contexts
            MappedContexts(learner, [[1.0]]).learn_log(other)
    assert MappedContexts(learner, [[1.0]]).learn_log(log) == 2
    assert learner.clipped == 2


def test_it_resumes_from_its_file_with_its_scale_and_count(tmp_path: Path) -> None:
    learner = in_minutes(CLIPPED)
    learner.learn_log([*steps(), ([0.5, 0.5], Step(0, 0, 75.0, 1))])
    episode = learner.begin([0.5, 0.5], id="case 17")
    action = episode.act(0)
    learner.save(tmp_path / "saved")
    again, restored = InUnits.load(tmp_path / "saved"), in_minutes(CLIPPED).restored(tmp_path / "saved")
    for one in (learner, again, restored):
        assert (one.loss_scale, one.clipped) == (CLIPPED, 1)
        one.episode("case 17").observe(Step(0, action, 90.0, 2))
        assert one.clipped == 2
        assert written(one.inner) == written(learner.inner)
    with pytest.raises(FileFormatError, match="the learner in it has the scale"):
        in_minutes().restored(tmp_path / "saved")
    with pytest.raises(FileConflictError):
        in_minutes().save(tmp_path / "saved")
    with pytest.raises(FileFormatError, match="the learner in it"):
        InUnits.load(tmp_path / "saved", load_learner=GreedyRidge.load)
    with pytest.raises(InputError, match="load_learner is 'x'; it is a function that reads a learner"):
        InUnits.load(tmp_path / "saved", load_learner="x")  # type: ignore[arg-type]
    learner.inner.save(tmp_path / "plain")
    with pytest.raises(FileFormatError, match="a learner with its unit"):
        InUnits.load(tmp_path / "plain")


def test_inside_a_learner_with_covariates_and_around_one_it_keeps_the_unit(tmp_path: Path) -> None:
    ages = Hats([20, 80])
    inside, around = CovariateLearner(ages, in_minutes()), InUnits(CovariateLearner(ages, plain()), MINUTES)
    bare = CovariateLearner(ages, plain())
    for learner in (inside, around):
        learner.learn(35, Step(0, 0, 12.0, 1))
        assert learner.learn_log([(50, Step(1, 0, 24.0, 2))]) == 1
        assert "60 min" in str(learner.plan(35))
    bare.learn(35, Step(0, 0, 12.0 / 60, 1))
    bare.learn(50, Step(1, 0, 24.0 / 60, 2))
    assert written(unwrap(inside)) == written(unwrap(around)) == written(bare.inner)
    inside.save(tmp_path / "inside")
    loaded = CovariateLearner.load(tmp_path / "inside", load_learner=InUnits.load)
    assert loaded.inner.loss_scale == MINUTES
    assert written(unwrap(loaded)) == written(bare.inner)
    around.save(tmp_path / "around")
    other = InUnits.load(tmp_path / "around", load_learner=CovariateLearner.load)
    assert written(unwrap(other)) == written(bare.inner)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_independent(duplicate: Any) -> None:
    learner = in_minutes(CLIPPED)
    episode = learner.begin([0.5, 0.5], id=3)
    action = episode.act(0)
    other = duplicate(learner)
    other.episode(3).observe(Step(0, action, 75.0, 2))
    assert (learner.clipped, other.clipped) == (0, 1)
    assert (learner.inner.statistics.visits.sum(), other.inner.statistics.visits.sum()) == (0, 1)
    assert not episode.ended
    twin = duplicate(episode)
    twin.observe(Step(0, action, 75.0, 2))
    assert (twin.ended, twin.learner.clipped, learner.clipped) == (True, 1, 0)


def test_merging_adds_what_was_clipped_and_asks_for_the_same_scale() -> None:
    one, other, whole = (in_minutes(CLIPPED) for _ in range(3))
    first, second = steps(20), [*steps(20, seed=1), ([0.5, 0.5], Step(0, 0, 75.0, 1))]
    one.learn_log(first)
    other.learn_log(second)
    whole.learn_log([*first, *second])
    one.merge(other)
    np.testing.assert_allclose(one.statistics.loss_sums, whole.statistics.loss_sums, rtol=1e-15)
    assert one.clipped == 1
    with pytest.raises(ArgumentError, match="other has the scale"):
        one.merge(in_minutes())
    with pytest.raises(ArgumentError, match="other is"):
        one.merge(plain())  # type: ignore[arg-type]


def test_another_learner_inside_keeps_unit_and_count() -> None:
    learner = in_minutes(CLIPPED)
    learner.learn([0.5, 0.5], Step(0, 0, 75.0, 1))
    larger = learner.around(learner.inner.extended(SUPPORT))
    assert (larger.clipped, larger.loss_scale) == (1, CLIPPED)
    assert larger.statistics.visits.sum() == 1


def test_it_says_of_itself_what_the_learner_inside_says() -> None:
    learner = in_minutes()
    assert learner_card(learner) == learner_card(learner.inner)
    assert (learner.context_size, learner.support, learner.alarm) == (2, SUPPORT, None)


def test_learners_without_contexts_have_a_unit_too() -> None:
    learner = InUnits(uc_ssp(SUPPORT, loss_floor=0.1), MINUTES)
    learner.learn([1.0], Step(0, 0, 12.0, 2))
    np.testing.assert_allclose(learner.plan([1.0]).values, 60 * learner.inner.plan([1.0]).values, rtol=1e-15)


def test_it_keeps_the_contract_of_learners() -> None:
    """The environment of the contract has losses in [0, 1]: a unit of which 1 is a loss of 1."""

    def make(problem: Any) -> InUnits:
        return InUnits(LRCSSP(problem.support, problem.context_size, loss_floor=0.1), LossScale("day", cap=1))

    check_learner(make, episodes=5)


@pytest.mark.parametrize(
    ("learner", "scale", "said"),
    [
        (LRCSSP, MINUTES, "learner is"),
        ("learner", MINUTES, "has no begin"),
        (in_minutes(), MINUTES, "learner has a unit already, min"),
        (plain(), 60, "scale is"),
        (plain(), None, 'give a LossScale, such as LossScale\\("min", cap=60\\)'),
    ],
)
def test_wrong_arguments_are_refused(learner: Any, scale: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        InUnits(learner, scale)


@pytest.mark.parametrize("amount", [math.nan, -1.0, "12", None, [1.0], np.array([1.0, 2.0]), True])
def test_an_amount_that_is_none_is_an_error_that_names_the_loss(amount: Any) -> None:
    learner = in_minutes()
    with pytest.raises(ArgumentError, match="loss of the step"):
        learner.learn([0.5, 0.5], Step(0, 0, amount, 1))
    assert learner.inner.statistics.visits.sum() == 0


def test_a_larger_support_and_other_settings_keep_the_unit_and_the_count() -> None:
    learner = in_minutes(CLIPPED)
    learner.learn_log(steps())
    learner.learn([0.5, 0.5], Step(0, 0, 75.0, 1))
    larger = Support.from_pairs(
        [{0: [0, 1, 2, 3], 1: [1, 3]}, {0: [0, 3]}, {0: [3]}], state_names=["down", "slow", "lost"],
        action_names=["restart", "page"],
    )  # fmt: skip
    for found, inside in (
        (learner.extended(larger), learner.inner.extended(larger)),
        (learner.with_settings(delta=0.01), learner.inner.with_settings(delta=0.01)),
    ):
        assert isinstance(found, InUnits)
        assert (found.loss_scale, found.clipped) == (CLIPPED, 1)
        assert written(found.inner) == written(inside)
    with pytest.raises(ArgumentError, match="delta"):
        learner.with_settings(delta=2.0)
