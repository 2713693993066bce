"""What a store does with requests: new ones are recorded, the same again are answered as before."""

import pytest

from goalbound.around.contexts import ContextBlind
from goalbound.errors import (
    ArgumentError,
    CaseExists,
    CaseNotFound,
    InputError,
    LearnerError,
    StepConflict,
    StepGap,
    StoreDamaged,
    TooManyCases,
)
from goalbound.serve.store.bodies import abandon_body
from goalbound.serve.store.events import Kind
from goalbound.serve.store.machine import Machine
from goalbound.serve.store.reading import case_of, explanation
from tests.support.incidents_at_work import greedy
from tests.support.stores import drawing, new_engine

CALM = [1.0, 0.0]


@pytest.fixture
def engine(tmp_path):
    engine = new_engine(tmp_path / "store")
    yield engine
    engine.log.close()


def test_a_case_goes_from_begin_to_the_goal_and_each_step_is_an_event(engine):
    begun = engine.begin("incidents", CALM, "down", id="a")
    stayed = engine.observe("incidents", "a", 0.1, "down", step=1)
    ended = engine.observe("incidents", "a", 0.1, "goal", step=2)
    assert [(one.step, one.done) for one in (begun, stayed, ended)] == [(0, False), (1, False), (2, True)]
    assert (begun.action, begun.name, begun.propensity) == (0, "restart", 1.0)
    assert (ended.action, ended.name, ended.propensity) == (None, None, None)
    engine.commit()
    assert [event.kind for event in engine.log.events(0)] == [Kind.CREATE, Kind.BEGIN, Kind.OBSERVE, Kind.OBSERVE]
    assert engine.machine.learners[1].learner.statistics.visits.sum() == 2


@pytest.mark.parametrize("committed", [True, False])
def test_the_same_request_again_is_answered_as_before_and_records_nothing(engine, committed):
    def ask():
        return [
            engine.begin("incidents", CALM, "down", id="a", allowed=["restart", "page"]),
            engine.observe("incidents", "a", 0.1, "down", step=1),
            engine.observe("incidents", "a", 0.4, "degraded", taken="page", step=2, allowed=[0]),
            engine.move("incidents", "a", "down", step=3),
            engine.abandon("incidents", "a", abandon_body("lost contact"), step=4),
        ]

    first = ask()
    if committed:
        engine.commit()
    seq = engine.seq
    again = ask()
    assert engine.seq == seq
    assert all(one.repeated for one in again)
    assert [one[:7] for one in again] == [one[:7] for one in first]


def test_another_content_for_a_recorded_step_is_a_conflict(engine):
    engine.begin("incidents", CALM, "down", id="a")
    engine.observe("incidents", "a", 0.1, "down", step=1)
    for other in (
        lambda: engine.observe("incidents", "a", 0.2, "down", step=1),
        lambda: engine.observe("incidents", "a", 0.1, "goal", step=1),
        lambda: engine.observe("incidents", "a", 0.1, "down", taken="restart", step=1),
        lambda: engine.observe("incidents", "a", 0.1, "down", step=1, allowed=[0]),
        lambda: engine.move("incidents", "a", "down", step=1),
        lambda: engine.abandon("incidents", "a", abandon_body("lost"), step=1),
    ):
        with pytest.raises(StepConflict, match="step 1 of this case was recorded already") as caught:
            other()
        assert caught.value.expected_step == 2
    with pytest.raises(CaseExists, match="begun already"):
        engine.begin("incidents", [0.0, 1.0], "down", id="a")
    with pytest.raises(CaseExists, match="begun already"):
        engine.begin("incidents", CALM, "degraded", id="a")


def test_a_step_that_is_too_late_says_which_one_is_the_next(engine):
    engine.begin("incidents", CALM, "down", id="a")
    with pytest.raises(StepGap, match="step 1 is the next one") as caught:
        engine.observe("incidents", "a", 0.1, "down", step=2)
    assert caught.value.expected_step == 1


@pytest.mark.parametrize("id", ["\0", "a\0b", "\ud800", "", "a b", "a" * 65, ".."])
def test_what_no_case_can_be_called_is_not_there_and_the_database_is_not_asked(engine, monkeypatch, id):
    monkeypatch.setattr(engine.log, "case_number", None)
    for call in (
        lambda: engine.observe("incidents", id, 0.1, "down", step=1),
        lambda: engine.observe("incidents", id, 0.1, "down"),
        lambda: engine.observe("incidents", id, 0.1, "down", taken="page", step=1),
        lambda: engine.move("incidents", id, "down", step=1),
        lambda: engine.abandon("incidents", id, abandon_body("lost"), step=1),
        lambda: engine.act("incidents", id),
        lambda: case_of(engine, "incidents", id),
        lambda: explanation(engine, "incidents", id),
    ):
        with pytest.raises(CaseNotFound, match="no case"):
            call()
    with pytest.raises(ArgumentError, match="id is "):
        engine.begin("incidents", CALM, "down", id=id)


@pytest.mark.parametrize(
    ("loss", "state"),
    [(1.5, "down"), (-0.1, "down"), (float("nan"), "down"), (True, "down"), ("x", "down"), (10**400, "down"),
     (0.1, "nowhere"), (0.1, 7), (0.1, None), (0.1, [0])],
)  # fmt: skip
def test_a_step_that_cannot_be_changes_nothing(engine, loss, state):
    engine.begin("incidents", CALM, "down", id="a")
    before = engine.digest()
    with pytest.raises(InputError):
        engine.observe("incidents", "a", loss, state, step=1)
    assert engine.digest() == before


