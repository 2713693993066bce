"""What all learners by ridge regression share: the sums, the estimate, plans, visits whose outcome is awaited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, LearnerError
from goalbound.estimation import Estimate, Statistics, sharp
from goalbound.estimation.statistics import by_support
from goalbound.jit.records import assign, named_arrays
from goalbound.kernels import algorithm as kernels
from goalbound.kernels import episode_loop
from goalbound.kernels.active_set import new_projection_workspace
from goalbound.kernels.all_pairs import known_pairs
from goalbound.kernels.audit import new_regret_audit
from goalbound.kernels.elimination import EvaluationWorkspace, new_evaluation_workspace
from goalbound.kernels.layout import Rows
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.regression import new_regression_sums
from goalbound.kernels.sparse_policy_iteration import SparseWorkspace, new_sparse_workspace
from goalbound.kernels.state import (
    POSTERIOR,
    EpisodeState,
    LearnerState,
    new_episode_state,
    new_learner_state,
    state_in_use,
)
from goalbound.kernels.value_iteration import INTERVAL_SET, L2_BALL, doubled_beyond
from goalbound.learners.batch import Batch
from goalbound.learners.card import learner_card
from goalbound.learners.checks import check_leads, checked_support
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explanation import Evidence, Explanation, explain, ridge_pull
from goalbound.learners.exploration import Exploration
from goalbound.learners.parking import SHARED
from goalbound.learners.plan import Plan, make_plan
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge_visits import VisitLearner
from goalbound.learners.saved_state import (
    PRIOR_TYPES,
    check_episode_states,
    check_learner_state,
    check_size,
    claim_in_use,
    prior_arrays,
    prior_from,
)
from goalbound.learners.saved_sums import check_sums
from goalbound.learners.settings import Settings
from goalbound.learners.transfer import extended, merge, with_settings
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.models.validation import check_distribution, check_memory, set_readonly
from goalbound.planning import evaluate


class _NoSetsError(LearnerError, AttributeError):
    """A learner was asked for what is made from confidence sets, and has none; so ``hasattr`` is false."""


class _MadeFromSets:
    """A method that learners with confidence sets have; of others it is an error that says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, learner: Any, owner: type | None = None) -> Any:
        if learner is None:
            return self
        raise _NoSetsError(
            f"a {type(learner).__name__} has no confidence sets, and so no {self._name}; use an LRCSSP, which takes "
            "its data by merge(learner)"
        )


