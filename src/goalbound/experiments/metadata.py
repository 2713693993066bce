"""Metadata of a run besides its sums: learner settings, diagnostics, the problem, the learned policies."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import combinations
from math import fsum, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import goalbound
from goalbound.errors import PlanningStopped
from goalbound.experiments.registry.learners import BOUNDS_TOLERANCE
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.settings import Settings
from goalbound.learners.tabular.settings import TabularSettings
from goalbound.learners.wrapper import unwrap
from goalbound.models import SSP, LinearCSSP
from goalbound.planning import BoundStatus, ContextBounds, Solution, evaluate, solve
from goalbound.simulation.diagnostics import RegretDiagnostics

MAX_STATES = 300
"""Policies of larger problems are not evaluated."""
MAX_CONTEXTS = 100
"""The largest number of contexts of the policy grid."""
OPTIMALITY_TOLERANCE = 1e-6
"""An action is optimal if it is worse than the best by no more than this share of the state's value."""
_GRID_STEPS = {2: 40, 3: 10}


def provenance(spec: RunSpec) -> dict[str, Any]:
    """The id of the run and the versions of the software; no host and no time."""
    return {
        "id": spec.id,
        "seed": spec.seed,
        "goalbound": goalbound.__version__,
        "numpy": np.__version__,
        "numba": version("numba"),
        "python": platform.python_version(),
    }


def problem_metadata(problem: LinearCSSP, bounds: ContextBounds | None) -> dict[str, Any]:
    """Sizes, and the certified intervals of B* and T*: their upper ends, ``_lower`` the lower ones (null where there
    are none), and the relative width of both (null where one is wider)."""
    support = problem.support
    converged = bounds is not None and bounds.status is BoundStatus.CONVERGED
    return {
        "states": support.states,
        "pairs": support.pairs,
        "triples": support.triples,
        "context_size": problem.context_size,
        "loss_bound": None if bounds is None else _number(bounds.loss_bound.upper),
        "time_bound": None if bounds is None else _number(bounds.time_bound.upper),
        "loss_bound_lower": None if bounds is None else _number(bounds.loss_bound.lower),
        "time_bound_lower": None if bounds is None else _number(bounds.time_bound.lower),
        "bounds_tolerance": BOUNDS_TOLERANCE if converged else None,
        "loss_floor": float(problem.losses.min()),
        "loss_scale": float(problem.loss_scale),
        "component_names": None if problem.component_names is None else list(problem.component_names),
    }


def learner_settings(spec: RunSpec, learner: Any) -> dict[str, Any]:
    """The settings of the spec; for built-in learners, words such as ``certified`` are resolved to numbers."""
    inner = unwrap(learner)
    found = getattr(inner, "settings", None)
    if isinstance(found, TabularSettings):
        settings = found.as_json()
        settings = {f"method_{name}": value for name, value in settings.pop("method").items()} | settings
        return {**spec.learner.settings, **settings, "final_loss_bound": inner.loss_bound}
    if not isinstance(found, Settings):
        return dict(spec.learner.settings)
    used = found.as_json()
    widths, exploration = used.pop("widths"), used.pop("exploration")
    settings = {**spec.learner.settings, **used, "added_loss": inner.added_loss}
    if not found.is_optimistic:
        return settings | {"exploration": exploration["name"], "threshold": exploration["threshold"]}
    return {
        **settings, "widths": widths["name"], "scale": widths["scale"],
        "final_loss_bound": inner.loss_bound, "doublings": inner.doublings,
    }  # fmt: skip


def alarm(learner: Any) -> str | None:
    """The violation of linearity that the learner detected, as text; null if none, or if it does not test."""
    found = getattr(unwrap(learner), "alarm", None)
    return None if found is None else str(found)


def diagnosis(report: RegretDiagnostics | None) -> dict[str, Any] | None:
    """The diagnostics of an audited learner; null for others."""
    if report is None:
        return None
    return {
        "coverage": _number(report.coverage),
        "covered": report.covered,
        "good_event": report.good_event,
        "intervals": report.intervals,
        "covered_intervals": report.covered_intervals,
        "long_intervals": report.long_intervals,
        "decomposition": {name: float(value) for name, value in report.terms._asdict().items()},
        "loss_noise": report.loss_noise,
        "largest_interval_share": _number(report.interval_share),
        "largest_martingale_share": _number(report.martingale_share),
        "largest_potential": _number(report.potential),
        "unknown_visits": int(report.unknown_visits.sum()),
        "unknown_visits_bound": _number(fsum(report.unknown_visits_bound.tolist())),
        "loss_bound": report.loss_bound,
        "bounds": {
            "own": _number(report.own_bound),
            "measured": _number(report.measured_bound),
            "lemma": _number(report.lemma_bound),
        },
    }


