"""A learner without contexts: one of six methods of the literature."""

from __future__ import annotations

from os import PathLike
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import FileFormatError, PlanningStopped
from goalbound.kernels.compile import Effort
from goalbound.kernels.environment import EpisodeResults
from goalbound.kernels.tabular import algorithm, planning, psrl
from goalbound.kernels.tabular.episode_loop import play
from goalbound.kernels.tabular.state import (
    HOEFFDING,
    PSRL,
    UC,
    EpisodeState,
    LearnerState,
    copied,
    new_episode_state,
    new_learner_state,
)
from goalbound.learners.card import Card, tabular_card
from goalbound.learners.checks import (
    check_context_free,
    check_leads,
    checked_support,
)
from goalbound.learners.copying import (
    copied_state,
    deep_copy,
    restore_state,
)
from goalbound.learners.protocol import SimulatedEnvironment, environment_arrays
from goalbound.learners.tabular.episode import TabularEpisode
from goalbound.learners.tabular.method import Method
from goalbound.learners.tabular.plan import TabularPlan
from goalbound.learners.tabular.settings import TabularSettings, checked_losses
from goalbound.models import LinearCSSP, Support
from goalbound.models.files.io import (
    LIMIT,
)
from goalbound.models.files.saved_files import (
    SavedFiles,
)
from goalbound.models.validation import (
    check_generator,
    set_readonly,
)
from goalbound.planning.extended_value_iteration import value_bounds

MOST_SWEEPS = 1_000_000
"""The most sweeps of one plan; a plan that needs more is an error."""


