"""What all learners by ridge regression share: the sums, the estimate, plans, episodes, checkpoints."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, FileFormatError, PlanningStopped, ProjectionFailed
from goalbound.estimation import Estimate, Statistics
from goalbound.estimation.statistics import by_support
from goalbound.kernels import algorithm as kernels
from goalbound.kernels import episode_loop
from goalbound.kernels.active_set import new_projection_workspace
from goalbound.kernels.audit import RegretAudit, new_regret_audit
from goalbound.kernels.compile import Effort
from goalbound.kernels.elimination import new_evaluation_workspace
from goalbound.kernels.environment import EpisodeResults
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.records import assign
from goalbound.kernels.regression import new_regression_sums
from goalbound.kernels.state import POSTERIOR, EpisodeState, new_episode_state, new_learner_state
from goalbound.kernels.value_iteration import INTERVAL_SET, L2_BALL
from goalbound.learners.checks import check_leads, checked_support
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.episode import LRCSSPEpisode
from goalbound.learners.exploration import Exploration
from goalbound.learners.pending_visits import PendingVisits
from goalbound.learners.plan import Plan
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.protocol import SimulatedEnvironment, environment_arrays
from goalbound.learners.settings import Settings
from goalbound.learners.showing import make_plan
from goalbound.models import LinearCSSP, Support
from goalbound.models.files.io import LIMIT
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_distribution, check_generator, check_memory, set_readonly

SWEEPS = 1_000_000
"""The most sweeps of one plan; a plan that needs more is an error."""


class RidgeLearner:
    """The shared core of :class:`~goalbound.learners.lr_cssp.LRCSSP` and of :mod:`goalbound.learners.ridge`.

    A subclass says how it explores: its settings, and what it draws or chooses itself.
    """

    kind: ClassVar[str]
    """The name of the class in checkpoints."""

    def _set_up(
        self, support: Support, settings: Settings, prior: PriorKnowledge | None, rng: np.random.Generator | None
    ) -> None:
        if prior is not None and not isinstance(prior, PriorKnowledge):
            raise ArgumentError(
                f"prior is of the type {type(prior).__name__}; begin with PriorKnowledge.nothing(support, d)"
            )
        checked_support(support)
        if prior is not None and (prior.support != support or prior.context_size != settings.context_size):
            raise ArgumentError("the prior is of another support or context size than the learner's")
        if prior is not None and prior.row_known.any():
            checked_support(support, prior.possible)
        self.support = support
        self.settings = settings
        self.prior = prior
        self._constants = settings.constants(support, prior)
        size = settings.context_size
        check_memory(support.pairs * size**2 + support.triples * size, f"context_size {size}")
        regression = new_regression_sums(support.pairs, support.triples, size, settings.regularization)
        bound = 1.0 if settings.loss_bound is None else float(settings.loss_bound)
        self._state = new_learner_state(
            regression,
            support.pair_start,
            self._constants.loss_floor,
            bound,
            variance=self._constants.intervals.variance,
            parts=PARTS * size if self._constants.tests_linearity else 0,
        )
        self._scratch = new_projection_workspace(int(np.diff(support.next_start).max()), size)
        self._workspace = new_evaluation_workspace(support.states if self._constants.policy_iteration else 0)
        self._rng = np.random.default_rng() if rng is None else check_generator(rng)
        self._effort = Effort()
        self._arrays: EpisodeState | None = None
        self._begun = 0
        self._files = SavedFiles()
        self._open: WeakSet[LRCSSPEpisode] = WeakSet()
        self._loaded: list[LRCSSPEpisode] = []  # held here until the one who loads them takes them
        self._pending = PendingVisits(counted_early=settings.is_optimistic)
        self._effort.engine(support.triples)(kernels.reset_data)(self._constants, self._state)

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @classmethod
    def _of(
        cls, support: Support, settings: Settings, prior: PriorKnowledge | None, rng: np.random.Generator | None
    ) -> Self:
        """A learner with settings that a file gave."""
        if not cls._explores(settings.exploration):
            raise ArgumentError(
                f"the exploration is {settings.exploration.as_json()}, which is not that of a {cls.kind}"
            )
        learner = object.__new__(cls)
        learner._set_up(support, settings, prior, rng)
        return learner

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        """Whether a learner of this class explores so."""
        raise NotImplementedError

    def _adopt(self, episode: LRCSSPEpisode, entry: dict[str, Any]) -> None:
        """An episode of a checkpoint goes on."""
        episode.number, episode._state, episode._action = entry["number"], entry["state"], entry["action"]
        episode._acted = entry["acted"]
        self._loaded.append(episode)

    def begin(self, context: ArrayLike) -> LRCSSPEpisode:
        """An episode under a context. Many may be open at once; what one observes, the others know.

        Nothing is planned yet. Which interval number an episode has is settled here; which plan, at its first ``act``.
        """
        weights = check_distribution(context, "context", self.settings.context_size, "component")
        episode_state = self._new_episode_state()
        self._effort.engine(self.support.triples)(kernels.begin)(self._constants, self._state, episode_state, weights)
        return LRCSSPEpisode(self, episode_state)

    def plan(self, context: ArrayLike) -> Plan:
        """What the learner would do now under a context. Nothing is changed by looking.

        With ``forget=True``, an ``act`` whose plan exceeds the loss bound forgets the data first; looking does not. A
        learner that samples shows the plan of its estimate.
        """
        weights = check_distribution(context, "context", self.settings.context_size, "component")
        self._check_projections()
        episode_state = self._new_episode_state()
        run = self._effort.engine(self.support.triples)
        totals = self._state.totals.copy()
        run(kernels.begin)(self._constants, self._state, episode_state, weights)
        assign(self._state.totals, totals)
        if not run(kernels.plan)(self._constants, self._state, episode_state, self._workspace, SWEEPS):
            raise _stopped()
        hoped = run(kernels.max_optimistic_value)(self._constants, episode_state)
        while self._constants.doubling and episode_state.progress["loss_bound"] < hoped:
            episode_state.progress["loss_bound"] *= 2.0
        return self._shown(episode_state)

    @property
    def context_size(self) -> int:
        """d"""
        return self.settings.context_size

    @property
    def statistics(self) -> Statistics:
        """What was seen so far; it shows what the learner learns, as it learns."""
        learner_state = self._state
        return Statistics.over(
            self.support, learner_state.regression, self.settings.regularization, learner_state.pending
        )

    @property
    def estimate(self) -> Estimate:
        """The projected estimate; ``estimate.model()`` is a problem."""
        regression = self._state.regression
        rows = by_support(self.support, regression, self._state.rows)
        to_goal = self.support.next_state == self.support.states
        pair = np.searchsorted(self.support.next_start, np.flatnonzero(to_goal), side="right") - 1
        rows[to_goal] = 1.0 - np.add.reduceat(rows, self.support.next_start[:-1], axis=0)[pair]
        return Estimate(
            self.support,
            set_readonly(self._state.losses.copy()),
            set_readonly(rows),
            set_readonly(regression.gram.copy()),
            projected=True,
        )

    @property
    def intervals(self) -> int:
        """m, the intervals opened so far: an unknown step ends one, whether or not a new plan is made."""
        return int(self._state.totals["intervals"])

    @property
    def added_loss(self) -> float:
        """epsilon, what the zero-loss variant adds to every step; 0 if there is a loss floor."""
        return self._constants.added_loss

    @property
    def open_episodes(self) -> tuple[LRCSSPEpisode, ...]:
        """The episodes that were begun, have not ended and are still held by someone, in the order of begin.

        Those of a checkpoint are held by the learner until they end or are abandoned, those with an action whose
        outcome is awaited until it comes.
        """
        self._loaded = [one for one in self._loaded if not one.ended]
        return tuple(sorted((one for one in self._open if not one.ended), key=lambda one: one.number))

    def play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
        shown: NDArray[np.float64] | None = None,
        audit: RegretAudit | None = None,
    ) -> None:
        """Play one episode in a simulated environment for each of the contexts [K, d], in compiled code.

        The same episodes, to the bit, as ``begin``, ``act`` and ``observe`` give. ``values`` [K, S + 1] are the true
        optimal values, for the regret only. ``shown`` [K, d'] is what the learner sees instead of the contexts;
        ``audit`` takes what only someone who knows the truth can see.
        """
        problem = environment.problem
        seen = contexts if shown is None else shown
        self.check_fits(problem, seen.shape[1])
        env = environment_arrays(environment)
        if self._arrays is None:
            self._arrays = self._new_episode_state()
        for pair in self._pending.uncounted_pairs:
            self._count_visits_before(pair, None)
        kept = new_regret_audit(self.support.pairs) if audit is None else audit
        played = 0
        while played < len(contexts):
            run = self._effort.engine((len(contexts) - played) * self.support.triples)(episode_loop.play)
            # As Python, one episode at a time: how long they are, and so whether the compiler pays, is seen only then.
            last = played + 1 if run is episode_loop.play.python else len(contexts)
            ended = run(
                self._constants, self._state, self._arrays, self._scratch, self._workspace, env,
                contexts[played:last], seen[played:last], values[played:last], environment.rng, self._rng,
                int(step_limit), SWEEPS, kept,
                EpisodeResults._make(column[played:last] for column in results),
            )  # fmt: skip
            self._effort.spent += int(results.steps[played:last].sum()) * self.support.triples
            played += ended
            if played < last:
                break
        self._begun += min(played + 1, len(contexts))  # one whose plan did not come to its end was begun too
        self._check_projections()
        self._after_learning()
        if played < len(contexts):
            raise _stopped()

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, under contexts it knows."""
        check_leads(self.support, problem)
        if self.prior is not None:
            self.prior.check_problem(problem)
        if context_size != self.settings.context_size:
            raise ArgumentError(f"contexts have {context_size} entries, the learner knows {self.settings.context_size}")

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner and its open episodes to a file, exactly and atomically; :meth:`load` reads it back.

        What is loaded goes on as if there had been no stop, bit for bit, in the middle of an episode too.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        from goalbound.learners.checkpoint import write_checkpoint

        write_checkpoint(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """Read a learner written by :meth:`save`; its episodes are in ``open_episodes``.

        ``limit`` is the most bytes that the file may have: 4 GiB, and more only if it is asked for.
        """
        from goalbound.learners.checkpoint import read_checkpoint

        return read_checkpoint(cls, path, limit=limit)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """:meth:`load`, for a file whose learner has the settings of this one; else an error."""
        learner = self.load(path, limit=limit)
        if (learner.settings, learner.support, learner.prior) != (self.settings, self.support, self.prior):
            raise FileFormatError(f"{path}: the learner in it has other settings: {learner}, not {self}")
        return learner

    def _shown(self, episode_state: EpisodeState) -> Plan:
        known = self._effort.engine(self.support.triples)(kernels.is_known)
        return make_plan(self.support, self._constants, episode_state, known)

    def _new_episode_state(self) -> EpisodeState:
        exploration = self.settings.exploration
        return new_episode_state(
            self.support.pair_start, self.support.next_start, self.settings.context_size,
            shape=INTERVAL_SET if self._constants.intervals.on else L2_BALL, ceiling=self._ceiling(),
            sampled=exploration.code == POSTERIOR,
        )  # fmt: skip

    def _ceiling(self) -> float:
        """No value of a plan is above it."""
        return self.settings.exploration.ceiling

    def _prepare(self, episode_state: EpisodeState) -> None:
        self._check_projections()
        self._draw(episode_state)
        run = self._effort.engine(self.support.triples)(kernels.plan_with_doubling)
        if not run(self._constants, self._state, episode_state, self._workspace, SWEEPS):
            episode_state.progress["planned"] = 0
            raise _stopped()

    def _draw(self, episode_state: EpisodeState) -> None:
        """What is drawn before a plan."""

    def _choose(self, episode_state: EpisodeState, state: int) -> int:
        """The pair to play in a state."""
        return int(episode_state.iteration.policy[state])

    def _await_outcome(self, episode: LRCSSPEpisode, pair: int) -> None:
        """A pair was played."""
        episode._arrays.progress["restarts"] = self._state.totals["restarts"]
        self._pending.add(episode, pair)

    def _count_visits_before(self, pair: int, last: LRCSSPEpisode | None) -> None:
        """Visits of a pair that were made before that of ``last`` (None: all) count from now on, outcome or not."""
        for episode in self._pending.take_uncounted(pair, last):
            run = self._effort.engine(self.support.triples)(kernels.keep_pending)
            run(self._constants, self._state, episode._arrays, self._scratch, pair)

    def _observe(self, episode: LRCSSPEpisode, pair: int, place: int, loss: float) -> None:
        self._count_visits_before(pair, episode)
        run = self._effort.engine(0)(kernels.observe)
        run(self._constants, self._state, episode._arrays, self._scratch, pair, place, loss)
        self._pending.remove(episode)
        self._after_learning()

    def _abandon(self, episode: LRCSSPEpisode, missing_at_random: bool) -> None:
        """The outcome of a visit will never come."""
        pair = episode._pair
        if self.settings.is_optimistic:
            run = self._effort.engine(self.support.triples)
            if not missing_at_random:
                self._count_visits_before(pair, episode)
                run(kernels.keep_pending)(self._constants, self._state, episode._arrays, self._scratch, pair)
            elif episode._counted:
                run(kernels.withdraw_visit)(self._constants, self._state, episode._arrays, self._scratch, pair)
        self._pending.remove(episode)

    def _after_learning(self) -> None:
        """What is to be said after outcomes were learned from."""

    def _check_projections(self) -> None:
        if self._state.totals["failed_projections"]:
            raise ProjectionFailed(
                "a projection did not meet its optimality conditions; a Gram matrix is too ill-conditioned. "
                "Raise the regularization"
            )

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")[:-1]
        parts = [inside, f"{self.settings.context_size} components", *self._described(), f"{self._steps} steps"]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _described(self) -> list[str]:
        """What ``repr`` says of how it explores."""
        return []

    @property
    def _steps(self) -> int:
        return int(self._state.regression.visits.sum())


def _stopped() -> PlanningStopped:
    return PlanningStopped(
        f"value iteration did not settle in {SWEEPS} sweeps; the goal may be out of reach in the optimistic model, or "
        "the loss floor is too small for the distances: raise loss_floor or tolerance"
    )
