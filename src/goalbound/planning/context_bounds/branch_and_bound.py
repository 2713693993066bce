"""The largest optimal loss and the longest optimal time over all contexts at once (:mod:`.search` searches)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.frames import data_frame
from goalbound.models import LinearCSSP
from goalbound.models.amounts import cap_of
from goalbound.models.validation import check_callable, check_float, check_fraction, check_int, short_repr
from goalbound.notebook import html_lines, html_table, weights_text
from goalbound.planning.checks import require_contextual
from goalbound.planning.context_bounds.region import (
    ContextPoint,
    ContextPoints,
    CornerPoints,
    affine_upper_bounds,
    least_optimal_steps,
    max_upper_bound,
    most_optimal_steps,
    most_priced_steps,
    possibly_optimal_pairs,
    prices_for,
    simplex_landmarks,
)
from goalbound.planning.context_bounds.search import BoundStatus, Budget, Incumbent, Tell, maximise
from goalbound.planning.optimal_values import optimal_values
from goalbound.planning.reduction import blocking_states
from goalbound.plotting import Rows, draw_rows, literal, new_axes

FEW_STATES = 200
"""Up to so many, times are bounded by the pairs that may be optimal; with more, by prices first."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A certified interval for a largest value over contexts and states.

    Attributes:
        lower, upper: the value lies between them.
        context: [d] where the lower bound is attained.
        state: the state where it is attained there.
        status: CONVERGED if ``upper <= (1 + tolerance) * lower``.
    """

    lower: float
    upper: float
    context: NDArray[np.float64]
    state: int
    status: BoundStatus


@dataclass(frozen=True, eq=False)
class ContextBounds:
    """What holds for every context of a problem.

    Attributes:
        loss_bound: B*, the largest optimal loss (over proper policies) of any state under any context.
        time_bound: T*, the most expected steps that an optimal policy takes from any state under any context.
        loss_floor: the smallest loss of any pair under any context (exact).
        blocking_context: [d] a context without a proper policy, None if every context has one.
        blocking_states: the states from which no policy reaches the goal with probability one there.
        regions: how many sub-simplices were examined.
    """

    loss_bound: Bound
    time_bound: Bound
    loss_floor: float
    blocking_context: NDArray[np.float64] | None
    blocking_states: tuple[int, ...]
    regions: int
    problem: LinearCSSP = field(repr=False)

    @property
    def proper(self) -> bool:
        """Whether every context has a policy that reaches the goal with probability one from every state."""
        return self.blocking_context is None

    @property
    def status(self) -> BoundStatus:
        """How it ended: CONVERGED if both bounds are as close as the tolerance asks."""
        for bound in (self.loss_bound, self.time_bound):
            if bound.status is not BoundStatus.CONVERGED:
                return bound.status
        return BoundStatus.CONVERGED

    def __str__(self) -> str:
        support = self.problem.support
        lines = ["every context has a proper policy"]
        if self.blocking_context is not None:
            names = ", ".join(support.state_name(state) for state in self.blocking_states[:8])
            more = f" and {len(self.blocking_states) - 8} more" if len(self.blocking_states) > 8 else ""
            lines = [f"no proper policy at context {self._format_context(self.blocking_context)} from {names}{more}"]
        for name, bound in (("largest optimal loss B*", self.loss_bound), ("longest optimal time T*", self.time_bound)):
            where = f"{support.state_name(bound.state)}, context {self._format_context(bound.context)}"
            lines.append(
                f"{name} in [{bound.lower:.6g}, {bound.upper:.6g}], lower end at {where}; {bound.status.value}"
            )
        if math.isinf(self.time_bound.upper) and self.loss_floor == 0.0 and self.proper:
            lines.append("T* has no bound yet: where losses are 0, an optimal policy may take arbitrarily long")
        unit = cap_of(self.problem)
        lines.append(f"smallest loss {self.loss_floor:.6g}" + ("" if unit == 1.0 else f" (a loss of 1 is {unit:g})"))
        lines.append(f"{self.regions} regions of the context simplex")
        return "\n".join(lines)

    def _columns(self) -> dict[str, Any]:
        bounds = {"largest optimal loss B*": self.loss_bound, "longest optimal time T*": self.time_bound}
        support, names = self.problem.support, self.problem.component_names
        return {
            "bound": list(bounds),
            "lower": [float(bound.lower) for bound in bounds.values()],
            "upper": [float(bound.upper) for bound in bounds.values()],
            "state": [support.state_label(bound.state) for bound in bounds.values()],
            "context": [weights_text(bound.context.tolist(), names) for bound in bounds.values()],
            "status": [bound.status.value for bound in bounds.values()],
        }

    def frame(self, *, arrow: bool = False) -> Any:
        """A row for B* and one for T*: lower, upper, the state and the context of the lower end, and how the search
        ended. A data frame of pandas, or a table of Arrow."""
        return data_frame(self._columns(), arrow=arrow)

    def _repr_html_(self) -> str:
        return html_table(self._columns()) + html_lines(str(self).splitlines()[:1] + str(self).splitlines()[3:])

    def plot(self, axes: Any = None) -> Any:
        """The largest optimal loss of any state by context, and the certified interval of B*, which bounds it.

        Along the edge for two components; else at the corners, the middles of the edges and the centre. The Matplotlib
        axes.
        """
        if self.blocking_context is not None:
            raise ArgumentError("some context has no proper policy, so there is no finite loss to draw; see frame()")
        contexts = _some_contexts(self.problem.context_size)
        worst = optimal_values(self.problem, contexts).max(axis=1)
        names, bound = self.problem.component_names, self.loss_bound
        if self.problem.context_size == 2:
            axes = new_axes(axes)
            axes.plot(contexts[:, 1], worst, label="largest optimal loss of any state")
            axes.axhspan(bound.lower, bound.upper, alpha=0.3, color="C1", label="B*, certified")
            first, last = (literal(name) for name in names or ("component 0", "component 1"))
            axes.set_xlabel(f"context, from {first} to {last}")
            axes.set_ylabel("loss")
            axes.set_xlim(0.0, 1.0)
            axes.legend(frameon=False)
            return axes
        labels = [weights_text(context.tolist(), names) for context in contexts]
        axes = draw_rows(Rows(labels, point=worst), label="largest optimal loss of any state", axes=axes)
        axes.axvspan(bound.lower, bound.upper, alpha=0.5, color="C1", linewidth=1.5, label="B*, certified")
        axes.legend(frameon=False)
        return axes

    def _format_context(self, context: NDArray[np.float64]) -> str:
        names = self.problem.component_names
        if names is None:
            return "(" + ", ".join(f"{weight:.4g}" for weight in context) + ")"
        return "(" + ", ".join(f"{w:.4g} {name}" for w, name in zip(context, names, strict=True) if w > 0.0) + ")"


def _some_contexts(size: int) -> NDArray[np.float64]:
    """[K, d] 101 points of the edge for two components; else the corners, the middles of the edges and the centre."""
    if size == 2:
        second = np.linspace(0.0, 1.0, 101)
        return np.column_stack([1.0 - second, second])
    return simplex_landmarks(size)


def context_bounds(
    problem: LinearCSSP,
    *,
    tolerance: float = 0.01,
    most_regions: int = 5_000,
    time_limit: float = math.inf,
    progress: Tell | None = None,
) -> ContextBounds:
    """Certified bounds of a problem over the whole simplex of contexts.

    Every interval holds in exact arithmetic, whatever ended the search, up to the rounding of ``problem.at(context)``
    at the witness; only the status CONVERGED promises ``upper <= (1 + tolerance) * lower``.

    Proper: a policy that is proper under component i has, from each state, a way to the goal by moves that are possible
    under i. A context with c_i > 0 keeps these moves possible and only adds others, so the policy is proper there too.
    Hence every context has a proper policy if and only if every component has one; then the largest optimal loss B* is
    finite and, as v* is upper semicontinuous in the context by the same argument, attained.

    B* is searched by branch and bound (:mod:`~goalbound.planning.context_bounds.search`): upper bounds that
    are affine in the context (:mod:`~goalbound.planning.context_bounds.region`), certified solutions at points
    as lower bounds.

    T* is the largest, over contexts and states, of the expected steps of a proper deterministic policy that is optimal
    for the context; of several the slowest counts. The upper end holds for all of them: pairs that are optimal nowhere
    in a sub-simplex are left out, and what remains takes at most that long (or the loss divided by its floor). With
    more than 200 states, steps are weighed against the loss instead (:mod:`.region`), which needs far fewer
    sub-simplices. The lower end holds for the fastest optimal policy of its context, which is the only one unless pairs
    tie there. T* may be infinite if losses are zero (the best policies take longer and longer); the search then ends by
    a limit.

    Args:
        problem: the problem; losses may be zero.
        tolerance: largest relative width of each of the two intervals.
        most_regions: sub-simplices that each of the two searches may examine.
        time_limit: seconds that both together may take; the interval found until then is returned, with the status
            TIME_LIMIT, and depends on the machine.
        progress: called with a :class:`~goalbound.planning.context_bounds.SearchProgress` before each split and at the
            end of each of the two searches: the interval so far, regions examined, seconds.

    A drug that always works (loss 0.5) and one (loss 0.2) that works in 0.9 to 0.1 of all cases: the second is best
    down to 0.4, where it takes 2.5 steps.

    >>> drugs = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
    >>> print(context_bounds(drugs))
    every context has a proper policy
    largest optimal loss B* in [0.5, 0.5], lower end at state 0, context (0, 1); converged
    longest optimal time T* in [2.4..., 2.5...], lower end at state 0, context (0.37..., 0.62...); converged
    smallest loss 0.2
    ... regions of the context simplex
    """
    require_contextual(problem)
    tolerance = check_fraction(tolerance, "tolerance", "a relative width")
    if check_int(most_regions, "most_regions") < 1:
        raise ArgumentError(f"most_regions is {short_repr(most_regions)}; at least 1 region must be examined")
    if not check_float(time_limit, "time_limit", "the seconds that may be taken") > 0.0:
        raise ArgumentError(f"time_limit is {time_limit}; it is a number of seconds above 0 (infinity: no limit)")
    if progress is not None:
        check_callable(progress, "progress", "a function of the SearchProgress so far, or None")
    loss_floor = float(problem.losses.min())
    for component, corner in enumerate(np.eye(problem.context_size)):
        blocked = blocking_states(problem.component(component))
        if len(blocked):
            unbounded = Bound(np.inf, np.inf, corner, int(blocked[0]), BoundStatus.NO_PROPER_POLICY)
            return ContextBounds(unbounded, unbounded, loss_floor, corner, tuple(blocked.tolist()), 0, problem)
    search = _Search(problem, tolerance)
    loss_budget = Budget(most_regions, time_limit, "loss", progress)
    loss_bound = search.loss_bound(loss_budget)
    time_budget = Budget(most_regions, loss_budget.seconds_left(), "time", progress)
    time_bound = search.time_bound(time_budget)
    return ContextBounds(loss_bound, time_bound, loss_floor, None, (), loss_budget.spent + time_budget.spent, problem)


class _Search:
    """The two searches over one problem; they share the points."""

    def __init__(self, problem: LinearCSSP, tolerance: float) -> None:
        self.tolerance = tolerance
        self.points = ContextPoints(problem)
        self.root: CornerPoints = tuple(self.points.at(corner) for corner in np.eye(problem.context_size))
        self.incumbent = Incumbent(0.0, self.root[0].context, 0)
        self.prices: tuple[float, ...] = ()

    def loss_bound(self, budget: Budget) -> Bound:
        """B*."""
        return self._largest(self._loss_at, self._loss_upper, budget)

    def time_bound(self, budget: Budget) -> Bound:
        """T*."""
        self.prices = prices_for(self.root)
        return self._largest(self._time_at, self._time_upper, budget)

    def _largest(
        self,
        at: Callable[[NDArray[np.float64]], ContextPoint],
        upper: Callable[[CornerPoints, float], float],
        budget: Budget,
    ) -> Bound:
        self.incumbent = incumbent = Incumbent(0.0, self.root[0].context, 0)
        for corner in self.root:
            at(corner.context)
        largest, status = maximise(
            self.root, at=at, upper=upper, incumbent=incumbent, tolerance=self.tolerance, budget=budget
        )
        return Bound(incumbent.value, largest, incumbent.context, incumbent.state, status)

    def _loss_at(self, context: NDArray[np.float64]) -> ContextPoint:
        point = self.points.at(context)
        lower = point.solution.lower[:-1]
        state = int(np.argmax(lower))
        self.incumbent.update(float(lower[state]), point.context, state)
        return point

    def _loss_upper(self, corners: CornerPoints, parent_bound: float) -> float:
        upper_bounds = affine_upper_bounds(corners)
        if not upper_bounds:
            return parent_bound
        highest = max_upper_bound(upper_bounds)
        if (
            min(parent_bound, highest.value) > (1.0 + self.tolerance) * self.incumbent.value
            and highest.weights.max() < 1.0
        ):
            context = sum(
                (weight * corner.context for weight, corner in zip(highest.weights, corners, strict=True)),
                start=np.zeros_like(corners[0].context),
            )
            self._loss_at(context / context.sum())  # where two policies meet may be the largest loss of all
        return min(parent_bound, highest.value)

    def _time_at(self, context: NDArray[np.float64]) -> ContextPoint:
        point = self.points.at(context)
        steps, state = least_optimal_steps(point)
        self.incumbent.update(steps, point.context, state)
        return point

    def _time_upper(self, corners: CornerPoints, parent_bound: float) -> float:
        upper_bounds = affine_upper_bounds(corners)
        bound = np.inf
        if corners[0].ssp.support.states > FEW_STATES:
            bound = most_priced_steps(corners, upper_bounds, self.prices)
        if bound == np.inf:
            bound = most_optimal_steps(corners, possibly_optimal_pairs(corners, upper_bounds), upper_bounds)
        return min(parent_bound, bound)
