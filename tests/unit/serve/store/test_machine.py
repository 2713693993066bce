"""Challengers, promotion, and errors after which the state must be rebuilt."""

import pytest

from goalbound import GreedyRidge, LocalOptimism, Support
from goalbound.errors import ArgumentError, LearnerError, ProjectionFailed
from goalbound.learners.learner import RidgeLearner
from goalbound.serve.store.events import content_of
from goalbound.serve.store.machine import Poisoned
from goalbound.serve.store.reading import explanation
from tests.support.incidents_at_work import contexts, greedy
from tests.support.stores import WORLD, drawing, new_engine

CALM = [1.0, 0.0]


@pytest.fixture
def engine(tmp_path):
    engine = new_engine(tmp_path / "store")
    yield engine
    engine.log.close()


def visits(engine, number):
    return engine.machine.learners[number].learner.statistics.visits.tolist()


def test_a_challenger_learns_from_every_step_and_its_proposals_are_in_the_log(engine):
    engine.create("rival", drawing(), follows="incidents")
    begun = engine.begin("incidents", CALM, "down", id="a")
    engine.observe("incidents", "a", 0.1, "down", step=1)
    engine.observe("incidents", "a", 0.4, "goal", taken="page", step=2)
    assert begun.name == "restart"
    assert visits(engine, 1) == visits(engine, 2) == [1, 1, 0, 0]
    engine.commit()
    others = [content_of(event.others) for event in engine.log.events(2)]
    assert [set(one) for one in others] == [{"2"}, {"2"}, set()]  # nothing is proposed at the goal
    with pytest.raises(LearnerError, match="rival follows incidents as its challenger"):
        engine.begin("rival", CALM, "down")


def test_a_challenger_never_changes_what_its_champion_proposes(tmp_path):
    alone, followed = new_engine(tmp_path / "one"), new_engine(tmp_path / "two")
    followed.create("rival", drawing(), follows="incidents")
    for engine in (alone, followed):
        for number, context in enumerate(contexts(20, 1)):
            engine.begin("incidents", context, "down", id=str(number))
            engine.observe("incidents", str(number), 0.1, "goal", step=1)
    one, other = (
        [(event.case, event.step, event.action) for event in engine._uncommitted if event.kind != 0]
        for engine in (alone, followed)
    )
    assert one == other
    for engine in (alone, followed):
        engine.log.close()


def test_a_step_outside_the_support_names_the_ways_out_and_a_move_is_one(engine):
    support = Support.from_names({"down": {"restart": ["goal"]}, "degraded": {"restart": ["goal"]}})
    engine.create("strict", GreedyRidge(support, 2, loss_floor=0.1))
    engine.begin("strict", CALM, "down", id="a")
    with pytest.raises(ArgumentError, match=r"without a loss.*goalbound fit.*--follows strict.*promote"):
        engine.observe("strict", "a", 0.5, "degraded", step=1)
    assert engine.move("strict", "a", "degraded", step=1).name == "restart"
    assert engine.observe("strict", "a", 0.5, "goal", step=2).done


def test_a_challenger_that_cannot_learn_any_more_does_not_stop_its_champion(engine, monkeypatch):
    def fails(learner):
        raise ProjectionFailed("a projection did not meet its conditions")

    engine.create("rival", LocalOptimism(WORLD.support, 2, loss_floor=0.1), follows="incidents")
    engine.begin("incidents", CALM, "down", id="a")
    monkeypatch.setattr(LocalOptimism, "_after_learning", fails)
    engine.observe("incidents", "a", 0.1, "down", step=1)
    assert list(engine.machine.find(1, "a").episodes) == [1]
    engine.commit()
    digest = engine.digest()
    engine.rebuild()
    assert engine.digest() == digest


def test_a_promoted_challenger_proposes_from_the_next_step_on_and_a_replay_agrees(engine):
    engine.create("rival", GreedyRidge(WORLD.support, 2, loss_floor=0.1), follows="incidents")
    champion, rival = (engine.machine.learners[number].learner for number in (1, 2))
    engine.begin("incidents", CALM, "down", id="a")
    engine.promote("rival")
    assert engine.machine.learners[1].learner is rival
    assert engine.machine.learners[2].learner is champion
    engine.observe("incidents", "a", 0.1, "down", step=1)
    assert visits(engine, 1) == visits(engine, 2) == [1, 0, 0, 0]
    engine.begin("incidents", CALM, "down", id="b")
    engine.commit()
    digest = engine.digest()
    engine.rebuild()
    assert engine.digest() == digest
    with pytest.raises(LearnerError, match="only a challenger can be promoted"):
        engine.promote("incidents")


def test_an_error_after_something_has_changed_is_told_apart(engine, monkeypatch):
    engine.begin("incidents", CALM, "down", id="a")

    def fail(*arguments):
        raise ZeroDivisionError("no plan")

    monkeypatch.setattr(RidgeLearner, "_choose", fail)
    with pytest.raises(Poisoned, match="no plan") as caught:
        engine.observe("incidents", "a", 0.1, "down", step=1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_case_that_the_promoted_challenger_did_not_follow_goes_on_with_the_learner_that_it_had(tmp_path):
    engine = new_engine(tmp_path / "store")
    engine.begin("incidents", CALM, "down", id="a")
    engine.create("rival", drawing(), follows="incidents")  # it never sees the beginning of that case
    engine.create("third", greedy(), follows="incidents")
    engine.begin("incidents", CALM, "down", id="b")
    engine.promote("rival")
    case, followed = engine.machine.find(1, "a"), engine.machine.find(1, "b")
    assert (list(case.episodes), list(followed.episodes)) == ([2], [1, 2, 3])
    assert engine.observe("incidents", "a", 0.1, "down", step=1).propensity == 1.0  # a greedy one draws nothing
    assert engine.observe("incidents", "b", 0.1, "down", step=1).propensity is None  # one that draws decides
    assert visits(engine, 2) == [2, 0, 0, 0]
    assert explanation(engine, "incidents", "a").as_json()["reason"].startswith(engine.act("incidents", "a").name)
    engine.compact()  # nothing but the snapshot is left
    state = engine.digest()
    engine.log.close()
    again = new_engine(tmp_path / "store")
    assert again.digest() == state
    again.promote("rival")  # and back
    assert list(again.machine.find(1, "a").episodes) == [1]
    again.log.close()


def test_what_was_proposed_before_a_promotion_can_be_played_and_reported_after_it(engine):
    engine.create("rival", drawing(), follows="incidents")
    for number, context in enumerate(contexts(20, 2)):
        engine.begin("incidents", context, "down", id=f"before-{number}")
        engine.observe("incidents", f"before-{number}", 0.1, "goal", taken=number % 2, step=1)
    seen = engine.seq
    proposed = [engine.begin("incidents", context, "down", id=str(number)).action
                for number, context in enumerate(contexts(10, 1))]  # fmt: skip
    rivals = [content_of(event.others)["2"] for event in engine._uncommitted if event.seq > seen]
    assert rivals != proposed
    engine.promote("rival")
    for number, action in enumerate(proposed):
        assert engine.act("incidents", str(number)).action == action
        engine.observe("incidents", str(number), 0.1, "goal", step=1)
    assert visits(engine, 1) == visits(engine, 2)
    digest = engine.digest()
    engine.commit()
    engine.rebuild()
    assert engine.digest() == digest
