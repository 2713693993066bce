"""How the tests drive learners: small problems, several episodes at once, checkpoints as bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import paper, scaled
from goalbound.learners.base import LearnerBase
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LinearCSSP, Step
from goalbound.problems import random_cssp
from goalbound.simulation import ModelEnvironment
from tests.support.ridge import exploring, lr_cssp

L = TypeVar("L", bound=LearnerBase)

NO_WAITING = mock.patch("os.fsync")
"""Inside, files are written without waiting for the disk."""

SHORT = scaled(paper(), by=0.01)
"""Widths so small that plans depend on data from the first steps on."""

MODES: dict[str, dict[str, Any]] = {
    "as proven": {"loss_floor": 0.1, "loss_bound": 5.0},
    "narrow": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": SHORT},
    "doubling": {"loss_floor": 0.1, "widths": SHORT, "regularization": 0.1},
    "forgetting": {"loss_floor": 0.1, "widths": SHORT, "regularization": 0.1, "forget": True},
    "zero losses": {"loss_floor": 0.0, "episodes": 5000, "widths": SHORT},
    "known": {"loss_floor": 0.9, "loss_bound": 1.0, "widths": scaled(paper(), by=1e-3), "regularization": 400.0,
              "delta": 0.9},
}  # fmt: skip
"""Settings that reach every branch of the learner on :func:`small_problem` within some hundred steps."""


def small_problem(seed: int = 1, *, states: int = 3, actions: int = 2, context_size: int = 2) -> LinearCSSP:
    """Losses in [0.1, 1], up to three next states for each pair, an exit of probability 0.3 to 0.9 in each state."""
    return random_cssp(
        states, actions=actions, context_size=context_size, successors=3, exit_probability=0.3, seed=seed
    )


def played_losses(problem: LinearCSSP, learner: LearnerBase, episodes: int, seed: int) -> list[tuple[int, float]]:
    """Let the learner play under uniform contexts; the pairs that it played, and their losses."""
    rng, played = np.random.default_rng(seed), []
    environment = ModelEnvironment(problem, rng=np.random.default_rng(seed + 1))
    for context in rng.dirichlet(np.ones(problem.context_size), size=episodes):
        episode, state = learner.begin(context), environment.begin(context)
        while state != problem.support.states:
            step = environment.step(episode.act(state))
            played.append((problem.support.pair(step.state, step.action), step.loss))
            episode.observe(step)
            state = step.next_state
    return played


def play_own(learner: LearnerBase, steps: Iterable[tuple[Any, Step]]) -> None:
    """Let the learner choose just these steps, one episode each."""
    for context, step in steps:
        episode = learner.begin(context)
        episode.act(step.state, allowed=[step.action])
        episode.observe(step)


def learner_of(problem: LinearCSSP, **settings: Any) -> LRCSSP:
    return lr_cssp(problem.support, problem.context_size, **settings)


def explorer_of(exploration: ExplorationRule, problem: LinearCSSP, **settings: Any) -> RidgeLearner:
    return exploring(exploration, problem.support, problem.context_size, **settings)


def written(learner: LearnerBase) -> bytes:
    """The checkpoint of a learner: all that it is."""
    with tempfile.TemporaryDirectory() as folder, NO_WAITING:
        path = Path(folder, "learner")
        learner.save(path)
        return path.read_bytes()


def reloaded(learner: L) -> L:
    """The learner after a stop."""
    with tempfile.TemporaryDirectory() as folder, NO_WAITING:
        learner.save(Path(folder, "learner"))
        return type(learner).load(Path(folder, "learner"))


def draw_step(problem: LinearCSSP, context: NDArray[np.float64], state: int, action: int, u: float) -> Step:
    """What the problem answers, for a uniform u."""
    support = problem.support
    now, pair = problem.at(context), support.pair(state, action)
    row = support.row(pair)
    place = int(np.searchsorted(np.cumsum(now.probabilities[row]), u, side="right"))
    following = support.next_state[row][min(place, row.stop - row.start - 1)]
    return Step(state, action, float(now.losses[pair]), int(following))


@dataclass
class Patient:
    """One open episode, its true state, and the action that was chosen and not yet carried out."""

    episode: LearnerEpisode
    state: int
    action: int | None = None


class Clinic:
    """Several episodes at once. Who moves, and what comes of it, is drawn from one stream.

    A tick is one ``act`` or one ``observe``. Whoever arrives makes room for a new episode. The learner may be stopped
    between any two ticks (:meth:`stop`); it must not be seen in :attr:`actions` nor in the checkpoint at the end.
    """

    def __init__(self, problem: LinearCSSP, learner: Any, *, beds: int, seed: int = 0) -> None:
        self.problem, self.learner = problem, learner
        self.rng = np.random.default_rng(seed)
        self.actions: list[int] = []
        self.patients = [self._admit() for _ in range(beds)]

    def _admit(self) -> Patient:
        context = self.rng.dirichlet(np.ones(self.problem.context_size))
        return Patient(self.learner.begin(context), int(self.rng.integers(self.problem.support.states)))

    def tick(self) -> None:
        place = int(self.rng.integers(len(self.patients)))
        patient = self.patients[place]
        if patient.action is None:
            patient.action = patient.episode.act(patient.state)
            self.actions.append(patient.action)
            return
        context = patient.episode.context
        step = draw_step(self.problem, context, patient.state, patient.action, self.rng.random())
        patient.episode.observe(step)
        patient.state, patient.action = step.next_state, None
        if patient.state == self.problem.support.states:
            self.patients[place] = self._admit()

    def run(self, ticks: int) -> Clinic:
        for _ in range(ticks):
            self.tick()
        return self

    def stop(self) -> None:
        """Save, forget everything, load, go on."""
        self.learner = reloaded(self.learner)
        again = {episode.number: episode for episode in self.learner.open_episodes}
        assert len(again) == len(self.patients)
        for patient in self.patients:
            patient.episode = again[patient.episode.number]


def play_one(problem: LinearCSSP, learner: RidgeLearner, steps: int, *, seed: int = 0) -> Clinic:
    """One episode after the other, so many steps in all."""
    return Clinic(problem, learner, beds=1, seed=seed).run(2 * steps)