@pytest.mark.parametrize("context", [[0.5, 0.4], [1.0], "calm", None, [float("nan"), 1.0], {"a": object()}, [[1, 0]]])
def test_a_case_that_cannot_be_changes_nothing(engine, context):
    before = engine.digest()
    with pytest.raises(InputError):
        engine.begin("incidents", context, "down")
    with pytest.raises(InputError):
        engine.begin("incidents", CALM, "goal")
    with pytest.raises(InputError):
        engine.begin("incidents", CALM, "down", id="a/b")
    with pytest.raises(InputError):
        engine.begin("incidents", CALM, "down", allowed=["fly"])
    assert engine.digest() == before


def test_allowed_actions_are_checked_before_anything_is_learned(engine):
    engine.begin("incidents", CALM, "down", id="a")
    before = engine.digest()
    for allowed in ([], ["fly"], "restart", [[0]], [99], {0: 1}):
        with pytest.raises(InputError):
            engine.observe("incidents", "a", 0.1, "down", step=1, allowed=allowed)
    assert engine.digest() == before


def test_an_action_that_is_not_possible_is_replaced_and_asking_again_gives_the_same(engine):
    assert engine.begin("incidents", CALM, "down", id="a").name == "restart"
    assert engine.act("incidents", "a", allowed=["restart"]).repeated
    other = engine.act("incidents", "a", allowed=["page"])
    assert (other.name, other.step, other.repeated) == ("page", 0, False)
    again = engine.act("incidents", "a", allowed=["page"])
    assert again.repeated
    assert again[:7] == other[:7]
    engine.observe("incidents", "a", 0.4, "goal", step=1)
    assert engine.machine.learners[1].learner.statistics.visits.tolist() == [0, 1, 0, 0]


def test_no_more_cases_are_open_than_may_be(tmp_path):
    engine = new_engine(tmp_path / "store", most_cases=2)
    for id in "ab":
        engine.begin("incidents", CALM, "down", id=id)
    with pytest.raises(TooManyCases, match="2 cases are open, as many as may be"):
        engine.begin("incidents", CALM, "down", id="c")
    assert engine.begin("incidents", CALM, "down", id="a").repeated  # it is not another one
    engine.abandon("incidents", "a", abandon_body("lost"))
    engine.begin("incidents", CALM, "down", id="c")
    engine.log.close()


def test_learners_that_no_store_can_hold_are_refused(engine):
    with pytest.raises(ArgumentError, match="there is a learner 'incidents' already"):
        engine.create("incidents", greedy())
    for name in ("", "a b", "é", "x" * 65, 7):
        with pytest.raises(ArgumentError, match="use 1 to 64 letters"):
            engine.create(name, greedy())
    busy = greedy()
    _held = busy.begin(CALM)
    with pytest.raises(LearnerError, match="open episodes"):
        engine.create("busy", busy)
    with pytest.raises(InputError):
        engine.create("mapped", ContextBlind(greedy()))
    with pytest.raises(InputError):
        engine.create("nothing", object())
    assert list(engine.machine.learners) == [1]


def test_what_was_not_committed_has_not_happened_after_a_rebuild(tmp_path):
    engine = new_engine(tmp_path / "store", drawing())
    engine.begin("incidents", CALM, "down", id="a")
    engine.commit()
    digest = engine.digest()
    engine.observe("incidents", "a", 0.1, "down", step=1)
    engine.begin("incidents", CALM, "down", id="b")
    assert engine.digest() != digest
    engine.rebuild()
    assert engine.digest() == digest
    assert engine.begin("incidents", CALM, "down", id="b").repeated is False
    engine.log.close()


def test_a_step_of_an_open_case_that_is_in_the_archive_is_not_the_end_of_the_case(engine):
    engine.begin("incidents", CALM, "down", id="a")
    engine.observe("incidents", "a", 0.1, "down", step=1)
    engine.compact()
    with pytest.raises(StepConflict, match="in the archive, so it cannot be compared; step 2 is") as caught:
        engine.observe("incidents", "a", 0.1, "down", step=1)
    assert caught.value.expected_step == 2
    assert engine.move("incidents", "a", "degraded", step=2).step == 2


def test_before_events_are_removed_their_snapshot_is_read(tmp_path, monkeypatch):
    engine = new_engine(tmp_path / "store")
    engine.begin("incidents", CALM, "down", id="a")
    assert engine.compact() == 2
    state = engine.digest()
    engine.log.close()
    engine = new_engine(tmp_path / "store")
    assert engine.digest() == state
    engine.observe("incidents", "a", 0.1, "down", step=1)
    monkeypatch.setattr("goalbound.serve.store.engine.machine_of", lambda files: Machine())
    with pytest.raises(StoreDamaged, match="nothing was removed"):
        engine.compact()
    assert [event.seq for event in engine.log.events(0)] == [3]
    engine.log.close()


@pytest.mark.parametrize(("learner", "propensity"), [(greedy, 1.0), (drawing, None)])
def test_the_propensity_is_known_where_nothing_is_drawn(tmp_path, learner, propensity):
    engine = new_engine(tmp_path / "store", learner())
    assert engine.begin("incidents", CALM, "down").propensity == propensity
    engine.log.close()
