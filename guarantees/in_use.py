"""h. In use: from a log to bounds, and to decisions that are nearly those of a clairvoyant."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound import LRCSSP, GreedyRidge, LinearCSSP, ModelEnvironment, PosteriorSampling
from goalbound.adapters.covariates import CovariateLearner
from goalbound.confidence import Widths, scaled, sharp
from goalbound.jit.compile import compiled_ahead
from goalbound.logs import Log
from goalbound.planning import evaluate, optimal_values
from goalbound.problems import incident_recovery, runbook
from goalbound.simulation import FromArray, Simulation
from guarantees.incident_cases import (
    DAY,
    NOISE,
    Cases,
    Handled,
    Way,
    expected_regret,
    handle,
    new_cases,
    recorded_log,
    same_bits,
    with_overrides,
)
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, run_episodes

FLOOR, BOUND = 5.0 / 60.0, 1.27
"""The loss floor and the loss bound that the docstring of ``incident_recovery`` proves."""
NARROW = 0.01
"""The scale at which the bounds are expected to fail."""
SPREAD = 0.1
WITHOUT_LOG = "one by one, without the log"


@dataclass(frozen=True)
class Size:
    """How large the log is, and how many cases follow."""

    log_cases: int = 5000
    cases: int = 4000
    seeds: int = 3
    """Runs of each learner and way, each with a log and new cases of its own."""
    contexts: int = 30
    """At so many contexts of each run bounds are compared with the truth."""
    open_cases: int = 50
    max_excess: float = 0.05
    """The required excess over the clairvoyant's loss; what is tried at first weighs more where fewer cases follow."""


QUICK = Size(cases=1000, seeds=1, contexts=10, max_excess=0.08)


class Bounds(NamedTuple):
    """Bounds and truth [K, S] of one policy for each of K contexts."""

    lower: NDArray[np.float64]
    truth: NDArray[np.float64]
    upper: NDArray[np.float64]
    proven: bool

    @property
    def held(self) -> int:
        """At how many contexts the truth of all states lies between the bounds."""
        return int(((self.lower <= self.truth) & (self.truth <= self.upper)).all(axis=1).sum())


class Excess(NamedTuple):
    """What was lost beyond the clairvoyant, as a share of the clairvoyant's expected loss."""

    steps: int
    expected: float
    """the expected regret; the clairvoyant is overridden as often"""
    undisturbed: float
    """the expected regret against a clairvoyant who is never overridden"""
    realised: float
    """by the losses as they came, against the clairvoyant's expected ones"""


def in_use(size: Size, notify: Notify = ignore_progress) -> Result:
    """Fit learners to logs, compare their bounds with the truth, and let them handle new cases."""
    problem = incident_recovery()
    bounds: list[dict[str, Bounds]] = []
    found: dict[tuple[str, str], list[Excess]] = {}
    same: list[bool] = []
    for seed in range(size.seeds):
        notify(f"log {seed} of {size.log_cases} cases, bounds", seed, size.seeds)
        log = recorded_log(problem, size.log_cases, seed=3 * seed)
        cases = new_cases(problem, size.cases, seed=3 * seed + 1)
        bounds.append(_all_bounds(problem, log, size, seed=3 * seed + 2))
        found.setdefault(("runbook", "always"), []).append(_runbook_excess(problem, cases))
        for name, make in _learners(problem, seed).items():
            notify(f"log {seed}: {name}, {size.cases} cases in each way", seed, size.seeds)
            for way, excess in _handled(problem, log, cases, make, size, seed=seed).items():
                found.setdefault((name, way), []).append(excess)
            same.append(_restart_changes_nothing(problem, log, cases, make, size, seed=seed))
    return Result(
        "h", "in use: from a log to decisions",
        f"incident-recovery, d = 12; logs of {size.log_cases:,} cases by a runbook with 30% random deviations; bounds: "
        f"sharp widths, delta = {DELTA}, {size.contexts} contexts; then {size.cases:,} new cases by the same law; "
        f"{size.seeds} runs, each with its own log; Thompson: spread {SPREAD}",
        [*_bound_checks(bounds), *_excess_checks(found, size.max_excess),
         Check(f"a restart with {size.open_cases} open cases and overrides changes no bit", all(same),
               f"{sum(same)} of {len(same)} runs: the same steps, and the same bytes of the learner at the end")],
        ["learner", "cases", "runs", "steps", "excess", "worst", "undisturbed", "realised"],
        [_row(*key, each) for key, each in found.items()], REMARKS,
        {"bounds": _curve(bounds[0], problem.loss_scale),
         "excess": {f"{learner}, {way}": [one.expected for one in each] for (learner, way), each in found.items()}},
    )  # fmt: skip


