"""j. When the world changes: false alarms, how soon a change is found, and what relearning is worth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound import GreedyRidge, LinearCSSP, LocalOptimism, ModelEnvironment, Monitored, PosteriorSampling
from goalbound.around.monitor import RUN_LENGTH, ChangeAlarm, ChangeDetector
from goalbound.errors import ChangeWarning
from goalbound.jit.compile import compiled_ahead
from goalbound.learners.visits import StepArrays
from goalbound.logs import Log
from goalbound.planning import optimal_values
from goalbound.problems import incident_recovery
from guarantees.in_use import FLOOR, SPREAD
from guarantees.incident_cases import NOISE, expected_regret, new_cases, recorded_log
from guarantees.quiet_logs import CAPS, QUIET, under_cap
from guarantees.result import Check, Notify, Result, ignore_progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BROKEN = "fail over"
LEFT = 0.2
"""This share of the probability of the goal is left to the action that breaks; the rest leads down."""
SOON = 100
"""Cases within which a change is to be found."""
QUIET_CASES = 10_000
"""There is to be at most one false alarm in so many quiet cases."""
KIND_STEPS = 10_000
SHORT_RUN = 500.0
"""The run length at which the proven one is measured."""


@dataclass(frozen=True)
class Size:
    """How many quiet cases, and how many changes."""

    quiet_logs: int = 30
    """logs of the runbook with deviations, each with a detector of its own"""
    log_cases: int = 20_000
    kind_logs: int = 20
    """logs of each kind of quiet_logs.py, of 10,000 steps, with each cap"""
    live_runs: int = 4
    """of a learner that acts by itself in a world that does not change"""
    live_cases: int = 5000
    known_runs: int = 400
    """of a detector that is given the model, until its first alarm"""
    seeds: int = 10
    """changes, each after a log and live cases of its own"""
    before: int = 1000
    """cases of the log; then 500 live ones, and the change"""
    after: int = 2000
    """cases in which the learners are compared once the change was found"""


QUICK = Size(
    quiet_logs=4, log_cases=10_000, kind_logs=2, live_runs=1, live_cases=1000, known_runs=60, seeds=3, after=500
)
LIVE_BEFORE = 500


class Handled(NamedTuple):
    """The steps of cases that were handled one by one."""

    case: Ints
    pair: Ints

    def expected_loss(self, problem: LinearCSSP, contexts: Floats) -> float:
        """The expected loss of a case: the clairvoyant's, and the regret of each step."""
        optimal = float(optimal_values(problem, contexts)[:, problem.start].sum())
        return (optimal + expected_regret(problem, contexts, self.case, self.pair)) / len(contexts)


class Found(NamedTuple):
    """What became of one change."""

    delay: int | None
    """cases from the change to its alarm; None: there was none"""
    alarm: ChangeAlarm | None
    since_error: int
    """cases from the change to when the alarm says it was"""
    losses: dict[str, float]
    """the expected loss of a case afterwards, by learner"""


def with_broken_action(problem: LinearCSSP, action: str = BROKEN, left: float = LEFT) -> LinearCSSP:
    """The problem in which an action succeeds more rarely: what it loses of the goal's probability leads down."""
    support, rows = problem.support, problem.probabilities.copy()
    for pair in np.flatnonzero(support.pair_action == support.action(action)).tolist():
        row = support.row(pair)
        following = support.next_state[row]
        goal, down = (int(np.flatnonzero(following == support.state(name))[0]) + row.start for name in ("goal", "down"))
        rows[down] += (1.0 - left) * rows[goal]
        rows[goal] *= left
    return LinearCSSP(
        support, problem.losses, rows, start=problem.start, component_names=problem.component_names,
        loss_scale=problem.loss_scale,
    )  # fmt: skip


