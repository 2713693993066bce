"""A learner that is guarded: the runbook ends what takes too long, all is learned from, and excess losses are found."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    GreedyRidge,
    Guarded,
    LocalOptimism,
    LossScale,
    Monitored,
    PosteriorSampling,
    Support,
    load_learner,
    widths,
)
from goalbound.around.runbook import careful_values
from goalbound.baselines.factories import uc_ssp
from goalbound.errors import ArgumentError, ExcessLossWarning, FileFormatError, ModelError
from goalbound.learners.answers import pull_of
from goalbound.learners.card import STEPS_IN
from goalbound.models import LinearCSSP, Step
from goalbound.planning import solve
from goalbound.problems import incident_contexts, incident_recovery
from goalbound.problems.incidents import runbook
from goalbound.testing import check_learner
from tests.support.incidents_at_work import (
    AFTER,
    BEFORE,
    RUNBOOK,
    contexts,
    greedy,
    handle,
    people,
    rewrite_header,
    with_state_before,
)
from tests.support.units import in_units

SUPPORT = BEFORE.support
PAGE, RESTART = SUPPORT.action("page"), SUPPORT.action("restart")


def lr_cssp() -> LRCSSP:
    return LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.sharp())


def usual(problem: LinearCSSP) -> np.ndarray:
    """A policy that is best in the middle of the simplex."""
    return solve(problem.at(np.full(problem.context_size, 1.0 / problem.context_size))).policy


@pytest.mark.parametrize("limits", [{"after_steps": 2}, {"after_loss": 0.7}, {"after_steps": 0}])
def test_it_keeps_the_contract_of_learners(limits: dict[str, Any]) -> None:
    def make(problem: LinearCSSP, rng: np.random.Generator) -> Guarded:
        inner = PosteriorSampling(problem.support, problem.context_size, loss_floor=0.05, rng=rng)
        return Guarded(inner, usual(problem), **limits)

    check_learner(make, episodes=8)


def test_with_confidence_sets_and_without_contexts_it_keeps_the_contract_too() -> None:
    def by_bounds(problem: LinearCSSP) -> Guarded:
        inner = LRCSSP(problem.support, problem.context_size, loss_floor=0.05, widths=widths.sharp())
        return Guarded(inner, usual(problem), after_steps=3)

    check_learner(by_bounds, episodes=4)
    guarded = Guarded(uc_ssp(SUPPORT, loss_floor=0.1), RUNBOOK, after_steps=1)
    handle_one_component(guarded)
    assert guarded.interventions > 0


def handle_one_component(learner: Any) -> None:
    """Cases of a learner without contexts; a restart never helps."""
    for _ in range(3):
        episode, steps = learner.begin([1.0]), 0
        while not episode.ended:
            action = episode.act("down")
            episode.observe(Step("down", action, 0.1, "goal" if action == PAGE and steps else "down"))
            steps += 1


def test_the_runbook_acts_from_the_limit_to_the_end_of_the_episode() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=3)
    guarded.learn_log([([0.5, 0.5], Step("down", "restart", 0.1, "goal"))] * 50)  # the learner would restart for ever
    episode = guarded.begin([0.5, 0.5])
    for _ in range(3):
        assert (episode.act("down"), episode.guarded, guarded.interventions) == (RESTART, False, 0)
        episode.observe(Step("down", "restart", 0.1, "down"))
    assert (episode.act("down"), episode.guarded, guarded.interventions) == (PAGE, True, 1)
    episode.observe(Step("down", "page", 0.4, "degraded"))
    assert episode.act("degraded") == PAGE
    episode.observe(Step("degraded", "page", 0.4, "goal"))
    assert episode.lost == pytest.approx(3 * 0.1 + 2 * 0.4)
    assert guarded.begin([0.5, 0.5]).act("down") == RESTART  # the next episode begins with the learner
    assert guarded.statistics.visits.sum() == 50 + 5  # all steps were learned from


def test_the_loss_limit_counts_what_anyone_lost() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_loss=0.5)
    guarded.learn_log([([0.5, 0.5], Step("down", "restart", 0.1, "goal"))] * 50)
    episode = guarded.begin([0.5, 0.5])
    assert episode.act("down") == RESTART
    episode.observe(Step("down", "page", 0.5, "degraded"), overridden=True)
    assert episode.act("degraded") == PAGE
    assert (episode.guarded, guarded.interventions) == (True, 1)


def test_where_the_action_of_the_runbook_is_not_allowed_the_learner_chooses() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=0)
    assert guarded.begin([0.5, 0.5]).act("down", allowed=["restart"]) == RESTART
    assert guarded.begin([0.5, 0.5]).act("down", allowed=["restart", "page"]) == PAGE


def test_a_learner_that_restarts_for_ever_is_stopped_after_a_change() -> None:
    limited = Guarded(greedy(), RUNBOOK, after_steps=6)
    limited.learn_log(people(BEFORE, 600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcessLossWarning)
        cases = handle(limited, AFTER, contexts(100, 1))
    for steps in cases:
        assert all(step.action == PAGE for step in steps[6:])
    assert limited.interventions == sum(len(steps) > 6 for steps in cases) > 10


def test_losses_above_the_estimate_are_found_once_and_only_after_a_change() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=30)
    guarded.learn_log(people(BEFORE, 600))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExcessLossWarning)
        handle(guarded, BEFORE, contexts(500, 1))
    assert guarded.excess is None
    with pytest.warns(ExcessLossWarning, match="1.5 times the estimate") as found:
        handle(guarded, AFTER, contexts(100, 2))
    assert len(found) == 1
    excess = guarded.excess
    assert excess is not None
    assert excess.lost > 2 * excess.allowed
    guarded.acknowledge()
    assert guarded.excess is None


def handle_in_vain(learner: Any, cases: int) -> None:
    """Restarts lose 1 each and never help; after ten steps somebody gives up."""
    for _ in range(cases):
        episode = learner.begin([0.5, 0.5])
        for _ in range(10):
            if not episode.ended:
                action = episode.act("down")
                episode.observe(Step("down", action, 1.0, "down" if action == RESTART else "goal"))
        episode.abandon("no use")


@pytest.mark.filterwarnings("ignore::goalbound.errors.NotLinearWarning")
def test_losses_above_the_upper_bounds_are_found_where_there_are_bounds() -> None:
    guarded = Guarded(lr_cssp(), RUNBOOK, after_steps=30)
    guarded.learn_log(people(BEFORE, 1500))
    with pytest.warns(ExcessLossWarning, match="upper bound of their plans"):
        handle_in_vain(guarded, 100)
    assert guarded.excess is not None
    assert guarded.excess.by_bounds


def test_its_card_claims_no_bound_of_the_regret() -> None:
    card = Guarded(lr_cssp(), RUNBOOK, after_steps=9, after_loss=3.5).card
    assert card.guarantee == "unproven"
    assert card.caveats == (STEPS_IN,)
    assert card.others == {"after steps": 9.0, "after loss": 3.5}
    assert Guarded(greedy(), RUNBOOK, after_steps=9).card.guarantee == "none"


def test_a_file_resumes_to_the_bit_in_the_middle_of_guarded_episodes(tmp_path: Path) -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=2, after_loss=9.5)
    guarded.learn_log(people(BEFORE, 60))
    handle(guarded, BEFORE, contexts(20, 1))
    for name, count in (("long", 3), ("short", 1), ("new", 0)):
        episode = guarded.begin([0.3, 0.7], id=name)
        for _ in range(count):
            episode.act("down")
            episode.observe(Step("down", "restart", 0.1, "down"), overridden=True)
        episode.act("down")
    path, later = tmp_path / "guarded.npz", tmp_path / "later.npz"
    guarded.save(path)
    fresh = Guarded(greedy(), RUNBOOK, after_steps=2, after_loss=9.5)
    again = [load_learner(path), fresh.restored(path), copy.deepcopy(guarded), pickle.loads(pickle.dumps(guarded))]
    contents = set()
    for one in (guarded, *again):
        assert [episode.guarded for episode in one.open_episodes] == [True, False, False]
        for name in ("long", "short", "new"):
            episode = one.episode(name)
            episode.observe(Step("down", episode.act("down"), 0.1, "goal"))
        handle(one, BEFORE, contexts(20, 2))
        one.save(later, overwrite=True)
        contents.add(later.read_bytes())
    assert len(contents) == 1
    with pytest.raises(FileFormatError, match="other limits"):
        Guarded(greedy(), RUNBOOK, after_steps=3, after_loss=9.5).restored(path)


def test_other_settings_keep_runbook_limits_and_counts() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=0)
    handle(guarded, BEFORE, contexts(5, 1))
    other = guarded.with_settings(loss_floor=0.05)
    assert (other.after_steps, other.interventions, other.settings.loss_floor) == (0, 5, 0.05)
    assert other.runbook.tolist() == guarded.runbook.tolist()


def test_units_and_monitors_go_around_it() -> None:
    learner = in_units(Monitored(Guarded(greedy(), RUNBOOK, after_steps=1)), LossScale("min", cap=60))
    episode = learner.begin([0.5, 0.5])
    episode.observe(Step("down", "restart", 6.0, "down"), overridden=True)
    assert SUPPORT.action_names[episode.act(episode.state)] == "page"
    assert episode.guarded


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "neither after_steps nor after_loss"),
        ({"after_steps": -1}, "after_steps"),
        ({"after_steps": 1.5}, "after_steps"),
        ({"after_loss": -0.1}, "after_loss"),
        ({"after_loss": float("nan")}, "after_loss"),
        ({"after_loss": "much"}, "after_loss"),
    ],
)
def test_wrong_limits_are_errors_that_name_them(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        Guarded(greedy(), RUNBOOK, **arguments)


def test_wrong_runbooks_and_learners_are_errors_with_a_remedy() -> None:
    with pytest.raises((ArgumentError, ModelError), match="runbook"):
        Guarded(greedy(), {"down": "page"}, after_steps=1)
    with pytest.raises(ArgumentError, match="such as a LocalOptimism"):
        Guarded("greedy", RUNBOOK, after_steps=1)
    assert isinstance(Guarded(greedy(), RUNBOOK, after_steps=1).inner, GreedyRidge)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"after_steps": None}, "neither after_steps nor after_loss"),
        ({"after_steps": "3"}, "after_steps"),
        ({"after_loss": [1.0]}, "after_loss"),
        ({"interventions": -1}, "interventions"),
        ({"interventions": 0.5}, "interventions"),
        ({"episodes": []}, "the learner has 1 open ones"),
        ({"episodes": {"case": 1}}, "episodes is"),
        *(
            ({"episodes": [episode]}, "an episode is")
            for episode in (
                [1, 0.5, True],
                "1234",
                [1, 0.5, True, 1],
                [-1, 0.5, True, True],
                [1, -0.5, True, True],
                [1, 0.5, True, None],
                [1, 0.5, True, True, 1.0],
                [1, 1, True, True],
            )
        ),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(entries: dict[str, Any], said: str, tmp_path: Path) -> None:
    path, guarded = tmp_path / "guarded.npz", Guarded(greedy(), RUNBOOK, after_steps=3)
    guarded.begin([0.5, 0.5], id=1).act("down")
    guarded.save(path)
    rewrite_header(path, **entries)
    with pytest.raises(FileFormatError, match=said):
        load_learner(path)


def test_merged_guards_have_the_data_the_counts_and_the_sums_of_both() -> None:
    one, other = (Guarded(greedy(), RUNBOOK, after_steps=1) for _ in range(2))
    for seed, learner in enumerate((one, other)):
        learner.learn_log(people(BEFORE, 40, seed=seed))
    handle(other, BEFORE, contexts(20, 1))
    steps = other.interventions
    assert steps > 0
    sums = other._test.sums[0].copy()
    visits = one.statistics.visits + other.statistics.visits
    one.merge(other)
    np.testing.assert_array_equal(one.statistics.visits, visits)
    assert (one.interventions, other.interventions) == (steps, steps)
    np.testing.assert_array_equal(one._test.sums[0], sums)
    for wrong in (Guarded(greedy(), RUNBOOK, after_steps=2), Guarded(greedy(), [RESTART, PAGE], after_steps=1)):
        with pytest.raises(ArgumentError, match=r"another runbook or other limits.*inner\.merge"):
            one.merge(wrong)
    with pytest.raises(ArgumentError, match="give another guard"):
        one.merge(greedy())  # type: ignore[arg-type]


def test_an_excess_that_only_both_together_show_is_warned_of_when_they_are_merged() -> None:
    one, other = (Guarded(greedy(), RUNBOOK, after_steps=5) for _ in range(2))
    for guard in (one, other):
        while not guard._test.found:
            guard._test.add(3.0, 1.0)
        guard._test.sums[0] *= 0.6
        assert guard.excess is None
    with pytest.warns(ExcessLossWarning, match="lost 3 each"):
        one.merge(other)


def test_on_a_larger_support_the_guard_goes_on_and_new_states_need_a_runbook() -> None:
    guarded = Guarded(greedy(), RUNBOOK, after_steps=1)
    guarded.learn_log(people(BEFORE, 30))
    handle(guarded, BEFORE, contexts(10, 1))
    larger = with_state_before(SUPPORT, "hung")
    with pytest.raises(ModelError, match=r'no action for state 0 \("hung"\)'):
        guarded.extended(larger)
    book = {"hung": "page", **dict.fromkeys(SUPPORT.state_names or (), "page")}
    found = guarded.extended(larger, runbook=book)
    assert found.statistics.visits.sum() == guarded.statistics.visits.sum()
    assert found.interventions == guarded.interventions > 0
    assert found.after_steps == 1
    episode = found.begin([0.5, 0.5])
    episode.observe(Step("hung", episode.act("hung"), 0.5, "hung"))
    assert episode.act("hung") == larger.action("page")
    assert found.interventions == guarded.interventions + 1


@pytest.mark.parametrize("kind", [GreedyRidge, LocalOptimism, PosteriorSampling])
@pytest.mark.parametrize("hours", [4, 12])
def test_from_nothing_there_is_no_false_warning(kind: Any, hours: int) -> None:
    # The ridge says at first that all leads to the goal for nothing: 12 or 36 components hold as many such visits.
    problem, rng = incident_recovery(hours), np.random.default_rng(0)
    learner = kind(problem.support, problem.context_size, loss_floor=5 / 60)
    guarded = Guarded(learner, runbook(problem), after_steps=12)
    cases = incident_contexts(problem, rng.uniform(0.0, 24.0, 100), rng.uniform(0.0, 1.0, 100))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExcessLossWarning)
        handle(guarded, problem, cases)
    assert guarded.excess is None


def test_what_a_plan_without_sets_allows_for_is_what_the_data_say_and_nothing_before() -> None:
    learner = GreedyRidge(Support.from_pairs([{0: [0, 1]}]), 1, loss_floor=0.1)
    policy = np.zeros(1, dtype=np.int64)
    assert careful_values(learner, np.ones(1), policy)[0] == np.inf
    learner.learn_log([([1.0], Step(0, 0, 0.2, following)) for following in (0, 1, 1)])
    # Of three visits one stays; a loss of 0.2, and 1 for each of the w invented visits: pull = w / (3 + w).
    pull = pull_of(learner, np.ones(1))[0]
    invented = 3.0 * pull / (1.0 - pull)
    assert careful_values(learner, np.ones(1), policy)[0] == pytest.approx((0.2 + invented / 3) / (2 / 3))
