"""The learning part of the demo: treatment plans, by learners with and without the context."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.around.contexts import ContextBlind
from goalbound.confidence.widths import DEFAULT_RULE
from goalbound.learners.card import learner_card
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import LocalOptimism
from goalbound.models import LinearCSSP
from goalbound.planning import optimal_values
from goalbound.problems.catalog import catalog_entry
from goalbound.simulation import Dirichlet, FromArray, History, Simulation
from goalbound.terminal import table

PROBLEM = {"levels": 3, "markers": 2}
EPISODES, SEED, STEP_LIMIT = 200_000, 1, 10_000
DELTA = 0.1
"""The probability of failure that the proven widths allow."""
STOPS, POINTS = 40, 120
"""How often the optimistic value is recorded; and the points of a curve, evenly spaced and again in logarithms."""

Points = list[tuple[float, float]]
ReportDone = Callable[[int], None]
"""Called with the number of episodes done."""
BeginRun = Callable[[str, int], ReportDone]
"""Called with the name of a run and its number of episodes; returns the function that reports its progress."""


class Run(NamedTuple):
    """The results of one learner.

    Attributes:
        name: of the learner.
        card: what the learner says of its constants.
        regret: expected, over all patients.
        early: expected loss of a patient, mean over the first tenth.
        late: the same over the last tenth.
        growth: x, where regret grows as patients^x over the last tenfold of patients.
        known: share of the steps that played a known pair.
        abandoned: episodes that the step limit ended.
        regrets: patients so far, expected regret so far.
        planned_values: patients so far, the value of the plan for the patient of all kinds in equal parts, which is
            optimistic for LR-CSSP.
    """

    name: str
    card: str
    regret: float
    early: float
    late: float
    growth: float
    known: float
    abandoned: int
    regrets: Points
    planned_values: Points


class Learning(NamedTuple):
    """The results of the learning part.

    Attributes:
        problem: the treatment ladder.
        episodes: patients.
        early_best: expected loss of a patient under the clairvoyant, mean over the first tenth.
        late_best: the same over the last tenth.
        even_best: the same for the patient of all kinds in equal parts.
        runs: of each learner.
    """

    problem: LinearCSSP
    episodes: int
    early_best: float
    late_best: float
    even_best: float
    runs: list[Run]


PRACTICAL, BLIND = "local optimism", "LR-CSSP, blind to the context"
LEARNERS = ("LR-CSSP", PRACTICAL, BLIND)


def make_learning(begin_run: BeginRun, *, episodes: int = EPISODES) -> Learning:
    """Run each learner on the same patients."""
    problem = catalog_entry("treatment-ladder").make(dict(PROBLEM))
    size = problem.context_size
    patients = Dirichlet.symmetric(size).draw(np.random.default_rng(SEED), 0, episodes)
    best = optimal_values(problem, np.vstack((np.full(size, 1.0 / size), patients)))[:, problem.start]
    early, late = _tenths(best[1:])
    runs = [_run(problem, name, patients, begin_run(name, episodes)) for name in LEARNERS]
    return Learning(problem, episodes, early, late, float(best[0]), runs)


def learning_text(learning: Learning) -> str:
    """The results of the learning part as text."""
    proven, _, blind = learning.runs
    rows = [
        [run.name, f"{run.regret:,.0f}", f"{run.early:.4f}", f"{run.late:.4f}", str(run.abandoned)]
        for run in learning.runs
    ]
    rows.append(["clairvoyant", "0", f"{learning.early_best:.4f}", f"{learning.late_best:.4f}", "0"])
    return f"""\
NO PATIENT IS THE AVERAGE PATIENT
A patient takes one dose after the other until recovered, the goal. Drug A helps those with marker A, drug B those
with marker B, at a loss of 0.1 a dose. The broad drug helps everyone, seldom, at a loss of 0.4. The context is the
patient: which part marker A, which part B, which part neither. Learners have to find all that out.

{learning.episodes:,} patients, the same for all (seed {SEED}):

{table(["learner", "regret", "loss, first tenth", "loss, last tenth", "abandoned"], rows, "lrrrr")}

regret        expected loss beyond the clairvoyant's, who knows the problem; all patients together
loss          expected loss of one patient: mean over the first tenth of them, and over the last
abandoned     patients given up after {STEP_LIMIT:,} doses; what they lost counts, the true regret is larger

LR-CSSP has proven confidence sets, and its regret is bounded. Local optimism is what we would use where no proof is
asked for: it plans in its estimate, is optimistic about the next dose only, and nothing is proven of it.

Over the last tenfold of patients the regret of LR-CSSP grows as patients^{proven.growth:.2f}; the theorem promises 0.5
at most in the long run.
That of the blind learner, to whom all patients look the same, grows as patients^{blind.growth:.2f}."""


def _run(problem: LinearCSSP, name: str, patients: NDArray[np.float64], report: ReportDone) -> Run:
    size, floor = 1 if name == BLIND else problem.context_size, float(problem.losses.min())
    if name == PRACTICAL:
        learner: LRCSSP | LocalOptimism = LocalOptimism(problem.support, size, loss_floor=floor)
    else:
        learner = LRCSSP(problem.support, size, delta=DELTA, loss_floor=floor, widths=DEFAULT_RULE())
    played = ContextBlind(learner) if name == BLIND else learner
    simulation = Simulation(problem, played, FromArray(patients), seed=SEED, step_limit=STEP_LIMIT)
    parts: list[History] = []
    planned_values: Points = []
    for stop in _spaced(len(patients), STOPS):
        before = simulation.episodes_played
        parts.append(simulation.run(stop - before, progress=lambda done, *_, before=before: report(before + done)))
        if parts[-1].interrupted:
            raise KeyboardInterrupt
        planned_values.append((float(stop), float(learner.plan(np.full(size, 1.0 / size)).values[problem.start])))
    history = History.concatenate(parts)
    regret, early_late = history.cumulative_expected_regret, _tenths(history.optimal_loss + history.expected_regret)
    shown = sorted({*_spaced(history.episodes, POINTS), *_spaced(history.episodes, POINTS, even=True)})
    return Run(
        name=name,
        card=learner_card(learner).description,
        regret=history.total_expected_regret,
        early=early_late[0],
        late=early_late[1],
        growth=history.growth_exponent(),
        known=1.0 - float(history.unknown_steps.sum() / history.steps.sum()),
        abandoned=int(history.abandoned.sum()),
        regrets=[(float(k), float(regret[k - 1])) for k in shown],
        planned_values=planned_values,
    )


def _tenths(losses: NDArray[np.float64]) -> tuple[float, float]:
    """The means over the first and the last tenth."""
    tenth = max(1, len(losses) // 10)
    return float(losses[:tenth].mean()), float(losses[-tenth:].mean())


def _spaced(episodes: int, count: int, *, even: bool = False) -> list[int]:
    """Numbers of episodes, evenly spaced in logarithms or as they are, the last one all of them."""
    space = np.linspace if even else np.geomspace
    numbers: list[int] = np.unique(np.rint(space(1, episodes, count)).astype(np.int64)).tolist()
    return numbers
