"""A learner plays episodes of a problem."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.learners.card import learner_card
from goalbound.learners.layers import unwrap
from goalbound.learners.protocol import Learner
from goalbound.models import LinearCSSP, Step
from goalbound.models.simulated import VALUE_TOLERANCE, EpisodeResults, suboptimality_gap
from goalbound.models.validation import (
    check_bool,
    check_callable,
    check_int,
    check_memory,
    check_size,
    set_readonly,
    short_repr,
)
from goalbound.planning.checks import require_contextual
from goalbound.planning.optimal_values import OptimalValues
from goalbound.simulation.contexts import AdaptiveSource, ContextSource, checked_contexts
from goalbound.simulation.diagnostics import AuditOptions, LearnerAudit
from goalbound.simulation.environment import Environment, ModelEnvironment, components_of, pair_of
from goalbound.simulation.history import PER_EPISODE, EpisodeBuffer, History, result_columns
from goalbound.simulation.regret import not_optimal
from goalbound.terminal import console

CHUNK = 16_000
"""The most episodes that are prepared at once. Results do not depend on it."""
FULL_CHUNK_TRIPLES = 50
"""Problems up to this size get whole chunks, others smaller ones, so that progress is told often enough."""
LEAST_CHUNK = 1000
"""How many episodes a chunk has however large the problem is, memory permitting."""
CHUNK_VALUES = 2_000_000
"""The most optimal values that are held at once."""

SHORT_SECONDS = 0.1
"""With a bar, parts that take less are followed by larger ones, so that it moves from the first second on."""

Progress = Callable[[int, int, float], object]


def play(
    problem: LinearCSSP,
    learner: Learner | Callable[..., Learner],
    contexts: ContextSource | AdaptiveSource,
    *,
    episodes: int,
    seed: int = 0,
    step_limit: int = 1_000_000,
    environment: Environment | Callable[..., Environment] | None = None,
    progress: Progress | bool = False,
    compiled: bool = True,
    audit: bool | AuditOptions = False,
) -> History:
    """Play episodes and return their history. The learner keeps what it has learned.

    Args:
        problem: the truth: what the environment plays, and what regret is measured against.
        learner: a learner, or a function that makes one from ``rng=``, the learner's own stream.
        contexts: the source of contexts.
        episodes: the number of episodes.
        seed: contexts, environment and learner have separate streams, ``SeedSequence(seed).spawn(3)`` in this order; so
            all learners meet the same contexts.
        step_limit: the most steps of an episode. One that reaches it is marked as abandoned; what it paid counts.
        environment: an environment, or a function that makes one from ``rng=``, the environment's stream, such as
            ``partial(ModelEnvironment, problem, losses=bernoulli())``. Without: ``ModelEnvironment(problem, rng=...)``.
        progress: True for a bar in the terminal or notebook; or a function that is called after each chunk (1000
            episodes; up to 16,000 of a tiny problem) with the episodes done, their total, and the realised regret.
        compiled: whether learners that have a compiled loop may use it; the results are the same.
        audit: whether to audit an :class:`~goalbound.LRCSSP` against ``problem``, which changes nothing of what it
            plays: ``history.diagnostics`` has the good event, the regret decomposition and the regret bounds.
            :class:`~goalbound.simulation.diagnostics.AuditOptions` where the audit needs bounds of its own.

    Ctrl-C ends the run early: finished episodes are kept, and the history says that it was interrupted.

    >>> from goalbound.learners.reference import Clairvoyant
    >>> from goalbound.simulation.contexts import Cyclic
    >>> problem = LinearCSSP.dense([[[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])
    >>> print(play(problem, Clairvoyant(problem), Cyclic([[1.0]]), episodes=4))
    4 episodes, 4 steps; 0 abandoned
    loss       2            optimal 2
    regret     0            expected 0
    """
    simulation = Simulation(
        problem, learner, contexts, seed=seed, step_limit=step_limit, environment=environment, compiled=compiled,
        audit=audit,
    )  # fmt: skip
    return simulation.run(episodes, progress=progress)


class Streams(NamedTuple):
    """The generators of a run: one each, so that none moves another."""

    contexts: np.random.Generator
    environment: np.random.Generator
    learner: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> Streams:
        """The children of a seed."""
        if check_int(seed, "seed") < 0:
            raise ArgumentError(f"seed {short_repr(seed)} is negative; it is a whole number from 0 on")
        return cls(*(np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)))


class Simulation:
    """A run that can be continued: ``run(10)`` and then ``run(20)`` play the episodes of ``run(30)``, to the bit.

    Its state is the number of episodes played, the streams, and the learner. The arguments are those of :func:`play`.
    """

    def __init__(
        self,
        problem: LinearCSSP,
        learner: Learner | Callable[..., Learner],
        contexts: ContextSource | AdaptiveSource,
        *,
        seed: int = 0,
        step_limit: int = 1_000_000,
        environment: Environment | Callable[..., Environment] | None = None,
        compiled: bool = True,
        audit: bool | AuditOptions = False,
    ) -> None:
        self.problem = require_contextual(problem)
        _check_source(contexts)
        if contexts.context_size != problem.context_size:
            raise ArgumentError(f"contexts have {contexts.context_size} entries, the problem {problem.context_size}")
        step_limit = check_size(step_limit, "step_limit", "an episode has at least one step", most=2**62)
        check_bool(compiled, "compiled")
        self.contexts = contexts
        self.streams = Streams.of(seed)
        self.seed, self.step_limit, self.compiled = int(seed), int(step_limit), compiled
        self.learner: Learner = _instantiate(learner, self.streams.learner, "learner", ("begin",))
        self.environment: Environment = (
            ModelEnvironment(problem, rng=self.streams.environment)
            if environment is None
            else _instantiate(environment, self.streams.environment, "environment", ("begin", "step"))
        )
        if (
            isinstance(self.environment, ModelEnvironment)
            and self.environment.problem is not problem
            and self.environment.problem != problem
        ):
            raise ArgumentError("the environment plays another problem than the one that regret is measured against")
        if hasattr(self.learner, "check_simulated"):
            self.learner.check_simulated()
        self.episodes_played = 0
        self.audit: LearnerAudit | None = None
        self._optimal = OptimalValues(problem, tolerance=VALUE_TOLERANCE)
        self._value_cache: dict[bytes, NDArray[np.float64]] = {}
        if audit is not False:
            self.start_audit(audit)

    def start_audit(self, audit: bool | AuditOptions = True) -> None:
        """Audit the learner from the next episode on, as ``audit=`` does from the first; False ends the audit."""
        options = audit if isinstance(audit, AuditOptions) else None
        wanted = options is not None or check_bool(audit, "audit")
        self.audit = LearnerAudit(self.learner, self.problem, options) if wanted else None

    def run(self, episodes: int, *, progress: Progress | bool | None = None) -> History:
        """Play more episodes and return their history.

        An episode that Ctrl-C breaks off is not counted, though the learner has learned from its steps. ``run`` may
        be called again; it continues with the context of that episode.
        """
        if not isinstance(progress, bool | None):
            check_callable(progress, "progress", "True for a bar, or a function of (done, episodes, regret)")
        most = self._largest_chunk(episodes)
        buffer = EpisodeBuffer.empty(episodes, self.problem.context_size)
        interrupted = False
        with _reporter(progress, episodes) as report:
            try:
                self._play_parts(buffer, 1 if progress is True else most, most, report)
            except KeyboardInterrupt:
                interrupted = True
        return self._history(buffer.rows(0, buffer.finished), interrupted)

    def _play_parts(self, buffer: EpisodeBuffer, size: int, most: int, report: Progress | None) -> None:
        """Play all episodes in parts, the first of ``size``; they grow up to ``most`` while they take no time."""
        done, regret, episodes = 0, 0.0, len(buffer.contexts)
        while done < episodes:
            began = time.monotonic()
            part = buffer.rows(done, min(done + size, episodes))
            self._advance(part)
            done += len(part.contexts)
            regret += part.regret
            if report is not None:
                report(done, episodes, regret)
            if time.monotonic() - began < SHORT_SECONDS:
                size = min(2 * size, most)

    def _largest_chunk(self, episodes: int) -> int:
        check_size(episodes, "episodes", "play at least one")
        check_memory(episodes * (self.problem.context_size + 8), f"a history of {episodes} episodes")
        if _is_adaptive(self.contexts):
            return 1
        support = self.problem.support
        wanted = max(LEAST_CHUNK, CHUNK * FULL_CHUNK_TRIPLES // support.triples)
        return max(1, min(CHUNK, wanted, CHUNK_VALUES // (support.states + 1)))

    def _advance(self, part: EpisodeBuffer) -> None:
        """Plays the episodes of one part. Whatever happens, the state is that after those that were finished."""
        count, rng = len(part.contexts), self.streams.contexts
        before = rng.bit_generator.state
        try:
            part.contexts[:] = self._next_contexts(count)
            contexts = part.contexts.view()
            contexts.flags.writeable = False
            values = self._optimal_values(contexts)
            _chunk(self, contexts, values, part.results)
        finally:
            finished = part.finished
            if finished < count:
                rng.bit_generator.state = before
                if finished:
                    self._next_contexts(finished)  # only these were used
            if finished:
                part.optimal_loss[:finished] = values[np.arange(finished), part.results.start[:finished]]
            self.episodes_played += finished
        self._check_gaps(part.results.expected_regret)

    def _next_contexts(self, count: int) -> NDArray[np.float64]:
        """[count, d] the contexts of the next episodes, checked."""
        rng, first = self.streams.contexts, self.episodes_played
        if _is_adaptive(self.contexts):
            drawn = np.asarray(self.contexts.choose(rng, first, self.learner))[None]  # type: ignore[union-attr]
        else:
            drawn = self.contexts.draw(rng, first, count)  # type: ignore[union-attr]
        contexts = checked_contexts(drawn, "contexts", self.problem.context_size, first)
        if len(contexts) != count:
            raise ArgumentError(
                f"the source gave {len(contexts)} contexts for {count} episodes from episode {first} on"
            )
        return contexts

    def _optimal_values(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """[K, S + 1]; those of an adaptive source, which come one by one and often repeat, are cached."""
        key = contexts.tobytes()
        if key in self._value_cache:
            return self._value_cache[key]
        values = set_readonly(self._optimal.at(contexts))
        if _is_adaptive(self.contexts) and values.size * len(self._value_cache) < CHUNK_VALUES:
            self._value_cache[key] = values
        return values

    def _check_gaps(self, expected_regret: NDArray[np.float64]) -> None:
        wrong = np.flatnonzero(np.isnan(expected_regret))
        if len(wrong):
            episode = self.episodes_played - len(expected_regret) + wrong[0]
            raise ArgumentError(f"episode {episode} played a pair that is better than optimal: {not_optimal()}")

    def _history(self, buffer: EpisodeBuffer, interrupted: bool) -> History:
        results = result_columns(buffer.results)
        others = {name: results.pop(name) for name in [*results] if name not in PER_EPISODE}
        return History(
            contexts=buffer.contexts, optimal_loss=buffer.optimal_loss, **results, others=others,
            seed=self.seed, step_limit=self.step_limit, interrupted=interrupted,
            alarm=_alarm_of(self.learner), has_known_test=learner_card(self.learner).has_known_test,
            diagnostics=None if self.audit is None else self.audit.report(),
        )  # fmt: skip


@contextmanager
def _reporter(progress: Progress | bool | None, episodes: int) -> Iterator[Progress | None]:
    """What is told of the progress: the function that was given, a bar, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    parts = (BarColumn(), TextColumn("{task.completed} of {task.total} episodes{task.fields[regret]}"))
    times = (TimeElapsedColumn(), TextColumn("so far,"), TimeRemainingColumn(), TextColumn("left"))
    with Bars(*parts, *times, console=console(sys.stderr)) as bars:
        bar = bars.add_task("", total=episodes, regret="")
        yield lambda done, _, regret: bars.update(bar, completed=done, regret=f", regret {regret:.6g}")


def _chunk(
    simulation: Simulation, contexts: NDArray[np.float64], values: NDArray[np.float64], results: EpisodeResults
) -> None:  # fmt: skip
    """Plays one episode for each of the contexts [K, d], given their optimal values [K, S + 1]; fills the results."""
    fast = getattr(simulation.audit or simulation.learner, "play_episodes", None)
    if simulation.compiled and fast is not None and isinstance(simulation.environment, ModelEnvironment):
        fast(simulation.environment, contexts, values, step_limit=simulation.step_limit, results=results)
        if not results.steps.all():
            raise ArgumentError(
                f"play_episodes of a {type(simulation.learner).__name__} ended after "
                f"{np.count_nonzero(results.steps)} of {len(contexts)} episodes and did not say why"
            )
        return
    for k in range(len(contexts)):
        _episode(simulation, contexts[k], values[k], results, k)


def _episode(
    simulation: Simulation, context: NDArray[np.float64], values: NDArray[np.float64], results: EpisodeResults, k: int
) -> None:
    """The plain loop: one episode, one call to the learner and the environment for each step."""
    problem, environment = simulation.problem, simulation.environment
    support, components = problem.support, components_of(problem)
    gap_of = engine(support.triples)(suboptimality_gap)
    goal = support.states
    state = start = _checked_state(environment.begin(context), goal - 1)
    episode = (simulation.audit or simulation.learner).begin(context)
    loss, regret, steps = 0.0, 0.0, 0
    while state != goal and steps < simulation.step_limit:
        action = episode.act(state)
        pair = pair_of(support, state, action)
        step = _checked_step(environment.step(action), state, goal)
        episode.observe(step)
        loss += step.loss
        regret += gap_of(components, pair, state, context, values, VALUE_TOLERANCE)
        state = step.next_state
        steps += 1
    results.loss[k], results.expected_regret[k], results.start[k] = loss, regret, start
    results.intervals[k] = getattr(episode, "intervals", 0)
    results.unknown_steps[k] = getattr(episode, "unknown_steps", 0)
    results.abandoned[k] = state != goal
    results.steps[k] = steps  # last: now the episode counts


def _checked_state(state: int, last: int) -> int:
    if not 0 <= check_int(state, "the environment began in") <= last:
        raise ArgumentError(f"the environment began in {state}; an episode begins in one of the states 0 to {last}")
    return int(state)


def _checked_step(step: Step, state: int, goal: int) -> Step:
    if step.state != state or not 0 <= step.next_state <= goal or not 0.0 <= step.loss <= 1.0:
        raise ArgumentError(
            f"in state {state} the environment returned {step}; a step starts where the last one ended, "
            f"to a next state of 0 to {goal}, with a loss in [0, 1]"
        )
    return step


def _alarm_of(learner: Any) -> str | None:
    """What a learner, or the one inside it, found to contradict the linear model."""
    alarm = getattr(unwrap(learner), "alarm", None)
    return None if alarm is None else str(alarm)


def _is_adaptive(contexts: ContextSource | AdaptiveSource) -> bool:
    return hasattr(contexts, "choose")


def _check_source(contexts: object) -> None:
    if isinstance(contexts, type) or not (
        isinstance(getattr(contexts, "context_size", None), int | np.integer)
        and (hasattr(contexts, "draw") or hasattr(contexts, "choose"))
    ):
        raise ArgumentError(
            f"contexts is {short_repr(contexts)}, which is not a source of contexts; give one, such as "
            "Dirichlet.symmetric(d), or FromArray(contexts) or Cyclic(contexts) for contexts that are at hand"
        )


def _instantiate(given: Any, rng: np.random.Generator, name: str, needed: tuple[str, ...]) -> Any:
    """The object itself, or what the factory makes of the stream; it has the methods that are needed."""
    made = given
    if isinstance(given, type) or not hasattr(given, "begin"):
        if not callable(given):
            raise ArgumentError(
                f"{name}: a {type(given).__name__} can neither begin(context) an episode nor be called with rng="
            )
        made = _call_factory(given, rng, name)
    for method in needed:
        if not callable(getattr(made, method, None)):
            raise ArgumentError(f"{name} is {short_repr(made)}, which has no {method}(...)")
    return made


def _call_factory(make: Callable[..., Any], rng: np.random.Generator, name: str) -> Any:
    """What a factory makes of the stream; one that takes no ``rng=`` is an error that says so."""
    try:
        inspect.signature(make).bind(rng=rng)
    except (TypeError, ValueError) as error:  # ValueError: something built in, that does not tell what it takes
        raise ArgumentError(f"{name}: {short_repr(make)} cannot be called with rng= ({error})") from None
    return make(rng=rng)
