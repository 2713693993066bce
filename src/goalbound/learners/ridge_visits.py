"""What learners by ridge regression learn from a visit of a pair, and when: outcomes that come late, steps that others
chose, outcomes that never come."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ProjectionFailed
from goalbound.kernels import algorithm as kernels
from goalbound.kernels.active_set import ProjectionWorkspace
from goalbound.kernels.forecasts import make_forecasts
from goalbound.kernels.linearity_test import NO_EPISODE
from goalbound.kernels.state import Constants, EpisodeState, LearnerState
from goalbound.kernels.steps import StepArrays, learn_steps
from goalbound.learners.base import LearnerBase
from goalbound.learners.batch import Batch
from goalbound.learners.caveats import SILENT_OVERRIDE, united_caveats
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import Settings
from goalbound.learners.step_log import part_of, single_step


class VisitLearner(LearnerBase):
    """Learns from visits; :class:`~goalbound.learners.core.RidgeLearner` sets the attributes below."""

    settings: Settings
    prior: PriorKnowledge | None
    _constants: Constants
    _state: LearnerState
    _scratch: ProjectionWorkspace

    @cached_property
    def _scratch_episode(self) -> EpisodeState:
        """The arrays of an episode, for what has none of its own: episodes that are played in one go, single steps."""
        return self._new_episode_state()

    def _new_episode_state(self) -> EpisodeState:
        raise NotImplementedError

    def _await_outcome(self, episode: LearnerEpisode, pair: int) -> None:
        episode._arrays.progress["restarts"] = self._state.totals["restarts"]
        if self._constants.likelihood.on:
            self._effort.engine(0)(make_forecasts)(self._constants, self._state, episode._arrays, pair)
        super()._await_outcome(episode, pair)

    def _count_visits_before(self, pair: int, last: LearnerEpisode | None) -> None:
        """Visits of a pair that were made before that of ``last`` (None: all) count from now on, outcome or not."""
        for episode in self._pending.take_uncounted(pair, last):
            run = self._effort.engine(self.support.triples)(kernels.keep_pending)
            run(self._constants, self._state, episode._arrays, self._scratch, episode._pair)

    def _check_possible(self, pair: int, place: int, context: NDArray[np.float64]) -> None:
        if self.prior is not None:
            self.prior.check_step(pair, place, context)

    def _pairs_with_declared_rows(self) -> NDArray[np.bool_] | None:
        return self.prior.row_known if self.prior is not None and self.prior.row_known.any() else None

    def _learn_steps(self, steps: StepArrays, *, number: int = NO_EPISODE) -> None:
        """Visits of a pair whose outcome is awaited were made before, so they count first. ``number`` is that of the
        episode, for the test of the linear model."""
        self._scratch_episode.progress["number"] = number
        waiting = set(self._pending.uncounted_pairs)
        first = 0
        for at in np.flatnonzero(np.isin(steps.pairs, list(waiting))).tolist() if waiting else ():
            pair = int(steps.pairs[at])
            if pair in waiting:
                self._enter(part_of(steps, first, at))
                self._count_visits_before(pair, None)
                waiting.discard(pair)
                first = at
        self._enter(part_of(steps, first, len(steps.pairs)) if first else steps)

    @cached_property
    def _step_work(self) -> int:
        """What learning from a step costs as Python, in backups of a triple: regressions of m next states, O(m d^2),
        and as much again for each of a few rounds of the projection."""
        longest = self.support.triples / self.support.pairs
        likelihood = self._constants.likelihood
        bounds = len(likelihood.vertices.vertices) * len(
            likelihood.cells.vertices
        )  # now and then all of a pair are computed again
        return int(longest * (1.0 + self.settings.context_size**2 / 5.0 + bounds))

    def _enter(self, steps: StepArrays) -> None:
        run = self._effort.engine(len(steps.pairs) * self._step_work)(learn_steps)
        run(self._constants, self._state, self._scratch_episode, self._scratch, steps)

    def _observe(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        self._count_visits_before(pair, episode)
        run = self._effort.engine(self._step_work)(kernels.observe)
        run(self._constants, self._state, episode._arrays, self._scratch, pair, place, loss)
        self._pending.remove(episode)

    def _note_known(self, episode: LearnerEpisode) -> None:
        if self.settings.is_optimistic:
            episode._progress["changes_known"] = self._state.totals["changes"]

    def _is_in_order(self, episode: LearnerEpisode) -> bool:
        """Whether a step that is reported only now would have counted at the same place had it been said to begin:
        nothing was learned since the episode acted, and no other open one may hide a step that began before."""
        alone = all(one is episode or one.ended for one in self._open)
        return alone and bool(episode._progress["changes_known"] == self._state.totals["changes"])

    def _override(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        if self.settings.is_optimistic and not self._is_in_order(episode):
            self._caveats = united_caveats(self._caveats, (SILENT_OVERRIDE,))
        self._learn_steps(single_step(episode._context, pair, place, loss), number=int(episode._progress["number"]))
        self._effort.engine(0)(kernels.leave_plan)(self._constants, self._state, episode._arrays, pair)

    def _abandon(self, episode: LearnerEpisode, missing_at_random: bool) -> None:
        if self.settings.is_optimistic and not missing_at_random:
            self._count_visits_before(episode._pair, episode)
            run = self._effort.engine(self.support.triples)(kernels.keep_pending)
            run(self._constants, self._state, episode._arrays, self._scratch, episode._pair)
        episode._progress["counted"] = 0  # of the visit that the episode makes next
        super()._abandon(episode, missing_at_random)

    def _after_learning(self) -> None:
        self._check_projections()

    def _check_projections(self) -> None:
        if self._state.totals["failed_projections"]:
            raise ProjectionFailed(
                "a projection did not meet its optimality conditions; a Gram matrix is too ill-conditioned. "
                "Raise the regularization"
            )

    def _before_playing(self, batch: Batch) -> None:
        for pair in self._pending.uncounted_pairs:
            self._count_visits_before(pair, None)
