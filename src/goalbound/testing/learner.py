"""Does a learner keep the contract of :class:`goalbound.learners.protocol.Learner`?"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.learners.card import NOTHING, PROVEN, LearnerCard
from goalbound.learners.protocol import Learner
from goalbound.models import LinearCSSP, Step
from goalbound.models.simulated import EpisodeResults
from goalbound.models.step import bernoulli, deterministic
from goalbound.planning import optimal_values
from goalbound.simulation.environment import ModelEnvironment
from goalbound.simulation.history import EpisodeBuffer, result_columns
from goalbound.simulation.regret import step_regret
from goalbound.testing.contract import Findings, Stop
from goalbound.testing.problem import small_problem

Floats = NDArray[np.float64]


def check_learner(
    make: Callable[..., Any],
    problem: LinearCSSP | None = None,
    *,
    episodes: int = 30,
    step_limit: int = 10_000,
    seed: int = 0,
) -> None:
    """Raises one :class:`ContractError` that lists everything that is wrong with a learner; silent if nothing is.

    Args:
        make: makes the learner, as the ``use`` of an experiment does: ``make(problem)``, and ``episodes=`` and ``rng=``
            (the learner's own stream) if it has such parameters. It is called several times.
        problem: to play; :func:`small_problem` if left out. Its optimal policies reach the goal within a few steps.
        episodes: how many are played in each check.
        step_limit: an episode that takes this many steps counts as one that does not reach the goal.
        seed: of contexts, environment and learner.

    Checked: ``begin``, ``act`` and ``observe`` are there; ``act`` gives an action of the state, in every state, the
    same if it is asked again; the context that ``begin`` is given stays as it is (a ``Step`` cannot be changed);
    ``card``, if there is one, is a :class:`~goalbound.learners.card.LearnerCard` that agrees with what is played (see
    below); episodes reach the goal; all that is random comes from ``rng=``; several episodes may be open at once;
    ``play_episodes``, if there is one, plays what the plain loop plays, to the bit; ``save`` and ``load`` (or
    ``restored``, of a fresh learner), if there are, resume exactly.

    Of a card: what is ``proven`` names its theorem; ``delta`` is a probability and ``scale`` positive; a learner that
    ``sees`` nothing plays the same whatever the contexts are, after the same steps; the episodes of one with a known
    test count their ``unknown_steps``; what those of one without count is not used.

    >>> from goalbound import Clairvoyant
    >>> check_learner(Clairvoyant)
    """
    if not callable(make):
        raise ArgumentError(f"make is a {type(make).__name__}; give a function that makes a new learner from a problem")
    _Check(make, small_problem() if problem is None else problem, episodes, step_limit, seed).run()


class _Check:
    def __init__(
        self, make: Callable[..., Any], problem: LinearCSSP, episodes: int, step_limit: int, seed: int
    ) -> None:
        self.make, self.problem, self.episodes, self.step_limit, self.seed = make, problem, episodes, step_limit, seed
        self.found = Findings(getattr(make, "__name__", type(make).__name__))
        corners = np.eye(problem.context_size)
        drawn = np.random.default_rng(seed).dirichlet(np.ones(problem.context_size), size=episodes)
        self.contexts: Floats = np.concatenate((drawn, corners))
        self.reference: list[Trace] = []

    def run(self) -> None:
        """Each check needs those before it."""
        found = self.found
        for place, check in (
            ("make", self.is_a_learner), ("card", self.card_is_coherent), ("act", self.acts_in_every_state),
            ("begin", self.leaves_context_unchanged), ("playing to the goal", self.reaches_goal),
        ):  # fmt: skip
            with found.step(place):
                check()
            if found.lines:
                found.close()
        for place, check in (
            ("rng", self.is_repeatable), ("act, called again", self.act_is_repeatable),
            ("several open episodes", self.keeps_episodes_independent),
        ):  # fmt: skip
            with found.step(place):
                check()
        if not found.lines:  # else these say nothing new
            for place, check in (
                ("card", self.unknown_steps_agree_with_card), ("card", self.sees_what_its_card_says),
                ("play_episodes", self.compiled_loop_agrees), ("save and load", self.resumes_from_file),
            ):  # fmt: skip
                with found.step(place):
                    check()
        found.close()

    def learner(self) -> Any:
        """A new one, as an experiment makes it."""
        given = {"episodes": self.episodes, "rng": np.random.default_rng([self.seed, 1])}
        asked = inspect.signature(self.make).parameters
        wanted = [name for name in given if name in asked and asked[name].default in (inspect.Parameter.empty, None)]
        return self.make(self.problem, **{name: given[name] for name in wanted})

    def environment(self, *, part: int = 0, noisy: bool = False) -> ModelEnvironment:
        rng = np.random.default_rng([self.seed, 2, part])
        return ModelEnvironment(self.problem, rng=rng, losses=bernoulli() if noisy else deterministic())

    def played(self, learner: Any, contexts: Floats, *, part: int = 0, act_calls: int = 1) -> list[Trace]:
        return play_all(learner, self.environment(part=part), contexts, step_limit=self.step_limit, act_calls=act_calls)

    def is_a_learner(self) -> None:
        learner = self.learner()
        self.found.subject = kind = type(learner).__name__
        if not callable(getattr(learner, "begin", None)):
            self.found.add("begin", f"a {kind} has none", "a learner has begin(context), which gives an episode")
            raise Stop
        episode = learner.begin(self.contexts[0].copy())
        for name, call in (("act", "act(state), which gives an action"), ("observe", "observe(step)")):
            if not callable(getattr(episode, name, None)):
                self.found.add(name, f"what begin gave, a {type(episode).__name__}, has none", f"an episode has {call}")

    def card_is_coherent(self) -> None:
        learner = self.learner()
        card = getattr(learner, "card", None)
        if card is None and not hasattr(learner, "card"):
            return
        if not isinstance(card, LearnerCard):
            self.found.add(
                "card", f"it is {card!r:.100}, a {type(card).__name__}",
                "give a LearnerCard, or leave it out: then nothing is claimed",
            )  # fmt: skip
            return
        if card.guarantee == PROVEN and not card.theorem:
            self.found.add("card", "guarantee is proven, and theorem is empty", "name the theorem and where it stands")
        if card.delta is not None and not 0.0 < card.delta < 1.0:
            self.found.add("card", f"delta is {card.delta}", "it is a probability between 0 and 1, or None")
        if not card.scale > 0.0:
            self.found.add("card", f"scale is {card.scale}", "it is a positive factor of the constants")
        again = getattr(self.learner(), "card", None)
        if again != card:
            self.found.add("card", "two learners made alike have different cards", "derive it from the settings alone")

    def unknown_steps_agree_with_card(self) -> None:
        card = getattr(self.learner(), "card", None)
        if card is None:
            return
        for at, trace in enumerate(self.reference):
            counted = trace.unknown_steps
            if card.has_known_test and not (isinstance(counted, int | np.integer) and 0 <= counted <= len(trace.steps)):
                self.found.add(
                    "card", f"has_known_test is True, and episode {at}, of {len(trace.steps)} steps, has unknown_steps "
                    f"{counted!r:.40}", "count the steps at pairs that are not known, or say has_known_test=False",
                )  # fmt: skip
                return

    def sees_what_its_card_says(self) -> None:
        """After the same steps, a learner that sees nothing plays the same under other contexts."""
        card = getattr(self.learner(), "card", None)
        if card is None or card.sees != NOTHING or self.problem.context_size == 1:
            return
        learner = self.learner()
        for at, trace in enumerate(self.reference):
            episode = learner.begin(np.roll(self.contexts[at], 1))
            for step in trace.steps:
                action = episode.act(step.state)
                if action != step.action:
                    self.found.add(
                        "card", f"sees is nothing, and under another context episode {at} played action {action} in "
                        f"state {step.state} instead of {step.action}", "say what it sees: contexts, cells, ...",
                    )  # fmt: skip
                    return
                episode.observe(step)

    def acts_in_every_state(self) -> None:
        support, learner = self.problem.support, self.learner()
        for state in range(support.states):
            action = learner.begin(self.contexts[state % len(self.contexts)].copy()).act(state)
            available = support.pair_action[support.pair_start[state] : support.pair_start[state + 1]].tolist()
            if isinstance(action, bool) or not isinstance(action, int | np.integer):
                self.found.add(
                    "act", f"in state {state} it gave {action!r}, a {type(action).__name__}",
                    "give the number of an action, an int",
                )  # fmt: skip
                raise Stop
            if int(action) not in available:
                self.found.add(
                    "act", f"in state {state} it gave {action}, which that state does not have",
                    f"there it has {available}: support.pair_action[support.pair_start[s] : support.pair_start[s + 1]]",
                )  # fmt: skip
                raise Stop

    def leaves_context_unchanged(self) -> None:
        learner, given = self.learner(), self.contexts.copy()
        for context in given:
            learner.begin(context).act(0)
        if not np.array_equal(given, self.contexts):
            self.found.add("begin", "the array of the context was changed", "change a copy: np.array(context)")
            raise Stop
        read_only = self.contexts[0].copy()
        read_only.flags.writeable = False  # as those of a run are
        learner.begin(read_only).act(0)

    def reaches_goal(self) -> None:
        self.reference = self.played(self.learner(), self.contexts)
        if not self.reference[-1].reached_goal:
            at, last = len(self.reference) - 1, self.reference[-1].steps[-1]
            self.found.add(
                "playing to the goal",
                f"episode {at} did not reach the goal in {self.step_limit} steps (the last: {last})",
                "a learner must stop repeating what does not reach the goal; or raise step_limit",
            )

    def is_repeatable(self) -> None:
        difference_found = difference(self.reference, self.played(self.learner(), self.contexts))
        if difference_found:
            self.found.add(
                "rng", f"two learners made alike, from the same rng, played differently ({difference_found})",
                "draw from the generator given as rng= only, and let no learner share anything with another",
            )  # fmt: skip

    def act_is_repeatable(self) -> None:
        traces = self.played(self.learner(), self.contexts, act_calls=2)
        inconsistent = [trace.inconsistent for trace in traces if trace.inconsistent]
        if inconsistent:
            self.found.add(
                "act", f"called again before observe, it gave another action: {inconsistent[0]}",
                "keep the action until observe is called",
            )  # fmt: skip
            return
        difference_found = difference(self.reference, traces)
        if difference_found and not self.found.lines:
            self.found.add(
                "act", f"calling it again before observe changed what it played later ({difference_found})",
                "learn, count and draw in observe, or at the first act only",
            )  # fmt: skip

    def keeps_episodes_independent(self) -> None:
        learner = self.learner()
        environments = [self.environment(part=part) for part in range(2)]
        contexts = self.contexts[-2:] if self.problem.context_size > 1 else np.ones((2, 1))
        where = [environment.begin(context) for environment, context in zip(environments, contexts, strict=True)]
        first = learner.begin(contexts[0].copy())
        before = first.act(where[0])
        second = learner.begin(contexts[1].copy())
        second.act(where[1])
        if first.act(where[0]) != before:
            self.found.add(
                "several open episodes", "an episode gave another action when another was begun",
                "keep context and plan in the episode, not in the learner",
            )  # fmt: skip
            return
        episodes, goal = [first, second], self.problem.support.states
        for _ in range(self.step_limit):
            for at in (0, 1):
                if where[at] != goal:
                    step = environments[at].step(episodes[at].act(where[at]))
                    episodes[at].observe(step)
                    where[at] = step.next_state
            if where == [goal, goal]:
                return
        self.found.add(
            "several open episodes", f"two that took turns did not reach the goal in {self.step_limit} steps each",
            "keep their states separate; what one episode observes, the other may use",
        )  # fmt: skip

    def compiled_loop_agrees(self) -> None:
        if not callable(getattr(self.learner(), "play_episodes", None)):
            return
        contexts = self.contexts.copy()
        contexts.flags.writeable = False
        values = np.ascontiguousarray(optimal_values(self.problem, contexts))
        values.flags.writeable = False
        both_results = []
        environments = [self.environment(noisy=True), self.environment(noisy=True)]
        for fast, environment in zip((True, False), environments, strict=True):
            results, learner = EpisodeBuffer.empty(*contexts.shape).results, self.learner()
            if fast:
                learner.play_episodes(environment, contexts, values, step_limit=self.step_limit, results=results)
            else:
                play_into(results, learner, environment, contexts, values, step_limit=self.step_limit)
            both_results.append(results)
        fast_columns, plain_columns = (result_columns(results) for results in both_results)
        for name, one in fast_columns.items():
            other = plain_columns[name]
            difference_found = np.flatnonzero(one != other)
            if len(difference_found):
                at = int(difference_found[0])
                self.found.add(
                    "play_episodes",
                    f"{name} of episode {at} is {one[at]}, but {other[at]} by begin, act and observe",
                    "both must draw, learn and add up in the same order; else leave play_episodes out",
                )
                return
        if environments[0].rng.bit_generator.state != environments[1].rng.bit_generator.state:
            self.found.add(
                "play_episodes", "it took more or fewer numbers from environment.rng than begin, act and observe need",
                "one for the next state of each step, one for the loss if its law is random, no others",
            )  # fmt: skip

    def resumes_from_file(self) -> None:
        learner = self.learner()
        if not callable(getattr(learner, "save", None)):
            return
        load = getattr(self.learner(), "restored", None) or getattr(type(learner), "load", None)
        if not callable(load):
            self.found.add(
                "load", f"a {type(learner).__name__} has save, but neither load nor restored",
                "give its class load(path), or a fresh learner restored(path)",
            )  # fmt: skip
            return
        half = len(self.contexts) // 2
        self.played(learner, self.contexts[:half])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.npz"
            learner.save(path)
            again = load(path)
        difference_found = difference(
            self.played(learner, self.contexts[half:], part=1), self.played(again, self.contexts[half:], part=1)
        )
        if difference_found:
            self.found.add(
                "save and load", f"what was loaded played differently from what was saved ({difference_found})",
                "save everything that act depends on, the state of its generator too",
            )  # fmt: skip


class Trace(NamedTuple):
    """One episode.

    Attributes:
        steps: that were played.
        reached_goal: whether it ended there.
        inconsistent: where ``act``, called again, gave another action.
        unknown_steps: as the episode says; None if it does not say.
    """

    steps: list[Step]
    reached_goal: bool
    inconsistent: str | None
    unknown_steps: Any


def play_one(
    learner: Learner, environment: ModelEnvironment, context: NDArray[np.float64], *, step_limit: int, act_calls: int
) -> Trace:
    """One episode by ``begin``, ``act`` and ``observe``; every ``act`` is called ``act_calls`` times."""
    state, episode = environment.begin(context), learner.begin(context)
    steps: list[Step] = []
    inconsistent: str | None = None
    goal = environment.problem.support.states
    while state != goal and len(steps) < step_limit:
        answers = [episode.act(state) for _ in range(act_calls)]
        if inconsistent is None and len(set(answers)) > 1:
            inconsistent = f"in state {state}, step {len(steps)}, it gave {answers[0]} and then {answers[1]}"
        step = environment.step(answers[-1])
        episode.observe(step)
        steps.append(step)
        state = step.next_state
    return Trace(steps, state == goal, inconsistent, getattr(episode, "unknown_steps", None))


def play_all(
    learner: Learner,
    environment: ModelEnvironment,
    contexts: NDArray[np.float64],
    *,
    step_limit: int,
    act_calls: int = 1,
) -> list[Trace]:
    """One episode for each of the contexts [K, d]; none after one that does not reach the goal."""
    traces: list[Trace] = []
    for context in contexts:
        traces.append(play_one(learner, environment, context.copy(), step_limit=step_limit, act_calls=act_calls))
        if not traces[-1].reached_goal:
            break
    return traces


def difference(ours: Sequence[Trace], theirs: Sequence[Trace]) -> str | None:
    """The first difference of two plays, in words; None if they are the same."""
    for episode, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        for at, (mine, yours) in enumerate(zip(one.steps, other.steps, strict=False)):
            if mine != yours:
                return (
                    f"episode {episode}, step {at}: action {mine.action} against {yours.action} in state {mine.state}"
                )
        if len(one.steps) != len(other.steps):
            return f"episode {episode}: {len(one.steps)} steps against {len(other.steps)}"
    return None if len(ours) == len(theirs) else f"{len(ours)} episodes against {len(theirs)}"


def play_into(
    results: EpisodeResults, learner: Learner, environment: ModelEnvironment,
    contexts: NDArray[np.float64], values: NDArray[np.float64],
    *, step_limit: int,
) -> None:  # fmt: skip
    """The plain loop, which a learner's ``play_episodes`` must equal: one row of the results for each context."""
    goal = environment.problem.support.states
    for k, context in enumerate(contexts):
        state = results.start[k] = environment.begin(context)
        episode = learner.begin(context)
        steps = 0
        while state != goal and steps < step_limit:
            step = environment.step(episode.act(int(state)))
            episode.observe(step)
            results.loss[k] += step.loss
            results.expected_regret[k] += step_regret(
                environment.problem, step.state, step.action, context=context, optimal_values=values[k]
            )
            state, steps = step.next_state, steps + 1
        results.intervals[k] = getattr(episode, "intervals", 0)
        results.unknown_steps[k] = getattr(episode, "unknown_steps", 0)
        results.abandoned[k], results.steps[k] = state != goal, steps
