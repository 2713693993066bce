"""Auditing a learner: the terms sum to the regret, the event is checked as stated, and play is unchanged."""

from __future__ import annotations

from functools import partial
from math import log, pi, sqrt
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Clairvoyant, Dirichlet, LinearCSSP, ModelEnvironment, Step
from goalbound.confidence import paper, printed, scaled
from goalbound.errors import InputError, LearnerError
from goalbound.planning import context_bounds
from goalbound.simulation import bernoulli
from goalbound.simulation.diagnostics import AuditOptions, LearnerAudit, RegretDiagnostics
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.simulation.play import Simulation, play
from tests.support.ridge import lr_cssp


def dense(states: int, *, seed: int, least_loss: float = 0.1, least_exit: float = 0.0) -> LinearCSSP:
    rng = np.random.default_rng(seed)
    rows = (1.0 - least_exit) * rng.dirichlet(np.ones(states + 1), (2, states, 2))
    rows[..., -1] += least_exit
    return LinearCSSP.dense(rng.uniform(least_loss, 1.0, (2, states, 2)), rows)


PROBLEM = dense(4, seed=0)
FLOOR, BOUND = 0.1, 3.0  # B* is 2.45
EASY = dense(2, seed=0, least_loss=0.9, least_exit=0.8)  # B* is 1.12
NARROW = scaled(paper(), by=0.02)
SETTINGS: dict[str, dict[str, Any]] = {
    "paper widths": {"loss_floor": FLOOR, "loss_bound": BOUND},
    "narrow widths": {"loss_floor": FLOOR, "loss_bound": BOUND, "widths": NARROW},
    "doubling": {"loss_floor": FLOOR, "widths": NARROW},
    "doubling, forgetting": {"loss_floor": FLOOR, "widths": scaled(paper(), by=0.2), "forget": True},
    "zero losses": {"loss_floor": 0.0, "loss_bound": 30.0, "episodes": 500},
    "rough planning": {"loss_floor": FLOOR, "loss_bound": BOUND, "widths": NARROW, "tolerance": 0.4},
}


def learner_of(settings: dict[str, Any], problem: LinearCSSP = PROBLEM) -> LRCSSP:
    return lr_cssp(problem.support, problem.context_size, **settings)


def run(learner: Any, problem: LinearCSSP = PROBLEM, *, contexts: Any = None, **others: Any) -> History:
    environment = partial(ModelEnvironment, problem, losses=bernoulli())
    given = {"episodes": 200, "seed": 3, "environment": environment, **others}
    return play(problem, learner, contexts or Dirichlet.symmetric(problem.context_size), **given)


def audited_run(learner: Any, problem: LinearCSSP = PROBLEM, *, audit: Any = True, **others: Any) -> RegretDiagnostics:
    found = run(learner, problem, audit=audit, **others).diagnostics
    assert found is not None
    return found


def same(one: RegretDiagnostics, other: RegretDiagnostics) -> None:
    for name in RegretDiagnostics.__annotations__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_five_terms_sum_to_the_realised_regret(name: str, compiled: bool) -> None:
    history = run(learner_of(SETTINGS[name]), audit=AuditOptions(loss_bound=BOUND), compiled=compiled, episodes=40)
    report = history.diagnostics
    assert report is not None
    assert sum(report.terms) == report.regret == report.terms.total
    assert abs(report.regret - history.total_regret) <= 1e-9 * history.loss.sum()
    assert (report.episodes, report.steps) == (history.episodes, history.steps.sum())
    assert report.intervals == history.intervals.sum()
    assert report.unknown_visits.sum() == history.unknown_steps.sum()


@pytest.mark.parametrize("name", SETTINGS)
def test_an_audit_changes_nothing_that_the_learner_plays_in_either_loop(name: str) -> None:
    alone = run(learner_of(SETTINGS[name]), episodes=30)
    reports = []
    for compiled in (True, False):
        history = run(learner_of(SETTINGS[name]), audit=AuditOptions(loss_bound=BOUND), compiled=compiled, episodes=30)
        for column in PER_EPISODE:
            np.testing.assert_array_equal(getattr(history, column), getattr(alone, column), err_msg=column)
        reports.append(history.diagnostics)
    same(*reports)


