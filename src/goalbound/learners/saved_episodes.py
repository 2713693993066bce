"""The open episodes of a learner in its file: each field of their state as one column [K, ...], a row an episode.

What a file says of them is checked for all at once. Those that are packed (:meth:`LearnerEpisode.park
<goalbound.learners.episode.LearnerEpisode.park>`) are written and read as they are: a hundred thousand of them never
stand in memory one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.jit.records import named_arrays
from goalbound.jit.struct import Struct
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.parking import deflated, inflated, numbers_of
from goalbound.models.files.ranges import matching, within

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

Columns = dict[str, NDArray[Any]]
"""By the path of a field, such as ``.context`` or ``.progress.steps``: [K, ...], for K episodes."""
_PREFIX = "episodes"
_PLACES = ("state", "action", "acted")
"""Columns ``.at.state`` and so on: the attributes of an episode beside its state struct, -1 for None."""
_AT_ONCE = 1000  # episodes


def episode_arrays(learner: LearnerBase, episodes: Sequence[LearnerEpisode]) -> Columns:
    """The columns of open episodes, by their names in a file."""
    if not episodes:
        return {}
    columns = columns_of(learner._new_episode_state(), episodes)
    for name in _PLACES:
        values = (getattr(one, f"_{name}") for one in episodes)
        columns[f".at.{name}"] = np.array([-1 if value is None else value for value in values], dtype=np.int64)
    return {f"{_PREFIX}{name}": column for name, column in columns.items()}


def restore_episodes(learner: LearnerBase, ids: Any, acts: Any, arrays: Mapping[str, NDArray[Any]]) -> set[str]:
    """The episodes of a file go on, each packed until it is used; the names of their arrays."""
    if type(acts) is not int or acts < 0:
        raise FileFormatError(f"acts is {acts!r:.200}; it is a whole number, not negative")
    learner._pending.acts = acts
    _check_ids(ids)
    count = len(ids)
    if not count:
        return set()
    template = learner._new_episode_state()
    forms = {name: (array.shape, array.dtype) for name, array in named_arrays("", template)}
    forms |= {f".at.{name}": ((), np.dtype(np.int64)) for name in _PLACES}
    columns = {
        name: matching(arrays, f"{_PREFIX}{name}", (count, *shape), dtype) for name, (shape, dtype) in forms.items()
    }
    states = states_of(template, columns)
    within("number of progress", states.progress["number"], 1, learner._state.totals["episodes"])
    within("number of progress, in the order of begin,", np.diff(states.progress["number"]), 1, np.inf)
    places = [columns[f".at.{name}"] for name in _PLACES]
    _check_places(learner, *places)
    planned = learner._check_episode_states(states, places[1] >= 0)
    if not planned[places[1] >= 0].all():
        raise FileFormatError("an episode has an action and no plan; an action needs a plan")
    contexts = getattr(states, "context", None)
    packed = packed_episodes(template, columns, count)
    for place, (data, state, action, acted) in enumerate(zip(packed, *(one.tolist() for one in places), strict=True)):
        context = None if contexts is None else contexts[place]
        episode = LearnerEpisode.from_packed(learner, data, context, states.progress[place], id=ids[place])
        if state >= 0:
            episode._state = state
        if action >= 0:
            episode._action, episode._acted = action, acted
            episode._pair = learner.support.pair(state, action)
        learner._loaded.append(episode)
    waiting = [one for one in learner._loaded if one._acted is not None]
    for episode in sorted(waiting, key=lambda one: one._acted or 0):
        learner._pending.hold(episode)  # in the order of act
    return {f"{_PREFIX}{name}" for name in columns}


def _check_ids(ids: Any) -> None:
    if not isinstance(ids, list):
        raise FileFormatError("ids is no list")
    named = [id for id in ids if id is not None]
    for id in named:
        if type(id) is not int and (type(id) is not str or not id):
            raise FileFormatError(f"the id of an episode is {id!r:.200}; it is a name, a whole number or null")
    if len(set(named)) < len(named):
        raise FileFormatError("two episodes have one id; each has its own, or null")


def _check_places(
    learner: LearnerBase, state: NDArray[np.int64], action: NDArray[np.int64], acted: NDArray[np.int64]
) -> None:
    """[K] where each episode is, the action whose outcome is awaited and its number in the order of act; or -1."""
    within("state of an episode", state, -1, learner.support.states - 1)
    within("action of an episode", action, -1, learner.support.actions - 1)
    within("acted of an episode", acted, -1, learner._pending.acts - 1)
    waits = action >= 0
    if ((acted >= 0) != waits).any() or (waits & (state < 0)).any():
        raise FileFormatError("an episode has an action without a state, or without its number in the order of act")
    if len(np.unique(acted[waits])) < waits.sum():
        raise FileFormatError("two actions of episodes have one number in the order of act")


def columns_of(template: Struct, episodes: Sequence[LearnerEpisode]) -> Columns:
    """The columns of episodes of one learner; ``template`` is the state of any of them."""
    fields = list(named_arrays("", template))
    columns = {name: np.empty((len(episodes), *array.shape), array.dtype) for name, array in fields}
    for first in range(0, len(episodes), _AT_ONCE):
        some = episodes[first : first + _AT_ONCE]
        rows = np.frombuffer(b"".join(map(_numbers, some)), np.uint8).reshape(len(some), -1)
        place = 0
        for name, array in fields:
            part = np.ascontiguousarray(rows[:, place : place + array.nbytes])
            columns[name][first : first + len(some)] = part.view(array.dtype).reshape(len(some), *array.shape)
            place += array.nbytes
        assert place == rows.shape[1]
    progress = np.array([one._progress for one in episodes])  # that of a packed one may have changed since
    for field in progress.dtype.names or ():
        columns[f".progress.{field}"][:, 0] = progress[field]
    return columns


def _numbers(episode: LearnerEpisode) -> bytes:
    held = episode._held
    return inflated(held) if type(held) is bytes else numbers_of(held)


def states_of(template: Any, columns: Mapping[str, NDArray[Any]], path: str = "") -> Any:
    """A struct as ``template``, whose arrays are the columns, and whose records have as many entries."""
    fields = {}
    for name, value in template._asdict().items():
        here = f"{path}.{name}"
        if isinstance(value, Struct):
            fields[name] = states_of(value, columns, here)
        elif isinstance(value, np.void):
            parts = {field: columns[f"{here}.{field}"][:, 0] for field in value.dtype.names or ()}
            fields[name] = np.empty(len(next(iter(parts.values()))), value.dtype)
            for field, column in parts.items():
                fields[name][field] = column
        else:
            fields[name] = columns.get(here, value)
    return type(template)(**fields)


def packed_episodes(template: Struct, columns: Mapping[str, NDArray[Any]], count: int) -> Iterator[bytes]:
    """Each of the ``count`` episodes packed, as :func:`goalbound.learners.parking.packed` does it."""
    fields = [(name, array.dtype) for name, array in named_arrays("", template) if array.size]
    for first in range(0, count, _AT_ONCE):
        parts = [np.ascontiguousarray(columns[name][first : first + _AT_ONCE], dtype) for name, dtype in fields]
        rows = np.concatenate([part.reshape(len(part), -1).view(np.uint8) for part in parts], axis=1)
        for row in rows:
            yield deflated(row.tobytes())
