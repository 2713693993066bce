"""What was read from a checkpoint fits together: no number that kernels use as an index leads astray."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from goalbound.errors import FileFormatError
from goalbound.kernels.tabular.state import (
    EpisodeState,
    LearnerState,
    PlanningModel,
    VisitCounts,
)
from goalbound.learners.filling import MANY, within, within_record
from goalbound.models import Support

_MOST = np.finfo(np.float64).max
_EPISODE_KEYS = {"state", "action"}


def check_state(learner_state: LearnerState, support: Support) -> None:
    """The arrays of a learner, each for itself and together."""
    lengths = np.diff(support.next_start)
    sets = learner_state.main.sets
    _check_counts(learner_state.counts, support)
    within("visits_used", learner_state.visits_used, 0, learner_state.counts.visits)
    within("used", sets.used, 0, lengths)
    within("state", sets.state, 0, support.states)
    within("centre", sets.centre, 0.0, 1.0)
    for name in ("ball", "mass", "losses"):
        within(name, getattr(sets, name), 0.0, _MOST)
    within_record("totals", learner_state.totals, loss_bound=(1.0, _MOST))
    if learner_state.totals["plans"] > 0:
        within("table", learner_state.workspace.table, support.pair_start[:-1], support.pair_start[1:] - 1)
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
    within("values", iteration.values[:-1], 0.0, _MOST)
    within("values of the goal", iteration.values[-1:], 0.0, 0.0)
    within("dual", iteration.dual, 0.0, _MOST)
    within("dirty_count", model.dirty_count, 0, support.pairs)
    within("dirty", model.dirty, 0, support.pairs - 1)
    waits = np.zeros(support.pairs, dtype=np.bool_)
    waits[model.dirty[:count]] = True
    if not np.array_equal(waits, model.is_dirty) or int(waits.sum()) != count:
        raise FileFormatError("dirty and is_dirty do not say the same")


def check_episode(
    episode_state: EpisodeState, entry: dict[str, Any], learner_state: LearnerState, support: Support
) -> None:
    """The arrays of an episode."""
    within_record(
        "progress", episode_state.progress, number=(1, learner_state.totals["episodes"]),
        plan=(0, learner_state.totals["plans"]), steps=(0, learner_state.counts.visits.sum()),
    )  # fmt: skip
    if episode_state.progress["plan"]:
        within("policy", episode_state.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    elif entry["action"] is not None:
        raise FileFormatError(f"an episode is {entry!r}; an action needs a plan")
    if entry["action"] is not None and entry["state"] is None:
        raise FileFormatError(f"an episode is {entry!r}; an action needs a state")


def check_numbers(numbers: list[int]) -> None:
    """Episodes stand in the order in which they were begun."""
    for one, following in pairwise(numbers):
        if not one < following:
            raise FileFormatError(f"episode {following} follows episode {one}; they stand in the order of begin")


def checked_episodes(entries: Any, support: Support) -> list[dict[str, Any]]:
    """The episodes of the header: where each is, and the action that waits for its step."""
    if not isinstance(entries, list):
        raise FileFormatError("episodes is no list")
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != _EPISODE_KEYS:
            raise FileFormatError(f"an episode is {entry!r:.200}; it needs {sorted(_EPISODE_KEYS)}")
        for key, count in (("state", support.states), ("action", support.actions)):
            if entry[key] is not None and not (type(entry[key]) is int and 0 <= entry[key] < count):
                raise FileFormatError(f"the {key} of an episode is {entry[key]!r:.200}; they are 0 to {count - 1}")
        if entry["action"] is not None and entry["state"] is None:
            raise FileFormatError(f"an episode is {entry!r}; an action needs a state")
    return entries
