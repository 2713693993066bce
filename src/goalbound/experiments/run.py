"""One run: a pure function of its spec, so that it may run anywhere, at any time, in any number of parts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from goalbound.around.contexts import ContextBlind
from goalbound.errors import ArgumentError
from goalbound.experiments import metadata
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.records import Accumulator, RunRecord
from goalbound.experiments.registry import ProblemInstance, error_context, instantiate, loss_law
from goalbound.experiments.registry.learners import certified_bounds
from goalbound.experiments.registry.problems import problem_instance
from goalbound.experiments.registry.warm_start import LogLaw
from goalbound.experiments.run_spec import GROUPS, RunSpec, component_code
from goalbound.learners.card import learner_card
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.protocol import Learner
from goalbound.models import LinearCSSP
from goalbound.models.validation import check_callable
from goalbound.planning import ContextBounds
from goalbound.simulation import Adversary, FromArray, Simulation
from goalbound.simulation.diagnostics import AuditOptions
from goalbound.simulation.play import CHUNK, Progress

SHORT_SECONDS, LONG_SECONDS = 0.25, 1.0
"""Seconds: chunks that take less grow, those that take more shrink. Results do not depend on it."""
FIRST_PART = 1
"""Episodes of the first part, so that there is progress to report from the first second on; parts grow from there."""
MOST_COMPONENTS = 12
"""Bounds over the contexts of problems with more are certified only where a learner needs them."""
MAX_PROBLEMS = 8
"""The size of the problem cache, which lets runs of the same problem share its bounds."""


def run(spec: RunSpec, *, plugins: Plugins | Iterable[str] = (), progress: Progress | None = None) -> RunRecord:
    """Play a run. The same spec gives the same record, to the byte, wherever and in however many parts it is played.

    Args:
        spec: the run.
        plugins: names of modules of third parties that may be imported if the run names them; or the ``plugins`` of
            the experiment that it is of. A run itself, which may come from a file, allows nothing.
        progress: called about every second with the episodes done, those in all, and the expected regret so far.

    Raises:
        ArgumentError: the spec is invalid, or the third-party code here is not that of the run; the
            message names the group.
    """
    if progress is not None:
        check_callable(progress, "progress", "a function of (done, episodes, regret), or None")
    instance, bounds, simulation = _build_parts(spec, Plugins.of(plugins))
    accumulator = Accumulator(spec.episodes, instance.problem.context_size)
    _play(simulation, accumulator, spec.episodes, progress)
    learner, audit = simulation.learner, simulation.audit
    return RunRecord(
        spec,
        accumulator.table,
        {
            **accumulator.metadata(),
            "alarm": metadata.alarm(learner),
            "diagnosis": metadata.diagnosis(None if audit is None else audit.report()),
            **metadata.policies(instance.problem, learner)._asdict(),
            "settings": metadata.learner_settings(spec, learner),
            "card": learner_card(learner).as_json(),
            "problem": metadata.problem_metadata(instance.problem, bounds),
            "provenance": metadata.provenance(spec),
        },
    )


def build(spec: RunSpec, *, plugins: Plugins | Iterable[str] = ()) -> Simulation:
    """The simulation of a run before its first episode; raises the errors that a run would."""
    return _build_parts(spec, Plugins.of(plugins))[2]


def _build_parts(spec: RunSpec, plugins: Plugins) -> tuple[ProblemInstance, ContextBounds | None, Simulation]:
    spec.check(plugins)
    made = instantiate("problems", spec.problem, plugins)
    _check_code(spec, made, plugins)
    instance = _problem_instance(spec, made)
    bounds = _bounds(spec, instance.problem)
    return instance, bounds, _simulation(spec, instance, bounds, plugins)


def _check_code(spec: RunSpec, made: Any, plugins: Plugins) -> None:
    """Check that problems and plug-ins are those that the run id was computed from."""
    for group, name in GROUPS.items():
        component = getattr(spec, name)
        code = component_code(group, component, plugins, made if group == "problems" else None)
        if code == spec.code.get(name):
            continue
        what = "problem" if group == "problems" else "version"
        raise ArgumentError(
            f"{group} ({component.use}): the {what} here is not that of the run ({code or 'none'}, and the run names "
            f"{spec.code.get(name, 'none')}); install the same everywhere, and read the experiment again; a function "
            "must make the same problem each time"
        )


def _play(simulation: Simulation, accumulator: Accumulator, episodes: int, progress: Progress | None) -> None:
    """Play all episodes, in parts of about a second."""
    size = min(FIRST_PART, CHUNK)
    while accumulator.done < episodes:
        began = time.perf_counter()
        history = simulation.run(min(size, episodes - accumulator.done))
        if history.interrupted:
            raise KeyboardInterrupt
        accumulator.add(history)
        size = _next_size(size, time.perf_counter() - began)
        if progress is not None:
            progress(accumulator.done, episodes, accumulator.expected_regret)


def _next_size(size: int, seconds: float) -> int:
    if seconds > LONG_SECONDS:
        return max(1, size // 2)
    return min(2 * size, CHUNK) if seconds < SHORT_SECONDS else size


def _problem_instance(spec: RunSpec, made: Any) -> ProblemInstance:
    if isinstance(made, LinearCSSP):
        made = _cached_problem(made)
    instance = problem_instance(made, loss_law(spec.losses), f"problems ({spec.problem.use})")
    return replace(instance, problem=_cached_problem(instance.problem))


_PROBLEM_CACHE: list[LinearCSSP] = []


def _cached_problem(problem: LinearCSSP) -> LinearCSSP:
    """The equal problem of an earlier run, so that its cached bounds are found."""
    for known in _PROBLEM_CACHE:
        if known is problem or known == problem:
            return known
    _PROBLEM_CACHE.append(problem)
    del _PROBLEM_CACHE[:-MAX_PROBLEMS]
    return problem


def _bounds(spec: RunSpec, problem: LinearCSSP) -> ContextBounds | None:
    """Certified bounds, where the learner needs them anyway or they are cheap."""
    needed = {name for name, value in spec.learner.settings.items() if str(value) == "certified"}
    if problem.context_size > MOST_COMPONENTS:
        needed -= {"loss_floor"}  # which is the least loss
    elif problem.support.states <= metadata.MAX_STATES:
        return certified_bounds(problem)
    if needed:
        return certified_bounds(problem)
    return None


def _simulation(spec: RunSpec, instance: ProblemInstance, bounds: ContextBounds | None, plugins: Plugins) -> Simulation:
    problem = instance.problem
    contexts = instantiate("contexts", spec.contexts, plugins, problem.context_size, episodes=spec.episodes)
    with error_context("contexts", spec.contexts):
        _check_contexts(contexts, problem, spec.episodes)
    simulation = Simulation(
        problem, partial(_learner, spec, problem, plugins, LogLaw(contexts, loss_law(spec.losses))), contexts,
        seed=spec.seed, step_limit=spec.step_limit, environment=instance.environment,
    )  # fmt: skip
    with error_context("learners", spec.learner):
        _start_audit(simulation, bounds)
    if isinstance(contexts, Adversary):
        with error_context("learners", spec.learner):
            contexts.widths(simulation.learner)  # an error if the learner keeps nothing on contexts to inspect
    return simulation


def _check_contexts(contexts: Any, problem: LinearCSSP, episodes: int) -> None:
    if not (hasattr(contexts, "draw") or hasattr(contexts, "choose")):
        raise ArgumentError(f"the function made a {type(contexts).__name__}; a source can draw or choose contexts")
    if contexts.context_size != problem.context_size:
        raise ArgumentError(f"contexts have {contexts.context_size} entries, the problem has {problem.context_size}")
    if isinstance(contexts, FromArray) and len(contexts.contexts) < episodes:
        raise ArgumentError(
            f"{len(contexts.contexts)} contexts are listed for {episodes} episodes; list more, or use cyclic"
        )


def _learner(
    spec: RunSpec, problem: LinearCSSP, plugins: Plugins, log_law: LogLaw, *, rng: np.random.Generator
) -> Learner:
    """The learner of the spec; if it begins with a log, with one whose cases come as those of the run."""
    learner: Learner = instantiate(
        "learners", spec.learner, plugins, problem, episodes=spec.episodes, log_law=log_law, rng=rng
    )
    with error_context("learners", spec.learner):
        if not callable(getattr(learner, "begin", None)):
            raise ArgumentError(
                f"the function made a {type(learner).__name__}; a learner can begin(context) an episode"
            )
    return learner


def _start_audit(simulation: Simulation, bounds: ContextBounds | None) -> None:
    """LR-CSSP is audited; a context-blind learner only if the problem has a single component, so that it is one."""
    learner = simulation.learner
    if isinstance(learner, ContextBlind) and simulation.problem.context_size == 1:
        learner = learner.inner
    if not isinstance(learner, LRCSSP):
        return
    loss_bound, time_bound = _audit_bounds(learner, bounds)
    if loss_bound is not None or learner.settings.loss_bound is not None:
        simulation.learner = learner
        simulation.start_audit(AuditOptions(loss_bound=loss_bound, time_bound=time_bound))


def _audit_bounds(learner: LRCSSP, bounds: ContextBounds | None) -> tuple[float | None, float]:
    """B and T* of the learner's problem, if certified: losses that it adds increase B."""
    if bounds is None:
        return None, np.inf
    time_bound = float(bounds.time_bound.upper)
    added = learner.added_loss * time_bound if learner.added_loss else 0.0
    loss_bound = max(1.0, float(bounds.loss_bound.upper) + added)
    return (loss_bound if np.isfinite(loss_bound) else None), time_bound
