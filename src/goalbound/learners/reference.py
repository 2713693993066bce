"""Policies to measure learners against. They do not learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import Effort
from goalbound.learners import episode_loop
from goalbound.learners.card import fixed_card, oracle_card
from goalbound.learners.checkpoint import generator_from, state_of
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode_loop import Batch, play_batch
from goalbound.learners.own_card import Card
from goalbound.learners.protocol import SimulatedEnvironment
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.files.array_file import FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.simulated import VALUE_TOLERANCE, Components, EpisodeResults, greedy_pair, uniform_pair
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.validation import check_generator, check_int, check_type, set_readonly, short_repr
from goalbound.planning import solve
from goalbound.planning.checks import require_contextual
from goalbound.planning.optimal_values import optimal_values

REMEMBERED = 64
"""So many contexts keep their policy, so that contexts that come back are planned for once."""


class Clairvoyant:
    """Knows the problem: plays the optimal policy of each context. Its expected regret is zero.

    Where all losses are positive it plays the pair that is best against the certified optimal values, which is proper
    then; else the policy that :func:`goalbound.planning.solve` finds.

    >>> problem = LinearCSSP.dense([[[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])
    >>> episode = Clairvoyant(problem).begin([1.0])
    >>> episode.act(0)  # 0.5 once, against 0.2 ten times
    0
    """

    card = Card(oracle_card)

    def __init__(self, problem: LinearCSSP) -> None:
        self._problem = require_contextual(problem)
        self._policy = lru_cache(maxsize=REMEMBERED)(self._solve)
        support = problem.support
        self._components = Components(support.next_start, support.next_state, problem.losses, problem.probabilities)
        self._effort = Effort()
        if problem.losses.min() > 0.0:
            self.play_episodes = self._play_episodes

    def __reduce__(self) -> tuple[type[Clairvoyant], tuple[LinearCSSP]]:
        """Copies and pickles are made anew from the problem; policies that were found are found again."""
        return type(self), (self._problem,)

    def begin(self, context: ArrayLike) -> FixedPolicy:
        """An episode that plays the optimal policy of the context."""
        return FixedPolicy(self._problem, self._policy(self._problem.check_context(context).tobytes()))

    def _solve(self, context: bytes) -> NDArray[np.int64]:
        weights = np.frombuffer(context)
        support = self._problem.support
        if self._problem.losses.min() <= 0.0:
            return solve(self._problem.at(weights)).policy
        values = set_readonly(optimal_values(self._problem, weights[None], tolerance=VALUE_TOLERANCE)[0])
        run = self._effort.engine(support.triples)(greedy_pair)
        best = [run(self._components, support.pair_start, s, weights, values) for s in range(support.states)]
        return support.pair_action[best].astype(np.int64)

    def _play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
    ) -> None:
        """The compiled loop: the same episodes, to the bit, as ``begin`` and ``act`` give."""
        if environment.problem is not self._problem and environment.problem != self._problem:
            raise ArgumentError("the environment plays another problem than the one that the clairvoyant knows")
        batch = Batch.of(environment, contexts, values, step_limit=step_limit, results=results)
        _play_fixed(self._problem.support, self._effort, batch)

    def __repr__(self) -> str:
        return f"Clairvoyant({self._problem})"


class RandomWalk:
    """Plays any action of a state, each as likely as the others, until it is at the goal. It never learns.

    Where some state cannot reach the goal by chance in reasonable time (a lock, a cliff), episodes end at the step
    limit.

    >>> from goalbound import Support
    >>> walk = RandomWalk(Support.full(2, 3), rng=np.random.default_rng(1))
    >>> walk.begin([1.0]).act(0)
    1
    """

    card = Card(fixed_card)

    def __init__(self, support: Support, *, rng: np.random.Generator | None = None) -> None:
        self.support = check_type(support, Support, "support", SUPPORT_REMEDY)
        self._rng = np.random.default_rng() if rng is None else check_generator(rng)
        self._effort = Effort()
        self._files = SavedFiles()

    __copy__ = deep_copy  # its stream is its own

    def begin(self, context: ArrayLike) -> RandomEpisode:
        """An episode; the context does not matter."""
        return RandomEpisode(self.support, self._rng)

    def play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
        shown: NDArray[np.float64] | None = None,
    ) -> None:
        """The compiled loop: the same episodes, to the bit, as ``begin`` and ``act`` give."""
        if not self.support.same_pairs(environment.problem.support):
            raise ArgumentError("the problem has other states or actions than the support of the random walk")
        batch = Batch.of(environment, contexts, values, step_limit=step_limit, results=results)
        _play_fixed(self.support, self._effort, batch, own_rng=self._rng)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write where its stream stands; :meth:`restored` reads it.

        A file that someone else wrote is replaced only with ``overwrite``.
        """
        header = {"format": FORMAT, "version": 1, "kind": "RandomWalk", "stream": state_of(self._rng)}
        write_array_file(path, header, {}, files=self._files, overwrite=overwrite)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> RandomWalk:
        """A random walk in the same support that goes on from a file of at most ``limit`` bytes."""
        files = SavedFiles()
        header, _ = read_array_file(
            path, kind="RandomWalk", versions=[1], arrays={}, what="checkpoint", limit=limit, files=files
        )
        with as_format_errors(path, "checkpoint"):
            check_keys(header, ("stream",))
            again = RandomWalk(self.support, rng=generator_from(header["stream"]))
        again._files = files
        return again

    def __repr__(self) -> str:
        return f"RandomWalk({self.support})"


class RandomEpisode:
    """An episode of :class:`RandomWalk`."""

    def __init__(self, support: Support, rng: np.random.Generator) -> None:
        self._support, self._rng = support, rng
        self._action: int | None = None

    __copy__ = deep_copy

    def act(self, state: int) -> int:
        """Any action of the state; the same if it is asked again before ``observe``."""
        here = self._support.state(state)
        if here == self._support.states:
            raise ArgumentError(f"nothing can be done in state {state}; states are 0 to {self._support.states - 1}")
        if self._action is None:
            pair = uniform_pair.python(self._support.pair_start, here, self._rng.random())
            self._action = int(self._support.pair_action[pair])
        return self._action

    def observe(self, step: Step) -> None:
        """Nothing is learned."""
        self._action = None


class FixedPolicy:
    """An episode that plays one policy [S] (the action of each state) to the end."""

    def __init__(self, problem: LinearCSSP, policy: NDArray[np.int64]) -> None:
        self._problem = problem
        self._policy = policy

    def act(self, state: int) -> int:
        """The action of the policy."""
        if not 0 <= check_int(state, "state") < len(self._policy):
            raise ArgumentError(
                f"nothing can be done in state {short_repr(state)}; states are 0 to {len(self._policy) - 1}, "
                "then the goal"
            )
        return int(self._policy[state])

    def observe(self, step: Step) -> None:
        """Nothing: the policy is fixed."""


def _play_fixed(support: Support, effort: Effort, batch: Batch, *, own_rng: np.random.Generator | None = None) -> None:
    """Play the best pair of every state; or any, drawn from ``own_rng``, where it is given."""

    def play(run: Callable[..., Any], part: Batch) -> int:
        run(
            support.pair_start, part.environment, part.contexts, part.values, part.rng,
            part.rng if own_rng is None else own_rng, own_rng is not None, part.step_limit, part.results,
        )  # fmt: skip
        return len(part.contexts)

    play_batch(episode_loop.play_fixed, batch, play, effort=effort, work=support.triples)
