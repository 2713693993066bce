"""What was read from a checkpoint fits together: no number that kernels use as an index leads astray."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from goalbound.kernels.tabular.layout import BEGUN, FOLLOWED, MADE, NUMBER, PLANS, Counts, Front, Learned, Walk
from goalbound.learners.filling import within
from goalbound.models import FileFormatError, Support

_MOST = np.finfo(np.float64).max
_MANY = np.iinfo(np.int64).max // 4
_EPISODE_KEYS = {"state", "action"}


def check_learned(learned: Learned, support: Support) -> None:
    """The arrays of a learner, each for itself and together."""
    lengths = np.diff(support.next_start)
    plausible = learned.main.plausible
    _check_counts(learned.counts, support)
    within("looked", learned.looked, 0, learned.counts.visits)
    within("used", plausible.used, 0, lengths)
    within("state", plausible.state, 0, support.states)
    within("centre", plausible.centre, 0.0, 1.0)
    for name in ("ball", "mass", "losses"):
        within(name, getattr(plausible, name), 0.0, _MOST)
    within("bound", learned.bound, 1.0, _MOST)
    within("tally", learned.tally, 0, _MANY)
    if learned.tally[PLANS] > 0:
        within("table", learned.room.table, support.pair_start[:-1], support.pair_start[1:] - 1)
    for front in (learned.main, learned.unit):
        _check_front(front, support)


def _check_counts(counts: Counts, support: Support) -> None:
    """Visits are as many as next states came; slots are numbered from 0 on, one for each next state seen."""
    lengths = np.diff(support.next_start)
    within("visits", counts.visits, 0, _MANY)
    within("goals", counts.goals, 0, counts.visits)
    within("loss_sums", counts.loss_sums, 0.0, counts.visits)
    within("square_sums", counts.square_sums, 0.0, counts.visits)
    within("seen", counts.seen, 0, lengths)
    within("slot", counts.slot, -1, np.repeat(counts.seen, lengths) - 1)
    taken = np.flatnonzero(counts.slot >= 0)
    pair = np.searchsorted(support.next_start, taken, side="right") - 1
    place = support.next_start[pair] + counts.slot[taken]
    within("seen", counts.seen, *[np.bincount(pair, minlength=support.pairs)] * 2)
    within("slot_state", counts.slot_state[place], *[support.next_state[taken]] * 2)
    within("slot_state", counts.slot_state, 0, support.states - 1)
    within("slot_count", counts.slot_count, 0, _MANY)
    came = counts.goals + np.add.reduceat(counts.slot_count, support.next_start[:-1])
    within("visits", counts.visits, came, came)


def _check_front(front: Front, support: Support) -> None:
    outlook, count = front.outlook, int(front.length[0])
    within("policy", outlook.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("values", outlook.values[:-1], 0.0, _MOST)
    within("values of the goal", outlook.values[-1:], 0.0, 0.0)
    within("pull", outlook.pull, 0.0, _MOST)
    within("length", front.length, 0, support.pairs)
    within("waiting", front.waiting, 0, support.pairs - 1)
    waits = np.zeros(support.pairs, dtype=np.bool_)
    waits[front.waiting[:count]] = True
    if not np.array_equal(waits, front.is_waiting) or int(waits.sum()) != count:
        raise FileFormatError("waiting and is_waiting do not say the same")


def check_walk(walk: Walk, entry: dict[str, Any], learned: Learned, support: Support) -> None:
    """The arrays of an episode."""
    within("tally of an episode", walk.tally, 0, _MANY)
    within("number", walk.tally[NUMBER : NUMBER + 1], 1, learned.tally[BEGUN])
    within("plan", walk.tally[FOLLOWED : FOLLOWED + 1], 0, learned.tally[PLANS])
    if walk.tally[FOLLOWED]:
        within("policy", walk.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    elif entry["action"] is not None:
        raise FileFormatError(f"an episode is {entry!r}; an action needs a plan")
    if entry["action"] is not None and entry["state"] is None:
        raise FileFormatError(f"an episode is {entry!r}; an action needs a state")
    within("steps", walk.tally[MADE : MADE + 1], 0, learned.counts.visits.sum())


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