REMARKS = [
    "excess: expected regret over the expected loss of a clairvoyant on the same contexts, the mean of the runs; the "
    "regret of a step is Q*(s, a) - V*(s) for the proposed action. Worst: the largest of the runs",
    "overridden: in 10% of the steps a person plays any action of the state, and the clairvoyant is overridden as "
    "often. Undisturbed: the same regret against a clairvoyant whom nobody overrides; most of it is the people's",
    "realised: losses as they came over the clairvoyant's expected ones; what is chance in it is not taken out",
    "without the log, and the runbook, show what the excess is compared with; nothing is claimed of them",
]


def _learners(problem: LinearCSSP, seed: int) -> dict[str, Callable[[], Any]]:
    support, size = problem.support, problem.context_size
    return {
        "greedy": lambda: GreedyRidge(support, size, loss_floor=FLOOR),
        "Thompson": lambda: PosteriorSampling(
            support,
            size,
            loss_floor=FLOOR,
            spread=SPREAD,
            by_variance=False,
            optimism=0.0,
            patience=np.inf,
            rng=np.random.default_rng(1000 + seed),
        ),
    }


def _fitted(make: Callable[[], Any], log: Log) -> Any:
    """A learner that has learned the log; the same bits as without compiling first, and sooner."""
    learner = make()
    with compiled_ahead():
        learner.learn_log(log)
    return learner


def ways(size: Size) -> dict[str, Way]:
    """The ways to handle cases step by step, by what the table calls them."""
    return {
        "overridden in 10% of the steps": Way(overrides=0.1),
        f"{size.open_cases} open at once": Way(open_cases=size.open_cases),
    }


