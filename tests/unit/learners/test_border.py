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

from goalbound import Dirichlet, play, widths
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.contexts import MappedContexts
from goalbound.baselines import uc_ssp
from goalbound.errors import ArgumentError, FileConflictError, FileFormatError
from goalbound.learners.layers import unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.logs import Log, read_log
from goalbound.models import LossScale, Step, Support
from goalbound.testing import check_learner
from goalbound.testing.problem import small_problem
from tests.support.driving import written
from tests.support.incidents_at_work import rewrite_header
from tests.support.units import in_units

MINUTES = LossScale("min", cap=60)
CLIPPED = LossScale("min", cap=60, beyond="clip")
SUPPORT = Support.from_pairs(
    [{0: [0, 1, 2], 1: [1, 2]}, {0: [0, 2]}], state_names=["down", "slow"], action_names=["restart", "page"]
)
AMOUNTS = [12.0, 7.5, 60.0, 0.0, 31.0, 2.5]


def plain(**more: Any) -> LRCSSP:
    settings = {"loss_floor": MINUTES.from_unit(2.5), "widths": widths.scaled(widths.sharp(), by=0.1), **more}
    return LRCSSP(SUPPORT, 2, **settings)


def in_minutes(scale: LossScale = MINUTES) -> LRCSSP:
    learner = plain()
    learner.loss_scale = scale
    return learner


def bare(learner: Any) -> LRCSSP:
    """A copy of the learner, or of the one inside, without its unit."""
    found: LRCSSP = copy.deepcopy(unwrap(learner))
    found.loss_scale = None
    return found


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
    assert written(bare(one_by_one)) == written(bare(at_once)) == written(by_hand)


def test_its_episodes_observe_amounts_and_are_found_by_their_ids() -> None:
    learner, other = in_minutes(), plain()
    episode, twin = learner.begin([0.3, 0.7], id="case 17"), other.begin([0.3, 0.7], id="case 17")
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
    assert written(bare(learner)) == written(other)


def test_plans_bounds_and_explanations_are_the_plain_ones_times_the_cap() -> None:
    learner, context = in_minutes(), [0.3, 0.7]
    learner.learn_log(steps(200))
    inside = bare(learner)
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
        mine, theirs = learner.policy_bounds(context), bare(learner).policy_bounds(context)
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
    assert bare(learner).explain([0.5, 0.5], "down").as_json()["unit"] is None
    assert "losses in min up to 60, 60 steps)" in repr(learner)
    hostile = in_units(plain(), LossScale("<b>&", cap=60)).explain([0.5, 0.5], "down")
    assert "loss (&lt;b&gt;&amp;)" in hostile._repr_html_()
    with pytest.raises(ArgumentError, match="in min already"):
        said.in_unit(MINUTES)


def test_the_model_of_a_plan_has_losses_in_0_1_and_says_what_1_is() -> None:
    learner = in_minutes()
    learner.learn_log(steps())
    mine, theirs = learner.plan([0.5, 0.5]).model(), bare(learner).plan([0.5, 0.5]).model()
    np.testing.assert_allclose(mine.losses, theirs.losses, rtol=1e-15)
    assert (mine.loss_scale, theirs.loss_scale) == (60.0, 1.0)


def test_what_is_above_the_cap_is_refused_and_changes_nothing() -> None:
    learner = in_minutes()
    before = written(bare(learner))
    with pytest.raises(ArgumentError, match=r"the loss of the step: a loss of 75 min is above the cap of 60 min"):
        learner.learn([0.5, 0.5], Step(0, 0, 75.0, 1))
    episode = learner.begin([0.5, 0.5])
    action = episode.act(0)
    with pytest.raises(ArgumentError, match="above the cap"):
        episode.observe(Step(0, action, 75.0, 2))
    assert episode.pending_action is not None
    assert learner.statistics.visits.sum() == 0
    assert learner.clipped == 0
    episode.abandon("over", missing_at_random=True)
    fresh = in_minutes()
    log = [*steps(5), ([0.5, 0.5], Step(0, 0, 75.0, 1)), *steps(5)]
    with pytest.raises(ArgumentError, match="step 5 of the log, from 0 on: the loss of the step: a loss of 75 min"):
        fresh.learn_log(log)
    assert fresh.statistics.visits.sum() == 5
    assert written(bare(in_minutes())) == before


def test_what_is_clipped_is_learned_as_the_cap_and_counted_if_it_is_learned() -> None:
    learner, capped = in_minutes(CLIPPED), plain()
    log = [([0.5, 0.5], Step(0, 0, amount, 1)) for amount in (75.0, 60.0, 10.0, 1e6)]
    assert learner.learn_log(log) == 4
    capped.learn_log([([0.5, 0.5], Step(0, 0, min(step.loss, 60.0) / 60, 1)) for _, step in log])
    assert written(bare(learner)) == written(capped)
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
    learner = in_units(LRCSSP(SUPPORT, 1, loss_floor=0.1), CLIPPED)
    twin = LRCSSP(SUPPORT, 1, loss_floor=0.1)
    log = logged(CLIPPED, [75.0, 30.0])
    assert learner.learn_log(log) == twin.learn_log(log) == 2
    assert written(bare(learner)) == written(twin)
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
    again, restored = LRCSSP.load(tmp_path / "saved"), in_minutes(CLIPPED).restored(tmp_path / "saved")
    for one in (learner, again, restored):
        assert (one.loss_scale, one.clipped) == (CLIPPED, 1)
        one.episode("case 17").observe(Step(0, action, 90.0, 2))
        assert one.clipped == 2
        assert written(bare(one)) == written(bare(learner))
    with pytest.raises(FileFormatError, match=r"the learner in it has other settings: .*losses in min"):
        in_minutes().restored(tmp_path / "saved")
    with pytest.raises(FileConflictError):
        in_minutes().save(tmp_path / "saved")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"clipped": -1}, "clipped is -1"),
        ({"clipped": 0.5}, "clipped is 0.5"),
        ({"loss_scale": {"unit": "min", "cap": 0, "beyond": "clip"}}, "cap is 0"),
        ({"loss_scale": None}, "a loss scale has unit, cap and beyond"),
        ({"unit": "min"}, "the header has"),
    ],
)
def test_a_file_with_a_wrong_unit_is_refused(tmp_path: Path, entries: dict[str, Any], said: str) -> None:
    in_minutes().save(tmp_path / "saved")
    rewrite_header(tmp_path / "saved", **entries)
    with pytest.raises(FileFormatError, match=said):
        LRCSSP.load(tmp_path / "saved")


