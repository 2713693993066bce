"""Learners by ridge regression: the sums, the plans, the visits, for any room and any rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.linearity import NO_EPISODE
from goalbound.confidence.protocol import Empty, before_visit
from goalbound.confidence.regression import new_regression_sums
from goalbound.errors import ArgumentError, ProjectionFailed
from goalbound.jit.compile import Kernel, Slot
from goalbound.jit.records import assign
from goalbound.learners import loop as kernels
from goalbound.learners.base import LearnerBase
from goalbound.learners.border import in_own_unit
from goalbound.learners.checks import check_leads, check_prior, checked_support
from goalbound.learners.doubling import plan_under_bound, reset_data
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.own_card import SILENT_OVERRIDE, Card, united_caveats
from goalbound.learners.program import Assembly, Program
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.learners.state import EpisodeState, LearnerState, new_episode_state, new_learner_state
from goalbound.learners.visits import (
    StepArrays,
    count_without_outcome,
    learn_steps,
    part_of,
    single_step,
    statistics_of,
)
from goalbound.models import Support
from goalbound.models.validation import check_distribution, check_memory
from goalbound.planning.kernels.elimination import EvaluationWorkspace, new_evaluation_workspace
from goalbound.planning.kernels.value_iteration import doubled_beyond

if TYPE_CHECKING:
    from goalbound import confidence
    from goalbound.confidence import Statistics, Widths
    from goalbound.confidence.protocol import ConfidenceModel
    from goalbound.learners.answers import ModelViolation
    from goalbound.learners.episode_loop import Batch
    from goalbound.learners.explanation import Explanation
    from goalbound.learners.plan import Plan
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.models import BallSet, IntervalSet, LinearCSSP
    from goalbound.planning import PolicyBounds
    from goalbound.planning.kernels.sparse_policy_iteration import SparseWorkspace

FAILED = (
    "a projection did not meet its optimality conditions; a Gram matrix is too ill-conditioned. Raise the "
    "regularization"
)
NO_AUDIT = Empty()
"""In the place of an audit where nobody watches."""


class RidgeLearner(LearnerBase):
    """Learns by ridge regression for each pair, with any confidence model and any exploration rule.

    :class:`~goalbound.LRCSSP` and the learners of :mod:`goalbound.learners.ridge` are this one with rooms of ours;
    a room of your own is passed in ``settings`` (docs/how_to/write_a_room.md).

    Args:
        support: the pairs and where each may lead.
        settings: :meth:`Settings.of <goalbound.learners.settings.Settings.of>`: the confidence model (``widths``), the
            exploration rule (``exploration``), and all numbers.
        prior: what is known, or guessed, of single pairs.
        rng: for rules that draw.
    """

    kind = "RidgeLearner"
    card = Card("ridge_card")
    rules: ClassVar[tuple[type[Any], ...]] = (object,)
    """The exploration rules of this class."""
    settings: Settings
    _state: LearnerState
    _warned = False

    def __init__(
        self,
        support: Support,
        settings: Settings,
        *,
        prior: PriorKnowledge | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        checked_support(support)
        if prior is not None:
            check_prior(prior, support, settings.context_size)
        self._init_base(support, settings, rng, count=self._count_without_outcome if settings.is_optimistic else None)
        self.prior = prior
        size = settings.context_size
        check_memory(support.pairs * size**2 + support.triples * size, f"context_size {size}")
        made = self._assembly = Assembly(settings, support, prior)
        self._constants = made.constants
        self._state = new_learner_state(
            new_regression_sums(
                support.pairs, support.triples, size, settings.regularization, mean=made.constants.pooling.mean
            ),
            support.pair_start,
            loss_floor=made.constants.loss_floor,
            loss_bound=1.0 if settings.loss_bound is None else float(settings.loss_bound),
            sets=made.room.new_state(made.run, made.constants.sets),
            watch=made.new_watch(),
        )
        self._scratch = made.room.new_scratch(made.run)
        self._workspace = self._new_workspace()
        self._run(reset_data)(self._constants, self._state)

    @property
    def _program(self) -> Program:
        return self._assembly.program

    def _run(self, kernel: Kernel | Slot, work: int | None = None) -> Callable[..., Any]:
        """How to run a kernel of the loop, with the slots of this learner filled, for so much work."""
        settled = self._effort.settled.get(kernel)
        if settled is not None:
            return settled
        return self._effort.settle(
            kernel, self._assembly.program[kernel], self.support.triples if work is None else work
        )

    def _new_workspace(self) -> EvaluationWorkspace | SparseWorkspace:
        """Room to evaluate policies."""
        support, eliminates = self.support, self._assembly.eliminates
        if eliminates or self.settings.is_optimistic:
            return new_evaluation_workspace(support.states if eliminates else 0)
        from goalbound.learners.ridge import new_krylov_workspace

        return new_krylov_workspace(support, self._effort.engine(support.triples))

    @classmethod
    def _made(
        cls, support: Support, settings: Settings, prior: PriorKnowledge | None, rng: np.random.Generator | None
    ) -> Self:
        """One of this class with settings that were checked."""
        learner = cls.__new__(cls)
        RidgeLearner.__init__(learner, support, settings, prior=prior, rng=rng)
        return learner

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> LearnerEpisode:
        """An episode under a context. Many may be open at once; what one observes, the others know.

        Nothing is planned yet. Which interval number an episode has is settled here; which plan, at its first ``act``.
        ``id`` is a name of yours, that no other open episode has: the learner holds the episode until it ends, and
        :meth:`episode` finds it, in checkpoints too.
        """
        weights = self._checked_context(context)
        id = None if id is None else self._checked_id(id)
        episode_state = self._new_episode_state()
        self._run(kernels.begin)(self._constants, self._state, episode_state, weights)
        return LearnerEpisode(self, episode_state, id=id)

    @in_own_unit
    def plan(self, context: ArrayLike) -> Plan:
        """What the learner would do now under a context. Nothing is changed by looking.

        With ``forget=True``, an ``act`` whose plan exceeds the loss bound forgets the data first; looking does not. A
        learner that samples shows the plan of its estimate.
        """
        view = self._planned(self._checked_context(context))
        if self._assembly.doubles:
            optimistic = self._run(kernels.max_optimistic_value)(self._constants, view)
            view.progress["loss_bound"] = self._run(doubled_beyond)(view.progress["loss_bound"], optimistic)
        return self._shown(view)

    def _planned(self, context: NDArray[np.float64]) -> EpisodeState:
        """The arrays of an episode that would begin now, with its plan; the learner stays as it is."""
        if self._state.totals["failed_projections"]:
            raise ProjectionFailed(FAILED)
        view = self._new_episode_state()
        totals = self._state.totals.copy()
        self._run(kernels.begin)(self._constants, self._state, view, context)
        assign(self._state.totals, totals)
        if not self._run(kernels.plan)(self._constants, self._state, view, self._workspace, self.MOST_SWEEPS):
            raise self._stopped()
        return view

    def merge(self, other: RidgeLearner) -> None:
        """Add the data of another learner on the same support, of any class and settings; ``other`` stays as it is.

        The sums are those of one learner that saw all steps. Each step must count once: a copy, or a learner loaded
        from the same file, shares its past. From then on the sets hold with probability 1 - delta, if neither learner
        chose by what only the other saw later, and ``other`` was not selected by its outcomes. Its data counts in the
        intervals of the sums alone: likelihoods go on for this learner's steps, and in pairs that ``other`` visited
        each visit so far counts with the largest variance there is. For tight sets of all data, learn both logs again
        in one learner. Open episodes of this learner plan anew.

        A learner without confidence sets does not count visits whose outcome was lost (``abandon``, ``moved_to``): sets
        made from its data hold if there was none, or if outcomes were missing at random.

        >>> from goalbound import LRCSSP, Step, Support
        >>> here, there = (LRCSSP(Support.full(2, 2), 2, loss_floor=0.1) for _ in range(2))
        >>> here.learn([0.3, 0.7], Step(0, 1, 0.5, 1))
        >>> there.learn([0.6, 0.4], Step(0, 1, 0.25, 2))
        >>> here.merge(there)
        >>> here.statistics.visits
        array([0, 2, 0, 0])
        """
        from goalbound.learners import transfer

        transfer.merge(self, other)

    def extended(self, support: Support) -> Self:
        """A new learner on a larger support, with the sums of this one; this one stays as it is.

        The support may have new states, new actions, and new next states of old pairs; it has all that the old one has,
        by names where both have names, else by numbers. Settings, prior knowledge and :attr:`caveats` stay. A
        ``loss_bound`` that was given must hold for the new states too. From then on the sets hold with probability 1 -
        delta. What makes them tight begins anew: likelihoods and the test of the linear model with the next step, and
        each visit so far counts with the largest variance there is. To have them tight, learn the log again.

        Next states that are new for a pair were followed by none of its steps so far. That is right if they were
        possible and never came. It is wrong if they could not come before (the world has changed), and if steps into
        them were refused: learn those right after this.

        >>> from goalbound import LRCSSP, Step, Support
        >>> learner = LRCSSP(Support.from_pairs([{0: [0, 1]}]), 2, loss_floor=0.1)
        >>> learner.learn([0.3, 0.7], Step(0, 0, 0.5, 1))
        >>> larger = learner.extended(Support.from_pairs([{0: [0, 1, 2], 1: [2]}, {0: [0, 2]}]))
        >>> larger.statistics.visits, larger.estimate.model().at([0.3, 0.7]).support.states
        (array([1, 0, 0]), 2)
        """
        from goalbound.learners import transfer

        return transfer.extended(self, support)

    def with_settings(
        self,
        *,
        loss_floor: float | EllipsisType = ...,
        loss_bound: float | EllipsisType | None = ...,
        widths: Widths | ConfidenceModel | EllipsisType = ...,
        delta: float | EllipsisType = ...,
        prior: PriorKnowledge | EllipsisType | None = ...,
        options: LearnerOptions | EllipsisType = ...,
    ) -> Self:
        """A new learner of the same class with the sums of this one, under other settings; what is left out stays as it
        is, and so does this one.

        From then on the sets hold with probability 1 - delta, if the settings do not depend on the outcomes: a
        ``delta``, a rule of the widths or a prior that was chosen because of what was seen is a selection. What makes
        sets tight begins anew, as in :meth:`extended`, also where no setting changes; to have them tight, learn the log
        again. A loss bound that was found by doubling stays, and so does an alarm, unless it is about a declaration
        that changes. Settings of learners with ``forget=True``, and ``forget`` itself, cannot be changed.

        >>> from goalbound import LRCSSP, Step, Support, widths
        >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
        >>> learner.learn([0.3, 0.7], Step(0, 1, 0.5, 1))
        >>> sharp = learner.with_settings(widths=widths.sharp(), delta=0.05)
        >>> print(sharp.settings.widths, sharp.settings.delta, sharp.statistics.visits)
        sharp 0.05 [0 1 0 0]
        """
        from goalbound.learners import transfer

        given = {
            "loss_floor": loss_floor,
            "loss_bound": loss_bound,
            "widths": widths,
            "delta": delta,
            "prior": prior,
            "options": options,
        }
        return transfer.with_settings(self, {name: value for name, value in given.items() if value is not ...})

    def _made_alike(self, support: Support, settings: Settings, prior: PriorKnowledge | None) -> Self:
        """A learner of this class that has seen nothing; its generator goes on from where this one's is."""
        learner = self._made(support, settings, prior, deepcopy(self._rng))
        learner._take_unit(self)
        return learner

    def anew(self) -> Self:
        """A learner with these settings that has seen nothing; its generator goes on from where this one's is."""
        return self._made_alike(self.support, self.settings, self.prior)

    @in_own_unit
    def explain(self, context: ArrayLike, state: int | str) -> Explanation:
        """Why the learner would play what its plan plays in a state under a context. Nothing is changed by looking.

        Each action of the state with its estimated loss and next states, what it is worth if the plan is followed
        after it, and how often it was played; with intervals where the learner has confidence sets. A learner that
        samples, or plays at random now and then, is explained by the plan of its estimate.
        """
        from goalbound.learners.answers import explanation_of

        return explanation_of(self, self._checked_context(context), state)

    @property
    def has_sets(self) -> bool:
        """Whether it has confidence sets, and so what is made from them."""
        return self.settings.is_optimistic

    def confidence_set(self, context: ArrayLike) -> BallSet | IntervalSet:
        """The losses and rows that are plausible under a context, as plans take them: balls, or intervals.

        Balls are those of :func:`goalbound.widths.paper` and its scales. Intervals are those of ``likelihood()`` and
        ``sharp()``; both ends of an interval are those of rows that sum to 1: what the others leave is cut off. Plans
        need not do so, as their rows sum to 1 anyway. Nothing is changed by this.

        :func:`goalbound.extended_value_iteration` plans in either.
        """
        from goalbound.learners.answers import confidence_set_of

        return confidence_set_of(self, self._checked_context(context))

    @in_own_unit
    def policy_bounds(self, context: ArrayLike, policy: ArrayLike | Mapping[Any, Any] | None = None) -> PolicyBounds:
        """What a policy loses under a context: at least, by the estimate, and at most. Nothing is changed by this.

        Args:
            context: [d].
            policy: an action for each state, by numbers or names (:func:`goalbound.policy_bounds`); None: that of
                :meth:`plan`, whose episodes may change it as they learn.

        ``lower`` and ``upper`` are the least and the largest loss in the models of :meth:`confidence_set`. With
        probability 1 - delta the sets of all pairs hold the truth at all times and under all contexts at once; then all
        bounds of all policies hold, however the policy and the context were chosen, the data included. Where the widths
        are not proven, what was seen contradicts the model (:attr:`alarm`), or the data cannot prove anything
        (:attr:`caveats`), ``proven`` is false. What the zero-loss variant adds to losses is not in these numbers.
        ``estimate`` is the value in the projected estimate, with what is known beforehand put in; nothing is promised
        of it.
        """
        from goalbound.learners.answers import policy_bounds_of

        return policy_bounds_of(self, self._checked_context(context), policy)

    @in_own_unit
    def robust_plan(self, context: ArrayLike) -> PolicyBounds:
        """The policy that loses least in the worst plausible model of a context, and its bounds as in
        :meth:`policy_bounds`. Nothing is changed by this, and episodes do not play it: they plan optimistically.

        States from which no policy arrives surely in all plausible models are in ``may_never_arrive``; their upper
        bounds are infinite (:func:`goalbound.planning.robust_plan`).
        """
        from goalbound.learners.answers import robust_plan_of

        return robust_plan_of(self, self._checked_context(context))

    @property
    def statistics(self) -> Statistics:
        """What was seen so far; it shows what the learner learns, as it learns."""
        return statistics_of(self)

    @property
    def estimate(self) -> confidence.Estimate:
        """The projected estimate; ``estimate.model()`` is a problem. It is around the model of the prior, if there is
        one; confidence sets are not (:mod:`goalbound.confidence.declared`)."""
        from goalbound.learners.answers import estimate_of

        return estimate_of(self)

    @property
    def loss_bound(self) -> float:
        """B: as given, or as far as doubling has come."""
        return float(self._state.totals["loss_bound"])

    @property
    def alarm(self) -> ModelViolation | None:
        """What first contradicted the linear model, or what was declared; None while nothing has."""
        from goalbound.learners.answers import violation_of

        return violation_of(self) if self._state.watch.violation["found"] else None

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

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, under contexts it knows."""
        check_leads(self.support, problem)
        if self.prior is not None:
            self.prior.check_problem(problem)
        if context_size != self.settings.context_size:
            raise ArgumentError(f"contexts have {context_size} entries, the learner knows {self.settings.context_size}")

    def _known_pairs(self, view: EpisodeState) -> NDArray[np.bool_]:
        """[N] which pairs are known, by the sets of a view."""
        known = np.zeros(self.support.pairs, dtype=np.bool_)
        self._run(kernels.known_pairs)(self._constants, self._state, view, known)
        return known

    def _shown(self, view: EpisodeState) -> Plan:
        from goalbound.learners.plan import make_plan

        return make_plan(self.support, self._constants, view, self._known_pairs(view))

    def _new_episode_state(self) -> EpisodeState:
        made = self._assembly
        return new_episode_state(
            self.support.pair_start,
            self.support.next_start,
            self.settings.context_size,
            shape=made.room.shape,
            ceiling=made.ceiling,
            room=made.room.new_view(made.run),
            explore=self.settings.exploration.new_view(made.run),
        )

    # How it plays.

    @cached_property
    def _scratch_episode(self) -> EpisodeState:
        """The arrays of an episode, for what has none of its own: episodes that are played in one go, single steps."""
        return self._new_episode_state()

    @property
    def _work_of_step(self) -> int:
        return super()._work_of_step * self._assembly.room.plan_work()

    @cached_property
    def _step_work(self) -> int:
        """What learning from a step costs as Python, in backups of a triple: regressions of m next states, O(m d^2),
        and as much again for each of a few rounds of the projection."""
        longest = self.support.triples / self.support.pairs
        more = self._assembly.room.step_work(self._constants.sets)
        return int(longest * (1.0 + self.settings.context_size**2 / 5.0 + more))

    def _choose(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64] | None) -> int:
        rule = self.settings.exploration
        if not episode_state.progress["planned"]:  # line 25
            if self._state.totals["failed_projections"]:
                raise ProjectionFailed(FAILED)
            if rule.draws:
                rule.draw(self, episode_state)
            plan = self._run(plan_under_bound)
            if not plan(self._constants, self._state, episode_state, self._workspace, self.MOST_SWEEPS):
                episode_state.progress["planned"] = 0
                raise self._stopped()
        if allowed is None:
            return rule.select(self, episode_state, state)
        return rule.select_among(self, episode_state, state, allowed)

    def best_pair(self, view: EpisodeState, pairs: NDArray[np.int64]) -> int:
        """Of some pairs the one with the least backup at the values of the plan of a view."""
        return int(self._effort.engine(0)(kernels.best_pair)(view, pairs))

    def _held_plan(self, episode_state: EpisodeState) -> Plan | None:
        return self._shown(episode_state) if episode_state.progress["planned"] else None

    def _checked_context(self, context: Any) -> NDArray[np.float64]:
        return check_distribution(context, "context", self.settings.context_size, "component")

    def _before_visit(self, episode: LearnerEpisode, pair: int) -> None:
        episode._progress["restarts"] = self._state.totals["restarts"]
        self._note_known(episode)
        self._run(before_visit, 0)(self._constants, self._state, episode._arrays, pair)

    def _count_without_outcome(self, episode: LearnerEpisode) -> None:
        run = self._run(count_without_outcome)
        run(self._constants, self._state, episode._arrays, self._scratch, episode._pair)

    def _learn_steps(self, steps: StepArrays, *, number: int = NO_EPISODE) -> None:
        """Visits of a pair whose outcome is awaited were made before, so they count first. ``number`` is that of the
        episode, for the test of the linear model."""
        self._scratch_episode.progress["number"] = number
        waiting = set(self._visits.uncounted_pairs)
        first = 0
        for at in np.flatnonzero(np.isin(steps.pairs, list(waiting))).tolist() if waiting else ():
            pair = int(steps.pairs[at])
            if pair in waiting:
                self._enter(part_of(steps, first, at))
                self._visits.count_before(pair)
                waiting.discard(pair)
                first = at
        self._enter(part_of(steps, first, len(steps.pairs)) if first else steps)

    def _enter(self, steps: StepArrays) -> None:
        run = self._run(learn_steps, len(steps.pairs) * self._step_work)
        run(self._constants, self._state, self._scratch_episode, self._scratch, steps)

    def _observe(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        self._visits.count_before(pair, episode)
        run = self._run(kernels.observe, self._step_work)
        run(self._constants, self._state, episode._arrays, self._scratch, pair, place, loss)
        self._note_known(episode)

    def _note_known(self, episode: LearnerEpisode) -> None:
        episode._progress["changes_known"] = self._state.totals["changes"]

    def _override(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        """Such a step counts where it would have counted had it been said to begin if nothing was learned since the
        episode acted, and no other open one may hide a step that began before. Else nothing is proven from now on."""
        learned = episode._progress["changes_known"] != self._state.totals["changes"]
        late = learned or any(one is not episode and not one.ended for one in self._open)
        if late and self.settings.is_optimistic:
            self._caveats = united_caveats(self._caveats, (SILENT_OVERRIDE,))
        self._learn_steps(single_step(episode._context, pair, place, loss), number=int(episode._progress["number"]))
        self._run(kernels.leave_plan, 0)(self._constants, self._state, episode._arrays, pair)
        self._note_known(episode)

    def _after_learning(self) -> None:
        """Check projections, and warn the first time that outcomes contradict the model."""
        if self._state.totals["failed_projections"]:
            raise ProjectionFailed(FAILED)
        if not self._warned and self._state.watch.violation["found"] and (alarm := self.alarm) is not None:
            self._warned = True
            warnings.warn(str(alarm), alarm.cause.warning, stacklevel=3)

    def _before_playing(self, batch: Batch) -> None:
        for pair in self._visits.uncounted_pairs:
            self._visits.count_before(pair)

    def _play(self, run: Callable[..., Any], part: Batch) -> int:
        own = self._constants, self._state, self._scratch_episode, self._scratch, self._workspace
        world = part.environment, part.contexts, part.seen, part.values, part.rng
        audit = NO_AUDIT if part.audit is None else part.audit
        ended: int = run(*own, *world, self._rng, part.step_limit, self.MOST_SWEEPS, audit, part.results)
        return ended

    def _loop_of(self, batch: Batch) -> Kernel:
        from goalbound.learners.episode_loop import play

        return (self._assembly.unwatched if batch.audit is None else self._assembly.audited)[play]

    def _described(self) -> list[str]:
        described = [f"{self.settings.context_size} components", *self.settings.exploration.describe()]
        return [*described, f"{self.settings.widths} widths"] if self.has_sets else described

    @property
    def _steps(self) -> int:
        return int(self._state.regression.visits.sum())

    # What of it is in a file.

    @property
    def _rooms(self) -> tuple[Any, ...]:
        return self.settings.widths, self.settings.exploration

    @classmethod
    def _settings_from(cls, values: dict[str, Any], rooms: Iterable[Any]) -> Settings:
        return Settings.from_json(values, rooms)

    def _given_arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.prior is None else self.prior.arrays()

    def _state_in_file(self) -> LearnerState:
        return self._state._replace(sets=self._assembly.room.state_in_use(self._state.sets))

    @classmethod
    def _from_file(
        cls,
        support: Support,
        settings: Settings,
        arrays: Mapping[str, NDArray[Any]],
        rng: np.random.Generator | None,
    ) -> Self:
        from goalbound.learners.file_checks import check_size
        from goalbound.learners.prior import PriorKnowledge

        if not isinstance(settings.exploration, cls.rules):
            raise ArgumentError(
                f"the exploration is {settings.exploration.as_json()}, which is not that of a {cls.kind}"
            )
        check_size(arrays, support, settings.context_size)
        prior = PriorKnowledge.from_arrays(arrays, support, settings.context_size)
        learner = cls._made(support, settings, prior, rng)
        learner._assembly.room.claim(learner._state.sets, arrays)
        return learner

    def _check_state(self) -> None:
        from goalbound.learners.file_checks import check_learner_state

        check_learner_state(self)

    def _check_episode_states(self, states: EpisodeState, awaits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        from goalbound.learners.file_checks import check_episode_states

        check_episode_states(states, self.support, awaits, int(self._state.totals["changes"]))
        self._assembly.room.check_views(states.room)
        self.settings.exploration.check_views(states.explore)
        planned: NDArray[np.bool_] = states.progress["planned"] != 0
        return planned
