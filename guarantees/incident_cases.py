"""Incidents that are handled one by one, side by side, with people who do something else: the cases of part h."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound import LinearCSSP, LossScale, ModelEnvironment, Support
from goalbound.adapters.covariates import CovariateLearner, CovariateMap, Hats, Periodic, Tensor
from goalbound.logs import Log, LogColumns, read_log
from goalbound.planning import optimal_values
from goalbound.problems import incident_log
from goalbound.simulation import bounded
from guarantees.settings import full_support

Floats = NDArray[np.float64]


def day(hours: int) -> Tensor:
    """The map of the covariates: the components of ``incident_recovery(hours)``."""
    return Tensor([Periodic.even(24, count=hours, start=3), Hats([0.0, 0.5, 1.0], clamp=True)], ["hour", "traffic"])


DAY = day(4)
NOISE = bounded(0.5)
"""The losses of new cases have the law of those of the log."""


class Cases(NamedTuple):
    """Cases that are to be handled: K covariates, and their contexts [K, d]."""

    covariates: list[dict[str, float]]
    contexts: Floats


class Handled(NamedTuple):
    """The steps of handled cases, in the order of their outcomes; one entry for each step."""

    case: NDArray[np.int64]
    proposed: NDArray[np.int64]
    """the pair that the learner proposed"""
    played: NDArray[np.int64]
    """the pair that was played"""
    loss: Floats


@dataclass(frozen=True)
class Way:
    """How cases are handled.

    Attributes:
        overrides: in this share of the steps a person plays any action of the state, all equally likely.
        open_cases: so many are open at once. One of them, drawn at random, gets its next action, or its outcome.
        restart: after half of the cases the learner is saved, dropped, and loaded from its file.
    """

    overrides: float = 0.0
    open_cases: int = 1
    restart: bool = False


def recorded_log(problem: LinearCSSP, cases: int, *, seed: int, covariate_map: CovariateMap | None = None) -> Log:
    """A log of the runbook with 30% random deviations, as :func:`read_log` reads its columns."""
    return read_log(
        incident_log(problem, cases, np.random.default_rng(seed), deviation=0.3),
        columns=LogColumns(loss="minutes", covariates=["hour", "traffic"], probability="probability"),
        goal="recovered", support=problem.support,
        covariate_map=day(problem.context_size // 3) if covariate_map is None else covariate_map,
        loss_scale=LossScale("min", cap=problem.loss_scale, beyond="refuse"),
    )  # fmt: skip


def new_cases(problem: LinearCSSP, cases: int, *, seed: int) -> Cases:
    """Cases by the law of the log: what they were, without what was done."""
    columns = incident_log(problem, cases, np.random.default_rng(seed))
    found = dict(zip(columns["case"], zip(columns["hour"], columns["traffic"], strict=True), strict=True))
    covariates = [{"hour": hour, "traffic": traffic} for hour, traffic in found.values()]
    return Cases(covariates, np.asarray(DAY.apply(covariates).contexts))


def handle(
    learner: CovariateLearner, problem: LinearCSSP, cases: Cases, way: Way, *, seed: int, folder: Path
) -> tuple[CovariateLearner, Handled]:
    """Handle all cases by ``begin``, ``act`` and ``observe``; the learner at the end, and what was done.

    ``folder`` takes the file of a restart. The same seed gives the same people and the same outcomes.
    """
    people, world = (np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(2))
    waiting: Iterator[int] = iter(range(len(cases.contexts)))
    running: list[_Case] = []
    steps: list[tuple[int, int, int, float]] = []
    ended, restart_at = 0, len(cases.contexts) // 2 if way.restart else -1
    while True:
        while len(running) < way.open_cases and (number := next(waiting, None)) is not None:
            learner.begin(cases.covariates[number], id=number)
            running.append(_Case(number, problem, cases.contexts[number], world))
        if not running:
            return learner, Handled(*(np.array(column) for column in zip(*steps, strict=True)))
        place = int(people.integers(len(running)))
        case = running[place]
        episode = learner.episode(case.number)
        if case.proposed is None:
            case.proposed = episode.act(case.state)
            continue
        steps.append(case.play(episode, people, way.overrides))
        if episode.ended:
            del running[place]
            ended += 1
            if ended == restart_at:
                learner = restarted(learner, folder / "learner.npz")


class _Case:
    """A case that is open, as the world sees it."""

    def __init__(self, number: int, problem: LinearCSSP, context: Floats, rng: np.random.Generator) -> None:
        self.number = number
        self.support = problem.support
        self.environment = ModelEnvironment(problem, losses=NOISE, rng=rng)
        self.state = self.environment.begin(context)
        self.proposed: int | None = None

    def play(self, episode: Any, people: np.random.Generator, overrides: float) -> tuple[int, int, int, float]:
        """The proposed action is played, or another one; the learner sees what came of it."""
        here, action = self.state, self.proposed
        assert action is not None
        overridden = bool(people.random() < overrides)
        played = int(people.choice(self.support.pair_action[pairs_of(self.support, here)])) if overridden else action
        step = self.environment.step(played)
        episode.observe(step, overridden=overridden)
        self.state, self.proposed = step.next_state, None
        return self.number, self.support.pair(here, action), self.support.pair(here, played), step.loss


def restarted(learner: CovariateLearner, path: Path) -> CovariateLearner:
    """What another process would load."""
    learner.save(path, overwrite=True)
    return CovariateLearner.load(path, map=DAY, load_learner=type(learner.inner).load)


def same_bits(one: CovariateLearner, other: CovariateLearner, folder: Path) -> bool:
    """Whether two learners, their open episodes and their generators are the same, by the bytes of their files."""
    contents = []
    for place, learner in enumerate((one, other)):
        path = folder / f"{place}.npz"
        learner.save(path, overwrite=True)
        contents.append(path.read_bytes())
    return contents[0] == contents[1]


def with_overrides(problem: LinearCSSP, share: float) -> LinearCSSP:
    """The problem of one who is overridden in a share of the steps: each row and each loss is mixed with those of all
    actions of the state."""
    support = problem.support
    rows = dense_rows(problem)
    losses = problem.losses.copy()
    mixed = rows.copy()
    for state in range(support.states):
        pairs = pairs_of(support, state)
        mixed[pairs] = (1.0 - share) * rows[pairs] + share * rows[pairs].mean(axis=0)
        losses[pairs] = (1.0 - share) * losses[pairs] + share * losses[pairs].mean(axis=0)
    return LinearCSSP(full_support(support), losses, mixed.reshape(-1, problem.context_size), start=problem.start)


def pairs_of(support: Support, state: int) -> slice:
    """Where the pairs of a state are."""
    return slice(int(support.pair_start[state]), int(support.pair_start[state + 1]))


def dense_rows(problem: LinearCSSP) -> Floats:
    """[N, S + 1, d] the rows of all pairs, the goal last."""
    support = problem.support
    rows = np.zeros((support.pairs, support.states + 1, problem.context_size))
    rows[np.repeat(np.arange(support.pairs), np.diff(support.next_start)), support.next_state] = problem.probabilities
    return rows


def expected_regret(problem: LinearCSSP, contexts: Floats, case: NDArray[np.int64], pair: NDArray[np.int64]) -> float:
    """The sum over steps of Q*(s, a) - V*(s) under the context of their case: the mean of what is lost beyond the
    clairvoyant's loss, without the noise of losses and next states."""
    values = optimal_values(problem, contexts)[case]
    weights = contexts[case]
    after = np.einsum("ksd,kd,ks->k", dense_rows(problem)[pair], weights, values)
    losses = np.einsum("kd,kd->k", problem.losses[pair], weights)
    here = values[np.arange(len(case)), problem.support.pair_state[pair]]
    return float((losses + after - here).sum())
