"""d. Not being told the loss bound, or the loss floor, costs a small factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound import Dirichlet, LinearCSSP
from goalbound.simulation.regret_bounds import corollary_rate
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, certified, dense, easy, run_episodes, simulation

MAX_RATIO = 2.0


@dataclass(frozen=True)
class Size:
    """How long the runs are."""

    episodes: int = 300_000
    seeds: int = 3
    free_episodes: int = 10_000
    """Of the problem with free loops, whose optimal values take longer."""


QUICK = Size(episodes=50_000, seeds=1, free_episodes=1000)


def variants(size: Size, notify: Notify = ignore_progress) -> Result:
    """The same contexts for the informed learner and for those that are told less."""
    cases = {f"random {seed}": dense(4, seed=seed) for seed in range(size.seeds)}
    cases["easy"] = easy()
    cases["free loops"] = free_loops()
    rows: list[list[Any]] = []
    for place, (name, problem) in enumerate(cases.items()):
        rows += _compared(name, problem, size.episodes if name != "free loops" else size.free_episodes, place, notify)
    return Result(
        "d", "not being told the loss bound or the loss floor costs a small factor",
        f"paper widths, delta = {DELTA}; K = {size.episodes:,} ({size.free_episodes:,} with free loops), contexts "
        "uniform on the simplex (d = 2), losses 0 or 1",
        _checks(rows),
        ["problem", "variant", "B", "B found", "doublings", "epsilon", "regret", "ratio", "exponent", "abandoned",
         "optimal loss", "of the rate"], rows,
        ["ratio: expected regret over that of the informed learner, on the same contexts",
         "B matters only for what is known, so on the random problems, where nothing becomes known, the doubling "
         "learner plays the same steps; on the easy one it does not, once pairs are known",
         "free loops has pairs that lose nothing and lead back: there is no informed learner to compare with; epsilon "
         "is added to every step of the learner's own problem, and every episode ends",
         "of the rate: regret over what stands inside the corollary's O-tilde: no bound. Free loops have no finite T*"],
    )  # fmt: skip


def _compared(name: str, problem: LinearCSSP, episodes: int, place: int, notify: Notify) -> list[list[Any]]:
    """A row for each variant."""
    instance = certified(problem)
    rate = corollary_rate(
        problem.support, 2, episodes=episodes, delta=DELTA, loss_bound=instance.loss_bound,
        time_bound=instance.time_bound,
    )  # fmt: skip
    rows: list[list[Any]] = []
    for variant, arguments in _variants(episodes, informed=instance.loss_floor > 0.0).items():
        notify(f"{name}, {variant}", place, place + 1)
        learner = instance.learner(**arguments)
        history = run_episodes(simulation(problem, learner, Dirichlet.symmetric(2), seed=place), episodes)
        regret = history.total_expected_regret
        rows.append([
            name, variant, instance.loss_bound, learner.loss_bound, learner.doublings, learner.added_loss, regret,
            regret / (rows[0][6] if rows else regret) if instance.loss_floor > 0.0 else None,
            history.growth_exponent(), int(history.abandoned.sum()), float(history.optimal_loss.sum()),
            regret / rate if np.isfinite(rate) else None,
        ])  # fmt: skip
    return rows


def free_loops() -> LinearCSSP:
    """Four states; in each the second action loses nothing and leads to a state, never to the goal."""
    problem = dense(4, seed=5)
    losses, rows = np.zeros((2, 4, 2)), np.zeros((2, 4, 2, 5))
    losses[..., 0] = np.moveaxis(problem.losses.reshape(4, 2, 2), -1, 0)[..., 0]
    full = np.moveaxis(problem.probabilities.reshape(4, 2, 5, 2), -1, 0)
    rows[:, :, 0] = full[:, :, 0]
    rows[:, :, 1, :4] = full[:, :, 1, :4] / full[:, :, 1, :4].sum(axis=-1, keepdims=True)
    return LinearCSSP.dense(losses, rows)


def _variants(episodes: int, *, informed: bool) -> dict[str, dict[str, Any]]:
    without_floor: dict[str, Any] = {"loss_floor": 0.0, "episodes": episodes}
    uninformed = {"no floor": without_floor, "neither": {**without_floor, "loss_bound": None}}
    if not informed:
        return uninformed
    return {"informed": {}, "no bound": {"loss_bound": None}, **uninformed}


def _checks(rows: list[list[Any]]) -> list[Check]:
    compared = [row for row in rows if row[7] is not None]
    checks = []
    for variant in ("no bound", "no floor", "neither"):
        worst = max(row[7] for row in compared if row[1] == variant)
        checks.append(
            Check(f"{variant}: regret within a factor of {MAX_RATIO:g} of the informed", worst <= MAX_RATIO,
                  f"at most {worst:.2f}")
        )  # fmt: skip
    abandoned = sum(row[9] for row in rows)
    checks.append(Check("every episode ends, with free loops too", abandoned == 0, f"{abandoned} abandoned"))
    return checks
