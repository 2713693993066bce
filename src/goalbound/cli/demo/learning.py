"""The learning part of the demo: treatment plans, by learners with and without the context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.demo.progress import RunProgress, Show
from goalbound.estimation import Widths, paper, scaled
from goalbound.learners.context_map import ContextBlind
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LinearCSSP
from goalbound.planning import optimal_values
from goalbound.problems.catalog import catalog_entry
from goalbound.simulation import Dirichlet, FromArray, History, Simulation
from goalbound.simulation.play import Progress

PROBLEM = {"levels": 3, "markers": 2}
EPISODES, SEED, STEP_LIMIT = 200_000, 1, 10_000
DELTA, SCALE = 0.1, 0.1
"""The probability of failure that the proven widths allow; and what the widths that are not proven are scaled by."""
STOPS, POINTS = 40, 120
"""How often the optimistic value is recorded; and the points of a curve, evenly spaced and again in logarithms."""

Points = list[tuple[float, float]]


class Run(NamedTuple):
    """The results of one learner."""

    name: str
    short: str
    """the name beside its line"""
    kind: str
    """of its line, for the style"""
    widths: Widths
    regret: float
    """expected, over all patients"""
    early: float
    """expected loss of a patient, mean over the first tenth"""
    late: float
    """the same over the last tenth"""
    growth: float
    """x, where regret grows as patients^x at the end"""
    known: float
    """share of the steps that played a known pair"""
    abandoned: int
    """episodes that the step limit ended"""
    regrets: Points
    """patients so far, expected regret so far"""
    optimistic_values: Points
    """patients so far, the optimistic value for the patient of all kinds in equal parts"""


class Learning(NamedTuple):
    """The results of the learning part."""

    problem: LinearCSSP
    episodes: int
    early_best: float
    """expected loss of a patient under the clairvoyant, mean over the first tenth"""
    late_best: float
    """the same over the last tenth"""
    even_best: float
    """the same for the patient of all kinds in equal parts"""
    runs: list[Run]


class LearnerSetup(NamedTuple):
    """A learner of the demo and its display names."""

    name: str
    short: str
    kind: str
    widths: Widths
    blind: bool = False


LEARNER_SETUPS = (
    LearnerSetup("LR-CSSP", "LR-CSSP", "proven", paper()),
    LearnerSetup(f"LR-CSSP, {SCALE:g} x widths", f"{SCALE:g} x widths", "scaled", scaled(paper(), by=SCALE)),
    LearnerSetup("LR-CSSP, blind to the context", "blind", "blind", paper(), blind=True),
)


def make_learning(progress: RunProgress, *, episodes: int = EPISODES) -> Learning:
    """Let each learner treat the same patients."""
    problem = catalog_entry("treatment-ladder").make(dict(PROBLEM))
    size = problem.context_size
    patients = Dirichlet.symmetric(size).draw(np.random.default_rng(SEED), 0, episodes)
    best = optimal_values(problem, np.vstack((np.full(size, 1.0 / size), patients)))[:, problem.start]
    early, late = _tenths(best[1:])
    runs = [_run(problem, setup, patients, progress) for setup in LEARNER_SETUPS]
    return Learning(problem, episodes, early, late, float(best[0]), runs)


def _run(problem: LinearCSSP, setup: LearnerSetup, patients: NDArray[np.float64], progress: RunProgress) -> Run:
    size = 1 if setup.blind else problem.context_size
    floor = float(problem.losses.min())
    learner = LRCSSP(problem.support, size, delta=DELTA, loss_floor=floor, widths=setup.widths)
    who = ContextBlind(learner) if setup.blind else learner
    simulation = Simulation(problem, who, FromArray(patients), seed=SEED, step_limit=STEP_LIMIT)
    show = progress.begin(setup.name, len(patients))
    parts: list[History] = []
    optimistic_values: Points = []
    for stop in _stops(len(patients)):
        before = simulation.episodes_played
        parts.append(simulation.run(stop - before, progress=_offset_progress(show, before)))
        if parts[-1].interrupted:
            raise KeyboardInterrupt
        optimistic_values.append((float(stop), float(learner.plan(np.full(size, 1.0 / size)).values[problem.start])))
    return _run_result(setup, History.concatenate(parts), optimistic_values)


def _offset_progress(show: Show, before: int) -> Progress:
    """Progress of a part of a run, shown as that of the whole."""
    return lambda done, *_: show(before + done)


def _run_result(setup: LearnerSetup, history: History, optimistic_values: Points) -> Run:
    regret = history.cumulative_expected_regret
    places = np.linspace(1, history.episodes, POINTS), np.geomspace(1, history.episodes, POINTS)
    shown = np.unique(np.rint(np.concatenate(places)).astype(np.int64))
    return Run(
        setup.name, setup.short, setup.kind, setup.widths, history.total_expected_regret,
        *_tenths(history.optimal_loss + history.expected_regret), history.growth_exponent(),
        1.0 - float(history.unknown_steps.sum() / history.steps.sum()), int(history.abandoned.sum()),
        [(float(k), float(regret[k - 1])) for k in shown], optimistic_values,
    )  # fmt: skip


def _tenths(losses: NDArray[np.float64]) -> tuple[float, float]:
    """The means over the first and the last tenth."""
    tenth = max(1, len(losses) // 10)
    return float(losses[:tenth].mean()), float(losses[-tenth:].mean())


def _stops(episodes: int) -> list[int]:
    """Numbers of episodes, evenly spaced in logarithms, the last one all of them."""
    stops: list[int] = np.unique(np.rint(np.geomspace(1, episodes, STOPS)).astype(np.int64)).tolist()
    return stops
