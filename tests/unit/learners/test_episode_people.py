"""Episodes among people: proposals that are overruled, worlds that move, actions that are forbidden, cases with ids."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import ContextBlind, Discretized, MappedContexts, load_learner, widths
from goalbound.baselines import TabularLearner
from goalbound.errors import ArgumentError, InputError, LearnerError, ModelError
from goalbound.learners.base import LearnerBase
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.models import Step, Support
from tests.support import tabular_driving
from tests.support.behaviour import log_of
from tests.support.driving import learner_of, reloaded, small_problem, written

PROBLEM = small_problem(states=3, actions=4)
SUPPORT = PROBLEM.support
LOG = log_of(PROBLEM, lambda context, state, before, rng: int(rng.integers(4)), 200, 1)
NAMED = Support.from_pairs(
    [{0: [0, 1], 1: [1, 2]}, {0: [0, 2]}], state_names=["home", "work"], action_names=["wait", "walk"]
)

RIDGE: dict[str, Callable[[], Any]] = {
    "sharp": lambda: learner_of(PROBLEM, loss_floor=0.1, widths=widths.sharp()),
    "paper": lambda: learner_of(PROBLEM, loss_floor=0.1),
    "narrow": lambda: learner_of(PROBLEM, loss_floor=0.1, widths=widths.scaled(widths.paper(), by=0.01)),
    "greedy": lambda: GreedyRidge(SUPPORT, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "sampled": lambda: PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "rmax": lambda: KwikRmax(SUPPORT, 2, loss_floor=0.1, threshold=0.5),
}
TABULAR = {name: lambda name=name: tabular_driving.learner_of(tabular_driving.small_problem(), name)
           for name in tabular_driving.METHODS}  # type: ignore[misc]  # fmt: skip
ALL: dict[str, Callable[[], Any]] = {**RIDGE, **TABULAR}


@pytest.fixture(params=ALL)
def learner(request: pytest.FixtureRequest) -> Any:
    return ALL[request.param]()


def context_of(learner: LearnerBase) -> list[float]:
    return [1.0] if isinstance(learner, TabularLearner) else [0.3, 0.7]


def actions_in(learner: LearnerBase, state: int) -> list[int]:
    support = learner.support
    return [int(a) for a in support.pair_action[support.pair_start[state] : support.pair_start[state + 1]]]


def leads(learner: LearnerBase, state: int, action: int) -> list[int]:
    return [int(s) for s in learner.support.next_state[learner.support.row(learner.support.pair(state, action))]]


def visits(learner: Any) -> np.ndarray:
    found: np.ndarray = learner.visits if isinstance(learner, TabularLearner) else learner.statistics.visits
    return found


def busy_state(learner: LearnerBase) -> int:
    """A state with several actions."""
    return int(np.argmax(np.diff(learner.support.pair_start)))


# Overruled proposals


def test_what_somebody_else_did_is_learned_and_the_proposal_was_never_made(learner: Any) -> None:
    state = busy_state(learner)
    episode = learner.begin(context_of(learner))
    proposed = episode.act(state)
    other = next(action for action in actions_in(learner, state) if action != proposed)
    following = leads(learner, state, other)[0]
    episode.observe(Step(state, other, 0.5, following), overridden=True)
    expected = np.zeros(learner.support.pairs, dtype=int)
    expected[learner.support.pair(state, other)] = 1
    np.testing.assert_array_equal(visits(learner), expected)
    assert (episode.state, episode.pending_action, episode.ended) == (following, None, following == SUPPORT.states)
    assert episode.unknown_steps == 0
    if not episode.ended:
        assert episode.act(following) in actions_in(learner, following)


def test_somebody_may_act_without_asking(learner: Any) -> None:
    episode = learner.begin(context_of(learner))
    action = actions_in(learner, 0)[0]
    following = leads(learner, 0, action)[0]
    episode.observe(Step(0, action, 0.25, following), overridden=True)
    assert visits(learner).sum() == 1
    assert episode.state == following


def test_who_does_what_was_proposed_has_not_overruled_it(learner: Any) -> None:
    other = copy.deepcopy(learner)
    episodes = [one.begin(context_of(one)) for one in (learner, other)]
    for one, episode, overridden in zip((learner, other), episodes, (True, False), strict=True):
        action = episode.act(0)
        episode.observe(Step(0, action, 0.5, leads(one, 0, action)[0]), overridden=overridden)
    assert written(learner) == written(other)


def test_a_proposal_that_counts_already_stays_pending_when_it_is_overruled() -> None:
    """Two propose the same, the later one is played first, so that the earlier one counts; then it is overruled."""
    learner = RIDGE["sharp"]()
    early, late = learner.begin([0.3, 0.7]), learner.begin([0.6, 0.4])
    action = early.act(0)
    assert late.act(0, allowed=[action]) == action
    late.observe(Step(0, action, 0.5, leads(learner, 0, action)[0]))
    assert learner.statistics.pending.sum() == 1
    other = next(one for one in actions_in(learner, 0) if one != action)
    early.begins(other)
    early.observe(Step(0, other, 0.5, leads(learner, 0, other)[-1]))
    assert learner.statistics.pending.tolist() == [one == action for one in range(4)] + [0] * 8
    assert visits(learner).sum() == 3


def test_an_overruled_plan_is_kept_until_a_new_one_is_due() -> None:
    """With widths as proven nothing is known, so every step makes a new plan; with replan_factor 1e9 none does."""
    often, seldom = (learner_of(PROBLEM, loss_floor=0.1, loss_bound=5.0, replan_factor=factor) for factor in (1.0, 1e9))
    for learner, intervals in ((often, 2), (seldom, 1)):
        episode = learner.begin([0.3, 0.7])
        action = (episode.act(0) + 1) % 4
        following = leads(learner, 0, action)[0]
        episode.observe(Step(0, action, 0.5, following), overridden=True)
        assert episode.intervals == learner.intervals == intervals
        assert (episode.plan is None) == (intervals == 2)


MISUSES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda e: e.observe(Step(1, 0, 0.5, 2)), LearnerError, r"another action.*observe\(step, overridden=True\)"),
    (lambda e: e.observe(Step(0, 0, 0.5, 2), overridden=True), LearnerError, r"in state 1.*moved_to\(state\) comes"),
    (lambda e: e.observe(Step(1, 0, 2.0, 2), overridden=True), ArgumentError, "losses lie in"),
    (lambda e: e.observe(Step(1, 9, 0.5, 2), overridden=True), ModelError, "no action 9"),
    (lambda e: e.observe(Step(1, 0, 0.5, 9), overridden=True), ArgumentError, "no state 9"),
    (lambda e: e.observe((1, 0), overridden=True), ArgumentError, "give Step"),
    (lambda e: e.observe(Step(1, 0, 0.5, 2), overridden="yes"), ArgumentError, "overridden"),
    (lambda e: e.moved_to(9), ModelError, "no state 9"),
    (lambda e: e.moved_to(1, missing_at_random=1), ArgumentError, "missing_at_random"),
    (lambda e: e.abandon(""), ArgumentError, "reason is ''; give a few words"),
    (lambda e: e.abandon(True), ArgumentError, "reason is True"),
    (lambda e: e.abandon("lost", missing_at_random="no"), ArgumentError, "missing_at_random"),
    (lambda e: e.act(1, allowed=[]), LearnerError, "no action is allowed"),
    (lambda e: e.act(1, allowed=[7]), ArgumentError, r"allowed is \[7\]: no action 7"),
    (lambda e: e.act(1, allowed="walk"), ArgumentError, "allowed is 'walk'; it is a list of actions"),
    (lambda e: e.act(1, allowed=1), ArgumentError, "allowed is of the type int; it is a list of actions"),
    (lambda e: e.act(1, allowed=[0]), LearnerError, r"action 1 was chosen already.*take_back\(\)"),
    (lambda e: e.act(1, allowed=[2]), LearnerError, r"has none of the allowed actions \(action 2\); it has action 0"),
    (lambda e: e.learner.begin([1.0], id=""), ArgumentError, "id is ''"),
    (lambda e: e.learner.begin([1.0], id=1.5), ArgumentError, "id is 1.5; give a name or a whole number"),
    (lambda e: e.learner.begin([1.0], id=True), ArgumentError, "id is True"),
    (lambda e: e.learner.begin([1.0], id="case"), LearnerError, "an open episode has the id 'case' already"),
    (lambda e: e.learner.episode("other"), LearnerError, "no open episode has the id 'other'; there are 'case'"),
    (lambda e: e.learner.episode([]), LearnerError, r"no open episode has the id \[\]"),
]


@pytest.mark.parametrize("number", range(len(MISUSES)), ids=lambda number: f"{number}: {MISUSES[number][2]}"[:60])
def test_misuse_is_an_error_that_changes_nothing(number: int) -> None:
    support = Support.from_pairs([{0: [0, 1], 1: [1, 2], 2: [2]}, {0: [0, 2], 1: [0, 2]}])
    learner = LRCSSP(support, 1, loss_floor=0.1)
    episode = learner.begin([1.0], id="case")
    assert episode.act(1, allowed=[1]) == 1
    before = written(learner)
    move, error, message = MISUSES[number]
    with pytest.raises(error, match=message):
        move(episode)
    assert written(learner) == before
    assert learner.abandoned == {}


def test_a_step_that_a_known_row_excludes_takes_no_proposal_back() -> None:
    support = Support.full(1, 2)
    prior = PriorKnowledge.nothing(support, 1).with_rows({(0, 0): [1.0, 0.0]})
    learner = LRCSSP(support, 1, loss_floor=0.1, prior=prior)
    episode = learner.begin([1.0])
    assert episode.act(0, allowed=[1]) == 1
    with pytest.raises(ArgumentError, match="excludes"):
        episode.observe(Step(0, 0, 0.5, 1), overridden=True)
    assert episode.pending_action == 1
    episode.observe(Step(0, 1, 0.5, 1))


def test_after_its_end_nothing_can_be_done(learner: Any) -> None:
    episode = learner.begin(context_of(learner))
    episode.moved_to(learner.support.states)
    assert episode.ended
    for move in (
        lambda: episode.observe(Step(0, 0, 0.5, 0), overridden=True), lambda: episode.moved_to(0), episode.take_back,
        lambda: episode.act(0, allowed=[0]),
    ):  # fmt: skip
        with pytest.raises(LearnerError, match="the episode has ended"):
            move()
    episode.abandon("too late")  # that it has ended already is no error, and it is not counted
    assert learner.abandoned == {}


# Worlds that move


def test_the_world_may_move_by_itself(learner: Any) -> None:
    episode = learner.begin(context_of(learner))
    before = visits(learner).copy()
    episode.moved_to(1)
    assert (episode.state, episode.ended) == (1, False)
    episode.act(1)
    np.testing.assert_array_equal(visits(learner), before)


@pytest.mark.parametrize("kind", ["sharp", "paper"])
def test_an_outcome_that_is_lost_so_counts_as_one_that_may_have_been_anything(kind: str) -> None:
    moved, abandoned, random = RIDGE[kind](), RIDGE[kind](), RIDGE[kind]()
    episode = moved.begin([0.3, 0.7])
    episode.act(0)
    episode.moved_to(1)
    left = abandoned.begin([0.3, 0.7])
    left.act(0)
    left.abandon()
    assert moved.statistics.pending.sum() == 1
    for name in ("visits", "pending", "pending_norms", "gram"):
        np.testing.assert_array_equal(getattr(moved.statistics, name), getattr(abandoned.statistics, name))
    lost = random.begin([0.3, 0.7])
    lost.act(0)
    lost.moved_to(1, missing_at_random=True)
    assert random.statistics.visits.sum() == 0
    # and the next visit of the episode is a visit like any other
    action = episode.act(1)
    assert not episode._progress["counted"]
    episode.observe(Step(1, action, 0.5, leads(moved, 1, action)[0]))
    assert (moved.statistics.visits.sum(), moved.statistics.pending.sum()) == (2, 1)
    assert written(reloaded(moved)) == written(moved)


# What is allowed


def test_the_log_below_has_all_actions() -> None:
    assert {step.action for _, step in LOG} == {0, 1, 2, 3}


def test_whatever_is_allowed_without_a_plan_that_is_forbidden_nothing_changes(learner: Any) -> None:
    other = copy.deepcopy(learner)
    for one in (learner, other):
        for context, step in LOG if not isinstance(one, TabularLearner) else []:
            one.learn(context, step)
    for state in range(3):
        everything = list(range(learner.support.actions))
        actions = [
            learner.begin(context_of(learner)).act(state, allowed=everything),
            other.begin(context_of(other)).act(state),
        ]
        assert actions[0] == actions[1]
    assert [one.act(one.state) for one in learner.open_episodes] == [one.act(one.state) for one in other.open_episodes]
    assert written(learner) == written(other)


def test_only_what_is_allowed_is_played(learner: Any) -> None:
    state = busy_state(learner)
    for allowed in ([0], [1], actions_in(learner, state)[-2:]):
        episode = learner.begin(context_of(learner))
        assert episode.act(state, allowed=[*allowed, learner.support.actions - 1]) in {*allowed, SUPPORT.actions - 1}
        assert episode.act(state, allowed=actions_in(learner, state)) == episode._action  # asked again


@pytest.mark.parametrize("kind", ["sharp", "paper", "narrow", "greedy"])
def test_it_is_the_best_by_the_losses_and_values_of_the_plan(kind: str) -> None:
    """Loss + the least P v over the set, from a plan that is shown: rows of a plan are the optimistic ones."""
    learner = RIDGE[kind]()
    learner.learn_log(LOG)
    rng = np.random.default_rng(5)
    for _ in range(20):
        context = rng.dirichlet([1.0, 1.0])
        state = int(rng.integers(3))
        allowed = sorted({int(a) for a in rng.integers(4, size=3)})
        episode = learner.begin(context)
        action = episode.act(state, allowed=allowed)
        plan = episode.plan
        values = episode._arrays.iteration.values
        worth = {}
        for one in allowed:
            pair = SUPPORT.pair(state, one)
            row = SUPPORT.row(pair)
            worth[one] = plan.losses[pair] + plan.rows[row] @ values[SUPPORT.next_state[row]]
        assert worth[action] <= min(worth.values()) + 2.0 * learner._constants.tolerance
        if int(plan.policy[state]) in allowed:
            assert action == plan.policy[state]


def test_an_explorer_explores_among_what_is_allowed() -> None:
    learner = EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, explore=1.0, fade=0.0, rng=np.random.default_rng(2))
    played = [learner.begin([0.5, 0.5]).act(0, allowed=[1, 3]) for _ in range(60)]
    # Each is a fair coin: fewer than 15 of 60 of one kind has probability below 1e-4, and the seed is fixed.
    assert set(played) == {1, 3}
    assert 15 <= played.count(1) <= 45


def test_names_say_what_is_allowed_and_what_is_awaited() -> None:
    learner = LRCSSP(NAMED, 1, loss_floor=0.1)
    episode = learner.begin([1.0])
    assert episode.pending_action is None
    assert episode.act("home", allowed=("walk",)) == 1
    assert episode.pending_action == "walk"
    episode.take_back()
    assert (episode.pending_action, episode.state) == (None, 0)
    assert episode.act("home", allowed={"wait"}) == 0
    with pytest.raises(
        LearnerError, match=r'state 1 \("work"\) has none of the allowed actions \(action 1 \("walk"\)\)'
    ):
        learner.begin([1.0]).act("work", allowed=["walk"])


# Reasons and ids


def test_reasons_are_counted_and_kept(learner: Any, tmp_path: Path) -> None:
    for reason in ("lost contact", "left", "lost contact"):
        episode = learner.begin(context_of(learner))
        episode.act(0)
        episode.abandon(reason, missing_at_random=True)
        episode.abandon("again")
    learner.begin(context_of(learner)).abandon()
    expected = {"lost contact": 2, "left": 1, "no reason given": 1}
    assert learner.abandoned == expected
    learner.abandoned["left"] = 7
    learner.save(tmp_path / "learner")
    for one in (learner, type(learner).load(tmp_path / "learner"), copy.deepcopy(learner)):
        assert one.abandoned == expected


def test_many_reasons_are_counted_together_in_files_too(tmp_path: Path) -> None:
    """Each of 250 reasons is given, and then each third of them again."""
    reasons = [*(f"reason {number}" for number in range(250)), *(f"reason {number}" for number in range(0, 250, 3))]
    learner = RIDGE["greedy"]()
    for reason in reasons:
        learner.begin([0.3, 0.7]).abandon(reason)
    assert list(learner.abandoned) == [*reasons[:100], "other"]
    assert learner.abandoned["other"] == 150 + 50  # 102, 105, ..., 249 came again
    assert sum(learner.abandoned.values()) == len(reasons)
    learner.save(tmp_path / "learner.npz")
    loaded = load_learner(tmp_path / "learner.npz")
    for one in (learner, loaded):
        one.begin([0.3, 0.7]).abandon("reason 240")
        one.begin([0.3, 0.7]).abandon("reason 7")
    assert list(loaded.abandoned.items()) == list(learner.abandoned.items())


def test_an_episode_with_an_id_is_held_until_it_ends(learner: Any) -> None:
    learner.begin(context_of(learner), id="case 17")
    learner.begin(context_of(learner), id=np.int64(18))
    learner.begin(context_of(learner))
    gc.collect()
    assert [one.id for one in learner.open_episodes] == ["case 17", 18]
    learner.episode("case 17").moved_to(1)
    assert learner.episode("case 17").state == 1
    learner.episode("case 17").moved_to(learner.support.states)
    learner.episode(18).abandon()
    with pytest.raises(LearnerError, match="none that is open has one"):
        learner.episode("case 17")
    assert learner.begin(context_of(learner), id="case 17").id == "case 17"  # free again


def test_ids_are_part_of_files_and_copies(learner: Any, tmp_path: Path) -> None:
    for id in ("case 17", 18):
        learner.begin(context_of(learner), id=id).act(0)
    learner.save(tmp_path / "learner")
    for other in (
        type(learner).load(tmp_path / "learner"),
        copy.deepcopy(learner),
        pickle.loads(pickle.dumps(learner)),
    ):
        gc.collect()
        episode = other.episode("case 17")
        assert (episode.learner is other, episode.state, episode.pending_action) == (
            True, 0, learner.episode("case 17").pending_action,
        )  # fmt: skip
        assert other.episode(18).id == 18
        assert written(other) == written(learner)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda: MappedContexts(LRCSSP(SUPPORT, 2, loss_floor=0.1), np.eye(2)),
        lambda: ContextBlind(LRCSSP(SUPPORT, 1, loss_floor=0.1)),
        lambda: Discretized(lambda rng: LRCSSP(SUPPORT, 1, loss_floor=0.1), 2, parts=2),
    ],
    ids=["mapped", "blind", "discretized"],
)
def test_learners_around_a_learner_pass_all_of_it_on(wrap: Callable[[], Any]) -> None:
    learner = wrap()
    episode = learner.begin([0.9, 0.1], id="case 17")
    with pytest.raises(LearnerError, match="has the id 'case 17' already"):
        learner.begin([0.1, 0.9], id="case 17")
    assert learner.episode("case 17") is episode
    assert episode.act(0, allowed=[2]) == 2
    episode.observe(Step(0, 1, 0.5, leads(learner.inner if hasattr(learner, "inner") else learner.example(), 0, 1)[0]),
                    overridden=True)  # fmt: skip
    if not episode.ended:
        episode.abandon("left")
        inside = learner.cells.values() if isinstance(learner, Discretized) else [learner]
        assert [one.abandoned for one in inside] == [{"left": 1}]
    with pytest.raises(InputError, match="no open episode has the id 'case 17'"):
        learner.episode("case 17")