def test_a_simulation_is_refused_while_there_is_a_unit() -> None:
    problem = small_problem()
    learner = LRCSSP(problem.support, problem.context_size, loss_floor=0.05)
    learner.loss_scale = MINUTES
    with pytest.raises(ArgumentError, match=r"takes losses in min, .*set learner\.loss_scale = None"):
        play(
            problem,
            MappedContexts(learner, np.eye(problem.context_size)),
            Dirichlet.symmetric(problem.context_size),
            episodes=1,
        )
    learner.loss_scale = None
    play(problem, learner, Dirichlet.symmetric(problem.context_size), episodes=1)


def test_inside_a_learner_with_covariates_and_around_one_it_keeps_the_unit(tmp_path: Path) -> None:
    ages = Hats([20, 80])
    inside, around = CovariateLearner(ages, in_minutes()), in_units(CovariateLearner(ages, plain()), MINUTES)
    twin = CovariateLearner(ages, plain())
    for learner in (inside, around):
        learner.learn(35, Step(0, 0, 12.0, 1))
        assert learner.learn_log([(50, Step(1, 0, 24.0, 2))]) == 1
        assert "60 min" in str(learner.plan(35))
    twin.learn(35, Step(0, 0, 12.0 / 60, 1))
    twin.learn(50, Step(1, 0, 24.0 / 60, 2))
    assert written(bare(inside)) == written(bare(around)) == written(twin.inner)
    inside.save(tmp_path / "inside")
    loaded = CovariateLearner.load(tmp_path / "inside")
    assert (loaded.loss_scale, loaded.inner.loss_scale, loaded.clipped) == (MINUTES, MINUTES, 0)
    assert written(bare(loaded)) == written(twin.inner)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_independent(duplicate: Any) -> None:
    learner = in_minutes(CLIPPED)
    episode = learner.begin([0.5, 0.5], id=3)
    action = episode.act(0)
    other = duplicate(learner)
    other.episode(3).observe(Step(0, action, 75.0, 2))
    assert (learner.clipped, other.clipped) == (0, 1)
    assert (learner.statistics.visits.sum(), other.statistics.visits.sum()) == (0, 1)
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
    with pytest.raises(ArgumentError, match="other has the scale None"):
        one.merge(plain())


def test_learners_without_contexts_have_a_unit_too() -> None:
    learner, theirs = in_units(uc_ssp(SUPPORT, loss_floor=0.1), MINUTES), uc_ssp(SUPPORT, loss_floor=0.1)
    theirs.learn([1.0], Step(0, 0, 0.2, 2))
    learner.learn([1.0], Step(0, 0, 12.0, 2))
    np.testing.assert_allclose(learner.plan([1.0]).values, 60 * theirs.plan([1.0]).values, rtol=1e-15)


def test_it_keeps_the_contract_of_learners() -> None:
    """The environment of the contract has losses in [0, 1]: a unit of which 1 is a loss of 1."""

    def make(problem: Any) -> LRCSSP:
        return in_units(LRCSSP(problem.support, problem.context_size, loss_floor=0.1), LossScale("day", cap=1))

    check_learner(make, episodes=5)


@pytest.mark.parametrize("scale", [60, "min", {"unit": "min"}])
def test_what_is_no_scale_is_refused(scale: Any) -> None:
    with pytest.raises(ArgumentError, match=r'loss_scale is .*give a LossScale, such as LossScale\("min", cap=60\)'):
        in_units(plain(), scale)


@pytest.mark.parametrize("amount", [math.nan, -1.0, "12", None, [1.0], np.array([1.0, 2.0]), True])
def test_an_amount_that_is_none_is_an_error_that_names_the_loss(amount: Any) -> None:
    learner = in_minutes()
    with pytest.raises(ArgumentError, match="loss of the step"):
        learner.learn([0.5, 0.5], Step(0, 0, amount, 1))
    assert learner.statistics.visits.sum() == 0


def test_a_larger_support_and_other_settings_keep_the_unit_and_the_count() -> None:
    learner = in_minutes(CLIPPED)
    learner.learn_log(steps())
    learner.learn([0.5, 0.5], Step(0, 0, 75.0, 1))
    larger = Support.from_pairs(
        [{0: [0, 1, 2, 3], 1: [1, 3]}, {0: [0, 3]}, {0: [3]}], state_names=["down", "slow", "lost"],
        action_names=["restart", "page"],
    )  # fmt: skip
    for found, inside in (
        (learner.extended(larger), bare(learner).extended(larger)),
        (learner.with_settings(delta=0.01), bare(learner).with_settings(delta=0.01)),
    ):
        assert (found.loss_scale, found.clipped) == (CLIPPED, 1)
        assert written(bare(found)) == written(inside)
    with pytest.raises(ArgumentError, match="delta"):
        learner.with_settings(delta=2.0)