def handle(
    learner: Any,
    problem: LinearCSSP,
    contexts: Floats,
    rng: np.random.Generator,
    stop: Callable[[], bool] | None = None,
) -> Handled:
    """Handle cases one by one, until all are done or ``stop()`` says so after one."""
    environment = ModelEnvironment(problem, losses=NOISE, rng=rng)
    steps: list[tuple[int, int]] = []
    for case, context in enumerate(contexts):
        episode, state = learner.begin(context), environment.begin(context)
        while state != problem.support.states:
            step = environment.step(episode.act(state))
            episode.observe(step)
            steps.append((case, problem.support.pair(state, step.action)))
            state = step.next_state
        if stop is not None and stop():
            break
    return Handled(*np.array(steps, dtype=np.int64).T)


def change(size: Size, notify: Notify = ignore_progress) -> Result:
    """Count false alarms in quiet cases, then let the failover break and see when it is found and what helps."""
    problem = incident_recovery()
    with compiled_ahead(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ChangeWarning)
        quiet = _quiet_logs(problem, size, notify)
        kinds = {kind: _quiet_kind(kind, size, notify) for kind in QUIET}
        live = _quiet_runs(problem, size, notify)
        known = _known_model(problem, size, notify)
        found = {
            name: [_one_change(problem, size, make, seed, notify) for seed in range(size.seeds)]
            for name, make in _learners(problem).items()
        }
    return Result(
        "j", "when the world changes",
        f"incident-recovery, d = 12; run length {RUN_LENGTH:,} steps. Quiet: {size.quiet_logs} logs of "
        f"{size.log_cases:,} cases, {size.live_runs} x {size.live_cases:,} live ones. Change: after a log of "
        f"{size.before:,} cases and {LIVE_BEFORE} live ones, {BROKEN} reaches the goal {LEFT:g} times as often, in all "
        f"states; {size.seeds} seeds; then {size.after:,} cases",
        [*_quiet_checks(quiet, live, known), *_kind_checks(kinds),
         *(check for name, each in found.items() for check in _checks(name, each))],
        ["learner", "seed", "found after", "since, off by", "named", "still old", "relearned", "since only", "fresh"],
        [_row(name, seed, one) for name, each in found.items() for seed, one in enumerate(each)], REMARKS,
    )  # fmt: skip


REMARKS = [
    "found after: cases from the change to its alarm; since, off by: from the change to when the alarm says it was",
    "the last four: the expected minutes of a case after the alarm, in the changed world, of the learner that goes on "
    "with all it knows, of relearned(), of relearned(keep_others=False), and of one that began at the change",
    "with estimated forecasts the run length is measured; with a given model it is proven, and checked here at "
    f"{SHORT_RUN:g} steps",
]


def _learners(problem: LinearCSSP) -> dict[str, Callable[[int], Any]]:
    size, support = problem.context_size, problem.support
    return {
        "LocalOptimism": lambda seed: LocalOptimism(support, size, loss_floor=FLOOR),
        "greedy": lambda seed: GreedyRidge(support, size, loss_floor=FLOOR),
        "Thompson": lambda seed: PosteriorSampling(
            support,
            size,
            loss_floor=FLOOR,
            spread=SPREAD,
            by_variance=False,
            optimism=0.0,
            patience=np.inf,
            rng=np.random.default_rng(seed),
        ),
    }


class Quiet(NamedTuple):
    """Quiet cases, their steps, and the false alarms in them."""

    cases: int
    steps: int
    alarms: int


def _quiet_logs(problem: LinearCSSP, size: Size, notify: Notify) -> Quiet:
    """A detector that is restarted after each alarm, over logs that do not change."""
    steps = alarms = 0
    for number in range(size.quiet_logs):
        notify(f"quiet log {number} of {size.log_cases:,} cases", number, size.quiet_logs)
        log = recorded_log(problem, size.log_cases, seed=10_000 + number)
        detector = ChangeDetector(problem.support, problem.context_size)
        for first in range(0, len(log), 1000):
            alarms += detector.enter(_steps(log, first, first + 1000), log.case_of[first : first + 1000])
            detector.acknowledge()
        steps += len(log)
    return Quiet(size.quiet_logs * size.log_cases, steps, alarms)


