"""The exact planner: policy iteration over proper policies, with a certificate.

Algorithm: reduce the problem (:mod:`goalbound.planning.reduction`), start from a proper policy, then evaluate
inexactly and improve until nothing is better by more than the tolerance allows, then certify. The certificate does not
trust anything that came before it: see :mod:`goalbound.planning.certificate`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ModelError
from goalbound.jit.compile import Run
from goalbound.models import SSP
from goalbound.models.validation import check_fraction, short_repr
from goalbound.planning.certificate import Certificate, certify, solve_in_rationals
from goalbound.planning.chain import ChainSolver, PolicyEvaluator
from goalbound.planning.checks import engine_for, require_ssp
from goalbound.planning.kernels import bellman, graph
from goalbound.planning.reduction import (
    Reduction,
    expand_policy,
    expand_values,
    no_proper_policy,
    reduce,
    reverse_of,
    states_of,
)
from goalbound.planning.solution import Solution, Status

ITERATIONS = 1000
FORCING = 0.02
"""Each evaluation brings the residual down to this share of what it found."""
MOST_CHANGES_AT_AIM = 20
"""How often the policy may still change at the smallest residual; more changes are cycles due to rounding."""
EXACT_STATES = 30
"""Up to this many states, what float64 cannot certify is solved in exact rationals."""
ATTEMPTS = 8
"""How often the target residual is lowered before the bounds are returned as they are."""


def solve(ssp: SSP, *, tolerance: float = 1e-9, unreachable: str = "refuse") -> Solution:
    """The best proper policy of a problem, with certified bounds of the optimal values.

    Guarantee: ``lower <= v* <= upper`` in exact arithmetic for the problem as stored (each row divided by its exact
    sum), where v* is the smallest value of any proper policy; status CONVERGED means that
    ``upper - lower <= tolerance * upper`` in every state. The policy is proper and its value is at most ``upper``.
    Ties go to the lowest action, but for states worth 0 and inside loops at no loss, where the shortest way out counts.
    The answer does not depend on threads.

    Args:
        ssp: the problem. Losses may be zero, anywhere.
        tolerance: largest relative width of the bounds.
        unreachable: what to do if some state has no proper policy: "refuse" raises :class:`NoProperPolicy`, which
            names them; "exclude" solves the rest, with value infinity and action -1 there.

    Cost: O(M) for the graph, then O(M) for each of usually 5 to 20 policies plus the solution of its chain.

    >>> solve(SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]])).values
    array([0.4, 0. ])
    """
    tolerance = check_fraction(tolerance, "tolerance", "a relative width")
    if not isinstance(unreachable, str) or unreachable not in ("refuse", "exclude"):
        raise ModelError(f'unreachable is {short_repr(unreachable)}; it is "refuse" or "exclude"')
    run = engine_for(require_ssp(ssp))
    reduction = reduce(ssp, run)
    if reduction.lost.any() and unreachable == "refuse":
        raise no_proper_policy(ssp, np.flatnonzero(reduction.lost))
    with np.errstate(all="ignore"):  # near the limits of float64; the certificate covers it
        search = _Search(reduction, run, tolerance)
        reduction = replace(reduction, reverse=None)  # not needed any more, and large
        status = search.run_to_end()
    best = search.best
    pairs = expand_policy(ssp, reduction, search.best_policy, run)
    policy = np.where(pairs >= 0, ssp.support.pair_action[np.maximum(pairs, 0)], -1).astype(np.int64)
    inside = np.clip(search.best_values, best.lower, best.upper)
    inside[np.isinf(best.upper)] = np.nan  # nothing is known there
    values, lower, upper = (expand_values(reduction, part) for part in (inside, best.lower, best.upper))
    bounds = {"values": values, "lower": lower, "upper": upper}
    return Solution(policy=policy, iterations=search.iterations, status=status, problem=ssp, **bounds)


class _Search:
    """Policy iteration on a reduced problem, from a proper policy to a certificate."""

    def __init__(self, reduction: Reduction, run: Run, tolerance: float) -> None:
        self.rows, self.usable, self.run = reduction.rows, reduction.usable, run
        self.tolerance = tolerance
        self.iterations = 0
        losses = self.rows.losses[self.usable]
        floor = max(1e-3 * float(losses.mean()), 1e-290) if len(losses) else 1.0
        self.policy, values, order = _initial_policy(reduction, run, floor)
        self.settled = np.zeros(len(self.policy))
        self.state = PolicyEvaluator(ChainSolver(self.rows, run, order), values, floor)
        self.risky = self.state.smallest <= floor
        if order is None:  # every way is short: the smallest loss is a better start than the first way found
            proper, low, margin = self.policy.copy(), self.state.low, np.empty(0)
            run(bellman.improve)(self.rows, self.usable, values, low, margin, 0.0, self.settled, self.policy)
            self.state.solver.set_policy(self.policy)
            self._repair(proper)
        self.best, self.best_policy, self.best_values = Certificate.trivial(self.policy), self.policy, values

    def run_to_end(self) -> Status:
        """Improve, certify, and repeat with a smaller target until the bounds are within the tolerance."""
        aim = self.tolerance / 4.0
        for attempt in range(ATTEMPTS):
            finished = self._improve_to(aim)
            self._prefer_lowest(aim)
            width = self._certify()
            if self.best.width <= self.tolerance:
                return Status.CONVERGED
            if self.iterations >= ITERATIONS or (attempt > 0 and not finished):
                break
            aim *= min(1.0 / 8.0, max(1.0 / 1024.0, 0.5 * self.tolerance / width))
            self.state.use_extended_precision()
            if self.risky:
                self.state.use_relative_units()
        self._certify(cut=0.1 * self.tolerance * float(self.state.values.max()))
        if self.best.width > self.tolerance and np.count_nonzero(self.best_policy >= 0) <= EXACT_STATES:
            self.best = solve_in_rationals(self.rows, self.usable, self.best_policy)
            self.best_values = 0.5 * self.best.lower + 0.5 * self.best.upper
        if self.best.width <= self.tolerance:
            return Status.CONVERGED
        return Status.ITERATION_LIMIT if self.iterations >= ITERATIONS else Status.ROUNDING

    def _certify(self, cut: float = 0.0) -> float:
        """Certify the policy at hand; keep the one with the closest bounds, and the lower bounds of all."""
        found = certify(self.state, self.usable, self.policy, self.tolerance, cut=cut)
        if found.width > self.tolerance:
            lower = np.maximum(self.best.lower, found.lower)
            found, self.best = replace(found, lower=lower), replace(self.best, lower=lower)
        if found.width < self.best.width or not self.best.width < np.inf:
            self.best, self.best_policy, self.best_values = found, self.policy.copy(), self.state.total.copy()
        return found.width

    def _improve_to(self, aim: float) -> bool:
        """Policy iteration until the residual is at most ``aim`` and no pair is better by more; False if it stalls.

        The policy is proper again at the end. On the way a policy that never ends shows by its residual, which cannot
        fall below the mean loss of its loop: at half a unit that is above ``floor``. Where losses may be smaller
        (``risky``), it is checked for at each step.
        """
        target = 1e-3 if self.state.relative else 0.5
        proper = self.policy.copy()
        state = self.state
        at_aim = 0
        switched = 0
        settled = False
        found = state.set_policy(self.policy)
        while self.iterations < ITERATIONS:
            self.iterations += 1
            if self.risky and switched and self._repair(proper):
                found = state.set_policy(self.policy)
            target = max(aim, min(target, FORCING * found))
            stalled = not state.evaluate(found, target) <= target
            if stalled and self._repair(proper):
                switched = 0
                found = state.set_policy(self.policy)
                continue
            proper[:] = self.policy
            if settled and not stalled and target <= aim:
                return True  # nothing switched at the residual before; the certificate checks all pairs once more
            last = target <= aim or stalled
            share = max(aim, 0.1 * target) / 4.0
            switched, found = state.improve_policy(self.usable, share, self.settled, last=last)
            at_aim += last
            if last and not switched:
                return not stalled
            if at_aim > MOST_CHANGES_AT_AIM:
                self._return_to(proper)
                state.set_policy(self.policy)
                return not stalled
            settled = not switched
            if settled:
                target = aim
        self._return_to(proper)
        state.set_policy(self.policy)
        return False

    def _repair(self, proper: NDArray[np.int64]) -> bool:
        """Give states that no longer reach the goal the pair of the last proper policy; whether there were any."""
        stuck = ~self.state.solver.reaches_goal()
        self._return_to(np.where(stuck, proper, self.policy))
        return bool(stuck.any())

    def _return_to(self, policy: NDArray[np.int64]) -> None:
        """Change to another policy; states that change are checked again."""
        self.settled[self.policy != policy] = 0.0
        self.policy[:] = policy

    def _prefer_lowest(self, aim: float) -> None:
        """Move to the lowest tied pairs if the policy stays proper and its values stay the same."""
        lowest = np.empty_like(self.policy)
        state = self.state
        if self.run(bellman.lowest_ties)(
            self.rows, self.usable, state.values, state.low, state.drift, self.settled, self.policy, lowest
        ):
            if state.set_policy(lowest) <= 2.0 * aim and state.solver.reaches_goal().all():
                self._return_to(lowest)
            else:
                state.set_policy(self.policy)


def _initial_policy(
    reduction: Reduction, run: Run, floor: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32] | None]:
    """A proper policy, values [Q + 1] to start from, and the order of the sweeps (None: as the states come)."""
    rows, usable = reduction.rows, reduction.usable
    states = len(rows.pair_start) - 1
    active = ~reduction.lost if reduction.class_of is None else np.ones(states, dtype=bool)
    values = np.zeros(states + 1)
    if reduction.short_path_policy is not None:
        return reduction.short_path_policy, values, None
    choice, reverse = np.empty(states, dtype=np.int64), reduction.reverse
    if reverse is None:
        reverse = reverse_of(rows, usable, run)
    run(graph.dijkstra_policy)(rows, reverse, states_of(rows), usable, floor, choice, values)
    values[:-1][~active] = 0.0
    if (choice[active] < 0).any():  # ways so unlikely that their length is not a number: take any
        choice[:] = -1
        values[:] = 0.0
        scratch = np.full(states + 1, states, dtype=np.int64)
        run(graph.backward_reach)(reverse, states_of(rows), usable, 1, choice, scratch)
    return choice, values, np.argsort(values[:-1], kind="stable").astype(np.int32)
