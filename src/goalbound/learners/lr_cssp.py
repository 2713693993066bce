"""LR-CSSP, the learner of the paper (Algorithm 1)."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.estimation import Estimate, Statistics, Widths, paper, project, ridge_estimate, scaled, sharp
from goalbound.estimation.statistics import by_support
from goalbound.kernels import algorithm as kernels
from goalbound.kernels import episode_loop
from goalbound.kernels.active_set import new_projection_workspace
from goalbound.kernels.audit import RegretAudit, new_regret_audit
from goalbound.kernels.compile import Effort
from goalbound.kernels.confidence import pair_set
from goalbound.kernels.elimination import new_evaluation_workspace
from goalbound.kernels.environment import EpisodeResults
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.records import assign
from goalbound.kernels.regression import new_regression_sums
from goalbound.kernels.state import (
    POSTERIOR,
    EpisodeState,
    new_episode_state,
    new_learner_state,
)
from goalbound.kernels.value_iteration import INTERVAL_SET, L2_BALL
from goalbound.learners.card import Card, ridge_card
from goalbound.learners.checks import (
    check_leads,
    checked_support,
)
from goalbound.learners.copying import (
    copied_state,
    deep_copy,
    restore_state,
)
from goalbound.learners.episode import LRCSSPEpisode
from goalbound.learners.errors import PlanningStopped, ProjectionFailed
from goalbound.learners.exploration import Exploration, optimistic
from goalbound.learners.linearity import ModelViolation, model_violation
from goalbound.learners.plan import Plan
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.protocol import SimulatedEnvironment, environment_arrays
from goalbound.learners.settings import Settings
from goalbound.learners.showing import make_plan
from goalbound.models import FileFormatError, IntervalSet, LinearCSSP, ModelError, Support
from goalbound.models.confidence_set import (
    tighten_intervals,
)
from goalbound.models.files.io import (
    LIMIT,
)
from goalbound.models.files.saved_files import (
    SavedFiles,
)
from goalbound.models.validation import (
    check_distribution,
    check_generator,
    check_memory,
    set_readonly,
)

SWEEPS = 1_000_000
"""The most sweeps of one plan; a plan that needs more is an error."""


class LRCSSP:
    """Learns to reach the goal at least loss when every episode comes with its own context.

    Ridge regression for each pair, projected on the stochastic matrices; confidence sets; the best policy of the most
    hopeful plausible model; a new plan whenever a pair was played that is not yet *known* for the context.

    Args:
        support: the pairs and where each may lead; :meth:`Support.full` if nothing is known.
        context_size: d, the entries of a context.
        delta: the guarantees hold with probability 1 - delta.
        loss_floor: l_min, a lower bound of all mean losses. 0 if losses may be zero; then give ``episodes``.
        loss_bound: B, at least the largest optimal loss, and 1. None: found by doubling, from 1 on.
        widths: the rule of the confidence sets, :func:`goalbound.paper` if left out.
        regularization: lambda of the ridge regressions.
        episodes: K, only for ``loss_floor=0``: a loss of S (d^2 A / K)^(1/3), at most 1, is added to every step inside
            the learner (the corollary).
        forget: whether a doubling of the bound forgets the data, as printed, or keeps it.
        tolerance: value iteration ends when no value changes by more than this share of the loss floor. The values
            stay certified lower bounds whatever it is.
        attitude: :func:`goalbound.learners.exploration.optimistic`, the paper's, if left out; the others are for
            :mod:`goalbound.learners.ridge`, and have no guarantee.
        replan_factor: 1 is the paper's: every unknown step ends its interval. Above 1, only if the determinant of the
            Gram matrix of its pair has grown by this factor since the plan.
        check_linearity: whether outcomes are tested against the linear model, with sharp widths only: an :attr:`alarm`
            and a warning where they contradict it. None: where the sums for it are not too many.
        knowledge: losses, rows and loss floors of single pairs that are known. An observation that a known row excludes
            is an error, and is not recorded.
        rng: the learner's own stream, for attitudes that draw.

    One plan costs O(M) per sweep of value iteration, and only pairs visited since the last one are looked at again; a
    new context O(M d + N d^2); learning from a step O(m d^2) for the m next states seen of its pair. Memory is
    O(M d + N d^2) and O(M) for each open episode. A learner is for one thread at a time.

    >>> from goalbound import LRCSSP, Step, Support
    >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
    >>> episode = learner.begin([0.3, 0.7])
    >>> action = episode.act(0)
    >>> episode.observe(Step(0, action, 0.5, 2))
    >>> episode.ended, learner.statistics.visits.sum()
    (True, np.int64(1))
    """

    card = Card(ridge_card)

    def __init__(
        self,
        support: Support,
        context_size: int,
        *,
        delta: float = 0.1,
        loss_floor: float,
        loss_bound: float | None = None,
        widths: Widths | None = None,
        regularization: float = 1.0,
        episodes: int | None = None,
        forget: bool = False,
        tolerance: float = 1e-3,
        exploration: Exploration | None = None,
        replan_factor: float = 1.0,
        check_linearity: bool | None = None,
        prior: PriorKnowledge | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        settings = Settings(
            context_size, delta, loss_floor, loss_bound, paper() if widths is None else widths,
            regularization, episodes, forget, tolerance, optimistic() if exploration is None else exploration,
            replan_factor, check_linearity,
        )  # fmt: skip
        self._set_up(support, settings, prior, rng)

    @classmethod
    def practical(
        cls,
        support: Support,
        context_size: int,
        *,
        loss_floor: float,
        loss_bound: float | None = None,
        prior: PriorKnowledge | None = None,
        scale: float = 0.5,
        delta: float = 0.1,
        episodes: int | None = None,
    ) -> LRCSSP:
        """A learner for use rather than for proofs: sharp intervals of less noise, fewer plans, linearity tested.

        *Nothing is promised below a scale of 1*: the truth may lie outside the intervals, and a learner that hopes too
        little may settle for a bad plan and never find out. At 0.5 the regret was 0.36 to 0.57 of that of the proven
        intervals on the problems that we measured, and none of 200 runs of the hardest was stuck with a bad plan; at
        0.1 nearly one in four was (docs/width_scale.md). Use ``scale=1``, which is proven, where a bad plan that nobody
        notices would be worse than slow learning, and :class:`LRCSSP` itself for the constants of the paper.

        Args:
            support: the pairs and where each may lead; a narrow one helps, and costs no guarantee.
            context_size: d.
            loss_floor: a number that no mean loss is below; 0 if losses may be zero, then give ``episodes``.
            loss_bound: at least the largest optimal loss, and 1; None: found by doubling.
            knowledge: what else is known of single pairs.
            scale: what the noise part of the intervals is multiplied by. The bias of the ridge is never scaled.
            delta: what the proofs allow to fail, at a scale of 1.
            episodes: how many are to come; only for ``loss_floor=0``.

        An :attr:`alarm` may be false below a scale of 1.

        >>> from goalbound import LRCSSP, Support
        >>> learner = LRCSSP.practical(Support.full(2, 2), 2, loss_floor=0.1)
        >>> print(learner.settings.widths, learner.settings.widths.proven)
        0.5 x sharp False
        """
        return cls(
            support, context_size, loss_floor=loss_floor, loss_bound=loss_bound, widths=scaled(sharp(), by=scale),
            replan_factor=2.0, check_linearity=True, prior=prior, delta=delta, episodes=episodes,
        )  # fmt: skip

    def _set_up(
        self, support: Support, settings: Settings, prior: PriorKnowledge | None, rng: np.random.Generator | None
    ) -> None:
        if prior is not None and not isinstance(prior, PriorKnowledge):
            raise ModelError(
                f"knowledge is of the type {type(prior).__name__}; begin with PriorKnowledge.nothing(support, d)"
            )
        checked_support(support)
        if prior is not None and (prior.support != support or prior.context_size != settings.context_size):
            raise ModelError("the knowledge is of another support or context size than the learner's")
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
        self._rng = np.random.default_rng(0) if rng is None else check_generator(rng)
        self._effort = Effort()
        self._arrays: EpisodeState | None = None
        self._begun = 0
        self._warned = False
        self._files = SavedFiles()
        self._open: WeakSet[LRCSSPEpisode] = WeakSet()
        self._loaded: list[LRCSSPEpisode] = []  # held here until the one who loads them takes them
        self._acts = 0
        self._awaited: dict[int, LRCSSPEpisode] = {}  # by number of the visit, so in the order of act
        self._uncounted: dict[int, list[LRCSSPEpisode]] = {}  # of each pair, those that are in no Gram matrix yet
        self._effort.engine(support.triples)(kernels.reset_data)(self._constants, self._state)

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @classmethod
    def _of(
        cls, support: Support, settings: Settings, prior: PriorKnowledge | None, rng: np.random.Generator | None
    ) -> LRCSSP:
        learner = object.__new__(cls)
        learner._set_up(support, settings, prior, rng)
        return learner

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

    def interval_set(self, context: ArrayLike) -> IntervalSet:
        """The intervals of losses and next states that are plausible under a context; only with :func:`sharp` widths.

        Both ends of an interval are those of rows that sum to 1: what the others leave is cut off. Plans need not do
        so, as their rows sum to 1 anyway. Nothing is changed by looking.
        """
        if not self._constants.intervals.on:
            raise ModelError(
                f"the {self.settings.manner} have no intervals; confidence_set(...) gives their sets, or use sharp()"
            )
        episode_state = self._new_episode_state()
        episode_state.context[:] = check_distribution(context, "context", self.settings.context_size, "component")
        run = self._effort.engine(self.support.triples)(pair_set)
        for pair in range(self.support.pairs):
            run(self._constants, self._state, episode_state, pair)
        found = episode_state.sets
        low, high = tighten_intervals(self.support, found.low, found.high)
        return IntervalSet(self.support, found.losses, episode_state.loss_high, low, high)

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
        if self._constants.intervals.on:  # boxes need no projection, so none is kept
            return project(ridge_estimate(self.statistics))
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
    def loss_bound(self) -> float:
        """B: as given, or as far as doubling has come."""
        return float(self._state.totals["loss_bound"])

    @property
    def alarm(self) -> ModelViolation | None:
        """What first contradicted the linear model, or what the learner was told; None while nothing has."""
        told = self.settings.loss_floor, self.prior
        return model_violation(self._state.linearity, self.support, self.settings.context_size, *told)

    @property
    def doublings(self) -> int:
        """How often B was raised."""
        return int(self._state.totals["doublings"])

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
        for pair in list(self._uncounted):
            self._count_awaited(pair, None)
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
        self._warn_once()
        if played < len(contexts):
            raise _stopped()

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, under contexts it knows."""
        check_leads(self.support, problem)
        if self.prior is not None:
            self.prior.check_problem(problem)
        if context_size != self.settings.context_size:
            raise ModelError(f"contexts have {context_size} entries, the learner knows {self.settings.context_size}")

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner and its open episodes to a file, exactly and atomically; :meth:`load` reads it back.

        What is loaded goes on as if there had been no stop, bit for bit, in the middle of an episode too.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.models.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        from goalbound.learners.checkpoint import write_checkpoint

        write_checkpoint(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str], *, limit: int = LIMIT) -> LRCSSP:
        """Read a learner written by :meth:`save`; its episodes are in ``open_episodes``.

        ``limit`` is the most bytes that the file may have: 4 GiB, and more only if it is asked for.
        """
        from goalbound.learners.checkpoint import read_checkpoint

        return read_checkpoint(path, limit=limit)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> LRCSSP:
        """:meth:`load`, for a file whose learner was told the same things as this one; else an error."""
        learner = LRCSSP.load(path, limit=limit)
        if (learner.settings, learner.support, learner.prior) != (self.settings, self.support, self.prior):
            raise FileFormatError(f"{path}: the learner in it was told other things: {learner}, not {self}")
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
        """No optimal value is above the loss bound, where one was given; rows that are boxes may need to be told."""
        bound = self.settings.loss_bound
        return float(bound) if self._constants.intervals.on and bound is not None else self.settings.exploration.ceiling

    def _prepare(self, episode_state: EpisodeState) -> None:
        self._check_projections()
        if self.settings.exploration.code == POSTERIOR:
            self._effort.engine(self.support.triples)(kernels.draw_noise)(episode_state, self._rng)
        run = self._effort.engine(self.support.triples)(kernels.plan_with_doubling)
        if not run(self._constants, self._state, episode_state, self._workspace, SWEEPS):
            episode_state.progress["planned"] = 0
            raise _stopped()

    def _choose(self, episode_state: EpisodeState, state: int) -> int:
        """The pair to play in a state."""
        if self.settings.exploration.explore > 0.0:
            return int(self._effort.engine(0)(kernels.select_pair)(self._constants, episode_state, state, self._rng))
        return int(episode_state.iteration.policy[state])

    def _await_outcome(self, episode: LRCSSPEpisode, pair: int) -> None:
        """A pair was played. Which visits count, and in which order, must not depend on when outcomes are reported."""
        episode._arrays.progress["restarts"] = self._state.totals["restarts"]
        episode._acted, episode._pair = self._acts, pair
        self._acts += 1
        self._await(episode)

    def _await(self, episode: LRCSSPEpisode) -> None:
        assert episode._acted is not None
        self._awaited[episode._acted] = episode
        if self.settings.is_optimistic and not episode._counted:
            self._uncounted.setdefault(episode._pair, []).append(episode)

    def _no_longer_awaited(self, episode: LRCSSPEpisode) -> None:
        if episode._acted is not None:
            del self._awaited[episode._acted]
            self._acts = self._acts if self._awaited else 0  # numbers say the order, and nothing else
        episode._acted = None
        waiting = self._uncounted.get(episode._pair, [])
        if episode in waiting:
            waiting.remove(episode)
        if not waiting:
            self._uncounted.pop(episode._pair, None)

    def _count_awaited(self, pair: int, last: LRCSSPEpisode | None) -> None:
        """Visits of a pair that were made before that of ``last`` (None: all) count from now on, outcome or not."""
        waiting = self._uncounted.get(pair, [])
        earlier = waiting[: waiting.index(last)] if last in waiting else [] if last is not None else list(waiting)
        if not earlier:
            return
        for episode in earlier:
            run = self._effort.engine(self.support.triples)(kernels.keep_pending)
            run(self._constants, self._state, episode._arrays, self._scratch, pair)
        del waiting[: len(earlier)]
        if not waiting:
            del self._uncounted[pair]

    def _observe(self, episode: LRCSSPEpisode, pair: int, place: int, loss: float) -> None:
        self._count_awaited(pair, episode)
        run = self._effort.engine(0)(kernels.observe)
        run(self._constants, self._state, episode._arrays, self._scratch, pair, place, loss)
        self._no_longer_awaited(episode)
        self._warn_once()

    def _abandon(self, episode: LRCSSPEpisode, missing_at_random: bool) -> None:
        """The outcome of a visit will never come."""
        pair = episode._pair
        if self.settings.is_optimistic:
            run = self._effort.engine(self.support.triples)
            if not missing_at_random:
                self._count_awaited(pair, episode)
                run(kernels.keep_pending)(self._constants, self._state, episode._arrays, self._scratch, pair)
            elif episode._counted:
                run(kernels.withdraw_visit)(self._constants, self._state, episode._arrays, self._scratch, pair)
        self._no_longer_awaited(episode)

    def _warn_once(self) -> None:
        """Say it, the first time."""
        if not self._warned and self._state.linearity.violation["found"] and (alarm := self.alarm) is not None:
            self._warned = True
            warnings.warn(str(alarm), alarm.cause.warning, stacklevel=3)

    def _check_projections(self) -> None:
        if self._state.totals["failed_projections"]:
            raise ProjectionFailed(
                "a projection did not meet its optimality conditions; a Gram matrix is too ill-conditioned. "
                "Raise the regularization"
            )

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")[:-1]
        steps = int(self._state.regression.visits.sum())
        return f"LRCSSP({inside}, {self.settings.context_size} components, {self.settings.manner}, {steps} steps)"


def _stopped() -> PlanningStopped:
    return PlanningStopped(
        f"value iteration did not settle in {SWEEPS} sweeps; the goal may be out of reach in the optimistic model, or "
        "the loss floor is too small for the distances: raise loss_floor or tolerance"
    )
