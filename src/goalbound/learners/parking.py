"""Episodes that wait for long, packed: the numbers of their arrays in one piece of compressed memory."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.records import named_arrays

_LEVEL = 1  # the fastest: most of what is packed are zeros


def packed(episode_state: Any) -> bytes:
    """All numbers of an episode, compressed."""
    return deflated(numbers_of(episode_state))


def numbers_of(episode_state: Any) -> bytes:
    """All numbers of an episode."""
    return b"".join(array.tobytes() for array in _arrays(episode_state))


def deflated(numbers: bytes) -> bytes:
    """Bytes, compressed."""
    return zlib.compress(numbers, _LEVEL)


def inflated(data: bytes) -> bytes:
    """What :func:`deflated` compressed."""
    return zlib.decompress(data)


def unpack_into(episode_state: Any, data: bytes) -> None:
    """The arrays of an episode get the numbers that :func:`packed` gave of one of the same learner."""
    numbers, place = inflated(data), 0
    for array in _arrays(episode_state):
        part = np.frombuffer(numbers, array.dtype, count=array.size, offset=place)
        array[...] = part.reshape(array.shape)
        place += array.nbytes
    assert place == len(numbers)


def copied_record(record: np.void) -> np.void:
    """A record of its own, with the same numbers."""
    copy: np.void = np.array([record])[0]
    return copy


def _arrays(episode_state: Any) -> list[NDArray[Any]]:
    return [array for _, array in named_arrays("", episode_state)]