def _handled(
    problem: LinearCSSP, log: Log, cases: Cases, make: Callable[[], Any], size: Size, *, seed: int
) -> dict[str, Excess]:
    """The excess of a learner in each way; one by one in the compiled loop, the others by ``act`` and ``observe``."""
    found = {
        "one by one": _played(problem, _fitted(make, log), cases, seed=seed),
        WITHOUT_LOG: _played(problem, make(), cases, seed=seed),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, way in ways(size).items():
            learner = CovariateLearner(DAY, _fitted(make, log))
            _, steps = handle(learner, problem, cases, way, seed=seed, folder=Path(folder))
            found[name] = excess_of(problem, cases, steps, way)
    return found


def _played(problem: LinearCSSP, learner: Any, cases: Cases, *, seed: int) -> Excess:
    environment = partial(ModelEnvironment, problem, losses=NOISE)
    run = Simulation(problem, learner, FromArray(cases.contexts), seed=seed, environment=environment)
    history = run_episodes(run, len(cases.contexts))
    optimal = float(history.optimal_loss.sum())
    expected = history.total_expected_regret / optimal
    return Excess(int(history.steps.sum()), expected, expected, float(history.loss.sum()) / optimal - 1.0)


def excess_of(problem: LinearCSSP, cases: Cases, steps: Handled, way: Way) -> Excess:
    """What the steps lost beyond the clairvoyant, overridden as often and not at all."""
    alike = with_overrides(problem, way.overrides) if way.overrides else problem
    optimal, undisturbed = (_optimal_loss(one, cases) for one in (alike, problem))
    return Excess(
        len(steps.case),
        expected_regret(alike, cases.contexts, steps.case, steps.proposed) / optimal,
        expected_regret(problem, cases.contexts, steps.case, steps.played) / undisturbed,
        float(steps.loss.sum()) / optimal - 1.0,
    )


def _optimal_loss(problem: LinearCSSP, cases: Cases) -> float:
    return float(optimal_values(problem, cases.contexts)[:, problem.start].sum())


def _runbook_excess(problem: LinearCSSP, cases: Cases) -> Excess:
    """That of the runbook, computed without a simulation."""
    policy = runbook(problem)
    found = [evaluate(problem.at(context), policy) for context in cases.contexts]
    loss, steps = (sum(float(one[problem.start]) for one in column)
                   for column in ([each.values for each in found], [each.hitting_times for each in found]))  # fmt: skip
    share = loss / _optimal_loss(problem, cases) - 1.0
    return Excess(round(steps), share, share, share)


def _restart_changes_nothing(
    problem: LinearCSSP, log: Log, cases: Cases, make: Callable[[], Any], size: Size, *, seed: int
) -> bool:
    """Whether cases that are open at once and overridden go on after a restart as they would have without one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ends = []
        for restart in (False, True):
            way = Way(overrides=0.1, open_cases=size.open_cases, restart=restart)
            learner = CovariateLearner(DAY, _fitted(make, log))
            ends.append(handle(learner, problem, cases, way, seed=seed, folder=folder))
        (learner, steps), (loaded, steps_after) = ends
        alike = all(np.array_equal(one, other) for one, other in zip(steps, steps_after, strict=True))
        return alike and same_bits(learner, loaded, folder)


def _all_bounds(problem: LinearCSSP, log: Log, size: Size, *, seed: int) -> dict[str, Bounds]:
    """The bounds of the runbook, of the plan and of the safest plan; and of the runbook by sets that are too narrow."""
    contexts = new_cases(problem, size.contexts, seed=seed).contexts
    learner, narrow = _bounding(problem, log, sharp()), _bounding(problem, log, scaled(sharp(), by=NARROW))
    usual = runbook(problem)
    return {
        "runbook": _bounds(problem, contexts, lambda context: learner.policy_bounds(context, usual)),
        "plan": _bounds(problem, contexts, learner.policy_bounds),
        "safest": _bounds(problem, contexts, learner.robust_plan),
        "narrow": _bounds(problem, contexts, lambda context: narrow.policy_bounds(context, usual)),
    }


def _bounding(problem: LinearCSSP, log: Log, widths: Widths) -> LRCSSP:
    make = partial(
        LRCSSP, problem.support, problem.context_size, loss_floor=FLOOR, loss_bound=BOUND, widths=widths, delta=DELTA
    )
    found: LRCSSP = _fitted(make, log)
    return found


def _bounds(problem: LinearCSSP, contexts: NDArray[np.float64], bound: Callable[[Any], Any]) -> Bounds:
    found = [bound(context) for context in contexts]
    exact = [evaluate(problem.at(context), one.policy) for context, one in zip(contexts, found, strict=True)]
    states = problem.support.states
    truth = [np.where(np.isinf(one.hitting_times), np.inf, one.values)[:states] for one in exact]
    return Bounds(
        np.array([one.lower[:states] for one in found]), np.array(truth),
        np.array([one.upper[:states] for one in found]), all(one.proven for one in found),
    )  # fmt: skip


def _bound_checks(runs: list[dict[str, Bounds]]) -> list[Check]:
    """Whether the bounds of each policy held; and those that are too narrow did not."""
    total = sum(len(run["runbook"].truth) for run in runs)
    checks = []
    for name, title in (("runbook", "the runbook"), ("plan", "the plan"), ("safest", "the plan of least worst case")):
        held = sum(run[name].held for run in runs)
        finite = sum(int(np.isfinite(run[name].upper).all(axis=1).sum()) for run in runs)
        checks.append(
            Check(f"the bounds of {title} are proven and hold the truth, for all states",
                  held == total and all(run[name].proven for run in runs),
                  f"at {held} of {total} contexts; all upper bounds finite at {finite}")
        )  # fmt: skip
    narrow = sum(run["narrow"].held for run in runs)
    checks.append(
        Check(f"the check can fail: bounds by {NARROW:g} x widths lose the truth", narrow < total,
              f"they hold at {narrow} of {total} contexts")
    )  # fmt: skip
    return checks


def _excess_checks(found: dict[tuple[str, str], list[Excess]], most: float) -> list[Check]:
    """Whether the learners that know the log come near the clairvoyant in every run, and the runbook does not."""
    claimed = [key for key in found if key[0] != "runbook" and key[1] != WITHOUT_LOG]
    checks = [
        Check(f"{name}, {way}: within {most:.0%} of the clairvoyant's loss in every run",
              max(one.expected for one in found[name, way]) <= most,
              ", ".join(f"{one.expected:.2%}" for one in found[name, way]))
        for name, way in claimed
    ]  # fmt: skip
    usual = [one.expected for one in found["runbook", "always"]]
    checks.append(
        Check("the check can fail: the runbook is not within it", min(usual) > most,
              ", ".join(f"{share:.2%}" for share in usual))
    )  # fmt: skip
    return checks


def _row(learner: str, way: str, runs: list[Excess]) -> list[Any]:
    steps = sum(run.steps for run in runs)
    expected, undisturbed, realised = (
        float(np.mean([getattr(run, name) for run in runs])) for name in ("expected", "undisturbed", "realised")
    )
    return [learner, way, len(runs), steps, expected, max(run.expected for run in runs), undisturbed, realised]


def _curve(bounds: dict[str, Bounds], unit: float) -> dict[str, Any]:
    """The bounds of the start in the first run, in minutes, in the order of what the runbook loses."""
    shown = {}
    order = np.argsort(bounds["runbook"].truth[:, 0])
    for name in ("runbook", "safest"):
        one = bounds[name]
        columns = {"lower": one.lower, "truth": one.truth, "upper": one.upper}
        shown[name] = {key: (unit * column[order, 0]).tolist() for key, column in columns.items()}
    return shown
