"""What a store says about cases and learners."""

import warnings

import pytest

from goalbound import LRCSSP, Apprentice, Guarded, LossScale, Monitored
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.errors import CaseFinished, CaseNotFound
from goalbound.serve.store.bodies import abandon_body
from goalbound.serve.store.reading import alarms, case_of, open_cases
from tests.support.incidents_at_work import AFTER, BEFORE, RUNBOOK, greedy, people
from tests.support.services import asked
from tests.support.stores import drawing, open_store
from tests.support.units import in_units

CALM = [1.0, 0.0]


def test_a_case_is_told_with_names_from_its_beginning_to_its_end(tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("incidents", greedy())
        store.create("rival", drawing(), follows="incidents")
        learner.begin(CALM, "down", id="a", allowed=["restart"])
        learner.override("a", "page", 0.4, "degraded", step=1)
        found = learner.case("a")
        assert (found["open"], found["step"], found["state_name"], found["context"]) == (True, 1, "degraded", CALM)
        assert [(one["kind"], one.get("taken"), one["next_state"]) for one in found["history"]] == [
            ("begin", None, "down"),
            ("override", "page", "degraded"),
        ]
        assert found["history"][0]["allowed"] == [0]
        assert found["history"][0]["others"] == {"rival": "restart"}
        learner.abandon("a", "lost contact")
        found = learner.case("a")
        assert (found["open"], found["step"], found["action"]) == (False, 2, None)
        assert found["history"][-1]["reason"] == "lost contact"
        with pytest.raises(CaseNotFound):
            learner.case("b")


def test_a_long_history_is_told_from_its_end_some_events_at_a_time(engine):
    for step in range(1, 6):
        engine.observe("incidents", "0", 0.1, "down", taken="restart", step=step)
        if step == 3:
            engine.commit()
    whole = case_of(engine, "incidents", "0")
    assert [one["step"] for one in whole["history"]] == [0, 1, 2, 3, 4, 5]
    assert not whole["earlier"]
    for end, limit in [(6, 4), (6, 1), (5, 2), (3, 3), (3, 2), (0, 2), (6, 0)]:
        before = None if end == 6 else whole["history"][end]["seq"]
        some = case_of(engine, "incidents", "0", before=before, limit=limit)
        assert some["history"] == whole["history"][max(end - limit, 0) : end]
        assert some == {**whole, "history": some["history"], "earlier": end > limit}
    engine.abandon("incidents", "0", abandon_body("lost"))
    ended = case_of(engine, "incidents", "0", before=whole["history"][2]["seq"])
    assert (ended["open"], ended["step"], len(ended["history"])) == (False, 6, 2)


def test_an_explanation_is_that_of_the_learner_for_the_covariates_of_the_case(tmp_path):
    learner = CovariateLearner(Hats([0, 100], clamp=True), in_units(greedy(), LossScale("min", cap=60)))
    with open_store(tmp_path / "store") as store:
        stored = store.create("incidents", learner)
        stored.begin(25, "down", id="a")
        found = stored.explain("a")
        assert str(found) == str(learner.explain(25, "down"))
        assert stored.status()["unit"] == "min"
        assert stored.status()["columns"] == list(learner.map.column_names)
        stored.abandon("a", "lost")
        with pytest.raises(CaseFinished):
            stored.explain("a")


def test_alarms_are_found_inside_wrappers():
    learner = in_units(Monitored(greedy(), run_length=1000), LossScale("min", cap=1))
    assert alarms(learner) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.learn_log([*people(BEFORE, 200), *people(AFTER, 60, seed=1)])
    found = alarms(learner)
    assert [one["kind"] for one in found] == ["change"]
    assert "no longer holds" in found[0]["text"]


def test_the_open_cases_are_listed_with_their_age_and_found_by_a_part_of_their_id(engine):
    engine.act("incidents", "3")
    cases = open_cases(engine, "incidents", after=0, limit=9)
    assert [case["case"] for case in cases] == ["0", "1", "2", "3", "4"]
    assert all(case["since"] <= case["last"] for case in cases)
    assert cases[0]["context"] is not None
    assert [case["case"] for case in open_cases(engine, "incidents", after=cases[1]["number"], limit=2)] == ["2", "3"]
    assert [case["case"] for case in open_cases(engine, "incidents", after=0, limit=9, search="3")] == ["3"]


def by_runbook():
    """The learner inside has learned to restart, and the runbook pages."""
    learner = Apprentice(LRCSSP(BEFORE.support, 2, loss_floor=0.1), RUNBOOK, margin=-5.0)
    learner.learn_log(people(BEFORE, 40))
    return learner


def guarded():
    learner = Guarded(greedy(), RUNBOOK, after_steps=1)
    learner.learn_log(people(BEFORE, 40))
    return learner


MIN = LossScale("min", cap=60)
WRAPPED = {
    "apprentice": (by_runbook, CALM),
    "guarded": (guarded, CALM),
    "monitored": (lambda: Monitored(guarded()), CALM),
    "in units": (lambda: in_units(by_runbook(), MIN), CALM),
    "behind a map": (lambda: CovariateLearner(Hats([0, 100], clamp=True), in_units(Monitored(guarded()), MIN)), 25),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_explained_is_what_was_proposed_in_the_store_and_over_http(tmp_path, name):
    make, context = WRAPPED[name]
    with open_store(tmp_path / "store") as store:
        learner = store.create("incidents", make())
        answers = [learner.begin(context, "degraded", id="a")]
        reasons = []
        for step in range(1, 4):

            async def ask(client):
                return (await client.get("/v1/learners/incidents/cases/a/explanation")).json()

            told = asked(store, ask)
            assert told == learner.explain("a").as_json()
            assert told["chosen"] == answers[-1].name
            assert [one["action"] for one in told["actions"]] == ["restart", "page"]
            reasons.append(told["reason"])
            answers.append(learner.observe("a", 0.1, "degraded", step=step))
    led = "after 1 step" if "guard" in name or name in ("monitored", "behind a map") else "no other policy is sure"
    assert reasons[-1].startswith("page, as the runbook says: " + led)
