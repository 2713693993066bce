"""The arrays of open episodes in a checkpoint: one array for each field, with a row for each episode.

A file holds some 65,000 arrays, and an episode has about twenty: one by one, a few thousand open episodes could not be
saved. In files ``episodes.context`` [K, d] stands for ``episode_0.context``, ``episode_1.context``, ... [d].

>>> joined = stacked({"bound": np.ones(1), "episode_0.tally": np.array([1, 2]), "episode_1.tally": np.array([3, 4])})
>>> {name: array.tolist() for name, array in joined.items()}
{'bound': [1.0], 'episodes.tally': [[1, 2], [3, 4]]}
>>> {name: array.tolist() for name, array in unstacked(joined, [{}, {}]).items()}
{'bound': [1.0], 'episode_0.tally': [1, 2], 'episode_1.tally': [3, 4]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

ONE_EPISODE = "episode_[0-9]{1,6}"
"""How the arrays of one episode begin, as a pattern."""

_PREFIX = "episodes."
_NAME = re.compile(r"episode_([0-9]+)\.(.+)")
_MOST_DIMENSIONS = 2  # of an array of one episode; a file has three

Arrays = dict[str, NDArray[Any]]


def stacked(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays of all episodes joined by field; a field whose shape is not the same for all is left as it is."""
    fields: dict[str, list[NDArray[Any]]] = {}
    for name, array in arrays.items():
        found = _NAME.fullmatch(name)
        if found:
            fields.setdefault(found[2], []).append(array)
    alike = {
        field
        for field, rows in fields.items()
        if len({(row.shape, row.dtype) for row in rows}) == 1 and rows[0].ndim <= _MOST_DIMENSIONS
    }
    kept = {name: array for name, array in arrays.items() if _field(name) not in alike}
    return kept | {f"{_PREFIX}{field}": np.stack(fields[field]) for field in fields if field in alike}


def unstacked(arrays: Mapping[str, NDArray[Any]], episodes: Any) -> Arrays:
    """The arrays of each of the episodes that the header lists, as views, and all others as they are."""
    if not isinstance(episodes, list):
        raise FileFormatError("episodes is no list")
    found: Arrays = {name: array for name, array in arrays.items() if not name.startswith(_PREFIX)}
    for name, array in arrays.items():
        if not name.startswith(_PREFIX):
            continue
        if array.ndim < 1 or len(array) != len(episodes):
            raise FileFormatError(f"{name} has shape {array.shape}, and the header knows {len(episodes)} episodes")
        for number, row in enumerate(array):
            one = f"episode_{number}.{name.removeprefix(_PREFIX)}"
            if one in found:
                raise FileFormatError(f"{one} appears twice, the second time in {name}")
            found[one] = row
    return found


def with_stacked(allowed: Mapping[str, str]) -> dict[str, str]:
    """The types of arrays by name or pattern, those of joined arrays added."""
    joined = {
        f"{_PREFIX}{name.removeprefix(ONE_EPISODE)[2:]}".replace("\\.", "."): dtype
        for name, dtype in allowed.items()
        if name.startswith(ONE_EPISODE)
    }
    return {**allowed, **joined}


def _field(name: str) -> str | None:
    found = _NAME.fullmatch(name)
    return found[2] if found else None
