"""The six methods on small problems, and what the tests do with them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from goalbound.learners.tabular import Method, TabularLearner
from goalbound.learners.tabular.method import (
    bernstein_ssp_method,
    eb_ssp_method,
    hoeffding_ssp_method,
    psrl_ssp_method,
    uc_ssp_method,
    ulcvi_method,
)
from goalbound.models import LinearCSSP
from goalbound.testing import small_problem as small_contextual_problem
from tests.support.driving import NO_WAITING, Clinic

METHODS: dict[str, Method] = {
    "uc": uc_ssp_method(scale=0.1),
    "hoeffding": hoeffding_ssp_method(loss_bound=5.0, scale=0.002),
    "bernstein": bernstein_ssp_method(scale=0.01),
    "eb": eb_ssp_method(scale=0.01),
    "eb, bounded": eb_ssp_method(loss_bound=5.0, scale=0.02),
    "ulcvi": ulcvi_method(loss_bound=4.0, time_bound=1.0, episodes=3, scale=1e-7),
    "psrl": psrl_ssp_method(),
}
"""Scales so small that plans depend on data from the first steps on."""

KINDS: dict[str, dict[str, Any]] = {
    "learned": {"loss_floor": 0.1},
    "added": {"loss_floor": 0.0, "added_loss": 0.05},
    "known": {"loss_floor": 0.1, "known_losses": True},
}
"""What is known of the losses."""


def small_problem() -> LinearCSSP:
    """Three states, one to three actions, one of which never arrives; no context."""
    return LinearCSSP.mix([small_contextual_problem().at([0.6, 0.4])])


def learner_of(problem: LinearCSSP, method: str, kind: str = "learned", *, seed: int = 0) -> TabularLearner:
    settings = dict(KINDS[kind])
    if settings.get("known_losses"):
        settings["known_losses"] = problem.losses[:, 0]
    return TabularLearner(problem.support, METHODS[method], rng=np.random.default_rng(seed), **settings)


def written(learner: TabularLearner) -> bytes:
    """The checkpoint of a learner: all that it is."""
    with tempfile.TemporaryDirectory() as folder, NO_WAITING:
        path = Path(folder, "learner")
        learner.save(path)
        return path.read_bytes()


def loaded(data: bytes) -> TabularLearner:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "learner")
        path.write_bytes(data)
        return TabularLearner.load(path)


def clinic(method: str, beds: int, *, kind: str = "learned", seed: int = 5) -> Clinic:
    """Several episodes of one learner at once."""
    problem = small_problem()
    learner: Any = learner_of(problem, method, kind)
    return Clinic(problem, learner, beds=beds, seed=seed)


def stop(one: Clinic) -> None:
    """Save, forget everything, load, go on."""
    learner: Any = one.learner
    one.learner = again = loaded(written(learner))  # type: ignore[assignment]
    episodes = {episode.number: episode for episode in again.open_episodes}
    assert len(episodes) == len(one.patients)
    for patient in one.patients:
        patient.episode = episodes[patient.episode.number]  # type: ignore[assignment]
