"""g. The sharp sets hold the truth too, whatever pieces they are made of; and what each piece brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from goalbound import Dirichlet, Support
from goalbound.confidence import IntervalPieces, Widths, likelihood, paper, scaled, sharp
from goalbound.problems import dense_random
from guarantees.coverage import CONFIDENCE, covered_runs, lower_limit, refuted
from guarantees.environments import ENVIRONMENTS
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, Instance, certified, dense, full_support, run_episodes, simulation

PIECES = tuple(IntervalPieces.__annotations__)
CONTEXTS = ("Dirichlet", "adversary")
NARROW = 0.1
LIKELIHOOD = "likelihood"
"""Shown beside the others; part i has the check of their coverage, which uses delta, at full size."""


@dataclass(frozen=True)
class Size:
    """How many runs, and how long; and how long those are whose regret is compared."""

    runs: int = 500
    episodes: int = 300
    adversarial_episodes: int = 60
    dense_episodes: int = 100_000
    lake_episodes: int = 30_000
    max_ratio: float = 0.25
    """The required ratio of the regret of sharp sets to that of the paper's."""


QUICK = Size(runs=60, episodes=60, adversarial_episodes=10, dense_episodes=10_000, lake_episodes=1000, max_ratio=0.5)


class RegretCase(NamedTuple):
    """A problem on which regret is compared."""

    name: str
    instance: Instance
    support: Support
    episodes: int


def rules() -> dict[str, Widths]:
    """All that is tried, by what the table calls it."""
    left_out = {f"without {piece}": sharp(**{piece: False}) for piece in PIECES}
    alone = {f"only {piece}": sharp(**{other: other == piece for other in PIECES}) for piece in PIECES}
    nothing = {"no piece": sharp(**dict.fromkeys(PIECES, False))}
    narrow = {f"{NARROW} x sharp": scaled(sharp(), by=NARROW)}
    return {"sharp": sharp(), LIKELIHOOD: likelihood(), **left_out, **alone, **nothing, **narrow}


def sharp_sets(size: Size, notify: Notify = ignore_progress) -> Result:
    """Audit many runs of each rule, and compare its regret with that of the paper's widths."""
    instances = [certified(dense(3, seed=seed), tolerance=0.1) for seed in range(size.runs)]
    tried, played = rules(), regret_cases(size)
    total = len(tried) * (len(CONTEXTS) + len(played))
    base = [_regret(case, paper()) for case in played]
    rows: list[list[Any]] = [["paper", True, None, None, None, *_with_ratios(base, base)]]
    for place, (name, widths) in enumerate(tried.items()):
        notify(f"{name}, {size.runs} runs and {len(played)} long ones", place * total // len(tried), total)
        counts = [covered_runs(instances, contexts, widths, size)[0] for contexts in CONTEXTS]
        lowest = min(lower_limit(count, size.runs) for count in counts)
        regrets = [_regret(case, widths) if widths.proven else None for case in played]
        rows.append([name, widths.proven, *counts, lowest, *_with_ratios(regrets, base)])
    return Result(
        "g", "sharp sets hold the truth too, and are much smaller",
        f"delta = {DELTA}; coverage: {size.runs} runs of S = 3, A = 2, d = 2, a new random problem each, losses 0 or "
        f"1, {size.episodes} episodes ({size.adversarial_episodes} against the adversary); regret: dense random, S = "
        f"10, A = 3, d = 3, {size.dense_episodes:,} episodes, and FrozenLake-v1 of success rates 1 and 1/3, "
        f"{size.lake_episodes:,} episodes, told no support and its own",
        _checks(rows, size, played),
        ["widths", "proven", *CONTEXTS, "at least", *(cell for case in played for cell in (case.name, "of paper"))],
        rows,
        ["Dirichlet, adversary: runs in which the truth lay in all intervals of all pairs at every plan",
         f"at least: exact binomial limit of the worse of both (Clopper and Pearson), one-sided, confidence "
         f"{CONFIDENCE:g}",
         "other columns: expected regret of one long run each, and its share of that of the paper's widths"],
        {"races": [case.name for case in played]},
    )  # fmt: skip


def regret_cases(size: Size) -> list[RegretCase]:
    """The problems on which regret is compared; those of Gymnasium only where it is installed."""
    crowd = certified(dense_random(10, actions=3, context_size=3, seed=0), tolerance=0.1)
    found = [RegretCase("dense", crowd, crowd.problem.support, size.dense_episodes)]
    try:
        from goalbound.adapters.gymnasium import from_environments

        lake = certified(from_environments(ENVIRONMENTS["FrozenLake-v1"]()).problem, tolerance=0.1)
    except ImportError:
        return found
    support = lake.problem.support
    return [
        *found,
        RegretCase("lake", lake, full_support(support), size.lake_episodes),
        RegretCase("lake, own support", lake, support, size.lake_episodes),
    ]


def _regret(case: RegretCase, widths: Widths) -> float:
    problem = case.instance.problem
    learner = case.instance.learner(widths=widths, support=case.support)
    run = simulation(problem, learner, Dirichlet.symmetric(problem.context_size), seed=0)
    return run_episodes(run, case.episodes).total_expected_regret


def _with_ratios(regrets: list[Any], base: list[Any]) -> list[Any]:
    """Each regret and its share of the paper's."""
    pairs = [(one, None if one is None else one / other) for one, other in zip(regrets, base, strict=True)]
    return [cell for pair in pairs for cell in pair]


def _checks(rows: list[list[Any]], size: Size, played: list[RegretCase]) -> list[Check]:
    _, sharp_row, *others = rows
    proven = [sharp_row, *(row for row in others if row[1] and row[0] != LIKELIHOOD)]
    worst = min(proven, key=lambda row: row[4])
    narrow = rows[-1]
    ratios = sharp_row[6::2]
    return [
        Check(f"coverage at least {1 - DELTA:g} for each of {len(proven)} choices of pieces, with confidence "
              f"{CONFIDENCE:g}", worst[4] >= 1.0 - DELTA,
              f"worst: {worst[0]}, {worst[2]} and {worst[3]} of {size.runs} runs, so at least {worst[4]:.3f}"),
        Check("the check can fail: intervals of a tenth lose the truth",
              all(refuted(count, size.runs) for count in narrow[2:4]),
              f"{narrow[0]}: {narrow[2]} and {narrow[3]} of {size.runs} runs"),
        Check(f"regret at most {size.max_ratio:g} of that with the paper's widths",
              all(ratio <= size.max_ratio for ratio in ratios),
              ", ".join(f"{ratio:.3f} ({case.name})" for ratio, case in zip(ratios, played, strict=True))),
    ]  # fmt: skip
