"""Policies and contexts on which families of problems are judged."""

import numpy as np

from goalbound.models import LinearCSSP
from goalbound.planning import is_proper, solve


def averaged_policy(problem: LinearCSSP) -> np.ndarray:
    """The optimal policy of the average of all components."""
    return np.asarray(solve(problem.at(np.full(problem.context_size, 1 / problem.context_size))).policy)


def proper_corners(problem: LinearCSSP, policy: np.ndarray) -> list[bool]:
    return [is_proper(problem.component(k), policy) for k in range(problem.context_size)]


def some_contexts(size: int) -> np.ndarray:
    return np.concatenate((np.eye(size), np.random.default_rng(7).dirichlet(np.ones(size), size=5)))
