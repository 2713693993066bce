"""b. The confidence sets hold the truth, at all intervals at once, in at least 1 - delta of all runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from scipy.stats import beta, binom

from goalbound import Adversary, Dirichlet
from goalbound.confidence import Widths, paper, printed, scaled
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, Instance, certified, dense, diagnostics, run_episodes, simulation

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Size:
    """How many runs, and how long."""

    runs: int = 200
    episodes: int = 1000
    adversarial_episodes: int = 400


class RunLengths(Protocol):
    """The lengths of coverage runs, here and for other width rules."""

    @property
    def episodes(self) -> int:
        """Under random contexts."""
        ...

    @property
    def adversarial_episodes(self) -> int:
        """Under contexts that an adversary chooses."""
        ...


QUICK = Size(runs=60, episodes=200, adversarial_episodes=60)
SCALES = (0.5, 0.3, 0.2, 0.1, 0.05)


def coverage(size: Size, notify: Notify = ignore_progress) -> Result:
    """Audit many runs, each on its own problem, under random and under adversarial contexts."""
    instances = [certified(dense(3, seed=seed), tolerance=0.1) for seed in range(size.runs)]
    cases = [("Dirichlet", rule) for rule in (paper(), printed(), *(scaled(paper(), by=x) for x in SCALES))]
    cases += [("adversary", rule) for rule in (paper(), printed(), *(scaled(paper(), by=x) for x in SCALES[1::2]))]
    rows, checks = [], []
    for place, (contexts, widths) in enumerate(cases):
        notify(f"{widths} widths, {contexts}, {size.runs} runs", place, len(cases))
        covered, share, steps = covered_runs(instances, contexts, widths, size)
        lowest = lower_limit(covered, size.runs)
        rows.append([contexts, str(widths), widths.proven, covered, size.runs, share, lowest, steps])
        if widths.proven:
            checks.append(
                Check(f"{contexts}: coverage at least {1 - DELTA:g}, with confidence {CONFIDENCE:g}",
                      lowest >= 1.0 - DELTA, f"{covered} of {size.runs} runs, so at least {lowest:.3f}")
            )  # fmt: skip
    broken = [row for row in rows if refuted(row[3], row[4])]
    checks.append(
        Check("the check can fail: narrower sets lose the truth", len(broken) > 0,
              "refuted: " + (", ".join(f"{row[1]} ({row[0]})" for row in broken) or "none"))
    )  # fmt: skip
    return Result(
        "b", "the confidence sets hold the truth",
        f"delta = {DELTA}, so at least {1 - DELTA:g} is promised; S = 3, A = 2, d = 2, a new random problem for each "
        f"run; losses 0 or 1; {size.episodes} episodes ({size.adversarial_episodes} against the adversary)",
        checks, ["contexts", "widths", "proven", "covered", "runs", "intervals", "at least", "steps"], rows,
        ["covered: the truth lay in the sets of all pairs, of losses and of rows, at the start of every interval",
         f"at least: exact binomial limit (Clopper and Pearson), one-sided, confidence {CONFIDENCE:g}",
         "intervals: the mean share of the intervals that began with the truth in all sets"],
    )  # fmt: skip


def covered_runs(instances: list[Instance], contexts: str, widths: Widths, size: RunLengths) -> tuple[int, float, int]:
    """Runs in which the truth never left the sets; the mean share of intervals; steps in all."""
    covered, share, steps = 0, 0.0, 0
    for seed, instance in enumerate(instances):
        learner = instance.learner(widths=widths)
        source: Any = Dirichlet.symmetric(2) if contexts == "Dirichlet" else Adversary.anywhere(2)
        episodes = size.episodes if contexts == "Dirichlet" else size.adversarial_episodes
        run = simulation(instance.problem, learner, source, seed=seed, audit=True)
        report = diagnostics(run_episodes(run, episodes))
        covered += report.covered
        share += report.coverage / len(instances)
        steps += report.steps
    return covered, share, steps


def lower_limit(successes: int, runs: int) -> float:
    """The least probability of success that so many of them do not refute at the level of confidence."""
    return float(beta.ppf(1.0 - CONFIDENCE, successes, runs - successes + 1)) if successes else 0.0


def refuted(successes: int, runs: int, *, false_alarm: float = 1e-6) -> bool:
    """Whether a coverage of 1 - delta or more would give so few successes with probability ``false_alarm`` at most."""
    return bool(binom.cdf(successes, runs, 1.0 - DELTA) <= false_alarm)
