"""Open episodes as columns: each of their arrays with an axis in front, that of the episodes.

So a file holds them, and what a file says of them is checked for all at once. Those that are packed
(:meth:`LearnerEpisode.park <goalbound.learners.episode.LearnerEpisode.park>`) are written and read as they are: a
hundred thousand of them never stand in memory one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.jit.records import named_arrays
from goalbound.jit.struct import Struct
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.parking import SHARED, deflated, inflated, numbers_of

Columns = dict[str, NDArray[Any]]
"""By the path of a field, such as ``.context`` or ``.progress.steps``: [K, ...], for K episodes."""
_PROGRESS = ".progress."
_AT_ONCE = 1000  # episodes


def template_arrays(template: Struct) -> list[tuple[str, NDArray[Any]]]:
    """The arrays of an episode that differ between episodes, by their paths, in the order in which they are packed."""
    return list(named_arrays("", template, without=SHARED))


def columns_of(template: Struct, episodes: Sequence[LearnerEpisode]) -> Columns:
    """The columns of episodes of one learner; ``template`` is the state of any of them."""
    fields = template_arrays(template)
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
    if episodes:
        progress = np.array([one._progress for one in episodes])  # that of a packed one may have changed since
        for field in progress.dtype.names or ():
            columns[_PROGRESS + field][:, 0] = progress[field]
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
    fields = template_arrays(template)
    for first in range(0, count, _AT_ONCE):
        parts = [
            np.ascontiguousarray(columns[name][first : first + _AT_ONCE], array.dtype)
            for name, array in fields
            if array.size
        ]
        rows = np.concatenate([part.reshape(len(part), -1).view(np.uint8) for part in parts], axis=1)
        for row in rows:
            yield deflated(row.tobytes())


def columns_in(
    arrays: Mapping[str, NDArray[Any]], template: Struct, count: int, absent: Mapping[str, float]
) -> tuple[Columns, set[str]]:
    """The columns of ``count`` episodes among the arrays of a file, and the names of those that they are made of.

    A file has a column as ``episodes.context``, or apart as ``episode_0.context``, ``episode_1.context``, ... Names
    that end as those of ``absent`` do may be missing: they have a number for it.
    """
    columns, used = {}, set()
    places = range(count) if any(name.startswith("episode_") for name in arrays) else ()
    for name, array in template_arrays(template):
        joined, apart = f"episodes{name}", [f"episode_{place}{name}" for place in places]
        singles = [one for one in apart if one in arrays]
        if joined in arrays:
            if singles:
                raise FileFormatError(f"{singles[0]} appears twice, the second time in {joined}")
            column = arrays[joined]
            if column.ndim < 1 or len(column) != count:
                raise FileFormatError(f"{joined} has shape {column.shape}, and the header knows {count} episodes")
            _check_shape(joined, column.shape[1:], array)
            used.add(joined)
        elif singles and len(singles) == count:
            for one in singles:
                _check_shape(one, arrays[one].shape, array)
            column = np.stack([arrays[one] for one in singles])
            used.update(singles)
        elif singles or not any(name.endswith(one) for one in absent):
            missing = next((one for one in apart if one not in arrays), joined)
            raise FileFormatError(f"{missing} is missing")
        else:
            number = next(absent[one] for one in absent if name.endswith(one))
            column = np.full((count, *array.shape), number, array.dtype)
        columns[name] = column
    return columns, used


def _check_shape(name: str, shape: tuple[int, ...], wanted: NDArray[Any]) -> None:
    if shape != wanted.shape:
        raise FileFormatError(f"{name} has shape {shape}; the support asks for {wanted.shape}")