def _quiet_kind(kind: str, size: Size, notify: Notify) -> dict[float, Quiet]:
    """By cap: a detector that is restarted after each alarm, over logs of a kind."""
    steps, alarms = 0, dict.fromkeys(CAPS, 0)
    for number in range(size.kind_logs):
        notify(f"quiet logs: {kind}", number, size.kind_logs)
        problem, drawn = QUIET[kind](KIND_STEPS, 500 + number)
        steps += len(drawn.pairs)
        for cap in CAPS:
            detector, log = ChangeDetector(problem.support, problem.context_size), under_cap(drawn, cap)
            for first in range(0, len(log.pairs), 500):
                part = StepArrays._make(column[first : first + 500] for column in log)
                alarms[cap] += detector.enter(part, np.zeros(len(part.pairs), dtype=np.int64))
                detector.acknowledge()
    return {cap: Quiet(size.kind_logs, steps, alarms[cap]) for cap in CAPS}


def _kind_checks(kinds: dict[str, dict[float, Quiet]]) -> list[Check]:
    return [
        Check(
            f"{kind}: at most one false alarm in {RUN_LENGTH:,} steps, whatever the cap",
            all(quiet.alarms * RUN_LENGTH <= quiet.steps for quiet in by_cap.values()),
            "; ".join(f"{cap:g} x the largest loss: {one.alarms} in {one.steps:,}" for cap, one in by_cap.items()),
        )
        for kind, by_cap in kinds.items()
    ]


def _steps(log: Log, first: int, last: int) -> StepArrays:
    return StepArrays._make(column[first:last] for column in log.arrays())


def _quiet_runs(problem: LinearCSSP, size: Size, notify: Notify) -> Quiet:
    """A learner that acts by itself after a log."""
    steps = alarms = 0
    for seed in range(size.live_runs):
        notify(f"quiet run {seed} of {size.live_cases:,} live cases", seed, size.live_runs)
        monitor = Monitored(_learners(problem)["greedy"](seed), window=0)
        monitor.learn_log(recorded_log(problem, size.before, seed=20_000 + seed))
        alarms += len(monitor.detector.alarms)
        monitor.acknowledge()
        contexts = new_cases(problem, size.live_cases, seed=30_000 + seed).contexts
        steps += len(handle(monitor, problem, contexts, np.random.default_rng(seed)).case)
        alarms += len(monitor.detector.alarms)
    return Quiet(size.live_runs * size.live_cases, steps, alarms)


def _known_model(problem: LinearCSSP, size: Size, notify: Notify) -> Floats:
    """[runs] steps until the first alarm of a detector that is given the model."""
    notify("detectors that are given the model", 0, 1)
    lengths: list[int] = []
    number = 40_000
    log, at = recorded_log(problem, size.log_cases, seed=number), 0
    while len(lengths) < size.known_runs:
        detector, length = ChangeDetector(problem.support, problem.context_size, run_length=SHORT_RUN, model=problem), 0
        while not detector.alarms:
            if at >= len(log):
                number, at = number + 1, 0
                log = recorded_log(problem, size.log_cases, seed=number)
            raised = detector.enter(_steps(log, at, at + 50), log.case_of[at : at + 50])
            length = detector.alarms[0].step if raised else detector.steps
            at += 50
        lengths.append(length)
    return np.array(lengths, dtype=np.float64)


