"""A learner that is monitored: it acts as it would alone, says what has changed, and learns anew from the window."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    Apprentice,
    EpsilonGreedy,
    GreedyRidge,
    Guarded,
    KwikRmax,
    LossScale,
    Monitored,
    PosteriorSampling,
    load_learner,
    widths,
)
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.monitor import SINCE_CHANGE
from goalbound.baselines.factories import uc_ssp
from goalbound.errors import ArgumentError, ChangeWarning, FileFormatError, InputError, LearnerError
from goalbound.logs import LogColumns, read_log
from goalbound.models import LinearCSSP, Step
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
LEARNERS: dict[str, Callable[[LinearCSSP, np.random.Generator], Any]] = {
    "LRCSSP": lambda p, rng: LRCSSP(p.support, p.context_size, loss_floor=0.05, widths=widths.sharp()),
    "GreedyRidge": lambda p, rng: GreedyRidge(p.support, p.context_size, loss_floor=0.05),
    "EpsilonGreedy": lambda p, rng: EpsilonGreedy(p.support, p.context_size, loss_floor=0.05, rng=rng),
    "PosteriorSampling": lambda p, rng: PosteriorSampling(p.support, p.context_size, loss_floor=0.05, rng=rng),
    "KwikRmax": lambda p, rng: KwikRmax(p.support, p.context_size, loss_floor=0.05, threshold=0.9),
    "Guarded": lambda p, rng: Guarded(
        GreedyRidge(p.support, p.context_size, loss_floor=0.05),
        p.support.pair_action[p.support.pair_start[:-1]],
        after_steps=50,
    ),
}


@pytest.mark.parametrize("name", list(LEARNERS))
def test_it_keeps_the_contract_of_learners(name: str) -> None:
    def make(problem: LinearCSSP, rng: np.random.Generator) -> Monitored:
        return Monitored(LEARNERS[name](problem, rng), run_length=1e6)

    check_learner(make, episodes=6)


def test_it_acts_as_the_learner_inside_would_alone() -> None:
    alone, monitor = greedy(), Monitored(greedy())
    for learner in (alone, monitor):
        learner.learn_log(people(BEFORE, 50))
    assert handle(alone, BEFORE, contexts(60, 1)) == handle(monitor, BEFORE, contexts(60, 1))
    np.testing.assert_array_equal(alone.estimate.rows, monitor.estimate.rows)
    assert monitor.detector.steps == monitor.statistics.visits.sum()


def changed(cases: int = 60, learner: Any = None) -> Monitored:
    """After 600 cases of people the restart breaks, and the learner handles some cases."""
    monitor = Monitored(greedy() if learner is None else learner)
    monitor.learn_log(people(BEFORE, 600))
    assert monitor.change is None
    with pytest.warns(ChangeWarning, match="restart"):
        handle(monitor, AFTER, contexts(cases, 2))
    return monitor


def test_a_restart_that_breaks_is_found_named_and_warned_of_once() -> None:
    monitor = changed()
    change = monitor.change
    assert change is not None
    logged = len(people(BEFORE, 600))
    assert logged - 10 <= change.since_step <= logged + 25
    assert change.case < 40  # the log has no cases, so live ones are counted from 0
    assert {SUPPORT.pair_action[pair] for pair in change.pairs} == {SUPPORT.action("restart")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChangeWarning)
        monitor.learn([0.5, 0.5], Step("down", "restart", 0.1, "down"))


def test_steps_of_people_are_tested_too_single_overridden_and_in_logs() -> None:
    def by_log(monitor: Monitored) -> None:
        monitor.learn_log(people(AFTER, 100, seed=3))

    def one_by_one(monitor: Monitored) -> None:
        for context, step in people(AFTER, 100, seed=3):
            monitor.learn(context, step)

    def overridden(monitor: Monitored) -> None:
        for context, step in people(AFTER, 100, seed=3):
            monitor.begin(context).observe(step, overridden=True)

    found = []
    for way in (by_log, one_by_one, overridden):
        monitor = Monitored(greedy())
        monitor.learn_log(people(BEFORE, 600))
        with pytest.warns(ChangeWarning):
            way(monitor)
        assert monitor.change is not None
        found.append((monitor.change.pairs, monitor.change.step, monitor.change.since_step, monitor.change.evidence))
    assert found[0] == found[1] == found[2]


def test_an_outcome_is_tested_once_and_one_that_cannot_be_is_not() -> None:
    monitor = Monitored(greedy())
    episode = monitor.begin([0.25, 0.75])
    with pytest.raises(LearnerError, match="no action was chosen"):
        episode.observe(Step("down", "page", 0.4, "goal"))
    assert monitor.detector.steps == 0
    episode.act("down")
    episode.take_back()
    episode.observe(Step("down", "page", 0.4, "degraded"), overridden=True)
    episode.moved_to("down")
    assert monitor.detector.steps == 1


def test_cases_of_a_log_are_counted_and_live_cases_follow_them() -> None:
    names, case, rows = (*(SUPPORT.state_names or ()), "goal"), 0, []
    for time, (context, (state, action, loss, following)) in enumerate(people(BEFORE, 30)):
        rows.append({
            "case": case, "time": time, "state": names[state], "action": (SUPPORT.action_names or ())[action],
            "loss": loss, "next_state": names[following], "calm": context[0], "busy": context[1],
        })  # fmt: skip
        case += following == SUPPORT.states
    monitor = Monitored(greedy())
    monitor.learn_log(read_log(rows, columns=LogColumns(context=("calm", "busy")), support=SUPPORT))
    handle(monitor, BEFORE, contexts(3, 1))
    assert monitor._cases == 33
    assert monitor.detector.steps == monitor.statistics.visits.sum()


def test_a_wrong_step_changes_nothing_and_those_of_a_log_before_it_are_tested() -> None:
    monitor = Monitored(greedy())
    good, bad = people(BEFORE, 5), ([0.5, 0.5], Step("down", "restart", 2.0, "goal"))
    with pytest.raises(InputError, match=f"step {len(good)} of the log"):
        monitor.learn_log([*good, bad, *good])
    assert monitor.detector.steps == len(good) == len(monitor._last_steps().pairs)
    with pytest.raises(InputError):
        monitor.learn(*bad)
    with pytest.raises(ArgumentError, match="iterates"):
        monitor.learn_log(3)  # type: ignore[arg-type]
    assert monitor.detector.steps == len(good)


def test_relearning_forgets_the_pairs_that_changed_and_keeps_the_others() -> None:
    monitor = changed()
    change = monitor.change
    assert change is not None
    fresh, only = monitor.relearned(), monitor.relearned(keep_others=False)
    others = np.setdiff1d(np.arange(4), change.pairs)
    pairs = monitor._last_steps().pairs
    since = np.bincount(pairs[change.since_step :], minlength=4)
    assert fresh.statistics.visits[others].tolist() == monitor.statistics.visits[others].tolist()
    assert fresh.statistics.visits[list(change.pairs)].tolist() == since[list(change.pairs)].tolist()
    assert only.statistics.visits.tolist() == since.tolist()
    assert fresh.change is None
    assert monitor.change == change  # the old one stays as it is
    assert SINCE_CHANGE in fresh.caveats
    assert SUPPORT.action_names[fresh.plan([0.5, 0.5]).policy[0]] == "page"  # 0.4 / 0.9, against 0.1 / 0.1 or so


def test_relearning_needs_a_change_or_a_number_and_steps_that_are_kept() -> None:
    monitor = Monitored(greedy(), window=50)
    with pytest.raises(LearnerError, match="no change"):
        monitor.relearned()
    monitor.learn_log(people(BEFORE, 100))
    assert monitor.relearned(since=monitor.detector.steps - 10, keep_others=False).detector.steps == 10
    with pytest.raises(ArgumentError, match="window=50"):
        monitor.relearned(since=0)


@pytest.mark.filterwarnings("ignore::goalbound.errors.ExcessLossWarning")
def test_what_is_around_the_learner_is_around_the_one_that_learns_anew() -> None:
    guarded = changed(learner=Guarded(greedy(), RUNBOOK, after_steps=9)).relearned()
    assert isinstance(guarded.inner, Guarded)
    assert guarded.inner.after_steps == 9
    apprentice = Monitored(Apprentice(LRCSSP(SUPPORT, 2, loss_floor=0.1), RUNBOOK, margin=0.5))
    apprentice.learn_log(people(BEFORE, 20))
    again = apprentice.relearned(since=0).inner
    assert isinstance(again, Apprentice)
    assert again.margin == 0.5


def test_a_learner_without_contexts_is_monitored_and_learns_anew_in_one_like_it_or_one_that_is_given() -> None:
    monitor = Monitored(uc_ssp(SUPPORT, loss_floor=0.1))
    monitor.learn_log([([1.0], step) for _, step in people(BEFORE, 400)])
    with pytest.warns(ChangeWarning):
        monitor.learn_log([([1.0], step) for _, step in people(AFTER, 100)])
    given = monitor.relearned(fresh=uc_ssp(SUPPORT, loss_floor=0.1), keep_others=False)
    for found in (monitor.relearned(keep_others=False), given):
        assert found.inner.settings == monitor.inner.settings
        assert found.inner.visits.sum() == found.detector.steps > 0
        assert found.inner.visits.tolist() == given.inner.visits.tolist()


def test_while_there_is_a_change_nothing_is_proven_and_acknowledging_goes_on() -> None:
    def make() -> Monitored:
        return Monitored(LRCSSP(SUPPORT, 2, loss_floor=0.05, widths=widths.sharp()))

    monitor = make()
    assert monitor.card == monitor.inner.card
    assert monitor.card.guarantee == "proven"
    monitor.learn_log(people(BEFORE, 600))
    with pytest.warns(ChangeWarning):
        monitor.learn_log(people(AFTER, 60))
    assert monitor.card.guarantee == "unproven"
    assert "the world has changed" in str(monitor.card)
    steps = monitor.detector.steps
    monitor.acknowledge()
    assert monitor.change is None
    assert monitor.card.guarantee == "proven"
    assert monitor.detector.steps == steps


def test_maps_and_units_go_around_it_and_show_its_change() -> None:
    scale = LossScale("min", cap=60)
    learner = CovariateLearner(Hats([0, 1]), in_units(Monitored(greedy()), scale))
    log = [(float(c[1]), step._replace(loss=60.0 * step.loss)) for c, step in people(BEFORE, 600) + people(AFTER, 60)]
    with pytest.warns(ChangeWarning):
        learner.learn_log(log)
    assert learner.change is not None
    assert learner.inner.clipped == 0
    with pytest.raises(ArgumentError, match=r"learner is .learner.; give a learner of this package"):
        Monitored("learner")


@pytest.mark.filterwarnings("ignore::goalbound.errors.ExcessLossWarning")
def test_a_file_resumes_to_the_bit_with_its_change_and_open_episodes(tmp_path: Path) -> None:
    monitor = changed(learner=Guarded(greedy(), RUNBOOK, after_steps=20))
    monitor.begin([0.3, 0.7], id="open").act("down")
    path, later = tmp_path / "monitor.npz", tmp_path / "later.npz"
    monitor.save(path)
    again = load_learner(path)
    assert again.change == monitor.change
    copies = [again, Monitored(Guarded(greedy(), RUNBOOK, after_steps=20)).restored(path), copy.deepcopy(monitor),
              pickle.loads(pickle.dumps(monitor))]  # fmt: skip
    contents = set()
    for one in (monitor, *copies):
        one.episode("open").observe(Step("down", one.episode("open").act("down"), 0.1, "goal"))
        one.acknowledge()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChangeWarning)
            handle(one, BEFORE, contexts(30, 5))
        one.save(later, overwrite=True)
        contents.add(later.read_bytes())
    assert len(contents) == 1


def test_a_file_of_another_monitor_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "monitor.npz"
    Monitored(greedy(), window=7).save(path)
    with pytest.raises(FileFormatError, match="another run length or window"):
        Monitored(greedy()).restored(path)
    with pytest.raises(FileFormatError):
        Monitored.load(path)  # by default it is an LRCSSP that is read


def test_other_settings_keep_what_the_detector_saw() -> None:
    monitor = changed()
    other = monitor.with_settings(loss_floor=0.2)
    assert other.settings.loss_floor == 0.2
    assert other.change == monitor.change
    assert other.detector is not monitor.detector
    assert other.statistics.visits.tolist() == monitor.statistics.visits.tolist()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"run_length": "long"}, "run_length"),
        ({"run_length": 0.5}, "run_length"),
        ({"window": -1}, "window"),
        ({"window": 2}, "the window has 3 steps"),
        ({"window": 2**61}, "window"),
        ({"cases": 1.5}, "cases"),
        ({"logged_cases": None}, "logged_cases"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(entries: dict[str, Any], said: str, tmp_path: Path) -> None:
    path, monitor = tmp_path / "monitor.npz", Monitored(greedy())
    monitor.learn_log([([0.5, 0.5], Step("down", "page", 0.4, "goal"))] * 3)
    monitor.save(path)
    rewrite_header(path, **entries)
    with pytest.raises(FileFormatError, match=said):
        load_learner(path)


def test_merged_monitors_have_the_data_of_both_and_each_its_own_detector() -> None:
    one, other = Monitored(greedy()), Monitored(greedy())
    one.learn_log(people(BEFORE, 60, seed=1))
    other.learn_log(people(BEFORE, 40, seed=2))
    seen, visits = one.detector.steps, one.statistics.visits + other.statistics.visits
    one.merge(other)
    np.testing.assert_array_equal(one.statistics.visits, visits)
    assert one.detector.steps == len(one._last_steps().pairs) == seen
    alone = Monitored(greedy())
    alone.learn_log(people(BEFORE, 60, seed=1))
    for monitor in (one, alone):  # the same steps, the same evidence
        monitor.learn_log(people(BEFORE, 20, seed=3))
    for (name, mine), (_, theirs) in zip(one.detector.arrays(), alone.detector.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    with pytest.raises(ArgumentError, match="give another monitored learner"):
        one.merge(greedy())  # type: ignore[arg-type]


def test_a_monitor_with_an_alarm_is_merged_after_it_was_settled() -> None:
    monitor, other = Monitored(greedy()), changed()
    with pytest.raises(LearnerError, match=r"other has an alarm: .*restart.*relearned\(\), or acknowledge\(\)"):
        monitor.merge(other)
    assert monitor.statistics.visits.sum() == 0
    monitor.merge(other.relearned())
    assert monitor.statistics.visits.sum() > 0


@pytest.mark.parametrize("kind", ["GreedyRidge", "Guarded"])
def test_on_a_larger_support_the_detector_and_the_window_go_on(kind: str, tmp_path: Path) -> None:
    larger = with_state_before(SUPPORT, "new")
    inner: Any = greedy() if kind == "GreedyRidge" else Guarded(greedy(), RUNBOOK, after_steps=50)
    others = {} if kind == "GreedyRidge" else {"runbook": dict.fromkeys(larger.state_names or (), "page")}
    monitor = Monitored(inner, window=500)
    monitor.learn_log(people(BEFORE, 600))
    found = monitor.extended(larger, **others)
    assert found.detector.steps == monitor.detector.steps
    assert len(found._last_steps().pairs) == len(monitor._last_steps().pairs)
    names, actions = [*(SUPPORT.state_names or ()), "goal"], SUPPORT.action_names or ()
    log = [(c, Step(names[s], actions[a], loss, names[n])) for c, (s, a, loss, n) in people(AFTER, 100, seed=3)]
    for one in (monitor, found):
        with pytest.warns(ChangeWarning, match="restart"):
            one.learn_log(log)
    before, after = monitor.change, found.change
    assert before is not None
    assert after is not None
    assert {larger.pair_action[pair] for pair in after.pairs} == {larger.action("restart")}
    assert abs(after.since_step - before.since_step) <= 20
    assert abs(after.step - before.step) <= 20
    assert found.relearned().statistics.visits[larger.pair(larger.state("down"), larger.action("page"))] > 200
    found.save(tmp_path / "monitor.npz")
    assert load_learner(tmp_path / "monitor.npz").change == found.change
    with pytest.raises(LearnerError, match=r"there is an alarm.*Settle it first"):
        monitor.extended(larger, **others)
