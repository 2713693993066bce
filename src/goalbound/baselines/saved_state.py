"""What was read from the checkpoint of a context-free learner fits together: no number that kernels use as an index is
out of range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.baselines.settings import TabularSettings
from goalbound.baselines.state import EpisodeState, LearnerState, PlanningModel, VisitCounts
from goalbound.errors import FileFormatError
from goalbound.models import Support
from goalbound.models.files.ranges import LARGEST, MANY, within, within_record

_TABLE = "state.workspace.table"


def check_size(arrays: Mapping[str, NDArray[Any]], support: Support, settings: TabularSettings) -> None:
    """The largest array is there, so that a header alone cannot claim memory."""
    shape = (settings.method.horizon, support.states)
    if _TABLE not in arrays or arrays[_TABLE].shape != shape:
        raise FileFormatError(f"{_TABLE} is missing or not of shape {shape}, as support and method ask")


def check_learner_state(learner_state: LearnerState, support: Support) -> None:
    """The arrays of a learner, each for itself and together."""
    lengths = np.diff(support.next_start)
    sets = learner_state.main.sets
    _check_counts(learner_state.counts, support)
    within("visits_used", learner_state.visits_used, 0, learner_state.counts.visits)
    within("used", sets.used, 0, lengths)
    within("state", sets.state, 0, support.states)
    within("centre", sets.centre, 0.0, 1.0)
    for name in ("ball", "mass", "losses"):
        within(name, getattr(sets, name), 0.0, LARGEST)
    within_record("totals", learner_state.totals, loss_bound=(1.0, LARGEST))
    if learner_state.totals["plans"] > 0:
        within("table", learner_state.workspace.table, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("losses of the unit model", learner_state.unit.sets.losses, 1.0, 1.0)
    for model in (learner_state.main, learner_state.unit):
        _check_model(model, support)


def _check_counts(counts: VisitCounts, support: Support) -> None:
    """Visits are as many as next states came; next states seen are numbered from 0 on, one for each next state seen."""
    lengths = np.diff(support.next_start)
    within("visits", counts.visits, 0, MANY)
    within("goals", counts.goals, 0, counts.visits)
    within("loss_sums", counts.loss_sums, 0.0, counts.visits)
    within("square_sums", counts.square_sums, 0.0, counts.visits)
    within("seen", counts.seen, 0, lengths)
    within("seen_index", counts.seen_index, -1, np.repeat(counts.seen, lengths) - 1)
    taken = np.flatnonzero(counts.seen_index >= 0)
    pair = np.searchsorted(support.next_start, taken, side="right") - 1
    place = support.next_start[pair] + counts.seen_index[taken]
    within("seen", counts.seen, *[np.bincount(pair, minlength=support.pairs)] * 2)
    within("seen_state", counts.seen_state[place], *[support.next_state[taken]] * 2)
    within("seen_state", counts.seen_state, 0, support.states - 1)
    within("seen_count", counts.seen_count, 0, MANY)
    came = counts.goals + np.add.reduceat(counts.seen_count, support.next_start[:-1])
    within("visits", counts.visits, came, came)


def _check_model(model: PlanningModel, support: Support) -> None:
    iteration, count = model.iteration, int(model.dirty_count[0])
    within("policy", iteration.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("values", iteration.values[:-1], 0.0, LARGEST)
    within("values of the goal", iteration.values[-1:], 0.0, 0.0)
    within("dual", iteration.dual, 0.0, LARGEST)
    within("dirty_count", model.dirty_count, 0, support.pairs)
    within("dirty", model.dirty, 0, support.pairs - 1)
    waits = np.zeros(support.pairs, dtype=np.bool_)
    waits[model.dirty[:count]] = True
    if not np.array_equal(waits, model.is_dirty) or int(waits.sum()) != count:
        raise FileFormatError("dirty and is_dirty do not say the same")


def check_episode_states(states: EpisodeState, learner_state: LearnerState, support: Support) -> None:
    """The arrays of K episodes, each with an axis in front for them."""
    within_record(
        "progress", states.progress, plan=(0, learner_state.totals["plans"]),
        steps=(0, learner_state.counts.visits.sum()),
    )  # fmt: skip
    planned = states.policy[states.progress["plan"] != 0]
    within("policy", planned, support.pair_start[:-1], support.pair_start[1:] - 1)
