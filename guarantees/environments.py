"""f. Gymnasium environments: FrozenLake, CliffWalking and Taxi of Gymnasium, mixed by the context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound import Dirichlet
from goalbound.simulation import Simulation
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, certified, diagnostics, run_episodes

STEP_LIMIT = 1_000_000


@dataclass(frozen=True)
class Size:
    """Episodes of each environment; one that is left out is not played."""

    frozen_lake: int = 400
    cliff_walking: int = 40
    taxi: int = 5


QUICK = Size(frozen_lake=40, cliff_walking=4, taxi=0)


def environments(size: Size, notify: Notify = ignore_progress) -> Result:
    """Play the real environments; regret is measured against exact planning in their tables."""
    rows: list[list[Any]] = []
    curves: dict[str, Any] = {}
    reports = []
    wanted = {"FrozenLake-v1": size.frozen_lake, "CliffWalking-v1": size.cliff_walking, "Taxi-v4": size.taxi}
    for place, (name, episodes) in enumerate(wanted.items()):
        if episodes:
            notify(f"{name}, {episodes} episodes", place, len(wanted))
            row, curve, report = _played(name, episodes)
            rows.append(row)
            curves[name] = curve
            reports.append(report)
    abandoned = sum(row[3] for row in rows)
    steps = sum(row[4] for row in rows)
    return Result(
        "f", "Gymnasium environments",
        f"paper widths, delta = {DELTA}, the table's support; contexts uniform between two environments "
        "(ice of success rate 1 and 1/3, dry and slippery cliff, dry and rainy taxi); the plain loop, a call per step",
        [Check("no episode was abandoned", abandoned == 0, f"{steps:,} steps in real environments"),
         Check("regret below its own bound, the sets held the truth",
               all(report.covered and report.regret <= report.own_bound for report in reports),
               ", ".join(f"{report.regret:.0f} < {report.own_bound:.0f}" for report in reports)),
         Check("episodes become shorter", all(row[9] < row[8] for row in rows),
               ", ".join(f"{row[8]:,.0f} to {row[9]:,.0f} steps" for row in rows))],
        ["environment", "pairs", "episodes", "abandoned", "steps", "us / step", "regret", "optimal loss", "first half",
         "second half"], rows,
        ["first and second half: mean steps of an episode",
         "with the paper's widths the learner has hardly begun: each of Taxi's 2400 pairs has to be tried some tens of "
         "times before it is believed not to lead to the goal. Scaled widths learn sooner, and promise nothing"],
        curves,
    )  # fmt: skip


def _played(name: str, episodes: int) -> tuple[list[Any], dict[str, Any], Any]:
    import time

    from goalbound.adapters.gymnasium import ContextualGymEnvironment, from_environments

    environments = ENVIRONMENTS[name]()
    table = from_environments(environments)
    instance = certified(table.problem, tolerance=0.1)
    run = Simulation(
        table.problem, instance.learner(), Dirichlet.symmetric(2), seed=1, step_limit=STEP_LIMIT,
        environment=lambda rng: ContextualGymEnvironment(table, environments, rng=rng), audit=True,
    )  # fmt: skip
    begin = time.perf_counter()
    history = run_episodes(run, episodes)
    seconds = time.perf_counter() - begin
    half = history.episodes // 2
    steps = int(history.steps.sum())
    row = [
        name, table.problem.support.pairs, episodes, int(history.abandoned.sum()), steps, 1e6 * seconds / steps,
        history.total_regret, float(history.optimal_loss.sum()), float(np.mean(history.steps[:half])),
        float(np.mean(history.steps[half:])),
    ]  # fmt: skip
    curve = {
        "episodes": list(range(1, episodes + 1)),
        "realised": history.cumulative_regret.tolist(),
        "expected": history.cumulative_expected_regret.tolist(),
        "steps": history.steps.tolist(),
    }
    return row, curve, diagnostics(history)


def _lakes() -> list[Any]:
    import gymnasium

    return [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in (1.0, 1.0 / 3.0)]


def _cliffs() -> list[Any]:
    import gymnasium

    return [gymnasium.make("CliffWalking-v1", is_slippery=slips) for slips in (False, True)]


def _taxis() -> list[Any]:
    import gymnasium

    return [gymnasium.make("Taxi-v4"), gymnasium.make("Taxi-v4", is_rainy=True)]


ENVIRONMENTS: dict[str, Callable[[], list[Any]]] = {
    "FrozenLake-v1": _lakes,
    "CliffWalking-v1": _cliffs,
    "Taxi-v4": _taxis,
}