class TabularLearner:
    """Learns to reach the goal at least loss where every episode is the same problem.

    Args:
        support: the pairs and where each may lead; :meth:`Support.full` if nothing is known.
        method: what it does: one of :mod:`goalbound.learners.tabular.method`, where guarantees and sources stand. The
            functions ``uc_ssp(support, ...)``, ``eb_ssp(support, ...)``, ... make a learner of each.
        delta: the guarantees hold with probability 1 - delta.
        loss_floor: a lower bound of all mean losses.
        added_loss: added to every loss inside the learner, for problems where losses may be zero.
        known_losses: [N] the mean losses, if they are known; else they are learned.
        tolerance: value iteration ends when no value changes by more than this share of the least loss (not in UC-SSP,
            EB-SSP and ULCVI, which say how far it goes).
        rng: what PSRL-SSP draws from; the others draw nothing. Fresh entropy if left out.

    A step costs O(1) beside planning; only pairs visited since the last plan are looked at again. Memory is O(M),
    O(H S) more for ULCVI, and O(S) for each open episode. A learner is for one thread at a time.

    >>> from goalbound import Step, Support
    >>> from goalbound.learners.tabular import bernstein_ssp
    >>> learner = bernstein_ssp(Support.full(2, 2), loss_floor=0.1)
    >>> episode = learner.begin([1.0])
    >>> action = episode.act(0)
    >>> episode.observe(Step(0, action, 0.5, 2))
    >>> episode.ended, learner.visits
    (True, array([1, 0, 0, 0]))
    """

    context_size = 1
    card = Card(tabular_card)

    def __init__(
        self,
        support: Support,
        method: Method,
        *,
        delta: float = 0.1,
        loss_floor: float,
        added_loss: float = 0.0,
        known_losses: ArrayLike | None = None,
        tolerance: float = 1e-3,
        rng: np.random.Generator | None = None,
    ) -> None:
        checked_support(support)
        settings = TabularSettings(method, delta, loss_floor, added_loss, tolerance, known_losses is not None)
        known = None if known_losses is None else checked_losses(known_losses, support, loss_floor)
        if rng is not None:
            check_generator(rng)
        self.support = support
        self.settings = settings
        self.known_losses = known
        self.rng = np.random.default_rng() if rng is None else rng
        self._constants = settings.constants(support, known)
        ceiling = np.inf if method.value_cap is None else float(method.value_cap)
        self._state = new_learner_state(self._constants, ceiling=ceiling)
        self._effort = Effort()
        self._files = SavedFiles()
        self._open: WeakSet[TabularEpisode] = WeakSet()
        self._loaded: list[TabularEpisode] = []  # held here until the one who loads them takes them

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @property
    def method(self) -> Method:
        """What the learner does."""
        return self.settings.method

    @property
    def visits(self) -> NDArray[np.int64]:
        """[N] how often each pair was played; it shows what the learner learns, as it learns."""
        episode_state = self._state.counts.visits.view()
        episode_state.flags.writeable = False
        return episode_state

    @property
    def loss_bound(self) -> float | None:
        """B: as given, or as far as doubling has come; None if the method has none."""
        if self.method.name not in ("hoeffding-ssp", "eb-ssp", "ulcvi"):
            return None
        return float(self._state.totals["loss_bound"])

    @property
    def open_episodes(self) -> tuple[TabularEpisode, ...]:
        """The episodes that were begun, have not ended and are still held by someone, in the order of begin.

        Those of a checkpoint are held by the learner until they end or are abandoned.
        """
        self._loaded = [one for one in self._loaded if not one.ended]
        return tuple(sorted((one for one in self._open if not one.ended), key=lambda one: one.number))

    def begin(self, context: ArrayLike = (1.0,)) -> TabularEpisode:
        """An episode. Many may be open at once; what one observes, the others know. Nothing is planned yet.

        The context is the single number 1.0: there is none.
        """
        check_context_free(context)
        episode_state = new_episode_state(self.support.states)
        algorithm.begin.python(self._state, episode_state)
        return TabularEpisode(self, episode_state)

    def plan(self, context: ArrayLike = (1.0,)) -> TabularPlan:
        """What the learner would do now, were an episode to begin. Nothing is changed by looking, and nothing drawn.

        UC-SSP: the plan of a first attempt; ULCVI: that of the first step of an interval; PSRL-SSP: the plan in the
        mean of the posterior.
        """
        check_context_free(context)
        learner_state = self._state
        if self._constants.method in (UC, HOEFFDING, PSRL) or learner_state.totals["stale"]:
            learner_state = copied(learner_state)
            self._plan_in(learner_state)
        iteration = learner_state.main.iteration
        values = iteration.values.copy()
        if self.method.needs_positive_losses:
            values, _ = value_bounds(values, float(iteration.progress["residual"]), self._constants.floor)
        return TabularPlan(
            self.support,
            set_readonly(self.support.pair_action[iteration.policy].astype(np.int64)),
            set_readonly(values),
        )

    def _plan_in(self, learner_state: LearnerState) -> None:
        run = self._effort.engine(self.support.triples)
        if self._constants.method == PSRL:
            run(psrl.mean_model)(self._constants, learner_state)
            ended = run(planning.replan)(
                self._constants, learner_state, learner_state.main, self._constants.tolerance, MOST_SWEEPS
            )
        else:
            episode_state = new_episode_state(self.support.states)
            algorithm.begin.python(learner_state, episode_state)
            ended = run(algorithm.plan_episode)(self._constants, learner_state, episode_state, MOST_SWEEPS)
        if not ended:
            raise _stopped()

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
        """Play one episode in a simulated environment for each of the contexts [K, d], in compiled code.

        The same episodes, to the bit, as ``begin``, ``act`` and ``observe`` give, with the same numbers drawn.
        ``values`` [K, S + 1] are the true optimal values, for the regret only. ``shown`` [K, 1] is what the learner
        sees instead of the contexts.
        """
        seen = contexts if shown is None else shown
        self.check_fits(environment.problem, seen.shape[1])
        for context in np.unique(seen, axis=0):
            check_context_free(context)
        env, episode_state = environment_arrays(environment), new_episode_state(self.support.states)
        played = 0
        while played < len(contexts):
            run = self._effort.engine((len(contexts) - played) * self.support.triples)(play)
            # As Python, one episode at a time: how long they are, and so whether the compiler pays, is seen only then.
            last = played + 1 if run is play.python else len(contexts)
            before = self._work
            ended = run(
                self._constants, self._state, episode_state, env, contexts[played:last], values[played:last],
                environment.rng, self.rng, int(step_limit), MOST_SWEEPS,
                EpisodeResults._make(column[played:last] for column in results),
            )  # fmt: skip
            self._effort.spent += (self._work - before) * self.support.triples
            played += ended
            if played < last:
                raise _stopped()

    @property
    def _work(self) -> int:
        """Steps and sweeps made so far."""
        return int(self._state.totals["steps"] + self._state.totals["sweeps"])

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, and shows no context."""
        if context_size != 1:
            check_context_free(np.full(context_size, 1.0 / context_size))
        check_leads(self.support, problem)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, its open episodes and the state of its generator to a file, exactly and atomically.

        What :meth:`load` reads goes on as if there had been no stop, bit for bit, in the middle of an episode too.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        from goalbound.learners.tabular.checkpoint import write_checkpoint

        write_checkpoint(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str], *, limit: int = LIMIT) -> TabularLearner:
        """Read a learner written by :meth:`save`; its episodes are in ``open_episodes``.

        ``limit`` is the most bytes that the file may have: 4 GiB, and more only if it is asked for.
        """
        from goalbound.learners.tabular.checkpoint import read_checkpoint

        return read_checkpoint(path, limit=limit)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> TabularLearner:
        """:meth:`load`, for a file whose learner has the settings of this one; else an error."""
        learner = TabularLearner.load(path, limit=limit)
        same = learner.settings == self.settings and learner.support == self.support
        if not same or not np.array_equal(learner._constants.known_losses, self._constants.known_losses):
            raise FileFormatError(f"{path}: the learner in it has other settings: {learner}, not {self}")
        return learner

    def _adopt(self, episode: TabularEpisode, entry: dict[str, Any]) -> None:
        """An episode of a checkpoint goes on."""
        episode._state = entry["state"]
        if entry["action"] is not None:
            episode._pair = self.support.pair(entry["state"], entry["action"])
        self._loaded.append(episode)

    def _choose(self, episode_state: EpisodeState, state: int) -> int:
        """The pair to play; plans if need be. What is done in a few operations is done as Python: calls cost more."""
        constants, learner_state = self._constants, self._state
        if not algorithm.plan_is_valid.python(constants, learner_state, episode_state, state):
            run = self._effort.engine(self.support.triples)
            if algorithm.needs_draws.python(constants, learner_state):
                run(psrl.draw_model)(constants, learner_state, self.rng)
            before = self._work
            ended = run(algorithm.plan_episode)(constants, learner_state, episode_state, MOST_SWEEPS)
            self._effort.spent += (self._work - before) * self.support.triples
            if not ended:
                raise _stopped()
        return int(algorithm.chosen_pair.python(constants, learner_state, episode_state, state))

    def _observe(self, episode_state: EpisodeState, pair: int, place: int, loss: float) -> None:
        algorithm.observe.python(self._constants, self._state, episode_state, pair, place, loss)

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")[:-1]
        return f"TabularLearner({inside}, {self.method}, {int(self.visits.sum())} steps)"


def _stopped() -> PlanningStopped:
    return PlanningStopped(
        f"value iteration did not settle in {MOST_SWEEPS} sweeps; the goal may be out of reach in the model that was "
        "planned in, or the least loss is too small for the distances: raise loss_floor, added_loss or tolerance"
    )
