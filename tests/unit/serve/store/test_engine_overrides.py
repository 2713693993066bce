"""People play other actions than the proposed ones, in cases of a store: named by a proposal, or only by the step."""

import numpy as np
import pytest

from goalbound import LRCSSP, GreedyRidge, Step, Support, widths
from goalbound.learners.own_card import SILENT_OVERRIDE
from tests.support.stores import new_engine, open_store

SUPPORT = Support.full(1, 2)
"""Both actions cost 0 and lead to the goal, or cost 1 and lead nowhere, with probability 1/2 each: 1 is lost."""
CASES, OUTCOMES = 100, 150


def proving():
    return LRCSSP(SUPPORT, 1, loss_floor=0.25, delta=1e-3, widths=widths.likelihood())


def handle(learner, *, said):
    """Work on 100 cases at once, in all of which a person plays action 1; what is good is reported first."""
    rng, waiting, free, begun = np.random.default_rng(1), [], [(f"c{n}", 1) for n in range(CASES)], CASES
    for id, _ in free:
        learner.begin([1.0], 0, id=id)
    for _ in range(OUTCOMES):
        for id, step in free:
            if said:
                assert learner.act(id, allowed=[1]).action == 1
            waiting.append((rng.random() >= 0.5, len(waiting), id, step))
        bad, _, id, step = min(waiting)
        waiting.remove(min(waiting))
        report = (id, 1.0, 0) if bad else (id, 0.0, "goal")
        if said:
            learner.observe(*report, step=step)
        else:
            learner.override(report[0], 1, *report[1:], step=step)
        if bad:
            free = [(id, step + 1)]
        else:
            begun += 1
            free = [(f"c{begun}", 1)]
            learner.begin([1.0], 0, id=free[0][0])


@pytest.mark.parametrize("said", [True, False])
def test_bounds_hold_where_proposals_name_what_people_begin_and_are_not_proven_elsewhere(said, tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("work", proving())
        handle(learner, said=said)
        bounds = learner.policy_bounds([1.0], [1])
        assert (bounds.lower[0] <= 1.0 <= bounds.upper[0]) == said
        assert bounds.proven == said
        expected = [] if said else [SILENT_OVERRIDE]
        assert list(bounds.caveats) == learner.status()["caveats"] == expected
        digest = store.digest()
    with open_store(tmp_path / "store") as store:
        assert store.digest() == digest


def test_a_step_that_was_begun_is_answered_as_before_when_it_is_reported_again(tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("work", proving())
        other = 1 - learner.begin([1.0], 0, id="a").action
        learner.act("a", allowed=[other])
        assert learner.act("a", allowed=[other]).repeated
        answer = learner.observe("a", 0.5, 0, step=1)
        assert learner.observe("a", 0.5, 0, step=1) == answer._replace(repeated=True)


@pytest.mark.parametrize("promoted", [False, True])
def test_a_challenger_learns_in_the_order_in_which_actions_begin(promoted, tmp_path):
    """Each of the two has seen the action fail that the other one prefers."""
    champion, challenger = GreedyRidge(SUPPORT, 1, loss_floor=0.25), proving()
    champion.learn_log([([1.0], Step(0, 0, 1.0, 0))] * 20)
    challenger.learn_log([([1.0], Step(0, 1, 1.0, 0))] * 300)
    assert (champion.plan([1.0]).policy[0], challenger.plan([1.0]).policy[0]) == (1, 0)
    engine = new_engine(tmp_path / "store", champion)
    engine.create("rival", challenger, follows="incidents")
    for id in "abc":
        engine.begin("incidents", [1.0], 0, id=id)
    rival = engine.machine.named("rival").learner
    assert [one.pending_action for one in rival.open_episodes] == [1, 1, 1]
    if promoted:
        engine.promote("rival")
    for id in "cab":
        engine.observe("incidents", id, 1.0, 0)
    assert rival.caveats == ()
    assert rival.statistics.visits.tolist() == [0, 303]
    assert not rival.statistics.pending.any()
    engine.log.close()
