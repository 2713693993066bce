"""``goalbound solve``: the best policy of a problem under one context, or a comparison of all pure contexts."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import __version__
from goalbound.cli.problems import context_name, find_context, find_problem, uniform_context
from goalbound.cli.text import column, json_number, number, safe_name
from goalbound.csv_cells import csv_text
from goalbound.errors import ArgumentError, NoProperPolicy
from goalbound.models import SSP, LinearCSSP
from goalbound.models.amounts import cap_entry, cap_of
from goalbound.planning import Solution, Status, hitting_times, solve
from goalbound.terminal import one_line, pluralize, table

NOT_CONVERGED = 3
ROWS_SHOWN = 20


def run(arguments: Namespace) -> int:
    """Solve and print; the exit code tells whether all solutions converged."""
    problem = find_problem(arguments)
    if isinstance(problem, LinearCSSP) and arguments.context is None and problem.context_size > 1:
        if arguments.policy_out is not None:
            raise ArgumentError("--policy-out writes the policy of one context; say which with --context")
        results = _solve_corners(problem, arguments)
    else:
        results = [_solve_context(problem, arguments)]
    if arguments.policy_out is not None:
        _write_csv(results[0], arguments.policy_out)
    if arguments.json:
        _print_json(problem, results, arguments)
    elif isinstance(problem, LinearCSSP) and len(results) > 1:
        print(_corners_text(problem, results, arguments.problem))
    else:
        print(_states_text(problem, results[0], arguments))
    failed = [result for result in results if result.solution.status is not Status.CONVERGED]
    for result in failed:
        where = "" if result.name is None else f"context {result.name}: "
        print(f"goalbound: {where}{result.solution.status.value} (width {result.width:.1e})", file=sys.stderr)
    return NOT_CONVERGED if failed else 0


def _solve_context(problem: SSP | LinearCSSP, arguments: Namespace) -> ContextResult:
    """The result of one context; of a single component without ``--context``."""
    if isinstance(problem, SSP) and arguments.context is None:
        return ContextResult(None, None, _solved(problem, None, arguments))
    words = "middle" if arguments.context is None else arguments.context
    context = find_context(problem, words)  # raises if the problem has no context
    assert isinstance(problem, LinearCSSP)
    name = context_name(problem, context.tolist())
    return ContextResult(name, context.tolist(), _solved(problem.at(context), None, arguments))


def _solve_corners(problem: LinearCSSP, arguments: Namespace) -> list[ContextResult]:
    """The results of every pure context and, last, of the middle; each with the steps of the middle's policy there."""
    contexts = [*np.eye(problem.context_size), uniform_context(problem)]
    names = [context_name(problem, corner.tolist()) for corner in contexts[:-1]] + ["middle (the average)"]
    results = [
        ContextResult(name, context.tolist(), _solved(problem.at(context), name, arguments))
        for name, context in zip(names, contexts, strict=True)
    ]
    averaged = results[-1].solution.policy
    return [replace(result, averaged_steps=hitting_times(result.solution.problem, averaged)) for result in results]


def _solved(ssp: SSP, name: str | None, arguments: Namespace) -> Solution:
    try:
        return solve(ssp, tolerance=arguments.tolerance, unreachable=arguments.unreachable)
    except NoProperPolicy as error:
        if name is None:
            raise
        raise ArgumentError(f"context {name}: {error}") from None


def _corners_text(problem: LinearCSSP, results: Sequence[ContextResult], title: str) -> str:
    """One row for each context: its best policy, and whether the averaged model's policy arrives there."""
    states = problem.support.states
    columns = [
        [result.name or "" for result in results],
        column([result.start["value"] for result in results]),
        column([result.start["steps"] for result in results]),
        [f"{result.width:.1e}" for result in results],
        [result.status for result in results],
        [_arrival(len(result.improper_states), states) for result in results],
    ]
    head = ["context", "value", "steps", "width", "status", "the averaged policy"]
    improper = sum(bool(result.improper_states) for result in results[:-1])
    names = problem.component_names
    example = f'"{safe_name(names[0])}"' if names else "C (weights that sum to 1)"
    lines = [
        *_about(title, problem),
        "",
        table(head, zip(*columns, strict=True), "lrrrll"),
        "",
        "value: expected loss to the goal from the start, by the best policy for that context (smaller is better)",
        "steps: expected number of steps of that policy; width: relative distance of the certified bounds",
        f"averaged policy: the best one for the middle; improper in {improper} of {len(results) - 1} pure contexts",
        f"one context in full: --context {example}",
    ]
    return "\n".join(lines)


