"""One run: pure in its spec, so that it may be played anywhere, at any time, in any number of parts."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from goalbound.experiments import checkpoint as checkpoints
from goalbound.experiments import facts
from goalbound.experiments.cards import card_of
from goalbound.experiments.checkpoint import Running
from goalbound.experiments.collect import Collector
from goalbound.experiments.learners import certified_bounds
from goalbound.experiments.making import make, naming
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.records import RunRecord
from goalbound.experiments.run_spec import GROUPS, RunSpec, digest_of, loss_law
from goalbound.experiments.things import Stage, stage_of
from goalbound.kernels.compile import TOY_WORK
from goalbound.learners.context_free import ContextBlind
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.protocol import Learner
from goalbound.models import LinearCSSP, ModelError
from goalbound.planning import ContextBounds
from goalbound.simulation import FromArray, Simulation
from goalbound.simulation.diagnostics import AuditedLearner
from goalbound.simulation.play import CHUNK, Progress

SHORT, LONG = 0.25, 1.0
"""Seconds: parts of a run that take less are made longer, those that take more shorter. It is not seen in results."""
MOST_PROBLEMS = 8
"""So many problems are remembered, so that runs of the same one find its bounds."""


def run(
    spec: RunSpec,
    *,
    plugins: Plugins | Iterable[str] = (),
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
) -> RunRecord:
    """Play a run. The same spec gives the same record, to the byte, wherever and in however many parts it is played.

    Args:
        spec: the run.
        plugins: names of modules of third parties that may be imported if the run names them; or the ``plugins`` of
            the experiment that it is of. A run itself, which may come from a file, allows nothing.
        progress: called about every second with the episodes done, those in all, and the expected regret so far.
        checkpoint: where to keep a copy of the run while it goes on, and to go on from if there is one. Its owner
            removes it when the record is written. Runs in real environments or of learners without save have none.
        checkpoint_every: seconds between two copies. One more is written when ``progress`` raises anything, and after
            Ctrl-C, which waits until the episodes being played are finished; a second Ctrl-C does not wait.

    Raises:
        ModelError: the spec asks for what cannot be, or the code of a third party here is not that of the run; the
            message names the group.
    """
    if not checkpoint_every >= 0.0:
        raise ModelError(f"checkpoint_every is {checkpoint_every}; it is a number of seconds, 0 or more")
    stage, bounds, simulation = _built(spec, Plugins.of(plugins))
    running = Running(spec, simulation, Collector(spec.episodes, stage.problem.context_size))
    keeper = _Keeper(running, checkpoint, checkpoint_every)
    _play(running, keeper, progress)
    learner = running.simulation.learner
    settings = facts.learner_settings(spec, learner)
    return RunRecord(
        spec,
        running.collector.table,
        {
            **running.collector.facts(),
            "alarm": facts.alarm(learner),
            "diagnosis": facts.diagnosis(learner),
            "policies": facts.policies(stage.problem, learner),
            "settings": settings,
            "card": card_of(learner, settings).as_json(),
            "problem": facts.problem_facts(stage.problem, bounds),
            "provenance": facts.provenance(spec),
        },
    )


def build(spec: RunSpec, *, plugins: Plugins | Iterable[str] = ()) -> Simulation:
    """All that a run is made of, before its first episode; what a run would refuse is refused here."""
    return _built(spec, Plugins.of(plugins))[2]


def _built(spec: RunSpec, plugins: Plugins) -> tuple[Stage, ContextBounds | None, Simulation]:
    spec.check(plugins)
    made = make("problems", spec.problem, plugins)
    _check_code(spec, made, plugins)
    stage = _stage(spec, made)
    bounds = _bounds(spec, stage.problem)
    return stage, bounds, _simulation(spec, stage, bounds, plugins)


def _check_code(spec: RunSpec, made: Any, plugins: Plugins) -> None:
    """What is here is what the run was named after: a record never stands for other code than that which made it."""
    for group, name in GROUPS.items():
        choice = getattr(spec, name)
        digest = digest_of(group, choice, plugins, made if group == "problems" else None)
        if digest == spec.code.get(name):
            continue
        what = "problem" if group == "problems" else "code"
        raise ModelError(
            f"{group} ({choice.use}): the {what} here is not that of the run ({digest or 'none'}, and the run names "
            f"{spec.code.get(name, 'none')}); it was edited meanwhile, is another version on this machine, or differs "
            "each time: install the same everywhere, and read the experiment again"
        )


def _play(running: Running, keeper: _Keeper, progress: Progress | None) -> None:
    """Play what is left, in parts of about a second."""
    spec, simulation, collector = running
    size = max(1, min(CHUNK, 2 * TOY_WORK // simulation.problem.support.triples))  # enough for kernels to be compiled
    with _Interrupts(wait=keeper.can_save) as interrupts:
        while collector.done < spec.episodes:
            began = time.perf_counter()
            history = simulation.run(min(size, spec.episodes - collector.done))
            if history.interrupted:  # in the middle of an episode, from which something was learned: not to be kept
                raise KeyboardInterrupt
            collector.add(history)
            size = _next_size(size, time.perf_counter() - began)
            keeper.save_if_due()
            try:
                interrupts.check()
                if progress is not None:
                    progress(collector.done, spec.episodes, collector.expected_regret)
            except BaseException:
                keeper.save()
                raise


def _next_size(size: int, seconds: float) -> int:
    if seconds > LONG:
        return max(1, size // 2)
    return min(2 * size, CHUNK) if seconds < SHORT else size


class _Keeper:
    """Keeps a copy of a run in a file, if there is one and the run can be saved."""

    def __init__(self, running: Running, path: Path | None, every: float) -> None:
        self.can_save = path is not None and checkpoints.can_be_saved(running.simulation)
        self._running, self._path, self._every = running, path, every
        self._saved = -1
        if path is not None and self.can_save:
            checkpoints.resume(running, path)
        self._last = time.monotonic()

    def save_if_due(self) -> None:
        if time.monotonic() - self._last >= self._every and not self._finished():
            self.save()

    def save(self) -> None:
        done = self._running.collector.done
        if self._path is not None and self.can_save and self._saved != done:
            checkpoints.save(self._running, self._path)
            self._saved, self._last = done, time.monotonic()

    def _finished(self) -> bool:
        return self._running.collector.done == self._running.spec.episodes


class _Interrupts:
    """Lets Ctrl-C wait for a moment at which nothing is half done. Only where it would raise KeyboardInterrupt."""

    def __init__(self, *, wait: bool) -> None:
        self._wait = wait
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> _Interrupts:
        in_main = threading.current_thread() is threading.main_thread()  # signals belong to it
        if self._wait and in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            signal.default_int_handler(number, frame)
        self._pressed = True

    def check(self) -> None:
        """The moment has come."""
        if self._pressed:
            raise KeyboardInterrupt


def _stage(spec: RunSpec, made: Any) -> Stage:
    if isinstance(made, LinearCSSP):
        made = _remembered(made)
    stage = stage_of(made, loss_law(spec.losses), f"problems ({spec.problem.use})")
    return replace(stage, problem=_remembered(stage.problem))


_PROBLEMS: list[LinearCSSP] = []


def _remembered(problem: LinearCSSP) -> LinearCSSP:
    """The same problem as an earlier run had, so that what is known about it is found."""
    for known in _PROBLEMS:
        if known is problem or known == problem:
            return known
    _PROBLEMS.append(problem)
    del _PROBLEMS[:-MOST_PROBLEMS]
    return problem


def _bounds(spec: RunSpec, problem: LinearCSSP) -> ContextBounds | None:
    """Certified bounds, where the learner is told them anyway or they are cheap."""
    if problem.support.states <= facts.MOST_STATES or "certified" in map(str, spec.learner.settings.values()):
        return certified_bounds(problem)
    return None


def _simulation(spec: RunSpec, stage: Stage, bounds: ContextBounds | None, plugins: Plugins) -> Simulation:
    problem = stage.problem
    contexts = make("contexts", spec.contexts, plugins, problem.context_size, episodes=spec.episodes)
    with naming("contexts", spec.contexts):
        _check_contexts(contexts, problem, spec.episodes)
    return Simulation(
        problem, partial(_learner, spec, problem, bounds, plugins), contexts,
        seed=spec.seed, step_limit=spec.step_limit, environment=stage.environment,
    )  # fmt: skip


def _check_contexts(contexts: Any, problem: LinearCSSP, episodes: int) -> None:
    if not (hasattr(contexts, "draw") or hasattr(contexts, "choose")):
        raise ModelError(f"the function made a {type(contexts).__name__}; a source can draw or choose contexts")
    if contexts.context_size != problem.context_size:
        raise ModelError(f"contexts have {contexts.context_size} entries, the problem has {problem.context_size}")
    if isinstance(contexts, FromArray) and len(contexts.contexts) < episodes:
        raise ModelError(
            f"{len(contexts.contexts)} contexts are listed for {episodes} episodes; list more, or use cyclic"
        )


def _learner(
    spec: RunSpec, problem: LinearCSSP, bounds: ContextBounds | None, plugins: Plugins, *, rng: np.random.Generator
) -> Learner:
    """The learner of the spec, watched if it can be."""
    learner = make("learners", spec.learner, plugins, problem, episodes=spec.episodes, rng=rng)
    with naming("learners", spec.learner):
        if not callable(getattr(learner, "begin", None)):
            raise ModelError(f"the function made a {type(learner).__name__}; a learner can begin(context) an episode")
        return _audited(learner, problem, bounds)


def _audited(learner: Any, problem: LinearCSSP, bounds: ContextBounds | None) -> Learner:
    """LR-CSSP is watched; a learner that is blind to contexts has a truth to compare with only if there are none."""
    inner = learner
    if isinstance(learner, ContextBlind) and problem.context_size == 1:
        inner = learner.learner
    if not isinstance(inner, LRCSSP) or not inner.settings.is_optimistic:
        return learner
    loss_bound, time_bound = _watched_bounds(inner, bounds)
    if loss_bound is None and inner.settings.loss_bound is None:
        return learner
    return AuditedLearner(inner, problem, loss_bound=loss_bound, time_bound=time_bound)


def _watched_bounds(learner: LRCSSP, bounds: ContextBounds | None) -> tuple[float | None, float]:
    """B and T* of what the learner sees, as far as they are certified: what it adds to losses adds to B."""
    if bounds is None:
        return None, np.inf
    time_bound = float(bounds.time_bound.upper)
    added = learner.added_loss * time_bound if learner.added_loss else 0.0
    loss_bound = max(1.0, float(bounds.loss_bound.upper) + added)
    return (loss_bound if np.isfinite(loss_bound) else None), time_bound
