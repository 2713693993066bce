"""The learner without contexts, of which the methods of the literature are cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.baselines import loop
from goalbound.baselines.planning import replan
from goalbound.baselines.protocol import chosen_pair, draw_model, kernel_of
from goalbound.baselines.saved_state import check_episode_states, check_learner_state, check_size
from goalbound.baselines.settings import Method, TabularOptions, TabularSettings, checked_losses
from goalbound.baselines.state import EpisodeState, LearnerState, copied, new_episode_state, new_learner_state
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.jit.compile import Kernel, Slot
from goalbound.learners.base import LearnerBase
from goalbound.learners.border import in_own_unit
from goalbound.learners.card import NOTHING, PROVEN, UNPROVEN, LearnerCard
from goalbound.learners.checks import check_context_free, check_leads, checked_support
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.episode_loop import Batch
from goalbound.learners.own_card import Card
from goalbound.learners.plan import Plan
from goalbound.learners.visits import StepArrays
from goalbound.models import LinearCSSP, Support
from goalbound.models.files.ranges import matching
from goalbound.models.validation import check_type, set_readonly
from goalbound.planning.extended_value_iteration import value_bounds


def tabular_card(learner: Any) -> LearnerCard:
    """The card of a context-free learner. The papers prove their constants as they are, and not larger ones."""
    method = learner.settings.method
    proven = method.scale == 1.0 and not learner.caveats
    return LearnerCard(
        sees=NOTHING,
        has_known_test=method.room.known_after is not None,
        guarantee=PROVEN if proven else UNPROVEN,
        theorem=method.room.source if proven else "",
        quantity=method.room.quantity,
        constants="its paper",
        scale=method.scale,
        delta=learner.settings.delta,
        caveats=learner.caveats,
    )


class TabularLearner(LearnerBase):
    """Learns to reach the goal at least loss where every episode is the same problem.

    Args:
        support: the pairs and where each may lead; :meth:`Support.full` if nothing is known.
        method: what it does. The functions ``uc_ssp(support, ...)``, ``eb_ssp(support, ...)``, ... of
            :mod:`goalbound.baselines.factories`, where guarantees and sources stand, make a learner of each.
        loss_floor: a lower bound of all mean losses.
        rng: what PSRL-SSP draws from; the others draw nothing. Fresh entropy if left out.
        options: what seldom needs to be changed, :class:`TabularOptions`.

    A step costs O(1) beside planning; only pairs visited since the last plan are looked at again. Memory is O(M),
    O(H S) more for ULCVI, and O(S) for each open episode. A learner is for one thread at a time.

    >>> from goalbound import Step, Support
    >>> from goalbound.baselines import bernstein_ssp
    >>> learner = bernstein_ssp(Support.full(2, 2), loss_floor=0.1)
    >>> episode = learner.begin([1.0])
    >>> action = episode.act(0)
    >>> episode.observe(Step(0, action, 0.5, 2))
    >>> episode.ended, learner.visits
    (True, array([1, 0, 0, 0]))
    """

    kind = "TabularLearner"
    card = Card(tabular_card)
    settings: TabularSettings
    _state: LearnerState
    _settings_type = TabularSettings

    def __init__(
        self,
        support: Support,
        method: Method,
        *,
        loss_floor: float,
        rng: np.random.Generator | None = None,
        options: TabularOptions | None = None,
    ) -> None:
        checked_support(support)
        chosen = TabularOptions() if options is None else options
        check_type(chosen, TabularOptions, "options", "give TabularOptions(...), or leave it out")
        known = chosen.known_losses
        settings = TabularSettings(
            method, chosen.delta, loss_floor, chosen.added_loss, chosen.tolerance, known is not None
        )
        self.known_losses = None if known is None else checked_losses(known, support, loss_floor)
        self._init_base(support, settings, rng)
        self._constants = settings.constants(support, self.known_losses)
        ceiling = np.inf if method.value_cap is None else float(method.value_cap)
        self._state = new_learner_state(self._constants, shape=method.room.shape, ceiling=ceiling)
        self._arrays = self._new_episode_state()

    @property
    def method(self) -> Method:
        """What the learner does."""
        return self.settings.method

    @property
    def visits(self) -> NDArray[np.int64]:
        """[N] how often each pair was played; it shows what the learner learns, as it learns."""
        visits = self._state.counts.visits.view()
        visits.flags.writeable = False
        return visits

    @property
    def loss_bound(self) -> float | None:
        """B: as given, or as far as doubling has come; None if the method has none."""
        if "loss_bound" not in (*self.method.room.needs, *self.method.room.defaults):
            return None
        return float(self._state.totals["loss_bound"])

    def begin(self, context: ArrayLike = (1.0,), *, id: str | int | None = None) -> LearnerEpisode:
        """An episode. Many may be open at once; what one observes, the others know. Nothing is planned yet.

        The context is the single number 1.0: there is none. ``id`` is a name of yours, that no other open episode has:
        the learner holds the episode until it ends, and :meth:`episode` finds it, in checkpoints too.
        """
        check_context_free(context)
        id = self._checked_id(id)
        episode_state = self._new_episode_state()
        loop.begin.python(self._state, episode_state)
        return LearnerEpisode(self, episode_state, id=id)

    @in_own_unit
    def plan(self, context: ArrayLike = (1.0,)) -> Plan:
        """What the learner would do now, were an episode to begin. Nothing is changed by looking, and nothing drawn.

        UC-SSP: the plan of a first attempt; ULCVI: that of the first step of an interval; PSRL-SSP: the plan in the
        mean of the posterior.
        """
        check_context_free(context)
        learner_state = self._state
        if self.method.room.looks_again or learner_state.totals["stale"]:
            learner_state = copied(learner_state)
            self._plan_in(learner_state)
        iteration = learner_state.main.iteration
        values = iteration.values.copy()
        if self.method.room.positive_losses:
            values, _ = value_bounds(values, float(iteration.progress["residual"]), self._constants.floor)
        return Plan(
            self.support,
            set_readonly(np.ones(1)),
            set_readonly(self.support.pair_action[iteration.policy].astype(np.int64)),
            set_readonly(values),
        )

    def _plan_in(self, learner_state: LearnerState) -> None:
        run = self._effort.engine(self.support.triples)
        mean_model = self.method.room.mean_model
        if mean_model is not None:
            run(mean_model)(self._constants, learner_state)
            ended = run(self._kernel(replan))(
                self._constants, learner_state, learner_state.main, self._constants.tolerance, self.MOST_SWEEPS
            )
        else:
            episode_state = self._new_episode_state()
            loop.begin.python(learner_state, episode_state)
            ended = run(self._kernel(loop.plan_episode))(
                self._constants, learner_state, episode_state, self.MOST_SWEEPS
            )
        if not ended:
            raise self._stopped()

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the problem has the learner's pairs and leads only where it may, and shows no context."""
        if context_size != 1:
            check_context_free(np.full(context_size, 1.0 / context_size))
        check_leads(self.support, problem)

    def _kernel(self, kernel: Kernel) -> Kernel:
        """A kernel of the loop with the slots of the method filled."""
        return kernel_of(kernel, self.method.name)

    def _slot(self, slot: Slot) -> Kernel:
        """What fills a slot."""
        return self._kernel({**loop.DEFAULTS, **self.method.room.filling}[slot])

    def _loop_of(self, batch: Batch) -> Kernel:
        return self._kernel(loop.play)

    def _new_episode_state(self) -> EpisodeState:
        return new_episode_state(self.support.states)

    def _choose(self, episode_state: EpisodeState, state: int, allowed: NDArray[np.int64] | None) -> int:
        """What is done in a few operations is done as Python: calls cost more."""
        constants, learner_state = self._constants, self._state
        if not self._kernel(loop.plan_is_valid).python(constants, learner_state, episode_state, state):
            run = self._effort.engine(self.support.triples)
            if self.settings.draws:
                run(self._slot(draw_model))(constants, learner_state, self._rng)
            before = self._sweeps
            ended = run(self._kernel(loop.plan_episode))(constants, learner_state, episode_state, self.MOST_SWEEPS)
            self._effort.spent += (self._sweeps - before) * self.support.triples
            if not ended:
                raise self._stopped()
        planned = int(self._slot(chosen_pair).python(constants, learner_state, episode_state, state))
        if allowed is None or planned in allowed:
            return planned
        return int(self._kernel(loop.best_pair).python(constants, learner_state, episode_state, allowed))

    def _observe(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        self._kernel(loop.observe).python(self._constants, self._state, episode._arrays, pair, place, loss)

    def _override(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        arrived = self.support.next_state[place] == self.support.states
        self._kernel(loop.learn_step).python(self._constants, self._state, pair, place, loss, arrived)
        episode._arrays.progress["steps"] += 1  # of the interval, whoever took it

    def _checked_context(self, context: Any) -> NDArray[np.float64]:
        check_context_free(context)
        return np.ones(1)

    def _learn_steps(self, steps: StepArrays) -> None:
        self._effort.engine(len(steps.pairs))(self._kernel(loop.learn_steps))(self._constants, self._state, steps)

    def _before_playing(self, batch: Batch) -> None:
        for context in np.unique(batch.seen, axis=0):
            check_context_free(context)
        if batch.audit is not None:
            raise ArgumentError("a learner without contexts has no confidence sets to audit; audit an LRCSSP")

    def _play(self, run: Callable[..., Any], part: Batch) -> int:
        before = self._sweeps
        ended: int = run(
            self._constants, self._state, self._arrays, part.environment, part.contexts, part.values, part.rng,
            self._rng, part.step_limit, self.MOST_SWEEPS, part.results,
        )  # fmt: skip
        self._effort.spent += (self._sweeps - before) * self.support.triples
        return ended

    @property
    def _sweeps(self) -> int:
        """The sweeps of value iteration made so far."""
        return int(self._state.totals["sweeps"])

    @property
    def _steps(self) -> int:
        return int(self.visits.sum())

    def _described(self) -> list[str]:
        return [str(self.method)]

    def anew(self) -> Self:
        """A learner with these settings that has seen nothing; its generator goes on from where this one's is."""
        settings = self.settings
        options = TabularOptions(settings.delta, settings.added_loss, self.known_losses, settings.tolerance)
        learner = type(self)(
            self.support, self.method, loss_floor=settings.loss_floor, rng=deepcopy(self._rng), options=options
        )
        learner._take_unit(self)
        return learner

    def _given_arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.known_losses is None else {"known_losses": self.known_losses}

    @classmethod
    def _from_file(
        cls,
        support: Support,
        settings: TabularSettings,
        arrays: Mapping[str, NDArray[Any]],
        rng: np.random.Generator | None,
    ) -> Self:
        if settings.losses_are_known != ("known_losses" in arrays):
            raise FileFormatError("settings and known_losses do not say the same of whether losses are known")
        check_size(arrays, support, settings)
        known = None
        if settings.losses_are_known:
            known = matching(arrays, "known_losses", (support.pairs,), np.float64)
        options = TabularOptions(settings.delta, settings.added_loss, known, settings.tolerance)
        return cls(support, settings.method, loss_floor=settings.loss_floor, rng=rng, options=options)

    def _check_state(self) -> None:
        check_learner_state(self._state, self.support)

    def _check_episode_states(self, states: EpisodeState, awaits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        check_episode_states(states, self._state, self.support)
        planned: NDArray[np.bool_] = states.progress["plan"] != 0
        return planned
