"""Our planner against others: ``python -m benchmarks.planner [--quick] [--json out.json]``.

Every contender solves the same problems to a relative precision of 1e-6, in turns, each in its own process; the best
of several runs counts. Conversion to a tool's own model is not timed. See README.md for how answers are judged.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import instances
from benchmarks.peers import CONTENDERS, TOLERANCE
from benchmarks.witness import ValueBounds, certificate_flaw, dead_ends, exact_values
from benchmarks.workers import Answer, Worker
from goalbound import SSP

QUICK = [(name, n) for n in (10**3, 10**4) for name in ("random", "grid", "shuffled_grid", "free_loops")]
QUICK += [("tiny_exits", 10**3), ("no_proper_policy", 10**3), ("no_proper_policy", 10**4)]
FULL = [*QUICK, *((name, 10**5) for name in ("random", "grid", "shuffled_grid", "free_loops")), ("random", 10**6)]
GOALS = {
    ("random", 10**5): 5.0, ("random", 10**6): 5.0, ("grid", 10**5): 3.0, ("shuffled_grid", 10**5): 3.0,
    ("free_loops", 10**5): 5.0,
}  # fmt: skip
"""How much faster than the fastest right peer we want to be; 1 where nothing is said."""

RIGHT = 2.0 * TOLERANCE
"""Twice what was asked for, so that no peer is out by a hair."""
JUDGE_TOLERANCE = 1e-9
DENSE = 2000
"""Up to here the values are also found by dense policy iteration."""
ROUNDS = 25
"""At most; slow contenders leave earlier."""


@dataclass
class Result:
    """What one contender did on one problem."""

    seconds: float
    error: float = 0.0
    trouble: str = ""
    runs: int = 1
    memory: int | None = None

    @property
    def right(self) -> bool:
        return not self.trouble and self.error <= RIGHT

    def cell(self, *, certified: bool) -> str:
        if self.trouble:
            return self.trouble.split(":")[0]
        if not self.right:
            return f"wrong ({self.error:.0e})"
        return f"{self.seconds:.4g}" + ("" if certified else "*")


@dataclass
class Row:
    """One problem: everyone's result."""

    instance: str
    n: int
    input_bytes: int
    judge: str
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def goal(self) -> float:
        return GOALS.get((self.instance, self.n), 1.0)

    def fastest(self, *, tuned: bool) -> str | None:
        """The fastest right peer; those with settings chosen by hand count only if asked for."""
        names = [one.name for one in CONTENDERS[1:] if one.name in self.results and (tuned or not one.tuned)]
        return min(
            (name for name in names if self.results[name].right),
            key=lambda name: self.results[name].seconds,
            default=None,
        )

    def ratio(self, *, tuned: bool) -> float | None:
        """Seconds of the fastest right peer over ours; infinite if there is none, None if we are wrong."""
        ours, peer = self.results[CONTENDERS[0].name], self.fastest(tuned=tuned)
        if not ours.right:
            return None
        return self.results[peer].seconds / ours.seconds if peer else np.inf

    @property
    def memory(self) -> str:
        memory = self.results[CONTENDERS[0].name].memory
        return "-" if memory is None else f"{memory / self.input_bytes:.2f}"


def judge(ssp: SSP) -> tuple[ValueBounds | None, str]:
    """The truth about a problem, and how it was checked or why there is none."""
    from goalbound.errors import NoProperPolicy
    from goalbound.planning import solve

    try:
        solution = solve(ssp, tolerance=JUDGE_TOLERANCE)
    except NoProperPolicy:
        if not dead_ends(ssp).all():
            return None, "only some states are hopeless: there is no judge for that"
        endless = np.full(ssp.support.states, np.inf)
        return ValueBounds(endless, endless), "no state can surely reach the goal"
    lower, upper = solution.lower[:-1], solution.upper[:-1]
    flaw = certificate_flaw(ssp, lower, upper, policy_pairs(ssp, solution.policy))
    if flaw:
        return None, f"our bounds failed the check: {flaw}"
    bounds = ValueBounds(lower, upper)
    if ssp.support.states > DENSE:
        return bounds, f"bounds {solution.width:.0e} wide, checked"
    error = bounds.error(exact_values(ssp))
    if error > 10.0 * JUDGE_TOLERANCE:
        return None, f"dense policy iteration is {error:.1e} outside our bounds"
    return bounds, f"bounds {solution.width:.0e} wide, checked, dense policy iteration agrees"


def policy_pairs(ssp: SSP, policy: NDArray[np.int64]) -> NDArray[np.int64]:
    """[S] the pair of each state under a policy of actions [S]."""
    support = ssp.support
    pairs = np.flatnonzero(support.pair_action == policy[support.pair_state])
    if not np.array_equal(support.pair_state[pairs], np.arange(support.states)):
        raise ValueError("the policy names an action that its state does not have")
    return pairs


