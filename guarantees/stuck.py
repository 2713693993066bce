"""k. Stuck: seeds on which a learner settles for a bad plan, and does not notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound import LRCSSP, Dirichlet, GreedyRidge, LinearCSSP, LocalOptimism, PosteriorSampling
from goalbound.problems import long_corridor, random_cssp
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import Instance, certified, run_episodes, simulation

GROWTH = 0.1
"""A run is stuck if its expected regret grows by more than this an episode, in the second half of its episodes."""
DEFAULT, GREEDY = "local optimism", "greedy"


@dataclass(frozen=True)
class Size:
    """How many seeds, and how long."""

    seeds: int = 200
    episodes: int = 4000


QUICK = Size(seeds=20)


class Candidate(NamedTuple):
    """A learner of the table."""

    name: str
    make: Callable[[Instance, int], Any]
    """from a problem with its certified bounds, and a seed"""
    never_stuck: bool = False
    """whether it is claimed that no seed is stuck"""


def _sampling(**settings: Any) -> Callable[[Instance, int], Any]:
    def make(instance: Instance, seed: int) -> PosteriorSampling:
        problem, rng = instance.problem, np.random.default_rng(seed)
        return PosteriorSampling(
            problem.support, problem.context_size, loss_floor=instance.loss_floor, rng=rng, **settings
        )

    return make


def _greedy(instance: Instance, seed: int) -> GreedyRidge:
    return GreedyRidge(instance.problem.support, instance.problem.context_size, loss_floor=instance.loss_floor)


def _local(instance: Instance, seed: int) -> LocalOptimism:
    return LocalOptimism(instance.problem.support, instance.problem.context_size, loss_floor=instance.loss_floor)


def _scaled(instance: Instance, seed: int) -> LRCSSP:
    return LRCSSP.scaled(
        instance.problem.support, instance.problem.context_size, loss_floor=instance.loss_floor,
        loss_bound=instance.loss_bound,
    )  # fmt: skip


CANDIDATES: tuple[Candidate, ...] = (
    Candidate(DEFAULT, _local),
    Candidate("posterior sampling", _sampling()),
    Candidate(
        "posterior sampling, fixed spread 0.1", _sampling(spread=0.1, by_variance=False, optimism=0.0, patience=np.inf)
    ),
    Candidate(GREEDY, _greedy),
    Candidate("0.5 x sharp", _scaled, never_stuck=True),
)
"""The learners that are compared, each with its defaults where nothing else is said."""


def problems() -> dict[str, LinearCSSP]:
    """Where learners get stuck: exploring is dear in the one, and confusing in the other."""
    return {"long corridor of 20": long_corridor(20), "random, 10 states": random_cssp(10, context_size=2)}


class Runs(NamedTuple):
    """The seeds of one learner on one problem."""

    regret: NDArray[np.float64]
    """[seeds] the expected regret of all episodes"""
    growth: NDArray[np.float64]
    """[seeds] the expected regret of an episode, in the second half"""

    @property
    def stuck(self) -> int:
        """How many seeds are."""
        return int((self.growth > GROWTH).sum())


def play(candidate: Candidate, instance: Instance, size: Size) -> Runs:
    """All seeds of a learner; losses are 0 or 1, contexts uniform."""
    regret, growth = [], []
    contexts = Dirichlet.symmetric(instance.problem.context_size)
    for seed in range(size.seeds):
        run = simulation(instance.problem, candidate.make(instance, 1000 + seed), contexts, seed=seed)
        each = run_episodes(run, size.episodes).expected_regret
        regret.append(float(each.sum()))
        growth.append(float(each[size.episodes // 2 :].mean()))
    return Runs(np.array(regret), np.array(growth))


def stuck(size: Size, notify: Notify = ignore_progress) -> Result:
    """Count the seeds on which the regret of each learner still grows in the second half."""
    found: dict[tuple[str, str], Runs] = {}
    made = problems()
    for problem_name, problem in made.items():
        instance = certified(problem)
        for candidate in CANDIDATES:
            notify(f"{problem_name}: {candidate.name}, {size.seeds} seeds", len(found), len(made) * len(CANDIDATES))
            found[candidate.name, problem_name] = play(candidate, instance, size)
    return Result(
        "k", "stuck: seeds that settle for a bad plan",
        f"{', '.join(made)}; d = 2, uniform contexts, losses 0 or 1; {size.seeds} seeds of {size.episodes:,} episodes; "
        f"stuck: expected regret grows by more than {GROWTH:g} an episode in the second half",
        _checks(found, list(made)),
        ["learner", *(f"{name}: {what}" for name in made for what in ("stuck", "mean", "largest"))],
        [_row(candidate.name, [found[candidate.name, name] for name in made]) for candidate in CANDIDATES],
        ["mean, largest: the expected regret of a seed"],
    )  # fmt: skip


def _checks(found: dict[tuple[str, str], Runs], names: list[str]) -> list[Check]:
    never = [
        Check(f"{candidate.name}: no seed is stuck on {name}", runs.stuck == 0,
              f"{runs.stuck} of {len(runs.growth)}; the largest growth is {runs.growth.max():.3g} an episode")
        for candidate in CANDIDATES if candidate.never_stuck
        for name in names for runs in [found[candidate.name, name]]
    ]  # fmt: skip
    ours, theirs = (sum(found[learner, name].stuck for name in names) for learner in (DEFAULT, GREEDY))
    fewer = Check(f"{DEFAULT} is stuck on no more seeds than {GREEDY}", ours <= theirs, f"{ours} and {theirs}")
    return [*never, fewer]


def _row(name: str, each: list[Runs]) -> list[Any]:
    return [
        name,
        *(value for runs in each for value in (runs.stuck, float(runs.regret.mean()), float(runs.regret.max()))),
    ]
