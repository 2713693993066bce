"""What the demo learns: treatment plans, by a learner that looks at the patient, and by one that does not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.demo.progress import Show, Watch
from goalbound.estimation import Widths, paper, scaled
from goalbound.learners.context_free import ContextBlind
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
"""How often a learner is asked what it hopes for; and the points of a curve, evenly spaced and again in logarithms."""

Points = list[tuple[float, float]]


class Run(NamedTuple):
    """One learner's way through all patients."""

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
    hopes: Points
    """patients so far, the loss that the learner hopes for with the patient of all kinds in equal parts"""


class Learning(NamedTuple):
    """Everything that the text and the page tell about learning."""

    problem: LinearCSSP
    episodes: int
    early_best: float
    """expected loss of a patient under the clairvoyant, mean over the first tenth"""
    late_best: float
    """the same over the last tenth"""
    even_best: float
    """the same for the patient of all kinds in equal parts"""
    runs: list[Run]


class Pupil(NamedTuple):
    """Who learns, and under which name."""

    name: str
    short: str
    kind: str
    widths: Widths
    blind: bool = False


PUPILS = (
    Pupil("LR-CSSP", "LR-CSSP", "proven", paper()),
    Pupil(f"LR-CSSP, {SCALE:g} x widths", f"{SCALE:g} x widths", "scaled", scaled(paper(), by=SCALE)),
    Pupil("LR-CSSP, blind to the context", "blind", "blind", paper(), blind=True),
)


def make_learning(watch: Watch, *, episodes: int = EPISODES) -> Learning:
    """Let each learner treat the same patients."""
    problem = catalog_entry("treatment-ladder").make(dict(PROBLEM))
    size = problem.context_size
    patients = Dirichlet.symmetric(size).draw(np.random.default_rng(SEED), 0, episodes)
    best = optimal_values(problem, np.vstack((np.full(size, 1.0 / size), patients)))[:, problem.start]
    early, late = _tenths(best[1:])
    runs = [_run(problem, pupil, patients, watch) for pupil in PUPILS]
    return Learning(problem, episodes, early, late, float(best[0]), runs)


def _run(problem: LinearCSSP, pupil: Pupil, patients: NDArray[np.float64], watch: Watch) -> Run:
    size = 1 if pupil.blind else problem.context_size
    floor = float(problem.losses.min())
    learner = LRCSSP(problem.support, size, delta=DELTA, loss_floor=floor, widths=pupil.widths)
    who = ContextBlind(learner) if pupil.blind else learner
    simulation = Simulation(problem, who, FromArray(patients), seed=SEED, step_limit=STEP_LIMIT)
    show = watch.begin(pupil.name, len(patients))
    parts: list[History] = []
    hopes: Points = []
    for stop in _stops(len(patients)):
        before = simulation.episodes_played
        parts.append(simulation.run(stop - before, progress=_further(show, before)))
        if parts[-1].interrupted:
            raise KeyboardInterrupt
        hopes.append((float(stop), float(learner.plan(np.full(size, 1.0 / size)).values[problem.start])))
    return _told(pupil, History.concatenate(parts), hopes)


def _further(show: Show, before: int) -> Progress:
    """Progress of a part of a run, shown as that of the whole."""
    return lambda done, *_: show(before + done)


def _told(pupil: Pupil, history: History, hopes: Points) -> Run:
    regret = history.cumulative_expected_regret
    places = np.linspace(1, history.episodes, POINTS), np.geomspace(1, history.episodes, POINTS)
    shown = np.unique(np.rint(np.concatenate(places)).astype(np.int64))
    return Run(
        pupil.name, pupil.short, pupil.kind, pupil.widths, history.total_expected_regret,
        *_tenths(history.optimal_loss + history.expected_regret), history.growth_exponent(),
        1.0 - float(history.unknown_steps.sum() / history.steps.sum()), int(history.abandoned.sum()),
        [(float(k), float(regret[k - 1])) for k in shown], hopes,
    )  # fmt: skip


def _tenths(losses: NDArray[np.float64]) -> tuple[float, float]:
    """The means over the first and the last tenth."""
    tenth = max(1, len(losses) // 10)
    return float(losses[:tenth].mean()), float(losses[-tenth:].mean())


def _stops(episodes: int) -> list[int]:
    """Numbers of episodes, evenly spaced in logarithms, the last one all of them."""
    stops: list[int] = np.unique(np.rint(np.geomspace(1, episodes, STOPS)).astype(np.int64)).tolist()
    return stops
