"""Ridge estimates of the linear model, and their projection on the matrices that a truth may be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import projection as kernels
from goalbound.confidence.declared import ModelPrior
from goalbound.confidence.projection import new_projection_workspace
from goalbound.confidence.regression import ridge
from goalbound.confidence.statistics import Statistics, by_support
from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.models import LinearCSSP, Support
from goalbound.models.validation import (
    check_type,
    set_readonly,
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated losses and rows, linear in the context.

    Attributes:
        support: the pairs and where each may lead.
        losses: [N, d] coefficients of the losses; not clipped.
        rows: [M, d] coefficients of the next states; those of the goal are 1 minus the others, as the goal has no
            regression of its own. Once projected, rows of pairs that cannot lead to the goal sum to 1 without it.
        gram: [N, d, d] the norms in which the estimate is precise.
        projected: whether the rows are distributions under every context.
    """

    support: Support
    losses: NDArray[np.float64]
    rows: NDArray[np.float64]
    gram: NDArray[np.float64]
    projected: bool

    def model(self) -> LinearCSSP:
        """The estimate as a problem on the declared support: all that works on a problem works on it.

        The goal takes the mass that the other next states lack, where it is one of them. Losses are clipped to [0, 1].
        """
        if not self.projected:
            raise ArgumentError("a ridge estimate is no problem: its rows may be negative; project it first")
        support = self.support
        rows = np.array(self.rows)
        to_goal = support.next_state == support.states
        rows[to_goal] = np.maximum(rows[to_goal], 0.0)  # 1 minus the others, up to rounding
        return LinearCSSP(support, np.clip(self.losses, 0.0, 1.0), rows)

    def __repr__(self) -> str:
        kind = "projected" if self.projected else "ridge"
        return f"Estimate({kind}, {repr(self.support).removeprefix('Support(')[:-1]})"


def ridge_estimate(statistics: Statistics, *, around: ModelPrior | None = None) -> Estimate:
    """The ridge regressions of all pairs (eq. loss-ls, dynamics-ls; Algorithm 1, line 22). O(M d^2).

    Reads the paper as: each sample is regressed on its own context; a step into the goal is the zero vector.

    ``around``: guesses that pairs are regressed around, instead of 0 (:mod:`goalbound.confidence.declared`); of
    statistics that do not hold them already.
    """
    check_type(statistics, Statistics, "statistics", "give Statistics, such as learner.statistics")
    regression, support = statistics.regression, statistics.support
    losses, by_index = np.zeros_like(regression.loss_sums), np.zeros_like(regression.next_sums)
    run = engine(support.triples)(ridge)
    for pair in range(support.pairs):
        inverse, first, count = regression.inverse[pair], support.next_start[pair], regression.seen[pair]
        run(regression.loss_sums[pair : pair + 1], inverse, 1, losses[pair : pair + 1])
        run(regression.next_sums[first : first + count], inverse, count, by_index[first : first + count])
    rows, gram = by_support(support, regression, by_index), regression.gram.copy()
    if around is not None:
        _put_around(around, statistics, losses, rows, gram)
    rows = _goal_rest(support, rows)
    return Estimate(support, set_readonly(losses), set_readonly(rows), set_readonly(gram), projected=False)


def _put_around(
    model: ModelPrior,
    statistics: Statistics,
    losses: NDArray[np.float64],
    rows: NDArray[np.float64],
    gram: NDArray[np.float64],
) -> None:
    """The pairs that are guessed, with s I in their Gram matrices and (lambda + s) times the guess in their sums."""
    support, next_sums = statistics.support, statistics.next_sums
    for pair in np.flatnonzero(model.guessed).tolist():
        row, weight = support.row(pair), statistics.regularization + model.strength[pair]
        gram[pair] += model.strength[pair] * np.eye(statistics.context_size)
        sums = np.vstack([statistics.loss_sums[pair], next_sums[row]])
        guess = np.vstack([model.losses[pair], model.rows[row]])
        found = np.linalg.solve(gram[pair], (sums + weight * guess).T).T
        losses[pair], rows[row] = found[0], found[1:]


def project(estimate: Estimate, *, start: Estimate | None = None) -> Estimate:
    """Project the rows of every pair on the matrices that its truth may be, in the norm of its Gram matrix (line 23).

    minimise tr((P - P') V (P - P')^T) over P >= 0 with column sums <= 1 (eq. dynamics-proj), or with column sums 1
    where the goal cannot follow: all declared next states take part there, and a single one is certain. The optimality
    conditions of the answer are checked, to 1e-13. ``start`` is an earlier answer, from which this one is found fast.
    Reads the paper as: the matrices are sub-stochastic, since the goal is not a row of them.
    Departs from the paper: where the support excludes the goal they are stochastic, so nothing goes where nothing can.
    Both sets are convex and hold the truth, so that the projection is no further from it than the ridge estimate.
    """
    support = check_type(estimate, Estimate, "estimate", "give what ridge_estimate(statistics) gives").support
    if start is not None:
        check_type(start, Estimate, "start", "give an earlier answer of project, or leave it out")
        if start.support != support or start.rows.shape != estimate.rows.shape:
            raise ArgumentError("start is an estimate of another support or context size; leave it out")
    size = estimate.losses.shape[1]
    rows = np.zeros_like(estimate.rows) if start is None else np.array(start.rows)
    scratch = new_projection_workspace(int(np.diff(support.next_start).max()), size)
    run = engine(support.triples)(kernels.project)
    for pair in range(support.pairs):
        row = support.row(pair)
        count = int((support.next_state[row] < support.states).sum())  # the goal stands last in its row
        scratch.target[:count] = estimate.rows[row][:count]
        gram = np.array(estimate.gram[pair])
        stochastic = not support.leads_to_goal[pair]
        if run(gram, np.linalg.inv(gram), count, stochastic, scratch, rows[row]) < 0:
            raise ArithmeticError(
                f"{support.pair_name(pair)}: the projection did not converge; the Gram matrix has condition number "
                f"{np.linalg.cond(gram):.1e}"
            )
    return replace(estimate, rows=set_readonly(_goal_rest(support, rows)), projected=True)


def _goal_rest(support: Support, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the goal, where a row has it, what the other next states lack."""
    to_goal = support.next_state == support.states
    rows[to_goal] = 0.0
    pair = np.searchsorted(support.next_start, np.flatnonzero(to_goal), side="right") - 1
    rows[to_goal] = 1.0 - np.add.reduceat(rows, support.next_start[:-1], axis=0)[pair]
    return rows
