"""LR-CSSP as the paper has it, in NumPy, to be read beside Algorithm 1. Slow, and without one thought for speed.

"Line n" is line n of Algorithm 1 (Linear Regression for Contextual SSP) as it is printed, every ``end`` counted:
7 choose, 8-9 observe, 10 visits, 11 gram, 12 data, 13 the test, 15-19 the next context, 20 the next interval,
22 ridge, 23 projection, 25 the optimistic policy.

Reads the paper as:

- the goal is no row of the matrices; a step into the goal has the zero vector as its target (eq. dynamics-ls), and the
  projection is on P >= 0 with column sums <= 1 (eq. dynamics-proj), or = 1 where the support excludes the goal;
- the regression of the losses is on the context of each sample (eq. loss-ls has c_m);
- line 13 is negated: an interval ends when the pair just played is *unknown*, or at the goal;
- the gram matrix and the visits of eq. ineq-known are those at the start of the interval;
- |S| of a pair is the number of its next states other than the goal, |S||A| the number of pairs, |S|^2|A| the sum of
  the former over the latter;
- the first policy is not arbitrary but the optimistic one without data, and plans are made when first asked for;
- the variant for zero losses adds eps to every loss, so the loss of an interval counts it too; the data does not hold
  it, and the estimates get it afterwards (a ridge estimate of eps would be shrunk).

Departs from the paper: the bound doubles until the plan fits, and also when an interval loses more than item 3 of the
high probability event allows (on its last step too); intervals go on being counted when data is forgotten. Where it is,
the sets after r restarts get the share 6 / (pi (r + 1))^2 of delta (the shares sum to 1), and the step that had
the data forgotten is not part of the new data.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models import Step, Support
from tests.reference.optimism import is_stochastic, next_states, optimistic_values, pair_values
from tests.reference.projection import projected


class Sample(NamedTuple):
    """One element of the data set D."""

    context: NDArray[np.float64]
    pair: int
    loss: float
    next_state: int


class Estimate(NamedTuple):
    """What the data says of one pair."""

    visits: int
    gram: NDArray[np.float64]
    """[d, d] lambda I + sum c c^T"""
    losses: NDArray[np.float64]
    """[d] the ridge estimate"""
    rows: NDArray[np.float64]
    """[S_i, d] the projected ridge estimate; a row per next state other than the goal"""


class Plan(NamedTuple):
    """What is fixed for one interval."""

    policy: list[int]
    """[S] the pair to play in each state"""
    widths: list[float]
    """[N] |c| in the norm of the inverse gram matrix at the start of the interval"""
    betas: list[float]
    """[N] beta of eq. ineq-known, with the visits at the start of the interval"""


class NaiveLRCSSP:
    """The learner, and its one open episode: ``begin(context)``, then ``act(state)`` and ``observe(step)`` by turns.

    ``loss_bound=None`` doubles a bound from 1; with ``keep=False`` a doubling forgets the data (as the paper does).
    ``widths`` are "paper" (radius sqrt(S_i) rho, proven) or "printed" (rho), all of them times ``scale``.
    ``episodes=K`` is the variant for zero losses: eps is added to all losses and is the loss floor (give 0 as
    ``loss_floor``). ``tolerance`` is that of value iteration, relative to the least optimistic loss.
    """

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        delta: float,
        loss_floor: float = 0.0,
        loss_bound: float | None = None,
        widths: Literal["paper", "printed"] = "paper",
        scale: float = 1.0,
        regularization: float = 1.0,
        episodes: int | None = None,
        keep: bool = True,
        tolerance: float = 1e-9,
    ) -> None:
        assert (loss_floor > 0.0) == (episodes is None), "a loss floor above zero, or a number of episodes"
        assert widths in ("paper", "printed"), widths
        self.support, self.size = support, context_size
        self.delta, self.regularization, self.scale, self.widths = delta, regularization, scale, widths
        self.keep, self.tolerance, self.doubling = keep, tolerance, loss_bound is None
        self.loss_bound = 1.0 if loss_bound is None else loss_bound
        self.extra_loss, self.loss_floor = 0.0, loss_floor
        if episodes is not None:  # corollary arbitrary-cost, with eps added to the losses; |A| = N / S
            actions = support.pairs / support.states
            self.extra_loss = min(1.0, support.states * (context_size**2 * actions / episodes) ** (1.0 / 3.0))
            self.loss_floor = self.extra_loss
        # line 2
        self.data: list[Sample] = []
        self.restarts = 0
        self.interval = 1
        self.values = np.zeros(support.states + 1)
        self._estimates: dict[int, Estimate] = {}
        self._plan: Plan | None = None
        self._loss_of_interval = 0.0

    def begin(self, context: ArrayLike) -> NaiveLRCSSP:
        """A new episode (lines 3, 4, 16). An episode that was left before the goal ends its interval here."""
        if self._plan is not None:
            self._end_interval()
        self.context = np.array(context, dtype=np.float64)
        assert self.context.shape == (self.size,), self.context
        return self

    def act(self, state: int) -> int:
        """The action of the plan; ties go to the first pair (line 7)."""
        if self._plan is None:
            self._plan = self._make_plan()
        return int(self.support.pair_action[self._plan.policy[state]])

    def observe(self, step: Step) -> None:
        """Take in one step and end the interval if it is time (lines 8 to 20)."""
        pair = self.support.pair(step.state, step.action)
        assert step.next_state in self.support.next_state[self.support.row(pair)], step
        known = self.known(pair)
        self._loss_of_interval += step.loss + self.extra_loss
        # beyond this, item 3 of the high probability event is contradicted: the bound was too small
        most = 48.0 * self.loss_bound * math.log(4.0 * self.interval / self.delta)
        too_much = self.doubling and self._loss_of_interval > most
        if too_much:
            self._double(2.0 * self.loss_bound)
        if self.keep or not too_much:
            self.data.append(Sample(self.context, pair, step.loss, step.next_state))  # lines 10, 11, 12
        self._estimates.pop(pair, None)
        if not known or step.next_state == self.support.states or too_much:  # line 13
            self._end_interval()

    def known(self, pair: int) -> bool:
        """Eq. ineq-known, in the present interval: 10 B max(beta, sqrt(log(4 m / delta))) w < loss floor."""
        assert self._plan is not None, "nothing is known or unknown before act() has made a plan"
        needed = max(self._plan.betas[pair], math.sqrt(math.log(4.0 * self.interval / self.delta)))
        return 10.0 * self.loss_bound * needed * self._plan.widths[pair] < self.loss_floor

    def estimate(self, pair: int) -> Estimate:
        """Lines 22 and 23 for one pair. It is kept until the pair is visited again: its data has not changed."""
        if pair not in self._estimates:
            mine = [sample for sample in self.data if sample.pair == pair]  # D(s, a)
            gram = self.regularization * np.eye(self.size)
            losses = np.zeros(self.size)
            following = next_states(self.support, pair)
            rows = np.zeros((len(following), self.size))
            for sample in mine:
                gram = gram + np.outer(sample.context, sample.context)
                losses = losses + sample.loss * sample.context
                rows = rows + np.outer(following == sample.next_state, sample.context)
            ridge = np.linalg.solve(gram, rows.T).T  # eq. dynamics-ls
            self._estimates[pair] = Estimate(
                len(mine), gram,
                np.linalg.solve(gram, losses),  # eq. loss-ls
                projected(ridge, gram, stochastic=is_stochastic(self.support, pair)),  # eq. dynamics-proj
            )  # fmt: skip
        return self._estimates[pair]

    def next_radius(self, pair: int) -> float:
        """The radius of eq. dynamics-conf-set (norm of the gram matrix), as proven or as printed."""
        factor = math.sqrt(len(next_states(self.support, pair))) if self.widths == "paper" else 1.0
        return self.scale * factor * self._rho(pair, self._triples())

    def loss_radius(self, pair: int) -> float:
        """The radius of eq. loss-conf-set."""
        return self.scale * self._rho(pair, self.support.pairs)

    def beta(self, pair: int) -> float:
        """beta of eq. ineq-known."""
        return self.scale * max(len(next_states(self.support, pair)), 1) * self._rho(pair, self._triples())

    def _rho(self, pair: int, count: int) -> float:
        visits = self.estimate(pair).visits
        share = 1.0 if self.keep else 6.0 / (math.pi * (self.restarts + 1)) ** 2
        inside = 8.0 * count * (1.0 + visits / self.regularization) / (self.delta * share)
        return math.sqrt(self.size * math.log(inside)) + math.sqrt(self.regularization)

    def _triples(self) -> int:
        """(pair, next state) triples without the goal; at least N, so that beta covers the loss radius everywhere."""
        return max(self.support.pairs, sum(len(next_states(self.support, pair)) for pair in range(self.support.pairs)))

    def _make_plan(self) -> Plan:
        """Lines 21 to 25."""
        pairs = range(self.support.pairs)
        widths, losses, centres, radii = [], [], [], []
        for pair in pairs:
            estimate = self.estimate(pair)
            width = math.sqrt(self.context @ np.linalg.solve(estimate.gram, self.context))
            low = float(estimate.losses @ self.context) - self.loss_radius(pair) * width
            widths.append(width)
            losses.append(max(self.loss_floor, min(1.0 + self.extra_loss, low + self.extra_loss)))
            centres.append(estimate.rows @ self.context)
            radii.append(self.next_radius(pair) * width)
        self.values = optimistic_values(
            self.support, losses, centres, radii, start=self.values, tolerance=self.tolerance
        )
        bound = self.loss_bound
        while self.doubling and self.values.max() > bound:
            bound *= 2.0
        if bound > self.loss_bound:
            self._double(bound)
            if not self.keep:
                return self._make_plan()
        policy = []
        for state in range(self.support.states):
            worth = pair_values(self.support, losses, centres, radii, values=self.values, state=state)
            policy.append(int(self.support.pair_start[state]) + int(np.argmin(worth)))
        return Plan(policy, widths, [self.beta(pair) for pair in pairs])

    def _double(self, bound: float) -> None:
        self.loss_bound = bound
        if not self.keep:
            self.data, self._estimates = [], {}
            self.restarts += 1
            self.values = np.zeros(self.support.states + 1)

    def _end_interval(self) -> None:
        """Line 20. The next act makes the next plan, with the context of that time (lines 15 to 19)."""
        self.interval += 1
        self._plan = None
        self._loss_of_interval = 0.0