def _one_change(problem: LinearCSSP, size: Size, make: Callable[[int], Any], seed: int, notify: Notify) -> Found:
    notify(f"change {seed}", seed, size.seeds)
    changed, world = with_broken_action(problem), np.random.default_rng(50_000 + seed)
    monitor = Monitored(make(seed))
    monitor.learn_log(recorded_log(problem, size.before, seed=60_000 + seed))
    handle(monitor, problem, new_cases(problem, LIVE_BEFORE, seed=70_000 + seed).contexts, world)
    monitor.acknowledge()  # a false alarm before the change is counted among the quiet ones
    first = size.before + LIVE_BEFORE
    cases = new_cases(problem, 10 * SOON, seed=80_000 + seed).contexts
    handle(monitor, changed, cases, world, lambda: monitor.change is not None)
    alarm = monitor.change
    if alarm is None:
        return Found(None, None, 0, {})
    delay = alarm.case - first + 1
    fresh = make(seed)
    handle(fresh, changed, cases[:delay], np.random.default_rng(90_000 + seed))
    after = new_cases(problem, size.after, seed=100_000 + seed).contexts
    learners = {
        "relearned": monitor.relearned(), "since only": monitor.relearned(keep_others=False), "fresh": fresh,
        "still old": monitor.inner,
    }  # fmt: skip
    losses = {
        name: handle(one, changed, after, np.random.default_rng(seed)).expected_loss(changed, after)
        for name, one in learners.items()
    }
    return Found(delay, alarm, alarm.since_case - first, losses)


def _quiet_checks(quiet: Quiet, live: Quiet, known: Floats) -> list[Check]:
    checks = [
        Check(f"{what}: at most one false alarm in {QUIET_CASES:,} cases",
              one.alarms * QUIET_CASES <= max(one.cases, QUIET_CASES),
              f"{one.alarms} in {one.cases:,} cases ({one.steps:,} steps)")
        for what, one in (("quiet logs", quiet), ("quiet live cases", live))
    ]  # fmt: skip
    error = float(known.std() / np.sqrt(len(known)))
    checks.append(
        Check(f"model given: {SHORT_RUN:g} steps or more until a false alarm, on average",
              float(known.mean()) + 3.0 * error >= SHORT_RUN,
              f"{known.mean():,.0f} +- {error:,.0f} in {len(known)} runs")
    )  # fmt: skip
    return checks


def _checks(name: str, found: list[Found]) -> list[Check]:
    soon = [one for one in found if one.delay is not None and one.delay <= SOON]
    spared = max(1, len(found) // 10)
    named = [one for one in found if one.alarm is not None and _names_broken_action(one.alarm)]
    ratios = {
        key: float(
            np.mean([one.losses[key] for one in found if one.losses])
            / np.mean([one.losses["fresh"] for one in found if one.losses])
        )
        for key in ("relearned", "since only", "still old")
    }  # fmt: skip
    return [
        Check(f"{name}: found within {SOON} cases in {len(found) - spared} of {len(found)} runs",
              len(soon) >= len(found) - spared,
              f"{len(soon)} of {len(found)}; after {', '.join(str(one.delay) for one in found)}"),
        Check(f"{name}: what is named is {BROKEN}", len(named) >= len(found) - spared, f"{len(named)} of {len(found)}"),
        Check(f"{name}: relearned() loses at most 10% more than one that began at the change",
              ratios["relearned"] <= 1.1, f"{ratios['relearned'] - 1:+.1%} on average "
              f"(going on with all that was learned: {ratios['still old'] - 1:+.1%})"),
        Check(f"{name}: so does relearned(keep_others=False)", ratios["since only"] <= 1.1,
              f"{ratios['since only'] - 1:+.1%} on average"),
        Check(f"{name}: relearned() loses less than one that goes on", ratios["relearned"] < ratios["still old"],
              f"{ratios['relearned'] / ratios['still old'] - 1:+.1%} on average"),
    ]  # fmt: skip


def _names_broken_action(alarm: ChangeAlarm) -> bool:
    support = alarm.support
    return all(support.pair_action[pair] == support.action(BROKEN) for pair in alarm.pairs)


def _row(name: str, seed: int, one: Found) -> list[Any]:
    named = "" if one.alarm is None else ("action" if one.alarm.action is not None else "pair")
    minutes = [
        60.0 * one.losses[key] if one.losses else None for key in ("still old", "relearned", "since only", "fresh")
    ]
    return [name, seed, one.delay, one.since_error, named, *minutes]
