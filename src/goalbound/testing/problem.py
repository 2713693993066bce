"""Is a problem fit for learners, and does its environment, if it has one, play that problem?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import InputError
from goalbound.models import SSP, Builder, LinearCSSP, Step
from goalbound.planning import blocking_states
from goalbound.testing.contract import Findings, Stop

FALSE_ALARM = 1e-9
"""The probability that an environment that plays its problem fails the comparison of frequencies."""


@dataclass(frozen=True)
class ProblemReport:
    """The result of a check of a problem.

    Attributes:
        states, pairs, triples, context_size: S, N, M, d.
        loss_floor: the smallest loss of any pair under any context.
        zero_losses: how many pairs lose nothing under some component; learners then need ``episodes`` (see LRCSSP).
        never_used: how many next states of the support have probability 0 under every component.
        environment_steps: how many steps of the environment were checked; 0 without one.
    """

    states: int
    pairs: int
    triples: int
    context_size: int
    loss_floor: float
    zero_losses: int
    never_used: int
    environment_steps: int = 0

    def __str__(self) -> str:
        parts = [
            f"{self.states} states, {self.pairs} pairs, {self.triples} next states, {self.context_size} components",
            "every context has a proper policy",
            f"smallest loss {self.loss_floor:.6g}",
        ]
        if self.zero_losses:
            parts[-1] += f" ({self.zero_losses} pairs may lose nothing: LR-CSSP then needs the number of episodes)"
        if self.never_used:
            parts.append(f"{self.never_used} next states have probability 0 under every component")
        if self.environment_steps:
            parts.append(f"the environment agreed in {self.environment_steps} steps")
        return "; ".join(parts)


def check_problem(problem: Any, *, steps: int = 2000, seed: int = 0) -> ProblemReport:
    """Raises one :class:`ContractError` that lists everything that is wrong with a problem; else returns a report.

    Args:
        problem: a :class:`LinearCSSP`, or one with its environment: an object with a ``problem`` and an
            ``environment`` that is made from ``rng=`` (a ``ProblemInstance`` of :mod:`goalbound.experiments`).
        steps: how many steps of the environment are checked, by actions drawn at random.
        seed: of those, and of the environment.

    Checked: losses are in [0, 1] and rows are distributions; every context has a proper policy
    (every component has one, which is the same); the arrays are read-only. The environment begins where the problem
    may begin, goes only where the problem may lead under the context, gives losses in [0, 1], is determined by
    actions and stream, and its mean losses and frequencies are those of the problem (a correct environment fails this
    last one with probability below 1e-9).
    """
    truth = getattr(problem, "problem", problem)
    environment = getattr(problem, "environment", None)
    found = Findings(type(problem).__name__)
    with found.step("problem"):
        _check_arrays(truth, found)
        _check_proper(truth, found)
    found.close()
    steps_checked = 0
    if environment is not None:
        with found.step("environment"):
            steps_checked = _EnvironmentCheck(truth, environment, found, seed).run(steps)
        found.close()
    return _report(truth, steps_checked)


def _report(problem: LinearCSSP, steps_checked: int) -> ProblemReport:
    support = problem.support
    return ProblemReport(
        support.states, support.pairs, support.triples, problem.context_size,
        float(problem.losses.min()),
        int(np.count_nonzero((problem.losses == 0.0).any(axis=1))),
        int(np.count_nonzero((problem.probabilities == 0.0).all(axis=1))),
        steps_checked,
    )  # fmt: skip


def _check_arrays(problem: Any, found: Findings) -> None:
    if isinstance(problem, SSP):
        found.add("problem", "it has no contexts", "make it one of one component: LinearCSSP.mix([problem])")
        raise Stop
    if not isinstance(problem, LinearCSSP):
        found.add("problem", f"it is a {type(problem).__name__}", "give a LinearCSSP or a ProblemInstance")
        raise Stop
    try:
        again = replace(problem)
    except InputError as error:
        found.add("losses and probabilities", str(error), "make the problem by its constructors, and leave it so")
        raise Stop from None
    for name in ("losses", "probabilities"):
        if getattr(problem, name).flags.writeable:
            found.add(
                name, "this array can be written to", "a problem never changes: leave the arrays as they are made"
            )
    if again != problem:
        found.add("probabilities", "some rows do not sum to 1 exactly", "make the problem by its constructors")


def _check_proper(problem: LinearCSSP, found: Findings) -> None:
    """A mixture keeps what its components can do, so every context is proper if every component is."""
    for component in range(problem.context_size):
        blocked = blocking_states(problem.component(component))
        if len(blocked):
            names = ", ".join(problem.support.state_name(int(state)) for state in blocked[:8])
            more = f" and {len(blocked) - 8} more" if len(blocked) > 8 else ""
            found.add(
                problem.component_name(component), f"there is no proper policy from {names}{more}",
                "give these states a way out, or leave them out of the problem",
            )  # fmt: skip


class _EnvironmentCheck:
    """A walk through an environment under the middle context and the corners, by actions drawn at random."""

    def __init__(self, problem: LinearCSSP, make: Callable[..., Any], found: Findings, seed: int) -> None:
        self.problem, self.make, self.found, self.seed = problem, make, found, seed
        size = problem.context_size
        self.contexts = [np.full(size, 1.0 / size), *np.eye(size)] if size > 1 else [np.ones(1)]

    def run(self, steps: int) -> int:
        """Check ``steps`` steps, shared among the contexts; returns how many were checked."""
        share = -(-steps // len(self.contexts))
        for at, context in enumerate(self.contexts):
            walk, again = (self._walk(context, at, share) for _ in range(2))
            if walk != again:
                self.found.add(
                    "environment", "two environments made from the same rng responded differently to the same actions",
                    "draw from the generator given as rng= only",
                )  # fmt: skip
                raise Stop
            self._check_means(context, walk)
        return share * len(self.contexts)

    def _walk(self, context: NDArray[np.float64], part: int, count: int) -> list[Step]:
        support = self.problem.support
        environment = self.make(rng=np.random.default_rng([self.seed, part]))
        rng = np.random.default_rng([self.seed, part, 1])
        walk: list[Step] = []
        state = support.states
        while len(walk) < count:
            if state == support.states:
                state = self._checked_start(environment.begin(context.copy()), context)
            actions = support.pair_action[support.pair_start[state] : support.pair_start[state + 1]]
            action = int(rng.choice(actions))
            step = environment.step(action)
            self._check_step(step, state, action, context)
            walk.append(Step(*step))
            state = step.next_state
        return walk

    def _checked_start(self, state: Any, context: NDArray[np.float64]) -> int:
        start = self.problem.start
        possible = [start] if isinstance(start, int) else np.flatnonzero(self.problem.at(context).start_distribution)
        if isinstance(state, bool) or not isinstance(state, int | np.integer) or state not in possible:
            self._stop(f"it began in {state!r}", f"episodes begin in one of {list(map(int, possible))[:20]}")
        return int(state)

    def _check_step(self, step: Any, state: int, action: int, context: NDArray[np.float64]) -> None:
        if not isinstance(step, Step):
            self._stop(f"step gave a {type(step).__name__}", "give a Step(state, action, loss, next_state)")
        if (step.state, step.action) != (state, action):
            self._stop(f"action {action} in state {state} returned {step}", "a Step says what was played where")
        if not 0.0 <= step.loss <= 1.0:
            self._stop(f"{step} has a loss outside [0, 1]", "divide losses by their largest")
        support = self.problem.support
        pair = support.pair(state, action)
        row = support.row(pair)
        chances = self.problem.probabilities[row] @ context
        if step.next_state not in support.next_state[row][chances > 0.0]:
            self._stop(
                f"{support.pair_name(pair)} led to {step.next_state}, which cannot follow under {context.tolist()}",
                f"the problem says {support.next_state[row][chances > 0.0].tolist()} (the goal is {support.states})",
            )

    def _check_means(self, context: NDArray[np.float64], walk: list[Step]) -> None:
        """Hoeffding: a mean of n numbers of [0, 1] is off by more than sqrt(log(2 / p) / 2n) with probability <= p."""
        support, ssp = self.problem.support, self.problem.at(context)
        pairs = np.array([support.pair(step.state, step.action) for step in walk])
        following, losses = np.array([step.next_state for step in walk]), np.array([step.loss for step in walk])
        chance = FALSE_ALARM / (len(self.contexts) * (support.pairs + support.triples))
        for pair in np.unique(pairs):
            mine = pairs == pair
            slack = math.sqrt(math.log(2.0 / chance) / (2.0 * int(mine.sum())))
            row = support.row(int(pair))
            seen = [float(losses[mine].mean()), *((following[mine] == s).mean() for s in support.next_state[row])]
            said = [ssp.losses[pair], *ssp.probabilities[row]]
            what = ["mean loss", *(f"chance of next state {s}" for s in support.next_state[row])]
            for name, ours, theirs in zip(what, seen, said, strict=True):
                if abs(ours - theirs) > slack + 1e-9:
                    where = f"{support.pair_name(int(pair))} under {context.tolist()}"
                    self._stop(
                        f"{where}: the {name} was {ours:.4g} in {int(mine.sum())} steps, the problem says {theirs:.4g}",
                        "regret is measured against the problem, so the environment must play it",
                    )

    def _stop(self, wrong: str, remedy: str) -> NoReturn:
        self.found.add("environment", wrong, remedy)
        raise Stop


def small_problem() -> LinearCSSP:
    """Two kinds of weather, three states with one to three actions, and one action that never leaves its state.

    >>> small_problem().support
    Support(3 states, 6 pairs, 12 next states)
    """
    plan = Builder(components=["dry", "wet"])
    plan.add("start", "walk", loss=0.3, to={"middle": [0.9, 0.8], "start": [0.1, 0.2]})
    plan.add("start", "run", loss=0.2, to={"last": [0.8, 0.1], "start": [0.2, 0.9]})
    plan.add("middle", "run", loss=[0.2, 0.4], to={"last": [0.9, 0.5], "start": [0.1, 0.5]})
    plan.add("last", "walk", loss=0.4, to={"goal": [0.9, 0.9], "middle": [0.1, 0.1]})
    plan.add("last", "run", loss=0.3, to={"goal": [0.9, 0.3], "middle": [0.05, 0.6], "start": [0.05, 0.1]})
    plan.add("last", "wait", loss=0.9, to={"last": 1.0})
    return plan.linear_cssp()
