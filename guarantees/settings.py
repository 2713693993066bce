"""Shared by the parts: problems, learners with certified bounds, interruptible runs."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from goalbound import LRCSSP, Dirichlet, History, LearnerOptions, LinearCSSP, ModelEnvironment, Support
from goalbound.confidence import Widths, paper
from goalbound.planning import context_bounds, optimal_values
from goalbound.simulation import RegretDiagnostics, Simulation, bernoulli

DELTA = 0.1
MIN_LOSS = 0.1
"""Losses of the random problems are uniform from here to 1."""


class Instance(NamedTuple):
    """A problem and what is certified about all its contexts."""

    problem: LinearCSSP
    loss_floor: float
    loss_bound: float
    """B: the certified upper end of B*, and at least 1"""
    time_bound: float
    """the certified upper end of T*"""

    def learner(self, *, widths: Widths | None = None, support: Support | None = None, **others: Any) -> LRCSSP:
        """LR-CSSP with the certified loss floor and loss bound by default."""
        options = LearnerOptions(episodes=others.pop("episodes", None))
        arguments: dict[str, Any] = {"loss_floor": self.loss_floor, "loss_bound": self.loss_bound, **others}
        return LRCSSP(
            self.problem.support if support is None else support, self.problem.context_size, delta=DELTA,
            widths=paper() if widths is None else widths, options=options, **arguments,
        )  # fmt: skip


def certified(problem: LinearCSSP, *, tolerance: float = 0.01) -> Instance:
    """The problem with its bounds; the search for them may stop early, its upper ends hold all the same."""
    bounds = context_bounds(problem, tolerance=tolerance, most_regions=500)
    return Instance(problem, bounds.loss_floor, max(1.0, bounds.loss_bound.upper), bounds.time_bound.upper)


def dense(
    states: int = 4, *, seed: int, min_loss: float = MIN_LOSS, min_exit: float = 0.0, context_size: int = 2
) -> LinearCSSP:
    """Two actions; every pair may lead everywhere.

    Rows are uniform on the simplex, and go to the goal with probability ``min_exit`` at least.
    """
    rng = np.random.default_rng(seed)
    losses = rng.uniform(min_loss, 1.0, (context_size, states, 2))
    rows = (1.0 - min_exit) * rng.dirichlet(np.ones(states + 1), (context_size, states, 2))
    rows[..., -1] += min_exit
    return LinearCSSP.dense(losses, rows)


def easy(states: int = 2) -> LinearCSSP:
    """Losses from 0.9 on, and at least 0.8 of every step reaches the goal: pairs become known within 1e5 episodes."""
    return dense(states, seed=0, min_loss=0.9, min_exit=0.8)


def full_support(support: Support) -> Support:
    """The same pairs, each of which may lead everywhere: no prior knowledge of next states."""
    following = np.tile(np.arange(support.states + 1), support.pairs)
    starts = np.arange(support.pairs + 1) * (support.states + 1)
    return Support(support.pair_start, support.pair_action, starts, following)


def simulation(
    problem: LinearCSSP, learner: Any, contexts: Any, *, seed: int, noisy: bool = True, audit: bool = False
) -> Simulation:
    """A run in the problem's own environment; losses are 0 or 1 with the right mean if ``noisy``."""
    environment = partial(ModelEnvironment, problem, losses=bernoulli()) if noisy else None
    return Simulation(problem, learner, contexts, seed=seed, environment=environment, audit=audit)


def run_episodes(run: Simulation, episodes: int) -> History:
    """Run the given number of further episodes. Ctrl-C, which a run survives, ends the part."""
    history = run.run(episodes)
    if history.interrupted:
        raise KeyboardInterrupt
    return history


def diagnostics(history: History) -> RegretDiagnostics:
    """The diagnostics of an audited run."""
    assert history.diagnostics is not None
    return history.diagnostics


def warm_up() -> None:
    """Compile what whole runs use, so that the first of them is not the slow one."""
    instance = certified(dense(2, seed=0))
    corners = np.random.default_rng(0).dirichlet(np.ones(2), 40_000)
    optimal_values(instance.problem, corners)
    run_episodes(simulation(instance.problem, instance.learner(), Dirichlet.symmetric(2), seed=0), 10_000)
