"""i. Likelihood-ratio sets hold the truth in at least 1 - delta of all runs, and use more of delta than sharp sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.stats import beta

from goalbound import LRCSSP, Adversary, Dirichlet, LinearCSSP, OneHot
from goalbound.confidence import Widths, likelihood, sharp
from goalbound.jit.compile import compiled_ahead
from goalbound.problems import windy_grid
from guarantees.coverage import CONFIDENCE, refuted
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import Instance, certified, dense, diagnostics, run_episodes, simulation
from guarantees.truth_adversary import TruthAdversary, lattice

CANDIDATE_STEPS = {2: 4, 3: 2}
"""Of the lattice of contexts that the adversary with the truth chooses from, by d."""


@dataclass(frozen=True)
class Size:
    """How many runs, and how long."""

    runs: int = 500
    wrong_runs: int = 100
    """Of the sets that must fail."""
    episodes: int = 300
    """Under random contexts."""
    adversarial_episodes: int = 40
    """Under contexts that an adversary chooses."""


QUICK = Size(runs=85, wrong_runs=50, episodes=15, adversarial_episodes=5)


class Rule(NamedTuple):
    """What is tried: a width rule at a delta; with ``wrong`` its likelihood-ratio sets lack log(1 / failure)."""

    name: str
    widths: Widths
    delta: float
    wrong: bool = False

    def learner(self, instance: Instance) -> LRCSSP:
        """A learner that has seen nothing."""
        learner = LRCSSP(
            instance.problem.support, instance.problem.context_size, delta=self.delta, widths=self.widths,
            loss_floor=instance.loss_floor, loss_bound=instance.loss_bound,
        )  # fmt: skip
        if self.wrong:
            ratios = learner._constants.sets._replace(loss_log=0.0, row_log=0.0)
            learner._constants = learner._constants._replace(sets=ratios)
        return learner


RULES = (
    Rule("likelihood 0.1", likelihood(), 0.1),
    Rule("likelihood 0.5", likelihood(), 0.5),
    Rule("sharp 0.1", sharp(), 0.1),
    Rule("wrong", likelihood(), 0.1, wrong=True),
)
SOURCES: dict[str, Callable[[LinearCSSP], Any]] = {
    "uniform": lambda problem: Dirichlet.symmetric(problem.context_size),
    "corners": lambda problem: OneHot(problem.context_size),
    "adversary": lambda problem: Adversary.anywhere(problem.context_size),
    "adversary with the truth": lambda problem: TruthAdversary(
        problem, lattice(problem.context_size, steps=CANDIDATE_STEPS[problem.context_size])
    ),
}


class Failures(NamedTuple):
    """Runs in which the truth left a set, of all runs of a rule."""

    failed: int
    runs: int

    @property
    def limit(self) -> float:
        """The largest failure probability that so few failures do not refute at the level of confidence."""
        return upper_limit(self.failed, self.runs)


def likelihood_sets(size: Size, notify: Notify = ignore_progress) -> Result:
    """Audit whole runs of likelihood-ratio sets and of sharp ones, on two problems, under four kinds of contexts."""
    grid = certified(windy_grid(2, 3), tolerance=0.1)
    problems = {
        "random": [certified(dense(3, seed=seed), tolerance=0.1) for seed in range(size.runs)],
        "windy grid": [grid] * size.runs,
    }
    found: dict[tuple[str, str], list[Failures]] = {}
    total = len(problems) * len(SOURCES) * len(RULES)
    for problem, instances in problems.items():
        for contexts in SOURCES:
            row = found.setdefault((problem, contexts), [])
            for rule in RULES:
                done = len(RULES) * (len(found) - 1) + len(row)
                notify(f"{problem}, {contexts}, {rule.name}", done, total)
                row.append(failures(instances[: size.wrong_runs if rule.wrong else size.runs], contexts, rule, size))
    return Result(
        "i", "likelihood-ratio sets hold the truth too, and use more of their delta",
        f"{size.runs} runs each ({size.wrong_runs} of the wrong sets), losses 0 or 1; random: S = 3, A = 2, d = 2, a "
        f"new problem for each run; windy grid: 2 x 3 cells, d = 3; {size.episodes} episodes under uniform contexts "
        f"and corners, {size.adversarial_episodes} against an adversary",
        _checks(found),
        ["problem", "contexts", *(cell for rule in RULES for cell in (rule.name, "at most"))],
        [[*key, *(cell for one in row for cell in (one.failed, one.limit))] for key, row in found.items()],
        ["likelihood, sharp, with their delta: runs in which the truth left a set of some pair, at some plan; wrong: "
         "likelihood-ratio sets at delta = 0.1 whose threshold lacks log(1 / failure)",
         f"at most: exact binomial limit of the failure probability (Clopper and Pearson), one-sided, confidence "
         f"{CONFIDENCE:g}",
         "adversary: chooses the context that the learner knows least; with the truth: the context under which the "
         "truth is closest to leaving a set"],
        {"runs": size.runs, "delta": {rule.name: rule.delta for rule in RULES if not rule.wrong}},
    )  # fmt: skip


def failures(instances: list[Instance], contexts: str, rule: Rule, size: Size) -> Failures:
    """Play a run on each instance, and count those in which the truth was not in all sets at every plan."""
    episodes = size.adversarial_episodes if "adversary" in contexts else size.episodes
    failed = 0
    with compiled_ahead():
        for seed, instance in enumerate(instances):
            source = SOURCES[contexts](instance.problem)
            run = simulation(instance.problem, rule.learner(instance), source, seed=seed, audit=True)
            failed += not diagnostics(run_episodes(run, episodes)).covered
    return Failures(failed, len(instances))


def upper_limit(failed: int, runs: int) -> float:
    """The largest failure probability that so few failures do not refute at the level of confidence."""
    return float(beta.ppf(CONFIDENCE, failed + 1, runs - failed)) if failed < runs else 1.0


def _checks(found: dict[tuple[str, str], list[Failures]]) -> list[Check]:
    checks = []
    for rule, column in zip(RULES, zip(*found.values(), strict=True), strict=True):
        if rule.wrong:
            passed = [one.runs - one.failed for one in column]
            broken = [refuted(count, one.runs) for count, one in zip(passed, column, strict=True)]
            checks.append(
                Check("the check can fail: without log(1 / failure) the sets lose the truth", all(broken),
                      f"refuted in {sum(broken)} of {len(broken)} cases; {sum(one.failed for one in column)} of "
                      f"{sum(one.runs for one in column)} runs failed")
            )  # fmt: skip
            continue
        worst, case = max(zip(column, found, strict=True), key=lambda pair: pair[0].limit)
        failed, runs = (sum(one[at] for one in column) for at in range(2))
        checks.append(
            Check(f"{rule.widths}: failures at most delta = {rule.delta:g} in each case, with confidence "
                  f"{CONFIDENCE:g}", worst.limit <= rule.delta,
                  f"worst: {', '.join(case)}, {worst.failed} of {worst.runs} runs, so at most {worst.limit:.3f}; "
                  f"in all {failed} of {runs:,} ({failed / runs:.2%})")
        )  # fmt: skip
    return checks
