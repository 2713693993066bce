"""How often the intervals of ``evaluate_policy`` hold the truth, over logs of incidents that differ by their seed.

``python -m tests.support.off_policy_coverage`` prints the table of docs/how_to/off_policy.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from goalbound import LRCSSP, LinearCSSP, LossScale, widths
from goalbound.adapters.covariates import Hats, Periodic, Tensor
from goalbound.logs import Log, LogColumns, PolicyEvaluation, evaluate_policy, read_log
from goalbound.problems import incident_log, incident_recovery, runbook
from goalbound.terminal import table
from tests.support.behaviour_logs import true_mean

HOURS = 2
CAP = 60.0


class Coverage(NamedTuple):
    """One row of one policy: in how many logs there was an interval, in how many it held the truth, mean width and
    mean error of the estimate (estimate - truth), in minutes."""

    policy: str
    method: str
    intervals: int
    held: int
    width: float
    error: float


def incidents(problem: LinearCSSP, cases: int, seed: int) -> Log:
    """A log of incidents of the problem with two hours, in minutes."""
    rows = incident_log(problem, cases, np.random.default_rng(seed), deviation=0.3)
    day = Tensor([Periodic.even(24, count=HOURS, start=3), Hats([0, 0.5, 1], clamp=True)], ["hour", "traffic"])
    columns = LogColumns(loss="minutes", covariates=["hour", "traffic"], probability="probability")
    scale = LossScale("min", cap=CAP)
    return read_log(
        rows, columns=columns, goal="recovered", support=problem.support, covariate_map=day, loss_scale=scale
    )


def policies(problem: LinearCSSP) -> dict[str, Any]:
    """The runbook; one that pages in degraded states; and this one by day only (contexts begin with the night)."""
    book = runbook(problem)
    careful = book.copy()
    careful[problem.support.state("degraded")] = problem.support.action("page expert")
    return {
        "runbook": book, "page if degraded": careful,
        "page if degraded, by day": lambda context: careful if context[:3].sum() < 0.5 else book,
    }  # fmt: skip


def taught(problem: LinearCSSP, log: Log) -> LRCSSP:
    """A proven learner that has learned a log of incidents."""
    learner = LRCSSP(problem.support, problem.context_size, loss_floor=5 / CAP, widths=widths.sharp())
    learner.learn_log(log)
    return learner


def evaluations(
    problem: LinearCSSP, policy: Any, logs: Sequence[Log], *, replicates: int, learners: Sequence[LRCSSP] = ()
) -> list[tuple[float, PolicyEvaluation]]:
    """The truth, in minutes, and what was found, for each log; with bounds of all cases if there are learners."""
    found = []
    for seed, log in enumerate(logs):
        rng = np.random.default_rng(10_000 + seed)
        learner = learners[seed] if learners else None
        one = evaluate_policy(log, policy, learner=learner, replicates=replicates, bounded_cases=None, rng=rng)
        found.append((CAP * true_mean(problem, log, policy), one))
    return found


def coverage(name: str, found: Sequence[tuple[float, PolicyEvaluation]]) -> list[Coverage]:
    """By method."""
    out = []
    for place in range(1, 4):
        rows = [(truth, one.rows[place]) for truth, one in found]
        whole = [(truth, row) for truth, row in rows if row.low is not None and row.high is not None]
        held = sum(row.low <= truth <= row.high for truth, row in whole)
        width = float(np.mean([row.high - row.low for _, row in whole])) if whole else float("nan")
        errors = [row.value - truth for truth, row in rows if row.value is not None]
        out.append(Coverage(name, rows[0][1].method, len(whole), held, width, float(np.mean(errors))))
    return out


def coverage_table(found: Sequence[Coverage]) -> str:
    """For people."""
    cells = [
        [one.policy, one.method, f"{one.held} of {one.intervals}", f"{one.width:.3g}", f"{one.error:+.2f}"]
        for one in found
    ]
    return table(["policy", "method", "held the truth", "mean width, min", "mean error, min"], cells, "llrrr")


def main(logs: int = 100, cases: int = 500, replicates: int = 200) -> None:
    problem = incident_recovery(HOURS)
    drawn = [incidents(problem, cases, seed) for seed in range(logs)]
    found = [
        line
        for name, policy in policies(problem).items()
        for line in coverage(name, evaluations(problem, policy, drawn, replicates=replicates))
    ]
    print(coverage_table(found))


if __name__ == "__main__":
    main()
