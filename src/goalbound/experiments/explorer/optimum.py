"""What is best under each context, as the page shows it: the model itself, or certified solutions at some contexts."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments.explorer.numbers import about, at_least, at_most
from goalbound.models import LinearCSSP
from goalbound.models.amounts import cap_of
from goalbound.planning import Bound, context_bounds, solve
from goalbound.planning.context_bounds.region import simplex_landmarks

MOST_STATES = 200
"""The page solves problems of up to this many states itself: some ten milliseconds a context."""
MOST_NUMBERS = 60_000
"""... and with as many probabilities, in all components: about a megabyte."""
MOST_CHECKED = 12
"""Contexts at which certified solutions are there to check those of the page."""
MOST_CONTEXTS = 231
"""Contexts of the lattice of a problem that the page cannot solve."""
MOST_VALUES = 400_000
"""Numbers of such a lattice."""
BOUNDS_TOLERANCE = 0.01


def is_solved_in_page(problem: LinearCSSP) -> bool:
    """Whether the page solves this problem itself, at every context."""
    return problem.support.states <= MOST_STATES and problem.probabilities.size <= MOST_NUMBERS


def model_json(problem: LinearCSSP, *, exact: bool) -> dict[str, Any]:
    """The problem: names and pairs, and where the page solves it, the losses and rows of all components."""
    support = problem.support
    components = problem.component_names or [f"component {one}" for one in range(problem.context_size)]
    law: Any = problem.start if isinstance(problem.start, int) else problem.start.tolist()
    found: dict[str, Any] = {
        "states": [support.state_label(state) for state in range(support.states)],
        "actions": [support.action_label(action) for action in range(support.actions)],
        "components": list(components), "start": law, "scale": cap_of(problem),
        "pairStart": support.pair_start.tolist(), "pairAction": support.pair_action.tolist(),
    }  # fmt: skip
    if exact:
        found |= {
            "nextStart": support.next_start.tolist(), "nextState": support.next_state.tolist(),
            "losses": problem.losses.tolist(), "rows": problem.probabilities.tolist(),
        }  # fmt: skip
    return found


def certified_contexts(problem: LinearCSSP, *, exact: bool) -> NDArray[np.float64]:
    """[K, d] a few contexts to check the page by; or, where it cannot solve the problem, a lattice."""
    if exact:
        return np.unique(simplex_landmarks(problem.context_size, most=MOST_CHECKED), axis=0)
    most = max(1, min(MOST_CONTEXTS, MOST_VALUES // (4 * problem.support.states)))
    return simplex_lattice(problem.context_size, most=most)


def certified_json(problem: LinearCSSP, contexts: NDArray[np.float64]) -> dict[str, Any]:
    """Solutions under each of the contexts, losses in [0, 1]: actions, certified bounds, expected steps."""
    support, found = problem.support, [solve(problem.at(context), unreachable="exclude") for context in contexts]
    spacing = lattice_steps(problem.context_size, most=len(contexts))
    return {
        "contexts": contexts.tolist(), "steps": spacing,
        "policy": [one.policy.tolist() for one in found],
        "lower": [at_least(one.lower[:-1]) for one in found],
        "upper": [at_most(one.upper[:-1]) for one in found],
        "times": [about(one.hitting_times[: support.states]) for one in found],
    }  # fmt: skip


def bounds_json(problem: LinearCSSP, *, seconds: float) -> dict[str, Any]:
    """B* and T* over all contexts, as certified as they become within some seconds."""
    found = context_bounds(problem, tolerance=BOUNDS_TOLERANCE, time_limit=seconds)
    return {"loss": _interval(found.loss_bound), "time": _interval(found.time_bound), "proper": found.proper}


def _interval(bound: Bound) -> dict[str, Any]:
    """A certified interval, where its lower end is attained, and how the search ended."""
    (low,), (high,) = at_least([bound.lower]), at_most([bound.upper])
    return {"lower": low, "upper": high, "status": bound.status.value,
            "context": bound.context.tolist(), "state": int(bound.state)}  # fmt: skip


def simplex_lattice(size: int, *, most: int, finest: int = 40) -> NDArray[np.float64]:
    """[K, d] the points whose weights are multiples of 1 / n, for the largest n (up to ``finest``) with at most
    ``most`` of them; at least the corners. The last component comes first, as in the contexts of records.

    >>> simplex_lattice(3, most=6)
    array([[0. , 0. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 1. , 0. ],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    steps = lattice_steps(size, most=most, finest=finest)
    found = list(combinations(range(steps + size - 1), size - 1))  # stars and bars
    bars = np.array(found, dtype=np.int64).reshape(len(found), size - 1)
    ends = np.full((len(bars), 1), steps + size - 1)
    return (np.diff(bars, axis=1, prepend=-1, append=ends) - 1) / steps


def lattice_steps(size: int, *, most: int, finest: int = 40) -> int:
    """The n of :func:`simplex_lattice`.

    >>> lattice_steps(2, most=100), lattice_steps(3, most=66), lattice_steps(5, most=100)
    (40, 10, 4)
    """
    return max((n for n in range(1, finest + 1) if comb(n + size - 1, size - 1) <= most), default=1)
