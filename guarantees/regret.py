"""a. Regret grows like the square root of the number of episodes, and stays below its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound import Dirichlet, History
from goalbound.simulation.diagnostics import RegretDiagnostics
from goalbound.simulation.regret_bounds import steps_rate, theorem_rate
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, Instance, certified, dense, diagnostics, easy, run_episodes, simulation


@dataclass(frozen=True)
class Size:
    """How long the runs are, and how many."""

    episodes: int = 1_000_000
    seeds: int = 3
    points: int = 31
    """Points of the curves, evenly spaced in the logarithm."""
    max_exponent: float = 0.6
    """The required growth exponent over the last decade; shorter runs are not there yet."""


QUICK = Size(episodes=100_000, seeds=1, points=16, max_exponent=0.7)
RANDOM, EASY, TIES = "random", "easy", "near ties"


def regret(size: Size, notify: Notify = ignore_progress) -> Result:
    """Play long runs on dense random problems, and one on a problem that is easy enough for pairs to become known."""
    cases = {f"{RANDOM} {seed}": certified(dense(4, seed=seed)) for seed in range(size.seeds)}
    cases[EASY] = certified(easy())
    cases[TIES] = certified(easy(3))
    rows, curves, checks = [], {}, []
    for place, (name, instance) in enumerate(cases.items()):
        notify(f"{name}, {size.episodes:,} episodes", place, len(cases))
        history, reports = _play(instance, size, seed=place)
        curves[name] = _curve(history, reports)
        rows.append(_row(name, instance, history, reports[-1]))
        checks += _checks(name, size, history, reports)
    return Result(
        "a", "regret grows like the square root of the episodes",
        f"paper widths, delta = {DELTA}; K = {size.episodes:,}, contexts uniform on the simplex (d = 2), losses 0 or "
        "1; random: S = 4, A = 2; easy and near ties: S = 2 and 3, A = 2, losses from 0.9, exits from 0.8",
        checks, COLUMNS, rows, REMARKS, curves,
    )  # fmt: skip


COLUMNS = [
    "problem", "B", "l_min", "steps", "known", "regret", "expected", "exponent", "own bound", "measured", "lemma",
    "optimal loss", "theorem's rate", "steps' rate",
]  # fmt: skip
REMARKS = [
    "the exponent is the slope of log(expected regret) over log(episode) in the last decade. It falls as K grows, and "
    "below 1/2 where the gaps of a fixed problem come to be seen: the theorem is for the worst problem",
    "nothing is asked of the exponents of the other two, whose losses differ by less than 0.1: mistakes are small, "
    "and found late. The theorem bounds regret, not slopes",
    "as long as no pair is known, every step makes a new plan, and the lemma's B for each of them alone exceeds all "
    "that is paid: the bound is true and says nothing. On the easy problem pairs become known, and it says something",
    "the learner's own bound counts how far its values rose at new plans instead of B for each; it grows like the "
    "square root, and says something from where it is below the optimal loss of all episodes",
    "rates are what stands inside the O-tilde: no bounds",
]


def _play(instance: Instance, size: Size, *, seed: int) -> tuple[History, list[RegretDiagnostics]]:
    """An audited run, with a report at each point of the curves."""
    run = simulation(instance.problem, instance.learner(), Dirichlet.symmetric(2), seed=seed, audit=True)
    parts, reports = [], []
    stops = np.unique(np.geomspace(10, size.episodes, size.points).round().astype(int)).tolist()
    for before, stop in zip([0, *stops], stops, strict=False):
        parts.append(run_episodes(run, stop - before))
        reports.append(diagnostics(parts[-1]))
    return History.concatenate(parts), reports


def _curve(history: History, reports: list[RegretDiagnostics]) -> dict[str, Any]:
    """The numbers of the figures, one for each report; the exponent from the second decade on."""
    at = [report.episodes for report in reports]
    expected = history.cumulative_expected_regret
    local = [
        float(np.log10(expected[k - 1] / expected[round(k / 10) - 1])) if k >= 100 else None for k in at
    ]  # fmt: skip
    return {
        "episodes": at,
        "expected": [float(expected[k - 1]) for k in at],
        "optimal": [float(history.optimal_loss[:k].sum()) for k in at],
        "realised": [report.regret for report in reports],
        "own": [report.own_bound for report in reports],
        "measured": [report.measured_bound for report in reports],
        "lemma": [report.lemma_bound for report in reports],
        "unknown": [int(report.unknown_visits.sum()) / report.steps for report in reports],
        "exponent": local,
        "terms": {name: [getattr(report.terms, name) for report in reports] for name in reports[0].terms._fields},
    }


def _row(name: str, instance: Instance, history: History, last: RegretDiagnostics) -> list[Any]:
    rate = {
        "episodes": history.episodes, "delta": DELTA, "loss_floor": instance.loss_floor,
        "loss_bound": instance.loss_bound,
    }  # fmt: skip
    support, size = instance.problem.support, instance.problem.context_size
    known = 1.0 - float(last.unknown_visits.sum()) / last.steps
    return [
        name, instance.loss_bound, instance.loss_floor, last.steps, known, last.regret, history.total_expected_regret,
        history.growth_exponent(), last.own_bound, last.measured_bound, last.lemma_bound,
        float(history.optimal_loss.sum()), theorem_rate(support, size, **rate), steps_rate(support, size, **rate),
    ]  # fmt: skip


def _checks(name: str, size: Size, history: History, reports: list[RegretDiagnostics]) -> list[Check]:
    last = reports[-1]
    exponent, optimal = history.growth_exponent(), float(history.optimal_loss.sum())
    below = all(report.regret <= min(report.own_bound, report.measured_bound, report.lemma_bound) for report in reports)
    checks = []
    if name.startswith(RANDOM):
        claim = f"{name}: growth exponent at most {size.max_exponent}"
        checks.append(Check(claim, exponent <= size.max_exponent, f"{exponent:.3f}"))
    if name == EASY and size.episodes >= 1_000_000:
        claim = f"{name}: the lemma's bound says something"
        checks.append(Check(claim, last.lemma_bound < optimal, f"{last.lemma_bound:,.0f} < {optimal:,.0f}, all losses"))
    return [
        *checks,
        Check(f"{name}: regret below its bounds at all K", below, f"{last.regret:,.0f} < {last.own_bound:,.0f}"),
        Check(f"{name}: the good event held", last.good_event, f"largest shares {last.interval_share:.3f} (intervals), "
              f"{last.martingale_share:.3f} (martingale), n w^2 {last.potential:.2f}"),
        Check(f"{name}: unknown visits at most what is certain",
              bool((last.unknown_visits <= last.unknown_visits_bound).all()),
              f"{last.unknown_visits.sum():,} of {last.steps:,} steps, at most {last.unknown_visits_bound.sum():,.0f}"),
    ]  # fmt: skip