def run_row(instance: str, n: int, workers: list[Worker], *, quick: bool, silent: set[tuple[str, str]]) -> Row:
    """Time everyone on one problem, in turns. ``silent``: (contender, instance) pairs that gave no answer before."""
    ssp = getattr(instances, instance)(n)
    bounds, how = judge(ssp)
    row = Row(instance, n, instances.input_bytes(ssp), how)
    limit = 2.0 if quick else {10**5: 30.0, 10**6: 180.0}.get(n, 10.0)
    budget = 10.0 if n >= 10**6 else 0.3 if quick else 3.0
    running = []
    for worker in workers:
        name = worker.contender.name
        if worker.contender.largest < n:
            continue
        trouble = "no answer" if (name, instance) in silent else worker.load(instance, n)
        row.results[name] = Result(np.inf, trouble=trouble, runs=0)
        if not trouble:
            running.append(worker)
    for _ in range(ROUNDS):
        for worker in list(running):
            result = row.results[worker.contender.name]
            _one_run(result, worker.solve(limit), bounds)
            if result.trouble.startswith("no answer"):
                silent.add((worker.contender.name, instance))
            if result.trouble or result.seconds * result.runs > budget:
                running.remove(worker)
    return row


def _one_run(result: Result, answer: Answer, bounds: ValueBounds | None) -> None:
    """Take a run into a result: the best time, the worst error."""
    result.runs += 1
    result.seconds = min(result.seconds, answer.seconds)
    result.memory = answer.memory if result.memory is None else result.memory
    if answer.error.startswith("NoProperPolicy") and bounds is not None and np.isinf(bounds.lower).all():
        return  # saying so is the right answer
    if answer.values is None:
        result.trouble = answer.error
    elif bounds is None:
        result.trouble = "not judged"
    else:
        result.error = max(result.error, bounds.error(answer.values))


def summary(rows: list[Row]) -> str:
    """The main table: we, the peers as they come, and the fastest right peer with settings chosen by hand."""
    plain = [one for one in CONTENDERS[1:] if not one.tuned]
    head = ["instance", "n", "goalbound", "memory", *(one.name for one in plain), "ratio", "tuned peer", "ratio"]
    lines = [[*head, "goal", "reached"]]
    for row in rows:
        ours = row.results[CONTENDERS[0].name]
        best = row.fastest(tuned=True)
        tuned = f"{best} {row.results[best].seconds:.4g}" if best else "none right"
        ratios = [row.ratio(tuned=False), row.ratio(tuned=True)]
        reached = " / ".join("no" if ratio is None or ratio < row.goal else "yes" for ratio in ratios)
        cells = [_cell(row, one.name, certified=one.certified) for one in plain]
        texts = ["-" if ratio is None else "alone" if np.isinf(ratio) else f"{ratio:.2f}" for ratio in ratios]
        lines.append([
            row.instance, f"{row.n:.0e}".replace("e+0", "e"), ours.cell(certified=True), row.memory, *cells, texts[0],
            tuned, texts[1], f"{row.goal:g}", reached,
        ])  # fmt: skip
    return _table(lines)


def details(rows: list[Row]) -> str:
    """Every contender on every problem."""
    lines = [["instance", "n", *(one.name for one in CONTENDERS), "judge"]]
    for row in rows:
        cells = [_cell(row, one.name, certified=one.certified) for one in CONTENDERS]
        lines.append([row.instance, f"{row.n:.0e}".replace("e+0", "e"), *cells, row.judge])
    return _table(lines)


def _cell(row: Row, name: str, *, certified: bool) -> str:
    return row.results[name].cell(certified=certified) if name in row.results else "-"


def _table(lines: list[list[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def _finite(value: Any) -> Any:
    """For JSON, which has no infinity: null instead."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and write; returns 1 if an answer of ours is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="1e3 and 1e4 states only, under a minute")
    parser.add_argument("--only", metavar="INSTANCE", help="one instance only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file")
    options = parser.parse_args(arguments)
    problems = [one for one in (QUICK if options.quick else FULL) if options.only in (None, one[0])]
    if not problems:
        parser.error(f"no instance is called {options.only}; there are {', '.join(sorted({name for name, _ in FULL}))}")
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"{machine}; seconds, best of several in turns; compare within a row only", flush=True)
    workers = [Worker(one) for one in CONTENDERS if not options.quick or one.largest > 10**5]
    rows: list[Row] = []
    silent: set[tuple[str, str]] = set()
    try:
        for worker in workers:
            worker.wait()
        for instance, n in problems:
            rows.append(run_row(instance, n, workers, quick=options.quick, silent=silent))
            print(f"{instance} {n}: " + ", ".join(
                f"{name} {result.cell(certified=True)}" for name, result in rows[-1].results.items()
            ), file=sys.stderr, flush=True)  # fmt: skip
    finally:
        for worker in workers:
            worker.close()
    print(f"\n{summary(rows)}\n\n{details(rows)}\n\n{NOTES}")
    if options.json:
        record = {"machine": machine, "tolerance": TOLERANCE, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(_finite(record), indent=1))
    return 0 if all(row.results[CONTENDERS[0].name].right for row in rows) else 1


NOTES = f"""memory: peak of our solve beyond the input, divided by the input's bytes.
ratio: seconds of the fastest right peer over ours, first with the peers' own settings, then also with settings chosen
by hand; goal and reached are for both; alone: no peer is right.
right: within {RIGHT:.0e} of the truth, relatively, in every state. *: right, but without a bound on its error."""


if __name__ == "__main__":
    sys.exit(main())