def _arrival(stuck: int, states: int) -> str:
    if not stuck:
        return "arrives from every state"
    return f"may never arrive from {'any state' if stuck == states else f'{stuck} of {states} states'}"


def _about(title: str, problem: SSP | LinearCSSP) -> list[str]:
    support = problem.support
    sizes = f"{pluralize(support.states, 'state')}, {pluralize(support.pairs, 'pair')}"
    lines = [f"{one_line(title)}: {sizes}, {pluralize(support.triples, 'transition')}"]
    if isinstance(problem, LinearCSSP):
        names = problem.component_names or ()
        listing = ": " + ", ".join(safe_name(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
        lines.append(f"{pluralize(problem.context_size, 'component')}{listing if names else ''}")
    if cap_of(problem) != 1.0:
        lines.append(f"values are in the problem's own unit; a loss of 1 is {cap_of(problem):.10g} of it")
    return lines


def _states_text(problem: SSP | LinearCSSP, result: ContextResult, arguments: Namespace) -> str:
    """The value at the start, and the table of states with the action to take in each."""
    ssp, start, solution = result.solution.problem, result.start, result.solution
    support = ssp.support
    shown = support.states if arguments.all else min(support.states, ROWS_SHOWN)
    if not isinstance(ssp.start, int):
        where = f"mean over {pluralize(int((ssp.start > 0.0).sum()), 'start state')}"
    else:
        where = safe_name(support.state_names[ssp.start]) if support.state_names else f"state {ssp.start}"
    as_losses = f" (as losses in [0, 1]: {number(solution.start_value)})" if cap_of(ssp) != 1.0 else ""
    lines = _about(arguments.problem, problem)
    if result.name is not None:
        lines.append(f"context: {result.name}")
    lines += [
        "",
        f"from the start ({where}): value {number(start['value'])}{as_losses}, expected steps {number(start['steps'])}",
        f"certified to a relative width of {result.width:.1e}: {solution.status.value}",
        "",
        _states_table(result, shown),
    ]
    if shown < support.states:
        lines.append(f"... and {pluralize(support.states - shown, 'more state')} (--all shows them)")
    return "\n".join(lines)


def _states_table(result: ContextResult, shown: int) -> str:
    names = result.solution.problem.support.state_names
    numbers = (result.values, result.lower, result.upper, result.solution.hitting_times)
    columns = [
        [safe_name(names[state]) if names else str(state) for state in range(shown)],
        [_action(result, state) for state in range(shown)],
        *(column(part[:shown].tolist()) for part in numbers),
    ]
    head = ["state", "action", "value", "lower", "upper", "steps"]
    return table(head, zip(*columns, strict=True), "llrrrr" if names else "rlrrrr")


def _action(result: ContextResult, state: int) -> str:
    action, name = int(result.solution.policy[state]), result.action_name(state)
    return "none" if action < 0 else str(action) if name is None else safe_name(name)


def _print_json(problem: SSP | LinearCSSP, results: Sequence[ContextResult], arguments: Namespace) -> None:
    """Print one object, with one line for each state."""
    contextual = problem if isinstance(problem, LinearCSSP) else None
    head = {
        "goalbound": __version__,
        "problem": arguments.problem,
        "settings": arguments.settings,
        "tolerance": arguments.tolerance,
        "unreachable": arguments.unreachable,
        "status": next((result.status for result in results if result.status != "converged"), "converged"),
        "width": json_number(max(result.width for result in results)),
        **cap_entry(cap_of(problem)),
        "sizes": {
            "states": problem.support.states,
            "pairs": problem.support.pairs,
            "transitions": problem.support.triples,
            "components": contextual and contextual.context_size,
        },
        "components": contextual and contextual.component_names,
    }
    write = sys.stdout.write
    write(json.dumps(head, allow_nan=False)[:-1] + ', "contexts": [\n')
    for place, result in enumerate(results):
        write(",\n" if place else "")
        write(json.dumps(result.summary(), allow_nan=False)[:-1] + ', "states": [\n')
        for row, state in enumerate(result.states()):
            write((",\n" if row else "") + json.dumps(state, allow_nan=False))
        write("\n]}")
    write("\n]}\n")


def _write_csv(result: ContextResult, path: str) -> None:
    head = list(next(result.states()))
    text = csv_text(head, (list(state.values()) for state in result.states()))
    Path(path).write_text(text, encoding="utf-8", newline="")


@dataclass(frozen=True, eq=False)
class ContextResult:
    """The result for one context.

    Attributes:
        name: of the context, for display; None for a problem without context.
        context: [d] its weights, or None.
        solution: in losses.
        averaged_steps: [S + 1] expected steps of the averaged model's policy, where that was asked for.
    """

    name: str | None
    context: list[float] | None
    solution: Solution
    averaged_steps: NDArray[np.float64] | None = None

    @property
    def values(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit."""
        return self.solution.values * cap_of(self.solution.problem)

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit, still a lower bound after rounding."""
        return _scaled(self.solution.lower, cap_of(self.solution.problem), 0.0)

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """[S + 1] in the user's unit, still an upper bound after rounding."""
        return _scaled(self.solution.upper, cap_of(self.solution.problem), np.inf)

    @cached_property
    def start(self) -> dict[str, float]:
        """Value, bounds and expected steps at the start: of the start state, or the mean over the start law."""
        rounding = 0.0 if isinstance(self.solution.problem.start, int) else 2.0**-50
        return {
            "value": self._mean(self.values),
            "lower": self._mean(self.lower) * (1.0 - rounding),
            "upper": self._mean(self.upper) * (1.0 + rounding),
            "steps": self._mean(self.solution.hitting_times),
        }

    @property
    def width(self) -> float:
        """The largest relative distance between the bounds; infinite if a state with an action has no upper bound."""
        unbounded = np.isinf(self.solution.upper[:-1]) & (self.solution.policy >= 0)
        return math.inf if unbounded.any() else self.solution.width

    @property
    def status(self) -> str:
        """The status in lower case."""
        return self.solution.status.name.lower()

    @property
    def improper_states(self) -> list[int]:
        """The states from which the averaged model's policy may never arrive under this context."""
        steps = self.averaged_steps
        return [] if steps is None else [int(state) for state in np.flatnonzero(np.isinf(steps))]

    def action_name(self, state: int) -> str | None:
        """The name of the action to take; None without an action or without names."""
        action, names = int(self.solution.policy[state]), self.solution.problem.support.action_names
        return names[action] if names is not None and action >= 0 else None

    def states(self) -> Iterator[dict[str, Any]]:
        """One record per state, with exact numbers."""
        solution, names = self.solution, self.solution.problem.support.state_names
        columns = {"value": self.values, "lower": self.lower, "upper": self.upper, "steps": solution.hitting_times}
        numbers = {name: part.tolist() for name, part in columns.items()}
        for state, action in enumerate(solution.policy.tolist()):
            yield {
                "state": state,
                "name": None if names is None else names[state],
                "action": None if action < 0 else action,
                "action_name": self.action_name(state),
                **{name: json_number(part[state]) for name, part in numbers.items()},
            }

    def summary(self) -> dict[str, Any]:
        """All but the states."""
        summary: dict[str, Any] = {
            "name": self.name,
            "context": self.context,
            "status": self.status,
            "policies_tried": self.solution.iterations,
            "width": json_number(self.width),
            "start": {name: json_number(value) for name, value in self.start.items()},
        }
        if self.averaged_steps is not None:
            summary["averaged_policy"] = {
                "proper": not self.improper_states,
                "may_never_arrive_from": self.improper_states,
                "steps_from_start": json_number(self._mean(self.averaged_steps)),
            }
        return summary

    def _mean(self, values: NDArray[np.float64]) -> float:
        law = self.solution.problem.start_distribution
        return math.fsum((law[law > 0.0] * values[:-1][law > 0.0]).tolist())


def _scaled(bound: NDArray[np.float64], scale: float, away: float) -> NDArray[np.float64]:
    """A bound times the scale, rounded away from the value unless the product is exact anyway."""
    product = bound * scale
    if math.frexp(scale)[0] == 0.5:
        return product
    return np.where((bound > 0.0) & np.isfinite(bound), np.nextafter(product, away), product)
