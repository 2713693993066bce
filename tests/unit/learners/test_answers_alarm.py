"""An environment that is not linear is noticed, a linear one is not accused, the alarm is seen where it matters."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Adversary, Dirichlet, ModelEnvironment, PriorKnowledge, Support, play
from goalbound.around.contexts import MappedContexts
from goalbound.confidence import paper, sharp
from goalbound.confidence.linearity import Untested
from goalbound.errors import InputError, NotLinearWarning, WrongPriorWarning
from goalbound.learners import program
from goalbound.learners.answers import Cause, ModelViolation
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step
from goalbound.problems import dense_random, treatment_curve
from goalbound.problems.treatment import biomarker
from goalbound.simulation import bernoulli
from goalbound.simulation.contexts import FromArray
from goalbound.simulation.history import History
from tests.support.driving import reloaded, written
from tests.support.ridge import lr_cssp

KNOTS = 9
CURVATURE = treatment_curve(2, knots=KNOTS)


def patients(count: int) -> FromArray:
    """Biomarkers uniform on [0, 1], as weights of hat functions."""
    x = np.random.default_rng(0).random(count)[:, None]
    return FromArray(np.maximum(0.0, 1.0 - np.abs(x - np.linspace(0.0, 1.0, KNOTS)) * (KNOTS - 1)))


def two_ends(context: np.ndarray) -> np.ndarray:
    x = biomarker(context)
    return np.array([1.0 - x, x])


def treated(learner: LRCSSP, see: Any, episodes: int, **others: Any) -> History:
    return play(CURVATURE, MappedContexts(learner, see), patients(episodes), episodes=episodes, seed=1, **others)


def doctor(context_size: int, **others: Any) -> LRCSSP:
    return lr_cssp(CURVATURE.support, context_size, loss_floor=0.2, loss_bound=4.0, widths=sharp(), **others)


@pytest.mark.parametrize("chosen", ["at random", "by an adversary"])
def test_linear_worlds_are_not_accused(chosen: str) -> None:
    # 20 runs each. An alarm is promised to have probability 0.01 at most where the intervals hold, so one or more of
    # 20 at most 0.18. The seeds are fixed: whoever changes something and sees one alarm may look at other seeds.
    for seed in range(20):
        problem = dense_random(2, actions=2, context_size=2, seed=seed)
        learner = LRCSSP(problem.support, 2, loss_floor=0.1, loss_bound=12.0, widths=sharp())
        contexts = Dirichlet.symmetric(2) if chosen == "at random" else Adversary.anywhere(2)
        environment = partial(ModelEnvironment, problem, losses=bernoulli())
        episodes = 1000 if chosen == "at random" else 150
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            history = play(problem, learner, contexts, episodes=episodes, seed=seed, environment=environment)
        assert learner._state.watch.steps.sum() == history.steps.sum()  # all steps were tested
        assert learner.alarm is None
        assert history.alarm is None


def test_curves_seen_by_their_two_ends_are_noticed_and_said_once() -> None:
    learner = doctor(2)
    with pytest.warns(NotLinearWarning, match="The environment is not linear in these contexts") as heard:
        history = treated(learner, two_ends, 2500)
    assert len(heard) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        treated(learner, two_ends, 50)  # it was said
    alarm = learner.alarm
    assert alarm is not None
    assert str(heard[0].message) == str(alarm) == history.alarm
    assert f"alarm: {alarm}" in str(history)
    assert alarm.next_state is not None  # losses are the same for everyone
    assert 1 <= alarm.episode <= 2500
    # The curves are wrong at the ends, in the middle, or where they bend: it says where.
    assert 0.5 <= alarm.weights[0] < alarm.weights[1] <= 1.0


def test_the_same_curves_seen_by_nine_hats_are_linear() -> None:
    learner = doctor(KNOTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = treated(learner, np.eye(KNOTS), 2500)
    assert learner.alarm is None
    assert history.alarm is None
    assert "alarm" not in str(history)


def test_the_alarm_survives_a_stop() -> None:
    learner = doctor(2)
    with pytest.warns(NotLinearWarning):
        treated(learner, two_ends, 2500)
    again = reloaded(learner)
    assert again.alarm == learner.alarm
    assert written(again) == written(learner)
    with pytest.warns(NotLinearWarning):  # who loads it is told too
        treated(again, two_ends, 20)


def one_way(learner: LRCSSP, losses: list[float], following: list[int]) -> None:
    """Steps of the only pair, one episode after the other, under contexts that go round."""
    contexts = ([0.9, 0.1], [0.5, 0.5], [0.2, 0.8])
    episode, turn = None, 0
    for loss, to in zip(losses, following, strict=True):
        if episode is None or episode.ended:
            episode = learner.begin(contexts[turn % 3])
            turn += 1
        episode.observe(Step(0, episode.act(0), loss, to))


def lonely(**others: Any) -> LRCSSP:
    return lr_cssp(Support.full(1, 1), 2, loss_floor=0.1, loss_bound=9.0, widths=sharp(), **others)


def test_losses_that_change_with_time_are_noticed() -> None:
    # The regression follows slowly: 2000 steps of loss 0.2 weigh 2/3 after 1000 of 0.9. Sums fell while all was well,
    # by half a width each step, and must come back first: after a short quiet time a change is not noticed at all.
    learner = lonely()
    one_way(learner, [0.2] * 2000, [1] * 2000)
    assert learner.alarm is None
    with pytest.warns(NotLinearWarning, match="state 0, action 0: the loss, under contexts that give component"):
        one_way(learner, [0.9] * 1500, [1] * 1500)
    assert learner.alarm is not None
    assert learner.alarm.next_state is None
    assert 2000 < learner.alarm.episode <= 3500


def test_rows_that_change_with_time_are_noticed() -> None:
    learner = lonely()
    one_way(learner, [0.5] * 2000, [1] * 2000)
    with pytest.warns(NotLinearWarning, match="state 0, action 0: how often .* follows, under contexts"):
        one_way(learner, [0.5] * 1500, [0, 0, 0, 0, 1] * 300)


def test_knowledge_that_is_wrong_is_noticed() -> None:
    known = PriorKnowledge.nothing(Support.full(1, 1), 2).with_losses({(0, 0): 0.3}).with_rows({(0, 0): [0.1, 0.9]})
    learner = lonely(prior=known)
    one_way(learner, [0.3] * 300, [1] * 270 + [0, 1] * 15)
    assert learner.alarm is None
    with pytest.warns(WrongPriorWarning, match="the loss, .* is not what it was said to be: the knowledge is wrong"):
        one_way(learner, [0.9] * 200, [1] * 200)
    assert learner.alarm is not None
    assert learner.alarm.cause is Cause.KNOWN_LOSS


def test_a_known_row_that_is_wrong_is_named() -> None:
    known = PriorKnowledge.nothing(Support.full(1, 1), 2).with_rows({(0, 0): [0.1, 0.9]})
    learner = lonely(prior=known)
    with pytest.warns(WrongPriorWarning, match="how often .* follows, .* is not what it was said to be"):
        one_way(learner, [0.3] * 600, [0, 1] * 300)
    assert learner.alarm is not None
    assert learner.alarm.cause is Cause.KNOWN_ROW


@pytest.mark.parametrize("by", ["loss_floor", "prior"])
def test_losses_below_the_declared_floor_are_blamed_on_the_floor(by: str) -> None:
    # every mean loss is 0.05 and 0.5 was declared: linear, but not what was said
    known = PriorKnowledge.nothing(Support.full(1, 1), 2)
    floor = 0.5 if by == "loss_floor" else 0.01
    learner = LRCSSP(
        Support.full(1, 1), 2, loss_floor=floor, loss_bound=9.0, widths=sharp(),
        prior=None if by == "loss_floor" else known.with_floors({(0, 0): 0.5}),
    )  # fmt: skip
    with pytest.warns(WrongPriorWarning) as heard:
        one_way(learner, [0.05] * 300, [1] * 300)
    (message,) = (str(one.message) for one in heard)
    assert "is below 0.5, the floor that was declared" in message
    assert ("loss_floor is too high" if by == "loss_floor" else "its floor in the knowledge is too high") in message
    assert "linear" not in message
    alarm = learner.alarm
    assert alarm is not None
    assert (alarm.cause, alarm.declared) == (Cause.LOSS_FLOOR, 0.5)
    assert reloaded(learner).alarm == alarm


def test_losses_below_what_a_linear_model_fits_but_above_the_floor_are_not_blamed_on_it() -> None:
    learner = lonely()
    one_way(learner, [0.9] * 2000, [1] * 2000)
    with pytest.warns(NotLinearWarning, match="is not linear in these contexts"):
        one_way(learner, [0.2] * 1500, [1] * 1500)
    assert learner.alarm is not None
    assert learner.alarm.cause is Cause.NOT_LINEAR


def test_a_loss_that_is_added_does_not_hide_a_floor_that_is_too_high() -> None:
    # with a floor of 0 a loss is added; the knowledge still declares 0.5 for the pair
    known = PriorKnowledge.nothing(Support.full(1, 1), 2).with_floors({(0, 0): 0.5})
    learner = LRCSSP(
        Support.full(1, 1),
        2,
        loss_floor=0.0,
        options=LearnerOptions(episodes=10_000),
        loss_bound=9.0,
        widths=sharp(),
        prior=known,
    )
    with pytest.warns(WrongPriorWarning, match=r"is below 0.5, the floor that was declared"):
        one_way(learner, [0.05] * 300, [1] * 300)


def test_who_asks_for_no_test_gets_none() -> None:
    learner = lonely(check_linearity=False)
    assert isinstance(learner._state.watch, Untested)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_way(learner, [0.2] * 600 + [0.9] * 300, [1] * 900)
    assert learner.alarm is None


def test_where_there_are_too_many_sums_nothing_is_tested_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    # One pair, two next states, d = 2: 4 parts for each component, two sums each: 2 * 4 * 2 * (1 + 2) = 48.
    for most, tested in ((48, True), (47, False)):
        monkeypatch.setattr(program, "MOST_SUMS", most)
        assert isinstance(lonely()._state.watch, Untested) != tested
        assert lonely(check_linearity=True)._state.watch.steps.size > 0


def test_widths_without_intervals_cannot_be_asked_for_it() -> None:
    with pytest.raises(
        InputError, match=r"paper widths have no intervals for check_linearity to test; give likelihood\(\), sharp\(\)"
    ):
        LRCSSP(Support.full(1, 1), 2, loss_floor=0.1, widths=paper(), options=LearnerOptions(check_linearity=True))
    learner = LRCSSP(Support.full(1, 1), 2, loss_floor=0.1, widths=paper())
    one_way(learner, [0.2] * 20, [1] * 20)
    assert learner.alarm is None


def test_an_alarm_names_what_people_know() -> None:
    support = CURVATURE.support
    alarm = ModelViolation(support.pair("severity 1", "broad"), 1, 2, (0.25, 0.5), 17, support)
    text = str(alarm)
    assert text.startswith('episode 17: state 0 ("severity 1"), action 2 ("broad"): how often state 1 ("severity 2")')
    assert "give component 2 a weight of 0.25 to 0.50" in text
    assert ": the loss, under contexts" in str(ModelViolation(0, None, 0, (0.5, 1.0), 1, support))
