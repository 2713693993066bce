"""The intervals of the sharp widths from the list of samples, in NumPy, to be read beside the formulas. Slow.

For a pair with samples (c, y), V = lambda I + sum c c^T and x = V^-1 c' under the context c':

    centre   x . sum(c y)
    noise    R |c'|_(V^-1) sqrt(log det(V / lambda) + 2 log(1 / failure)), R = 1/2 for numbers in [0, 1]
    variance min over 0 < s <= b / (2 max |x|) of  kappa s |x|_H^2 + L / s,  H = rho I + sum v c c^T,
             L = d log(1 + trace(sum v c c^T) / (rho d)) / 2 - d log erf(b sqrt(kappa rho) / 2) + log(1 / failure),
             v the largest p (1 - p) for p in the interval of that next state when the step was planned
    bias     lambda times the sum of the negative entries of x, to lambda times the sum of the positive ones

with b = 1, kappa = e - 2, rho = 4. Pieces that are left out: R = 1; det(V / lambda) <= (1 + n / (lambda d))^d;
bias +- sqrt(lambda d) |c'|_(V^-1); no variance; nothing is said of the goal. Shares of the failure probability: losses
delta / (8 N); rows delta / (8 M), or half of that twice where both bounds of noise are used; M counts the goal only if
it has intervals. A single next state is certain.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import Step, Support

PIECES = ("goal", "half", "determinant", "entrywise", "variance")
EXPONENT_BOUND, VARIANCE_RIDGE = 1.0, 4.0
CURVATURE = (math.exp(EXPONENT_BOUND) - 1.0 - EXPONENT_BOUND) / EXPONENT_BOUND**2


class Sample(NamedTuple):
    """One step, with a bound of the variance of each next state of its pair."""

    context: NDArray[np.float64]
    loss: float
    next_state: int
    variances: list[float]


class NaiveIntervals:
    """The intervals of all pairs. ``record`` every step just after the plan that it was played by."""

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        pieces: set[str],
        delta: float = 0.1,
        regularization: float = 1.0,
        scale: float = 1.0,
    ) -> None:
        assert pieces <= set(PIECES), pieces
        self.support, self.size, self.pieces = support, context_size, pieces
        self.regularization, self.scale = regularization, scale
        self.samples: list[list[Sample]] = [[] for _ in range(support.pairs)]
        states = int((support.next_state < support.states).sum())
        counted = max(1, support.triples if "goal" in pieces else states)
        self.loss_log = math.log(8.0 * support.pairs / delta)
        self.row_log = math.log((16.0 if "variance" in pieces else 8.0) * counted / delta)

    def record(self, context: ArrayLike, step: Step) -> None:
        """A step that was played by a plan with all that was recorded before."""
        pair = self.support.pair(step.state, step.action)
        weights = np.array(context, dtype=np.float64)
        variances = []
        for low, high in self.row(pair, weights):
            nearest = min(max(low, 0.5), high)  # to 1/2, where p (1 - p) is largest
            variances.append(nearest * (1.0 - nearest))
        self.samples[pair].append(Sample(weights, step.loss, step.next_state, variances))

    def loss(self, pair: int, context: NDArray[np.float64]) -> tuple[float, float]:
        """The interval of a loss, cut to [0, 1]."""
        if not self.samples[pair]:
            return 0.0, 1.0
        outcomes = [sample.loss for sample in self.samples[pair]]
        return self._interval(pair, context, outcomes, self._noise(pair, context, self.loss_log))

    def row(self, pair: int, context: NDArray[np.float64]) -> list[tuple[float, float]]:
        """The intervals of all next states of a pair, in the order of the support, cut to [0, 1]."""
        following = self.support.next_state[self.support.row(pair)].tolist()
        if len(following) == 1:
            return [(1.0, 1.0)]
        if not self.samples[pair]:
            return [(0.0, 1.0)] * len(following)
        intervals = []
        for place, state in enumerate(following):
            if state == self.support.states and "goal" not in self.pieces:
                intervals.append((0.0, 1.0))
                continue
            noise = self._noise(pair, context, self.row_log)
            if "variance" in self.pieces:
                noise = min(noise, self._by_variance(pair, place, context))
            outcomes = [float(sample.next_state == state) for sample in self.samples[pair]]
            intervals.append(self._interval(pair, context, outcomes, noise))
        return intervals

    def shown(self, pair: int, context: NDArray[np.float64]) -> list[tuple[float, float]]:
        """The same, each cut to what the others leave to a row that sums to 1; as they are if no row fits in."""
        row = self.row(pair, context)
        if sum(low for low, _ in row) > 1.0 or sum(high for _, high in row) < 1.0:
            return row
        cut = []
        for place, (low, high) in enumerate(row):
            others = row[:place] + row[place + 1 :]
            cut.append((max(low, 1.0 - sum(b for _, b in others)), min(high, 1.0 - sum(a for a, _ in others))))
        return cut

    def gram(self, pair: int) -> NDArray[np.float64]:
        """[d, d] V"""
        seen = self._contexts(pair)
        return self.regularization * np.eye(self.size) + seen.T @ seen

    def _contexts(self, pair: int) -> NDArray[np.float64]:
        return np.array([sample.context for sample in self.samples[pair]])

    def _norm(self, pair: int, context: NDArray[np.float64]) -> float:
        return math.sqrt(context @ np.linalg.solve(self.gram(pair), context))

    def _interval(
        self, pair: int, context: NDArray[np.float64], outcomes: list[float], noise: float
    ) -> tuple[float, float]:
        x = np.linalg.solve(self.gram(pair), context)
        centre = float(x @ (self._contexts(pair).T @ np.array(outcomes)))
        if "entrywise" in self.pieces:
            least = self.regularization * float(x[x < 0.0].sum())
            most = self.regularization * float(x[x > 0.0].sum())
        else:
            most = math.sqrt(self.regularization * self.size) * self._norm(pair, context)
            least = -most
        low, high = np.clip([centre - noise + least, centre + noise + most], 0.0, 1.0)
        return float(low), float(high)

    def _noise(self, pair: int, context: NDArray[np.float64], failure_log: float) -> float:
        if "determinant" in self.pieces:
            volume = float(np.linalg.slogdet(self.gram(pair) / self.regularization)[1])
        else:
            volume = self.size * math.log(1.0 + len(self.samples[pair]) / (self.regularization * self.size))
        noise = 0.5 if "half" in self.pieces else 1.0
        return self.scale * noise * self._norm(pair, context) * math.sqrt(volume + 2.0 * failure_log)

    def _by_variance(self, pair: int, place: int, context: NDArray[np.float64]) -> float:
        x = np.linalg.solve(self.gram(pair), context)
        weights = np.array([sample.variances[place] for sample in self.samples[pair]])
        seen = self._contexts(pair)
        sums = (seen * weights[:, None]).T @ seen
        square = float(x @ (sums + VARIANCE_RIDGE * np.eye(self.size)) @ x)
        grown = 0.5 * self.size * math.log(1.0 + float(np.trace(sums)) / (VARIANCE_RIDGE * self.size))
        cut = -math.log(math.erf(0.5 * EXPONENT_BOUND * math.sqrt(CURVATURE * VARIANCE_RIDGE)))
        level = grown + self.size * cut + self.row_log + 1e-6  # room for the rounding of the sums
        s = min(math.sqrt(level / (CURVATURE * square)), 0.5 * EXPONENT_BOUND / float(np.abs(x).max()))
        return self.scale * (CURVATURE * s * square + level / s)
