"""Metadata of a run besides its sums: learner settings, diagnostics, the problem, the learned policies."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from math import fsum, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import goalbound
from goalbound.baselines.settings import TabularSettings
from goalbound.errors import PlanningStopped
from goalbound.experiments.registry.learners import BOUNDS_TOLERANCE
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.layers import unwrap
from goalbound.learners.settings import Settings
from goalbound.models import SSP, LinearCSSP
from goalbound.models.amounts import cap_entry, cap_of
from goalbound.planning import BoundStatus, ContextBounds, Solution, evaluate, solve
from goalbound.planning.context_bounds.region import simplex_landmarks
from goalbound.simulation.diagnostics import RegretDiagnostics

MAX_STATES = 300
"""Policies of larger problems are not evaluated."""
MAX_CONTEXTS = 100
"""The largest number of contexts of the policy grid."""
MAX_CACHED = 8
"""Problems whose best policies are kept for the next run."""
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
        **cap_entry(cap_of(problem)),
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
        return settings | {"exploration": exploration.pop("name"), **exploration}
    return {
        **settings, "widths": widths["name"], "scale": widths.get("scale", 1.0),
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


class Policies(NamedTuple):
    """Two entries of the metadata about policies; None where there are none."""

    policies: dict[str, Any] | None
    actions: dict[str, Any] | None


def policies(problem: LinearCSSP, learner: Any) -> Policies:
    """The final policy of the learner against the optimal one, over a grid of contexts.

    None for learners without ``plan``, and for more than 300 states. ``policies`` has for each of its ``contexts``:
    ``optimal``, which of the distinct optimal policies is best there (0 is the first one met); ``learned_gap``, how
    much more the learned policy loses from the start, null where it may never arrive; ``differs``, the share of the
    states where the learned action is not optimal. Both are null where the learner found no plan.

    ``actions`` has the names of ``states`` and ``actions`` (``state 3`` and ``action 1`` where they have none), the
    action numbers [S] of each distinct ``optimal`` policy and of each distinct ``learned`` one, and which of the latter
    is played at each of the contexts (``learned_at``, null without a plan).
    """
    policy_at = _planner(learner)
    support = problem.support
    if policy_at is None or support.states > MAX_STATES:
        return Policies(None, None)
    contexts = context_grid(problem.context_size)
    solutions = _grid_solutions(problem)
    best_ones, learned_ones = _Distinct(), _Distinct()
    optimal: list[int] = []
    learned_at: list[int | None] = []
    gaps: list[float | None] = []
    differs: list[float | None] = []
    for context, best in zip(contexts, solutions, strict=True):
        optimal.append(best_ones.number(best.policy))
        try:
            learned = policy_at(context)
        except PlanningStopped:
            gaps.append(None)
            differs.append(None)
            learned_at.append(None)
        else:
            gaps.append(_gap(best, learned))
            differs.append(float(np.mean(_suboptimal(best.problem, best.values, learned))))
            learned_at.append(learned_ones.number(learned))
    return Policies(
        {"contexts": contexts.tolist(), "optimal": optimal, "learned_gap": gaps, "differs": differs},
        {
            "states": [support.state_label(state) for state in range(support.states)],
            "actions": [support.action_label(action) for action in range(int(support.pair_action.max()) + 1)],
            "optimal": best_ones.policies,
            "learned": learned_ones.policies,
            "learned_at": learned_at,
        },
    )


_SOLUTIONS: dict[int, tuple[LinearCSSP, list[Solution]]] = {}
"""Of the last few problems by identity: the runs of a sweep share theirs."""


def _grid_solutions(problem: LinearCSSP) -> list[Solution]:
    """The best policies at the contexts of the grid; they are the same for all learners and seeds."""
    found = _SOLUTIONS.get(id(problem))
    if found is None or found[0] is not problem:
        if len(_SOLUTIONS) >= MAX_CACHED:
            _SOLUTIONS.clear()
        solutions = [solve(problem.at(context)) for context in context_grid(problem.context_size)]
        found = _SOLUTIONS[id(problem)] = (problem, solutions)
    return found[1]


def policy_regions(actions: Mapping[str, Any]) -> dict[str, Any]:
    """What the distinct optimal policies do where they differ, from ``actions`` of a record: ``states``, the names of
    these states; ``actions``, for each policy the names of its actions there.

    >>> policy_regions({"states": ["sick", "well"], "actions": ["wait", "drug"], "optimal": [[0, 1], [1, 1]]})
    {'states': ['sick'], 'actions': [['wait'], ['drug']]}
    """
    policies = np.array(actions["optimal"])
    differ = np.flatnonzero(np.ptp(policies, axis=0)).tolist()
    return {
        "states": [actions["states"][state] for state in differ],
        "actions": [[actions["actions"][action] for action in policy] for policy in policies[:, differ].tolist()],
    }


class _Distinct:
    """Policies in the order in which they are first met."""

    def __init__(self) -> None:
        self.policies: list[list[int]] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    def number(self, policy: ArrayLike) -> int:
        actions = np.asarray(policy).tolist()
        if tuple(actions) not in self._numbers:
            self.policies.append(actions)
        return self._numbers.setdefault(tuple(actions), len(self._numbers))


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
    return simplex_landmarks(size, most=MAX_CONTEXTS)


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
