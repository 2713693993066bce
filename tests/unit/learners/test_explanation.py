"""Explanations: all actions of a state with numbers that agree with the plan, and a sentence that is true."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    SSP,
    GreedyRidge,
    KwikRmax,
    LinearCSSP,
    LossScale,
    OneHot,
    PosteriorSampling,
    PriorKnowledge,
    Step,
    Support,
    play,
    widths,
)
from goalbound.confidence import paper
from goalbound.errors import InputError
from goalbound.learners.explanation import ActionExplanation, Evidence, Explanation, explain
from goalbound.learners.settings import LearnerOptions
from goalbound.models import IntervalSet
from goalbound.planning import evaluate, policy_bounds

NAMES = {"state_names": ["<b>sick</b>", "worse"], "action_names": ["wait & see", "treat"]}
PROBLEM = LinearCSSP.mix(
    [
        SSP.dense([[0.6, 0.2], [0.4, 0.6]], [[[0.2, 0.2, 0.6], [0.1, 0.2, 0.7]], [[0.2, 0.1, 0.7], [0.1, 0.1, 0.8]]],
                  **NAMES),
        SSP.dense([[0.6, 0.3], [0.2, 0.5]], [[[0.1, 0.2, 0.7], [0.2, 0.1, 0.7]], [[0.3, 0.1, 0.6], [0.1, 0.1, 0.8]]],
                  **NAMES),
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def learner() -> LRCSSP:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.2, widths=widths.sharp())
    play(PROBLEM, learner, OneHot(2), episodes=3_000, seed=1)
    return learner


@pytest.fixture(scope="module")
def found(learner: LRCSSP) -> Explanation:
    return learner.explain([0.5, 0.5], 0)


def test_all_actions_are_there_with_the_one_of_the_plan(learner: LRCSSP, found: Explanation) -> None:
    assert [one.action for one in found.actions] == ["wait & see", "treat"]
    assert found.actions[found.chosen].number == learner.plan([0.5, 0.5]).policy[0]
    assert [one.visits for one in found.actions] == learner.statistics.visits[:2].tolist()
    assert [one.known for one in found.actions] == learner.plan([0.5, 0.5]).known[:2].tolist()


def test_the_values_of_the_chosen_action_are_those_of_the_plan(learner: LRCSSP, found: Explanation) -> None:
    bounds, one = learner.policy_bounds([0.5, 0.5]), found.actions[found.chosen]
    assert bounds.estimate is not None
    assert one.value_interval is not None
    assert one.value == pytest.approx(bounds.estimate[0], rel=1e-6)
    assert one.value_interval == pytest.approx((bounds.lower[0], bounds.upper[0]), rel=1e-5)
    for other in found.actions:
        assert other.value_interval is not None
        assert other.value_interval[0] <= other.value <= other.value_interval[1]


def test_intervals_of_next_states_are_those_of_the_set(learner: LRCSSP, found: Explanation) -> None:
    sets = learner.confidence_set([0.5, 0.5])
    assert isinstance(sets, IntervalSet)
    shown = [following.interval for one in found.actions for following in one.next_states]
    np.testing.assert_array_equal(shown, np.column_stack((sets.low, sets.high))[:6])
    assert [following.state for following in found.actions[0].next_states] == ["<b>sick</b>", "worse", "goal"]
    assert found.actions[0].radius is None


def test_text_html_and_json_have_the_same_names(found: Explanation) -> None:
    text, page = str(found), found._repr_html_()
    assert text.startswith("In <b>sick</b>: treat")
    assert "* treat" in text
    assert "Proven" in text
    assert "<b>" not in page
    assert "wait &amp; see" in page
    kept = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert kept["chosen"] == "treat"
    assert kept["actions"][0]["visits"] == found.actions[0].visits


def test_without_data_bounds_are_infinite_and_the_text_says_so() -> None:
    fresh = LRCSSP(PROBLEM.support, 2, loss_floor=0.2, widths=paper()).explain([0.5, 0.5], "worse")
    assert "worst case of every action is still infinite" in fresh.reason
    assert fresh.actions[0].radius is not None
    assert json.loads(json.dumps(fresh.as_json(), allow_nan=False))["actions"][0]["value_interval"][1] == "infinite"


@pytest.mark.parametrize("kind", [GreedyRidge, PosteriorSampling, KwikRmax])
def test_learners_without_sets_give_estimates_and_visits(kind: type) -> None:
    learner = kind(PROBLEM.support, 2, loss_floor=0.2)
    play(PROBLEM, learner, OneHot(2), episodes=200, seed=1)
    found = learner.explain([0.5, 0.5], 0)
    assert "no confidence sets" in str(found)
    for one in found.actions:
        assert one.value_interval is one.loss_interval is one.radius is None
        assert np.isfinite(one.value)
        assert (one.known is None) == (kind is not KwikRmax)
    json.dumps(found.as_json(), allow_nan=False)
    assert found._repr_html_()


def explained(low: list[float], high: list[float], losses: list[float], policy: int) -> Explanation:
    """One state, two actions: both go to the goal, with losses that are plausible in [low, high]."""
    support = Support.from_pairs([{0: [1], 1: [1]}], action_names=["a", "b"])
    model = SSP(support, np.array(losses), np.ones(2))
    sets = IntervalSet(support, low, high, np.ones(2), np.ones(2))
    actions = np.array([policy])
    evidence = Evidence(
        model, actions, evaluate(model, actions).values, np.array([12, 90]), None, sets, policy_bounds(sets, actions)
    )
    return explain(evidence, np.ones(1), 0)


@pytest.mark.parametrize(
    ("low", "high", "losses", "policy", "said"),
    [
        ([0.1, 0.4], [0.3, 0.5], [0.2, 0.45], 0, "a, as it is least in estimate and in the worst case."),
        ([0.1, 0.3], [0.9, 0.5], [0.2, 0.4], 0, "a, as it is least in estimate; in the worst case b is less."),
        ([0.1, 0.3], [0.9, 0.5], [0.5, 0.4], 0, "its optimistic value is least; b is less in estimate, but"),
    ],
)
def test_the_sentence_says_by_what_the_action_is_best(
    low: list[float], high: list[float], losses: list[float], policy: int, said: str
) -> None:
    found = explained(low, high, losses, policy)
    assert said in found.reason
    if "optimistic" in said:
        assert "played 12 times" in found.reason


def test_an_only_action_needs_no_reason() -> None:
    support = Support.from_pairs([{0: [0, 1]}])
    found = GreedyRidge(support, 1, loss_floor=0.1).explain([1.0], 0)
    assert found.reason == "action 0, as it is the only action."
    assert isinstance(found.actions[0], ActionExplanation)


def test_the_goal_and_states_that_are_not_there_are_errors(learner: LRCSSP) -> None:
    for state in ("goal", 2, 3, "well", -1):
        with pytest.raises(InputError, match="state"):
            learner.explain([0.5, 0.5], state)


def after(visits: int, **others: Any) -> GreedyRidge:
    """One state: "ask" was played so often, each time at a loss of 0.8 and to the goal; "wait" a thousand times."""
    support = Support.from_names({"new": {"ask": ["new", "goal"], "wait": ["new", "goal"]}})
    options = LearnerOptions(regularization=1.0, prior_visits=1.0)
    learner = GreedyRidge(support, 1, loss_floor=0.1, options=options, **others)
    learner.learn_log([([1.0], Step(0, 0, 0.8, 1))] * visits + [([1.0], Step(0, 1, 0.9, 1))] * 1000)
    return learner


@pytest.mark.parametrize(("visits", "share"), [(0, "100%"), (1, "50%"), (3, "25%"), (8, "11%")])
def test_a_pair_with_few_visits_has_a_note_that_its_estimate_is_too_small(visits: int, share: str) -> None:
    """With a prior worth one visit the ridge gives n / (n + 1) of the mean loss, here 0.8."""
    found = after(visits).explain([1.0], "new")
    (note,) = found.notes
    assert f"towards no loss and the goal (ask by {share})" in note
    assert found.actions[0].loss == pytest.approx(0.8 * visits / (visits + 1))
    assert found.actions[0].pull == pytest.approx(1 / (visits + 1))
    assert note in str(found)
    assert "ask by" in found._repr_html_()
    assert found.as_json()["notes"] == [note]
    assert found.in_unit(LossScale("min", cap=60)).notes == (note,)


def test_after_many_visits_there_is_no_note() -> None:
    assert after(10).explain([1.0], "new").notes == ()
    assert "ridge" not in str(after(10).explain([1.0], "new"))


def test_few_visits_are_few_under_the_context_that_is_asked_for() -> None:
    """A hundred visits, all under the first component: under the second nothing was seen."""
    learner = LRCSSP(Support.full(1, 1), 2, loss_floor=0.1)
    learner.learn_log([([1.0, 0.0], Step(0, 0, 0.8, 1))] * 100)
    assert learner.explain([1.0, 0.0], 0).notes == ()
    assert "action 0 by 100%" in learner.explain([0.0, 1.0], 0).notes[0]


def test_what_is_known_or_guessed_is_not_pulled_towards_no_loss() -> None:
    support = after(0).support
    nothing = PriorKnowledge.nothing(support, 1)
    known = nothing.with_losses({("new", "ask"): 0.8}).with_rows({("new", "ask"): {"goal": 1.0}})
    guessed = nothing.with_guesses({("new", "ask"): 0.8}, {("new", "ask"): {"goal": 1.0}}, strength=2)
    for prior in (known, guessed):
        found = after(1, prior=prior).explain([1.0], "new")
        assert found.notes == ()
        assert found.actions[0].loss == pytest.approx(0.8)


def test_where_nothing_was_seen_under_the_context_the_reason_says_so() -> None:
    options = LearnerOptions(regularization=1.0, prior_visits=2.0)  # lambda I: components say nothing of each other
    learner = GreedyRidge(PROBLEM.support, 2, loss_floor=0.2, options=options)
    assert "Nothing is known under this context" in learner.explain([0.5, 0.5], 0).reason
    for action in ("wait & see", "treat"):
        for _ in range(50):
            learner.learn([1.0, 0.0], Step(0, action, 0.5, 2))
    other = learner.explain([0.0, 1.0], 0)
    assert other.reason.endswith("Nothing is known under this context: no action was played under one like it.")
    learner.learn([0.0, 1.0], Step(0, "treat", 0.9, 2))
    assert "Nothing is known" in learner.explain([0.0, 1.0], 0).reason  # of the other action, which is chosen
    learner.learn([1.0, 0.0], Step(0, "treat", 0.9, 2))
    assert "nothing" not in learner.explain([1.0, 0.0], 0).reason.lower()


def test_actions_that_tie_are_said_to() -> None:
    learner = GreedyRidge(PROBLEM.support, 2, loss_floor=0.2)
    for _ in range(50):
        for action in ("wait & see", "treat"):
            learner.learn([1.0, 0.0], Step(0, action, 0.5, 2))
    assert "All actions tie" in learner.explain([1.0, 0.0], 0).reason
