"""What an explanation says is played is what is proposed, whoever leads: the learner, a runbook, those who allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    Apprentice,
    ContextBlind,
    Discretized,
    GreedyRidge,
    Guarded,
    LocalOptimism,
    LossScale,
    MappedContexts,
    ModelEnvironment,
    Monitored,
    PosteriorSampling,
)
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.baselines.factories import bernstein_ssp
from goalbound.errors import LearnerError
from goalbound.problems import random_cssp
from tests.support.apprenticeship import BUSY, CALM, lr_cssp, taught
from tests.support.incidents_at_work import AFTER, BEFORE, RUNBOOK, greedy, people
from tests.support.units import in_units

MIN = LossScale("min", cap=60)


def blind(rng: Any = None) -> GreedyRidge:
    return GreedyRidge(BEFORE.support, 1, loss_floor=0.1)


def with_log(learner: Any, cases: int = 40) -> Any:
    learner.learn_log(people(BEFORE, cases))
    return learner


def apprentice(margin: float) -> Apprentice:
    return with_log(Apprentice(LRCSSP(BEFORE.support, 2, loss_floor=0.1), RUNBOOK, margin=margin), cases=100)


def by_runbook() -> Apprentice:
    """The learner inside has learned to restart, and the runbook pages."""
    return apprentice(margin=-5.0)


WRAPPED = {
    "apprentice by its runbook": by_runbook,
    "apprentice by the learner": lambda: apprentice(margin=50.0),
    "guarded": lambda: with_log(Guarded(greedy(), RUNBOOK, after_steps=1)),
    "guarded from the beginning": lambda: with_log(Guarded(greedy(), RUNBOOK, after_steps=0)),
    "guarded by loss": lambda: with_log(Guarded(greedy(), RUNBOOK, after_loss=0.05)),
    "monitored": lambda: with_log(Monitored(greedy())),
    "monitored apprentice": lambda: Monitored(by_runbook()),
    "in units": lambda: in_units(by_runbook(), MIN),
    "behind a map": lambda: CovariateLearner(Hats([0, 100], clamp=True), in_units(Monitored(by_runbook()), MIN)),
    "mapped": lambda: MappedContexts(by_runbook(), [[0.0, 1.0], [1.0, 0.0]]),
    "blind": lambda: with_log(ContextBlind(blind())),
    "discretized": lambda: with_log(Discretized(blind, 2, parts=2)),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_explained_is_what_is_proposed(name):
    learner: Any = WRAPPED[name]()
    context: Any = 25 if name == "behind a map" else [0.75, 0.25]
    before = learner.explain(context, "degraded")
    episode = learner.begin(context)
    unit = 60.0 if name in ("in units", "behind a map") else 1.0
    for step in range(3):
        action = episode.act("degraded")
        found = episode.explain()
        assert found.actions[found.chosen].number == action
        assert found.reason.startswith(f"{BEFORE.support.action_label(action)}, ")
        assert found.state == "degraded"
        assert len(found.actions) == 2
        if step == 0:
            assert (found.chosen, found.reason) == (before.chosen, before.reason)
        episode.observe(("degraded", action, 0.1 * unit, "degraded"))


def test_an_apprentice_says_who_leads_and_why():
    found = by_runbook().explain(CALM, "down")
    assert found.reason == "page, as the runbook says: no other policy is sure to be no worse."
    assert "not of the runbook" in found.notes[-1]
    found = taught(0).explain(BUSY, "down")
    assert found.reason == "restart, as the runbook says: no other policy is sure to be no worse."
    found = taught(3000, scale=0.1).explain(BUSY, "down")
    assert found.reason == "roll back, by the policy of the learner: it is sure to be no worse than the runbook."
    found = taught(0, margin=0.5).explain(BUSY, "down")
    assert found.reason.endswith("no other policy is sure to be no worse by more than the margin.")


def test_a_guard_says_which_limit_was_reached():
    guarded = with_log(Guarded(greedy(), RUNBOOK, after_steps=2, after_loss=0.15))
    episode = guarded.begin(CALM)
    for _ in range(2):
        episode.observe(("down", episode.act("down"), 0.1, "down"))
    assert episode.act("down") == 1
    assert episode.explain().reason == "page, as the runbook says: after 2 steps and the loss has come to its limit."
    assert guarded.explain(CALM, "down").reason.startswith("restart, as it is least in estimate")


def test_those_that_are_allowed_are_the_reason_where_they_are():
    episode = by_runbook().begin(CALM)
    assert episode.act("down", allowed=["restart"]) == 0
    assert episode.explain(allowed=["restart"]).reason == "restart, as it is the only one allowed."
    assert episode.explain().reason == "restart, as it was proposed before; who leads is decided at the next step."
    plain = with_log(greedy()).begin(CALM)
    assert plain.act("down", allowed=["page"]) == 1
    assert plain.explain(allowed=["page"]).reason == "page, as it is the only one allowed."
    assert "a plan that is made now plays restart" in plain.explain().reason


def test_a_plan_that_is_old_is_said_to_be():
    learner = with_log(greedy())
    episode = learner.begin(CALM)
    assert episode.act("down") == 0
    learner.learn_log(people(AFTER, 300))
    found = episode.explain()
    assert found.reason == "restart, as it was proposed before; a plan that is made now plays page."


def test_what_was_drawn_is_said_to_be():
    learner = PosteriorSampling(BEFORE.support, 2, loss_floor=0.1, rng=np.random.default_rng(0))
    found = set()
    for _ in range(30):
        episode = learner.begin(CALM)
        action = episode.act("down")
        shown = episode.explain()
        assert shown.actions[shown.chosen].number == action
        found.add(shown.reason)
    assert any("also plays at random" in reason for reason in found)


def test_without_a_proposal_there_is_nothing_to_explain():
    for learner in (greedy(), by_runbook(), Guarded(greedy(), RUNBOOK, after_steps=0)):
        with pytest.raises(LearnerError, match=r"act\(state\) comes first"):
            learner.begin(CALM).explain()
    assert lr_cssp().begin(CALM).act("down") is not None


def test_learners_without_contexts_cannot_explain_themselves():
    learner = bernstein_ssp(BEFORE.support, loss_floor=0.1)
    episode = learner.begin([1.0])
    episode.act("down")
    with pytest.raises(LearnerError, match="cannot explain itself"):
        episode.explain()


def test_an_action_that_is_proposed_to_find_out_more_is_said_to_be():
    rng, problem = np.random.default_rng(0), random_cssp(5, actions=4, context_size=2, seed=1)
    learner = LocalOptimism(problem.support, 2, loss_floor=0.1)
    environment = ModelEnvironment(problem, rng=rng)
    explored, proposed = 0, 0
    while proposed < 2000:
        context = rng.dirichlet([1.0, 1.0])
        episode, state = learner.begin(context), environment.begin(context)
        while not episode.ended:
            action = episode.act(state)
            planned = int(problem.support.pair_action[episode._arrays.iteration.policy[state]])
            proposed += 1
            if proposed % 10 == 0 or action != planned:
                found = episode.explain()
                assert found.actions[found.chosen].number == action
                assert ("to find out more" in found.reason) == (action != planned)
            if action != planned:
                visits = learner.statistics.visits
                here = {one.number: int(visits[problem.support.pair(state, one.number)]) for one in found.actions}
                name = problem.support.action_label
                assert found.reason == (
                    f"{name(action)}, to find out more: it has {here[action]} visit{'s' * (here[action] != 1)}; "
                    f"the plan has {name(planned)}, with {here[planned]}."
                )
                explored += 1
            step = environment.step(action)
            episode.observe(step)
            state = step.next_state
    assert explored > 20


def test_a_table_has_no_columns_without_numbers():
    shown = str(with_log(greedy()).explain(CALM, "down"))
    assert "at least" not in shown
    assert "at most" not in shown
    assert "leads to" in shown


def test_what_a_person_begins_is_not_said_to_find_out_more():
    learner = with_log(LocalOptimism(BEFORE.support, 2, loss_floor=0.1))
    episode = learner.begin(CALM)
    proposed = episode.act("down")
    other = 1 - proposed
    episode.begins(other)
    reason = episode.explain().reason
    assert "to find out more" not in reason
    assert "as it was proposed before" in reason
    assert episode.explain(allowed=[other]).reason.endswith("as it is the only one allowed.")