def inside(learner: LRCSSP, problem: LinearCSSP) -> bool:
    """Whether the truth lies in all sets, by the formulas of the paper and NumPy (full supports, every S_i = S)."""
    statistics, settings, support = learner.statistics, learner.settings, problem.support
    size, states, scale = settings.context_size, support.states, settings.widths.scale
    logs = np.log1p(statistics.visits / settings.regularization)
    root = sqrt(settings.regularization)
    # Data that was forgotten r times has the share 6 / (pi (r + 1))^2 of delta.
    delta = settings.delta * (6.0 / (pi * (learner.doublings + 1)) ** 2 if settings.forget else 1.0)
    rho = scale * (np.sqrt(size * (log(8 * support.pairs * states / delta) + logs)) + root)
    loss_rho = scale * (np.sqrt(size * (log(8 * support.pairs / delta) + logs)) + root)
    off = problem.losses - learner.estimate.losses
    losses = np.sqrt(np.einsum("nj,njk,nk->n", off, statistics.gram, off))
    off_rows = (problem.probabilities - learner.estimate.rows).reshape(support.pairs, states + 1, size)[:, :-1]
    rows = np.sqrt(np.einsum("nsj,njk,nsk->n", off_rows, statistics.gram, off_rows))
    radius = rho * (sqrt(states) if settings.widths.joint else 1.0)
    return bool((losses <= loss_rho).all() and (rows <= radius).all())


def drive(audit: LearnerAudit, *, episodes: int) -> list[tuple[bool, int, float]]:
    """Plays in the plain loop. For each interval: whether the truth was in all sets, its number m, its loss."""
    environment = ModelEnvironment(audit.problem, losses=bernoulli(), rng=np.random.default_rng(1))
    intervals: list[tuple[bool, int, float]] = []
    for k in range(episodes):
        context = np.array([0.3, 0.7]) if k % 3 else np.array([1.0, 0.0])
        state, episode, begun = environment.begin(context), audit.begin(context), 0
        while not episode.ended:
            number = audit.learner.intervals
            step = environment.step(episode.act(state))
            if episode.intervals > begun:
                begun = episode.intervals
                intervals.append((inside(audit.learner, audit.problem), number, 0.0))
            covered, number, loss = intervals[-1]
            intervals[-1] = (covered, number, loss + step.loss)
            episode.observe(step)
            state = step.next_state
    return intervals


@pytest.mark.parametrize(
    "settings",
    [
        {**SETTINGS["paper widths"], "widths": scaled(paper(), by=0.22)},
        {**SETTINGS["paper widths"], "widths": scaled(printed(), by=0.4)},
        {**SETTINGS["paper widths"], "widths": scaled(paper(), by=0.1)},
        {"loss_floor": FLOOR, "widths": scaled(paper(), by=0.2), "forget": True},
    ],
)
def test_coverage_counts_the_intervals_that_begin_with_the_truth_in_all_sets(settings: dict[str, Any]) -> None:
    audit = LearnerAudit(learner_of(settings), PROBLEM, AuditOptions(loss_bound=BOUND))
    covered = [held for held, _, _ in drive(audit, episodes=300)]
    report = audit.report()
    assert (report.intervals, report.covered_intervals) == (len(covered), sum(covered))
    assert report.covered == all(covered)
    assert report.coverage == np.mean(covered)
    assert (audit.learner.doublings > 0) == ("forget" in settings)


def test_interval_losses_are_held_against_48_b_log() -> None:
    # One pair that arrives with probability 0.2; once it is known, an interval is the rest of an episode.
    waiting = LinearCSSP.dense([[[0.9]], [[0.9]]], [[[[0.8, 0.2]]], [[[0.8, 0.2]]]])
    learner = LRCSSP(waiting.support, 2, loss_floor=0.9, loss_bound=1.0, widths=scaled(paper(), by=1e-6))
    audit = LearnerAudit(learner, waiting, AuditOptions(loss_bound=0.02))
    shares = [loss / (48.0 * 0.02 * log(4.0 * number / 0.1)) for _, number, loss in drive(audit, episodes=1200)]
    report = audit.report()
    assert report.intervals < 0.9 * report.steps
    assert report.interval_share == pytest.approx(max(shares), rel=1e-12)
    assert report.long_intervals == sum(share > 1.0 for share in shares) > 0
    assert not report.good_event


def test_the_martingale_is_followed_over_all_steps() -> None:
    learner, environment = learner_of(SETTINGS["narrow widths"]), partial(ModelEnvironment, PROBLEM, losses=bernoulli())
    simulation = Simulation(PROBLEM, learner, Dirichlet.symmetric(2), seed=3, environment=environment, audit=True)
    largest = 0.0
    for _ in range(30):  # one more part of the run each; the share at their ends is a lower bound of the largest
        report = simulation.run(5).diagnostics
        assert report is not None
        fair = report.loss_bound * sqrt(report.steps * log(4.0 * report.steps / 0.1))
        largest = max(largest, report.terms.martingale / fair)
    assert report.episodes == 150
    assert 0.0 < largest <= report.martingale_share < 1.0