class RidgeLearner(VisitLearner):
    """The shared core of :class:`~goalbound.learners.lr_cssp.LRCSSP` and of :mod:`goalbound.learners.ridge`.

    A subclass says how it explores: its settings, and what it draws or chooses itself.
    """

    settings: Settings
    _state: LearnerState
    _loop = episode_loop.play
    _settings_type = Settings
    _given_types = PRIOR_TYPES
    confidence_set = _MadeFromSets()
    policy_bounds = _MadeFromSets()
    robust_plan = _MadeFromSets()

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
        self._init_base(support, settings, rng, counted_early=settings.is_optimistic)
        self.prior = prior
        self._constants = settings.constants(support, prior)
        size = settings.context_size
        check_memory(support.pairs * size**2 + support.triples * size, f"context_size {size}")
        bound = 1.0 if settings.loss_bound is None else float(settings.loss_bound)
        self._state = self._new_state(bound)
        self._scratch = new_projection_workspace(int(np.diff(support.next_start).max()), size)
        self._workspace = self._new_workspace()
        self._effort.engine(support.triples)(kernels.reset_data)(self._constants, self._state)

    def _new_state(self, bound: float) -> LearnerState:
        """Nothing was seen."""
        support, constants = self.support, self._constants
        size, likelihood = self.settings.context_size, constants.likelihood
        return new_learner_state(
            new_regression_sums(support.pairs, support.triples, size, self.settings.regularization),
            support.pair_start,
            constants.loss_floor,
            bound,
            rows=not constants.intervals.on,
            variance=constants.intervals.variance,
            lattice=(len(likelihood.vertices.vertices), len(likelihood.cells.vertices)),
            parts=PARTS * size if constants.tests_linearity else 0,
        )

    def _new_workspace(self) -> EvaluationWorkspace | SparseWorkspace:
        """Room to evaluate policies: by elimination, or by the Krylov method if there are many states and estimates are
        points. Sets are optimistic about the way to the goal, and sweeps converge soon."""
        support, run = self.support, self._effort.engine(self.support.triples)
        if self._constants.policy_iteration or self.settings.is_optimistic:
            return new_evaluation_workspace(support.states if self._constants.policy_iteration else 0)
        rows = Rows(support.pair_start, support.next_start, support.next_state, np.empty(0), np.ones(support.triples))
        return new_sparse_workspace(rows, support.pair_state, run)

    @classmethod
    def _explores(cls, exploration: Exploration) -> bool:
        """Whether a learner of this class explores so."""
        raise NotImplementedError

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> LearnerEpisode:
        """An episode under a context. Many may be open at once; what one observes, the others know.

        Nothing is planned yet. Which interval number an episode has is settled here; which plan, at its first ``act``.
        ``id`` is a name of yours, that no other open episode has: the learner holds the episode until it ends, and
        :meth:`episode` finds it, in checkpoints too.
        """
        weights, id = self._checked_context(context), self._checked_id(id)
        episode_state = self._new_episode_state()
        self._effort.engine(self.support.triples)(kernels.begin)(self._constants, self._state, episode_state, weights)
        return LearnerEpisode(self, episode_state, id=id)

    def plan(self, context: ArrayLike) -> Plan:
        """What the learner would do now under a context. Nothing is changed by looking.

        With ``forget=True``, an ``act`` whose plan exceeds the loss bound forgets the data first; looking does not. A
        learner that samples shows the plan of its estimate.
        """
        weights = self._checked_context(context)
        self._check_projections()
        episode_state = self._new_episode_state()
        run = self._effort.engine(self.support.triples)
        totals = self._state.totals.copy()
        run(kernels.begin)(self._constants, self._state, episode_state, weights)
        assign(self._state.totals, totals)
        if not run(kernels.plan)(self._constants, self._state, episode_state, self._workspace, self.MOST_SWEEPS):
            raise self._stopped()
        optimistic = run(kernels.max_optimistic_value)(self._constants, episode_state)
        if self._constants.doubling:
            progress = episode_state.progress
            progress["loss_bound"] = run(doubled_beyond)(progress["loss_bound"], optimistic)
        return self._shown(episode_state)

    merge = merge
    extended = extended
    with_settings = with_settings

    def _made_alike(self, support: Support, settings: Settings, prior: PriorKnowledge | None) -> Self:
        """A learner of this class that has seen nothing; its generator goes on from where this one's is."""
        learner = object.__new__(type(self))
        learner._set_up(support, settings, prior, deepcopy(self._rng))
        return learner

    def anew(self) -> Self:
        """A learner with these settings that has seen nothing; its generator goes on from where this one's is."""
        return self._made_alike(self.support, self.settings, self.prior)

    def explain(self, context: ArrayLike, state: int | str) -> Explanation:
        """Why the learner would play what its plan plays in a state under a context. Nothing is changed by looking.

        Each action of the state with its estimated loss and next states, what it is worth if the plan is followed
        after it, and how often it was played; with intervals where the learner has confidence sets. A learner that
        samples, or plays at random now and then, is explained by the plan of its estimate.
        """
        weights = self._checked_context(context)
        here = self.support.state(state)
        if here == self.support.states:
            raise ArgumentError("state is the goal; nothing is done there: give one of the states")
        return explain(self._evidence(weights), weights, here)

    def _evidence(self, context: NDArray[np.float64]) -> Evidence:
        """What there is to explain a plan with; a learner with confidence sets adds them."""
        plan, model = self.plan(context), self._estimated(context)
        values = self._estimated_values(model, plan.policy)
        known = plan.known if learner_card(self).has_known_test else None
        pull = ridge_pull(self._state.regression.inverse, context, self.settings.regularization)
        if self.prior is not None:  # guesses are what these estimates are pulled to
            pull[self.prior.guessed | (self.prior.loss_known & self.prior.row_known)] = 0.0
        return Evidence(model, plan.policy, values, self._state.regression.visits, known, pull=pull)

    def _estimated(self, context: NDArray[np.float64]) -> SSP:
        """The projected estimate under a context, with what is known beforehand put in."""
        model = self.estimate.model().at(context)
        if self.prior is None:
            return model
        known = np.repeat(self.prior.row_known, np.diff(self.support.next_start))
        losses = np.where(self.prior.loss_known, np.clip(self.prior.losses @ context, 0.0, 1.0), model.losses)
        rows = np.where(known, self.prior.rows @ context, model.probabilities) if known.any() else model.probabilities
        return SSP(self.support, losses, rows)

    @staticmethod
    def _estimated_values(model: SSP, policy: NDArray[np.int64]) -> NDArray[np.float64]:
        """[S + 1] what a policy loses until the goal in a model; infinite where it does not arrive."""
        found = evaluate(model, policy)
        return set_readonly(np.where(np.isinf(found.hitting_times), np.inf, found.values))

    @property
    def statistics(self) -> Statistics:
        """What was seen so far; it shows what the learner learns, as it learns."""
        learner_state = self._state
        return Statistics.over(
            self.support, learner_state.regression, self.settings.regularization, learner_state.pending,
            holds_guesses=self._constants.model.on,
        )  # fmt: skip

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

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, under contexts it knows."""
        check_leads(self.support, problem)
        if self.prior is not None:
            self.prior.check_problem(problem)
        if context_size != self.settings.context_size:
            raise ArgumentError(f"contexts have {context_size} entries, the learner knows {self.settings.context_size}")

    def _shown(self, episode_state: EpisodeState) -> Plan:
        known = np.zeros(self.support.pairs, dtype=np.bool_)
        self._effort.engine(self.support.triples)(known_pairs)(self._constants, episode_state, known)
        return make_plan(self.support, self._constants, episode_state, known)

    def _new_episode_state(self) -> EpisodeState:
        size, exploration = self.settings.context_size, self.settings.exploration
        shape, forecasts = INTERVAL_SET if self._constants.intervals.on else L2_BALL, self._constants.likelihood.on
        return new_episode_state(
            self.support.pair_start, self.support.next_start, size, shape=shape, ceiling=self._ceiling(),
            sampled=exploration.code == POSTERIOR, forecasts=forecasts,
        )  # fmt: skip

    def _ceiling(self) -> float:
        """No value of a plan is above it."""
        return self.settings.exploration.ceiling

    def _choose(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64] | None) -> int:
        if not episode_state.progress["planned"]:
            self._prepare(episode_state)
        if allowed is None:
            return self._select(episode_state, state)
        return self._select_among(episode_state, state, allowed)

    def _prepare(self, episode_state: EpisodeState) -> None:
        self._check_projections()
        self._draw(episode_state)
        run = self._effort.engine(self.support.triples)(kernels.plan_with_doubling)
        if not run(self._constants, self._state, episode_state, self._workspace, self.MOST_SWEEPS):
            episode_state.progress["planned"] = 0
            raise self._stopped()

    def _draw(self, episode_state: EpisodeState) -> None:
        """What is drawn before a plan."""

    def _select(self, episode_state: EpisodeState, state: int) -> int:
        """The pair to play by a plan."""
        return int(episode_state.iteration.policy[state])

    def _select_among(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64]) -> int:
        """The pair to play by a plan where only some are possible: its own, or else the best of them at its values."""
        planned = int(episode_state.iteration.policy[state])
        if planned in allowed:
            return planned
        return int(self._effort.engine(0)(kernels.best_pair)(episode_state, allowed))

    def _held_plan(self, episode_state: EpisodeState) -> Plan | None:
        return self._shown(episode_state) if episode_state.progress["planned"] else None

    def _checked_context(self, context: Any) -> NDArray[np.float64]:
        return check_distribution(context, "context", self.settings.context_size, "component")

    def _play(self, run: Callable[..., Any], part: Batch) -> int:
        audit = new_regret_audit(self.support.pairs) if part.audit is None else part.audit
        ended: int = run(
            self._constants, self._state, self._scratch_episode, self._scratch, self._workspace, part.environment,
            part.contexts, part.seen, part.values, part.rng, self._rng, part.step_limit, self.MOST_SWEEPS, audit,
            part.results,
        )  # fmt: skip
        return ended

    def _described(self) -> list[str]:
        return [f"{self.settings.context_size} components"]

    @property
    def _steps(self) -> int:
        return int(self._state.regression.visits.sum())

    def _given_arrays(self) -> dict[str, NDArray[Any]]:
        return prior_arrays(self.prior)

    def _state_arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return named_arrays("state", state_in_use(self._state), without=SHARED)

    @classmethod
    def _smallest(cls) -> Self:
        learner, support = object.__new__(cls), Support.full(2, 1)
        learner._set_up(support, Settings.of(1, loss_floor=1.0, widths=sharp()), None, None)
        return learner

    @classmethod
    def _from_file(
        cls, support: Support, settings: Settings, arrays: dict[str, NDArray[Any]], rng: np.random.Generator | None
    ) -> Self:
        if not cls._explores(settings.exploration):
            raise ArgumentError(
                f"the exploration is {settings.exploration.as_json()}, which is not that of a {cls.kind}"
            )
        check_size(arrays, support, settings.context_size)
        learner = object.__new__(cls)
        learner._set_up(support, settings, prior_from(arrays, support, settings.context_size), rng)
        claim_in_use(learner._state, arrays)
        return learner

    def _check_state(self) -> None:
        check_learner_state(self._state, self.support, is_optimistic=self.settings.is_optimistic)
        check_sums(self._state, self._constants, self.support)

    def _check_episode_states(self, states: EpisodeState, awaits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        check_episode_states(states, self.support, awaits)
        planned: NDArray[np.bool_] = states.progress["planned"] != 0
        return planned
