"""Does a learner keep the contract of :class:`goalbound.learners.protocol.Learner`?"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.models import LinearCSSP
from goalbound.models.loss_law import bernoulli, deterministic
from goalbound.planning import optimal_values
from goalbound.simulation.environment import ModelEnvironment
from goalbound.simulation.episode_buffer import EpisodeBuffer
from goalbound.testing.contract import Findings, Stop
from goalbound.testing.small_problem import small_problem
from goalbound.testing.traces import Trace, difference, play_all, play_into

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
        problem: to play; :func:`small_problem` if left out. Every optimal policy there arrives within a few steps.
        episodes: how many are played in each check.
        step_limit: an episode that takes so many steps is taken not to arrive.
        seed: of contexts, environment and learner.

    Checked: ``begin``, ``act`` and ``observe`` are there; ``act`` gives an action of the state, in every state, the
    same if it is asked again; the context that ``begin`` is given stays as it is (a ``Step`` cannot be changed);
    episodes arrive; all that is random comes from ``rng=``; several episodes may be open at once; ``play_episodes``,
    if there is one, plays what the plain loop plays, to the bit; ``save`` and ``load`` (or ``restored``, of a fresh
    learner, which experiments use), if there are, resume exactly.

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
            ("make", self.is_a_learner), ("act", self.acts_in_every_state), ("begin", self.leaves_context_unchanged),
            ("playing to the goal", self.reaches_goal),
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
            for place, check in (("play_episodes", self.compiled_loop_agrees), ("save and load", self.plan_is_valid)):
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
        sealed = self.contexts[0].copy()
        sealed.flags.writeable = False  # as those of a run are
        learner.begin(sealed).act(0)

    def reaches_goal(self) -> None:
        self.reference = self.played(self.learner(), self.contexts)
        if not self.reference[-1].reached_goal:
            at, last = len(self.reference) - 1, self.reference[-1].steps[-1]
            self.found.add(
                "playing to the goal",
                f"episode {at} was not there after {self.step_limit} steps (the last: {last})",
                "a learner must leave what does not arrive; if yours only needs longer, raise step_limit",
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
            "several open episodes", f"two that took turns had not arrived after {self.step_limit} steps each",
            "let each episode go its own way; what one observes, the other may know",
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
        for name, one, other in zip(both_results[0]._fields, *both_results, strict=True):
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

    def plan_is_valid(self) -> None:
        learner = self.learner()
        if not callable(getattr(learner, "save", None)):
            return
        load = getattr(self.learner(), "restored", None) or getattr(type(learner), "load", None)
        if not callable(load):
            self.found.add(
                "load", f"a {type(learner).__name__} has save, but neither load nor resumed",
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