def test_the_bounds_hold_and_each_is_sharper_than_the_next() -> None:
    bounds = context_bounds(EASY)
    settings = {"loss_floor": bounds.loss_floor, "loss_bound": bounds.loss_bound.upper}
    report = audited_run(learner_of(settings, EASY), EASY, episodes=30_000)
    assert report.good_event
    assert report.potential <= 1.0
    assert report.regret <= report.own_bound <= report.measured_bound <= report.lemma_bound
    assert (report.unknown_visits <= report.unknown_visits_bound).all()


def test_widths_are_twice_the_radii_along_the_run() -> None:
    learner = learner_of({**SETTINGS["paper widths"], "widths": scaled(paper(), by=0.3)})
    audit = LearnerAudit(learner, PROBLEM, AuditOptions(loss_bound=2.0))
    environment = ModelEnvironment(PROBLEM, rng=np.random.default_rng(1))
    expected = 0.0
    for k in range(200):
        context = np.eye(2)[k % 2]
        state, episode = environment.begin(context), audit.begin(context)
        while not episode.ended:
            step = environment.step(episode.act(state))
            pair = PROBLEM.support.pair(step.state, step.action)
            logs = np.log1p(learner.statistics.visits[pair])
            rho = 0.3 * (sqrt(2 * (log(8 * 8 * 4 / 0.1) + logs)) + 1.0)  # 8 pairs, 4 next states other than the goal
            loss_rho = 0.3 * (sqrt(2 * (log(8 * 8 / 0.1) + logs)) + 1.0)
            width = sqrt(context @ learner.statistics.inverse_gram[pair] @ context)
            expected += 2.0 * min(1.0, 2.0 * 4.0 * rho * width) + min(1.0, 2.0 * loss_rho * width)
            episode.observe(step)
            state = step.next_state
    assert audit._audit.totals["widths"] == pytest.approx(expected, rel=1e-12)


def test_while_the_sets_hold_the_truth_widths_bound_the_misjudgement_of_the_models() -> None:
    simulation = Simulation(PROBLEM, learner_of(SETTINGS["paper widths"]), Dirichlet.symmetric(2), audit=True)
    report = simulation.run(2000).diagnostics
    assert report is not None
    assert simulation.audit is not None
    assert report.covered
    widths = simulation.audit._audit.totals["widths"]
    assert 0.0 < report.terms.dynamics + report.terms.losses - report.loss_noise <= widths


def test_the_switching_term_is_at_most_the_rises_of_values_at_new_plans() -> None:
    # own_bound takes the rises for the switching term; the rest of that term is V(first state) - v*, not above 0.
    simulation = Simulation(PROBLEM, learner_of(SETTINGS["paper widths"]), Dirichlet.symmetric(2), audit=True)
    report = simulation.run(200).diagnostics
    assert report is not None
    assert simulation.audit is not None
    assert report.terms.switching <= simulation.audit._audit.totals["rises"] + 1e-9


def test_a_step_that_is_rejected_is_not_counted() -> None:
    audit = LearnerAudit(learner_of(SETTINGS["paper widths"]), PROBLEM)
    episode = audit.begin([0.5, 0.5])
    action = episode.act(0)
    for wrong, error in (
        (Step(1, action, 0.5, 2), LearnerError),
        (Step(0, 1 - action, 0.5, 2), LearnerError),
        (Step(0, action, 1.5, 2), InputError),
    ):
        with pytest.raises(error):
            episode.observe(wrong)
    assert audit.report().steps == 0
    episode.observe(Step(0, action, 0.5, 4))
    with pytest.raises(LearnerError):
        episode.observe(Step(0, action, 0.5, 4))
    assert audit.report().steps == 1
    assert (episode.ended, episode.intervals, episode.unknown_steps) == (True, 1, 1)


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="give the loss_bound of the checks"):
        run(learner_of(SETTINGS["doubling"]), audit=True)
    with pytest.raises(InputError, match="loss_bound is -1"):
        AuditOptions(loss_bound=-1)
    with pytest.raises(InputError, match="time_bound is 0"):
        AuditOptions(time_bound=0.0)
    with pytest.raises(InputError, match="only an LRCSSP has confidence sets to audit"):
        run(Clairvoyant(PROBLEM), audit=True)
    with pytest.raises(InputError, match="audit"):
        run(learner_of(SETTINGS["paper widths"]), audit="yes")
    with pytest.raises(InputError, match="other states or actions"):
        LearnerAudit(learner_of(SETTINGS["paper widths"]), EASY)
    other = ModelEnvironment(dense(4, seed=1), rng=np.random.default_rng(0))
    simulation = Simulation(PROBLEM, learner_of(SETTINGS["paper widths"]), Dirichlet.symmetric(2), audit=True)
    simulation.environment = other
    with pytest.raises(InputError, match="another problem"):
        simulation.run(1)