def policies(problem: LinearCSSP, learner: Any) -> dict[str, Any] | None:
    """The final policy of the learner against the optimal one, over a grid of contexts.

    Null for learners without ``plan``, and for more than 300 states. For each of ``contexts``: ``optimal``, which of
    the distinct optimal policies is best there (0 is the first one met); ``learned_gap``, how much more the learned
    policy loses from the start, null where it may never arrive; ``differs``, the share of the states where the learned
    action is not optimal. Both are null where the learner found no plan. ``regions`` says by names what the distinct
    optimal policies do: see :func:`policy_regions`.
    """
    policy_at = _planner(learner)
    if policy_at is None or problem.support.states > MAX_STATES:
        return None
    contexts = context_grid(problem.context_size)
    numbers: dict[bytes, int] = {}
    distinct: dict[int, NDArray[np.int64]] = {}
    optimal: list[int] = []
    gaps: list[float | None] = []
    differs: list[float | None] = []
    for context in contexts:
        best = solve(problem.at(context))
        optimal.append(numbers.setdefault(best.policy.tobytes(), len(numbers)))
        distinct.setdefault(optimal[-1], best.policy)
        try:
            learned = policy_at(context)
        except PlanningStopped:
            gaps.append(None)
            differs.append(None)
        else:
            gaps.append(_gap(best, learned))
            differs.append(float(np.mean(_suboptimal(best.problem, best.values, learned))))
    regions = policy_regions(problem, list(distinct.values()))
    return {
        "contexts": contexts.tolist(), "optimal": optimal, "learned_gap": gaps, "differs": differs, "regions": regions,
    }  # fmt: skip


def policy_regions(problem: LinearCSSP, policies: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """What policies do where they differ: ``states``, the names of these states; ``actions``, for each policy the names
    of its actions there."""
    support = problem.support
    differ = np.flatnonzero(np.ptp(np.array(policies), axis=0)).tolist()
    states, actions = support.state_names, support.action_names
    return {
        "states": [states[one] if states else f"state {one}" for one in differ],
        "actions": [
            [actions[action] if actions else f"action {action}" for action in policy[differ].tolist()]
            for policy in policies
        ],
    }


def context_grid(size: int) -> NDArray[np.float64]:
    """[K, d] 41 points on an edge, 66 on a triangle; above: the corners, the middle, the middles of the edges.

    >>> context_grid(3)[[0, 1, -1]]
    array([[0. , 0. , 1. ],
           [0. , 0.1, 0.9],
           [1. , 0. , 0. ]])
    """
    if size in _GRID_STEPS:
        steps = _GRID_STEPS[size]
        whole = np.stack(np.meshgrid(*[np.arange(steps + 1)] * (size - 1), indexing="ij"), axis=-1)
        whole = whole.reshape(-1, size - 1)
        rest = steps - whole.sum(axis=1)
        return np.column_stack([whole, rest])[rest >= 0] / steps
    corners = np.eye(size)
    if size == 1:
        return corners
    middles = [(corners[i] + corners[j]) / 2.0 for i, j in combinations(range(size), 2)]
    return np.array([*corners, corners.mean(axis=0), *middles][:MAX_CONTEXTS])


def _planner(learner: Any) -> Callable[[NDArray[np.float64]], ArrayLike] | None:
    """The policy [S] that a learner would play under a context, or None if it has no ``plan``."""
    if not callable(getattr(learner, "plan", None)):
        return None
    return lambda context: learner.plan(context).policy


def _gap(best: Solution, policy: ArrayLike) -> float | None:
    """How much more a policy loses from the start than the best one, exactly; None where it may never arrive."""
    found = evaluate(best.problem, policy)
    law = best.problem.start_distribution
    here = law > 0.0
    if not np.isfinite(found.hitting_times[:-1][here]).all():
        return None
    return _number(fsum((law[here] * (found.values - best.values)[:-1][here]).tolist()))


def _suboptimal(ssp: SSP, values: NDArray[np.float64], policy: ArrayLike) -> NDArray[np.bool_]:
    """[S] where the policy's action is not optimal. Ties count as optimal, whichever the planner took."""
    support = ssp.support
    ahead = np.add.reduceat(ssp.probabilities * values[support.next_state], support.next_start[:-1])
    pairs = [support.pair(state, int(action)) for state, action in enumerate(np.asarray(policy))]
    return (ssp.losses + ahead)[pairs] > (1.0 + OPTIMALITY_TOLERANCE) * values[:-1]


def _number(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if isfinite(value) else None
