"""The learning loop as a research prototype has it: NumPy for the formulas, cvxpy for the projection.

It shares no code with the other loops and plays the same steps: one more witness. The projection is one parametrised
problem that cvxpy compiles once; only the pair that was played is estimated again; the inner minimum is the closed
form, by sorting, or (``minimum=ConeMinimum(states)``) a cone program. ``python -m benchmarks.numpy_cvxpy`` prints the
time per step.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.cpp_reference import Played, Task

Array = NDArray[np.float64]
Minimum = Callable[[Array, Array, Array], Array]
"""Rows [A, S], radii [A] and values [S] to minima [A]."""

WARM_UP = 10
"""Steps before the clock starts: cvxpy compiles the projection at the first one."""


class Projection:
    """The nearest sub-stochastic matrix [S, d] to a matrix in the norm of a Gram matrix [d, d]."""

    def __init__(self, states: int, size: int) -> None:
        import cvxpy

        self._matrix = cvxpy.Variable((states, size), nonneg=True)
        self._factor = cvxpy.Parameter((size, size))
        self._target = cvxpy.Parameter((states, size))  # target @ factor as one: else not an affine use of parameters
        distance = cvxpy.sum_squares(self._matrix @ self._factor - self._target)
        self._problem = cvxpy.Problem(cvxpy.Minimize(distance), [cvxpy.sum(self._matrix, axis=0) <= 1.0])
        self._solver = cvxpy.CLARABEL
        assert self._problem.is_dcp(dpp=True)

    def __call__(self, matrix: Array, gram: Array) -> Array:
        """Project; interior point, so to about 1e-8 of the optimal distance."""
        self._factor.value = np.linalg.cholesky(gram)
        self._target.value = matrix @ self._factor.value
        self._problem.solve(solver=self._solver)
        if self._problem.status != "optimal":
            raise RuntimeError(f"the projection ended as {self._problem.status}")
        return np.asarray(self._matrix.value)


class ConeMinimum:
    """The inner minimum as one writes it down from the paper, which gives no closed form: a cone program per pair."""

    def __init__(self, states: int) -> None:
        import cvxpy

        self._chosen = cvxpy.Variable(states, nonneg=True)
        self._row, self._values = cvxpy.Parameter(states), cvxpy.Parameter(states)
        self._radius = cvxpy.Parameter(nonneg=True)
        ball = cvxpy.norm(self._chosen - self._row) <= self._radius
        self._problem = cvxpy.Problem(
            cvxpy.Minimize(self._values @ self._chosen), [ball, cvxpy.sum(self._chosen) <= 1.0]
        )
        self._solver = cvxpy.CLARABEL

    def __call__(self, rows: Array, radii: Array, values: Array) -> Array:
        return np.array([self._least(row, radius, values) for row, radius in zip(rows, radii, strict=True)])

    def _least(self, row: Array, radius: float, values: Array) -> float:
        self._row.value, self._radius.value, self._values.value = row, radius, values
        return float(self._problem.solve(solver=self._solver))


def inner_minimum(rows: Array, radii: Array, values: Array) -> Array:
    """[A] min over q >= 0, |q - row| <= radius of q . values > 0, for each row of [A, S]; the goal gets the rest.

    q = max(0, row - t values): sort by the t at which an entry is empty, find the piece that spends the radius.
    """
    empty_at = rows / values
    order = np.argsort(empty_at, axis=1)
    row, value = np.take_along_axis(rows, order, axis=1), values[order]
    emptied = np.cumsum(row**2, axis=1) - row**2
    slope = np.cumsum((value**2)[:, ::-1], axis=1)[:, ::-1]
    spent = emptied + slope * np.take_along_axis(empty_at, order, axis=1) ** 2
    piece = np.arange(len(rows)), np.argmax(spent >= radii[:, None] ** 2, axis=1)
    t = np.sqrt(np.maximum(radii**2 - emptied[piece], 0.0) / slope[piece])
    least = np.sum(np.maximum(rows - t[:, None] * values, 0.0) * values, axis=1)
    return np.where(radii**2 >= np.sum(rows**2, axis=1), 0.0, least)


class Prototype:
    """Statistics, estimates and the plan of the moment."""

    def __init__(self, task: Task, minimum: Minimum) -> None:
        support, size = task.problem.support, task.contexts.shape[1]
        self.task, self.states, self.pairs, self.size = task, support.states, support.pairs, size
        self.actions = self.pairs // self.states
        self.gram = np.tile(task.regularization * np.eye(size), (self.pairs, 1, 1))
        self.inverse = np.linalg.inv(self.gram)
        self.visits = np.zeros(self.pairs, dtype=np.int64)
        self.loss_sums = np.zeros((self.pairs, size))
        self.next_sums = np.zeros((self.pairs, self.states, size))
        self.loss_estimate = np.zeros((self.pairs, size))
        self.estimate = np.zeros((self.pairs, self.states, size))
        self.project, self.minimum = Projection(self.states, size), minimum
        self.stale: set[int] = set()
        self.values = np.full(self.states, task.loss_floor)  # what nothing known is worth
        self.policy = np.zeros(self.states, dtype=np.int64)
        self.intervals = 0

    def record(self, context: Array, pair: int, loss: float, following: int) -> None:
        self.visits[pair] += 1
        self.gram[pair] += np.outer(context, context)
        self.loss_sums[pair] += context * loss
        if following < self.states:
            self.next_sums[pair, following] += context
        self.stale.add(pair)

    def estimate_again(self, pair: int) -> None:
        gram = self.gram[pair]
        self.inverse[pair] = np.linalg.inv(gram)
        self.loss_estimate[pair] = np.linalg.solve(gram, self.loss_sums[pair])
        self.estimate[pair] = self.project(np.linalg.solve(gram, self.next_sums[pair].T).T, gram)

    def plan(self, context: Array) -> None:
        """A new interval: estimates, confidence sets for this context, extended value iteration."""
        task = self.task
        self.intervals += 1
        for pair in self.stale:
            self.estimate_again(pair)
        self.stale.clear()
        growth = 8.0 * self.pairs * (1.0 + self.visits / task.regularization) / task.confidence
        root = np.sqrt(task.regularization)
        rho = task.width_scale * (np.sqrt(self.size * np.log(self.states * growth)) + root)
        rho_loss = task.width_scale * (np.sqrt(self.size * np.log(growth)) + root)
        self.width = np.sqrt(np.einsum("j,ijl,l->i", context, self.inverse, context))
        self.beta = np.maximum(self.states * rho, np.sqrt(np.log(4.0 * self.intervals / task.confidence)))
        losses = np.clip(self.loss_estimate @ context - rho_loss * self.width, task.loss_floor, 1.0)
        self.iterate(losses, self.estimate @ context, np.sqrt(self.states) * rho * self.width)

    def iterate(self, losses: Array, rows: Array, radii: Array) -> None:
        """Extended value iteration, state by state, from the last values; sets values and policy."""
        change = np.inf
        while change > self.task.tolerance * self.task.loss_floor:
            change = 0.0
            for state in range(self.states):
                pairs = slice(state * self.actions, (state + 1) * self.actions)
                backup = losses[pairs] + self.minimum(rows[pairs], radii[pairs], self.values)
                self.policy[state] = np.argmin(backup)
                least = backup[self.policy[state]]
                change = max(change, abs(least - self.values[state]))
                self.values[state] = least

    def knows(self, pair: int) -> bool:
        return bool(10.0 * self.task.loss_bound * self.beta[pair] * self.width[pair] < self.task.loss_floor)


def play(task: Task, *, minimum: Minimum = inner_minimum) -> Played:
    """All episodes of the task. The first steps are timed as if they took as long as the others do."""
    learner = Prototype(task, minimum)
    losses = task.problem.losses
    transitions = task.problem.probabilities.reshape(learner.pairs, learner.states + 1, learner.size)
    steps, unknown, total = 0, 0, 0.0
    begin = time.perf_counter()
    for context in task.contexts:
        state, planned = 0, False
        while state < learner.states:
            if steps == WARM_UP:
                begin = time.perf_counter()
            if not planned:
                learner.plan(context)
            pair = state * learner.actions + learner.policy[state]
            reached = np.cumsum(transitions[pair] @ context)
            following = min(int(np.searchsorted(reached, task.uniforms[steps], side="right")), learner.states)
            loss = float(losses[pair] @ context)
            learner.record(context, pair, loss, following)
            planned = learner.knows(pair)
            steps, unknown, total = steps + 1, unknown + (not planned), total + loss
            state = following
    seconds = time.perf_counter() - begin
    if steps > WARM_UP:
        seconds *= steps / (steps - WARM_UP)
    return Played(seconds, steps, learner.intervals, unknown, total, learner.visits)


if __name__ == "__main__":
    from benchmarks.learner import make_task

    for name, chosen, episodes in (("closed form", inner_minimum, 100), ("cone program", ConeMinimum(4), 10)):
        played = play(make_task(4, actions=2, context_size=2, episodes=episodes), minimum=chosen)
        print(f"{name:14}{played.seconds / played.steps * 1e3:7.2f} ms per step over {played.steps} steps")
